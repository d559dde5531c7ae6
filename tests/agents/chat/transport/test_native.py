"""Anthropic's and OpenAI's own interfaces, by servers that speak them to the official clients: what
goes out, and what becomes of all that may come back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chat_servers import Answer, Request, Tap, listening
from forged_truth import forge_sessions

from spanlab.agents.chat import ChatAgent, ChatSettings, EndpointError, Reply
from spanlab.agents.chat.cost.totals import Prices, Totals, summary
from spanlab.agents.chat.transport.endpoint import Endpoint
from spanlab.agents.chat.transport.native import native_hook
from spanlab.agents.registry import make_agent
from spanlab.core.errors import SpanLabError
from spanlab.core.extras import installed
from spanlab.paradigms import PlannedTrial, load_paradigm, plan_session
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, begin, find_sessions, read_responses, read_session, reopen
from spanlab.sessions.transcripts.transcript import Transcript

Run = Callable[..., Any]
SECRET = "lab-key-of-nobody-4711"
VSR, CD = load_paradigm("vsr"), load_paradigm("cd")
PLAN = plan_session(VSR, seed=4, levels={"list_length": [2]}, trials=2)
WORDS = {"anthropic": "Anthropic's interface", "responses": "Responses"}

pytestmark = pytest.mark.skipif(
    not installed("anthropic") or not installed("openai"), reason="the official clients are not installed"
)


def json_answer(body: Mapping[str, Any], status: int = 200) -> Answer:
    return status, "application/json", json.dumps(body).encode()


def message(text: str = "3", **more: Any) -> dict[str, Any]:
    """A reply of Anthropic's interface."""
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 2}
    content = [{"type": "thinking", "thinking": "so", "signature": "x"}, {"type": "text", "text": text}]
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-1",
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
    }
    return {**said, "usage": usage, **more}


