"""Answers in JSON, and the probabilities of answers."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from conditions import some_conditions
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.episode import ChatEpisode
from spanlab.agents.chat.likelihoods import Scorer
from spanlab.agents.chat.messages import Reply
from spanlab.agents.chat.reading.constrained import json_sentence, response_format
from spanlab.agents.chat.reading.extraction import check_extraction, read
from spanlab.agents.chat.reading.logprobs import answer_logprobs, answer_probabilities
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Answer, ResponseKind, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.responses import Cells, Choice, Continuous, SerialOrder

MATCH = Choice.model_validate({"options": ["m", "-"]})
SIDES = Choice.model_validate({"options": ["left", "right"]})
NINE = Choice.model_validate({"options": 9})
TWELVE = Choice.model_validate({"options": 12})
TWO_CELLS = Cells.model_validate({"grid": 10, "take": 2})


class Spoken(Choice):
    """A kind from elsewhere that says nothing of JSON."""

    name: ClassVar[str] = "spoken"

    def answer_schema(self) -> dict[str, Any] | None:
        return ResponseKind.answer_schema(self)

    def written_answers(self) -> tuple[str, ...]:
        return ResponseKind.written_answers(self)


def settings(**values: Any) -> ChatSettings:
    return ChatSettings.read({"constrained": "json", **values})


def as_json(kind: ResponseKind, answer: Answer) -> Any:
    """An answer as a server would be made to write it."""
    written = kind.write(answer)
    if isinstance(kind, Continuous):
        return int(written)
    if isinstance(kind, SerialOrder):
        return written.split()
    return written.split("; ") if isinstance(kind, Cells) else written


def schema(kind: ResponseKind, **values: Any) -> dict[str, Any]:
    form = response_format(kind, settings(**values))
    assert form is not None
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["name"].isidentifier()
    return form["json_schema"]["schema"]


def words_of(value: Any) -> set[str]:
    """Every keyword of a schema."""
    if isinstance(value, dict):
        return set(value).union(*map(words_of, value.values()))
    return set().union(*map(words_of, value)) if isinstance(value, list) else set()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_every_question_of_the_library_can_be_answered_in_json(name: str) -> None:
    paradigm, random = load_paradigm(name), np.random.RandomState(3)
    for levels in some_conditions(paradigm, 6)[:6]:
        for kind in dict.fromkeys(
            step.percept.ask.kind
            for step in compile_trial(paradigm, levels, seed=5).steps
            if step.percept.ask is not None
        ):
            check_extraction(kind, settings())
            whole = schema(kind)
            Draft202012Validator.check_schema(whole)
            json.dumps(response_format(kind, settings()))
            answer = kind.guess(random)
            reply = {"answer": as_json(kind, answer)}
            assert Draft202012Validator(whole).is_valid(reply)
            for extraction in ("strict", "tolerant"):
                found = read(kind, json.dumps(reply), settings(extraction=extraction))
                assert (found.value, found.how, found.answer_text) == (answer, "constrained", kind.write(answer))


@pytest.mark.parametrize("kind", [MATCH, SIDES, NINE, TWELVE, TWO_CELLS], ids=str)
def test_a_schema_allows_the_allowed_answers_and_no_others(kind: ResponseKind) -> None:
    validator = Draft202012Validator(kind.answer_schema() or {})
    random = np.random.RandomState(3)
    for _ in range(30):
        value = as_json(kind, kind.guess(random))
        assert validator.is_valid(value)
        assert kind.answer_from_json(value) is not None
    for value in (
        "",
        "M",
        "0",
        "10,11",
        1,
        1.0,
        True,
        None,
        [],
        {},
        ["1,1"],
        ["1,1", "1,1"],
        ["1,1", "1,11"],
        ["1,1", "1,2", "1,3"],
        ["1,1", 2],
        [["1,1"]],
        " m",
    ):
        assert not validator.is_valid(value)
        assert kind.answer_from_json(value) is None


def test_the_form_has_what_strict_servers_demand_and_nothing_that_they_refuse() -> None:
    assert schema(MATCH) == {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["m", "-"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    cells = schema(TWO_CELLS)["properties"]["answer"]
    assert (cells["minItems"], cells["maxItems"], len(cells["items"]["enum"])) == (2, 2, 100)
    known = {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "answer",
    }
    for kind in (MATCH, SIDES, NINE, TWELVE, TWO_CELLS):
        assert words_of(schema(kind)) <= known
    assert response_format(MATCH, ChatSettings()) is None
    assert json_sentence(MATCH, ChatSettings()) == ""


@pytest.mark.parametrize(
    ("where", "keys"), [("none", ["answer"]), ("before", ["reasoning", "answer"]), ("after", ["answer", "reasoning"])]
)
def test_reasons_have_their_place_in_the_object(where: str, keys: list[str]) -> None:
    whole = schema(SIDES, reasoning=where)
    assert (list(whole["properties"]), whole["required"]) == (keys, keys)
    sentence = json_sentence(SIDES, settings(reasoning=where))
    assert [sentence.index(f'"{key}"') for key in keys] == sorted(sentence.index(f'"{key}"') for key in keys)
    reply = json.dumps(
        {key: {"answer": "left", "reasoning": "the right one has fewer, so it is not right"}[key] for key in keys}
    )
    assert (read(SIDES, reply, settings(reasoning=where)).value, read(SIDES, reply, settings(reasoning=where)).how) == (
        "left",
        "constrained",
    )


def test_the_sentence_hints_at_no_answer() -> None:
    assert json_sentence(MATCH, settings()) == 'Write the reply as JSON: {"answer": "..."}.'
    assert json_sentence(TWO_CELLS, settings()) == 'Write the reply as JSON: {"answer": [...]}.'


@pytest.mark.parametrize(
    ("kind", "reply", "answer", "how"),
    [
        (MATCH, ' {"answer": "m"}\n', "m", "constrained"),
        (MATCH, '{"answer":"\\u002d"}', "-", "constrained"),
        (TWO_CELLS, '{"answer": ["7,2", "1,4"]}', (61, 3), "constrained"),
        (MATCH, "m", "m", "exact"),
        (MATCH, "**m**", "m", "tolerant"),
        (MATCH, '{"answer": "M"}', "m", "tolerant"),
        (MATCH, '{"answer": "m", "sure": true}', "m", "tolerant"),
        (MATCH, '```json\n{"answer": "m"}\n```', "m", "tolerant"),
        (NINE, '{"answer": 3}', 2, "tolerant"),
        (TWO_CELLS, '{"answer": ["(7, 2)", "1,4"]}', (61, 3), "tolerant"),
        (SIDES, '{"reasoning": "right has fewer", "answer": "Left"}', "left", "tolerant"),
        *(
            (MATCH, reply, None, "unread")
            for reply in (
                "",
                "{}",
                "[]",
                '"m"x',
                '{"answer": "m"',
                '{"answer": "m',
                '{"answer": null}',
                '{"answer": true}',
            )
        ),
        *(
            (MATCH, reply, None, "unread")
            for reply in (
                '{"answer": "m", "answer": "-"}',
                '{"answer": "m or -"}',
                '{"answer": ["m"], "x": NaN',
                '{"reply": "m"}',
            )
        ),
        (TWELVE, '{"answer": "1', None, "unread"),
        (SIDES, '{"reasoning": "left is', None, "unread"),
        (TWO_CELLS, '{"answer": ["1,4", "1,4"]}', None, "unread"),
        (TWO_CELLS, '{"answer": ["1,4"]}', None, "unread"),
        (MATCH, "{" * 100_000, None, "unread"),
        (MATCH, '{"answer":' + "[" * 100_000, None, "unread"),
        (MATCH, '{"answer":' + "9" * 10_000 + "}", None, "unread"),
    ],
)
def test_what_a_server_writes_that_was_asked_for_json(
    kind: ResponseKind, reply: str, answer: Answer | None, how: str
) -> None:
    found = read(kind, reply, settings())
    assert (found.value, found.how) == (answer, how)
    assert found.answer_text == (reply if answer is None else kind.write(answer))


def test_without_tolerance_nothing_but_the_form_or_the_bare_answer_is_read() -> None:
    strict = settings(extraction="strict")
    assert read(MATCH, "m", strict).how == "exact"
    for reply in ('{"answer": "M"}', '{"answer": "m", "sure": 1}', '```json\n{"answer": "m"}\n```', "m.", '"m"'):
        assert read(MATCH, reply, strict).value is None
    assert read(MATCH, '{"answer": "m"}', settings(constrained="none", extraction="strict")).value is None


def test_kinds_that_say_nothing_of_json_are_refused_before_a_session() -> None:
    kind = Spoken.model_validate({"options": ["yes", "maybe"]})
    with pytest.raises(SpanLabError) as error:
        check_extraction(kind, settings())
    assert (
        str(error.value)
        == "chat settings: the response kind 'spoken' has no JSON Schema of an answer, so constrained cannot be json;"
        " set it to none"
    )
    check_extraction(kind, ChatSettings())
    assert response_format(kind, settings()) is None
    with pytest.raises(SpanLabError, match="'spoken' has longer ones"):
        check_extraction(kind, ChatSettings(extraction="first_character"))
    assert read(kind, "maybe", ChatSettings(extraction="strict")).value == "maybe"


def test_tokens_of_one_answer_are_added() -> None:
    tokens = {
        "m": 0.5,
        " m": 0.1,
        "M": 0.05,
        "▁M": 0.05,
        "-": 0.1,
        "–": 0.02,
        "Ġ-\n": 0.08,
        "The": 0.04,
        " ": 0.01,
        "": 0.01,
        "match": 0.01,
    }
    found = answer_logprobs(MATCH, {token: math.log(probability) for token, probability in tokens.items()})
    assert found is not None
    assert {answer: math.exp(one) for answer, one in found.items()} == pytest.approx({"m": 0.7, "-": 0.2})
    assert answer_probabilities(MATCH, found) == pytest.approx({"m": 7 / 9, "-": 2 / 9})


def test_probabilities_of_what_is_thought_are_none_of_answers() -> None:
    """Neither in the record, nor where they stand for the likelihood of an answer."""
    episode, scorer = SimpleNamespace(_settings=ChatSettings.read({})), SimpleNamespace(_way="top")
    said, thought = (
        Reply(content=text, latency_ms=1, first_logprobs={"m": -0.1, "-": -3.0}) for text in ("m", "Okay</think>\n\nm")
    )
    assert ChatEpisode._probabilities(episode, MATCH, said)["answer_probabilities"]  # type: ignore[arg-type]
    assert ChatEpisode._probabilities(episode, MATCH, thought) == {}  # type: ignore[arg-type]
    Scorer.check(scorer, said)  # type: ignore[arg-type]
    with pytest.raises(SpanLabError, match="does not say how probable the first token"):
        Scorer.check(scorer, thought)  # type: ignore[arg-type]


def test_the_beginning_of_an_answer_stands_for_it_where_no_other_begins_so() -> None:
    assert answer_logprobs(SIDES, {"le": -1.0, "Right": -2.0, "l": -3.0, "lefty": -1.0}) == pytest.approx(
        {"left": math.log(math.exp(-1) + math.exp(-3)), "right": -2.0}
    )
    assert answer_logprobs(TWELVE, {"1": -0.1, "12": -3.0}) is None  # may become 10, 11 or 12
    assert answer_logprobs(TWELVE, {"2": -0.1, "12": -3.0}) == {"2": -0.1, "12": -3.0}
    alphabet = Choice.model_validate({"options": ["a", "A", "b"]})
    assert answer_logprobs(alphabet, {"a": -1.0, "A": -2.0, "B": -3.0}) == {"a": -1.0, "A": -2.0, "b": -3.0}


@given(st.dictionaries(st.text(max_size=4), st.floats(-50, 0), max_size=20))
@pytest.mark.slow
def test_probabilities_of_answers_are_probabilities(tokens: dict[str, float]) -> None:
    for kind in (MATCH, SIDES, NINE):
        found = answer_logprobs(kind, tokens)
        if found is not None:
            assert set(found) <= set(kind.written_answers())
            assert all(one <= 0 for one in found.values())
            shares = answer_probabilities(kind, found)
            assert shares is None or sum(shares.values()) == pytest.approx(1)
