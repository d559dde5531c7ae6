"""How answers are read in replies: by the declared rule, never by a guess between two."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from conditions import some_conditions
from hypothesis import assume, given
from hypothesis import settings as tried
from hypothesis import strategies as st

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.messages import Reply
from spanlab.agents.chat.reading.extraction import Reading, check_extraction, read, split_reasoning
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Answer, ResponseKind, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.responses import Cells, Choice, Continuous, Rating, SerialOrder

PARADIGMS = list_paradigms()
MATCH = Choice.model_validate({"options": ["m", "-"]})
SIDES = Choice.model_validate({"options": ["left", "right"]})
SAME = Choice.model_validate({"options": ["same", "different"]})
NINE = Choice.model_validate({"options": 9})
TWELVE = Choice.model_validate({"options": 12})
SEVEN = Rating.model_validate({"from": 1, "to": 7, "labels": {"1": "guessed", "7": "sure"}})
GRID = Choice.model_validate({"options": 9, "layout": "3x3"})
THREE_PLACES = SerialOrder.model_validate({"options": 9, "layout": "3x3", "take": 3})
TRUTH = Choice.model_validate({"options": ["true", "false"]})
ANGLE = Continuous.model_validate({"feature": "orientation", "tolerance": 20})
SPAN = SerialOrder.model_validate({"options": list("123456789"), "take": 9, "free": True})
TWO_CELLS = Cells.model_validate({"grid": 10, "take": 2})
WHERE = ("none", "before", "after")
#: Of these, the denial of one is the other.
OPPOSITES = ({"same", "different"}, {"symmetric", "asymmetric"}, {"true", "false"})

#: What well-meaning models put around an answer.
DRESSES = (
    "Answer: {}",
    "answer: {}.",
    "**{}**",
    "**Answer:** {}",
    "**Answer: {}**",
    "Final answer: **{}**",
    "The answer is {}.",
    "My answer is: {}",
    "Answer:\n{}",
    "<answer>{}</answer>",
    "$\\boxed{{{}}}$",
    "\\boxed{{\\text{{{}}}}}",
    "{}.",
    "'{}'",
    '"{}".',
    "“{}”",
    "`{}`",
    "```\n{}\n```",
    "({})",
    "# {}\n",
    "\u200b{}\u00a0",
    '{{"answer": "{}"}}',
)


def settings(**values: Any) -> ChatSettings:
    return ChatSettings.read(values)


def value_of(kind: ResponseKind, text: str, **values: Any) -> Answer | None:
    return read(kind, text, settings(**values)).value


@cache
def kinds_of(name: str) -> tuple[ResponseKind, ...]:
    """Every question that a paradigm asks in some of its conditions."""
    paradigm = load_paradigm(name)
    trials = [compile_trial(paradigm, levels, seed=5) for levels in some_conditions(paradigm)]
    return tuple(
        dict.fromkeys(step.percept.ask.kind for trial in trials for step in trial.steps if step.percept.ask is not None)
    )


def modes_of(kind: ResponseKind) -> tuple[str, ...]:
    """The rules that can be declared for a question."""
    modes = []
    for mode in ("strict", "first_character", "tolerant"):
        try:
            check_extraction(kind, settings(extraction=mode))
            modes.append(mode)
        except SpanLabError:
            pass
    return tuple(modes)


@st.composite
def questions(draw: st.DrawFn, name: str) -> tuple[ResponseKind, Answer]:
    kind = draw(st.sampled_from(kinds_of(name)))
    return kind, kind.guess(np.random.RandomState(draw(st.integers(0, 2**32 - 1))))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PARADIGMS)
@tried(max_examples=10)
@given(data=st.data())
def test_a_written_answer_is_read_in_every_mode_that_fits(name: str, data: st.DataObject) -> None:
    kind, answer = data.draw(questions(name))
    written = kind.write(answer)
    space = data.draw(st.sampled_from(["", " ", "\n", " \n\t"]))
    assert kind.parse(written) == answer
    assert {"strict", "tolerant"} <= set(modes_of(kind))
    for mode in modes_of(kind):
        assert read(kind, f"{space}{written}{space}", settings(extraction=mode)) == Reading(answer, "exact", written)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", PARADIGMS)
@tried(max_examples=10)
@given(data=st.data())
def test_tolerance_reads_an_answer_in_any_dress(name: str, data: st.DataObject) -> None:
    kind, answer = data.draw(questions(name))
    reply = data.draw(st.sampled_from(DRESSES)).format(kind.write(answer))
    for where in WHERE:
        found = read(kind, reply, settings(reasoning=where))
        assert (found.value, found.how, found.answer_text) == (answer, "tolerant", kind.write(answer)), (where, reply)
    assert read(kind, reply, settings(extraction="strict")) == Reading(None, "unread", reply)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PARADIGMS)
@tried(max_examples=10)
@given(data=st.data())
def test_an_answer_stands_last_after_reasons_and_first_before_them(name: str, data: st.DataObject) -> None:
    kind, answer = data.draw(questions(name))
    others = [kind.write(kind.guess(np.random.RandomState(seed))) for seed in range(3)]
    reasons = "Let me see, one after the other.\n" + "\n".join(
        f"I thought of {other}, and looked again." for other in others
    )
    written = kind.write(answer)
    for end in (
        f"\n{written}",
        f"\n\n**{written}**",
        f"\nAnswer: {written}",
        f"\nSo the answer is {written}.",
        f" So, {written}.",
    ):
        assert value_of(kind, reasons + end, reasoning="before") == answer, end
    for start in (f"{written}\n", f"**{written}**\n\n", f"Answer: {written}\n", f"{written}: "):
        assert value_of(kind, start + reasons, reasoning="after") == answer, start


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PARADIGMS)
@tried(max_examples=10)
@given(data=st.data())
def test_two_answers_and_denied_ones_are_none(name: str, data: st.DataObject) -> None:
    kind, answer = data.draw(questions(name))
    other = kind.guess(np.random.RandomState(data.draw(st.integers(0, 100))))
    assume(other != answer)
    one, two = kind.write(answer), kind.write(other)
    denied = () if {one, two} in OPPOSITES else (f"not {one}", f"The answer is not {one}.", f"It isn't {one}")
    for reply in (f"{one} or {two}", f"Answer: {one} or {two}", *denied, f"{one}?? {two}??"):
        for where in WHERE:
            assert value_of(kind, reply, reasoning=where) is None, (where, reply)
    assert value_of(kind, f"Answer: {one}\nAnswer: {two}") is None
    assert value_of(kind, f"{one}\nI looked again.\nFinal answer: {two}", reasoning="after") is None


@pytest.mark.parametrize(("one", "other"), [tuple(sorted(pair)) for pair in OPPOSITES])
def test_of_opposites_the_denial_of_one_is_the_other(one: str, other: str) -> None:
    kind = Choice.model_validate({"options": [one, other]})
    assert value_of(kind, f"It is not {one}.") == other
    assert value_of(kind, f"It isn't {other}.") == one
    assert value_of(kind, f"Answer: {one}\nAnswer: {other}") is None


@pytest.mark.parametrize("gap", ["_", "?", "[blank]", "unknown", "..."])
def test_a_gap_in_a_list_shifts_nothing(gap: str) -> None:
    kind = SerialOrder.model_validate({"options": 9, "take": 5})
    assert value_of(kind, f"7 5 {gap} 2 3") == (6, 4, None, 1, 2)
    assert value_of(kind.model_copy(update={"unknown": False}), f"7 5 {gap} 2 3") is None
    assert value_of(kind.model_copy(update={"take": 4}), f"7 5 {gap} 2 3") is None


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=5, unique=True), st.data())
def test_whatever_the_options_are_written_ones_are_read_back(options: list[str], data: st.DataObject) -> None:
    kind = Choice.model_validate({"options": options})
    for option in options:
        assert kind.parse(kind.write(option)) == option


@given(
    st.text(max_size=60), st.sampled_from([MATCH, SIDES, SAME, NINE, TWO_CELLS]), st.sampled_from(WHERE), st.booleans()
)
def test_nothing_that_a_model_writes_breaks_the_reading(text: str, kind: ResponseKind, where: str, json: bool) -> None:
    found = read(kind, text, settings(reasoning=where, constrained="json" if json else "none"))
    assert found.value is None or kind.allows(found.value)
    assert (found.value is None) == (found.how == "unread")
    assert found.answer_text == (text if found.value is None else kind.write(found.value))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        *(
            ("M", "m"),
            ("m!", "m"),
            ("_m_", "m"),
            ("–", "-"),
            ("—", "-"),
            ("−", "-"),
            ("“‐”", "-"),
            ("m (match)", "m"),
            ("- (no match)", "-"),
        ),
        *(
            ("m because the letter is the same", "m"),
            ("- because they differ", "-"),
            ("m. The letters are the same.", "m"),
        ),
        *(
            ("m: the letter before was m, now it is m", "m"),
            ("-: the letter before was b, now it is m.", "-"),
            ("-\n- before: m\n- now: b", "-"),
        ),
        *(("I could not see it. Answer: m", "m"), ("Here you are:\n\n**m**\n\nAnswer: m", "m")),
        *(
            (text, None)
            for text in (
                "",
                " ",
                "\n",
                "not m",
                "m or -",
                "m/-",
                "- m",
                "m -",
                "m - maybe",
                "a match",
                "m, -",
                "--",
                "---",
                "*",
                "mm",
                "m-",
            )
        ),
        *(
            (text, None)
            for text in (
                "m\n-",
                "-: x\nm: y",
                "m: or -",
                "m (or -)",
                "I will not answer m",
                "The answer is not m",
                "My answer isn't: m",
            )
        ),
        *(
            (text, None)
            for text in (
                "Step 1: b\nStep 2: b\nm",
                "m\ufffd",
                "\ufffdm",
                "\ufffd",
                "\x00",
                "\ud800",
                "match",
                "- The letter is b",
                "yes",
            )
        ),
    ],
)
def test_signs_and_letters(reply: str, answer: str | None) -> None:
    assert value_of(MATCH, reply) == answer


@pytest.mark.parametrize(
    ("kind", "reply", "answer"),
    [
        *(
            (NINE, text, 2)
            for text in (
                "Position 3",
                "position 3 of 9",
                "3rd",
                "#3",
                "3.",
                "the third one: 3",
                "The square was at position 3.",
                "[3]",
                "3\n\nIt was red.",
            )
        ),
        *(
            (NINE, text, None)
            for text in ("10", "0", "-3", "3.5", "1, 4", "3x3", "3/9", "3-4", "12", "3\ufffd", "not 3", "thirty")
        ),
        *(
            (NINE, text, None)
            for text in ("1: empty\n2: red", "1. red\n2. green", "2-back: I am not sure", "3, 3 or 4", "٣", "9" * 5000)
        ),
        *(
            (SIDES, text, "left")
            for text in ("Left", "LEFT", "left-hand", "The left one.", "left side: it has three", "(left)")
        ),
        *(
            (SIDES, text, None)
            for text in (
                "top-left",
                "left/right",
                "copyright",
                "left: 3, right: 4",
                "not left",
                "the opposite of left",
                "le\ufffdft",
            )
        ),
        (SAME, "same, not different", "same"),
        *(
            (SAME, text, "different")
            for text in ("They are different.", "Different: one square has changed", "different (one changed)")
        ),
        *((SAME, text, None) for text in ("same-different", "Same? Different?", "samedifferent", "sameness")),
        *(
            (TWO_CELLS, text, (3, 61))
            for text in (
                "(1, 4), (7, 2)",
                "[[1,4],[7,2]]",
                "1,4\n7,2",
                "- 1,4\n- 7,2",
                "1. 1,4\n2. 7,2",
                "R1C4 and R7C2",
            )
        ),
        *(
            (TWO_CELLS, text, (3, 61))
            for text in (
                "(row 1, column 4); (row 7, column 2)",
                "column 4, row 1; column 2, row 7",
                "The cells were 1,4 and 7,2.",
            )
        ),
        *(
            (TWO_CELLS, text, None)
            for text in (
                "",
                "1, 4, 7",
                "1,4",
                "1,4; 1,4",
                "0,1; 2,3",
                "1,4; 7,11",
                "14; 72",
                "1,4 or 7,2",
                "-1,4; 7,2",
                "1.5,2; 3,4",
            )
        ),
        *(
            (TWO_CELLS, text, None)
            for text in (
                "1,4; 7,2; 3,3",
                "row 1, row 4; column 7, column 2",
                "1,4\ufffd; 7,2",
                "not 1,4; 7,2",
                "9" * 5000 + ",1; 2,2",
            )
        ),
    ],
)
def test_words_numbers_and_cells(kind: ResponseKind, reply: str, answer: Answer | None) -> None:
    assert value_of(kind, reply) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        *((reply, "472") for reply in ("4 - 7 - 2", "4 -> 7 -> 2", "**4 \u2013 7 \u2013 2**", "1) 4, 2) 7, 3) 2")),
        *(
            (reply, "472")
            for reply in ("3 digits: 4, 7, 2", "|Place|Digit|\n|---|---|\n| 1 | 4 |\n| 2 | 7 |\n| 3 | 2 |")
        ),
        ("I saw 5 digits: 4, 7, 2, 9, 1.", "47291"),
        ("1: 4, 2: 7", "47"),
        ("1 2 - 4 9", ("1", "2", None, "4", "9")),
    ],
)
def test_spans_have_as_many_items_as_are_given(reply: str, answer: Any) -> None:
    assert value_of(SPAN, reply) == tuple(answer)


@pytest.mark.parametrize(
    ("where", "reply", "answer"),
    [
        ("before", "Left has 3, right has 4. Right.", "right"),
        ("before", "Left has 3.\nRight has 4.\nTherefore the right one has more.", "right"),
        ("before", "The answer to the last one was left. Right has 4.\n\nright", "right"),
        ("before", "left: 3 dots\nright: 4 dots", None),
        ("before", "I see dots.\nThe left one has three dots in it.", None),
        ("before", "Answer: left or right?\nI am looking.\nAnswer: right", "right"),
        ("before", "Answer: left\n\nI hope that this is right.", "left"),
        ("after", "Left. The right one has fewer.", "left"),
        ("after", "left\nThe answer is not right, since it has fewer.", "left"),
        ("after", "left: 3 dots\nright: 4 dots", None),
        ("after", "The left one has three dots in it.\nI see dots.", None),
        ("after", "I looked closely.\nAnswer: left", "left"),
        ("after", "left\n...\nSo the answer is right.", None),
    ],
)
def test_reasons_and_answers(where: str, reply: str, answer: str | None) -> None:
    assert value_of(SIDES, reply, reasoning=where) == answer


@pytest.mark.parametrize(
    ("kind", "where", "reply", "answer"),
    [
        (SAME, "before", "Possible answers:\n1. same\n2. different\n\nPlease choose one.", None),
        (SAME, "before", "Possible answers:\n- same\n- different", None),
        (SAME, "before", "Possible answers:\n- same\n- different\n\nAnswer: same", "same"),
        (SAME, "before", "I compared them one by one.\nSo the arrays are identical", "same"),
        (SAME, "before", "The arrays look the same, but I have not yet compared", None),
        (ANGLE, "before", "It is tilted by some degrees, so the total angle is 90 +", None),
        (ANGLE, "before", "Upright is 90 degrees, and as it leans to one side, I'd move", None),
        (ANGLE, "before", "It leans to one side, and I would put it at around 45 degrees", 45),
        (ANGLE, "before", "I thought first of 105, but it leans to the right. It should be 75.", 75),
        (MATCH, "after", "Match (m). The letters are alike.", "m"),
        (MATCH, "after", "Not (m). The letters differ.", None),
        (MATCH, "after", "Maybe (m). The letters differ.", None),
        (MATCH, "after", "m。因为两个字母相同,都是 H。", "m"),
        (SIDES, "after", "Rechts. Dort war er.", "right"),
        (SIDES, "after", "Rechts. Nein, links.", None),
        (SIDES, "after", "Links, weil dort etwas war.", "left"),
        (TRUTH, "after", 'The statement is false: A does not precede B in "BA".', "false"),
        (TRUTH, "after", "The statement is not false: 3 > 2.", None),
        (GRID, "none", "bottom center", 7),
        (GRID, "after", "Top left. That's where the square lit up.", 0),
        (GRID, "after", "Top left. Or bottom right.", None),
        (GRID, "none", "Top left or bottom right", None),
        (GRID, "none", "Top left?", None),
        (NINE, "none", "bottom center", None),  # without a layout, places have no names
        (THREE_PLACES, "after", "Top center, bottom right, top left.\n\nSo they appeared.", (1, 8, 0)),
    ],
)
def test_answers_at_the_head_and_reasons_that_break_off(
    kind: ResponseKind, where: str, reply: str, answer: Answer | None
) -> None:
    assert value_of(kind, reply, reasoning=where) == answer


def test_strict_takes_nothing_but_an_answer() -> None:
    for reply in ("M", "m.", "–", "'m'", "Answer: m", "m m", "", "\u200bm"):
        assert value_of(MATCH, reply, extraction="strict") is None
    for reply in ("1,4;7,2", "(1,4); (7,2)", "1, 4; 7, 2"):
        assert value_of(TWO_CELLS, reply, extraction="strict") is None
    assert value_of(TWO_CELLS, " 7,2; 1,4\n", extraction="strict") == (61, 3)


@pytest.mark.parametrize(
    ("reply", "answer", "how"),
    [
        ("m", "m", "exact"),
        ("-\n", "-", "exact"),
        ("m: the letter before was m", "m", "first_character"),
        ("match", "m", "first_character"),
        ("- m", "-", "first_character"),
        (" m, since", "m", "first_character"),
        ("\n-x", "-", "first_character"),
        *((reply, None, "unread") for reply in ("M", "'m'", "**m**", "Answer: m", "–", "", " ", "\u200bm")),
    ],
)
def test_the_first_character_as_published(reply: str, answer: str | None, how: str) -> None:
    found = read(MATCH, reply, settings(extraction="first_character"))
    assert (found.value, found.how) == (answer, how)


def test_settings_that_cannot_read_a_question_are_refused_in_one_sentence() -> None:
    for kind, values, said in (
        (
            SAME,
            {"extraction": "first_character"},
            "extraction first_character needs answers of one character; 'choice' has longer ones ('same')",
        ),
        (TWELVE, {"extraction": "first_character"}, "('10')"),
        (TWO_CELLS, {"extraction": "first_character"}, "'cells' has longer ones: set it to tolerant"),
        (MATCH, {"extraction": "strict", "reasoning": "after"}, "set extraction to tolerant"),
    ):
        with pytest.raises(SpanLabError) as error:
            check_extraction(kind, settings(**values))
        assert said in str(error.value)
        assert "\n" not in str(error.value)
    for values in (
        {},
        {"extraction": "first_character"},
        {"extraction": "strict"},
        {"constrained": "json"},
    ):
        check_extraction(MATCH, settings(**values))
        check_extraction(NINE, settings(**values))


@pytest.mark.parametrize(
    ("kind", "reply", "values", "answer"),
    [
        (MATCH, "m", {"max_tokens": 1}, "m"),
        (TWELVE, "1", {}, None),
        (TWELVE, "Position 1", {}, None),
        (TWELVE, "2", {}, 1),
        (TWELVE, "1\nIt was", {}, 0),
        (TWO_CELLS, "1,4; 7,1", {}, None),
        (TWO_CELLS, "1,4; 7,1.", {}, (3, 60)),
        (SPAN, "4, 7, 2, 9,", {}, None),
        (SPAN, "4, 7, 2, 9.", {}, ("4", "7", "2", "9")),
        (SIDES, "The left one has three.\nLeft", {"reasoning": "before"}, None),
        (SIDES, "left\nSince the", {"reasoning": "after"}, "left"),
    ],
)
def test_a_reply_that_was_cut_may_have_meant_another_answer(
    kind: ResponseKind, reply: str, values: dict[str, Any], answer: Answer | None
) -> None:
    assert read(kind, reply, settings(**values), cut=True).value == answer


def _reply(content: str, reasoning: str | None = None) -> Reply:
    return Reply(content=content, reasoning=reasoning, latency_ms=1)


@pytest.mark.parametrize(
    ("content", "reasoning", "rest"),
    [
        ("m", None, "m"),
        (" m\n", None, " m\n"),
        ("<think>a\nb</think>\n\nm", "a\nb", "m"),
        ("<think>\n\n</think>\n\nm", None, "m"),
        ("<thinking>a</thinking>m", "a", "m"),
        ("<THINK>a</Think> m", "a", "m"),
        ("<think>a</think>m<think>b</think>", "a\n\nb", "m"),
        ("<think>a<think>b</think>c</think>m", "a\n\nb\n\nc", "m"),
        ("a </think> m", "a", "m"),
        ("<think>m is possible", "m is possible", ""),
        ("m <think>or is it", "m\n\nor is it", ""),
        ("<think>a</think>m<think>b", "a\n\nm\n\nb", ""),
        ("I think <b>m</b>", None, "I think <b>m</b>"),
        ("", None, ""),
    ],
)
def test_think_blocks_are_no_part_of_the_answer(content: str, reasoning: str | None, rest: str) -> None:
    assert split_reasoning(_reply(content)) == (reasoning, rest)
    both = split_reasoning(_reply(content, "apart"))
    assert both == ("apart" if reasoning is None else f"apart\n\n{reasoning}", rest)


@given(st.lists(st.tuples(st.text(max_size=10), st.text(max_size=10)), max_size=4), st.text(max_size=10))
@pytest.mark.slow
def test_blocks_take_away_no_word_beside_them(blocks: list[tuple[str, str]], end: str) -> None:
    assume(not any("<" in text or ">" in text for pair in [*blocks, (end,)] for text in pair))
    content = "".join(f"{before}<think>{thought}</think>" for before, thought in blocks) + end
    reasoning, rest = split_reasoning(_reply(content))
    assert rest.strip() == ("".join(before for before, _ in blocks) + end).strip()
    assert (reasoning or "") == "\n\n".join(thought.strip() for _, thought in blocks if thought.strip())


def test_of_long_replies_the_end_is_read_at_which_the_answer_stands() -> None:
    reasons = "So there were dots on either side. " * 300_000
    assert value_of(SIDES, f"{reasons}\nAnswer: left", reasoning="before") == "left"
    assert value_of(SIDES, f"left\n{reasons}", reasoning="after") == "left"
    assert value_of(SIDES, f"left\n{reasons}") is None
    assert value_of(MATCH, f"m{reasons}", extraction="first_character") == "m"


# -- ratings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 - I was mostly guessing", 2),
        ("2 – guessing", 2),
        ("2: not sure at all", 2),
        ("2 (just a guess)", 2),
        ("2, I'm not sure", 2),
        ("Not sure. 2", 2),
        ("I'm not very confident, so 2", 2),
        ("1 - I have no idea", 1),
        ("3 - it could be either", 3),
        ("5. I don't recall seeing it, though.", 5),
        ("6 because I remember it, without doubt", 6),
        ("7 = sure", 7),
        ("Maybe a 3", 3),
        ("4/7", 4),
        ("4 / 7", 4),
        ("**4/7**", 4),
        ("4 out of 7", 4),
        ("6/7 confident", 6),
        ("I would rate my confidence as 5 out of 7 because it was familiar.", 5),
        ("On a scale of 1 to 7, I would say 6", 6),
        ("My rating is 3 on a scale from 1 to 7.", 3),
        ("Rating - 4", 4),
    ],
)
def test_a_rating_is_read_with_whatever_is_said_of_it(text: str, value: int) -> None:
    assert read(SEVEN, text, settings()) == Reading(value, "tolerant", str(value))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "between 2 and 3",
            "2 or 3",
            "2-3",
            "2–3",
            "2 to 3",
            "2, maybe 3",
            "2 or three",
            "2 - or rather 3",
            "2 and a half",
            "3.5",
            "3,5",
            "4 5",
            "2...3",
        ),
        *(
            "2/3",
            "4/10",
            "4 out of 10",
            "50%",
            "-3",
            "8",
            "0",
            "44",
            "4th",
            "1 to 7",
            "1-7",
            "I remembered 4 of the 7 words",
        ),
        *(
            "not 4",
            "I don't think it is 4",
            "4?",
            "more than 4",
            "at least 3",
            "around 4",
            "~4",
            "4+",
            "2 or so",
            "4 if the word was house",
        ),
        *(
            "4. No, wait.",
            "I'd say 4, no, 5",
            "Between a 2 and a 3, I was guessing",
            "GPT-4",
            "no",
            "I was mostly guessing",
        ),
    ],
)
def test_an_ambiguous_rating_stays_unread(text: str) -> None:
    for reasoning in WHERE:
        assert read(SEVEN, text, settings(reasoning=reasoning)).value is None


def test_a_rating_before_or_after_reasons_is_read_where_it_was_asked_for() -> None:
    assert (
        read(SEVEN, "I saw it, but I am not sure.\n2 - I was mostly guessing", settings(reasoning="before")).value == 2
    )
    assert read(SEVEN, "2 - I was mostly guessing.\nIt looked new.", settings(reasoning="after")).value == 2
    slider = Rating.model_validate({"from": 0, "to": 100})
    assert [slider.parse(text) for text in ("80%", "80/100", "100%", "0.8", "about 80")] == [80, 80, 100, None, None]


@pytest.mark.parametrize("dress", DRESSES)
def test_ratings_are_read_in_what_well_meaning_models_put_around_them(dress: str) -> None:
    assert read(SEVEN, dress.format("4"), settings()).value == 4


@pytest.mark.parametrize("text", ["seven", "Seven.", "**seven**", "07", "7.0", "Answer: seven", "The answer is 07."])
def test_a_reply_that_is_a_number_in_another_spelling_is_read(text: str) -> None:
    assert read(SEVEN, text, settings()).value == 7


@pytest.mark.parametrize("text", ["seventeen", "seven or six", "not seven", "7.5", "0.7", "one of seven"])
def test_other_numbers_in_words_are_none(text: str) -> None:
    assert read(SEVEN, text, settings()).value is None
