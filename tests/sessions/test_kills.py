"""kill -9 at random moments: whatever was finished is there, the session goes on, and the table
ends as if nothing had happened (trials that a person had begun to see are replaced)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paradigm_texts import ANSWERS
from session_tools import command, ended_well, lasting, one_thread, spanlab

from spanlab.core.agent_kinds import kind_named
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import read_events, trials_taken

#: waits for the moment of the kill, given the process and the session's folder
Moment = Callable[[subprocess.Popen[bytes], Path], None]


def log_of(folder: Path) -> bytes:
    return (folder / "events.jsonl").read_bytes() if (folder / "events.jsonl").exists() else b""


def log_size(folder: Path) -> int:
    return (folder / "events.jsonl").stat().st_size if (folder / "events.jsonl").exists() else 0


#: an attempt's first event is shorter, in bytes
LEAST = 1000


def in_the_log(random: np.random.RandomState, most: int, startup: float) -> Moment:
    """A moment at which the log has grown by more than its first event, by a random number of
    bytes; one in five falls into the ``startup`` seconds."""

    def moment(process: subprocess.Popen[bytes], folder: Path) -> None:
        if random.randint(5) == 0:
            time.sleep(random.uniform(0, startup))
            return
        target = log_size(folder) + random.randint(LEAST, most)
        while process.poll() is None and log_size(folder) < target:
            time.sleep(0.0005)
        time.sleep(random.uniform(0, 0.004))

    return moment


def after_the_beginning(random: np.random.RandomState, seconds: float, startup: float) -> Moment:
    """A moment within so many seconds from the time at which the session goes on; one in five falls
    into the start of the program."""

    def moment(process: subprocess.Popen[bytes], folder: Path) -> None:
        if random.randint(5) == 0:
            time.sleep(random.uniform(0, startup))
            return
        before = log_of(folder).count(b'"trial_start"')
        while process.poll() is None and log_of(folder).count(b'"trial_start"') == before:
            time.sleep(0.005)
        time.sleep(random.uniform(0, seconds))

    return moment


def _replaced(folder: Path) -> set[tuple[bool, int]]:
    """The trials of a person that were finished in a later attempt than the first."""
    if not kind_named(read_session(folder)["agent_kind"]).at_window:
        return set()
    taken = trials_taken(read_events(folder))
    return {(key.startswith("p"), int(key.removeprefix("p"))) for key, begun in taken.items() if begun["attempt"] > 1}


def killed_again_and_again(
    tmp_path: Path, start: Sequence[str | Path], name: str, wanted: pd.DataFrame, kills: int, moment: Moment
) -> int:
    """Run a session, killing it at so many moments (or fewer, when it is finished before), and
    check after every kill what is there.

    Returns
    -------
    the number of kills; the finished session is compared with ``wanted``, the lasting columns of an
    undisturbed one
    """
    tmp_path.mkdir()
    folder, done = tmp_path / name, 0
    wanted = wanted.set_index(["practice", "trial"])
    while True:
        if not (folder / "session.json").exists():
            shutil.rmtree(folder, ignore_errors=True)  # killed before there was a session
        arguments = ["resume", folder] if folder.exists() else [*start, "--data", tmp_path]
        with (tmp_path / "stderr").open("wb") as complaints:
            process = subprocess.Popen(
                command(*arguments), stdout=subprocess.DEVNULL, stderr=complaints, env=one_thread()
            )
            if done < kills:
                moment(process, folder)
            else:
                process.wait(600)
            seen = set(re.findall(rb'"trial_end","trial":"(p?\d+)"', log_of(folder)))
            if process.poll() is None:
                process.kill()
                done += 1
            process.wait()
        assert process.returncode in (0, -9), (tmp_path / "stderr").read_text()
        if not (folder / "session.json").exists():
            continue
        table = lasting(folder).set_index(["practice", "trial"])
        finished = set(table.index)
        replaced = _replaced(folder) & finished
        others, meant = (
            table.loc[[key in replaced for key in table.index]],
            wanted.loc[[key in replaced for key in wanted.index]],
        )
        same = ["block", "list_length", "phase", "step", "serial_position"]  # the same condition, other stimuli
        pd.testing.assert_frame_equal(others.loc[:, same], meant.loc[:, same], check_dtype=False)
        assert not others["trial_id"].isin(wanted["trial_id"]).any()
        assert {(key.startswith(b"p"), int(key.removeprefix(b"p"))) for key in seen} <= finished, (
            "what was finished before the kill is there"
        )
        # (a column without a gap so far holds whole numbers; in the whole table it may have one,
        # and holds floats)
        table, kept = table.astype(wanted.dtypes.to_dict()), finished - replaced
        pd.testing.assert_frame_equal(
            table.loc[[key in kept for key in table.index]], wanted.loc[[key in kept for key in wanted.index]]
        )
        if process.returncode == 0:
            # practice that was begun again with other stimuli may take another number of rounds
            main = [frame.loc[[not practice for practice, _ in frame.index]] for frame in (table, wanted)]
            assert len(main[0]) == len(main[1])
            assert len(table) == len(wanted) or any(practice for practice, _ in replaced)
            return done


@pytest.mark.slow
@pytest.mark.parametrize("moments", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_replay_killed_at_random_moments(tmp_path: Path, moments: int) -> None:
    start = (
        "replay",
        "vsr",
        "--agent",
        "capacity",
        "--trials",
        str(60 * moments),
        "--seed",
        "5",
        "--set",
        "list_length=2,3",
    )
    undisturbed = Path(spanlab(*start, "--data", tmp_path / "undisturbed").stdout.strip())
    wanted, size = lasting(undisturbed), log_size(undisturbed)
    moment = in_the_log(
        np.random.RandomState(8), most=size // (moments + 2), startup=0.8
    )  # the third alone falls into a start
    kills = killed_again_and_again(tmp_path / "killed", start, undisturbed.name, wanted, moments, moment)
    assert kills >= moments - 1
    events = [event["event"] for event in read_events(tmp_path / "killed" / undisturbed.name)]
    assert events.count("resumed") >= moments // 2  # who is killed at the start may leave no event


_TELLING = """
import sys
from pathlib import Path
from spanlab.agents.registry import make_agent
from spanlab.sessions import Runner, reopen
Runner(reopen(sys.argv[1]), make_agent("capacity"), lambda done, total: print(done, flush=True)).run()
"""


@pytest.mark.slow
def test_a_trial_that_was_told_to_be_finished_is_on_the_disk(tmp_path: Path) -> None:
    """The progress bar never promises what a kill can take away."""
    folder = Path(
        spanlab(
            "replay", "vsr", "--agent", "capacity", "--trials", "200", "--set", "list_length=2,3", "--data", tmp_path
        ).stdout.strip()
    )
    (folder / "responses.parquet").unlink()
    whole, random = log_of(folder), np.random.RandomState(3)
    for _ in range(2):
        (folder / "events.jsonl").write_bytes(whole[:200])
        process = subprocess.Popen(
            [sys.executable, "-c", _TELLING, str(folder)], stdout=subprocess.PIPE, env=one_thread()
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0, 0.3))
        process.kill()
        told = 1 + process.stdout.read().count(b"\n")
        process.wait()
        process.stdout.close()
        assert read_responses(folder)["trial"].nunique() >= told


#: one length after another, as far as an observer who is always right gets
_CLIMBING = "  span: {adaptive: {rule: span, factor: list_length, start: 2, lists: 8}, interval: 17}\n"


def answers_file(folder: Path) -> Path:
    """The paradigm with typed answers, answers in order and dials."""
    (file := folder / "answers.yaml").write_text(ANSWERS + _CLIMBING, encoding="utf-8")
    return file


@pytest.mark.slow
def test_replay_killed_amid_typed_answers_orders_dials_and_span_tests(tmp_path: Path) -> None:
    random, kills, file = np.random.RandomState(70), 0, answers_file(tmp_path)
    plans = (
        (file, "--agent", "capacity:2", "--trials", "300"),
        (file, "--agent", "chance", "--trials", "300"),
        ("digit_span", "--agent", "capacity:6", "--trials", "200"),
        ("corsi", "--agent", "chance", "--trials", "200"),
        ("digit_span", "--design", "forward", "--agent", "capacity:7"),
        ("corsi", "--design", "backward", "--agent", "ideal"),
        ("operation_span", "--agent", "capacity:3", "--trials", "60"),
        ("running_span", "--agent", "capacity:3", "--trials", "60"),
        ("sternberg", "--agent", "capacity:3", "--trials", "200"),
        ("delayed_match", "--agent", "capacity:3", "--trials", "100"),
    )
    for number, plan in enumerate(plans):
        start = ("replay", *plan, "--seed", str(number + 1))
        done = spanlab(*start, "--data", tmp_path / "undisturbed")
        undisturbed = Path(done.stdout.strip().splitlines()[-1])
        moment = in_the_log(random, most=log_size(undisturbed) // 4, startup=1.5)
        kills += killed_again_and_again(
            tmp_path / str(number), start, undisturbed.name, lasting(undisturbed), 4, moment
        )
    print(f"{kills} kills of replay")
    assert kills >= 15


@pytest.mark.slow
@pytest.mark.soaked(1)
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize(
    "more",
    [("--simulate", "capacity:1@100", "--trials", "16"), ("--simulate", "ideal@100", "--design", "span")],
    ids=["lists", "span"],
)
def test_a_session_at_the_window_killed_amid_typed_answers_orders_and_dials(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    start = ("run", answers_file(tmp_path), "--seed", "3", *more)
    done = ended_well(spanlab(*start, "--data", tmp_path / "undisturbed", timeout=600))
    undisturbed = Path(done.strip().splitlines()[-1])
    wanted = lasting(undisturbed)
    assert set(wanted["phase"]) >= {"order", "typed", "dial"}
    assert wanted["trial"].max() == 16
    moment = after_the_beginning(np.random.RandomState(71), seconds=2.5, startup=4.0)
    kills = killed_again_and_again(tmp_path / "killed", start, undisturbed.name, wanted, 8, moment)
    print(f"{kills} kills at the window")
    assert kills >= 4