def response(text: str = "3", **more: Any) -> dict[str, Any]:
    """A reply of the interface Responses."""
    logprobs = [
        {"token": "3", "logprob": -0.1, "bytes": [], "top_logprobs": [{"token": "4", "logprob": -3.0, "bytes": []}]}
    ]
    parts = [{"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}]
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "so"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts},
    ]
    usage = {
        "input_tokens": 35,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    usage["total_tokens"] = 37
    beside = {
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "instructions": None,
        "metadata": {},
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "gpt-x-1",
        "status": "completed",
        "output": output,
        "usage": usage,
        **beside,
        **more,
    }


REPLIES: Mapping[str, Callable[..., dict[str, Any]]] = {"anthropic": message, "responses": response}
PATHS = {"anthropic": "/v1/messages", "responses": "/v1/responses"}


@dataclass
class Server:
    """One of the interfaces on this machine.

    Parameters
    ----------
    script : what is answered to the requests in turn; a reply where it says nothing
    """

    api: str
    tap: Tap
    script: dict[int, Answer]

    @property
    def agent(self) -> str:
        return f"chat:x@{self.api}-here"


def checked(api: str, request: Request) -> str:
    """What the real server would refuse; empty when nothing."""
    body = request.body
    if request.path != PATHS[api]:
        return f"no such path: {request.path}"
    if SECRET not in request.headers.get("x-api-key", "") + request.headers.get("authorization", ""):
        return "no key"
    if api == "responses":
        return (
            ""
            if body["model"] == "x" and body["store"] is False and body["input"] and "messages" not in body
            else "malformed"
        )
    blocks = [block for one in body["messages"] for block in one["content"]]
    if (
        "anthropic-version" not in request.headers
        or not isinstance(body["max_tokens"], int)
        or {one["role"] for one in body["messages"]} - {"user", "assistant"}
    ):
        return "malformed"
    return (
        ""
        if body["messages"][0]["role"] == "user" and all(block["type"] == "image" or block["text"] for block in blocks)
        else "malformed"
    )


@pytest.fixture(params=["anthropic", "responses"])
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    api = request.param
    script: dict[int, Answer] = {}

    def answer(asked: Request) -> Answer:
        if wrong := checked(api, asked):
            return json_answer({"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}, 400)
        return script.get(len(tap.requests), json_answer(REPLIES[api]()))

    with listening(answer) as tap:
        base = tap.base_url.removesuffix("/v1") if api == "anthropic" else tap.base_url
        (tmp_path / "providers.yaml").write_text(
            f"providers:\n  {api}-here: {{base_url: '{base}', key_variable: LAB_KEY, api: {api}, prices: {{x: {{input:"
            " 1, output: 2, cached_input: 0.1}}}\n",
            encoding="utf-8",
        )
        monkeypatch.setenv("SPANLAB_PROVIDERS", str(tmp_path / "providers.yaml"))
        monkeypatch.setenv("LAB_KEY", SECRET)
        yield Server(api, tap, script)


SETTINGS = {"anthropic": {"max_tokens": 50}, "responses": {}}


def take(
    folder: Path,
    server: Server,
    settings: Mapping[str, Any] | None = None,
    plan: Sequence[PlannedTrial] = PLAN,
    paradigm: Any = VSR,
    **care: Any,
) -> Path:
    options = {"concurrency": 1, "max_retries": 3, **care}
    agent = make_agent(server.agent, 1, chat={**SETTINGS[server.api], **(settings or {})}, care=options)
    session = begin(folder, paradigm, agent, plan, Wanted(seed=4))
    Runner(session, agent).run()
    return session.folder


@pytest.mark.slow
def test_a_session_goes_through_the_official_client(server: Server, run: Run, tmp_path: Path) -> None:
    chat = [
        word
        for one in (
            *(f"{name}={value}" for name, value in SETTINGS[server.api].items()),
            "extra_headers={X-Project: memory}",
        )
        for word in ("--chat", one)
    ]
    status, out, err = run(
        "replay",
        "vsr",
        "--agent",
        server.agent,
        "--trials",
        "2",
        "--set",
        "list_length=2",
        *chat,
        "--concurrency",
        "1",
        "--data",
        tmp_path / "d",
    )
    assert status == 0, err
    (folder,) = find_sessions([tmp_path / "d"])
    assert read_responses(folder)["outcome"].tolist() == ["answered"] * 4
    assert all(
        request.path == PATHS[server.api] and request.headers["x-project"] == "memory"
        for request in server.tap.requests
    )
    account = read_session(folder)["account"]
    assert (account["requests"], account["prompt_tokens"], account["cached_tokens"], account["completion_tokens"]) == (
        4,
        140,
        80,
        8,
    )
    written = 20 if server.api == "anthropic" else 0  # to the cache, at 1.25 times the price
    assert account["cost"] == pytest.approx((60 + 0.25 * written + 80 * 0.1 + 8 * 2) / 1e6)
    talk = Transcript(folder).talk("1")
    assert [turn.reply.reasoning for turn in talk.turns] == ["so", "so"]
    info = read_session(folder)
    assert info["agent"] == server.agent
    assert info["agent_settings"]["endpoint"].startswith("http://127.0.0.1")
    written = out + err + "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())
    assert SECRET not in written
    status, out, _ = run("resume", folder)
    assert "nothing to do" in out


@pytest.mark.slow
def test_the_whole_conversation_and_its_pictures_go_out(server: Server, tmp_path: Path) -> None:
    take(tmp_path, server, {"view": "both", "image_px": 96, "vision_check": "off"}, PLAN[:1])
    body = server.tap.requests[-1].body
    said = body["messages"] if server.api == "anthropic" else body["input"][1:]
    system = body["system"][0]["text"] if server.api == "anthropic" else body["input"][0]["content"]
    assert "Each display is described in words, and a picture of it follows." in system
    assert [one["role"] for one in said] == ["user", "assistant", "user"]
    kinds = {block["type"] for block in said[0]["content"]}
    if server.api == "anthropic":
        assert kinds == {"text", "image"}
        picture = next(block["source"] for block in said[0]["content"] if block["type"] == "image")
        assert (picture["type"], picture["media_type"]) == ("base64", "image/png")
        assert base64.b64decode(picture["data"]).startswith(b"\x89PNG")
        assert said[1]["content"] == [{"type": "text", "text": "3"}]
    else:
        assert kinds == {"input_text", "input_image"}
        assert next(block for block in said[0]["content"] if block["type"] == "input_image")["image_url"].startswith(
            "data:image/png;base64,"
        )
        assert said[1]["content"] == "3"


def test_settings_go_out_as_the_interface_calls_them(server: Server, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "temperature": 0.5,
        "reasoning_effort": "low",
        "max_tokens": 9,
        "constrained": "json",
        "extra_body": {"service_tier": "flex"},
    }
    settings |= {"cache_control": "1h", "stop": ["END"], "top_k": 3} if server.api == "anthropic" else {}
    take(tmp_path, server, settings, PLAN[:1])
    body = server.tap.requests[0].body
    assert (body["temperature"], body["service_tier"]) == (0.5, "flex")
    if server.api == "anthropic":
        assert (body["max_tokens"], body["stop_sequences"], body["top_k"]) == (9, ["END"], 3)
        assert body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        assert body["output_config"]["effort"] == "low"
        assert body["output_config"]["format"]["schema"]["required"] == ["answer"]
    else:
        assert (body["max_output_tokens"], body["reasoning"]) == (9, {"effort": "low"})
        assert body["text"]["format"]["schema"]["required"] == ["answer"]
        assert body["text"]["format"]["strict"] is True


def test_probabilities_of_the_first_token_are_recorded(server: Server, tmp_path: Path) -> None:
    if server.api == "anthropic":
        with pytest.raises(SpanLabError, match="has no logprobs and no top_logprobs"):
            take(tmp_path, server, {"logprobs": True})
        return
    folder = take(tmp_path, server, {"logprobs": True}, PLAN[:1])
    assert Transcript(folder).talk("1").turns[0].reply.first_logprobs == {"3": -0.1, "4": -3.0}


def test_what_the_interface_lacks_is_told_before_anything_is_sent(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=f"{WORDS[server.api]} has no seed"):
        take(tmp_path, server, {"seed": 1})
    if server.api == "anthropic":
        with pytest.raises(SpanLabError, match="how long a reply may be: give --chat max_tokens=1024"):
            take(tmp_path, server, {"max_tokens": None})
    else:
        with pytest.raises(SpanLabError, match="cache_control is for Anthropic's own interface"):
            take(tmp_path, server, {"cache_control": "5m"})
    assert not server.tap.requests


@pytest.mark.parametrize("settings", [{"seed": 1}, {"max_tokens": None}])
def test_no_session_begins_with_settings_that_the_interface_lacks(
    server: Server, tmp_path: Path, settings: dict[str, Any]
) -> None:
    if server.api == "responses" and "max_tokens" in settings:
        pytest.skip("Responses needs no max_tokens")
    with pytest.raises(SpanLabError):
        take(tmp_path, server, settings)
    assert not list(tmp_path.rglob("session.json"))


def test_a_request_in_a_queue_is_no_reply(server: Server) -> None:
    hook = native_hook(server.api, Endpoint("http://127.0.0.1:9", key_variable=None, provider="gone"))
    assert hook is not None
    if server.api == "responses":
        queued = SimpleNamespace(usage=None, incomplete_details=None, error=None, status="queued", output=[])
        with pytest.raises(EndpointError, match="put the request in a queue"):
            hook._checked(queued, "x")


def test_an_error_with_status_200_is_explained(server: Server) -> None:
    hook = native_hook(server.api, Endpoint("http://127.0.0.1:9", key_variable=None, provider="gone"))
    assert hook is not None
    answer = SimpleNamespace(
        model_extra={"error": {"type": "overloaded_error", "message": "try later"}}, usage=None, content=None
    )
    with pytest.raises(EndpointError, match="an error in place of a reply: try later") as caught:
        hook._checked(answer, "x")
    assert caught.value.begun
    with pytest.raises(EndpointError, match="answered with status 200, but not as"):
        hook._checked(SimpleNamespace(), "x")


def test_tokens_written_to_a_cache_cost_more() -> None:
    totals = Totals()
    totals.add(
        Reply(
            content="1",
            latency_ms=0,
            prompt_tokens=1000,
            completion_tokens=10,
            cached_tokens=200,
            cache_write_tokens=700,
            cache_write_1h_tokens=300,
        )
    )
    prices = Prices(input=1, output=2, cached_input=0.1)
    assert totals.cost(prices) == pytest.approx((100 + 200 * 0.1 + 400 * 1.25 + 300 * 2 + 10 * 2) / 1e6)
    stated = Prices(input=1, output=2, cached_input=0.1, cache_write=1.5, cache_write_1h=3)
    assert totals.cost(stated) == pytest.approx((100 + 200 * 0.1 + 400 * 1.5 + 300 * 3 + 10 * 2) / 1e6)
    assert summary(totals, prices)["cache_write_tokens"] == 700
    assert "cache_write_tokens" not in Reply(content="1", latency_ms=0).model_dump()


def refused(status: int, kind: str, said: str, **headers: str) -> Answer:
    return json_answer({"type": "error", "error": {"type": kind, "code": kind, "message": said}}, status)


def test_faults_that_pass_are_repeated_and_counted(server: Server, tmp_path: Path) -> None:
    server.script[1] = refused(429, "rate_limit_error", "slow down")
    server.script[3] = refused(529, "overloaded_error", "too many")
    folder = take(tmp_path, server, plan=PLAN[:1])
    account = Transcript(folder).account()
    assert len(server.tap.requests) == 4
    assert (account["requests"], account["refused"], account["replies"]) == (4, 2, 2)
    assert account["retries"] == {"rate_limit": 1, "server": 1}


def test_a_wrong_key_stops_the_session_without_the_key_in_the_sentence(server: Server, tmp_path: Path) -> None:
    server.script[1] = refused(401, "authentication_error", f"no use with {SECRET}")
    with pytest.raises(SpanLabError, match="refused the key; check LAB_KEY") as caught:
        take(tmp_path, server)
    assert SECRET not in str(caught.value)
    chain: BaseException | None = caught.value
    while chain is not None:  # errors of the client hold the request, whose headers hold the key
        assert type(chain).__module__.partition(".")[0] not in ("anthropic", "openai")
        chain = chain.__cause__ or chain.__context__


def test_a_reply_that_a_filter_takes_away_fails_its_trial_and_is_paid_for(server: Server, tmp_path: Path) -> None:
    taken_away = (
        message(
            "",
            stop_reason="refusal",
            content=[],
            stop_details={"type": "refusal", "category": "cyber", "explanation": "no"},
        )
        if server.api == "anthropic"
        else response("", status="incomplete", incomplete_details={"reason": "content_filter"})
    )
    server.script[1] = json_answer(taken_away)
    folder = take(tmp_path, server, fail_on_error=0.5)
    account = Transcript(folder).account()
    assert account["trials_failed"] == 1
    assert "a filter at http://127.0.0.1" in next(iter(account["failed"]))
    assert (account["requests"], account["replies"], account["paid_twice_at_most"], account["prompt_tokens"]) == (
        3,
        2,
        1,
        3 * 35,
    )


def test_a_reply_that_is_cut_says_so_and_a_refusal_is_kept(server: Server, tmp_path: Path) -> None:
    cut = (
        message("3", stop_reason="max_tokens")
        if server.api == "anthropic"
        else response("3", status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    server.script[1] = json_answer(cut)
    if server.api == "responses":
        said = [
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "refusal", "refusal": "I will not"}],
            }
        ]
        server.script[2] = json_answer(response(output=said))
    folder = take(tmp_path, server, {"reask": 1}, PLAN[:1])
    replies = [turn.reply for turn in Transcript(folder).talk("1").turns]
    assert replies[0].finish_reason == "length"
    if server.api == "responses":
        assert replies[1].refusal == "I will not"


def test_an_error_in_place_of_a_response_is_no_reply(server: Server, tmp_path: Path) -> None:
    if server.api == "responses":
        server.script[1] = json_answer(
            response(status="failed", output=[], error={"code": "server_error", "message": "it broke"})
        )
    else:
        server.script[1] = refused(500, "api_error", "it broke")
    folder = take(tmp_path, server, plan=PLAN[:1])
    assert read_responses(folder)["outcome"].tolist() == ["answered"] * 2
    assert Transcript(folder).account()["retries"] == {"server": 1}


def test_an_unknown_model_and_a_conversation_that_is_too_long(server: Server, tmp_path: Path) -> None:
    server.script[1] = refused(404, "not_found_error", "model: x")
    with pytest.raises(SpanLabError, match="knows no model 'x'"):
        take(tmp_path / "a", server)
    server.script[2] = refused(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum")
    folder = take(tmp_path / "b", server, fail_on_error=0.5)
    assert "too long for the model" in next(iter(Transcript(folder).account()["failed"]))


def test_a_server_that_is_not_there(server: Server, tmp_path: Path) -> None:
    hook = native_hook(server.api, Endpoint("http://127.0.0.1:9", key_variable=None, provider="gone"))
    agent = ChatAgent("x", ChatSettings.read({"max_tokens": 5}), hook=hook)
    session = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4))
    with pytest.raises(SpanLabError, match="no connection to http://127"):
        Runner(session, agent).run()


@pytest.mark.slow
def test_what_was_interrupted_goes_on_with_the_same_interface(server: Server, run: Run, tmp_path: Path) -> None:
    server.script[3] = refused(401, "authentication_error", "no")
    with pytest.raises(SpanLabError):
        take(tmp_path, server)
    (folder,) = find_sessions([tmp_path])
    status, _, err = run("resume", folder)
    assert status == 0, err
    assert len(server.tap.requests) == 5
    assert len(read_responses(folder)) == 4
    assert reopen(folder).info["agent"] == server.agent


def test_no_request_depends_on_what_is_right(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"practice": "feedback", "conversation": "session", "examples": 1}
    plan = plan_session(CD, seed=4, levels={"set_size": [2], "retention_steps": [6]}, trials=3)
    for number in range(1, 200):
        server.script[number] = json_answer(REPLIES[server.api](("same", "different")[number % 2]))
    take(tmp_path / "true", server, settings, plan, CD)
    asked = [request.body for request in server.tap.requests]
    server.tap.requests.clear()
    forge_sessions(monkeypatch)
    take(tmp_path / "forged", server, settings, plan, CD)
    assert json.dumps([request.body for request in server.tap.requests]) == json.dumps(asked)
    assert len(asked) > 3
