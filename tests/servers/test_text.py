"""A real server that constrains answers, gives probabilities and refuses what exceeds its context,
with a tiny model that sees nothing."""

from __future__ import annotations

import json
import math
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_servers import Request, Tap, recording
from session_tools import ended_well

from servers import sessions
from servers.running import TextServer
from servers.sessions import killed_and_resumed, lasting, replies, served_at, session, shortest, spanlab
from spanlab.agents.chat import ChatAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.servers

VSR, VERBAL = load_paradigm("vsr"), load_paradigm("nback_verbal")
MODEL = TextServer.model
#: Replies are short and always the same.
SHORT: dict[str, Any] = {"temperature": 0, "max_tokens": 8, "reask": 0}
#: Answers are held to a schema, in the form that this server takes, and there is room for them.
HELD: dict[str, Any] = {
    "constrained": "json",
    "max_tokens": 300,
    "reask": 0,
    "extra_body": {"seed": 5},
    "extraction": "strict",
}


@pytest.fixture(scope="module")
def server() -> Iterator[TextServer]:
    with TextServer(context=16384) as running:
        yield running


def agent(model: str, base_url: str, care: dict[str, Any] | None = None, **settings: Any) -> ChatAgent:
    """A chat agent with one conversation at a time: this server remembers the beginning of the last
    one, which saves most of its work."""
    return sessions.agent(model, base_url, {"concurrency": 1, **(care or {})}, **settings)


def notes(folder: Path) -> list[Any]:
    """The account of every answer."""
    return [event["notes"] for event in read_events(folder) if event["event"] == "step" and "ask" in event]


@pytest.mark.parametrize("name", list_paradigms())
def test_answers_held_to_a_schema_can_be_read_in_every_paradigm(tap: Tap, tmp_path: Path, name: str) -> None:
    paradigm = load_paradigm(name)
    made = session(tmp_path, paradigm, agent(MODEL, tap.base_url, **HELD))
    trial = compile_trial(paradigm, shortest(paradigm), seed=made.plan[0].seed, generator="corrected")
    kinds = [step.percept.ask.kind for step in trial.steps if step.percept.ask is not None]
    kept = replies(made.folder)
    # an answer of several cells has a row for each of them
    rows = read_responses(made.folder).drop_duplicates("step").to_dict("records")
    assert len(rows) == len(kept) == len(kinds)
    for row, line, kind in zip(rows, kept, kinds, strict=True):
        said = json.loads(line["reply"]["content"])
        assert set(said) == {"answer"}, "random weights, and yet JSON of the form that was asked for"
        value = said["answer"]
        if isinstance(value, list) and len(set(value)) < len(value) and kind.answer_from_json(value) is None:
            # the one thing that no schema says here: the same cell, or the same item, must not be
            # named twice
            assert (row["outcome"], row["extraction"]) == ("invalid", "unread")
        else:
            assert (row["outcome"], row["extraction"]) == ("answered", "constrained")
            assert kind.answer_from_json(value) is not None


def test_the_same_cell_twice_is_an_invalid_answer(tap: Tap, tmp_path: Path) -> None:
    made = session(
        tmp_path, load_paradigm("sfr"), agent(MODEL, tap.base_url, **{**HELD, "temperature": 1}), 3, list_length=4
    )
    valid = [
        len(set(answer)) == len(answer) == 4
        for line in replies(made.folder)
        for answer in [json.loads(line["reply"]["content"])["answer"]]
    ]
    rows = read_responses(made.folder).drop_duplicates(["trial", "step"])
    assert [outcome == "answered" for outcome in rows["outcome"]] == valid


def test_different_answers_come_from_the_same_schema(tap: Tap, tmp_path: Path) -> None:
    made = session(tmp_path, VSR, agent(MODEL, tap.base_url, **{**HELD, "temperature": 2}), 3, list_length=5)
    assert len(set(read_responses(made.folder)["answer"])) > 2


def test_half_an_object_is_no_answer(tap: Tap, tmp_path: Path) -> None:
    made = session(
        tmp_path,
        VSR,
        agent(MODEL, tap.base_url, **{**HELD, "max_tokens": 7, "extraction": "tolerant"}),
        1,
        list_length=3,
    )
    assert {line["reply"]["finish_reason"] for line in replies(made.folder)} == {"length"}
    assert set(read_responses(made.folder)["outcome"]) == {"invalid"}
    assert set(read_responses(made.folder)["extraction"]) == {"unread"}


def _in_its_form(tap: Tap) -> list[Request]:
    """The requests with the form of a schema that this server takes; each part of a session finds it out."""
    return [request for request in tap.requests if request.body["response_format"]["type"] == "json_object"]


