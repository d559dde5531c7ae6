"""Trials whose draws are given: they are the trials that the draws came from, and whatever cannot
have been drawn is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paradigm_texts import load, text

from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Generator, Paradigm, Trial, compile_trial, fingerprint, list_paradigms, load_paradigm
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.paradigm import GENERATORS
from spanlab.paradigms.samplers.base import misfit

LIBRARY = {name: load_paradigm(name) for name in list_paradigms()}

DRAWS = """
order: {permutation: {of: [a, b, b, 1], take: 3}}
side: {one_of: [left, right]}
marks: {several: {of: [true, 1], count: 2}}
walk: {marker_walk: {boxes: 2, updates: 3}}
patterns: {matrix_patterns: {count: 2, grid: 2, filled: 2}}
reversed: "=[order[2 - n] for n in range(3)]"
both: [=side, middle]
placed: {place: {items: =order, at: [0, 1, 2], of: 4}}
"""
SHOWN = """
- {for: "one in [placed[0]] + reversed + both", phase: present, show: {text: =str(one), ms: {uniform: [100, 900]}}}
- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: "=walk.final[0]"}}
"""
LEFT = {"box": 0, "direction": "left"}
PATTERNS = [[0, 1], [2, 3]]


@pytest.fixture
def small(tmp_path: Path) -> Paradigm:
    return load(tmp_path, text(SHOWN, draw=DRAWS, factors="n: [1, 2]"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "cd_noise" else name for name in list_paradigms()]
)
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_trial_is_made_again_from_what_was_drawn_for_it(name: str, generator: Generator) -> None:
    """Also through JSON, and for every combination of factor levels."""
    paradigm = LIBRARY[name]
    for seed, levels in enumerate(paradigm.combinations()):
        drawn = json.loads(json.dumps(drawn_values(paradigm, levels, seed, generator)))
        trial = compile_trial(paradigm, levels, seed, generator)
        again = compile_trial(paradigm, trial.levels, seed, generator, drawn)
        assert again.steps == trial.steps
        assert (again.levels, again.set_size, again.list_length) == (trial.levels, trial.set_size, trial.list_length)
        assert again.trial_id != trial.trial_id, "trials whose draws are given have names of their own"


def texts(trial: Trial) -> list[str]:
    return [
        step.percept.displays[0].stimulus.model_dump()["text"]
        for step in trial.steps
        if step.percept.phase == "present"
    ]


def test_given_draws_are_used_and_the_others_follow(small: Paradigm) -> None:
    drawn = {**drawn_values(small, {"n": 1}, 4), "order": ["b", 1, "b"]}
    assert set(drawn) == {"order", "side", "marks", "walk", "patterns"}
    assert texts(compile_trial(small, {"n": 1}, 4, draws=drawn)) == ["b", "b", "1", "b", drawn["side"], "middle"]
    follower = {**drawn, "reversed": ["z"], "placed": [1, "b", "b", None]}
    assert texts(compile_trial(small, {"n": 1}, 4, draws=follower)) == ["1", "z", drawn["side"], "middle"]


def test_the_identity_covers_given_draws_and_nothing_else_has_changed(small: Paradigm) -> None:
    drawn = drawn_values(small, {"n": 1}, 4)
    one = compile_trial(small, {"n": 1}, 4, draws=drawn)
    assert compile_trial(small, {"n": 1}, 4, draws=dict(reversed(drawn.items()))).trial_id == one.trial_id, (
        "whatever the order of the draws"
    )
    others = [
        compile_trial(small, {"n": 1}, 4, draws={**drawn, "side": "left" if drawn["side"] == "right" else "right"}),
        compile_trial(small, {"n": 1}, 5, draws=drawn),
        compile_trial(small, {"n": 2}, 4, draws=drawn),
        compile_trial(small, {"n": 1}, 4, "published", drawn),
        compile_trial(small, {"n": 1}, 4),
    ]
    assert len({one.trial_id, *(other.trial_id for other in others)}) == 6
    assert len({fingerprint(one), *map(fingerprint, others)}) == 6


def test_given_draws_are_the_compilers_own(small: Paradigm) -> None:
    drawn = drawn_values(small, {"n": 1}, 4)
    before = json.dumps(drawn)
    trial = compile_trial(small, {"n": 1}, 4, draws=drawn)
    drawn["order"].clear()
    assert trial == compile_trial(small, {"n": 1}, 4, draws=json.loads(before))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"ordr": [1]}, "no draw 'ordr'; did you mean 'order'?"),
    ({"order": None}, "'order' that was given: expected a list of 3; found nothing"),
    ({"order": ["a", "b"]}, "expected a list of 3; found one of 2"),
    ({"order": ["a", "b", "c"]}, "'c' is not among those it is drawn from (a, b, b, 1)"),
    ({"order": ["a", "a", "b"]}, '"a" occurs too often'),
    ({"order": ["a", "b", True]}, "true is not among"),
    ({"side": "up"}, "'up' is not among those it is drawn from (left, right)"),
    ({"marks": [1, 1, 1]}, "expected a list of 2; found one of 3"),
    ({"marks": [1, 2]}, "2 is not among"),
    ({"walk": [1]}, "expected the fields start, updates, final; found [1]"),
    ({"walk": {"start": [4, 4], "updates": []}}, "the field 'final' is missing"),
    ({"walk": {"start": [4, 4], "updates": [], "final": [4, 4], "end": 1}}, "unknown field 'end'"),
    ({"walk": {"start": [4, 4], "updates": [{"box": 0, "direction": "up"}] * 2, "final": [4, 4]}}, "updates: expected a list of 3; found one of 2"),  # noqa: E501
    ({"walk": {"start": [4, 4], "updates": [{"box": 0, "direction": 1}] * 3, "final": [4, 4]}}, "updates > 1 > direction: expected a word; found 1"),  # noqa: E501
    ({"walk": {"start": [4, 4], "updates": [{"box": 0, "direction": "up"}] * 3, "final": [4, 4]}}, "update 2 (up) moves the marker out of box 0"),  # noqa: E501
    ({"walk": {"start": [7, 4], "updates": [LEFT, {"box": 1, "direction": "up"}, {"box": 0, "direction": "up"}], "final": [4, 1]}},  # noqa: E501
     "final: the updates lead to [3, 1]; found [4, 1]"),
    ({"walk": {"start": [9, 4], "updates": [{"box": 1, "direction": "up"}] * 3, "final": [9, 1]}}, "start: expected cells from 0 to 8"),  # noqa: E501
    ({"walk": {"start": [8, 4], "updates": [{"box": 2, "direction": "up"}] * 3, "final": [9, 1]}}, "update 1: expected a box from 0 to 1"),  # noqa: E501
    ({"patterns": [[0, 1], [1, 0]]}, "two patterns are the same"),
    ({"patterns": [[0, 1], [1, 4]]}, "pattern 2: expected 2 different cells from 0 to 3; found [1, 4]"),
    ({"patterns": [[0, 1], [1, 1]]}, "pattern 2: expected 2 different cells"),
    ({"patterns": [[0, 1], [1, 2.0]]}, "pattern 2: expected 2 different cells"),
    ({"patterns": [[0, 1], "ab"]}, '2: expected a list of 2; found "ab"'),
    ({"side": {"left"}}, "'side' that was given: set is not a plain value"),
    ({"side": float("nan")}, "a number that is too large"),
    ({"placed": ["a", "b"]}, "'placed' that was given: expected a list of 4; found one of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_values_that_cannot_have_been_drawn_are_told(small: Paradigm, change: dict[str, Any], message: str) -> None:
    drawn = {**drawn_values(small, {"n": 1}, 4), "patterns": PATTERNS}
    compile_trial(small, {"n": 1}, 4, draws=drawn)
    with pytest.raises(SpanLabError) as told:
        compile_trial(small, {"n": 1}, 4, draws={**drawn, **change})
    assert message in str(told.value)
    assert str(told.value).startswith("small")


def test_what_a_file_makes_of_given_draws_is_told_with_its_line(tmp_path: Path) -> None:
    paradigm = load(
        tmp_path,
        text("- {phase: probe, show: {blank: {}}, ask: {choice: {options: 2}, answer: =a}}", draw="a: {one_of: 9}"),
    )
    with pytest.raises(
        ParadigmError, match=r"small\.yaml:8 timeline step 1 > ask > answer.*\(with seed 3, draws given\)"
    ):
        compile_trial(paradigm, {}, 3, draws={"a": 5})


PLAIN = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-9, 9), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN, PLAIN)
@pytest.mark.slow
def test_forms_are_compared(value: Any, other: Any) -> None:
    assert misfit(value, value) is None
    numbers = {type(value), type(other)} <= {int, float}
    if (type(value) is not type(other) and not numbers) or (
        isinstance(value, (list, dict)) and len(value) != len(other)
    ):
        assert misfit(value, other)
