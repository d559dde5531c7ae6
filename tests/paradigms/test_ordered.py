"""Answers in order and typed answers: what is allowed, how replies are read, how they are scored,
what guessing reaches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Answer, Ask, ResponseKind
from spanlab.paradigms.responses import SerialOrder, TypedText
from spanlab.paradigms.responses.sequence import edit_distance

DIGITS = SerialOrder.model_validate({"options": list("123456789"), "take": 4})
FREE = SerialOrder.model_validate({"options": list("123456789"), "take": 4, "free": True})
LETTERS = SerialOrder.model_validate({"options": list("FHJKLNPQRSTY"), "take": 3, "repeats": False})
WORDS = SerialOrder.model_validate({"options": ["house", "tree", "river"], "take": 2})
PLACES = SerialOrder.model_validate({"options": 12, "take": 3, "unknown": False})
WORD = TypedText.model_validate({})
NUMBER = TypedText.model_validate({"characters": "digits", "most": 3})


def key(name: str, held: bool = False) -> Press:
    return Press("key", 10.5, key=name, held=held)


@pytest.mark.parametrize(
    ("kind", "reply", "answer"),
    [
        *(
            (DIGITS, reply, ("3", "7", "2", "4"))
            for reply in (
                "3 7 2 4",
                "3724",
                "3, 7, 2, 4.",
                "3-7-2-4",
                "3 → 7 → 2 → 4",
                "[3, 7, 2, 4]",
                "37 24",
                "3\n7\n2\n4",
            )
        ),
        *(
            (DIGITS, reply, ("3", "7", "2", "4"))
            for reply in (
                "1. 3\n2. 7\n3. 2\n4. 4",
                "- 3\n- 7\n- 2\n- 4",
                "The digits were 3, 7, 2 and 4.",
                "3; 7; 2; 4",
            )
        ),
        *(
            (DIGITS, reply, ("3", "7", "2", "4"))
            for reply in ("I saw 4 digits, namely: 3 7 2 4", "3 7 2 4 - so 3 7 2 4")
        ),
        *((DIGITS, reply, ("3", None, "2", "4")) for reply in ("3 blank 2 4", "3, blank, 2, 4", "3 Blank 2 4")),
        *(
            (DIGITS, reply, None)
            for reply in (
                "3 7 2",
                "3 7 2 4 5",
                "3 7 2 4 or 3 7 4 2",
                "not 3 7 2 4",
                "3 7 2 4\n3 7 2 5",
                "12 3 4 5",
                "0 3 7 2",
                "-3 7 2 10",
                "",
            )
        ),
        *((DIGITS, reply, None) for reply in ("3.7 2 4", "first 3, then maybe 7, then 2, lastly 4", "3 7 2 4 1 1 1 1")),
        *((FREE, reply, tuple(reply.split())) for reply in ("3 7", "3 7 2 4 5 6", "1")),
        *((FREE, reply, None) for reply in ("3 7 2 4 5 6 7 8 9", "I saw 3", "3 7 and then 2 or 4")),
        *(
            (LETTERS, reply, ("F", "H", "J"))
            for reply in ("F H J", "fhj", "f, h, j", "FHJ", "I saw F, H and J.", "I saw FHJ", "1) F\n2) H\n3) J")
        ),
        *((LETTERS, reply, None) for reply in ("F F J", "I had it", "F H", "A B C", "f then h was what I saw")),
        *(
            (WORDS, reply, ("tree", "house"))
            for reply in ("tree house", "Tree, house.", "The words were tree and house.", "1. tree\n2. house")
        ),
        *((PLACES, reply, (10, 0, 11)) for reply in ("11 1 12", "11, 1, 12", "The places: 11, 1, 12")),
        *((PLACES, reply, None) for reply in ("11 1 13", "11112", "11 blank 12", "1 2")),
        *(
            (WORD, reply, "dog")
            for reply in ("dog", "Dog.", "**dog**", '"dog"', 'The word was "dog".', "`dog`", '{"answer": "dog"}')
        ),
        *(
            (WORD, reply, None)
            for reply in (
                "dog cat",
                "dog or cat",
                '"dog" or "cat"',
                'not "dog"',
                "a" * 21,
                "d0g",
                "",
                "the word was dog or so",
            )
        ),
        (WORD, "?", "?"),
        *((NUMBER, reply, "42") for reply in ("42", "42.", "The number was 42.", "**42**")),
        *((NUMBER, reply, None) for reply in ("1234", "4.2", "42 or 24", "-", "12 and 13", "x42")),
    ],
)
def test_a_reply_is_read_where_it_gives_one_answer(kind: ResponseKind, reply: str, answer: Answer | None) -> None:
    assert kind.parse(reply) == answer


@given(st.sampled_from([DIGITS, FREE, LETTERS, WORDS, PLACES, WORD, NUMBER]), st.integers(0, 2**32 - 1))
def test_what_is_written_is_read_back_in_words_and_in_json(kind: ResponseKind, seed: int) -> None:
    answer = kind.guess(np.random.RandomState(seed))
    assert kind.allows(answer)
    written = kind.write(answer)
    assert kind.parse(written) == answer
    schema = kind.answer_schema()
    assert schema is not None
    assert kind.answer_from_json(written.split(" ") if schema["type"] == "array" else written) == answer
    assert kind.answer_of(kind.values_of(answer)) == answer


def test_what_is_no_answer_is_refused() -> None:
    assert not any(
        DIGITS.allows(value)
        for value in (("3",), ("3", "7", "2", "0"), ("3", "7", "2", 4), "3724", None, ("3", "7", "2", True))
    )
    assert DIGITS.allows((None, None, "1", "1"))
    assert not PLACES.allows((None, 1, 2))
    assert not LETTERS.allows(("F", "F", "H"))
    assert FREE.allows(("1",))
    assert FREE.allows(("1",) * 8)
    assert not FREE.allows(("1",) * 9)
    assert not FREE.allows(())
    assert not any(WORD.allows(value) for value in ("", "two words", " dog", 3, "dog!"))
    assert [TypedText.model_validate({"more": more}).allows("Bär und") for more in ("ä", " ", "ä ")] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"options": ["a", "blank"], "take": 1}, "blank"),
        ({"options": ["a", "b c"], "take": 1}, "letters and digits"),
        ({"options": ["a", "a"], "take": 1}, "different"),
        ({"options": 3, "take": 4, "repeats": False}, "cannot take 4"),
        ({"options": 3, "take": 2, "areas": [[0, 0, 1, 1]]}, "areas"),
        ({"options": 9, "take": 2, "layout": "2x2"}, "layout"),
        ({"options": 9, "take": 2, "positions": [1, 1]}, "positions"),
        ({"options": 3, "take": 2, "keys": ["a", "b"]}, "keys"),
    ],
)
def test_what_cannot_be_asked_is_said(values: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        SerialOrder.model_validate(values)


# -- scores ----------------------------------------------------------------------------------------


def test_items_are_scored_at_their_positions_and_the_whole_by_edit_distance() -> None:
    right = ("3", "7", "2", "4")
    scores = DIGITS.score(("3", "2", None, "4"), right)
    assert [score.correct for score in scores] == [True, False, False, True]
    assert [score.serial_position for score in scores] == [1, 2, 3, 4]
    assert {score.edit_distance for score in scores} == {2}
    # one item left out in a free answer costs all positions after it, and a single edit
    shifted = FREE.score(("7", "2", "4"), right)
    assert [score.correct for score in shifted] == [False] * 4
    assert {score.edit_distance for score in shifted} == {1}
    longer = FREE.score(("3", "7", "2", "4", "9"), right)
    assert [(score.correct, score.correct_answer) for score in longer][-1] == (False, None)
    assert longer[0].edit_distance == 1
    assert [score.correct for score in DIGITS.score(None, right)] == [False] * 4
    assert DIGITS.score(None, right)[0].edit_distance == 4
    backward = DIGITS.model_copy(update={"positions": (4, 3, 2, 1)}).score(right, right)
    assert [score.serial_position for score in backward] == [4, 3, 2, 1]
    assert [(score.correct, score.edit_distance) for score in WORD.score("Dgo", "dog")] == [(False, 2)]
    assert [(score.correct, score.edit_distance) for score in WORD.score("?", "dog")] == [(False, 3)]
    assert WORD.score("DOG", "dog")[0].correct


@given(
    st.lists(st.sampled_from("abc"), max_size=5),
    st.lists(st.sampled_from("abc"), max_size=5),
    st.lists(st.sampled_from("abc"), max_size=5),
)
def test_edit_distance_is_a_distance(one: list[str], two: list[str], three: list[str]) -> None:
    assert (edit_distance(one, two) == 0) == (one == two)
    assert edit_distance(one, two) == edit_distance(two, one)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)
    assert abs(len(one) - len(two)) <= edit_distance(one, two) <= max(len(one), len(two))


@pytest.mark.parametrize("repeats", [True, False])
def test_guessing_reaches_what_is_said(repeats: bool) -> None:
    kind = SerialOrder.model_validate({"options": 4, "take": 3, "repeats": repeats})
    orders = list(itertools.product(range(4), repeat=3) if repeats else itertools.permutations(range(4), 3))
    counts = np.bincount(
        [sum(a == b for a, b in zip(order, (0, 1, 2), strict=True)) for order in orders], minlength=4
    ) / len(orders)
    assert kind.right_by_guessing() == pytest.approx(counts)
    assert kind.chance() == pytest.approx((counts * np.arange(4)).sum() / 3)
    random = np.random.RandomState(1)
    right = [sum(bool(score.correct) for score in kind.score(kind.guess(random), (0, 1, 2))) / 3 for _ in range(4000)]
    assert np.mean(right) == pytest.approx(kind.chance(), abs=0.02)
    assert NUMBER.chance() == pytest.approx(1 / 1110)


@pytest.mark.parametrize("kind", [DIGITS, WORD])
def test_networks_are_refused_in_a_sentence(kind: ResponseKind) -> None:
    for ask in (lambda: kind.from_logits(np.zeros(9)), lambda: kind.target("dog")):
        with pytest.raises(SpanLabError, match="one class at a step"):
            ask()


# -- presses ---------------------------------------------------------------------------------------


def test_presses_add_one_after_another_and_the_last_is_taken_back() -> None:
    sheet = AnswerSheet(Ask(DIGITS), onset=10.0)
    effects = [sheet.take(key(name)) for name in ("backspace", "3", "3", "delete", "minus", "space", "num_7", "9", "1")]
    assert effects == ["nothing", "mark", "mark", "unmark", "mark", "nothing", "mark", "mark", "full"]
    assert sheet.answer() == ("3", None, "7", "9")
    assert sheet.notes() == {"confirmed": False}
    assert sheet.take(key("return")) == "answer"
    assert sheet.take(key("backspace")) == "extra"
    free = AnswerSheet(Ask(FREE), onset=10.0)
    assert [free.take(key(name)) for name in ("return", "3", "return")] == ["not yet", "mark", "answer"]
    assert free.answer() == ("3",)


def test_a_text_is_typed_and_do_not_know_stands_for_all_of_it() -> None:
    sheet = AnswerSheet(Ask(WORD), onset=10.0)
    for name in "doog":
        sheet.take(key(name))
    for name in ("backspace", "backspace", "g"):
        sheet.take(key(name))
    assert sheet.answer() == "dog"
    assert sheet.take(key("minus")) == "mark"
    assert sheet.answer() == "?"
    assert sheet.take(key("c")) == "mark"
    assert sheet.answer() == "c"
