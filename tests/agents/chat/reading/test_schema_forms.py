"""The forms in which servers are handed the schema of answers, and what they do with those that
they do not take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, listening
from servers.sessions import agent, session

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.reading.constrained import read_constrained, response_format
from spanlab.agents.chat.transport.dialect import Dialect
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import ResponseKind, compile_trial, list_paradigms, load_paradigm

FORMS = ("json_schema", "json_object")
#: How a server that is not OpenAI's refused the form of OpenAI's, and one that was OpenAI's.
REFUSALS: list[tuple[int, dict[str, Any]]] = [
    (
        500,
        {
            "error": {
                "message": "1 validation error: Input should be 'text' or 'json_object' (found 'json_schema')",
                "type": "internal_server_error",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": (
                    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
                ),
                "param": "response_format",
            }
        },
    ),
    (422, {"detail": "Unexpected fields in the request: {'response_format'}"}),
]


def kinds(name: str) -> list[ResponseKind]:
    paradigm = load_paradigm(name)
    trial = compile_trial(paradigm, next(iter(paradigm.combinations())), seed=1, generator="corrected")
    asked = [step.percept.ask.kind for step in trial.steps if step.percept.ask is not None]
    return [kind for number, kind in enumerate(asked) if kind not in asked[:number]]


@pytest.mark.sampled(33)
@pytest.mark.parametrize("name", list_paradigms())
@pytest.mark.parametrize("reasoning", ["none", "after", "before"])
def test_both_forms_hold_the_same_schema(name: str, reasoning: str) -> None:
    for kind in kinds(name):
        usual = response_format(kind, ChatSettings.read({"constrained": "json", "reasoning": reasoning}))
        assert usual is not None
        other = Dialect(schema_as="json_object").put({"response_format": usual})["response_format"]
        assert (usual["type"], other["type"]) == FORMS
        assert usual["json_schema"]["schema"] == other["schema"]


@pytest.mark.parametrize(("status", "body"), REFUSALS)
def test_where_neither_form_is_taken_the_session_stops_with_its_first_question(
    status: int, body: dict[str, Any], tmp_path: Path
) -> None:
    def refuse(request: Request) -> Answer:
        return status, "application/json", json.dumps(body).encode()

    taker = {"max_retries": 12, "concurrency": 1}
    with (
        listening(refuse) as tap,
        pytest.raises(SpanLabError, match=r"does not take the schema of answers \(.*\); set constrained to none"),
    ):
        session(tmp_path, load_paradigm("vsr"), agent("m", tap.base_url, taker, constrained="json"), 2, list_length=2)
    assert [request.body["response_format"]["type"] for request in tap.requests] == ["json_schema", "json_object"]


def test_raw_line_breaks_in_reasons_do_no_harm() -> None:
    (kind,) = kinds("vsr")
    settings = ChatSettings.read({"constrained": "json", "reasoning": "before"})
    assert read_constrained(kind, '{"reasoning": "first,\nthen\tlast", "answer": "4"}', settings) == 3
    assert read_constrained(kind, '{"reasoning": "first", "answer": "4\n"}', settings) is None, "no allowed answer"
