"""Requests that a class of one's own sends: the same messages, kept and counted as those of a
server; and inspect_ai as such a class."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, listening
from chat_stub import completion
from forged_truth import forge_sessions, forged
from typing_extensions import override

from spanlab.agents.chat import (
    ChatAgent,
    ChatSettings,
    Endpoint,
    EndpointError,
    Outgoing,
    Reply,
    RequestLimits,
    SendHook,
)
from spanlab.core.doors import installed
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import PlannedTrial, load_paradigm, plan_session
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, Session, begin, read_responses, read_session, reopen
from spanlab.sessions.transcripts.transcript import Transcript

VSR = load_paradigm("vsr")
PLAN = plan_session(VSR, seed=4, levels={"list_length": [3]}, trials=2)


class Mine(SendHook):
    """Says always the same; fails where it is told to."""

    name = "a program of ours"

    def __init__(self, faults: dict[int, Exception] | None = None) -> None:
        self.heard: list[Outgoing] = []
        self._faults, self._numbers = faults or {}, itertools.count(1)
        self.closed = 0

    @override
    async def send(self, request: Outgoing) -> Reply:
        self.heard.append(request)
        if fault := self._faults.get(next(self._numbers)):
            raise fault
        await asyncio.sleep(0)
        return Reply(content="3", prompt_tokens=10, completion_tokens=1, latency_ms=0)

    @override
    async def aclose(self) -> None:
        self.closed += 1


def take(folder: Path, agent: ChatAgent) -> Session:
    session = begin(folder, VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    return session


def test_a_hook_gets_what_a_server_gets_and_its_replies_are_kept_and_counted(tmp_path: Path) -> None:
    settings = ChatSettings.read(
        {"view": "both", "image_px": 96, "probe": "off", "temperature": 0, "extra_body": {"mirostat": 2}}
    )
    hook = Mine()
    session = take(tmp_path / "hook", ChatAgent("m", settings, request_limits=RequestLimits(concurrency=1), hook=hook))

    def three(request: Request) -> Answer:
        return 200, "application/json", completion("3", "m", 10)

    with listening(three) as tap:
        take(
            tmp_path / "server",
            ChatAgent("m", settings, Endpoint(tap.base_url, key_variable=None), RequestLimits(concurrency=1)),
        )
    assert [{"messages": list(one.messages), "model": one.model, **one.options} for one in hook.heard] == [
        request.body for request in tap.requests
    ]
    assert hook.closed == 1
    info = read_session(session.folder)
    assert info["agent_settings"]["endpoint"] == info["apparatus"]["endpoint"] == "a program of ours"
    assert read_responses(session.folder)["outcome"].tolist() == ["answered"] * 6
    account = Transcript(session.folder).account()
    assert (account["replies"], account["prompt_tokens"]) == (6, 60)


def test_nothing_that_a_hook_is_given_depends_on_what_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, and not the messages alone: a hook is somebody else's program."""
    settings = ChatSettings.read(
        {"conversation": "session", "examples": 1, "view": "both", "image_px": 96, "probe": "off"}
    )
    heard: list[list[Outgoing]] = []
    right: list[list[Any]] = []
    for name in ("true", "forged"):
        hook = Mine()
        session = take(
            tmp_path / name, ChatAgent("m", settings, hook=hook, request_limits=RequestLimits(concurrency=1))
        )
        heard.append([replace(request, conversation="") for request in hook.heard])  # a name at random
        right.append(read_responses(session.folder)["correct_answer"].tolist())
        forge_sessions(monkeypatch)
    assert heard[0] == heard[1]
    assert right[0] != right[1]
    assert len(heard[0]) == 6


