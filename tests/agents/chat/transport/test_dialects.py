"""Servers that want the same things told otherwise, stream, send too much, ask for long waits or
count in ways of their own."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from chat_servers import Answer, listening
from chat_servers import Request as Heard

from spanlab.agents.chat import Endpoint, EndpointError, RequestLimits
from spanlab.agents.chat.cost.account import Account
from spanlab.agents.chat.cost.totals import Prices
from spanlab.agents.chat.messages import Message, Reply, Request, Text
from spanlab.agents.chat.transport.client import Client
from spanlab.agents.chat.transport.replies import NoReplyError, read_reply
from spanlab.agents.chat.transport.wire import MOST_BYTES, UnreadableError, _decoded

USAGE = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}


async def answered(client: Client) -> Reply:
    """One reply, after which the client is closed."""
    try:
        return await client.ask(Request((Message("user", (Text("x"),)),), {}, "one", "talk"))
    finally:
        await client.aclose()


def body(content: str | None = "same", usage: Any = None, **choice: Any) -> bytes:
    found = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}, **choice}
    return json.dumps({"model": "m", "choices": [found], "usage": usage or USAGE}).encode()


def said(content: bytes) -> Answer:
    return 200, "application/json", content


def refused(status: int, message: str) -> Answer:
    return status, "application/json", json.dumps({"error": {"message": message}}).encode()


def piece(**delta: Any) -> str:
    return (
        "data: "
        + json.dumps({"model": "m", "choices": [{"delta": delta, "finish_reason": delta.pop("ended", None)}]})
        + "\n\n"
    )


def ask(
    answer: Callable[[Heard], Answer], options: dict[str, Any] | None = None, times: int = 1, **limits: Any
) -> tuple[list[Reply], list[dict[str, Any]], Account, list[str]]:
    """The replies to a request, what was heard, the account and what was said."""
    account, told = Account(RequestLimits(**limits), Prices(input=1, output=10)), list[str]()
    account.warn = told.append
    with listening(answer) as tap:
        client = Client(Endpoint(tap.base_url, key_variable=None), "m", RequestLimits(**limits), account=account)
        request = Request((Message("user", (Text("x" * 400),)),), options or {}, "one", "talk")

        async def all_of_them() -> list[Reply]:
            try:
                if "concurrency" not in limits:
                    return [await client.ask(request) for _ in range(times)]
                asked = [replace(request, conversation=str(number)) for number in range(times)]
                return await asyncio.gather(*map(client.ask, asked))
            finally:
                await client.aclose()

        return asyncio.run(all_of_them()), [request.body for request in tap.requests], account, told


def test_what_a_server_calls_otherwise_is_found_out_by_one_refusal() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}}}

    def answer(heard: Heard) -> Answer:
        if "max_tokens" in heard.body:
            return refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if heard.body["response_format"]["type"] == "json_schema":
            return refused(500, "json_schema is not known")
        if not heard.body.get("stream"):
            return refused(400, "this model answers streaming calls only")
        usage = json.dumps({"choices": [], "usage": USAGE})
        text = piece(role="assistant", content="sa") + piece(content="me") + piece(ended="stop")
        return 200, "text/event-stream", f"{text}data: {usage}\n\ndata: [DONE]\n\n".encode()

    replies, heard, account, told = ask(answer, {"max_tokens": 7, "response_format": form}, times=2)
    assert [reply.content for reply in replies] == ["same", "same"]
    assert (replies[0].prompt_tokens, replies[0].completion_tokens, replies[0].finish_reason) == (100, 2, "stop")
    assert len(heard) == 3 + 2
    assert heard[-1]["max_completion_tokens"] == 7
    assert heard[-1]["response_format"] == {"type": "json_object", "schema": {"type": "object"}}
    assert heard[-1]["stream_options"] == {"include_usage": True}
    assert (account.totals.refused, account.totals.lost, len(told)) == (3, 0, 3)


def test_a_model_that_refuses_streams_as_well_is_said_to_be_one_that_cannot_be_asked() -> None:
    with pytest.raises(
        EndpointError, match=r"streaming calls only.*asked for a stream, too: this model cannot"
    ) as caught:
        ask(lambda heard: refused(400, "this model answers streaming calls only"))
    assert not caught.value.of_request, "the session stops, and not one trial after the other"


def test_instructions_go_to_the_user_where_that_was_allowed_and_the_model_takes_no_system_message() -> None:
    def answer(heard: Heard) -> Answer:
        if heard.body["messages"][0]["role"] == "system":
            return refused(500, "System role not supported")
        return said(body())

    talk = (Message("system", (Text("Remember."),)), Message("user", (Text("Which?"),)))
    with listening(answer) as tap:
        limits = RequestLimits(adapt=True)
        account = Account(limits)
        told: list[str] = []
        account.warn = told.append
        client = Client(Endpoint(tap.base_url, key_variable=None), "m", limits, account=account)

        async def twice() -> list[str]:
            try:
                return [(await client.ask(Request(talk, {}, "one", "talk"))).content for _ in range(2)]
            finally:
                await client.aclose()

        assert asyncio.run(twice()) == ["same", "same"]
    assert [request.body["messages"] for request in tap.requests][1:] == [
        [{"role": "user", "content": "Remember.\n\nWhich?"}]
    ] * 2
    assert len(told) == 1
    assert "takes no system message" in told[0]
    assert not client.dialect.system, "it is in the account of the session"


def test_a_stream_that_breaks_off_is_no_reply() -> None:
    thought = piece(content=None, reasoning_content="hm") + piece(content="same", reasoning_content=None)
    whole = read_reply((thought + piece(content=None, ended="stop")).encode(), 0.0, ["reasoning_content"])
    assert (whole.content, whole.reasoning) == ("same", "hm"), "nothing takes nothing away"
    tokens = [
        json.dumps(
            {"choices": [{"delta": {"content": sign}, "logprobs": {"content": [{"token": sign, "logprob": -1}]}}]}
        )
        for sign in "a."
    ]
    stream = "".join(f"data: {token}\n\n" for token in [*tokens, "[DONE]"])
    assert read_reply(stream.encode(), 0.0).first_logprobs == {"a": -1.0}
    with pytest.raises(NoReplyError, match="cut off"):
        read_reply(piece(content="same").encode(), 0.0)


def test_empty_choices_of_a_filter_fail_one_trial_and_are_not_asked_again() -> None:
    found = {"choices": [], "prompt_filter_results": [{"content_filter_results": {"violence": {"filtered": True}}}]}
    with pytest.raises(EndpointError, match="a filter") as caught:
        ask(lambda heard: said(json.dumps(found).encode()))
    assert caught.value.of_request
    with pytest.raises(NoReplyError) as nothing:
        read_reply(json.dumps({"choices": [], "prompt_filter_results": []}).encode(), 0.0)
    assert not nothing.value.filtered
    with pytest.raises(EndpointError, match=r"an error instead of a reply \(a completion without a choice\)"):
        ask(lambda heard: said(b'{"object": "chat.completion", "choices": null}'))


def test_bodies_are_unpacked_as_far_as_any_reply_goes() -> None:
    plain, packed = body(), zlib.compressobj(wbits=-zlib.MAX_WBITS)
    raw = packed.compress(plain) + packed.flush()
    halves = gzip.compress(plain[:9]) + gzip.compress(plain[9:])
    for content, encoding in (
        (gzip.compress(plain), "gzip"),
        (halves, "x-gzip"),
        (zlib.compress(plain), "deflate"),
        (raw, "deflate"),
        (gzip.compress(zlib.compress(plain)), "deflate, gzip"),
        (plain, "identity"),
    ):
        assert _decoded(content, encoding) == plain
    with pytest.raises(UnreadableError, match="more than 8 MB"):
        _decoded(gzip.compress(b"0" * (MOST_BYTES + 1)), "gzip")
    for content, encoding, says in (
        (b"nothing", "gzip", "compressed (gzip) and cannot be read"),
        (b"\x28\xb5\x2f\xfd", "zstd", "compressed as zstd, which was not asked for"),
    ):
        with pytest.raises(EndpointError, match=re.escape(says)) as caught:
            ask(lambda heard, told=(f"application/json\r\ncontent-encoding: {encoding}", content): (200, *told))
        assert "is the server running" not in str(caught.value)


def test_a_reply_that_is_too_long_fails_one_trial() -> None:
    with pytest.raises(EndpointError, match="more than 8 MB") as caught:
        ask(lambda heard: said(body("0" * (MOST_BYTES + 1))))
    assert caught.value.of_request


def test_long_waits_are_announced_and_longer_ones_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(heard: Heard) -> Answer:
        return refused(429, "wait")

    for asked, most, says in ((90.0, 600.0, "left alone for 2 min"), (99_999_999.0, 600.0, "longer than max_wait")):
        monkeypatch.setattr("spanlab.agents.chat.transport.refusals.asked_wait", lambda headers, asked=asked: asked)
        told: list[str] = []
        account = Account(RequestLimits())
        account.warn = told.append
        with listening(busy) as tap:
            client = Client(
                Endpoint(tap.base_url, key_variable=None), "m", RequestLimits(max_wait_s=most), account=account
            )
            request = Request((Message("user", (Text("x"),)),), {}, "one", "talk")

            async def one(client: Client = client, request: Request = request) -> Reply:
                try:
                    async with asyncio.timeout(1):
                        return await client.ask(request)
                finally:
                    await client.aclose()

            with pytest.raises((EndpointError, TimeoutError)) as caught:
                asyncio.run(one())
        assert says in "".join([*told, str(caught.value)])
        assert isinstance(caught.value, EndpointError) == (asked > most)


#: usage as servers write it: tokens read, written by what the server documents, and at most
SHAPES: list[tuple[dict[str, Any], tuple[int | None, int | None, int | None]]] = [
    ({"prompt_tokens": 100, "completion_tokens": 2}, (100, 2, None)),
    (USAGE, (100, 2, None)),
    ({"input_tokens": 100, "output_tokens": 2}, (100, 2, None)),
    ({**USAGE, "total_tokens": 1102, "completion_tokens_details": {"reasoning_tokens": 1000}}, (100, 1002, None)),
    ({**USAGE, "total_tokens": 1102}, (100, 1002, None)),
    ({"prompt_tokens": 100, "completion_tokens": 2, "reasoning_tokens": 1000}, (100, 1002, None)),
    (
        {"prompt_tokens": 100, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 30}},
        (100, 50, 80),
    ),
    (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        (100, 50, None),
    ),
    ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None, None)),
    ({"prompt_tokens": 0, "completion_tokens": 2}, (None, 2, None)),
    ({"prompt_tokens": 100, "completion_tokens": 0}, (100, None, None)),
    ({"prompt_tokens": -5, "completion_tokens": -5}, (None, None, None)),
    ({"prompt_tokens": 10**18, "completion_tokens": 1e308}, (None, None, None)),
    ({"prompt_tokens": "100", "completion_tokens": "2"}, (100, 2, None)),
    ({"prompt_tokens": None}, (None, None, None)),
    # what Anthropic had in its cache stands beside what it read
    ({"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 900}, (903, 2, None)),
    ({"input_tokens": 3, "output_tokens": 2, "cache_creation_input_tokens": 97}, (100, 2, None)),
    ({**USAGE, "cache_read_input_tokens": 64}, (100, 2, None)),
    # a count that is larger than the total is no part of it
    ({**USAGE, "citation_tokens": 5000}, (100, 2, 5002)),
    ({**USAGE, "prompt_cache_miss_tokens": 36, "cached_tokens": 64}, (100, 2, None)),
]


@pytest.mark.parametrize(("usage", "counts"), SHAPES)
def test_usage_is_read_however_it_is_written(
    usage: dict[str, Any], counts: tuple[int | None, int | None, int | None]
) -> None:
    reply = read_reply(body(usage=usage), 0.0)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.completion_at_most) == counts


def test_tokens_that_deepseek_had_kept_are_cached_ones() -> None:
    assert read_reply(body(usage={**USAGE, "prompt_cache_hit_tokens": 64}), 0.0).cached_tokens == 64


@pytest.mark.parametrize(
    "usage",
    [
        {**USAGE, "total_tokens": 1102, "completion_tokens_details": {"reasoning_tokens": 1000}},
        {"prompt_tokens": 100, "completion_tokens": 600, "completion_tokens_details": {"reasoning_tokens": 590}},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 10**18, "completion_tokens": 10**18},
        {"prompt_tokens": -1, "completion_tokens": 2},
        None,
    ],
)
def test_a_limit_of_cost_holds_whatever_a_server_counts(usage: dict[str, Any] | None) -> None:
    content = body(usage=usage) if usage is not None else body().replace(b'"usage"', b'"nothing"')
    with pytest.raises(EndpointError, match=r"max_cost|does not report how many tokens"):
        ask(lambda heard: said(content), times=30, max_cost=0.02)


def test_secrets_that_a_server_repeats_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "the-key-of-this-laboratory-4711"
    monkeypatch.setenv("LAB_KEY", key)
    broken = f"{key[:18]} {key[18:]}"
    content = json.dumps(
        {
            "model": key,
            "system_fingerprint": broken,
            "choices": [
                {
                    "finish_reason": f"Bearer {key}",
                    "message": {"content": f"3 {broken}", "reasoning_content": key[4:20], "refusal": key},
                }
            ],
            "usage": USAGE,
        }
    ).encode()
    with listening(lambda heard: said(content)) as tap:
        reply = asyncio.run(answered(Client(Endpoint(tap.base_url, key_variable="LAB_KEY"), "m")))
    written = reply.model_dump_json()
    assert not any(key[start : start + 12] in written.replace(" ", "") for start in range(len(key) - 11))
    assert reply.content == "3 [hidden]"
    monkeypatch.setenv("LAB_KEY", "EMPTY")
    assert Endpoint("http://localhost/v1", key_variable="LAB_KEY").hidden("EMPTY") == "EMPTY"


def test_another_server_is_told_nothing_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "SECRETLAB42")
    with listening(lambda heard: said(body())) as other:
        place = other.base_url.replace("127.0.0.1", "localhost")

        def sent_on(heard: Heard) -> Answer:
            return 307, f"text/plain\r\nlocation: {place}/chat/completions", b""

        with listening(sent_on) as tap:
            headers = {"api-key": "$LAB_KEY", "x-project": "memory"}
            client = Client(Endpoint(tap.base_url, key_variable="LAB_KEY"), "m", headers=headers)

            assert asyncio.run(answered(client)).content == "same"
            assert tap.requests[0].headers["api-key"] == "SECRETLAB42"
    assert not {name.lower() for name in other.requests[0].headers} & {
        "api-key",
        "x-project",
        "authorization",
        "cookie",
    }


@pytest.mark.parametrize(
    ("status", "place"), [(301, "https://new.org/v1/chat/completions"), (307, "file:///etc/passwd"), (308, "?again")]
)
def test_requests_that_are_sent_elsewhere_stop_the_session_in_a_sentence(status: int, place: str) -> None:
    """Moved for good, to no server, or round in a circle."""
    with pytest.raises(EndpointError, match=rf"sends requests elsewhere \(status {status}, to ") as caught:
        ask(lambda heard: (status, f"text/plain\r\nlocation: {place}", b""))
    assert caught.value.permanent
    assert not caught.value.of_request


@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        (500, "System role not supported", "takes no system message .*; set instructions_as to user"),
        (400, "This model does not support system messages", "set instructions_as to user"),
        (
            500,
            "Conversation roles must alternate user/assistant",
            "no two messages of the user in a row .*delivery to merged",
        ),
        (404, "No endpoints found that support image input", "takes no pictures .*; choose a model that sees"),
        (500, "image input is not supported - hint: mmproj", "takes no pictures"),
        (404, "no such page", "there is no chat-completions server"),
    ],
)
def test_what_a_model_does_not_take_is_said_at_once(status: int, message: str, says: str) -> None:
    with pytest.raises(EndpointError, match=says) as caught:
        ask(lambda heard: refused(status, message))
    assert caught.value.permanent


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE names certificates that cannot be read"),
        ("ALL_PROXY", "socks5://127.0.0.1:1", "ALL_PROXY names a proxy of a kind that SpanLab cannot use"),
        ("all_proxy", "socks://127.0.0.1:1", "all_proxy names a proxy"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/mod\u00e8le/v1", "holds a character that no address has"),
    ],
)
def test_surroundings_that_cannot_be_used_are_a_sentence_before_a_session(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv(variable, value)
    with pytest.raises(EndpointError, match=says):
        Client(Endpoint(), "m")


def lies() -> Iterator[tuple[str, str]]:
    for field in ("prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens"):
        for lie in ("negative", "zero", "huge", "text", "words", "missing", "null", "list", "fraction", "growing"):
            yield field, lie


@pytest.mark.parametrize(("field", "lie"), lies())
def test_a_limit_holds_or_stops_the_session_whatever_field_lies(field: str, lie: str) -> None:
    """The truth is a prompt of 100 tokens and 500 written, 490 of them reasoning; whoever lies upwards only stops
    the session sooner, and no reply is bought beyond the limit and one request."""
    asked = itertools.count(1)

    def answer(heard: Heard) -> Answer:
        number = next(asked)
        told: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 500, "total_tokens": 600}
        told |= {"reasoning_tokens": 490}
        value: dict[str, Any] = {
            "negative": -told[field],
            "zero": 0,
            "huge": 10**30,
            "text": str(told[field]),
            "words": "many",
            "null": None,
            "list": [1],
            "fraction": told[field] + 0.5,
            "growing": told[field] * number,
        }
        told = {**told, field: value.get(lie)}
        if lie == "missing":
            del told[field]
        return said(body(usage=told))

    with pytest.raises(EndpointError, match=r"max_cost|does not report how many tokens"):
        ask(answer, times=64, max_cost=0.06, concurrency=32)
    each = (100 * 1 + 500 * 10) / 1_000_000
    assert (next(asked) - 1) * each <= 0.06 + each


def test_the_version_of_an_interface_stays_behind_the_address_and_keys_in_it_are_refused() -> None:
    azure = Endpoint("https://lab.example/openai/deployments/small?api-version=2024-10-21", key_variable=None)
    assert azure.address("chat/completions") == (
        "https://lab.example/openai/deployments/small/chat/completions?api-version=2024-10-21"
    )
    assert azure.public == "https://lab.example/openai/deployments/small?api-version=2024-10-21"
    for query in ("api-key=abc", "token=abc", "v=sk-1234567890"):
        with pytest.raises(EndpointError, match="looks like a key"):
            _ = Endpoint(f"https://lab.example/v1?{query}", key_variable=None).public
