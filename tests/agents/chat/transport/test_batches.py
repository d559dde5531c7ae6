"""Batches: requests that are submitted together, against a server of ours that speaks the protocol;
kills, faults, limits, expiry, cancelling."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_batches import BatchServer, batch_server
from command_line import Run, complaint
from forged_truth import forge_sessions
from session_tools import MEASURED, command

from spanlab.agents import make_agent
from spanlab.agents.chat.transport import batch_store
from spanlab.agents.chat.transport.batch_store import BatchStore
from spanlab.core.errors import SpanLabError
from spanlab.sessions import Runner, read_responses, read_session
from spanlab.sessions.record.reader import failed_trials, read_events
from spanlab.sessions.record.session_files import is_reply, read_transcript
from spanlab.sessions.session import reopen
from spanlab.sessions.transcripts.transcript import Transcript

QUICK = ["--care", "batch_poll_s=0.02"]
CD = ["replay", "cd", "--agent", "chat:m", "--trials", "8", "--price", "1/2"]
FOLDER = Path("data") / "cd-chat-m-s1"


def by_content(number: int, body: dict[str, Any]) -> str:
    """An answer that depends on nothing but what is sent."""
    return "same" if len(json.dumps(body["messages"])) % 2 else "different"


def lasting(folder: Path) -> pd.DataFrame:
    """The response table without what is measured."""
    table = read_responses(folder).sort_values(["trial", "step"], ignore_index=True)
    return table.drop(columns=[*MEASURED, "session"])


def account_is_right(folder: Path, server: BatchServer) -> dict[str, Any]:
    """The account, which counts what the server has replied."""
    account: dict[str, Any] = dict(read_session(folder)["account"])
    assert account["replies"] == server.replied
    assert account["requests"] == account["replies"] + account["refused"] + account["paid_twice_at_most"]
    return account


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, run: Run) -> Any:
    with batch_server(outcome=by_content) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


@pytest.mark.slow
def test_a_session_in_a_batch_is_the_same_session_at_half_the_price(run: Run, server: BatchServer) -> None:
    code, out, err = run(*CD, "--batch", *QUICK)
    assert code == 0, err
    assert out.strip() == str(FOLDER)
    assert "in batches, at 50% of the usual price" in err
    assert "8 requests submitted as batch batch_1" in err
    assert len(server.submitted) == 8
    assert not server.asked_at_once
    account = account_is_right(FOLDER, server)
    assert account["batched"] == 8
    assert account["cost"] == pytest.approx((8 * 100 * 1 + 8 * 2) / 2 / 1e6)
    assert "8 of them from batches, at 50% of the usual price" in err
    assert read_session(FOLDER)["estimate"]["batch"] == 0.5
    assert read_responses(FOLDER)["latency_ms"].isna().all(), "nobody knows how long a reply took in a batch"
    code, _, err = run(*CD, "--data", "at-once")
    assert code == 0, err
    pd.testing.assert_frame_equal(lasting(FOLDER), lasting(Path("at-once") / FOLDER.name))
    assert sorted(map(json.dumps, (line["body"] for line in server.submitted))) == sorted(
        map(json.dumps, server.asked_at_once)
    )
    assert read_session(Path("at-once") / FOLDER.name)["account"]["cost"] == pytest.approx(2 * account["cost"])
    conversations = Transcript(FOLDER)
    assert all(conversations.talk(str(trial)).turns[0].reply.latency_ms is None for trial in range(1, 9))
    assert "from a batch" in run("transcript", FOLDER, "--trial", "3")[1]
    assert "fetched" in run("batch", FOLDER)[1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "settings",
    [[], ["--chat", "examples=2", "--chat", "view=both", "--chat", "image_px=96", "--chat", "vision_check=off"]],
)
def test_no_line_of_a_batch_depends_on_what_is_right(
    run: Run, server: BatchServer, monkeypatch: pytest.MonkeyPatch, settings: list[str]
) -> None:
    assert run(*CD, "--batch", *QUICK, *settings)[0] == 0
    true = [server.files[made.file] for made in server.batches]
    server.batches.clear()
    right = read_responses(FOLDER)["correct_answer"].tolist()
    forge_sessions(monkeypatch)
    assert run(*CD, "--batch", *QUICK, *settings, "--data", "forged")[0] == 0
    assert read_responses(Path("forged") / FOLDER.name)["correct_answer"].tolist() != right
    assert [server.files[made.file] for made in server.batches] == true


@pytest.mark.slow
def test_a_question_that_is_put_again_goes_in_another_batch(run: Run, server: BatchServer) -> None:
    server.outcome = lambda number, body: "hm" if len(body["messages"]) == 2 else "same"
    assert run(*CD, "--batch", *QUICK)[0] == 0
    assert [len(made.lines) for made in server.batches] == [8, 8]
    table = read_responses(FOLDER)
    assert set(table["attempts"]) == {2}
    assert set(table["outcome"]) == {"answered"}
    account_is_right(FOLDER, server)


def test_errors_of_single_lines_are_no_answers(run: Run, server: BatchServer) -> None:
    """Refused for good, blocked by a filter, an error within a reply; and what may help to ask
    again is asked again, in another batch."""
    blocked = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"}]
    }
    befalls: dict[int, Any] = {
        0: (400, {"error": {"message": "this cannot be answered"}}),
        1: (200, blocked),
        2: (500, {"error": {"message": "for a while"}}),
        3: (200, {"error": {"message": "overloaded", "code": 503}}),
        4: {"code": "internal", "message": "lost in the middle"},
        5: None,
        6: (200, {"nothing": "of the kind"}),
    }
    server.outcome = lambda number, body: befalls[number] if len(server.batches) == 1 and number in befalls else "same"
    code, _, err = run(*CD, "--batch", *QUICK, "--fail-on-error", "0.5")
    assert code == 0, err
    failed = failed_trials(read_events(FOLDER))
    assert sorted(reason.partition(" http")[0] for reason in failed.values()) == [
        "a filter at",
        failed["1"].partition(" http")[0],
    ]
    assert [len(made.lines) for made in server.batches] == [
        8,
        5,
    ], "what may be had is asked for again, and nothing else"
    table = read_responses(FOLDER)
    assert table["trial"].nunique() == 6
    assert set(table["outcome"]) == {"answered"}
    account: dict[str, Any] = dict(read_session(FOLDER)["account"])
    assert account["replies"] == 6
    assert account["requests"] == 13
    assert account["retries"] == {"filter": 1, "garbage": 2, "server": 4}
    assert account["paid_twice_at_most"] == 3, "the filtered reply, the line that is missing, and the one that is none"


@pytest.mark.parametrize("state", ["expired", "cancelled"])
@pytest.mark.slow
def test_what_a_batch_that_ended_early_has_not_done_goes_in_another_one(
    run: Run, server: BatchServer, state: str
) -> None:
    server.ends_as, server.done = state, 3
    if state == "cancelled":
        assert "batch batch_1 was cancelled; its replies are kept" in complaint(*run(*CD, "--batch", *QUICK))
        server.ends_as = "completed"
        assert run("resume", FOLDER)[0] == 0
    else:
        server.looks = 1
        look = server.look
        server.look = lambda made: (
            setattr(server, "ends_as", "completed" if made.name == "batch_2" else state) or look(made)
        )  # type: ignore[method-assign,func-returns-value]
        code, _, err = run(*CD, "--batch", *QUICK)
        assert code == 0, err
        assert "batch batch_1 is expired" in err
    assert [len(made.lines) for made in server.batches] == [8, 5]
    account = account_is_right(FOLDER, server)
    assert (account["replies"], account["refused"], account["paid_twice_at_most"]) == (8, 5, 0)
    assert account["retries"] == {"timeout": 5}
    assert read_responses(FOLDER)["trial"].nunique() == 8


def test_a_batch_that_is_refused_as_a_whole_stops_the_session_and_can_be_made_smaller(
    run: Run, server: BatchServer
) -> None:
    server.ends_as = "failed"
    said = complaint(*run(*CD, "--batch", *QUICK))
    assert (
        "refused batch batch_1 as a whole (token_limit_exceeded: Enqueued token limit reached); smaller batches may be"
        " accepted" in said
    )
    server.ends_as = "completed"
    assert run("resume", FOLDER, "--care", "batch_requests=3")[0] == 0
    assert [len(made.lines) for made in server.batches] == [8, 3, 3, 2]
    account_is_right(FOLDER, server)


@pytest.mark.slow
def test_not_waited_for(run: Run, server: BatchServer) -> None:
    server.looks = None
    said = complaint(*run(*CD, "--batch", "--no-wait", *QUICK))
    assert "batch batch_1 is in progress (1 of 8 requests done) and was not waited for" in said
    assert "spanlab batch data/cd-chat-m-s1 shows its state, and with --cancel cancels it" in said
    assert "8 requests are in a batch and not counted yet (at most 0.00" in said
    assert "was not waited for" in complaint(*run("resume", FOLDER, "--no-wait"))
    assert len(server.batches) == 1
    out = run("batch", FOLDER)[1]
    assert "batch_1  in progress  8" in out
    said = complaint(*run("resume", FOLDER, "--no-batch"))
    assert (
        "8 requests of this session are in batch batch_1, which is in progress: continue with --batch, or cancel it"
        " first" in said
    )
    server.looks = 1
    assert run("resume", FOLDER)[0] == 0
    assert len(server.batches) == 1
    assert "in_batches" not in account_is_right(FOLDER, server)


def test_a_session_with_a_limit_of_cost_can_be_looked_at_and_cancelled(run: Run, server: BatchServer) -> None:
    """The prices are those of its record, whoever gave them."""
    server.looks = None
    assert "was not waited for" in complaint(*run(*CD, "--batch", "--no-wait", "--max-cost", "1", *QUICK))
    code, out, err = run("batch", FOLDER)
    assert code == 0, err
    assert "in progress" in out
    code, out, err = run("batch", FOLDER, "--cancel")
    assert code == 0, err
    assert "fetches its replies" in out


def test_a_runner_by_itself_sends_nothing_that_is_in_a_batch(run: Run, server: BatchServer) -> None:
    """Whoever makes the runner: batches that are left are the record's, and looked at before
    anything is sent."""
    server.looks = None
    complaint(*run(*CD, "--batch", "--no-wait", *QUICK))
    with pytest.raises(SpanLabError, match="8 requests of this session are in batch batch_1, which is in progress"):
        Runner(reopen(FOLDER), make_agent("chat:m")).run()
    assert server.asked_at_once == []


def test_cancelled_and_then_one_by_one(run: Run, server: BatchServer) -> None:
    """What the batch had done is used, and the rest is sent at once and at the full price."""
    server.looks, server.done = None, 3
    complaint(*run(*CD, "--batch", "--no-wait", *QUICK))
    assert (
        "batch batch_1 is cancelling; spanlab resume data/cd-chat-m-s1 fetches its replies"
        in run("batch", FOLDER, "--cancel")[1]
    )
    code, _, err = run("resume", FOLDER, "--no-batch")
    assert code == 0, err
    assert len(server.asked_at_once) == 5
    account = account_is_right(FOLDER, server)
    assert (account["batched"], account["replies"], account["refused"]) == (3, 8, 5)
    assert account["cost"] == pytest.approx((3 * 102 / 2 + 5 * 102) / 1e6)
    assert "no batch of data/cd-chat-m-s1 is under way" in complaint(*run("batch", FOLDER, "--cancel"))


def test_nobody_knows_whether_it_was_submitted(run: Run, server: BatchServer) -> None:
    """The connection is lost while a batch is submitted: it is looked for, found and used."""
    server.hangs_up = 1
    code, _, err = run(*CD, "--batch", *QUICK)
    assert code == 0, err
    assert len(server.batches) == 1
    assert ("GET", "/v1/batches") in server.heard
    assert account_is_right(FOLDER, server)["paid_twice_at_most"] == 0


def test_a_provider_that_does_not_tell_is_not_asked_twice_by_itself(run: Run, server: BatchServer) -> None:
    server.hangs_up, server.lists = 1, False
    said = complaint(*run(*CD, "--batch", *QUICK))
    assert "batch number 1 (8 requests) may or may not have been submitted" in said
    assert "spanlab batch data/cd-chat-m-s1 --give-up submits its requests again" in said
    assert len(server.batches) == 1
    complaint(*run("resume", FOLDER))
    assert len(server.batches) == 1, "still not known"
    assert "is given up" in run("batch", FOLDER, "--give-up")[1]
    assert run("resume", FOLDER)[0] == 0
    account: dict[str, Any] = dict(read_session(FOLDER)["account"])
    assert (account["replies"], account["paid_twice_at_most"], account["in_doubt"]) == (8, 8, 8)
    assert account["requests"] == 16 == len(server.submitted)


def test_a_limit_holds_for_a_batch_as_a_whole(run: Run, server: BatchServer) -> None:
    """One request goes first; of the others as many as are surely within the limit."""
    server.tokens = 600
    each = 602 / 2 / 1e6
    said = complaint(*run(*CD, "--batch", *QUICK, "--max-cost", f"{6 * each:.7f}", "--chat", "max_tokens=5"))
    assert "--max-cost" in said
    sizes = [len(made.lines) for made in server.batches]
    assert sizes[0] == 1
    assert 3 <= sum(sizes) <= 6
    account = account_is_right(FOLDER, server)
    assert account["cost"] <= 6 * each
    assert run("resume", FOLDER, "--max-cost", "1")[0] == 0
    assert len(server.submitted) == 8


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["vsr"], "trials of vsr have up to 9, each asked after the reply to the one before"),
        (["nback_verbal"], "a batch holds trials of one question"),
        (["cd", "--chat", "practice=feedback"], "with --batch leave out practice=feedback"),
        (
            ["cd", "--chat", "conversation=session", "--chat", "likelihoods=top"],
            "leave out conversation=session and likelihoods=top",
        ),
        (["cd", "--agent", "chat:m@openai-responses"], "--batch is for servers with OpenAI's batch API"),
        (["cd", "--agent", "ideal"], "--batch is for chat agents"),
    ],
)
def test_what_cannot_go_in_a_batch_is_refused_before_anything_is_sent(
    run: Run, server: BatchServer, monkeypatch: pytest.MonkeyPatch, asked: list[str], why: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    agent = [] if "--agent" in asked else ["--agent", "chat:m"]
    said = complaint(*run("replay", *asked, *agent, "--trials", "9", "--batch"))
    assert why in said
    assert len(said.strip().splitlines()) == 1
    assert not server.heard
    assert not Path("data").exists()


@pytest.mark.slow
def test_a_server_without_batches_says_so(run: Run, server: BatchServer) -> None:
    server.refusals = {"files": [404]}
    said = complaint(*run(*CD, "--batch", *QUICK))
    assert "no batch API (files and batches): leave out --batch" in said
    assert run("resume", FOLDER, "--no-batch")[0] == 0
    assert len(server.asked_at_once) == 8


def test_a_key_is_in_no_file(run: Run, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    server.refusals = {"batches": [401]}
    said = complaint(*run(*CD, "--batch", *QUICK))
    assert "refused the key; check OPENAI_API_KEY" in said
    assert run("resume", FOLDER)[0] == 0
    assert server.keys == {"Bearer sk-very-secret-key"}
    assert not any(b"very-secret" in path.read_bytes() for path in Path("data").rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_kill_at_every_step_of_a_batch_pays_for_nothing_twice(
    run: Run, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the disk, and at the provider, before and after every line of the record of
    batches: from each of these the session goes on."""
    left: list[tuple[Path, int]] = []
    append = batch_store.append_line

    def note(path: Path, content: Any) -> None:
        for what in (lambda: None, lambda: append(path, content)):
            what()
            left.append((Path(f"left-{len(left)}-{content['event']}") / FOLDER.name, len(server.batches)))
            shutil.copytree(FOLDER, left[-1][0])

    monkeypatch.setattr(batch_store, "append_line", note)
    assert run(*CD, "--batch", *QUICK)[0] == 0
    monkeypatch.setattr(batch_store, "append_line", append)
    assert len(left) == 2 * len(["prepared", "uploaded", "submitting", "submitted", "ended"])
    made = server.batches
    for folder, count in left:
        server.batches = [replace(one, state="validating", looks=0, output="", errors="") for one in made[:count]]
        code, _, err = run("resume", folder)
        assert code == 0, err
        assert len(server.submitted) == 8, folder
        account: dict[str, Any] = dict(read_session(folder)["account"])
        assert (account["requests"], account["replies"], account["paid_twice_at_most"]) == (8, 8, 0)
        assert read_responses(folder)["trial"].nunique() == 8


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_ends_while_it_waits_leaves_its_batch(
    run: Run, server: BatchServer, tmp_path: Path, how: signal.Signals
) -> None:
    server.looks = None
    with (tmp_path / "said.txt").open("w") as told:
        program = subprocess.Popen(
            command(*CD, "--batch", *QUICK),
            env={**os.environ, "OPENAI_BASE_URL": server.base_url},
            stdout=told,
            stderr=told,
        )
        while not any(made.looks for made in server.batches):
            assert program.poll() is None, (tmp_path / "said.txt").read_text()
            time.sleep(0.02)
        program.send_signal(how)
        status = program.wait()
    said = (tmp_path / "said.txt").read_text()
    assert status != 0
    if how == signal.SIGINT:
        assert "stopping, while a batch that was submitted stays under way; Ctrl-C again stops at once" in said
        assert "batch batch_1 continues at" in said
        assert "interrupted" in said
        assert "Traceback" not in said
    server.looks = 1
    assert run("resume", FOLDER)[0] == 0
    assert len(server.batches) == 1
    assert account_is_right(FOLDER, server)["replies"] == 8


