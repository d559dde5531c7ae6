"""Chat agents before a server that fails in every way: what is repeated, what is told, and that
nothing is lost and nothing freezes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_chaos import ANSWERS, CHAOS, session_table
from chat_servers import Stub, stub
from effort import HANGS_S

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, EndpointError, RequestLimits
from spanlab.agents.chat.messages import Message, Reply, Request, Text
from spanlab.agents.chat.transport.client import Client
from spanlab.agents.interruptions import Stopped
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, begin, read_responses
from spanlab.sessions.record.reader import read_transcript

NBACK = load_paradigm("nback_verbal")


def _client(server: Stub, model: str = "any", **request_limits: Any) -> Client:
    return Client(Endpoint(server.base_url, key_variable=None), model, RequestLimits(**request_limits))


def _request(text: str = "m or -?") -> Request:
    return Request((Message("user", (Text(text),)),), identity=text, conversation=text)


def _ask(client: Client, *requests: Request) -> list[Reply]:
    async def everyone() -> list[Reply]:
        try:
            return list(await asyncio.gather(*(client.ask(request) for request in requests)))
        finally:
            await client.aclose()

    return asyncio.run(everyone())


# One request


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("429", "rate_limit"),
        ("429-after", "rate_limit"),
        ("429-ms", "rate_limit"),
        ("500", "server"),
        ("503", "server"),
        ("told", "server"),
        ("reset", "connection"),
        ("cut", "connection"),
        ("silent", "timeout"),
        ("drip", "timeout"),
        ("truncated", "garbage"),
        ("hollow", "garbage"),
    ],
)
def test_a_passing_fault_is_repeated_and_told_in_a_word(kind: str, word: str) -> None:
    with stub(fixed={"any": kind}, fixed_times=1) as server:
        (reply,) = _ask(_client(server, timeout_s=2 if word == "timeout" else HANGS_S), _request())
        assert server.stats()["requests"] == 2
    assert reply.content in ("m", "-")
    assert reply.faults == (word,)
    assert reply.waited_ms >= (150 if kind == "429-ms" else 200)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("400", "refused the request with status 400"),
        ("401", "refused the key|wants a key"),
        ("told-403", "not in your"),
    ],
)
def test_a_lasting_fault_is_told_at_once(kind: str, says: str) -> None:
    with stub(fixed={"any": kind}) as server:
        with pytest.raises(EndpointError, match=says) as caught:
            _ask(_client(server), _request())
        assert server.stats()["requests"] == 1
    assert caught.value.permanent
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "says"),
    [("429", "too busy in 3 tries"), ("503", "status 503 in 3 tries"), ("hollow", "not as a chat-completions server")],
)
def test_after_the_last_try_it_is_told_how_often(kind: str, says: str) -> None:
    with stub(fixed={"any": kind}) as server:
        with pytest.raises(EndpointError, match=says) as caught:
            _ask(_client(server, max_retries=2), _request())
        assert server.stats()["requests"] == 3
    assert not caught.value.permanent


def test_what_has_never_given_a_reply_may_be_no_chat_server_and_is_told_soon() -> None:
    with stub(fixed={"any": "page"}) as server:
        with pytest.raises(EndpointError, match="not as a chat-completions server"):
            _ask(_client(server), _request())
        assert server.stats()["requests"] == 3


def test_retry_after_is_honoured() -> None:
    with stub(fixed={"any": "429-after"}, fixed_times=1, retry_after="1.5") as server:
        (reply,) = _ask(_client(server), _request())
    assert reply.waited_ms >= 1500


def test_a_lasting_fault_lets_those_under_way_finish_and_no_other_begin() -> None:
    with stub(fixed={}, delay_ms=400) as server:
        client = _client(server, concurrency=3)

        async def work() -> list[Any]:
            tasks = [asyncio.ensure_future(client.ask(_request(str(number)))) for number in range(6)]
            await asyncio.sleep(0.2)
            client.rate_limiter.stop("enough of it")
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await client.aclose()
            return results

        results = asyncio.run(work())
        assert server.stats()["requests"] == 3
    assert [type(one) for one in results] == [Reply] * 3 + [Stopped] * 3
    assert {str(one) for one in results[3:]} == {"enough of it"}


@pytest.mark.slow
def test_the_limit_follows_a_server_that_takes_ten_at_once() -> None:
    with stub(busy_over=10, delay_ms=30) as server:
        replies = _ask(_client(server, concurrency=64), *(_request(str(number)) for number in range(200)))
        stats = server.stats()
    assert len(replies) == 200
    assert stats["kinds"]["ok"] == 200
    assert stats["kinds"].get("429", 0) < 200, "a burst at first, and then few"


def test_a_budget_of_requests_a_minute_holds_at_a_real_server() -> None:
    with stub() as server:
        began = time.perf_counter()
        _ask(_client(server, requests_per_minute=600, concurrency=50), *(_request(str(number)) for number in range(30)))
        took = time.perf_counter() - began
    assert took > 1.9, "ten at once, and then ten a second"


# Whole sessions


def _session(server: Stub, data: Path, blocks: int, request_limits: RequestLimits) -> Path:
    agent = ChatAgent("any", ChatSettings(reask=0), Endpoint(server.base_url, key_variable=None), request_limits)
    plan = plan_session(NBACK, seed=4, levels={"block_length": [24]}, trials=blocks, design=SessionDesign())
    session = begin(data, NBACK, agent, plan, Wanted(seed=4))
    Runner(session, agent).run()
    return session.folder


def _everything_once(folder: Path, blocks: int) -> None:
    """Every trial is answered or honestly invalid, none twice, none missing."""
    table = read_responses(folder)
    assert len(table) == 24 * blocks
    assert not table.duplicated(["trial", "ask"]).any()
    assert set(table["outcome"]) == {"answered", "invalid"}
    assert table.groupby("outcome")["answer"].nunique().to_dict() in (
        {"answered": 2, "invalid": 0},
        {"answered": 2, "invalid": 1},
    )
    kept = [(line["trial"], line["ask"]) for line in read_transcript(folder) if "reply" in line]
    assert len(kept) == len(set(kept)) == 24 * blocks


def _chaos(tmp_path: Path, blocks: int, request_limits: RequestLimits) -> Counter[str]:
    with stub(answers=ANSWERS) as calm:
        undisturbed = _session(calm, tmp_path / "calm", blocks, RequestLimits(concurrency=request_limits.concurrency))
    with stub(answers=ANSWERS, faults=CHAOS, seed=7) as server:
        folder = _session(server, tmp_path / "chaos", blocks, request_limits)
        stats = server.stats()
    _everything_once(folder, blocks)
    pd.testing.assert_frame_equal(
        session_table(folder).drop(columns="agent_settings_hash"),
        session_table(undisturbed).drop(columns="agent_settings_hash"),
    )
    faults = Counter(fault for line in read_transcript(folder) if "reply" in line for fault in line["reply"]["faults"])
    failed = {kind: count for kind, count in stats["kinds"].items() if kind != "ok"}
    assert sum(failed.values()) > 0.2 * stats["requests"]
    assert faults.total() >= sum(failed.values()), "every fault is counted"
    assert faults["rate_limit"] == sum(count for kind, count in failed.items() if kind.startswith("429"))
    assert faults["server"] == failed["500"] + failed["503"]
    return faults


@pytest.mark.slow
def test_a_session_before_a_server_that_fails_three_times_in_ten(tmp_path: Path) -> None:
    faults = _chaos(tmp_path, 5, RequestLimits(concurrency=8, timeout_s=1.5, max_retries_begun=12))
    assert {"rate_limit", "server", "connection", "garbage"} <= set(faults)
