"""Sessions of studies in a real window: a simulated participant takes a battery, and goes on after
a kill."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from effort import HANGS_S
from paradigm_texts import SHORT
from session_tools import command, lasting, one_thread, spanlab

from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.studies.visit_files import read_head

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("screen")]

STUDY = """
study: brief
title: A short battery
languages: [de, en]
paradigms:
  - {paradigm: short.yaml, set: {list_length: 2}, trials: 4, practice: false}
  - {paradigm: smu, set: {set_size: 1}, trials: 1, practice: false}
  - {paradigm: sfr, set: {list_length: 2}, trials: 1, practice: false}
order: latin_square
seed: 1
breaks: {text: {en: Rest., de: Ruhen Sie aus.}, seconds: 1}
consent: {en: Do you agree?, de: Sind Sie einverstanden?}
debrief: {en: It was about memory., de: Es ging um das Gedächtnis.}
fields: [age]
"""
#: a test machine has no time to waste
START = ("run", "study.yaml", "--simulate", "capacity:2", "--speed", "100", "--windowed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.yaml").write_text(SHORT, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


#: what a trial that was cut short keeps when it is replaced
_KEPT = ["participant", "paradigm", "block", "trial", "step", "ask", "phase", "practice", "set_size", "list_length"]


def tables(data: Path) -> dict[str, pd.DataFrame]:
    """What lasts of every session, by its name."""
    return {path.name: lasting(path) for path in find_sessions([data])}


def test_a_battery_killed_between_and_within_paradigms_ends_as_if_nothing_had_happened(folder: Path) -> None:
    done = spanlab(*START, cwd=folder, timeout=400)
    assert done.returncode == 0, done.stderr
    wanted = tables(folder / "data")
    assert len(wanted) == 3
    again = ("--participant", "simulated-1", "--data", "killed", "--existing", "resume")
    for moment in (6.0, 9.0, 12.0):
        process = subprocess.Popen(
            command(*START, *again), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=one_thread()
        )
        time.sleep(moment)
        process.kill()
        process.wait()
    done = spanlab(*START, *again, cwd=folder, timeout=400)
    assert done.returncode == 0, done.stderr
    found = tables(folder / "killed")
    assert set(found) == set(wanted)
    for name, table in wanted.items():
        pd.testing.assert_frame_equal(found[name][_KEPT], table[_KEPT])
    changed = sum(
        int((found[name]["trial_id"] != table["trial_id"]).groupby(table["trial"]).any().sum())
        for name, table in wanted.items()
    )
    assert changed <= 3, "each kill cuts short one trial at most"
    infos = sorted(
        (read_session(path) for path in find_sessions([folder / "killed"])), key=lambda info: info["study"]["position"]
    )
    assert [info["study"]["position"] for info in infos] == [1, 2, 3]
    assert {info["agent_kind"] for info in infos} == {"simulated"}
    done = spanlab("study", "status", "study.yaml", "--data", "killed", cwd=folder)
    assert done.stdout.splitlines()[1].split()[-2:] == ["yes", "simulated"]
    done = spanlab(*START, *again, cwd=folder)
    assert "nothing to do" in done.stdout


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_command_that_goes_on_is_told_and_works(folder: Path, ending: str) -> None:
    process = subprocess.Popen(
        command(*START), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=one_thread()
    )
    journal = folder / "data" / "brief" / "simulated-1" / "session-1" / "battery.jsonl"
    until = time.monotonic() + HANGS_S
    while not (journal.exists() and "consent" in journal.read_text()) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(getattr(signal, ending))
    assert process.stderr is not None
    told = process.communicate(timeout=HANGS_S)[1]
    assert process.returncode == 1
    assert "interrupted\n" in told
    line = next(line for line in told.splitlines() if "Continue with: " in line)
    how = line.partition("Continue with: ")[2]
    again = "the same command with --participant simulated-1 --session 1 --existing resume"
    assert how in ("spanlab resume data/brief/simulated-1/session-1", again)
    typed = [*START, *shlex.split(how)[4:]] if how == again else shlex.split(how)[1:]
    done = spanlab(*typed, cwd=folder, timeout=400)
    assert done.returncode == 0, done.stderr
    assert len(find_sessions([folder / "data"])) == 3


def test_from_the_dialog_to_the_window_and_out_again_with_real_keys(folder: Path, screen: str) -> None:
    from dialog_typist import Typist

    process = subprocess.Popen(
        command("run", "study.yaml", "--windowed"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    typist, session = Typist(screen), folder / "data" / "brief" / "p01" / "session-1"

    def noted(event: str) -> bool:
        journal = session / "battery.jsonl"
        return journal.exists() and event in journal.read_text()

    try:
        typist.focus(typist.wait_for(lambda: typist.window("SpanLab")))
        time.sleep(0.5)
        typist.type("p01\n")
        typist.wait_for(lambda: noted("begun"))
        # the consent page: the key of its button agrees, as soon as the page is there (the dialog
        # speaks German, the first language)
        until = time.monotonic() + HANGS_S
        while not noted("consent") and time.monotonic() < until:
            typist.key("e")
            time.sleep(0.5)
        assert noted("consent")
        assert read_head(session)["fields"] == {}
        # only now the questions about the participant, and then the window again
        typist.focus(typist.wait_for(lambda: typist.window("SpanLab")))
        time.sleep(0.5)
        typist.type("31\n")
        typist.wait_for(lambda: list(session.glob("*/session.json")))
        assert read_head(session)["fields"] == {"age": 31}
        until = time.monotonic() + HANGS_S
        while process.poll() is None and time.monotonic() < until:
            typist.key("Escape")
            time.sleep(0.7)
            typist.key("l")
            time.sleep(0.7)
        assert process.stderr is not None
        told = process.communicate(timeout=HANGS_S)[1]
    finally:
        process.kill()
        typist.close()
    assert process.returncode == 1
    assert "the participant left the session" in told
    assert told.rstrip().endswith("session-1")
    assert not noted("finished")
    assert "0/" in spanlab("study", "status", "study.yaml", cwd=folder).stdout