@pytest.mark.slow
def test_replies_that_were_fetched_and_not_used_are_used_later(run: Run, server: BatchServer) -> None:
    """As after a kill between the two: the transcript loses what came, and the folder of batches
    has it."""
    assert run(*CD, "--batch", *QUICK)[0] == 0
    whole = lasting(FOLDER)
    (FOLDER / "transcripts.jsonl").unlink()
    for name in ("responses.parquet", "responses.csv"):
        (FOLDER / name).unlink()
    start = (FOLDER / "events.jsonl").read_text().splitlines()[0]
    (FOLDER / "events.jsonl").write_text(start + "\n")
    assert Transcript(FOLDER).account()["in_batches"]["requests"] == 8
    assert run("resume", FOLDER)[0] == 0
    assert len(server.submitted) == 8
    pd.testing.assert_frame_equal(lasting(FOLDER), whole)
    assert BatchStore(FOLDER).in_batches({"batch_1": sum(map(is_reply, read_transcript(FOLDER)))}) is None


def test_a_set_of_sessions_is_left_and_fetched(run: Run, server: BatchServer, tmp_path: Path) -> None:
    """Every session submits its batch, and what is under way counts for the budget."""
    server.looks = None
    Path("set.yaml").write_text(
        "agents: chat:m\nparadigms: {cd: {trials: 4}, si: {trials: 4}}\nprices: {'chat:m': {input: 1, output: 2, batch:"
        " 0.4}}\ncare: {batch: leave, batch_poll_s: 0.02}\n"
    )
    complaint(*run("replay", "--set-file", "set.yaml"))
    assert [len(made.lines) for made in server.batches] == [4, 4]
    status = run("replay", "--set-file", "set.yaml", "--status")[1]
    assert "batch batch_1 is in progress" in status
    assert "cost 0.00" in status, "what is under way counts at most"
    server.looks = 1
    code, out, err = run("replay", "--set-file", "set.yaml")
    assert code == 0, err
    assert "2 done" in out
    assert len(server.batches) == 2
    assert read_session(FOLDER)["account"]["cost"] == pytest.approx(0.4 * 4 * 102 / 1e6)
