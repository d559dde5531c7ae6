"""Conversations put together from what was kept: to the letter and to the pixel what the server was
sent."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, Tap, listening
from command_line import Run, complaint, output_of

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.api.transcripts import as_text
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, Session, begin, reopen
from spanlab.sessions.transcripts.transcript import SentPicture, Talk, Transcript

PICTURES = {"view": "both", "probe": "off", "image_px": 96}


def _completion(text: str, **message: Any) -> Answer:
    body = {
        "id": "x",
        "model": "served-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
    }
    return 200, "application/json", json.dumps(body).encode()


@contextmanager
def saying(text: Callable[[Request], str] | str, **message: Any) -> Iterator[Tap]:
    """A server that always says so."""
    with listening(lambda request: _completion(text if isinstance(text, str) else text(request), **message)) as tap:
        yield tap


def _agent(url: str, **settings: Any) -> ChatAgent:
    return ChatAgent(
        "m",
        ChatSettings.read({"extra_headers": {"x-talk": "$CONVERSATION"}, **settings}),
        Endpoint(url, None),
        RequestLimits(max_retries=0, concurrency=2),
    )


def _session(data: Path, url: str, paradigm: str = "vsr", trials: int = 2, **settings: Any) -> Session:
    loaded, agent = load_paradigm(paradigm), _agent(url, **settings)
    session = begin(data, loaded, agent, plan_session(loaded, 3, SessionDesign(), trials=trials), Wanted(seed=3))
    Runner(session, agent).run()
    return session


def _flat(message: Mapping[str, Any]) -> list[str | bytes]:
    """A message as it was sent: its texts (joined ones in one) and the files of its pictures."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [
        part["text"]
        if part["type"] == "text"
        else base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
        for part in content
    ]


def _retold(talk: Talk) -> list[tuple[str, list[str | bytes]]]:
    """All messages that the server has seen in a conversation but its last reply, from the
    transcript alone."""
    messages: list[tuple[str, list[str | bytes]]] = []
    for turn, last in zip(talk.turns, [*[False] * (len(talk.turns) - 1), True], strict=True):
        for said in turn.sent:
            parts: list[str | bytes] = []
            for part in said.parts:
                if isinstance(part, SentPicture):
                    assert part.file is not None
                    assert part.same
                    parts.append(part.file)
                else:
                    parts.append(part)
            if all(isinstance(part, str) for part in parts):
                parts = ["\n\n".join(part for part in parts if isinstance(part, str))]
            messages.append((said.role, parts))
        if not last:
            messages.append(("assistant", [turn.seen_again or ""]))
    return messages


def _longest(tap: Tap) -> dict[str, list[tuple[str, list[str | bytes]]]]:
    """The last request of every conversation."""
    found: dict[str, list[Any]] = {}
    for request in tap.requests:
        talk, messages = request.headers["x-talk"], request.body["messages"]
        if len(messages) >= len(found.get(talk, [])):
            found[talk] = messages
    return {talk: [(message["role"], _flat(message)) for message in messages] for talk, messages in found.items()}


#: one of each sort; the others take their turn with the slow tests
_FEW = {"vsr", "sfr", "cs", "nback_verbal_feedback", "nback_spatial", "smu"}


@pytest.mark.parametrize(
    "paradigm", [pytest.param(name, marks=[] if name in _FEW else pytest.mark.slow) for name in list_paradigms()]
)
@pytest.mark.sampled(2)
def test_a_conversation_is_retold_to_the_letter_and_to_the_pixel(paradigm: str, tmp_path: Path) -> None:
    with saying("1") as tap:
        session = _session(tmp_path, tap.base_url, paradigm, 1, reask=0, **PICTURES)
    read = Transcript(session.folder)
    assert read.trials == ["1"]
    assert [_retold(read.talk("1"))] == list(_longest(tap).values())


@pytest.mark.parametrize(
    "settings",
    [
        {"delivery": "separate", "instructions_as": "user"},
        {"delivery": "acknowledged"},
        {"history": "extracted", "view": "words"},
        {"reask": 2},
        {"reasoning": "after", "history": "without_reasons"},
        {"preamble": "", "view": "image", "image_px": 200},
    ],
    ids=lambda settings: ",".join(f"{name}={value}" for name, value in settings.items()),
)
@pytest.mark.sampled(2)
def test_a_conversation_is_retold_whatever_the_protocol(settings: dict[str, Any], tmp_path: Path) -> None:
    replies = itertools.cycle(["I think it is 4\nsince I saw it", "what?", "", "7"])
    with saying(lambda request: next(replies)) as tap:
        session = _session(tmp_path, tap.base_url, "vsr", 2, **{**PICTURES, **settings})
    read = Transcript(session.folder)
    assert sorted((_retold(read.talk(key)) for key in read.trials), key=repr) == sorted(
        _longest(tap).values(), key=repr
    )


