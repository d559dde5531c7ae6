"""Sessions from the command line: replay, the same trials for others, recorded answers again,
resume; and what is refused in one sentence."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run, output_of
from effort import HANGS_S
from session_tools import GO_NOGO, WHO, command, lasting, one_thread, spanlab

from spanlab.core.atomic_files import only_writer
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import read_events


@pytest.fixture
def finished(run: Run, tmp_path: Path) -> Path:
    """A finished session of eight trials."""
    out = output_of(
        *run("replay", "sfr", "--agent", "chance", "--trials", "8", "--seed", "6", "--data", tmp_path / "data")
    )
    return Path(out.strip())


@pytest.fixture
def cut(finished: Path) -> Path:
    """The same session, killed in the middle of the sixth trial: its last line is half there, and
    there is no table."""
    events = (finished / "events.jsonl").read_bytes()
    (finished / "events.jsonl").write_bytes(events[: events.index(b'"trial_end","trial":"6"') - 60])
    for name in ("responses.csv", "responses.parquet"):
        (finished / name).unlink()
    return finished


def keep(folder: Path) -> pd.DataFrame:
    return lasting(folder).copy()


# -- replay ----------------------------------------------------------------------------------------


def test_a_paradigm_without_english_instructions_is_taken_in_its_own_language(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wechsel.yaml").write_text(
        "paradigm: wechsel\nextends: cd\ntitle: Wechsel\ninstructions: {de: Was ist neu?, en: null}\n", "utf-8"
    )
    out = output_of(
        *run("replay", tmp_path / "wechsel.yaml", "--agent", "ideal", "--trials", "2", "--data", tmp_path / "data")
    )
    info = read_session(Path(out.strip()))
    assert (info["language"], info["instructions"].strip()) == ("de", "Was ist neu?")


def test_several_agents_take_the_same_trials(run: Run, tmp_path: Path) -> None:
    arguments = (
        "--agent",
        "ideal",
        "--agent",
        "capacity:2",
        "--trials",
        "4",
        "--set",
        "set_size=2,3",
        "--seed",
        "9",
        "--data",
        tmp_path,
    )
    status, out, err = run("replay", "smu", *arguments)
    assert status == 0
    said = err.splitlines()
    assert [line.split(":")[0] for line in said] == ["ideal, smu", "capacity"]
    assert said[0].endswith(" answers right (100%; chance 11%)")
    for agent, line in zip(("ideal", "capacity-2"), said, strict=True):
        table = read_responses(tmp_path / f"smu-{agent}-s9")
        assert line.split(", smu: ")[1].startswith(f"{int(table['correct'].sum())} of {len(table)} answers right")
    ideal, capacity = (read_responses(folder) for folder in out.split())
    assert list(ideal["trial_id"]) == list(capacity["trial_id"])
    assert set(ideal["set_size"]) == {2, 3}
    assert set(capacity["agent"]) == {"capacity:2"}


def test_like_gives_exactly_the_trials_of_another_session(run: Run, finished: Path, tmp_path: Path) -> None:
    out = output_of(
        *run(
            "replay",
            "--like",
            finished,
            "--agent",
            "ideal",
            "--agent",
            "capacity",
            "--data",
            tmp_path / "others",
        )
    )
    original = read_responses(finished)
    for folder in map(Path, out.split()):
        table = read_responses(folder)
        assert list(dict.fromkeys(table["trial_id"])) == list(dict.fromkeys(original["trial_id"]))
        assert read_session(folder)["plan"] == read_session(finished)["plan"]
        assert read_session(folder)["like"] == finished.name


def test_like_is_not_mixed_with_other_choices(run: Run, finished: Path) -> None:
    given = (("--trials", "3"), ("--set", "list_length=3"), ("--design", "human"), ("--generator", "published"))
    for more in (*given, ("--seed", "1", "--seed", "2")):
        status, _, err = run("replay", "--like", finished, "--agent", "ideal", *more)
        assert status == 1
        assert "--like takes exactly the trials of that session" in err
    status, _, err = run("replay", "vsr", "--like", finished, "--agent", "ideal")
    assert status == 1
    assert "is a session of sfr, not of vsr" in err


def test_recorded_answers_are_given_again(run: Run, finished: Path, tmp_path: Path) -> None:
    out = output_of(*run("replay", "--like", finished, "--agent", f"recorded:{finished}", "--data", tmp_path / "again"))
    pd.testing.assert_frame_equal(lasting(Path(out.strip()), without=WHO), lasting(finished, without=WHO))
    assert run("resume", out.strip())[1].startswith("nothing to do")


def test_recorded_answers_fit_their_own_trials_only(run: Run, finished: Path, cut: Path, tmp_path: Path) -> None:
    data = tmp_path / "again"
    assert (
        "has no answer to this trial; replay the trials of that session with --like"
        in run("replay", "sfr", "--agent", f"recorded:{cut}", "--trials", "2", "--seed", "1", "--data", data)[2]
    )
    assert "is not a session" in run("replay", "sfr", "--agent", f"recorded:{tmp_path}", "--data", data)[2]
    assert "which session?" in run("replay", "sfr", "--agent", "recorded:", "--data", data)[2]
    (cut / "events.jsonl").write_bytes(b"")
    assert "holds no finished trial" in run("replay", "sfr", "--agent", f"recorded:{cut}", "--data", data)[2]


# -- resume ----------------------------------------------------------------------------------------


def test_a_folder_of_finished_sessions_has_nothing_left_to_do(run: Run, finished: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(finished, tmp_path / "both" / name)
    folder = tmp_path / "both"
    assert run("resume", folder) == (0, f"nothing to do: every trial of {folder} is finished\n", "")


def test_a_finished_session_has_nothing_left_to_do(run: Run, finished: Path) -> None:
    before = {file.name: file.read_bytes() for file in finished.iterdir()}
    assert run("resume", finished) == (0, f"nothing to do: every trial of {finished} is finished\n", "")
    assert {file.name: file.read_bytes() for file in finished.iterdir()} == before


def test_a_table_that_a_kill_prevented_is_written_without_asking_the_agent(run: Run, finished: Path) -> None:
    wanted = keep(finished)
    info = read_session(finished)
    (finished / "session.json").write_text(
        json.dumps({**info, "agent": "chat:unreachable", "agent_kind": "chat"}), encoding="utf-8"
    )
    (finished / "responses.parquet").unlink()
    assert run("resume", finished)[0] == 0
    assert (finished / "responses.parquet").exists()
    pd.testing.assert_frame_equal(lasting(finished, without=WHO), wanted.drop(columns=WHO))


def test_cut_at_every_byte_of_a_trial_it_goes_on(run: Run, tmp_path: Path) -> None:
    """Wherever the file ends, also inside the line of a former resumption, the session is readable
    and ends with the same table."""
    folder = Path(
        run("replay", "vsr", "--agent", "chance", "--trials", "3", "--set", "list_length=2", "--data", tmp_path)[
            1
        ].strip()
    )
    wanted = keep(folder)
    whole = (folder / "events.jsonl").read_bytes()
    for n, size in enumerate(range(1, len(whole), 131)):
        log = whole[:size]
        if n % 3 == 0:
            log += b'\n{"event":"resumed","at":"20'  # killed again while it came back
        (folder / "events.jsonl").write_bytes(log)
        (folder / "responses.parquet").unlink()
        read_responses(folder)
        assert re.fullmatch(
            r"(chance, vsr: \d of 6 answers right \(\d+%; chance 11%\)\n)?", run("resume", folder)[2]
        ), size
        pd.testing.assert_frame_equal(lasting(folder), wanted)


def test_a_changed_paradigm_refuses_to_go_on(run: Run, tmp_path: Path) -> None:
    (file := tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    folder = Path(run("replay", file, "--agent", "chance", "--trials", "4", "--data", tmp_path / "data")[1].strip())
    events = folder / "events.jsonl"
    events.write_bytes(events.read_bytes()[:2000])
    file.write_text(GO_NOGO.replace("ms: 500", "ms: 400"), encoding="utf-8")
    before = events.read_bytes()
    status, out, err = run("resume", folder)
    assert (status, out) == (1, "")
    assert f"the paradigm gonogo ({file}) has changed since {folder} began" in err
    assert "Restore the old file, or start a new session" in err
    assert events.read_bytes() == before
    file.write_text("# only a remark\n" + GO_NOGO, encoding="utf-8")
    assert run("resume", folder)[0] == 0, "what was changed back, or only in its remarks, is the same"


def test_an_agent_with_other_settings_refuses_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(run("replay", "vsr", "--agent", "capacity:4", "--trials", "4", "--data", tmp_path)[1].strip())
    (folder / "events.jsonl").write_bytes((folder / "events.jsonl").read_bytes()[:900])
    (folder / "responses.parquet").unlink()
    monkeypatch.setattr(
        "spanlab.agents.oracles.LimitedCapacity.settings", lambda self: {"places": 4, "primacy": 9.0, "decay": 0.06}
    )
    status, _, err = run("resume", folder)
    assert status == 1
    assert "was begun with other settings, so it cannot be resumed with these (primacy was " in err
    assert " and is 9.0" in err
    monkeypatch.undo()


# -- damage ----------------------------------------------------------------------------------------


def test_damage_in_the_middle_is_said_with_its_line_and_the_advice_holds(run: Run, finished: Path) -> None:
    """Whichever line is damaged: reading says so, and without that line the session goes on to the
    same table."""
    wanted = keep(finished)
    lines = (finished / "events.jsonl").read_bytes().splitlines(keepends=True)
    kinds = {}
    for number, line in enumerate(lines[:-1]):
        kinds[json.loads(line)["event"]] = number  # one line of every kind, the last of each
    assert set(kinds) == {"session_start", "trial_start", "step", "trial_end"}
    for number in kinds.values():
        (finished / "events.jsonl").write_bytes(
            b"".join([*lines[:number], lines[number][:20] + b"\xff\n", *lines[number + 1 :]])
        )
        for name in ("responses.csv", "responses.parquet"):
            (finished / name).unlink(missing_ok=True)
        status, _, err = run("resume", finished)
        assert status == 1
        assert f"events.jsonl:{number + 1} is damaged; restore the file from a copy, or remove this line" in err
        (finished / "events.jsonl").write_bytes(b"".join([*lines[:number], *lines[number + 1 :]]))
        assert run("resume", finished)[0] == 0
        pd.testing.assert_frame_equal(lasting(finished), wanted)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"format_version": 99}',
            "was written by another spanlab (format 99; this one reads format 1): update spanlab",
        ),
        ("{}", "is not the record of a session"),
        ("[]", "is not the record of a session"),
        ('{"format_version": 1', "cannot be read"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_session_json_that_cannot_be_used(run: Run, finished: Path, content: str, message: str) -> None:
    (finished / "session.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    for arguments in (
        ("resume", finished),
        ("replay", "--like", finished, "--agent", "ideal"),
        ("replay", "sfr", "--agent", f"recorded:{finished}"),
    ):
        status, out, err = run(*arguments)
        assert (status, out) == (1, "")
        assert message in err
        assert err.count("\n") == 1


def test_what_is_no_session(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        status, _, err = run("resume", path)
        assert status == 1
        assert "is not a session: it has no session.json" in err


def test_a_folder_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = run("replay", "vsr", "--agent", "ideal", "--data", tmp_path / "file")
    assert status == 1
    assert "cannot write" in err
    assert "choose another folder with --data" in err


# -- two at once -----------------------------------------------------------------------------------


def test_a_second_process_is_refused_and_changes_nothing(run: Run, cut: Path, tmp_path: Path) -> None:
    before = (cut / "events.jsonl").read_bytes()
    with only_writer(cut):
        for refused in (run("resume", cut)[2], spanlab("resume", cut).stderr):
            assert f"{cut} is in use by another process; wait until it has ended" in refused
    assert (cut / "events.jsonl").read_bytes() == before
    assert run("resume", cut)[0] == 0


def test_a_killed_process_leaves_no_lock(cut: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from spanlab.core.atomic_files import only_writer\n"
        "with only_writer(Path(sys.argv[1])): print(1, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(cut)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    assert "another process" in spanlab("resume", cut).stderr
    process.kill()
    process.wait()
    assert spanlab("resume", cut).returncode == 0
    process.stdout.close()


# -- interrupts and disks --------------------------------------------------------------------------


def test_control_c_stops_at_once_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(
            "replay", "vsr", "--agent", "chance", "--trials", "20000", "--set", "list_length=2", "--data", tmp_path
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=one_thread(),
    )
    folder = tmp_path / "vsr-chance-s1"
    wait_for(
        lambda: (folder / "events.jsonl").exists() and (folder / "events.jsonl").read_bytes().count(b"trial_end") >= 3
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 1
    assert (
        err.strip().splitlines()[-1]
        == f"spanlab: interrupted; the finished trials are safe. Continue with: spanlab resume {folder}"
    )
    assert out == ""
    assert read_events(folder)[-1]["event"] == "interrupted"
    assert len(read_responses(folder)) >= 6


def wait_for(happened: Callable[[], bool], seconds: float = HANGS_S) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_full_disk_stops_with_a_sentence_and_keeps_what_was_finished(run: Run, tmp_path: Path) -> None:
    """The largest size of a file stands for the disk. It is full twice at the same place."""
    resource = pytest.importorskip("resource")
    arguments: tuple[str | Path, ...] = ("replay", "vsr", "--agent", "chance", "--trials", "40", "--data")
    undisturbed = Path(run(*arguments, tmp_path / "whole")[1].strip())
    wanted = lasting(undisturbed)
    limit = (undisturbed / "events.jsonl").stat().st_size // 2
    folder = tmp_path / "my data" / "vsr-chance-s1"
    for again in (("resume", folder), ("resume", folder)):
        stopped = spanlab(
            *arguments,
            *[tmp_path / "my data"] * (arguments[0] == "replay"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit,) * 2),
        )
        first, *more = stopped.stderr.strip().splitlines()
        assert stopped.returncode == 1
        assert f"cannot write {folder / 'events.jsonl'}: File too large; free some space" in first
        assert more == [f"The finished trials are safe. Continue with: spanlab resume '{folder}'"]
        trials = (folder / "events.jsonl").read_bytes().count(b'"trial_end"')
        assert 10 < trials < 30
        pd.testing.assert_frame_equal(lasting(folder), wanted[wanted["trial"] <= trials])
        arguments = again
    assert run("resume", folder)[0] == 0
    pd.testing.assert_frame_equal(lasting(folder), wanted)


def test_a_table_that_cannot_be_written_is_written_later(run: Run, cut: Path) -> None:
    (cut / ".responses.csv.part").mkdir()
    status, out, err = run("resume", cut)
    assert (status, out) == (1, "")
    assert f"cannot write {cut / 'responses.csv'}" in err
    assert len(read_responses(cut)) > 0
    (cut / ".responses.csv.part").rmdir()
    assert run("resume", cut)[0] == 0
    assert (cut / "responses.csv").exists()
