"""Sessions of studies in a real window: a simulated participant takes a battery, and goes on after
a kill."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from effort import HANGS_S
from paradigm_texts import SHORT
from session_tools import command, one_thread, spanlab

from spanlab.sessions import find_sessions

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
