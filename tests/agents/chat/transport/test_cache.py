"""The cache of replies: the same request in the same repetition is paid for once, and damage is
told and never used."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Stub, stub

from spanlab.agents.chat import Endpoint, RequestLimits
from spanlab.agents.chat.messages import Message, Reply, Request, Text
from spanlab.agents.chat.transport.client import Client
from spanlab.agents.chat.transport.departure import Departures, Fault
from spanlab.agents.chat.transport.paid_replies import ReplyCache
from spanlab.core.errors import SpanLabError

REQUEST = Request((Message("user", (Text("m or -?"),)),), {"temperature": 0.5}, "1" * 16, "some name", 7)
REPLY = Reply(
    content="m",
    finish_reason="stop",
    served_model="any-1",
    prompt_tokens=10,
    completion_tokens=1,
    latency_ms=12.5,
    faults=("server",),
    waited_ms=80,
)


def test_a_reply_comes_back_marked_as_cached(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "new" / "folder", ["any", 1])
    assert cache.get(REQUEST) is None
    cache.put(REQUEST, REPLY)
    assert cache.get(REQUEST) == REPLY.model_copy(update={"cached": True, "faults": (), "waited_ms": 0.0})
    assert (
        ReplyCache(tmp_path / "new" / "folder", ["any", 1]).get(replace(REQUEST, conversation="another name"))
        is not None
    )
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".json"], "no partial files are left"


@pytest.mark.parametrize(
    "change",
    [{"options": {"temperature": 0.6}}, {"options": {}}, {"identity": "2" * 16}, {"trial_seed": 8}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_sent_tells_replies_apart(tmp_path: Path, change: Mapping[str, Any]) -> None:
    cache = ReplyCache(tmp_path, ["any", 1])
    cache.put(REQUEST, REPLY)
    assert cache.get(replace(REQUEST, **change)) is None


@pytest.mark.parametrize("scope", [["other", 1], ["any", 2], []])
def test_models_endpoints_and_repetitions_are_apart(tmp_path: Path, scope: list[Any]) -> None:
    ReplyCache(tmp_path, ["any", 1]).put(REQUEST, REPLY)
    assert ReplyCache(tmp_path, scope).get(REQUEST) is None


@pytest.mark.parametrize(
    "reply", [REPLY.model_copy(update={"finish_reason": "content_filter"}), REPLY.model_copy(update={"refusal": "no"})]
)
def test_what_says_nothing_of_the_model_is_not_kept(tmp_path: Path, reply: Reply) -> None:
    cache = ReplyCache(tmp_path, [])
    cache.put(REQUEST, reply)
    assert cache.get(REQUEST) is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"key": 1}', b'{"key": "x", "reply": {}}']
)
def test_a_damaged_file_is_told_not_used_and_replaced(tmp_path: Path, damage: bytes) -> None:
    cache = ReplyCache(tmp_path, [])
    cache.put(REQUEST, REPLY)
    (path := cache.path(REQUEST)).write_bytes(damage)
    with pytest.warns(UserWarning, match=f"{path.name} is damaged and is not used"):
        assert cache.get(REQUEST) is None
    cache.put(REQUEST, REPLY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(REQUEST) is not None


def test_the_reply_to_another_request_is_not_used(tmp_path: Path) -> None:
    cache, other = ReplyCache(tmp_path, []), replace(REQUEST, trial_seed=9)
    cache.put(other, REPLY)
    cache.path(REQUEST).parent.mkdir(exist_ok=True)
    cache.path(other).rename(cache.path(REQUEST))
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.get(REQUEST) is None


def test_a_folder_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        SpanLabError, match=r"replies cannot be kept in .*file: .*; choose another folder for the cache"
    ):
        ReplyCache(tmp_path / "file", [])


def test_a_client_asks_once(tmp_path: Path) -> None:
    class Counted(Departures):
        def __init__(self) -> None:
            self.left = 0

        def leaves(self) -> None:
            self.left += 1

        def gone(self) -> None:
            pass

        def fails(self, fault: Fault, left: bool, in_doubt: bool) -> None:
            raise AssertionError(fault)

    counted = Counted()

    async def ask(client: Client) -> Reply:
        reply = await client.ask(REQUEST, counted)
        await client.aclose()
        return reply

    with stub() as server:
        endpoint = Endpoint(server.base_url, key_variable=None)
        first = asyncio.run(ask(Client(endpoint, "any", RequestLimits(cache=tmp_path))))
        second = asyncio.run(ask(Client(endpoint, "any", RequestLimits(cache=tmp_path))))
        third = asyncio.run(ask(Client(endpoint, "any", RequestLimits(cache=tmp_path), repeat=2)))
        assert server.stats()["requests"] == 2
    assert (first.cached, second.cached, third.cached) == (False, True, False)
    assert second.content == first.content
    assert counted.left == 2


def test_servers_on_this_machine_are_told_apart_by_their_ports(tmp_path: Path) -> None:
    """Another port is another server, and may well have another model under the same name."""

    async def ask(server: Stub) -> Reply:
        client = Client(Endpoint(server.base_url, key_variable=None), "any", RequestLimits(cache=tmp_path))
        reply = await client.ask(REQUEST)
        await client.aclose()
        return reply

    with stub(answers=["m"]) as one, stub(answers=["-"]) as other:
        assert [asyncio.run(ask(server)).content for server in (one, other, one, other)] == ["m", "-", "m", "-"]
        assert [server.stats()["requests"] for server in (one, other)] == [1, 1]
