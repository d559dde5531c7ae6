"""A real server that tells how probable what it is sent is, with messages: vLLM, with a tiny model
whose chat template ends an answer by a token of its own."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Tap
from session_tools import ended_well, take

from servers.running import PromptServer
from servers.sessions import agent, served_at, session, spanlab
from spanlab.agents.registry import make_agent
from spanlab.paradigms import load_paradigm
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.servers

VSR = load_paradigm("vsr")
MODEL = PromptServer.model
SHORT: dict[str, Any] = {"temperature": 0, "max_tokens": 4, "reask": 0}


@pytest.fixture(scope="module")
def server() -> Iterator[PromptServer]:
    with PromptServer() as running:
        yield running


def next_tokens(server: PromptServer, messages: list[dict[str, Any]], said: str) -> dict[str, float]:
    """The logarithm of the probability of every next token, after a conversation and what the model
    has begun to say."""
    begun = {
        "messages": [*messages, {"role": "assistant", "content": said}],
        "add_generation_prompt": False,
        "continue_final_message": True,
    }
    body = {
        "model": MODEL,
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 260,
        "temperature": 0,
        **(begun if said else {"messages": messages}),
    }
    asked = urllib.request.Request(
        f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(asked) as reply:
        return {
            one["token"]: one["logprob"]
            for one in json.load(reply)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        }


def test_likelihoods_are_the_product_of_what_the_server_says_of_each_token(
    tap: Tap, server: PromptServer, tmp_path: Path
) -> None:
    made = session(tmp_path, VSR, agent(MODEL, tap.base_url, **SHORT, likelihoods="prompt"), 1, list_length=2)
    notes: list[Any] = [
        event["notes"] for event in read_events(made.folder) if event["event"] == "step" and "ask" in event
    ]
    recorded = [one["likelihoods"] for one in notes]
    asked = [request.body["messages"] for request in tap.requests if "prompt_logprobs" not in request.body]
    assert len(recorded) == len(asked) == 2
    for one, messages in zip(recorded, asked, strict=True):
        assert sum(one["probabilities"].values()) == pytest.approx(1)
        first = next_tokens(server, messages, "")
        for digit in "1379":
            told = first[digit] + next_tokens(server, messages, digit)["<|end|>"]
            assert one["logprobs"][digit] == pytest.approx(told, abs=0.001)


def test_the_completion_endpoint_tells_it_too(tap: Tap, tmp_path: Path) -> None:
    made = session(tmp_path, VSR, agent(MODEL, tap.base_url, **SHORT, likelihoods="echo"), 1, list_length=2)
    notes: list[Any] = [
        event["notes"] for event in read_events(made.folder) if event["event"] == "step" and "ask" in event
    ]
    assert all(set(one["likelihoods"]["logprobs"]) == set("123456789") for one in notes)


def test_the_answers_of_somebody_are_scored_given_what_came_before(tap: Tap, tmp_path: Path) -> None:
    person = take(tmp_path / "data", VSR, make_agent("capacity:2", 1), 3, 1, {"list_length": [3]})
    scored = ended_well(
        spanlab(
            "score-choices",
            person.folder,
            "--agent",
            f"chat:{MODEL}",
            "--chat",
            "likelihoods=prompt",
            env=served_at(tap.base_url),
        )
    )
    assert "bits per choice in 9 answers of 3 trials; chance 3.17" in scored
    assert len(tap.requests) == 9 * 10
    assert (
        max(sum(message["role"] == "assistant" for message in request.body["messages"]) for request in tap.requests)
        == 9
    )
