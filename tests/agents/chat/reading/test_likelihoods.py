"""How probable all allowed answers are: to the last digit those of a model whose probabilities are
known, with the end of the answer, and loud where a server does not tell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from chat_likelihoods import END, distribution, like_completions, like_vllm, probability, prompt_of, scores
from chat_servers import Answer, Request, listening
from chat_stub import completion
from forged_truth import forge_sessions

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.agents.chat.likelihoods import Scorer
from spanlab.agents.chat.messages import Message, Reply, ScoredReply, Text
from spanlab.agents.chat.messages import Request as Sent
from spanlab.agents.chat.transport.replies import echoed
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.responses.choice import Choice
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, Session, begin, read_responses
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.transcripts.transcript import Transcript

VSR = load_paradigm("vsr")
PLAN = plan_session(VSR, seed=4, levels={"list_length": [2]}, trials=2)
DIGITS = tuple("123456789")
TWELVE = Choice.model_validate({"options": 12})


def take(folder: Path, base_url: str, **settings: Any) -> Session:
    agent = ChatAgent(
        "m",
        ChatSettings.read(settings),
        Endpoint(base_url, key_variable=None),
        RequestLimits(concurrency=1, max_retries=0),
    )
    session = begin(folder, VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    return session


def recorded(session: Session) -> list[dict[str, Any]]:
    return [
        event["notes"]["likelihoods"]  # type: ignore[typeddict-item]
        for event in read_events(session.folder)
        if event["event"] == "step" and "ask" in event
    ]


@pytest.mark.slow
def test_with_vllms_form_every_answer_has_its_probability_with_its_end(tmp_path: Path) -> None:
    with listening(like_vllm) as tap:
        session = take(tmp_path, tap.base_url, likelihoods="prompt")
    asked = [request.body for request in tap.requests if "prompt_logprobs" not in request.body]
    found = recorded(session)
    assert len(found) == len(asked) == 4
    assert len(tap.requests) == 4 * (1 + 1 + len(DIGITS)), "the question, the conversation, and each answer"
    for one, body in zip(found, asked, strict=True):
        before = prompt_of(body)
        true = {digit: probability(before, digit, END) for digit in DIGITS}
        assert one["logprobs"] == pytest.approx({digit: math.log(value) for digit, value in true.items()})
        assert one["probabilities"] == pytest.approx(
            {digit: value / sum(true.values()) for digit, value in true.items()}
        )
        assert one["with_end"] is True
    assert Transcript(session.folder).account()["requests"] == len(tap.requests), "they are paid for as all others"
    assert [len(Transcript(session.folder).talk(key).turns) for key in ("1", "2")] == [
        2,
        2,
    ], "and no part of the conversation"


@pytest.mark.slow
def test_a_completion_endpoint_that_repeats_what_it_was_sent(tmp_path: Path) -> None:
    with listening(like_completions) as tap:
        plain = take(tmp_path / "plain", tap.base_url, likelihoods="echo")
    texts = [request.body["prompt"] for request in tap.requests if "prompt" in request.body]
    assert len(tap.requests) == 4 * 11
    assert texts[0].endswith("Answer:")
    assert texts[1] == texts[0] + " 1\n"
    for one, before in zip(recorded(plain), texts[::10], strict=False):
        assert one["logprobs"] == pytest.approx(
            {digit: math.log(probability(before, " ", digit, "\n")) for digit in DIGITS}
        )


def likeliest(request: Request) -> Answer:
    """The likeliest first tokens, the same for every request."""
    told = [{"token": digit, "logprob": math.log(0.1)} for digit in DIGITS]
    choice = {
        "message": {"content": "1"},
        "finish_reason": "stop",
        "logprobs": {"content": [{**told[0], "top_logprobs": told}]},
    }
    return (
        200,
        "application/json",
        json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode(),
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("way", "server"), [("prompt", like_vllm), ("echo", like_completions), ("top", likeliest)])
def test_no_request_depends_on_what_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, server: Any
) -> None:
    """Nor does what is recorded of the probabilities: they are of all allowed answers, in the order
    of the question."""
    settings = {"likelihoods": way, "conversation": "session", "examples": 1}
    with listening(server) as tap:
        true = take(tmp_path / "true", tap.base_url, **settings)
        asked = [request.body for request in tap.requests]
        tap.requests.clear()
        forge_sessions(monkeypatch)
        other = take(tmp_path / "forged", tap.base_url, **settings)
    assert json.dumps([request.body for request in tap.requests]) == json.dumps(asked)
    assert len(asked) == 4 * (2 if way == "top" else 11)
    assert recorded(other) == recorded(true)
    assert (
        read_responses(other.folder)["correct_answer"].tolist()
        != read_responses(true.folder)["correct_answer"].tolist()
    )


def replies_to(kind: Any, scorer: Scorer, answer: Any) -> list[Reply]:
    asked, found = Sent((Message("user", (Text("Which?"),)),), identity="x"), []
    for request in scorer.requests(kind, asked):
        count, last = echoed(answer(request)) or (0, None)
        found.append(ScoredReply(content="", latency_ms=0, echoed_of=count, echoed=last))
    return found


@pytest.mark.parametrize("kind", [TWELVE, Choice.model_validate({"options": ["same", "different"]})])
def test_answers_of_several_tokens_add_up(kind: Any) -> None:
    scorer = Scorer(ChatSettings(likelihoods="prompt"))

    def tells(request: Sent) -> bytes:
        told = scores(prompt_of({"messages": [message.sent() for message in request.messages], **request.options}))
        return json.dumps(
            {
                "choices": [{}],
                "prompt_logprobs": [
                    None if value is None else {"1": {"logprob": value, "decoded_token": one}} for one, value in told
                ],
            }
        ).encode()

    found = scorer.read(kind, replies_to(kind, scorer, tells))
    before = prompt_of({"messages": [{"role": "user", "content": "Which?"}]})
    assert found is not None
    assert found.logprobs == pytest.approx(
        {answer: math.log(probability(before, *answer, END)) for answer in kind.written_answers()}
    )


def test_a_server_that_tells_nothing_or_cuts_otherwise_is_told_of() -> None:
    scorer = Scorer(ChatSettings(likelihoods="prompt"))
    with pytest.raises(SpanLabError, match="does not give the probability of what it was sent"):
        scorer.read(TWELVE, replies_to(TWELVE, scorer, lambda request: completion("3", "m", 10)))

    def echo(tokens: list[str]) -> bytes:
        entries = [{"1": {"logprob": -1.0, "decoded_token": token}} for token in tokens]
        return json.dumps({"choices": [{}], "prompt_logprobs": [None, *entries]}).encode()

    def merges(request: Sent) -> bytes:
        return echo(["a", "b", ":"] if request.messages[-1].role == "user" else ["a", "b", ": 1", "end"])

    with pytest.raises(SpanLabError, match="cuts the conversation into other tokens"):
        scorer.read(TWELVE, replies_to(TWELVE, scorer, merges))

    def endless(request: Sent) -> bytes:
        return echo(
            ["a", ":"]
            if request.messages[-1].role == "user"
            else ["a", ":", str(request.messages[-1].sent()["content"])]
        )

    with pytest.raises(SpanLabError, match="1 cannot be told from 10"):
        scorer.read(TWELVE, replies_to(TWELVE, scorer, endless))


def test_of_the_likeliest_first_tokens_what_is_missing_is_said(tmp_path: Path) -> None:
    first = {"1": -0.5, "2": -1.5, "x": -4.0}

    def top(request: Request) -> Answer:
        body = json.loads(completion("1", "m", 10))
        if request.body.get("logprobs"):
            told = [{"token": token, "logprob": value} for token, value in first.items()]
            body["choices"][0]["logprobs"] = {"content": [{**told[0], "top_logprobs": told}]}
        return 200, "application/json", json.dumps(body).encode()

    with listening(top) as tap:
        session = take(tmp_path, tap.base_url, likelihoods="top", extra_body={"stop": ["."]})
    assert [request.body.get("max_tokens") for request in tap.requests[:2]] == [1, None]
    assert "stop" not in tap.requests[0].body
    found = recorded(session)[0]
    assert found["logprobs"] == {"1": -0.5, "2": -1.5}
    assert found["missing"] == list("3456789")
    assert found["probabilities"] is None
    assert found["missing_at_most"] == min(-4.0, math.log(1 - sum(map(math.exp, first.values()))))
    assert found["with_end"] is False
    assert read_responses(session.folder)["answer"].notna().all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"likelihoods": "prompt", "constrained": "json"}, "those of bare answers"),
        ({"likelihoods": "top", "reasoning": "before"}, "those of bare answers"),
        ({"likelihoods": "echo", "view": "image"}, "reads text alone"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SpanLabError, match=said):
        ChatSettings.read(settings)


def test_the_model_of_letters_is_one() -> None:
    assert math.fsum(distribution("abc").values()) == pytest.approx(1)
