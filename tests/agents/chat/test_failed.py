"""Trials that fail: marked with their reason, the others go on, and a session stops when there are
too many."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chat_envelopes import body, told
from chat_servers import Answer, Tap, listening
from chat_servers import Request as Heard
from command_line import Run, complaint, output_of

from spanlab.analysis.data.sessions import gather
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import failed_trials, read_events
from spanlab.sessions.transcripts.transcript import Transcript

FILTERED = body({"role": "assistant", "content": ""}, choice={"finish_reason": "content_filter"})


@contextmanager
def _server(
    monkeypatch: pytest.MonkeyPatch, refuses: Callable[[str], bool], refusal: Answer, model: str = "served-1"
) -> Iterator[Tap]:
    """A server that always answers 1, and refuses conversations of which the first stimulus is one
    of these."""

    def answer(heard: Heard) -> Answer:
        shown = next(message["content"] for message in heard.body["messages"] if message["role"] == "user")
        return (
            refusal
            if refuses(shown)
            else (200, "application/json", body({"role": "assistant", "content": "1"}, model=model))
        )

    with listening(answer) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        yield tap


def _some(share: int) -> Callable[[str], bool]:
    """Every so many-th conversation, in the order in which they begin."""
    begun: dict[str, int] = {}
    one_at_a_time = threading.Lock()

    def refuses(shown: str) -> bool:
        with one_at_a_time:
            return begun.setdefault(shown, len(begun)) % share == share - 1

    return refuses


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (
            (400, "application/json", told("this cannot be answered")),
            "refused the request with status 400 (this cannot be answered)",
        ),
        ((200, "application/json", FILTERED), "a filter at"),
        ((400, "application/json", told("no", code="content_filter")), "a filter at"),
    ],
    ids=["refused", "filtered", "filtered with a status"],
)
def test_the_others_go_on_and_it_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: Answer, why: str
) -> None:
    with _server(monkeypatch, _some(7), refusal) as tap:
        code, out, err = run(
            "replay", "vsr", "--agent", "chat:m", "--trials", "16", "--fail-on-error", "0.6", "--price", "1/1"
        )
        asked = len(tap.requests)
    assert code == 0, err
    folder = tmp_path / out.strip()
    failed = failed_trials(read_events(folder))
    assert 0 < len(failed) < 10
    assert all(why in reason for reason in failed.values())
    table = read_responses(folder)
    assert table["trial"].nunique() == 16 - len(failed)
    assert not set(table["trial"].astype(str)) & set(failed)
    assert set(table["outcome"]) == {"answered"}
    account = read_session(folder)["account"]
    assert account["trials_failed"] == len(failed)
    assert list(account["failed"].values()) == [len(failed)]
    assert account["requests"] == asked == account["replies"] + account["refused"] + account["paid_twice_at_most"]
    assert f"{len(failed)} trials failed ({len(failed)} since" in err
    assert "nothing to do" in run("resume", str(folder))[1]
    (problem,) = gather([folder]).problems
    assert f"{len(failed)} of 16 trials failed, and are left out ({len(failed)} since" in problem
    assert why in problem


@pytest.mark.slow
def test_too_many_stop_the_session_and_a_higher_share_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusal = (400, "application/json", told("this cannot be answered"))
    with _server(monkeypatch, _some(3), refusal):
        said = complaint(*run("replay", "vsr", "--agent", "chat:m", "--trials", "16", "--concurrency", "1"))
    assert "stopped after 2 of 16 trials had failed, the last one because" in said
    assert "That is too many to go on (--fail-on-error 0.1); with a higher share" in said
    folder = tmp_path / "data" / "vsr-chat-m-s1"
    assert len(failed_trials(read_events(folder))) == 2, "a tenth of 16 is not two"
    with _server(monkeypatch, _some(3), refusal):
        assert run("resume", "data/vsr-chat-m-s1", "--fail-on-error", "1")[0] == 0
    failed = failed_trials(read_events(folder))
    assert 2 < len(failed) < 16
    assert read_responses(folder)["trial"].nunique() == 16 - len(failed)


@pytest.mark.slow
def test_trials_that_failed_are_asked_for_again_on_request(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusal = (400, "application/json", told("this cannot be answered"))
    with _server(monkeypatch, _some(5), refusal):
        assert run("replay", "vsr", "--agent", "chat:m", "--trials", "16", "--fail-on-error", "1")[0] == 0
    folder = tmp_path / "data" / "vsr-chat-m-s1"
    failed, taken = failed_trials(read_events(folder)), read_responses(folder)
    assert failed
    said = (
        "nothing to do: trials of data/vsr-chat-m-s1 failed, and all others are finished; retry-failed tries them"
        " again\n"
    )
    assert run("resume", "data/vsr-chat-m-s1")[:2] == (0, said)
    with _server(monkeypatch, lambda shown: False, refusal) as tap:
        assert run("resume", "data/vsr-chat-m-s1", "--retry-failed")[0] == 0
        heard = len(tap.requests)
    table = read_responses(folder)
    assert table["trial"].nunique() == 16
    assert heard == len(table) - len(taken), "nothing else is asked again"
    assert not failed_trials(read_events(folder))
    assert read_session(folder)["account"]["trials_failed"] == 0


def test_a_server_that_refuses_everything_is_told_after_three_trials(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch, lambda shown: True, (400, "application/json", told("temperature must be 1"))) as tap:
        said = complaint(
            *run(
                "replay", "vsr", "--agent", "chat:m", "--trials", "100", "--concurrency", "1", "--chat", "temperature=0"
            )
        )
    assert "stopped after 3 of 100 trials had failed and none was finished, the last one because" in said
    assert "A higher --fail-on-error does not change that" in said
    assert "That is too many" not in said
    assert "temperature must be 1" in said
    assert len(tap.requests) == 3


@pytest.mark.slow
def test_an_adaptive_session_goes_on_without_a_trial_that_cannot_be_had(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch, _some(3), (400, "application/json", told("no"))):
        output_of(*run("replay", "vsr", "--agent", "chat:m", "--design", "span", "--fail-on-error", "1"))
    folder = tmp_path / "data" / "vsr-chat-m-s1"
    assert failed_trials(read_events(folder))
    assert "nothing to do" in run("resume", str(folder))[1]
    assert "span" in {event["event"] for event in read_events(folder)}


def test_another_model_behind_the_same_address_is_warned_of_and_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusal = (402, "application/json", told("pay first"))
    count = iter(range(1000))
    with _server(monkeypatch, lambda shown: next(count) >= 20, refusal):
        assert run("replay", "vsr", "--agent", "chat:m", "--trials", "10")[0] == 1
    with _server(monkeypatch, lambda shown: False, refusal, model="served-2"):
        code, _, err = run("resume", "data/vsr-chat-m-s1")
    assert code == 0
    assert (
        err.count("so far the replies of this session came from served-1, and now served-2 answers at the same address")
        == 1
    )
    account = read_session(tmp_path / "data" / "vsr-chat-m-s1")["account"]
    assert account["models"]["served-1"] == 20
    assert sum(account["models"].values()) == account["replies"]
    assert "replies came from served-1 (20), served-2" in err
    assert json.dumps(account)
    assert Transcript(tmp_path / "data" / "vsr-chat-m-s1").totals().requests == account["requests"]


def test_as_many_refusals_as_trials_at_once_are_not_all_of_them(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Refused trials make room for others: more of them than trials at once can fail while the first
    trial is still waiting for its answer."""
    begun: dict[str, int] = {}
    one_at_a_time, enough = threading.Lock(), threading.Event()

    def all_but_the_first(shown: str) -> bool:
        with one_at_a_time:
            number = begun.setdefault(shown, len(begun))
        if number >= 8:
            enough.set()
        elif number == 0:
            enough.wait(20)
        return 0 < number < 8

    with _server(monkeypatch, all_but_the_first, (400, "application/json", told("this cannot be answered"))):
        code, _, err = run(
            "replay", "vsr", "--agent", "chat:m", "--trials", "12", "--concurrency", "3", "--fail-on-error", "1"
        )
    assert code == 0, err
    assert len(failed_trials(read_events(tmp_path / "data" / "vsr-chat-m-s1"))) == 7
