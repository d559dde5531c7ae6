"""Displays as pictures: what goes out, what is kept of it, and the check that the server sees them."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_servers import Answer, Request, Tap, listening
from chat_trials import context
from PIL import Image

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, EndpointError, RequestLimits
from spanlab.agents.chat.messages import png
from spanlab.agents.chat.probe import LETTERS, letter_picture
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, begin, read_session, reopen
from spanlab.sessions.record.reader import read_transcript
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render.pixels import picture

VSR = load_paradigm("vsr")
TRIAL = compile_trial(VSR, {"list_length": 3}, seed=5, generator="corrected")
SHOWN = [step.percept.for_machine.stimulus for step in TRIAL.steps if step.percept.model_step]
TOKENS_PER_PICTURE = 85

Eyes = Callable[[list[bytes]], str]


def pictures(body: dict[str, Any]) -> list[dict[str, str]]:
    """The pictures of a request, in order."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    return [part["image_url"] for part in parts if part["type"] == "image_url"]


def file(stimulus: Stimulus, size_px: int) -> bytes:
    """The picture of a display."""
    return png(stimulus, size_px)  # type: ignore[arg-type]


def file_of(one: dict[str, str]) -> bytes:
    head, _, data = one["url"].partition(",")
    assert head == "data:image/png;base64"
    return base64.b64decode(data, validate=True)


def sees(size_px: int) -> Eyes:
    """Reads the letters of the test pictures, and answers anything else with 1."""
    known = {file(letter_picture(letters), size_px): letters for letters in LETTERS}

    def read(files: list[bytes]) -> str:
        return known.get(files[-1], "1") if files else "none"

    return read


def blind(files: list[bytes]) -> str:
    return "I think that it says ABCD." if files else "none"


def answering(
    eyes: Eyes, counts: bool = True, drops: bool = False, spells: bool = False
) -> Callable[[Request], Answer]:
    """A server with a model behind it that has such eyes; it may count no tokens, drop pictures
    without a word, or spell out their files to the model."""

    def answer(request: Request) -> Answer:
        files = [] if drops else [file_of(one) for one in pictures(request.body)]
        taken = sum(len(file) for file in files) if spells else TOKENS_PER_PICTURE * len(files)
        usage = {"prompt_tokens": 20 + taken, "completion_tokens": 2, "total_tokens": 0}
        message = {"role": "assistant", "content": eyes(files)}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "eyes",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
        return 200, "application/json", json.dumps({**body, **({"usage": usage} if counts else {})}).encode()

    return answer


def refusing(request: Request) -> Answer:
    if pictures(request.body):
        return 400, "application/json", b'{"error": {"message": "image input is not supported"}}'
    return answering(blind)(request)


def agent_at(tap: Tap, **settings: Any) -> ChatAgent:
    return ChatAgent(
        "eyes",
        ChatSettings.read({"view": "image", "image_px": 192, **settings}),
        Endpoint(tap.base_url, key_variable=None),
        RequestLimits(max_retries=0),
    )


def take(agent: ChatAgent, look: bool = False) -> None:
    async def run() -> None:
        if look:
            await agent.setup()
        else:
            episode = agent.start(context(TRIAL, VSR))
            for step in TRIAL.steps:
                await episode.step(step.percept)
        await agent.teardown()

    asyncio.run(run())


# What goes out


@pytest.mark.parametrize("delivery", ["merged", "separate", "acknowledged"])
@pytest.mark.parametrize("size_px", [96, 200, 512])
@pytest.mark.sampled(3)
def test_every_display_goes_out_as_a_picture_of_its_size(delivery: str, size_px: int) -> None:
    with listening(answering(lambda files: "1")) as tap:
        take(agent_at(tap, image_px=size_px, delivery=delivery))
    out = pictures(tap.requests[-1].body)
    assert len(out) == len(SHOWN)
    for one, stimulus in zip(out, SHOWN, strict=True):
        image = Image.open(io.BytesIO(file_of(one)))
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (size_px, size_px))
        assert np.array_equal(np.asarray(image), np.asarray(picture(stimulus.scene(), size_px))), "not a pixel is lost"
    words = json.dumps(tap.requests[-1].body["messages"])
    assert not any(json.dumps(stimulus.words())[1:-1] in words for stimulus in SHOWN), "no display is described"


def test_with_both_views_the_words_come_with_the_picture() -> None:
    with listening(answering(lambda files: "1")) as tap:
        take(agent_at(tap, view="both", delivery="separate"))
    first = tap.requests[0].body["messages"]
    assert "a picture of it follows" in first[0]["content"]
    assert [part["type"] for part in first[1]["content"]] == ["text", "image_url"]
    assert first[1]["content"][0]["text"] == SHOWN[0].words().strip("\n")
    assert [part["type"] for part in first[-1]["content"]] == [
        "text",
        "image_url",
        "text",
    ], "the display, then the question"


# The check


