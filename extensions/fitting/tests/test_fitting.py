"""Fits of planted answers, from arrays and from sessions; models as agents; the command."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Run, output_of
from fitting_designs import design
from scipy.stats import chi2

import spanlab
from spanlab.agents import AgentOptions
from spanlab.analysis.data.loading import load
from spanlab.core.errors import SpanLabError
from spanlab.extensions.fitting.agent import Cognitive, Remembering
from spanlab.extensions.fitting.likelihood import FOLDS, Fit, Space, fit, folds, held_out, limits
from spanlab.extensions.fitting.models import MODELS, Model, models_named
from spanlab.extensions.fitting.reading import answerers, published
from spanlab.extensions.fitting.trials import Trials, given_before, observed, stages


def planted(model: Model, kind: Any, count: int, seed: int, levels: int = 2) -> tuple[Trials, Space, np.ndarray]:
    """Answers with parameters drawn from the priors, the space, and the planted point."""
    trials = design(kind, count, seed, levels)
    space, random = Space.of(model, trials), np.random.RandomState([5, seed])
    lower, upper = (np.array(side) for side in zip(*space.bounds, strict=True))
    at = np.clip([p.to_scale(p.typical) + p.spread * random.normal() for p, _ in space.places], lower, upper)
    return trials.answered(model.draw(space.values(at, trials), trials, random)), space, at


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind"),
    [(model, kind) for model in MODELS for kind in model.kinds[:1]],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_fit_is_at_least_as_likely_as_what_was_planted(model: Model, kind: Any) -> None:
    trials, space, at = planted(model, kind, 300, 2, 6 if model.name == "sdt-unequal" else 2)
    there = float(model.log_likelihood(space.values(at, trials), trials).sum())
    found = fit(model, trials)
    assert found.log_likelihood >= there - 1e-3
    assert 2 * (found.log_likelihood - there) < chi2.ppf(0.9999, len(at))
    assert found.aicc > -2 * found.log_likelihood
    assert found.bic == pytest.approx(len(at) * math.log(len(trials)) - 2 * found.log_likelihood)


def test_held_out_answers_are_predicted_by_the_others() -> None:
    trials, *_ = planted(models_named("sdt-shared")[0], "detection", 200, 4)
    found = fit(models_named("sdt-shared")[0], trials)
    part = folds(trials, np.random.RandomState(1))
    assert sorted(np.unique(part)) == list(range(FOLDS))
    assert all(np.ptp(np.bincount(part[rows], minlength=FOLDS)) <= 2 for rows in trials.by_load.values())
    each = held_out(found, trials, part)
    assert np.isfinite(each).all()
    assert each.sum() < found.log_likelihood
    swapped = trials.answered(np.where(part == 0, 1 - trials.answer, trials.answer))
    again = held_out(fit(found.model, swapped), swapped, part)
    left = [
        found.model.log_likelihood(found.space.values(found.at, trials), trials)[part == 0].sum(),
        again[part == 0].sum(),
    ]
    assert left[1] < left[0]  # answers of a part do not fit themselves


def test_a_trial_stays_whole_when_it_is_held_out() -> None:
    trials = design("order", 200)
    part = folds(trials, np.random.RandomState(1))
    assert all(len(np.unique(part[trials.trial == trial])) == 1 for trial in np.unique(trials.trial))


def test_what_was_given_before_counts_within_a_trial() -> None:
    given = given_before(np.array([0, 0, 0, 1, 1]), np.array([2, 0, 1, 3, 3]), 3)
    assert given.astype(int).tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert stages(np.array([4, 4, 5, 5, 5, 9])).tolist() == [0, 1, 0, 1, 2, 0]


SESSIONS = (
    ("continuous_colour", "cognitive:slots?k=2&sd=15", "slots", {"k": 2.0, "sd": 15.0}),
    ("continuous_orientation", "cognitive:slots+swaps?k=3&sd=15&swap=0.3", "slots+swaps", {"k": 3.0, "swap": 0.3}),
    ("cd", "cognitive:slots?k=4&guess=0.3", "slots", {"k": 4.0, "guess": 0.3}),
    ("sternberg", "cognitive:sdt-shared?d=2&criterion=0.5", "sdt-shared", {"d_3": 2.0, "criterion": 0.5}),
    (
        "nback_verbal",
        "cognitive:sdt?d_1=3&d_2=2&d_3=1&criterion=0.4",
        "sdt",
        {"d_1": 3.0, "d_2": 2.0, "d_3": 1.0, "criterion_2": 0.4},
    ),
    ("nback_spatial", "cognitive:threshold?known=0.7&guess=0.2", "threshold", {"known_1": 0.7, "guess": 0.2}),
    (
        "vsr",
        "cognitive:primacy?gradient=1&suppressed=0.9&guess=0.1",
        "primacy",
        {"gradient": 1.0, "suppressed": 0.9, "guess": 0.1},
    ),
    ("lsr", "cognitive:simple?c=6&output=0.5&guess=0.1", "simple", {"c": 6.0, "output": 0.5, "guess": 0.1}),
    ("operation_span", "cognitive:m3?a=1&c=10", "m3", {"a": 1.0, "c": 10.0}),
    ("corsi", "cognitive:m3?a=2&c=8", "m3", {"a": 2.0, "c": 8.0}),
    ("smu", "cognitive:m3?a=0.8&c=6&outdated=0.3", "m3", {"a": 0.8, "c": 6.0, "outdated": 0.3}),
)


@pytest.mark.slow
@pytest.mark.parametrize(("paradigm", "agent", "name", "wanted"), SESSIONS)
def test_an_agent_takes_trials_and_its_parameters_come_back(
    paradigm: str, agent: str, name: str, wanted: dict[str, float], tmp_path: Path
) -> None:
    spanlab.replay(paradigm, agent=agent, trials=30 if "nback" in paradigm else 240, seed=3, data=tmp_path)
    (answerer,), _ = answerers(load([tmp_path]))
    assert answerer.name == agent
    ends = limits(fit(models_named(name, answerer.trials.kind)[0], answerer.trials), answerer.trials, 0.999)
    assert {key: ends[key][0] <= value <= ends[key][1] for key, value in wanted.items()} == dict.fromkeys(wanted, True)


@pytest.mark.parametrize(
    "model",
    [model for model in MODELS if model.name != "sdt-unequal"],
    ids=lambda model: f"{model.name}-{model.kinds[0]}",
)
def test_a_fit_names_an_agent_that_has_all_its_parameters(model: Model) -> None:
    """It was refused once, for the share of trials attended to."""
    trials = design(model.kinds[0], 60)
    space = Space.of(model, trials)
    fitted = Fit(model, space, space.point({}), 0.0, len(trials))
    assert Cognitive.from_name(fitted.agent().partition(":")[2], AgentOptions()).values == pytest.approx(
        fitted.values, rel=1e-3
    )


@pytest.mark.slow
def test_an_agent_does_not_always_attend(tmp_path: Path) -> None:
    errors = []
    for attended in (0.5, 0.9995):
        agent = f"cognitive:slots?k=12&sd=5&attended={attended}"
        answers = spanlab.replay(
            "continuous_colour", agent=agent, trials=60, seed=2, data=tmp_path / str(attended)
        ).responses
        errors.append((answers["error"].astype(float).abs() > 40).mean())
    assert errors[1] < 0.1 < 0.25 < errors[0] < 0.55


def test_an_agent_sees_percepts_alone(tmp_path: Path) -> None:
    """It is no oracle, is handed no truth, and answers the same when there is none to be had."""
    assert not Cognitive.kind.oracle
    result = spanlab.replay("continuous_colour", agent="cognitive:slots?k=1.5&sd=10", trials=24, seed=2, data=tmp_path)
    assert not result.responses["oracle"].any()
    again = spanlab.replay(
        "continuous_colour", agent="cognitive:slots?k=1.5&sd=10", trials=24, seed=2, data=tmp_path / "again"
    )
    assert result.responses["answer"].tolist() == again.responses["answer"].tolist()
    assert (
        result.responses["error"].astype(float).abs().min() < 10 < result.responses["error"].astype(float).abs().max()
    )


class Forbidden:
    """A truth that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"an agent looked at the truth: {name}")


