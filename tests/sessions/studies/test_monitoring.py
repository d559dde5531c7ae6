"""The monitor: what it shows of sessions that run, are finished or were killed, from the records
alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from command_line import Run, output_of
from study_files import Guest, files, study_in, take

from spanlab.core.errors import SpanLabError
from spanlab.sessions.studies.monitoring import SILENT_S, Monitor
from spanlab.sessions.studies.participants import find, withdraw
from spanlab.sessions.studies.study import Study

STUDY = """
study: pair
title: Two tasks
paradigms:
  - {paradigm: vsr, set: {list_length: [2, 3]}, trials: 6, practice: false}
  - {paradigm: sfr, as: cells, set: {list_length: 1}, trials: 4, practice: false}
consent: {en: Do you agree?}
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_in(tmp_path, STUDY)


class Leaves(Guest):
    """Calls something before the page or trial with this number."""

    def __init__(self, at: int, does: object) -> None:
        super().__init__()
        self._at, self._does, self._count = at, does, 0

    def _happens(self, what: str) -> None:
        self._count += 1
        if self._count == self._at:
            assert callable(self._does)
            self._does()
        super()._happens(what)


def test_a_session_is_seen_while_it_runs_and_nothing_is_written(study: Study, tmp_path: Path) -> None:
    monitor, data = Monitor(study, tmp_path / "data"), tmp_path / "data"
    seen = []

    def looks() -> None:
        before = files(data)
        seen.append(monitor.look(time.time()))
        assert files(data) == before

    take(study, data, guest=Leaves(6, looks), fields={})
    ((running,),) = seen
    assert (running.participant, running.session, running.paradigm, running.state) == (
        "p01",
        "1",
        "vsr (1 of 2)",
        "running",
    )
    assert 0 < running.done < running.planned == 6
    assert running.items > 0
    first, second = monitor.look(time.time())
    assert [(one.state, one.done, one.planned) for one in (first, second)] == [
        ("finished", 6, 6),
        ("finished", 4, 4),
    ]
    assert (first.displays, second.paradigm) == (first.displays, "cells (2 of 2)")
    assert first.displays > 0


def test_one_that_is_interrupted_and_one_of_which_nothing_is_heard(study: Study, tmp_path: Path) -> None:
    data = tmp_path / "data"

    def unplugged() -> None:
        raise SpanLabError("the keyboard is gone")

    with pytest.raises(SpanLabError, match="keyboard"):
        take(study, data, guest=Leaves(6, unplugged), fields={})
    (one,) = Monitor(study, data).look(time.time())
    assert (one.state, one.note) == ("interrupted", "the keyboard is gone")
    log = next((data / "pair" / "p01" / "session-1").glob("*/events.jsonl"))
    killed = [line for line in log.read_text(encoding="utf-8").splitlines() if '"interrupted"' not in line]
    log.write_text("\n".join(killed) + '\n{"event":"step","tri', encoding="utf-8")
    monitor, now = Monitor(study, data), time.time()
    assert [one.state for one in monitor.look(now)] == ["running"]
    (quiet,) = monitor.look(now + SILENT_S + 10)
    assert (quiet.state, quiet.note) == ("silent", "at a page or in a break, or killed")
    assert quiet.done == one.done
    log.write_text("\n".join([*killed[:3], "{}", *killed[3:]]) + "\n", encoding="utf-8")
    (damaged,) = monitor.look(now)
    assert damaged.state == "unreadable"
    assert "events.jsonl:4 is damaged" in damaged.note


def test_refusals_beginnings_and_withdrawals(study: Study, tmp_path: Path, run: Run) -> None:
    data = tmp_path / "data"
    printed = output_of(*run("study", "monitor", "study.yaml"))
    assert printed.startswith("no session of pair recorded anything in the last 24 hours")
    refuses = Guest()
    refuses.decides = ["refuse"]
    with pytest.raises(SpanLabError, match="does not agree"):
        take(study, data, "p01", guest=refuses, fields={})
    take(study, data, "p02", fields={})
    (refused, *_) = Monitor(study, data).look(time.time())
    assert (refused.participant, refused.state) == ("refused-person-1", "refused")
    person = find(data / "pair", "p02")
    assert person is not None
    printed = output_of(*run("study", "monitor", "study.yaml", "--once"))
    lines = printed.splitlines()
    assert lines[0].split()[:4] == ["participant", "session", "paradigm", "state"]
    assert "group" not in lines[0]
    assert any("p02" in line and "cells (2 of 2)" in line and "4/4" in line for line in lines)
    withdraw(data / "pair", person, 2)
    assert [one.participant for one in Monitor(study, data).look(time.time())] == ["refused-person-1"]
    for path in (data / "pair").rglob("*.json*"):
        os.utime(path, (time.time() - 3 * 86400, time.time() - 3 * 86400))
    assert "1 older row with --all" in run("study", "monitor", "study.yaml")[1]
    assert "refused" in run("study", "monitor", "study.yaml", "--all")[1]
