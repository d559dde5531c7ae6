"""A second, named model as the reader of last resort: asked where nothing else finds an answer,
told question and reply alone, paid for in the account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chat_envelopes import body
from chat_servers import Answer, Tap, listening
from chat_servers import Request as Heard
from command_line import Run, complaint
from reply_corpus import judged as judged_replies

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.cost.estimate import JUDGED_SHARE
from spanlab.core.errors import SpanLabError
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import read_events, read_transcript
from spanlab.sessions.transcripts.transcript import Transcript

VAGUE = "Position five, that is the one in the centre, as I recall it."


@contextmanager
def _server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdict: str, vague: int = 3, fails_at: int = 0
) -> Iterator[Tap]:
    """A server of a model of which every so many-th reply is vague, and of a judge with its own
    price."""
    count = {"m": 0, "judge-1": 0}

    def answer(heard: Heard) -> Answer:
        model = heard.body["model"]
        count[model] += 1
        if model == "judge-1":
            return (
                200,
                "application/json",
                body(
                    {"role": "assistant", "content": verdict},
                    usage={"prompt_tokens": 1000, "completion_tokens": 10},
                    model=model,
                ),
            )
        if count["m"] == fails_at:
            return 402, "application/json", b'{"error": {"message": "pay first"}}'
        return (
            200,
            "application/json",
            body({"role": "assistant", "content": VAGUE if count["m"] % vague == 0 else "1"}, model=model),
        )

    with listening(answer) as tap:
        prices = "{m: {input: 1, output: 1}, judge-1: {input: 100, output: 100}}"
        (tmp_path / "own.yaml").write_text(f"providers:\n  lab:\n    base_url: {tap.base_url}\n    prices: {prices}\n")
        monkeypatch.setenv("SPANLAB_PROVIDERS", str(tmp_path / "own.yaml"))
        yield tap


_RUN = (
    "replay",
    "vsr",
    "--agent",
    "chat:m@lab",
    "--trials",
    "4",
    "--concurrency",
    "1",
    "--chat",
    "judge=judge-1@lab",
)


@pytest.mark.slow
def test_it_reads_what_nothing_else_can_and_is_paid_for_in_the_account(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch, tmp_path, "5") as tap:
        code, out, err = run(*_RUN)
        assert code == 0, err
        judged = [heard for heard in tap.requests if heard.body["model"] == "judge-1"]
        own = [heard for heard in tap.requests if heard.body["model"] == "m"]
    folder = tmp_path / out.strip()
    table = read_responses(folder)
    assert set(table["extraction"]) == {"exact", "model"}
    assert set(table.loc[table["extraction"] == "model", "answer"]) == {"4"}, "the fifth position"
    assert len(judged) == (table["extraction"] == "model").sum() == len(own) // 3
    account = read_session(folder)["account"]
    assert (account["requests"], account["replies"], account["judge"]["requests"], account["judge"]["name"]) == (
        len(own),
        len(own),
        len(judged),
        "judge-1@lab",
    )
    assert account["judge"]["cost"] == pytest.approx(len(judged) * 1010 * 100 / 1e6)
    assert account["cost"] == pytest.approx(len(own) * 107 / 1e6)
    assert "the judge judge-1@lab:" in err
    notes = [event["notes"] for event in read_events(folder) if event["event"] == "step" and "ask" in event]
    assert [note.get("judge") for note in notes if note.get("extraction") == "model"] == [["5"]] * len(judged)
    read = Transcript(folder)
    assert sum(len(read.talk(key).turns) for key in read.trials) == len(own), (
        "the judge is not part of the conversation"
    )


@pytest.mark.slow
def test_it_is_told_the_question_and_the_reply_and_no_more(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch, tmp_path, "5") as tap:
        assert run(*_RUN)[0] == 0
        told = {json.dumps(heard.body["messages"]) for heard in tap.requests if heard.body["model"] == "judge-1"}
    (messages,) = map(json.loads, told)
    (message,) = messages
    assert "Answer with one number from 1 to 9." in message["content"]
    assert f"==========\n{VAGUE}\n==========" in message["content"]
    assert len(message["content"]) < 700


def test_what_is_expected_of_a_judge_is_what_the_rules_left_unread_in_replies_that_were_held_out() -> None:
    found = judged_replies("fresh_second")
    answers = sum(one.answer is not None for one in found)
    assert sum(one.false_reject for one in found) / answers == pytest.approx(JUDGED_SHARE, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ["none", "None.", "10", "5 or 6", "I would say so."])
def test_where_it_names_none_there_is_none(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdict: str
) -> None:
    with _server(monkeypatch, tmp_path, verdict):
        assert run(*_RUN, "--chat", "reask=0")[0] == 0
    table = read_responses(tmp_path / "data" / "vsr-chat-m-lab-s1")
    assert set(table["extraction"]) == {"exact", "unread"}
    assert set(table.loc[table["extraction"] == "unread", "outcome"]) == {"invalid"}


@pytest.mark.slow
def test_its_verdicts_are_kept_and_not_paid_for_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch, tmp_path, "5", fails_at=11) as tap:
        assert "pay first" in complaint(*run(*_RUN))
        folder = tmp_path / "data" / "vsr-chat-m-lab-s1"
        assert run("resume", str(folder))[0] == 0
        requests = len(tap.requests)
    assert sum("begun" in line for line in read_transcript(folder)) == requests
    account = read_session(folder)["account"]
    assert account["requests"] + account["judge"]["requests"] == requests
    assert account["paid_twice_at_most"] == account["judge"]["paid_twice_at_most"] == 0


def test_a_limit_holds_for_both_together(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with _server(monkeypatch, tmp_path, "5"):
        assert "max_cost 0.25 is reached" in complaint(*run(*_RUN, "--max-cost", "0.25"))
        account = read_session(tmp_path / "data" / "vsr-chat-m-lab-s1")["account"]
        assert 0.1 < account["cost"] + account["judge"]["cost"] <= 0.25 + 0.101
        unpriced = complaint(*run(*_RUN[:-1], "judge=judge-2@lab", "--max-cost", "1"))
    assert "--max-cost needs the price of the judge judge-2@lab" in unpriced


@pytest.mark.parametrize(
    "values", [{"extraction": "first_character", "judge": "x"}, {"extraction": "strict", "judge": "x"}]
)
def test_the_rule_and_the_judge_go_together(values: dict[str, str]) -> None:
    with pytest.raises(SpanLabError, match="set extraction to tolerant"):
        ChatSettings.read(values)