def test_reasons_stand_beside_the_answer_whatever_is_in_them(tap: Tap, tmp_path: Path) -> None:
    """Sampled from all tokens, so that random weights close the text of their reasons at some time:
    the server leaves out the improbable ones by itself."""
    settings = {
        **HELD,
        "reasoning": "after",
        "history": "without_reasons",
        "max_tokens": 600,
        "temperature": 1,
        "extra_body": {"top_k": 0, "top_p": 1, "min_p": 0},
    }
    made = session(tmp_path, VSR, agent(MODEL, tap.base_url, **settings), 4, list_length=2)
    kept = replies(made.folder)
    whole = [line["reply"]["finish_reason"] == "stop" for line in kept]
    assert any(whole)
    assert [note["extraction"] for note in notes(made.folder)] == ["constrained" if one else "unread" for one in whole]
    asks = [step.percept.ask for step in compile_trial(VSR, {"list_length": 2}, seed=1, generator="corrected").steps]
    kind = next(ask.kind for ask in asks if ask is not None)
    said = [
        json.loads(line["reply"]["content"], strict=False) if one else None
        for line, one in zip(kept, whole, strict=True)
    ]
    answers = [None if one is None else kind.answer_from_json(one["answer"]) for one in said]
    assert all(set(one) == {"answer", "reasoning"} for one in said if one is not None)
    assert [
        event["value"] for event in read_events(made.folder) if event["event"] == "step" and "ask" in event
    ] == answers
    others = [set("123456789") & set(one["reasoning"]) - {str(one["answer"])} for one in said if one is not None]
    assert any(others), "reasons that name other answers than the one that was given"
    # the second question of each trial follows the reply to the first one: the answer alone, or all
    # of a reply in which none was read
    for first, request in zip(range(0, len(kept), 2), _in_its_form(tap)[1::2], strict=True):
        heard = [message["content"] for message in request.body["messages"] if message["role"] == "assistant"]
        answer = answers[first]
        assert heard == [kept[first]["reply"]["content"] if answer is None else kind.write(answer)]


def test_the_form_of_a_schema_that_this_server_takes_is_found_out(tap: Tap, tmp_path: Path) -> None:
    session(tmp_path, VSR, agent(MODEL, tap.base_url, {"max_retries": 12}, **HELD), 2, list_length=2)
    forms = [request.body["response_format"]["type"] for request in tap.requests]
    assert forms == ["json_schema", *["json_object"] * 4]


