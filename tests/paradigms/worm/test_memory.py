"""Visual recognition (vir, vsrec): what is drawn, with which probabilities, and what is right. And
for spatial coordination and integration, too: what is shown for how long, labels, designs, and that
the words suffice."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sampling import fits, loaded, sampler, trials

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial
from spanlab.paradigms.language.schema import DatasetDesign, SessionDesign
from spanlab.paradigms.network_view import labels_of
from spanlab.paradigms.paradigm import GENERATORS, Generator
from spanlab.stimuli.kinds.arrays import Matrix, SideBySide

SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=40, deadline=None)


# distractors of patterns --------------------------------------------------------------------------


@given(SEEDS, st.integers(2, 8), st.integers(1, 6), st.data())
@QUICK
def test_distractors_differ_as_they_should(seed: int, grid: int, many_patterns: int, data: st.DataObject) -> None:
    random = np.random.RandomState(seed)
    filled = data.draw(st.integers(1, grid**2 - 1))
    half = data.draw(st.integers(1, min(filled, grid**2 - filled)))
    patterns = [[int(cell) for cell in random.permutation(grid**2)[:filled]] for _ in range(many_patterns)]
    if comb(filled, half) * comb(grid**2 - filled, half) <= 2 * many_patterns:
        return
    one = sampler("pattern_distractors", of=patterns, difference=2 * half, grid=grid, unlike=patterns, distinct=True)
    distractors = one.draw(random)
    assert len(distractors) == len(patterns)
    for pattern, distractor in zip(patterns, distractors, strict=True):
        assert len(distractor) == len(set(distractor)) == filled
        assert all(0 <= cell < grid**2 for cell in distractor)
        assert len(set(pattern) ^ set(distractor)) == 2 * half
        assert distractor == sorted(distractor), "nothing about how it was made"
    apart = {frozenset(pattern) for pattern in patterns}
    assert len({frozenset(distractor) for distractor in distractors} | apart) == len(apart) + len(distractors)
    one.check(distractors)


def test_without_the_condition_distractors_are_as_often_in_the_list_as_chance_has_it() -> None:
    random = np.random.RandomState(3)
    plain = sampler("pattern_distractors", of=[[0, 1], [0, 2]], difference=2, grid=2)
    hits = sum(plain.draw(random)[0] == [0, 2] for _ in range(10_000))
    assert fits([hits, 10_000 - hits], [1 / 4, 3 / 4])


@pytest.mark.parametrize("name", ["vir", "vsrec"])
def test_a_distractor_from_the_list_is_possible_as_published_and_refused_as_corrected(name: str) -> None:
    paradigm, levels = (
        loaded(name),
        {"list_length": 4, **({"retention_steps": 0} if name == "vir" else {"pattern_distractor_difference": 4})},
    )
    first = list(range(18))
    near = [*range(16), 34, 35]
    patterns = [first, near, *([*range(n, 18 + n)] for n in (9, 18))]
    if name == "vir":
        draws: dict[str, Any] = {"patterns": patterns, "target": 0, "distractor": near, "side": 0}
    else:
        others = [[*pattern[2:], *sorted(set(range(36)) - set(pattern))[4:6]] for pattern in patterns[1:]]
        draws = {"patterns": patterns, "distractors": [near, *others], "sides": [0, 1, 0, 1]}
    assert compile_trial(paradigm, levels, 0, "published", draws).steps
    with pytest.raises(SpanLabError, match="equal to a pattern that it must not be equal to"):
        compile_trial(paradigm, levels, 0, "corrected", draws)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", ["vir", "vsrec"])
def test_recognition_shows_the_pattern_on_its_side_and_the_distractor_on_the_other(
    name: str, generator: Generator
) -> None:
    for trial in trials(name, generator):
        length = trial.levels["list_length"]
        shown = [set(cast(Matrix, step.percept.displays[0].stimulus).filled) for step in trial.steps[:length]]
        assert len(set(map(frozenset, shown))) == length
        assert {len(pattern) for pattern in shown} == {18}
        probes = [step for step in trial.steps if step.percept.ask is not None]
        assert len(probes) == (1 if name == "vir" else length)
        for number, step in enumerate(probes):
            pair = cast(SideBySide, step.percept.displays[0].stimulus)
            sides = {"left": set(pair.left), "right": set(pair.right)}
            old, new = sides.pop(step.truth.answer), next(iter(sides.values()))  # type: ignore[arg-type]
            position = step.truth.record["serial_position"]
            assert old == shown[position - 1]
            assert new not in shown
            assert len(old ^ new) == (4 if name == "vir" else trial.levels["pattern_distractor_difference"])
            assert name == "vir" or position == number + 1


# all four -----------------------------------------------------------------------------------------

#: phase to milliseconds for people (None = self-paced), and the options by their class in the
#: network's head
TIMES = {
    "vir": ({"present": 1000, "retention": 1000, "probe": None}, ("left", "right")),
    "vsrec": ({"present": 1550, "probe": None}, ("left", "right")),
    "sc": ({"present": 1000, "probe": None}, ("asymmetric", "symmetric")),
    "si": ({"present": None, "probe": None}, ("different", "same")),
}


def lengths(name: str, levels: Mapping[str, Any]) -> dict[str, int]:
    """Steps of each phase."""
    if name == "vir":
        return {"present": levels["list_length"], "retention": levels["retention_steps"], "probe": 1}
    if name == "vsrec":
        return {"present": levels["list_length"], "probe": levels["list_length"]}
    return {"present": levels["list_length"] if name == "sc" else 12 // levels["part_size"], "probe": 1}


@pytest.mark.parametrize("name", TIMES)
def test_steps_times_and_labels(name: str) -> None:
    times, options = TIMES[name]
    for levels in loaded(name).combinations():
        trial = compile_trial(loaded(name), levels, 3)
        wanted = lengths(name, levels)
        assert [step.percept.phase for step in trial.steps] == [phase for phase in wanted for _ in range(wanted[phase])]
        assert trial.list_length == wanted["present"]
        for step in trial.steps:
            (display,) = step.percept.displays
            assert display.ms == times[step.percept.phase]
            assert (step.percept.ask is not None) == (step.percept.phase == "probe")
            assert step.percept.model_step
            assert step.percept.ask is None or step.percept.ask.window_ms is None
        view = loaded(name).network_view(trial.levels)
        assert view is not None
        assert (view.task, view.head, view.filler) == (name, 1, 2)
        labels = labels_of(trial, view)
        assert labels.trained == tuple(step.percept.phase == "probe" for step in trial.steps)
        assert labels.targets == tuple(
            2 if step.truth.answer is None else options.index(cast(str, step.truth.answer)) for step in trial.steps
        )


@pytest.mark.parametrize("name", TIMES)
def test_designs_are_those_of_the_papers_and_short_enough_for_people(name: str) -> None:
    paradigm = loaded(name)
    published, human = paradigm.designs["published"], paradigm.designs["human"]
    assert isinstance(published, DatasetDesign)
    assert isinstance(human, SessionDesign)
    assert (published.train, published.validation, published.test) == (86_400, 9_600, 9_600)
    assert 86_400 % len(paradigm.combinations()) == 0
    conditions = paradigm.combinations(human.factors)
    seconds = 0.0
    for levels in conditions:
        steps = compile_trial(paradigm, levels, 1).steps
        # two seconds for whatever is self-paced, one between trials
        seconds += human.repetitions * (
            1
            + sum(2 if display.ms is None else display.ms / 1000 for step in steps for display in step.percept.displays)
        )
    assert seconds < 40 * 60
    if name == "vir":
        assert all({"list_length": 4, "retention_steps": steps} in conditions for steps in (0, 5))
    if name == "vsrec":
        assert all({"list_length": 5, "pattern_distractor_difference": cells} in conditions for cells in (2, 4, 6))


IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    (
        "pattern_distractors",
        {"of": [0, 1], "difference": 4, "grid": 6, "unlike": [[0]], "distinct": 1},
        "valid boolean",
    ),
    ("pattern_distractors", {"of": [0, 36], "difference": 2, "grid": 6}, "different cells from 0 to 35"),
    ("pattern_distractors", {"of": [[1, 1]], "difference": 2, "grid": 6}, "different cells from 0 to 35"),
    ("pattern_distractors", {"of": [0, 1], "difference": 3, "grid": 6}, "multiple of 2"),
    (
        "pattern_distractors",
        {"of": [0, 1], "difference": 6, "grid": 6},
        "no pattern differs in 6 cells from one with 2 of 36 cells filled",
    ),
    ("pattern_distractors", {"of": [], "difference": 2, "grid": 6}, "no pattern differs in 2 cells"),
    (
        "pattern_distractors",
        {"of": [0], "difference": 2, "grid": 2, "unlike": [[1], [2], [3]]},
        "3, of which up to 3 are excluded",
    ),
    (
        "pattern_distractors",
        {"of": [[0]] * 4, "difference": 2, "grid": 2, "distinct": True},
        "3, of which up to 3 are excluded",
    ),
    ("coordination_figure", {"count": 11}, "multiple of 2"),
    ("coordination_figure", {"count": 10, "offsets": []}, "at least 1 item"),
    ("coordination_figure", {"count": 10, "offsets": [3]}, "multiple of 2"),
    ("coordination_figure", {"count": 6}, "8 of 6 cells cannot be without a mirror image"),
    ("coordination_figure", {"count": 98}, "too many for a 10 x 10 grid"),
    ("coordination_figure", {"count": 10, "grid": 9}, "multiple of 2"),
    ("integration_figure", {"part_size": 5}, "12 segments cannot be cut into parts of 5"),
    ("integration_figure", {"part_size": 1, "changes": [12]}, "12 of 12 segments are too many to change"),
    ("integration_figure", {"part_size": 1, "segments": 14, "changes": [7]}, "7 of 14 segments are too many to change"),
    ("integration_figure", {"part_size": 1, "changes": [0]}, "greater than or equal to 1"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), IMPOSSIBLE)
def test_the_impossible_is_refused_before_anything_is_drawn(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        sampler(name, **parameters)
