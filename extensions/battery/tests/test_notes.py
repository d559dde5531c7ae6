"""``spanlab study note``: notes during and after a session, with their time and the trial; a running
session does not feel them."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import Run, complaint, output_of
from study_files import STUDY, Guest, files, sit, study_in, take

from spanlab.core.atomic_files import only_writer
from spanlab.core.errors import SpanLabError
from spanlab.extensions.battery.notes import NOTES, add_note, read_notes
from spanlab.sessions.record.reader import find_sessions, read_events
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit_files import completed


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_in(tmp_path, STUDY)


def test_a_note_has_the_time_and_the_trial_and_is_shown_again(study: Study, tmp_path: Path, run: Run) -> None:
    folder, began = take(study, tmp_path / "data").folder, datetime.now(UTC)
    out = output_of(*run("study", "note", folder, "  the door slammed, „twice“ "))
    session = max(find_sessions([folder]), key=lambda session: (session / "events.jsonl").stat().st_mtime)
    last = max(int(event["trial"]) for event in read_events(session) if event["event"] == "trial_start")
    said = re.fullmatch(r"(.{19}) UTC \((.*), trial (\d+)\): (.*)\n", out)
    assert said is not None, out
    assert said.groups()[1:] == (session.name, str(last), "the door slammed, „twice“")
    (line,) = read_notes(folder)
    assert abs(datetime.fromisoformat(line["at"]) - began) < timedelta(minutes=5)
    run("study", "note", folder, "and again")
    status, out, _ = run("study", "note", folder)
    assert (status, len(out.splitlines())) == (0, 2)
    assert out.splitlines()[0].endswith("the door slammed, „twice“")
    assert out.splitlines()[1].endswith("and again")


def test_a_running_session_is_not_disturbed_and_the_note_names_what_is_under_way(
    study: Study, tmp_path: Path, run: Run
) -> None:
    noted: list[str] = []

    def leaves(what: str) -> None:
        if what.startswith("trial"):
            noted.append(what.removeprefix("trial: "))
            with pytest.raises(SpanLabError), only_writer(visit.folder):
                pass  # the session is running
            assert run("study", "note", visit.folder, f"before {len(noted)}")[0] == 0

    visit = sit(study, tmp_path / "data")
    Battery(visit, Guest(leaves)).run()
    notes = read_notes(visit.folder)
    assert [line["text"] for line in notes] == [f"before {number}" for number in range(1, len(noted) + 1)]
    for paradigm, line in zip(noted, notes, strict=True):
        assert line["session"].startswith(paradigm)
    assert completed(visit.folder)
    assert sum(
        event["event"] == "trial_end" for session in find_sessions([visit.folder]) for event in read_events(session)
    ) == len(noted)


def test_notes_at_the_same_time_are_all_kept(study: Study, tmp_path: Path) -> None:
    folder = take(study, tmp_path / "data").folder
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add_note(folder, f"note {number} " + "x" * 500), range(64)))
    assert {line["text"].split()[1] for line in read_notes(folder)} == {str(number) for number in range(64)}


def test_before_anything_has_begun_a_note_has_a_time_alone(study: Study, tmp_path: Path, run: Run) -> None:
    visit = sit(study, tmp_path / "data")
    out = output_of(*run("study", "note", visit.folder, "late, by ten minutes"))
    assert set(read_notes(visit.folder)[0]) == {"at", "text"}
    assert " UTC: late, by ten minutes" in out


def test_what_is_no_session_and_what_cannot_be_read_or_written_is_said(study: Study, tmp_path: Path, run: Run) -> None:
    assert f"{tmp_path} is not a session, nor a session of a study" in complaint(*run("study", "note", tmp_path, "x"))
    folder = take(study, tmp_path / "data").folder
    status, out, _ = run("study", "note", folder)
    assert (status, out) == (0, ""), "nothing was noted"
    assert run("study", "note", folder, "   ")[:2] == (0, ""), "blanks are no note"
    assert not (folder / NOTES).exists()
    (folder / NOTES).write_text("{broken\n", encoding="utf-8")
    assert "cannot be read" in complaint(*run("study", "note", folder))
    (folder / NOTES).unlink()
    (folder / NOTES).mkdir()
    assert "cannot write" in complaint(*run("study", "note", folder, "x"))


@pytest.mark.parametrize("format", ["csv", "bids", "psychds", "scores"])
def test_notes_stay_where_they_are_and_are_in_no_export(study: Study, tmp_path: Path, run: Run, format: str) -> None:
    take(study, tmp_path / "data", "p01")
    folder = take(study, tmp_path / "data", "p02").folder
    before = files(folder)
    run("study", "note", folder, "SECRETWORD: she has a cold")
    assert {name: content for name, content in files(folder).items() if name != NOTES} == before, (
        "nothing else was touched"
    )
    output_of(*run("export", format, tmp_path / "data", *(() if format == "scores" else ("-o",)), tmp_path / "shared"))
    assert files(tmp_path / "shared")
    assert not any(b"SECRETWORD" in content for content in files(tmp_path / "shared").values())