def test_the_margin_says_what_became_of_each_answer(tmp_path: Path) -> None:
    loaded = load_paradigm("vsr")
    trial = plan_session(loaded, 3, SessionDesign(), trials=1)[0].compile(loaded, "corrected")
    correct = [
        step.percept.ask.kind.write(step.truth.answer)
        for step in trial.steps
        if step.percept.ask is not None and step.truth.answer is not None
    ]
    wrong = "1" if correct[1] != "1" else "2"
    replies = iter([correct[0], wrong, "none", "still none", *correct[3:]])
    with saying(lambda request: next(replies)) as tap:
        session = _session(tmp_path, tap.base_url, trials=1, reask=1, warm_up=1)
    turns = Transcript(session.folder).talk("1").turns
    assert [turn.mark for turn in turns][:4] == ["right", "wrong", "", "unread"]
    assert [turn.again for turn in turns][:4] == [False, False, True, False]
    assert [turn.warm_up for turn in turns][:2] == [True, False]
    assert (turns[1].answer, turns[1].correct_answer) == (wrong, correct[1])
    text = as_text(Transcript(session.folder), Transcript(session.folder).talk("1"))
    for words in (
        f"read as: {wrong} (exact); wrong, correct: {correct[1]}",
        "warm-up: does not count",
        "the question is repeated",
        "11 + 2 tokens",
    ):
        assert words in text


def test_a_picture_that_is_not_the_one_that_was_sent_is_marked(tmp_path: Path) -> None:
    with saying("1") as tap:
        session = _session(tmp_path, tap.base_url, trials=1, **PICTURES)
    path = session.folder / "transcripts.jsonl"
    lines = path.read_text("utf-8").splitlines()
    number = next(number for number, line in enumerate(lines) if '"sha256"' in line)
    line = json.loads(lines[number])
    first = next(part["picture"] for message in line["sent"] for part in message["parts"] if "picture" in part)
    first["sha256"] = "0" * 64
    path.write_text("\n".join([*lines[:number], json.dumps(line), *lines[number + 1 :]]) + "\n", encoding="utf-8")
    read = Transcript(session.folder)
    drawn = [
        part.same
        for turn in read.talk("1").turns
        for said in turn.sent
        for part in said.parts
        if isinstance(part, SentPicture)
    ]
    assert drawn.count(False) == 1
    assert "cannot be redrawn as it was" in as_text(read, read.talk("1"))


def test_a_conversation_that_was_cut_short_can_be_read_and_goes_on(tmp_path: Path) -> None:
    count = itertools.count()

    def answer(request: Request) -> Answer:
        return _completion("3") if next(count) < 4 else (402, "application/json", b'{"error": {"message": "no"}}')

    loaded = load_paradigm("vsr")
    plan = plan_session(loaded, 3, SessionDesign(), trials=1, levels={"list_length": [6]})
    with listening(answer) as tap:
        agent = _agent(tap.base_url)
        session = begin(tmp_path, loaded, agent, plan, Wanted(seed=3))
        with pytest.raises(SpanLabError, match="no credit left"):
            Runner(session, agent).run()
    read = Transcript(session.folder)
    talk = read.talk("1")
    assert (talk.finished, len(talk.turns), talk.unanswered) == (False, 4, 1)
    assert "unfinished" in as_text(read, talk)
    assert "1 more request left" in as_text(read, talk)
    assert read.account()["paid_twice_at_most"] == 0, "nobody pays for a refusal"
    with saying("3") as tap:
        Runner(reopen(session.folder), _agent(tap.base_url)).run()
    talk = Transcript(session.folder).talk("1")
    assert (talk.finished, len(talk.turns)) == (True, 6)
    assert len(tap.requests) == 2
    assert _retold(talk) == next(iter(_longest(tap).values()))


def test_what_a_model_says_does_not_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    nasty = "\x1b[31m<script>alert(1)</script>\u202e\x00 & 'more'"
    with saying(nasty, reasoning="<b>why\x1b]0;title\x07</b>") as tap:
        session = _session(tmp_path / "data", tap.base_url, trials=1, reask=0)
    out = output_of(*run("transcript", session.folder))
    assert "<script>alert(1)</script>" in out, "told as it was said"
    assert not {"\x1b", "\u202e", "\x00", "\x07"} & set(out)


def test_the_command_says_what_is_not_there(run: Run, tmp_path: Path) -> None:
    assert run("replay", "vsr", "--agent", "ideal", "--trials", "1")[0] == 0
    assert "only chat models have conversations" in complaint(*run("transcript", "data/vsr-ideal-s1"))
    assert "is not a session" in complaint(*run("transcript", "nowhere"))
    with saying("1") as tap:
        session = _session(tmp_path / "data", tap.base_url, trials=2)
    assert "has no conversation of trial 9: there are 1 to 2" in complaint(
        *run("transcript", session.folder, "--trial", "9")
    )
    out = output_of(*run("transcript", session.folder, "--trial", "2"))
    assert "trial 2" in out
    assert "trial 1" not in out
    assert "use spanlab view" in complaint(*run("transcript", session.folder, "-o", "page.html"))
    code, out, _ = run("transcript", "data")
    assert (code, out.count("· trial 1"), out.count("· trial 2")) == (0, 1, 1), "all sessions of a folder"


@pytest.mark.slow
def test_the_report_says_what_each_chat_session_has_taken(run: Run, tmp_path: Path) -> None:
    assert run("replay", "vsr", "--agent", "ideal", "--trials", "2")[0] == 0
    with saying("1") as tap:
        for folder in ("data", "more"):
            _session(tmp_path / folder, tap.base_url, trials=2)
    assert run("compare", "data", "more", "-o", "report")[0] == 0
    report = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert report.count("tokens read and") == 2
    assert "spanlab view data" in report
