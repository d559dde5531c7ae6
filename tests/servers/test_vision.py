"""A real server whose tiny model sees: pictures reach it, and whatever it says, the session stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Request, Tap

from servers.running import VisionServer
from servers.sessions import agent, replies, session
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import list_paradigms, load_paradigm
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.servers

VSR = load_paradigm("vsr")
#: Pictures go out unchecked, and replies are short and always the same.
PICTURES: dict[str, Any] = {
    "view": "image",
    "probe": "off",
    "image_px": 128,
    "temperature": 0,
    "max_tokens": 8,
    "reask": 0,
}


@pytest.fixture(scope="module")
def server() -> Iterator[VisionServer]:
    with VisionServer() as running:
        yield running


def pictures(request: Request) -> list[str]:
    parts = [
        part
        for message in request.body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def words(request: Request) -> str:
    return json.dumps(
        [
            (
                message
                if isinstance(message["content"], str)
                else [part for part in message["content"] if part["type"] == "text"]
            )
            for message in request.body["messages"]
        ]
    )


def test_another_picture_changes_the_request_and_what_comes_back(tap: Tap, tmp_path: Path) -> None:
    first: list[Request] = []
    said: list[list[str]] = []
    for number, seed in enumerate([1, 2, 1]):
        already = len(tap.requests)
        made = session(
            tmp_path / str(number), VSR, agent(VisionServer.model, tap.base_url, **PICTURES), 1, seed, list_length=2
        )
        first.append(tap.requests[already])
        said.append([line["reply"]["content"] for line in replies(made.folder)])
    assert [len(pictures(request)) for request in first] == [3, 3, 3], "two patterns, and the array with the question"
    assert len({words(request) for request in first}) == 1, "nothing but the pictures tells the trials apart"
    assert pictures(first[0]) == pictures(first[2])
    assert not set(pictures(first[0])[:2]) & set(pictures(first[1])[:2])
    assert said[0] == said[2]
    assert said[0] != said[1]


def test_larger_pictures_are_more_tokens(tap: Tap, tmp_path: Path) -> None:
    tokens = []
    for view, size in [("words", 128), ("image", 128), ("both", 128), ("image", 512)]:
        settings = {**PICTURES, "view": view, "image_px": size}
        made = session(
            tmp_path / f"{view}{size}", VSR, agent(VisionServer.model, tap.base_url, **settings), 1, list_length=2
        )
        tokens.append(int(read_responses(made.folder)["prompt_tokens"].iloc[0]))
    only_words, small, both, large = tokens
    assert small < large, "a picture of 128 px is one tile, of 512 px four"
    assert both > only_words


def test_a_model_that_sees_and_cannot_read_is_told_from_one_that_does_not_see(tap: Tap, tmp_path: Path) -> None:
    settings = {**PICTURES, "probe": "read"}
    with pytest.raises(
        SpanLabError,
        match=(
            r"pictures arrive at \S+ \(one makes a request \d+ tokens longer\), but they were not read: .* read 0 of 3"
        ),
    ):
        session(tmp_path / "read", VSR, agent(VisionServer.model, tap.base_url, **settings), 1, list_length=2)
    assert len(tap.requests) == 4, "nothing was asked but the check"
    made = session(
        tmp_path / "tokens",
        VSR,
        agent(VisionServer.model, tap.base_url, **{**settings, "probe": "tokens"}),
        1,
        list_length=2,
    )
    assert read_session(made.folder)["apparatus"]["vision"]["tokens_per_picture"] > 60
    assert len(read_responses(made.folder)) == 2


@pytest.mark.parametrize("delivery", ["merged", "acknowledged"])
def test_roles_alternate_for_a_template_that_insists(tap: Tap, tmp_path: Path, delivery: str) -> None:
    made = session(
        tmp_path, VSR, agent(VisionServer.model, tap.base_url, **PICTURES, delivery=delivery), 1, list_length=2
    )
    assert len(replies(made.folder)) == 2


def test_a_template_that_refuses_two_messages_in_a_row_is_one_sentence(tap: Tap, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=r"failed with status 500 at the first try"):
        session(
            tmp_path, VSR, agent(VisionServer.model, tap.base_url, **PICTURES, delivery="separate"), 1, list_length=2
        )


def test_what_the_server_passes_over_is_not_recorded_as_done(tap: Tap, tmp_path: Path) -> None:
    settings = {**PICTURES, "view": "words"}
    made = session(
        tmp_path / "json",
        VSR,
        agent(VisionServer.model, tap.base_url, **settings, constrained="json"),
        2,
        list_length=3,
    )
    assert "response_format" in tap.requests[0].body
    assert "constrained" not in set(read_responses(made.folder)["extraction"])
    made = session(
        tmp_path / "logprobs",
        VSR,
        agent(VisionServer.model, tap.base_url, **settings, extra_body={"logprobs": True}),
        1,
        list_length=2,
    )
    assert tap.requests[-1].body["logprobs"] is True
    notes = [event["notes"] for event in read_events(made.folder) if event["event"] == "step" and "ask" in event]
    assert len(notes) == 2
    assert not [note for note in notes if "answer_logprobs" in note]


def test_an_unknown_model_stops_at_once_in_one_sentence(tap: Tap, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=r"refused the request with status 400 .*requested 'other'"):
        session(tmp_path, VSR, agent("other", tap.base_url, {"max_retries": 12, "concurrency": 1}), 2, list_length=2)
    assert len(tap.requests) == 1


@pytest.mark.parametrize("name", list_paradigms())
def test_every_paradigm_can_be_shown_and_nonsense_is_an_invalid_answer(tap: Tap, tmp_path: Path, name: str) -> None:
    paradigm = load_paradigm(name)
    made = session(
        tmp_path,
        paradigm,
        agent(VisionServer.model, tap.base_url, **{**PICTURES, "max_tokens": 4, "extraction": "strict"}),
    )
    table = read_responses(made.folder)
    kept = replies(made.folder)
    questions = table[["trial", "ask"]].drop_duplicates()  # an answer of several items has several rows
    assert len(questions) == len(kept) == len(tap.requests), "no question without a reply, no reply asked for twice"
    assert set(table["outcome"]) <= {"answered", "invalid"}
    assert (table["outcome"] == "invalid").any(), "random weights know no answers"
    shown = {picture for request in tap.requests for picture in pictures(request)}
    assert shown
    assert all(picture.startswith("data:image/png;base64,") for picture in shown)