def test_faults_of_a_hook_are_repeated_fail_a_trial_or_stop_the_session_which_goes_on(tmp_path: Path) -> None:
    limits = RequestLimits(concurrency=1, fail_on_error=1)
    faults: dict[int, Exception] = {
        1: EndpointError("slow down", permanent=False, status=429),
        3: EndpointError("no", status=400, of_request=True),
    }
    agent = ChatAgent(
        "m", None, request_limits=limits, hook=Mine({**faults, 5: RuntimeError("broken sk-abcdef0123456")})
    )
    session = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4))
    with pytest.raises(SpanLabError, match="a program of ours failed") as caught:
        Runner(session, agent).run()
    assert "sk-abcdef" not in str(caught.value)
    session, again = reopen(session.folder), Mine()
    Runner(session, ChatAgent("m", None, request_limits=limits, hook=again)).run()
    assert len(again.heard) == 2, "one reply of the second trial was kept"
    assert set(read_responses(session.folder)["trial"]) == {2}
    with pytest.raises(SpanLabError, match="begun with other settings"):
        Runner(reopen(session.folder), ChatAgent("m", None, Endpoint("http://127.0.0.1:9/v1", key_variable=None)))


def test_what_only_servers_take_is_refused_with_a_hook() -> None:
    with pytest.raises(SpanLabError, match="are for servers"):
        ChatAgent("m", ChatSettings.read({"extra_headers": {"X-A": "1"}}), hook=Mine())


def test_without_inspect_its_models_say_what_to_install() -> None:
    from spanlab.agents.registry import make_agent

    if installed("inspect_ai"):
        pytest.skip("inspect_ai is installed here")
    with pytest.raises(SpanLabError, match=r"spanlab\[inspect\]"):
        make_agent("chat:inspect/mockllm/model", 1)


