"""A reply, an error and what can be read as neither: told apart in every form in which servers send
them with status 200, and paid for once."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from chat_envelopes import ERRORS, UNREADABLE, WHOLE, body
from chat_servers import Tap, listening

from spanlab.agents.chat import Endpoint, EndpointError, RequestLimits
from spanlab.agents.chat.messages import Message, Reply, Request, Text
from spanlab.agents.chat.transport.client import Client
from spanlab.agents.chat.transport.departure import Departures, Fault
from spanlab.agents.chat.transport.replies import NoReplyError, read_reply

REQUEST = Request((Message("user", (Text("m or -?"),)),), {}, "1" * 16, "talk", 7)


class Watched(Departures):
    """Who is told of every departure."""

    def __init__(self) -> None:
        self.left = self.whole = self.in_doubt = 0
        self.failed: list[tuple[Fault, bool]] = []

    def leaves(self) -> None:
        self.left += 1

    def gone(self) -> None:
        self.whole += 1

    def fails(self, fault: Fault, left: bool, in_doubt: bool) -> None:
        self.in_doubt += in_doubt
        self.failed.append((fault, left))


def _ask(tap: Tap, watched: Watched | None = None, **care: Any) -> Reply:
    """The reply to one request, asked of a server that was met before."""
    client = Client(Endpoint(tap.base_url, key_variable=None), "any", RequestLimits(**care))
    client._met = True

    async def work() -> Reply:
        try:
            return await client.ask(REQUEST, watched)
        finally:
            await client.aclose()

    return asyncio.run(work())


def _then(*bodies: bytes) -> Any:
    """A server that sends these, one after the other, and then the last again and again."""
    coming = itertools.chain(bodies, itertools.repeat(bodies[-1]))
    return lambda heard: (200, "application/json", next(coming))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", WHOLE)
def test_a_reply_that_arrived_whole_is_kept_whatever_its_metadata_are(name: str) -> None:
    content, (read, written) = WHOLE[name]
    with listening(_then(content)) as tap:
        reply = _ask(tap)
        assert len(tap.requests) == 1, "bought once"
    assert (reply.content, reply.prompt_tokens, reply.completion_tokens, reply.faults) == ("m", read, written, ())


def test_metadata_are_read_as_far_as_they_can_be() -> None:
    def read(**more: Any) -> Reply:
        return read_reply(body(**more), 1.0, ("reasoning",))

    assert read(system_fingerprint=7).fingerprint == "7"
    assert read(choice={"finish_reason": {"reason": "length"}}).finish_reason == "length"
    assert read(choice={"finish_reason": "model_context_window_exceeded"}).finish_reason == "length"
    assert (
        read(message={"content": [{"type": "thinking", "thinking": "so"}, {"type": "text", "text": "m"}]}).reasoning
        == "so"
    )
    assert read(message={"content": None, "reasoning": "so"}).reasoning == "so"
    assert read(message={"content": "\ud800"}).content == "?"
    assert read(message={"content": 4}).content == "4"
    several = [
        {"token": "m", "logprob": None},
        {"token": "-", "logprob": -1.5},
        {"token": 3, "logprob": -2},
        {"token": "x", "logprob": "-inf"},
    ]
    assert read(
        choice={"logprobs": {"content": [{"token": "m", "logprob": -0.25, "top_logprobs": several}]}}
    ).first_logprobs == {"m": -0.25, "-": -1.5}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_no_reply_wherever_it_stands(name: str, tmp_path: Path) -> None:
    content, word, lasts, alone, begun = ERRORS[name]
    watched = Watched()
    with listening(_then(content, body())) as tap:
        if lasts:
            with pytest.raises(EndpointError) as caught:
                _ask(tap, watched, cache=tmp_path)
            assert (caught.value.permanent, caught.value.of_request) == (True, alone)
            assert "\n" not in str(caught.value)
            assert len(tap.requests) == 1
        else:
            reply = _ask(tap, watched, cache=tmp_path)
            assert (reply.content, reply.faults) == ("m", (word,))
            assert len(tap.requests) == 2
        assert watched.left == len(tap.requests), "every departure is told"
    ((fault, left),) = watched.failed
    assert (fault.word, fault.begun, left) == (word, begun, True)
    assert fault.taken is None or (fault.taken.prompt_tokens, fault.taken.completion_tokens) == (100, 7)
    assert len(list(tmp_path.rglob("*.json"))) == (not lasts), "an error is never cached"


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_may_have_been_paid_for_and_is_not_bought_for_ever(name: str) -> None:
    watched = Watched()
    with listening(_then(UNREADABLE[name])) as tap:
        with pytest.raises(EndpointError, match="not as a chat-completions server does") as caught:
            _ask(tap, watched, max_retries_begun=1)
        assert len(tap.requests) == watched.left == 2
    assert (caught.value.permanent, caught.value.of_request) == (False, True)
    assert [(fault.word, fault.begun, left) for fault, left in watched.failed] == [("garbage", True, True)] * 2


@pytest.mark.parametrize("name", [*ERRORS, *UNREADABLE])
def test_none_of_them_is_read_as_a_reply(name: str) -> None:
    with pytest.raises(NoReplyError):
        read_reply(ERRORS[name][0] if name in ERRORS else UNREADABLE[name], 1.0)


def test_nothing_left_when_there_was_no_connection() -> None:
    watched = Watched()
    with pytest.raises(EndpointError, match="no connection to"):
        _ask(Tap("http://127.0.0.1:9/v1"), watched, max_retries=1)
    assert watched.left == 0
    assert [(fault.word, fault.begun, left) for fault, left in watched.failed] == [("connection", False, False)] * 2


# Whole sessions


def test_with_a_cache_a_healthy_server_is_asked_again(tmp_path: Path) -> None:
    bad = body({"role": "assistant", "content": ""}, choice={"finish_reason": "error"})
    with listening(_then(bad)) as tap, pytest.raises(EndpointError):
        _ask(tap, cache=tmp_path, max_retries_begun=0)
    with listening(_then(body())) as tap:
        assert _ask(tap, cache=tmp_path).content == "m"
