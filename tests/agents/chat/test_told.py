"""What is said where every reply of a model is the same trouble, and where somebody spells a model
as other programs do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Run

from spanlab import replay
from spanlab.agents.chat import ChatAgent, ChatSettings, Outgoing, Reply, SendHook
from spanlab.agents.chat.providers import serving
from spanlab.agents.registry import make_agent
from spanlab.core.errors import SpanLabError


class Saying(SendHook):
    """A model that always says the same."""

    name = "a hook of this test"

    def __init__(self, **reply: Any) -> None:
        self.reply, self.asked = reply, 0

    async def send(self, request: Outgoing) -> Reply:
        self.asked += 1
        return Reply(**{"content": "", **self.reply}, prompt_tokens=9, completion_tokens=5, latency_ms=0)


@pytest.mark.parametrize(
    ("reply", "asked", "says"),
    [
        (
            {"reasoning": "let me think", "finish_reason": "length"},
            3,
            "3 of 3 replies ended at their longest within their reasoning: raise max_tokens",
        ),
        ({"content": "<think>let me", "finish_reason": "length"}, 3, "3 of 3 replies ended at their longest"),
        ({"reasoning": "same", "finish_reason": "stop"}, 6, "put all of 6 of 6 replies into its reasoning field"),
        ({"content": "same", "finish_reason": "stop"}, 3, ""),
    ],
)
def test_replies_that_are_all_reasoning_are_told(reply: dict[str, str], asked: int, says: str, tmp_path: Path) -> None:
    hook, told = Saying(**reply), list[str]()
    replay(
        "cd",
        agent=ChatAgent("m", ChatSettings.read({"max_tokens": 5}), hook=hook),
        trials=3,
        seed=4,
        data=tmp_path,
        say=told.append,
    )
    account = next(line for line in told if "tokens read" in line and "written" in line and "replies" in line[:40])
    assert hook.asked == asked, "the same limit would cut it again"
    assert says in account
    assert bool(says) == ("reasoning" in account)


@pytest.mark.parametrize("spec", ["openai/gpt-4o", "gpt-4o", "claude-sonnet-4-5", "llama3.2:3b", "Qwen/Qwen3-8B"])
def test_a_model_that_is_named_as_elsewhere_is_understood(spec: str) -> None:
    with pytest.raises(SpanLabError, match=f"for a chat model give --agent chat:{spec}$"):
        make_agent(spec)


def test_other_unknown_agents_are_no_models() -> None:
    with pytest.raises(SpanLabError, match="there are chance, ideal"):
        make_agent("somebody")


def test_names_of_models_may_begin_with_what_marks_a_provider() -> None:
    assert serving("@cf/meta/llama-3.1-8b-instruct").model == "@cf/meta/llama-3.1-8b-instruct"


@pytest.mark.parametrize(
    ("option", "says"),
    [("--model", "--agent chat:"), ("--limit", "--trials"), ("--temperature", "--chat temperature=")],
)
def test_options_of_other_programs_are_understood(option: str, says: str, run: Run, tmp_path: Path) -> None:
    status, _, err = run("replay", "vsr", option, "x", "--data", tmp_path)
    assert status != 0
    assert says in err