def test_whatever_inspect_reaches_is_a_chat_model(tmp_path: Path) -> None:
    model = pytest.importorskip(
        "inspect_ai.model", reason="inspect_ai is not installed: nothing here shows that its bridge works"
    )
    from spanlab.agents.chat.transport.inspect_hook import InspectHook

    seen: list[Any] = []

    def say(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        seen.append((messages, config))
        output = model.ModelOutput.from_content("mockllm/model", "<think>so</think>3")
        output.usage = model.ModelUsage(input_tokens=7, output_tokens=2, total_tokens=12, input_tokens_cache_read=3)
        return output

    hook = InspectHook(model.get_model("mockllm/model", custom_outputs=say))
    settings = ChatSettings.read(
        {
            "view": "both",
            "image_px": 96,
            "probe": "off",
            "temperature": 0.5,
            "extra_body": {"stop": ["x"]},
            "max_tokens": 9,
        }
    )
    session = take(
        tmp_path, ChatAgent("inspect/mockllm/model", settings, request_limits=RequestLimits(concurrency=2), hook=hook)
    )
    assert read_responses(session.folder)["outcome"].tolist() == ["answered"] * 6
    account = Transcript(session.folder).account()
    assert (account["prompt_tokens"], account["completion_tokens"], account["cached_tokens"]) == (60, 12, 18)
    messages, config = seen[0]
    assert [message.role for message in messages] == ["system", "user"]
    assert {part.type for part in messages[1].content} == {"text", "image"}
    assert (config.temperature, config.stop_seqs, config.max_tokens) == (0.5, ["x"], 9)


def test_a_model_of_inspect_is_named_on_the_command_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: nothing here shows that its bridge works")
    monkeypatch.setattr(
        "inspect_ai.model._model.count_text_tokens", len
    )  # its mock model fetches a file to count tokens
    status, out, err = run(
        "replay", "vsr", "--agent", "chat:inspect/mockllm/model", "--trials", "1", "--data", tmp_path / "data"
    )
    assert status == 0, err
    assert "vsr-chat-inspect-mockllm-model-s1" in out
    status, _, err = run(
        "replay", "vsr", "--agent", "chat:inspect/nobody/model", "--trials", "1", "--data", tmp_path / "data"
    )
    assert status != 0
    assert "inspect_ai has no model 'nobody/model'" in err


def test_a_paradigm_is_a_task_of_inspect_whose_log_holds_our_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect = pytest.importorskip(
        "inspect_ai", reason="inspect_ai is not installed: nothing here shows that its bridge works"
    )
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # pyright: ignore[reportMissingImports]
    from words_solver import solve

    import spanlab

    monkeypatch.chdir(tmp_path)
    seen: list[str] = []

    def say(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        told = [{"role": message.role, "content": message.content} for message in messages]
        seen.append(str(told))
        output = ModelOutput.from_content("mockllm/model", solve(told) if len(seen) > 3 else "1")
        output.usage = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)
        return output

    task = spanlab.inspect_task("vsr", trials=4, seed=4, levels={"list_length": [3]})
    (log,) = inspect.eval(
        task,
        model=get_model("mockllm/model", custom_outputs=say),
        log_dir=str(tmp_path / "logs"),
        display="none",
        max_samples=1,
    )
    assert log.status == "success", log.error
    by_trial = {sample.id: sample.scores["spanlab_items"] for sample in log.samples}
    assert sorted(by_trial) == ["1", "2", "3", "4"]
    assert sum(score.value == 1.0 for score in by_trial.values()) >= 3, "a perfect reader is right"
    planned = {
        str(one.trial): one.compile(VSR, "corrected").trial_id
        for one in plan_session(VSR, seed=4, levels={"list_length": [3]}, trials=4)
    }
    assert {sample.id: sample.metadata["trial_id"] for sample in log.samples} == planned, (
        "those of a session with this seed"
    )
    for sample in log.samples:
        assert [answer["verdict"] for answer in sample.scores["spanlab_items"].metadata["answers"]].count(
            "right"
        ) == round(sample.scores["spanlab_items"].value * 3)
    with pytest.raises(SpanLabError, match="leave out practice"):
        spanlab.inspect_task("cd", chat={"practice": "feedback"})


def test_no_message_to_a_model_of_inspect_depends_on_what_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both directions: a session with one of its models, and a task of its own, whose log knows
    the right answers."""
    inspect = pytest.importorskip(
        "inspect_ai", reason="inspect_ai is not installed: nothing here shows that its bridge works"
    )
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # pyright: ignore[reportMissingImports]

    import spanlab
    from spanlab.agents.chat.transport.inspect_hook import InspectHook

    monkeypatch.chdir(tmp_path)
    heard: list[str] = []

    def say(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        heard.append(repr(([(message.role, message.content) for message in messages], tools, config)))
        output = ModelOutput.from_content("mockllm/model", "1")
        output.usage = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)
        return output

    def both(name: str) -> list[str]:
        """The right answers that the log of the task has."""
        limits = RequestLimits(concurrency=1)
        take(
            tmp_path / name,
            ChatAgent(
                "inspect/mockllm/model",
                hook=InspectHook(get_model("mockllm/model", custom_outputs=say)),
                request_limits=limits,
            ),
        )
        task = spanlab.inspect_task("vsr", trials=2, seed=4, levels={"list_length": [3]})
        (log,) = inspect.eval(
            task, model=get_model("mockllm/model", custom_outputs=say), log_dir=name, display="none", max_samples=1
        )
        assert log.status == "success", log.error
        return [str(sample.target) for sample in log.samples]

    right = both("true")
    asked, compile_ = heard.copy(), PlannedTrial.compile
    heard.clear()
    forge_sessions(monkeypatch)
    monkeypatch.setattr(PlannedTrial, "compile", lambda *arguments: forged(compile_(*arguments)))
    assert both("forged") != right
    assert heard == asked
    assert len(asked) == 2 * 6


def test_without_inspect_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import spanlab

    monkeypatch.setattr("spanlab.core.doors.installed", lambda _: False)
    with pytest.raises(SpanLabError, match=r"needs the inspect-ai package, .* pip install 'spanlab\[inspect\]'$"):
        spanlab.inspect_task("vsr", trials=4)
