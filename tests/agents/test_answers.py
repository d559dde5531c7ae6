"""Answers of agents of one's own: what counts from where, and that an answer which is not allowed
ends the session with the allowed ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session_tools import Saying, take

from spanlab.agents import AgentKind, Response
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.responses import (
    RESPONSES,
    Cells,
    Choice,
    Continuous,
    Rating,
    ResponseKind,
    SerialOrder,
    TypedText,
)
from spanlab.paradigms.responses.text import OpenText
from spanlab.sessions import read_responses

VSR, SFR = load_paradigm("vsr"), load_paradigm("sfr")
PLAN = plan_session(VSR, 1, SessionDesign(), levels={"list_length": 9}, trials=4)
#: the right answers of these trials in order, as they are recorded
RIGHT = [
    step.truth.answer
    for planned in PLAN
    for step in planned.compile(VSR, "corrected").steps
    if step.percept.ask is not None
]


def replying(give: Any) -> Saying:
    """A perfect observer of these trials, whose answers are written by ``give``."""
    right = iter(RIGHT)
    return Saying(lambda percept, number: Response(give(percept, next(right))))


# -- what counts from where ------------------------------------------------------------------------


def test_values_count_from_0_and_written_answers_from_1(tmp_path: Path) -> None:
    values = take(tmp_path / "values", VSR, replying(lambda percept, right: right), PLAN)
    words = take(tmp_path / "words", VSR, replying(lambda percept, right: percept.ask.kind.parse(str(right + 1))), PLAN)
    assert read_responses(values.folder)["correct"].all()
    assert read_responses(words.folder)["correct"].all()


def test_a_perfect_agent_that_takes_the_words_for_values_is_stopped_and_told(tmp_path: Path) -> None:
    """The question says 1 to 9, and values are 0 to 8: it must not go on to 0 % correct."""
    with pytest.raises(SpanLabError) as error:
        take(tmp_path, VSR, replying(lambda percept, right: right + 1), PLAN)
    assert "the agent answered 9 (int)" in str(error.value)
    assert "a whole number from 0 to 8 (places count from 0, so 1 in the words of the question is 0 here)" in str(
        error.value
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", list_paradigms())
def test_the_last_of_numbered_places_comes_up(name: str) -> None:
    """So whoever takes the words for values comes to one that is not allowed."""
    paradigm = load_paradigm(name)
    places: set[tuple[Any, bool]] = set()
    for planned in plan_session(paradigm, 1, SessionDesign(), trials=30):
        for step in planned.compile(paradigm, "corrected").steps:
            kind = None if step.percept.ask is None else step.percept.ask.kind
            if isinstance(kind, Choice | SerialOrder) and isinstance(kind.options, int):
                places.add((type(kind), kind.options - 1 in kind.values_of(step.truth.answer or 0)))
    assert {kind for kind, last in places if last} == {kind for kind, _ in places}


KINDS = [
    (
        Choice.model_validate({"options": 9}),
        "a whole number from 0 to 8 (places count from 0, so 1 in the words of the question is 0 here)",
    ),
    (Choice.model_validate({"options": ("left", "right")}), "one of the texts 'left', 'right'"),
    (Rating.model_validate({"from": 1, "to": 7}), "a whole number from 1 to 7"),
    (
        Continuous.model_validate({"feature": "orientation", "tolerance": 10, "step": 5}),
        "a whole number of degrees from 0 to 175 in steps of 5",
    ),
    (
        Cells.model_validate({"grid": 6, "take": 3}),
        (
            "a tuple of 3 different whole numbers from 0 to 35 (cells count from 0, row by row, so 1,1 in the words of"
            " the question is 0 here, and 6,6 is 35)"
        ),
    ),
    (
        SerialOrder.model_validate({"options": 9, "take": 4}),
        (
            "a tuple of 4 whole numbers from 0 to 8, or None for an item that is not known (places count from 0, so 1"
            " in the words of the question is 0 here)"
        ),
    ),
    (
        SerialOrder.model_validate({"options": ("F", "K"), "take": 2, "unknown": False, "repeats": False}),
        "a tuple of 2 different texts, each one of 'F', 'K'",
    ),
    (
        TypedText.model_validate({"characters": "digits", "most": 8}),
        (
            "a text of 1 to 8 of the characters '0123456789', with no space at either end, or '?' for one that is not"
            " known"
        ),
    ),
    (OpenText.model_validate({"most": 200}), "a text of 1 to 200 characters, or '?' for no answer"),
]


@pytest.mark.parametrize(
    ("kind", "allowed"), KINDS, ids=lambda value: value.name if isinstance(value, ResponseKind) else ""
)
def test_every_kind_says_which_values_it_allows(kind: ResponseKind, allowed: str) -> None:
    assert kind.allowed_values() == allowed
    guessed = kind.guess(np.random.RandomState(1))
    assert kind.allows(guessed)
    assert kind.allows(kind.parse(kind.write(guessed)))


def test_every_kind_that_ships_says_it_itself() -> None:
    assert {type(kind) for kind, _ in KINDS} == set(map(RESPONSES.get, RESPONSES)) - {
        kind for kind in map(RESPONSES.get, RESPONSES) if "example" in kind.__module__
    }


# -- what is not allowed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("left", r"the agent answered 'left' \(str\) in step \d+; allowed is a whole number from 0 to 8"),
        (9, r"answered 9 \(int\)"),
        (-1, r"answered -1 \(int\)"),
        (3.0, r"answered 3\.0 \(float\)"),
        (True, r"answered True \(bool\)"),
        (None, r"answered None in step \d+; .*outcome omitted where nothing was answered"),
        ([3], r"answered \[3\] \(list\)"),
    ],
)
def test_a_choice_of_nine_stops_at_what_is_none_of_them(tmp_path: Path, value: Any, told: str) -> None:
    with pytest.raises(SpanLabError, match=told) as error:
        take(tmp_path, VSR, Saying(lambda percept, number: Response(value)), 1)
    assert "fault of the agent" in str(error.value)


@pytest.mark.parametrize("value", [(1, 2), (1, 1, 2), (1, 2, 100), (1, 2, 3, 4), 1, "1,2", None, (1, 2, np.int64(3))])
def test_free_recall_stops_at_other_than_so_many_different_cells(tmp_path: Path, value: Any) -> None:
    plan = plan_session(SFR, 1, SessionDesign(), levels={"list_length": 3}, trials=1)
    with pytest.raises(
        SpanLabError, match=r"allowed is a tuple of 3 different whole numbers from 0 to \d+ \(cells count from 0"
    ):
        take(tmp_path, SFR, Saying(lambda percept, number: Response(value)), plan)


def test_a_list_stops_the_session(tmp_path: Path) -> None:
    plan = plan_session(SFR, 1, SessionDesign(), levels={"list_length": 3}, trials=1)
    with pytest.raises(SpanLabError, match=r"answered \[1, 2, 3\] \(list\) in step \d+; allowed is a tuple of 3"):
        take(tmp_path, SFR, Saying(lambda percept, number: Response([1, 2, 3])), plan)  # type: ignore[arg-type]
    taken = take(tmp_path / "tuple", SFR, Saying(lambda percept, number: Response((1, 2, 3))), plan)
    assert set(read_responses(taken.folder)["outcome"]) == {"answered"}


# -- kinds of agents -------------------------------------------------------------------------------


def test_a_role_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ValueError,
        match=re.escape(
            "the role of the kind 'mine' is 'modell'; did you mean 'model'? Roles are person, stand-in, model, script"
        ),
    ):
        AgentKind("mine", role="modell")  # type: ignore[arg-type]
    assert AgentKind("mine", role="model").role == "model"
    assert AgentKind("mine").role == "model"
