"""Chat agents against a real OpenAI-compatible server: what is sent, what is read, what is kept,
and what is said when it fails."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, Tap, listening, recording
from chat_trials import context, converse
from words_solver import solve

from spanlab.agents.base import Response
from spanlab.agents.chat import READER, ChatAgent, ChatSettings, Endpoint, EndpointError, RequestLimits
from spanlab.agents.interruptions import Unobtainable
from spanlab.core.errors import SpanLabError
from spanlab.extensions.demonstration.scripted import ScriptedServer, completion, demonstration_rules
from spanlab.paradigms import Trial, compile_trial, load_paradigm
from spanlab.sessions.record.reader import read_transcript, replies_by_trial
from spanlab.sessions.record.writer import Recorder, TrialJournal

KEY = "sk-" + "test" * 3 + "-1234567890"
HEADER = "X-Conversation-Id"
NAMED: dict[str, Any] = {"extra_headers": {HEADER: "$CONVERSATION"}}
VSR, SFR = load_paradigm("vsr"), load_paradigm("sfr")
TRIAL = compile_trial(VSR, {"list_length": 3}, seed=5, generator="corrected")
RIGHT = [
    step.percept.ask.kind.write(step.truth.answer)
    for step in TRIAL.steps
    if step.percept.ask is not None and step.truth.answer is not None
]


def _behaviour() -> Iterator[tuple[tuple[str, int | None], dict[str, Any]]]:
    """The behaviour of each pretended model. Turns count the requests of one conversation."""

    def rule(model: str, turn: int | None = None, **respond: Any) -> tuple[tuple[str, int | None], dict[str, Any]]:
        return (model, turn), respond

    for turn, reply in enumerate(RIGHT, start=1):
        yield rule("right", turn, content=reply)
        yield rule("wordy", turn, content=f"It was at position **{reply}**.")
        yield rule("muddled", turn + 1, content=reply)
        yield rule("busy", turn + 1, content=reply)
        yield rule("shaky", turn + 1, content=reply)
    yield rule("muddled", 1, content="I would rather talk about 3 or 4 other things.")
    yield rule("busy", 1, status=429, error="slow down")
    yield rule("shaky", 1, status=500, error="out of order")
    yield rule("stubborn", content="I cannot say.")
    yield rule("chatty", content="- is my answer, since nothing is the same.")
    yield rule("thinker", content="<think>1, or 2 ... no.</think>\n4")
    yield rule("silent", content="")
    yield rule("unknown", status=404, error="The model `unknown` does not exist or you do not have access to it.")
    yield rule("locked", status=401, error=f"Incorrect API key provided: {KEY}. You can find your API key at ...")
    yield rule("forbidden", status=403, error="not for you")
    yield rule("overrun", status=429, error=f"Rate limit reached for key {KEY}")
    yield rule("down", status=503, error="maintenance")
    yield rule("short", status=400, error="This model's maximum context length is 4096 tokens.")


class Pretending(ScriptedServer):
    """The scripted server, with models that are wordy, busy or down."""

    def __init__(self) -> None:
        super().__init__(demonstration_rules(lengths=(4,)))
        self._behaviour = dict(_behaviour())
        self._turns: Counter[str] = Counter()

    def answer(self, asked: Mapping[str, Any], headers: Message[str, str]) -> tuple[int, Mapping[str, Any]]:
        conversation = headers.get(HEADER) or json.dumps(asked["messages"][:2])
        self._turns[conversation] += 1
        for turn in (None, self._turns[conversation]):
            respond = self._behaviour.get((asked["model"], turn))
            if respond is not None and "status" in respond:
                return respond["status"], {"error": {"message": respond["error"], "type": "mock", "code": None}}
            if respond is not None:
                return 200, completion(asked, respond["content"])
        return super().answer(asked, headers)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with Pretending() as running:
        yield running


@pytest.fixture
def tap(server: ScriptedServer) -> Iterator[Tap]:
    with recording(server.root) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def _agent(tap: Tap, model: str, **settings: Any) -> ChatAgent:
    care: dict[str, Any] = {"max_retries": 1} | {
        key: settings.pop(key) for key in RequestLimits.model_fields if key in settings
    }
    return ChatAgent(
        model,
        ChatSettings(**{**NAMED, **settings}),
        Endpoint(tap.base_url),
        RequestLimits(**care),
    )


async def _take(
    agent: ChatAgent, trial: Trial, journal: TrialJournal | None = None, questions: int | None = None
) -> list[Response]:
    """The answers to a trial, or to its first ``questions`` questions."""
    episode = agent.start(context(trial, load_paradigm(trial.paradigm)))
    if journal is not None:
        episode.attach(journal)
    answers: list[Response] = []
    for step in trial.steps:
        response = await episode.step(step.percept)
        assert (response is not None) == (step.percept.ask is not None)
        if response is not None:
            answers.append(response)
            if len(answers) == questions:
                break
    await agent.teardown()
    return answers


def _run(
    agent: ChatAgent, trial: Trial = TRIAL, journal: TrialJournal | None = None, questions: int | None = None
) -> list[Response]:
    return asyncio.run(_take(agent, trial, journal, questions))


def _right(answers: Sequence[Response], trial: Trial = TRIAL) -> bool:
    return [answer.value for answer in answers] == [
        step.truth.answer for step in trial.steps if step.percept.ask is not None
    ]


# What is sent


def test_the_conversation_is_sent_word_for_word(tap: Tap) -> None:
    assert _right(_run(_agent(tap, "right")))
    expected = [list(messages) for _, messages, _ in converse(TRIAL, VSR, solve)]
    assert [request.body["messages"] for request in tap.requests] == expected, (
        "one request a question, with the whole conversation"
    )
    assert all(set(request.body) == {"messages", "model"} for request in tap.requests), (
        "nothing but the words and the model's name"
    )
    assert {request.path for request in tap.requests} == {"/v1/chat/completions"}


def test_each_trial_is_one_conversation(tap: Tap) -> None:
    _run(_agent(tap, "right"))
    _run(_agent(tap, "right"))
    names = [request.headers[HEADER.lower()] for request in tap.requests]
    assert [len(set(names[:3])), len(set(names[3:])), len(set(names))] == [1, 1, 2]
    _run(_agent(tap, "stubborn", extra_headers={}), questions=1)
    assert HEADER.lower() not in tap.requests[-1].headers


# What is read


def test_an_unreadable_reply_is_asked_again(tap: Tap) -> None:
    answers = _run(_agent(tap, "muddled"))
    assert _right(answers)
    assert [answer.notes["attempts"] for answer in answers] == [2, 1, 1]
    assert answers[0].notes["earlier_replies"] == ["I would rather talk about 3 or 4 other things."]
    again = tap.requests[1].body["messages"]
    assert again[2] == {"role": "assistant", "content": "I would rather talk about 3 or 4 other things."}
    assert again[3] == {
        "role": "user",
        "content": "That could not be read as an answer. Answer with one number from 1 to 9.",
    }


@pytest.mark.parametrize("reask", [0, 1, 3])
@pytest.mark.parametrize("model", ["stubborn", "silent"])
def test_a_model_that_does_not_answer_is_invalid_after_k_further_questions(tap: Tap, model: str, reask: int) -> None:
    answer = _run(_agent(tap, model, reask=reask), questions=1)[0]
    assert (answer.outcome, answer.value, answer.notes["attempts"]) == ("invalid", None, reask + 1)
    assert len(tap.requests) == reask + 1
    for request in tap.requests:
        roles = [message["role"] for message in request.body["messages"]]
        assert all(one != other for one, other in pairwise(roles)), "roles alternate"
        assert all(message["content"] for message in request.body["messages"]), "no empty message"


@pytest.mark.parametrize("model", ["busy", "shaky"])
def test_a_transient_fault_is_repeated_and_counted(tap: Tap, model: str) -> None:
    answers = _run(_agent(tap, model, max_retries=2))
    assert _right(answers)
    assert [answer.notes["retries"] for answer in answers] == [1, 0, 0]
    assert len(tap.requests) == 4


# What is kept


def _journal(folder: Path, attempt: int) -> tuple[Recorder, TrialJournal]:
    lines, recorder = read_transcript(folder), Recorder(folder)
    return recorder, TrialJournal(recorder, "1", attempt, replies_by_trial(lines).get("1", []))


def test_replies_are_stored_before_they_are_used_and_replayed_instead_of_paid_again(tap: Tap, tmp_path: Path) -> None:
    whole = _run(_agent(tap, "right"))
    tap.requests.clear()
    recorder, journal = _journal(tmp_path, 1)
    _run(_agent(tap, "right"), TRIAL, journal, questions=2)
    kept = read_transcript(tmp_path)
    assert [line["reply"]["content"] for line in kept if "reply" in line] == RIGHT[:2], (
        "on the disk already, without closing"
    )
    assert [line["ask"] for line in kept if "begun" in line] == [1, 2]
    said = [
        (message["role"], part["text"])
        for line in kept
        if "sent" in line
        for message in line["sent"]
        for part in message["parts"]
    ]
    sent = [(message["role"], message["content"]) for message in tap.requests[1].body["messages"]]
    assert "\n\n".join(text for role, text in said if role == "user") == "\n\n".join(
        text for role, text in sent if role == "user"
    ), "all that was sent, once"
    assert [text for role, text in said if role == "assistant"] == RIGHT[:1]
    recorder.finish()

    # the same conversation goes on: turn 3 is answered by the rule of turn 1, since the server
    # counts a new conversation
    recorder, journal = _journal(tmp_path, 2)
    resumed = _run(_agent(tap, "right"), TRIAL, journal)
    recorder.finish()
    assert len(tap.requests) == 3, "two before the interruption, one after it"
    assert [answer.value for answer in resumed[:2]] == [answer.value for answer in whole[:2]]
    assert [answer.notes["replayed"] for answer in resumed] == [1, 1, 0]
    assert tap.requests[2].body["messages"] == list(list(converse(TRIAL, VSR, solve))[2][1]), (
        "the open conversation, word for word"
    )


def test_stored_replies_to_other_requests_are_refused(tap: Tap, tmp_path: Path) -> None:
    recorder, journal = _journal(tmp_path, 1)
    _run(_agent(tap, "right"), TRIAL, journal, questions=1)
    recorder.finish()
    recorder, journal = _journal(tmp_path, 2)
    others: tuple[dict[str, Any], ...] = ({"temperature": 0.5}, {"instructions_as": "user"}, {"preamble": "Read on."})
    for other in others:
        with pytest.raises(SpanLabError, match="have changed; start a new session"):
            _run(_agent(tap, "right", **other), TRIAL, journal)
    recorder.finish()


# What is said when it fails


def _sentence(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """The message, after checking that it is one and that the key is nowhere."""
    assert isinstance(error, SpanLabError)
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    report.stack = traceback.StackSummary.from_list(
        [frame for frame in report.stack if frame.filename != __file__]
    )  # the test itself knows the key
    everything = "".join(report.format()) + caplog.text + repr(error)
    chain: BaseException | None = error
    while chain is not None:
        everything += repr(chain) + repr(vars(chain))
        chain = chain.__cause__ or chain.__context__
    assert KEY not in everything
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.parametrize(
    ("model", "says", "permanent"),
    [
        ("locked", "refused the key; check OPENAI_API_KEY", True),
        ("forbidden", "does not allow this key to use the model 'forbidden'", True),
        ("unknown", "knows no model 'unknown'", True),
        ("overrun", r"too busy in 2 tries \(Rate limit reached for key \[hidden\]\); run fewer trials at once", False),
        ("down", r"failed with status 503 in 2 tries \(.*maintenance.*\); try again later", False),
    ],
)
def test_a_failing_server_gives_one_sentence(
    tap: Tap, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, model: str, says: str, permanent: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent = _agent(tap, model)
    with pytest.raises(EndpointError, match=says) as caught:
        _run(agent)
    assert caught.value.permanent is permanent
    assert tap.base_url in _sentence(caught.value, caplog)
    assert tap.requests[0].headers["authorization"] == f"Bearer {KEY}", "the key did go out"


def _odd(kind: str) -> Any:
    def answer(request: Request) -> Answer:
        match kind:
            case "page":
                return 200, "text/html", b"<html>Welcome</html>"
            case "cut":
                return 200, "application/json", b'{"id": "1", "choi'
            case "bytes":
                return 200, "application/json", b"\xff\xfe\x00"
            case "hollow":
                return 200, "application/json", b'{"choices": []}'
            case "list":
                return 200, "application/json", b"[1, 2]"
            case "error":
                return (
                    200,
                    "application/json",
                    f'{{"error": {{"message": "provider of {KEY} is gone", "code": 502}}}}'.encode(),
                )
            case "elsewhere":
                return 404, "text/html", b"<h1>Not here</h1>"
            case _:
                time.sleep(1)
                return 200, "application/json", b"{}"

    return answer


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("page", "not as a chat-completions server does"),
        ("cut", "not as a chat-completions server does"),
        ("hollow", "not as a chat-completions server does"),
        ("list", "not as a chat-completions server does"),
        ("error", r"\(an error in place of a reply: provider of \[hidden\] is gone\)"),
        ("elsewhere", "there is no chat-completions server at"),
        ("late", "gave no reply within 0.2 s"),
    ],
)
def test_what_is_no_chat_server_gives_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str, says: str
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with listening(_odd(kind)) as stub:
        agent = _agent(stub, "any", max_retries=0, timeout_s=0.2 if kind == "late" else 10)
        with pytest.raises(EndpointError, match=says) as caught:
            _run(agent)
    _sentence(caught.value, caplog)


def test_a_refused_connection_gives_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with listening(_odd("page")) as stub:
        pass  # nobody listens there any more
    agent = _agent(stub, "any", max_retries=1)
    with pytest.raises(
        EndpointError, match=r"no connection to http://127\.0\.0\.1:\d+/v1 in 2 tries .*; is the server running"
    ) as caught:
        _run(agent)
    assert not caught.value.permanent
    _sentence(caught.value, caplog)


def test_a_missing_or_mangled_key_is_said_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(
        EndpointError, match=r"no key for https://api\.openai\.com/v1: set the environment variable OPENAI_API_KEY"
    ):
        ChatAgent("gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", KEY[:9] + "\n" + KEY[9:])
    with pytest.raises(EndpointError, match="a line break"):
        ChatAgent("gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(EndpointError, match="OPENAI_BASE_URL is not a web address"):
        ChatAgent("gpt-4o-mini")
    with pytest.raises(SpanLabError, match="which chat model"):
        ChatAgent(" ")


def test_a_server_on_this_machine_needs_no_key_and_gets_none_that_is_not_its_own(
    tap: Tap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
    assert _right(_run(ChatAgent("right", ChatSettings(**NAMED))))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent = ChatAgent("right", ChatSettings(**NAMED), Endpoint(tap.base_url, key_variable=None))
    assert _right(_run(agent))
    assert {request.headers["authorization"] for request in tap.requests} == {"Bearer none"}


def test_a_missing_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(EndpointError, match=r"pip install 'spanlab\[chat\]'"):
        ChatAgent("gpt-4o-mini")


# What is recorded of the agent


def test_settings_tell_everything_but_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example.org:8443/v1")
    agent = ChatAgent("org/model:free", ChatSettings(temperature=0.5), request_limits=RequestLimits(timeout_s=30))
    said, found = agent.settings(), agent.apparatus()
    assert said == {
        "model": "org/model:free",
        "endpoint": "https://llm.example.org:8443/v1",
        "provider": "",
        **ChatSettings(temperature=0.5).model_dump(),
    }
    assert found == {
        "endpoint": "https://llm.example.org:8443/v1",
        **RequestLimits(timeout_s=30).model_dump(mode="json"),
        "reader": READER,
    }
    assert KEY not in json.dumps([said, found])


@pytest.mark.parametrize(
    "address",
    [
        "https://me:hunter22@llm.example.org/v1",
        "https://hunter22@llm.example.org/v1",
        "https://llm.example.org/v1?key=hunter22",
    ],
)
def test_an_address_with_secrets_in_it_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(EndpointError, match="OPENAI_BASE_URL holds a user name, a password, a query") as caught:
        ChatAgent("m")
    assert "hunter22" not in str(caught.value)


def test_a_conversation_that_is_too_long_says_something_of_this_trial_alone(
    tap: Tap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent = _agent(tap, "short")
    with pytest.raises(
        Unobtainable, match=r"too long for the model 'short' at .*maximum context length is 4096 tokens"
    ) as caught:
        _run(agent)
    assert caught.value.bearable == 0.1
    assert KEY not in str(caught.value)