def test_probabilities_of_the_allowed_answers_are_those_of_the_first_token(
    tap: Tap, server: TextServer, tmp_path: Path
) -> None:
    made = session(
        tmp_path,
        VSR,
        agent(MODEL, tap.base_url, **SHORT, extra_body={"logprobs": True, "top_logprobs": 20}),
        3,
        list_length=4,
    )
    recorded = [note["answer_logprobs"] for note in notes(made.folder)]
    assert len(recorded) == 12 == len(tap.requests)
    assert any(recorded), "at least one allowed answer is among the 20 most probable tokens"
    by_request = {line["request"]: line["reply"]["first_logprobs"] for line in replies(made.folder)}
    found = 0
    for request in tap.requests:
        asked = urllib.request.Request(
            f"{server.base_url}/chat/completions",
            json.dumps(request.body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked) as reply:
            first = json.load(reply)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        digits = {one["token"]: one["logprob"] for one in first if one["token"] in set("123456789")}
        matching = [
            one
            for one in recorded
            if set(one) == set(digits) and all(math.isclose(one[key], digits[key], abs_tol=0.02) for key in digits)
        ]
        assert matching, f"{digits} is not among {recorded}"
        found += bool(digits)
    assert found
    assert all(sum(map(math.exp, one.values())) <= 1 for one in recorded)
    assert all(kept is not None and len(kept) >= 10 for kept in by_request.values())


def test_a_server_that_drops_pictures_is_told_so(tap: Tap, tmp_path: Path) -> None:
    for check in ("tokens", "read"):
        settings = {"view": "image", "image_px": 128, "probe": check, "temperature": 0}
        with pytest.raises(
            SpanLabError,
            match=rf"silently drops pictures: a request to '{MODEL}' has no more tokens with a picture than without",
        ):
            session(tmp_path / check, VSR, agent(MODEL, tap.base_url, **settings), 1, list_length=2)
    assert len(tap.requests) == 2 + 4, "nothing was asked but the checks"
    done = spanlab(
        "replay",
        "vsr",
        "--agent",
        f"chat:{MODEL}",
        "--trials",
        "1",
        "--chat",
        "view=both",
        "--data",
        tmp_path / "data",
        env=served_at(tap.base_url),
    )
    assert done.returncode != 0
    assert "silently drops pictures" in done.stderr
    assert "Traceback" not in done.stderr


def test_pictures_that_become_text_are_not_taken_for_seen(tmp_path: Path) -> None:
    with TextServer(context=16384, prints=True) as server:
        settings = {"view": "image", "image_px": 96, "probe": "read", "temperature": 0}
        with pytest.raises(
            SpanLabError, match=r"gives 'tiny-text' the text of a picture's file to read instead of the picture"
        ):
            session(tmp_path, VSR, agent(MODEL, server.base_url, **settings), 1, list_length=2)


def test_a_conversation_that_grows_too_long_stops_at_once_and_goes_on_with_more_context(
    tap: Tap, tmp_path: Path
) -> None:
    settings = [word for name, value in SHORT.items() for word in ("--chat", f"{name}={value}")]
    taken = [
        "replay",
        "vsr",
        "--agent",
        f"chat:{MODEL}",
        "--trials",
        "2",
        "--set",
        "list_length=4",
        "--concurrency",
        "1",
        *settings,
    ]
    ended_well(spanlab(*taken, "--data", tmp_path / "whole", env=served_at(tap.base_url)))
    (whole,) = (tmp_path / "whole").iterdir()
    context = [line["reply"]["prompt_tokens"] for line in replies(whole)][2] // 256 * 256
    with TextServer(context) as small, recording(small.root) as short:
        done = spanlab(*taken, "--data", tmp_path / "stopped", env=served_at(short.base_url))
        (folder,) = (tmp_path / "stopped").iterdir()
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        for words in (
            f"a conversation is too long for the model '{MODEL}'",
            f"maximum context length is {context} tokens",
            f"spanlab resume {folder}",
        ):
            assert words in done.stderr
        assert len(replies(folder)) == 2
        assert len(short.requests) == 3, "the refused request was the last"
    already = len(tap.requests)
    ended_well(spanlab("resume", folder, "--retry-failed", env=served_at(tap.base_url)))
    assert len(tap.requests) - already == 6, "no reply that was kept was asked for again"
    pd.testing.assert_frame_equal(lasting(folder), lasting(whole))


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_session_is_killed_and_resumed(tap: Tap, tmp_path: Path) -> None:
    settings = [word for name, value in {**HELD, "temperature": 0}.items() for word in ("--chat", f"{name}={value}")]
    taken = [
        "replay",
        "vsr",
        "--agent",
        f"chat:{MODEL}",
        "--trials",
        "6",
        "--set",
        "list_length=2",
        "--concurrency",
        "2",
        *settings,
    ]
    ended_well(spanlab(*taken, "--data", tmp_path / "whole", env=served_at(tap.base_url)))
    (whole,) = (tmp_path / "whole").iterdir()
    alone = len(_in_its_form(tap))
    folder, kills = killed_and_resumed(tmp_path / "killed", tap, taken, every=4)
    assert kills >= 2
    pd.testing.assert_frame_equal(lasting(folder), lasting(whole))
    assert alone == len(replies(folder)) == 12
    assert alone <= len(_in_its_form(tap)) - alone <= alone + 2 * kills, "only requests in flight were sent twice"


def test_likelihoods_are_the_product_of_what_the_server_says_of_each_token(
    tap: Tap, server: TextServer, tmp_path: Path
) -> None:
    """Of every allowed answer, by the completion endpoint: the same as what it says of one next
    token after the other, among all of its tokens."""
    made = session(tmp_path, VSR, agent(MODEL, tap.base_url, **{**SHORT, "likelihoods": "echo"}), 1, list_length=2)
    recorded = [note["likelihoods"] for note in notes(made.folder)]
    prompts = [request.body["prompt"] for request in tap.requests if "prompt" in request.body]
    assert len(prompts) == 2 * 10
    assert all(sum(one["probabilities"].values()) == pytest.approx(1) for one in recorded)

    def next_tokens(text: str) -> dict[str, float]:
        body = {"model": MODEL, "prompt": text, "max_tokens": 1, "logprobs": 259, "temperature": 0}
        asked = urllib.request.Request(
            f"{server.base_url}/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked) as reply:
            return json.load(reply)["choices"][0]["logprobs"]["top_logprobs"][0]

    before = prompts[0]
    # the space before an answer is three bytes in this vocabulary, the same for all answers
    shared = [
        recorded[0]["logprobs"][digit] - next_tokens(f"{before} ")[digit] - next_tokens(f"{before} {digit}")["\n"]
        for digit in "19"
    ]
    # numbers of half precision in its cache: .02 a token, five of them
    assert shared[0] == pytest.approx(shared[1], abs=0.1)
    assert shared[0] < 0
