"""What is said of models: which one predicts better, and which ones a design can tell, each with a
planted case of the opposite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fitting_designs import design

from spanlab.extensions.fitting.comparing import Fitted, Recovery, Refit, fit_all, predicts, recover, tells
from spanlab.extensions.fitting.likelihood import Space
from spanlab.extensions.fitting.models import models_named
from spanlab.extensions.fitting.reading import Answerer
from spanlab.extensions.fitting.trials import Kind


def fitted(
    kind: Kind, names: Sequence[str], count: int, people: int = 1, load: int = 0, **values: float
) -> list[list[Fitted]]:
    """Models fitted to answers that the first of them gave with these parameters, at one load if
    one is given."""
    models = [model for name in names for model in models_named(name, kind)]
    everybody = []
    for person in range(people):
        trials = design(kind, count, seed=person)
        trials = trials.take(np.flatnonzero(trials.load == load)) if load else trials
        space = Space.of(models[0], trials)
        answers = models[0].draw(space.values(space.point(values), trials), trials, np.random.RandomState([7, person]))
        everybody.append(fit_all(models, Answerer("planted", f"P{person}", True, trials.answered(answers)), seed=1))
    return everybody


def test_what_rounding_leaves_of_no_difference_is_none() -> None:
    refit = Refit("simple", (0.0,), {"guess": (0.0, 0.0, 0.3, 0.3 - 1e-16, 1.0), "c": (0.0, 0.0, 1e-3, 2e-3, 1.0)})
    recovery = Recovery.of(("simple",), [refit])
    assert [f"{one.bias:+.2g}" for one in recovery.parameters] == ["+0", "+0.001"]


@pytest.mark.slow
def test_a_design_that_tells_slots_from_resources() -> None:
    recovery = recover(fitted("report", ("slots", "resource"), 200, k=2.0, sd=18.0), 10, seed=1)
    assert np.diag(recovery.confusion()).min() >= 0.9
    assert tells(recovery) == [
        "This design tells slots from resource: of 10 simulated answerers of each, 100% and 100% were recognised by"
        " their AICc."
    ]


def test_a_design_that_cannot_tell_slots_from_resources() -> None:
    """With a single item, everything is held, and both models are one and the same distribution."""
    (said,) = tells(recover(fitted("report", ("slots", "resource"), 160, load=1, k=2.0, sd=18.0), 20, seed=1))
    assert said.startswith("This design cannot tell slots from resource: of 20 simulated answerers of each, ")


@pytest.mark.slow
def test_a_design_that_cannot_tell_two_models_apart() -> None:
    recovery = recover(fitted("detection", ("sdt-shared", "threshold"), 45, d=1.5, criterion=0.0), 20, seed=1)
    (said,) = tells(recovery)
    assert said.startswith("This design cannot tell sdt-shared from threshold: of 20 simulated answerers of each, ")
    assert min(recovery.recognised(0, 1), recovery.recognised(1, 0)) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 4])
def test_the_model_of_the_answers_predicts_better(people: int) -> None:
    (said,) = predicts(fitted("report", ("slots", "resource"), 400, people, k=2.0, sd=18.0, attended=0.999), "who")
    assert said.startswith("who: slots predicts new answers better than resource (")
    assert ("people as units" in said) is (people > 1)
    (turned,) = predicts(
        fitted("report", ("resource", "slots"), 400, people, precision=10.0, power=1.2, attended=0.999), "who"
    )
    assert turned.startswith("who: resource predicts new answers better than slots (")


@pytest.mark.parametrize("people", [1, 3])
def test_models_that_say_the_same_are_not_decided_between(people: int) -> None:
    """At one load, a criterion for each load and one for all are the same; and at few answers, much
    is alike."""
    fits = fitted("detection", ("sdt-shared", "threshold"), 60, people, d=1.5, criterion=0.0)
    (said,) = predicts(fits, "who")
    assert said.startswith("who: the answers do not decide between sdt-shared and threshold (")
    twice = [[one[0], one[0]] for one in fits]
    assert predicts(twice, "who")[0].startswith(
        "who: the answers do not decide between sdt-shared and sdt-shared (0.0 ± 0.0 log units"
    )