#: With the sessions above, every model there is.
OTHERS = (
    *(
        ("continuous_colour", f"cognitive:{name}")
        for name in ("slots-averaging", "resource", "vp", "resource+swaps", "vp+swaps")
    ),
    *(("cd", f"cognitive:{name}") for name in ("resource", "vp")),
    ("sternberg", "cognitive:sdt-unequal?sd=1.5"),
)


def test_the_sessions_of_this_file_have_every_model() -> None:
    assert {re.split("[:?]", agent)[1] for _, agent, *_ in (*SESSIONS, *OTHERS)} == {model.name for model in MODELS}


@pytest.mark.parametrize(("paradigm", "agent"), [*((paradigm, agent) for paradigm, agent, *_ in SESSIONS), *OTHERS])
def test_no_model_is_handed_the_truth_or_looks_at_it(
    paradigm: str, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner gives it none; and were it given one, its answers would be the same."""
    handed: list[Any] = []
    step = Remembering.step

    async def watched(self: Remembering, percept: Any, truth: Any = None) -> Any:
        handed.append(truth)
        return await step(self, percept, Forbidden())  # type: ignore[arg-type]

    plain = spanlab.replay(paradigm, agent=agent, trials=2, seed=4, data=tmp_path / "plain").responses
    monkeypatch.setattr(Remembering, "step", watched)
    again = spanlab.replay(paradigm, agent=agent, trials=2, seed=4, data=tmp_path / "again").responses
    assert again["answer"].tolist() == plain["answer"].tolist()
    assert handed
    assert set(handed) == {None}


@pytest.mark.parametrize(
    ("spec", "paradigm", "said"),
    [
        ("cognitive", "vsr", "takes the name of a model"),
        ("cognitive:sltos", "vsr", "did you mean 'slots'"),
        ("cognitive:slots?kk=2", "continuous_colour", "no parameter 'kk'; did you mean 'k'"),
        ("cognitive:slots?k=two", "continuous_colour", "takes parameters as NAME=NUMBER, such as k=3.1; found 'k=two'"),
        ("cognitive:slots?k=90", "continuous_colour", "k of slots lies from 0.2 to 12; found 90"),
        ("cognitive:slots", "vsr", "cognitive:slots is not a model of such questions (order)"),
        ("cognitive:sdt", "vir", "knows no answer to such questions"),
        ("cognitive:sdt", "nback_verbal_noise", "have to be understood"),
        ("cognitive:simple", "smu", "they are not shown there"),
    ],
)
def test_an_agent_says_what_it_cannot_do(spec: str, paradigm: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=f"(?s){said.replace('(', '[(]').replace(')', '[)]').replace('?', '[?]')}"):
        spanlab.replay(paradigm, agent=spec, trials=1, data=tmp_path)


def test_cells_of_moved_markers_are_read_from_sessions_alone(tmp_path: Path) -> None:
    """No table says which cells were outdated when a question came; the trials of a session do."""
    result = spanlab.replay("smu", agent="ideal", trials=16, seed=2, data=tmp_path)
    (answerer,), _ = answerers(load([tmp_path]))
    assert (answerer.trials.kind, set(answerer.trials.answer)) == ("updating", {1})
    assert (answerer.trials.beside["cells"].sum(1) == 9).all()
    assert answerer.trials.loads == tuple(range(1, 9))
    result.responses.to_csv(tmp_path / "answers.csv", index=False)
    with pytest.raises(SpanLabError, match=r"smu is left out: .* read from the folders of sessions, not from tables"):
        answerers(load([tmp_path / "answers.csv"]))


def test_published_answers_are_read_from_their_counts() -> None:
    everybody = published()
    assert sum(len(one.trials) for one in everybody if one.paradigm != "verbal(first 30 blocks)") == 65_700
    assert {one.trials.loads for one in everybody} == {(1, 2, 3)}
    curve = observed(next(one for one in everybody if one.paradigm == "verbal").trials)
    assert curve["hits", 1] == pytest.approx(0.87)
    assert curve["false alarms", 1] == pytest.approx(0.015)


def test_ratings_become_ordered_answers() -> None:
    rows = pd.DataFrame(
        {
            **{
                "participant": "P1",
                "agent_kind": "participant",
                "agent": "participant",
                "unit_trial": range(4),
                "outcome": "answered",
            },
            **{
                "set_size": 2.0,
                "list_length": 2.0,
                "correct_answer": ['"yes"', '"yes"', '"no"', '"no"'],
                "correct": [1.0, 0.0, 1.0, 0.0],
            },
            "confidence": [3.0, 1.0, 3.0, 1.0],
        }
    )
    from spanlab.extensions.fitting.reading import _detection

    trials = _detection(rows, ("yes", "no"), np.array([1.0, 2.0, 3.0]))
    assert (trials.levels, trials.answer.tolist()) == (6, [5, 2, 0, 3])
    assert not models_named("sdt-unequal")[0].refusal(trials)
    assert "needs ratings" in models_named("sdt-unequal")[0].refusal(design("detection", 9))


@pytest.mark.slow
def test_the_command_prints_fits_and_what_they_mean(run: Run, tmp_path: Path) -> None:
    spanlab.replay("nback_verbal", agent="cognitive:sdt?d_1=3&d_2=2&d_3=1", trials=6, seed=1, data=tmp_path / "data")
    printed = output_of(
        *run(
            "fit",
            str(tmp_path / "data"),
            "--model",
            "sdt-shared",
            "--model",
            "threshold",
            "--simulated",
            "10",
            "-o",
            str(tmp_path / "out"),
        )
    )
    for text in (
        "nback_verbal: cognitive:sdt?d_1=3&d_2=2&d_3=1; 144 answers each",
        "known_1",
        "held out",
        "sdt-shared from threshold",
        "cognitive:threshold?",
    ):
        assert text in printed
    table = pd.read_csv(tmp_path / "out" / "fit.csv")
    assert set(table["parameter"]) == {"d_1", "d_2", "d_3", "criterion", "known_1", "known_2", "known_3", "guess"}
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    page = (tmp_path / "out" / "fit.html").read_text(encoding="utf-8")
    assert page.count('<img alt="') == 2
    assert "This design" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            (),
            "name a model of the answers of nback_verbal (detection): --model takes sdt, sdt-shared, threshold",
        ),
        (
            ("--model", "slots"),
            "no model for the answers of nback_verbal (detection): --model takes sdt, sdt-shared, threshold",
        ),
        (("--model", "sdt-unequal"), "sdt-unequal is left out: its variance cannot be told from yes and no alone"),
        (("--model", "sdt", "--paradigm", "vsr"), "--paradigm vsr: there are no such answers"),
        (("--model", "std"), "there is no model 'std'; did you mean 'sdt'?"),
    ],
)
@pytest.mark.slow
def test_the_command_says_which_models_there_are(run: Run, options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    spanlab.replay("nback_verbal", agent="chance", trials=1, seed=1, data=tmp_path)
    status, _, complaint = run("fit", str(tmp_path), *options)
    assert status == 1
    assert said in " ".join(complaint.split())
    assert "Traceback" not in complaint
