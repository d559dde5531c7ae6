"""Change detection (cd, and cd_noise): arrays of both generators, that nothing in the second array
alone tells, what is shown for how long, labels, words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import RARE, fits, loaded, sampler, unrelated

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language.schema import DatasetDesign, SessionDesign
from spanlab.paradigms.network_view import WORM_TASKS, labels_of
from spanlab.stimuli import COLOURS, Line, Scene
from spanlab.stimuli.kinds.bars import Bars
from spanlab.stimuli.kinds.plain import Blank, Noise
from spanlab.stimuli.render.pixels import render

FEATURES = ("colour", "orientation", "size", "gap")
SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=40, deadline=None)

Bar = dict[str, Any]


def upright(bar: Bar) -> bool:
    return bar["at"][0] == bar["at"][2]


def length(bar: Bar) -> float:
    return max(bar["at"][2] - bar["at"][0], bar["at"][3] - bar["at"][1])


def features(bar: Bar) -> tuple[bool, bool, bool, bool]:
    """In the order of FEATURES; large is what is longer than twelve units."""
    return bar["colour"] == "green", upright(bar), length(bar) > 12, bar["gap"] is not None


def changed(arrays: dict[str, Any]) -> list[int]:
    return [
        n for n, (before, after) in enumerate(zip(arrays["memory"], arrays["probe"], strict=True)) if before != after
    ]


def shown(bars: Sequence[Bar]) -> Bars:
    return Bars.model_validate({"bars": list(bars)})


# both generators ----------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([2, 4, 6, 8]), st.sampled_from([*FEATURES, "conjunction"]), st.booleans())
@QUICK
@pytest.mark.slow
def test_arrays_are_what_they_are_said_to_be(seed: int, bars: int, feature: str, matched: bool) -> None:
    one = sampler("change_arrays", bars=bars, feature=feature, matched=matched)
    arrays = one.draw(np.random.RandomState(seed))
    one.check(arrays)
    assert len(arrays["memory"]) == len(arrays["probe"]) == bars
    assert len(changed(arrays)) == (arrays["answer"] == "different")
    for n in changed(arrays):
        before, after = features(arrays["memory"][n]), features(arrays["probe"][n])
        assert [name for name, old, new in zip(FEATURES, before, after, strict=True) if old != new] == [
            arrays["changed"]
        ]
        assert feature in (arrays["changed"], "conjunction")
    assert (arrays["changed"] == "none") == (arrays["answer"] == "same")
    assert (shown(arrays["memory"]) == shown(arrays["probe"])) == (arrays["answer"] == "same"), (
        "and a change can be seen"
    )


# published ----------------------------------------------------------------------------------------


def test_a_bar_that_ends_beyond_the_canvas_is_cut_off() -> None:
    red = COLOURS["red"]
    for x0, y0, x1, y1 in ((80.25, 50, 96.75, 50), (50, 80, 50, 96)):
        bars = shown([{"at": [x0, y0, x1, y1]}])
        assert bars == shown([{"at": [x0, y0, min(x1, 95), min(y1, 95)]}])
        np.testing.assert_array_equal(render(bars.scene()), render(Scene((Line(x0, y0, x1, y1, red, 3),))))
    for outside in ([80, 50, 97, 50], [95, 50, 96, 50], [80, 96, 90, 96], [-1, 3, 9, 3]):
        with pytest.raises(ValueError, match="outside the 96 x 96 canvas"):
            shown([{"at": outside}])


# trials -------------------------------------------------------------------------------------------

TASKS = {
    "colour": "cd_color",
    "orientation": "cd_orientation",
    "size": "cd_size",
    "gap": "cd_gap",
    "conjunction": "cd_conj",
}


@pytest.mark.parametrize("name", ["cd", "cd_noise"])
def test_steps_times_and_labels(name: str) -> None:
    seen = set()
    for number, levels in enumerate(loaded(name).combinations()):
        trial = compile_trial(loaded(name), levels, number)
        retention = trial.levels["retention_steps"]
        seen.add(retention)
        phases = ["fixation", "present", *["retention"] * retention, "probe"]
        assert [step.percept.phase for step in trial.steps] == phases
        assert [step.percept.displays[0].ms for step in trial.steps] == [500, 100, *[150] * retention, 2000]
        assert [step.percept.model_step for step in trial.steps] == [False] + [True] * (retention + 2)
        ask = trial.steps[-1].percept.ask
        assert ask is not None
        assert (ask.ends, ask.window_ms) == ("on_answer", 2000)
        assert {type(step.percept.displays[0].stimulus) for step in trial.steps[2:-1]} <= {
            Noise if name == "cd_noise" else Blank
        }
        assert (
            trial.set_size
            == trial.levels["set_size"]
            == len(cast(Bars, trial.steps[1].percept.displays[0].stimulus).bars)
        )
        different = trial.steps[1].percept.displays[0].stimulus != trial.steps[-1].percept.displays[0].stimulus
        assert trial.steps[-1].truth.answer == ("different" if different else "same")
        assert (trial.steps[-1].truth.record["changed_feature"] != "none") == different
        view = loaded(name).network_view(trial.levels)
        assert view is not None
        assert (view.task, view.shared_head, view.head, view.filler) == (TASKS[trial.levels["feature"]], "cd", 1, 2)
        assert view.task in WORM_TASKS
        labels = labels_of(trial, view)
        assert labels.targets == (*[2] * (retention + 1), int(different))
        assert labels.trained == (*[False] * (retention + 1), True)
    assert seen == {0, 6, 12, 18}


@pytest.mark.parametrize("name", ["cd", "cd_noise"])
def test_designs_are_those_of_the_papers_and_short_enough_for_people(name: str) -> None:
    human, data = loaded(name).designs["human"], loaded(name).designs["published"]
    assert isinstance(data, DatasetDesign)
    assert (data.train, data.validation, data.test) == (86_400, 9_600, 9_600)
    assert isinstance(human, SessionDesign)
    assert len(loaded(name).combinations()) * human.repetitions * (1.0 + 0.5 + 0.1 + 9 * 0.15 + 1.2) < 40 * 60


def test_given_arrays_whose_answer_is_wrong_are_refused() -> None:
    levels = {"feature": "gap", "set_size": 4, "retention_steps": 0}
    arrays = drawn_values(loaded("cd"), levels, 1)["arrays"]
    assert compile_trial(loaded("cd"), levels, 1, draws={"arrays": arrays}).steps
    wrong = {**arrays, "answer": "same" if arrays["answer"] == "different" else "different"}
    with pytest.raises(SpanLabError, match="bars changed"):
        compile_trial(loaded("cd"), levels, 1, draws={"arrays": wrong})


# noise --------------------------------------------------------------------------------------------


def test_noise_is_another_in_every_step_and_has_nothing_to_do_with_the_answer() -> None:
    levels = {"feature": "size", "set_size": 2, "retention_steps": 18}
    drawn = [compile_trial(loaded("cd_noise"), levels, seed) for seed in range(150)]
    noise = [[cast(Noise, step.percept.displays[0].stimulus).seed for step in trial.steps[2:-1]] for trial in drawn]
    assert all(len(set(own)) == 18 for own in noise[:20])
    assert unrelated((own[0] % 2, trial.steps[-1].truth.answer) for own, trial in zip(noise, drawn, strict=True)) > RARE
    assert fits(Counter(seed * 10 // 100_000 for own in noise for seed in own).values())
