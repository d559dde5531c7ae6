"""Sounds for chat models: in words, or as sounds where the settings say that the model takes them,
and checked before the first trial."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_servers import Answer, Request, listening
from chat_trials import HERE, converse
from session_tools import start
from sound_paradigms import TONES, burst, write_tones

from spanlab.agents.base import AgentOptions
from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.agents.chat.cost.estimate import TOKENS_PER_SECOND
from spanlab.agents.chat.cost.estimate import sent as tokens_of
from spanlab.agents.chat.messages import Message, Sound
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm, plan_session
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, begin, read_responses, read_session, reopen
from spanlab.sessions.record.reader import read_transcript

AUDIO = {"sounds": "audio"}


@pytest.fixture
def tones(tmp_path: Path) -> Path:
    return write_tones(tmp_path / "lab")


def sounds_in(messages: Any) -> list[bytes]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    sounds = [part["input_audio"] for part in parts if part["type"] == "input_audio"]
    assert all(sound["format"] == "wav" for sound in sounds)
    return [base64.b64decode(sound["data"], validate=True) for sound in sounds]


def samples(wav: bytes) -> np.ndarray:
    with wave.open(io.BytesIO(wav)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768


def texts(messages: Any) -> str:
    contents = [
        [{"text": message["content"]}] if isinstance(message["content"], str) else message["content"]
        for message in messages
    ]
    return " ".join(part.get("text", "") for parts in contents for part in parts)


def by_ear(messages: Any) -> str:
    """Compares what it hears, however loud."""
    heard = [samples(sound) for sound in sounds_in(messages)]
    return "old" if any(abs(np.corrcoef(one, heard[-1])[0, 1]) > 0.99 for one in heard[:-1]) else "new"


def by_words(messages: Any) -> str:
    numbers = [part.partition(": sound ")[2][0] for part in texts(messages).split("A sound is played for 0.1 s")[1:]]
    return "old" if numbers[-1] in numbers[:-1] else "new"


def test_readers_of_words_and_those_who_hear_are_always_right(tones: Path) -> None:
    paradigm = load_paradigm(tones)
    for seed in range(8):
        trial = compile_trial(paradigm, {"list_length": 3}, seed)
        ((step, messages, answer),) = converse(trial, paradigm, by_words)
        assert answer == step.truth.answer
        assert not sounds_in(messages)
        ((step, messages, answer),) = converse(trial, paradigm, by_ear, ChatSettings(sounds="audio"))
        assert answer == step.truth.answer
        assert len(sounds_in(messages)) == len(trial.steps)
        assert "sound 1" not in texts(messages), "it has ears"
        assert "tones/" not in json.dumps(messages)
        probe = samples(sounds_in(messages)[-1])
        volumes = [np.abs(probe - 0.5 * burst(number)[:, 0]).max() for number in range(1, 5)]
        assert min(volumes) < 1e-4, "with its volume"


def test_pictures_and_sounds_go_out_together(tones: Path) -> None:
    trial = compile_trial(paradigm := load_paradigm(tones), {"list_length": 2}, 1)
    ((_, messages, _),) = converse(trial, paradigm, by_ear, ChatSettings(view="image", sounds="audio"))
    parts = [
        part["type"] for message in messages if isinstance(message["content"], list) for part in message["content"]
    ]
    assert parts.count("image_url") == parts.count("input_audio") == 3


def test_who_reads_words_is_refused_where_there_are_none(tmp_path: Path) -> None:
    silent = load_paradigm(write_tones(tmp_path / "silent", TONES.replace(', words: "sound {=one + 1}"', "")))
    with pytest.raises(
        SpanLabError, match=r"a sound without words, and this model reads what is heard: .*--chat sounds=audio"
    ):
        start(tmp_path / "data", silent, ChatAgent("reader", endpoint=HERE), 2)
    assert not (tmp_path / "data").exists()
    start(tmp_path / "data", silent, ChatAgent("hearer", ChatSettings.read(AUDIO), HERE), 2)


def test_interfaces_without_sounds_are_refused() -> None:
    with pytest.raises(SpanLabError, match="sounds go to servers that speak chat completions"):
        ChatAgent.from_name("inspect/mockllm/model", AgentOptions(values={"chat": AUDIO}))
    with pytest.raises(SpanLabError, match="a completion endpoint reads text alone: set sounds to words"):
        ChatSettings.read({**AUDIO, "likelihoods": "echo"})


def answering(per_sound: int | None = 10, refuses: bool = False) -> Callable[[Request], Answer]:
    """A server that counts so many tokens for a sound (None: it does not count), or refuses it."""

    def answer(request: Request) -> Answer:
        sounds = len(sounds_in(request.body["messages"]))
        if sounds and refuses:
            return 400, "application/json", b'{"error": {"message": "audio input is not supported"}}'
        usage = (
            {}
            if per_sound is None
            else {"usage": {"prompt_tokens": 20 + per_sound * sounds, "completion_tokens": 1, "total_tokens": 0}}
        )
        reply = "old" if len(request.body["messages"]) > 1 else "yes"
        message = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        return (
            200,
            "application/json",
            json.dumps(
                {"id": "1", "object": "chat.completion", "created": 0, "model": "ears", "choices": [message], **usage}
            ).encode(),
        )

    return answer


def agent_at(url: str, **settings: Any) -> ChatAgent:
    return ChatAgent(
        "ears", ChatSettings.read({**AUDIO, **settings}), Endpoint(url, key_variable=None), RequestLimits(max_retries=0)
    )


def test_a_session_by_ear_is_recorded_by_hashes_and_goes_on(tmp_path: Path, tones: Path) -> None:
    paradigm = load_paradigm(tones)
    plan = plan_session(paradigm, seed=4, trials=2)
    with listening(answering()) as tap:
        agent = agent_at(tap.base_url)
        session = begin(tmp_path / "data", paradigm, agent, plan, Wanted(seed=4))
        Runner(session, agent).run()
        bodies = [request.body["messages"] for request in tap.requests]
    assert [len(sounds_in(body)) for body in bodies[:2]] == [0, 1], "checked first"
    assert read_session(session.folder)["apparatus"]["hearing"] == {"tokens_per_second": 10}
    assert len(read_responses(session.folder)) == 2
    assert "UklGR" not in (session.folder / "transcripts.jsonl").read_text(), "no sound is kept"
    lines = [line for line in read_transcript(session.folder) if line["trial"] == "1"]
    hashes = [
        part["sound"]["sha256"]
        for line in lines
        for message in line.get("sent", [])
        for part in message["parts"]
        if "sound" in part
    ]
    assert hashes in [[hashlib.sha256(wav).hexdigest() for wav in sounds_in(body)] for body in bodies[2:]], (
        "trials go at once, in any order"
    )
    assert [*reopen(session.folder).plan] == plan


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (answering(0), "silently drops sounds: .* set sounds to words"),
        (
            answering(None),
            "does not count tokens, so it is unknown whether sounds reach the model; .* set probe to off",
        ),
        (answering(40_000), "the text of a sound's file to read"),
        (
            answering(refuses=True),
            r"audio input is not supported.*\(this was a request with a sound; without one there was a reply\)",
        ),
    ],
)
def test_a_server_that_does_not_hear_stops_the_session_with_the_reason(
    answer: Callable[[Request], Answer], says: str
) -> None:
    with listening(answer) as tap:
        with pytest.raises(SpanLabError, match=says):
            asyncio.run(_set_up(agent_at(tap.base_url)))
        assert len(tap.requests) == 2
        asyncio.run(_set_up(agent_at(tap.base_url, probe="off")))
        asyncio.run(_set_up(agent_at(tap.base_url, sounds="words")))
        assert len(tap.requests) == 2


async def _set_up(agent: ChatAgent) -> None:
    try:
        await agent.setup()
    finally:
        await agent.teardown()


def test_a_second_of_sound_is_reckoned_with() -> None:
    silent, _ = tokens_of([Message("user", ())])
    tokens, _ = tokens_of([Message("user", (Sound(b"", 2000, 1),))])
    assert tokens - silent == 2 * TOKENS_PER_SECOND