def test_a_server_that_sees_is_found_to_see_and_it_is_recorded(tmp_path: Path) -> None:
    with listening(answering(sees(192))) as tap:
        agent = agent_at(tap, max_tokens=2, extra_body={"logprobs": True})
        session = begin(
            tmp_path, VSR, agent, plan_session(VSR, seed=4, trials=1, design=SessionDesign()), Wanted(seed=4)
        )
        Runner(session, agent).run()
        checks = [request.body for request in tap.requests[:4]]
        assert [len(pictures(body)) for body in checks] == [0, 1, 1, 1]
        assert not {"max_tokens", "logprobs", "top_logprobs"} & {key for body in checks for key in body}, (
            "its replies are not answers to be cut short"
        )
        assert not any(
            letters
            in json.dumps(
                [body["messages"][0]["content"] for body in checks if isinstance(body["messages"][0]["content"], str)]
            )
            for letters in LETTERS
        )
        assert read_session(session.folder)["apparatus"]["vision"] == {
            "pictures": 3,
            "read": 3,
            "tokens_per_picture": TOKENS_PER_PICTURE,
        }
        lines = [line for line in read_transcript(session.folder) if line["trial"] == "0"]
        assert [line["ask"] for line in lines if "reply" in line] == [1, 2, 3, 4], "these replies were paid for, too"
        assert agent.spending.totals.replies == len(tap.requests)


def test_two_of_three_pictures_are_enough_and_spelling_does_not_matter() -> None:
    def reads(files: list[bytes]) -> str:
        letters = sees(192)(files)
        return {LETTERS[0]: "K R H X", LETTERS[1]: "The letters are **m-f-c-t**.", LETTERS[2]: "WNID"}.get(
            letters, letters
        )

    with listening(answering(reads)) as tap:
        agent = agent_at(tap)
        take(agent, look=True)
        assert agent.apparatus()["vision"]["read"] == 2


@pytest.mark.parametrize(
    ("answer", "check", "says"),
    [
        (
            answering(blind, drops=True),
            "read",
            r"silently drops pictures: .* choose a model that sees, or set view to words",
        ),
        (answering(blind, drops=True), "tokens", r"silently drops pictures"),
        (
            answering(blind),
            "read",
            (
                r"pictures arrive at .* \(one makes a request 85 tokens longer\), but they were not read: the model"
                r" 'eyes' read 0 of 3"
            ),
        ),
        (answering(blind), "tokens", None),
        (
            answering(blind, spells=True),
            "tokens",
            (
                r"gives 'eyes' the text of a picture's file to read instead of the picture: one makes a request \d+"
                r" tokens longer"
            ),
        ),
        (answering(blind, spells=True), "read", r"gives 'eyes' the text of a picture's file to read"),
        (
            answering(blind, counts=False),
            "read",
            r"read 0 of 3 test pictures, and .* does not count tokens, so it is unknown whether pictures reach",
        ),
        (answering(blind, counts=False), "tokens", r"does not count tokens, .*; set probe to read"),
        (answering(sees(192), counts=False), "read", None),
        (
            refusing,
            "read",
            r"image input is not supported.*\(this was a request with a picture; without one there was a reply\)",
        ),
        (answering(blind, drops=True), "off", None),
    ],
)
def test_a_server_that_does_not_see_stops_the_session_with_the_reason(
    answer: Callable[[Request], Answer], check: str, says: str | None
) -> None:
    with listening(answer) as tap:
        agent = agent_at(tap, probe=check)
        if says is None:
            take(agent, look=True)
        else:
            with pytest.raises(SpanLabError, match=says) as caught:
                take(agent, look=True)
            assert "\n" not in str(caught.value)
            assert not isinstance(caught.value, EndpointError) or caught.value.permanent
        assert len(tap.requests) == {"off": 0, "tokens": 2}.get(check, 2 if answer is refusing else 4)


def test_words_need_no_eyes() -> None:
    with listening(answering(blind)) as tap:
        agent = agent_at(tap, view="words")
        take(agent, look=True)
        assert not tap.requests
        assert "vision" not in agent.apparatus()


def test_no_trial_begins_where_pictures_are_dropped_and_the_session_goes_on_once_that_is_mended(tmp_path: Path) -> None:
    plan = plan_session(VSR, seed=4, trials=2, design=SessionDesign())
    with listening(answering(blind, drops=True)) as tap:
        agent = agent_at(tap)
        session = begin(tmp_path / "data", VSR, agent, plan, Wanted(seed=4))
        with pytest.raises(SpanLabError, match="drops pictures"):
            Runner(session, agent).run()
        assert len(tap.requests) == 4
        assert {line["trial"] for line in read_transcript(session.folder)} == {"0"}
    with listening(answering(sees(192))) as tap:
        agent = ChatAgent(
            "eyes",
            agent_at(tap).protocol,
            Endpoint(tap.base_url, key_variable=None),
            RequestLimits(max_retries=0, cache=tmp_path / "cache"),
        )
        Runner(reopen(session.folder), agent).run()
        assert len(pictures(tap.requests[1].body)) == 1, "looked again"
    assert read_session(session.folder)["apparatus"]["vision"]["read"] == 3


def test_the_cache_does_not_answer_for_a_servers_eyes(tmp_path: Path) -> None:
    for _ in range(2):
        with listening(answering(sees(192))) as tap:
            agent = ChatAgent(
                "eyes",
                ChatSettings(view="image", image_px=192),
                Endpoint(tap.base_url, key_variable=None),
                RequestLimits(cache=tmp_path),
            )
            take(agent, look=True)
            assert len(tap.requests) == 4
