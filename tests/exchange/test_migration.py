"""Records of older formats in the newest one: scored to the same values, with nothing lost wherever
it is interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from golden_tables import assert_same, stored

from spanlab.core.atomic_files import only_writer
from spanlab.exchange.migration import migrate
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import find_sessions

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sessions"
PERSON, LARGE, ADAPTIVE = "vsr-p01-s3", "vsr-network-laptop-s27", "vsr-capacity-3-s16"
RECORDED = ("events.jsonl", "transcripts.jsonl")


def files(folder: Path) -> dict[str, str]:
    """Every file of a folder by a hash of its content, without locks."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def copied(folder: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(GOLDEN / "finished" / name, folder / name)
    return folder


def table(folder: Path, columns: list[str]) -> Any:
    return read_responses(folder)[columns].astype(object).where(lambda cells: cells.notna(), None).to_numpy().tolist()


def check(folder: Path, before: dict[str, str], old: Path) -> None:
    """A migrated session says what it said, and the old files are kept."""
    info, then = read_session(folder), read_session(old)
    assert (info["format_version"], info.get("streams")) == (3, then.get("streams", 1))
    assert {key: value for key, value in info.items() if key not in ("format_version", "streams")} == {
        key: value for key, value in then.items() if key != "format_version"
    }
    after = files(folder)
    kept = folder / f".format-{then['format_version']}"
    for name, content in before.items():
        unchanged = name in RECORDED or name.startswith(("parts", "states"))
        assert (after[name] if unchanged else after[str((kept / name).relative_to(folder))]) == content, name
    columns = [str(name) for name in read_responses(old).columns]
    assert table(folder, columns) == table(old, columns)


def test_a_session_is_migrated_once_and_its_old_files_are_kept(tmp_path: Path, run: Run) -> None:
    names = (PERSON, LARGE, ADAPTIVE)
    copied(tmp_path / "data", *names)
    before = {name: files(tmp_path / "data" / name) for name in names}
    status, out, err = run("migrate", "data")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"data/{name}: format {2 if name == LARGE else 1} is now format 3" for name in sorted(names)
    ]
    for name in names:
        check(tmp_path / "data" / name, before[name], GOLDEN / "finished" / name)
    now = files(tmp_path / "data")
    assert run("migrate", "data")[1].count("already has the newest format (3)") == 3
    assert files(tmp_path / "data") == now
    assert_same(
        read_responses(tmp_path / "data" / PERSON)[["answer", "correct"]],
        read_responses(GOLDEN / "finished" / PERSON)[["answer", "correct"]],
    )


@pytest.mark.slow
def test_every_golden_session_is_migrated(tmp_path: Path) -> None:
    """All finished sessions of the older edition, of every kind, are scored to the same values and
    read as the stored tables say; the others are refused."""
    shutil.copytree(GOLDEN / "finished", tmp_path / "finished")
    shutil.copytree(GOLDEN / "half", tmp_path / "half")
    before = {folder.name: files(folder) for folder in find_sessions([tmp_path / "finished"])}
    assert {one.became for one in migrate([tmp_path / "finished"])} == {"migrated"}
    for folder in find_sessions([tmp_path / "finished"]):
        check(folder, before[folder.name], GOLDEN / "finished" / folder.name)
        wanted = stored("tables", f"finished/{folder.name}")
        assert len(wanted) == len(read_responses(folder))
    unfinished = files(tmp_path / "half")
    assert {one.became for one in migrate([tmp_path / "half"])} == {"refused"}
    assert files(tmp_path / "half") == unfinished


def test_beside_leaves_the_original_as_it_is(tmp_path: Path, run: Run) -> None:
    copied(tmp_path / "data", PERSON)
    shutil.copytree(GOLDEN / "half" / "vsr-ideal-s21", tmp_path / "data" / "half")
    (tmp_path / "data" / "notes.txt").write_text("of the laboratory", encoding="utf-8")
    before = files(tmp_path / "data")
    said = complaint(*run("migrate", "data", "-o", "new"))
    assert "stays as it is: is not finished: finish it with spanlab resume" in said
    assert "1 of 2 sessions stays as it is" in said
    assert ".part" not in said
    assert files(tmp_path / "data") == before
    after = files(tmp_path / "new")
    assert {name for name in before if after[name] != before[name]} == {
        f"{PERSON}/{name}" for name in ("session.json", "responses.csv", "responses.parquet")
    }
    assert set(after) == set(before)
    assert read_session(tmp_path / "new" / PERSON)["format_version"] == 3
    assert "exists; name a new folder" in complaint(*run("migrate", "data", "-o", "new"))
    assert "name a folder outside of it" in complaint(*run("migrate", "data", "-o", "data/new"))
    assert "with -o, name one session" in complaint(*run("migrate", "data", "new", "-o", "third"))


def test_what_is_under_way_or_says_otherwise_is_refused(tmp_path: Path, run: Run) -> None:
    folder = copied(tmp_path / "data", PERSON) / PERSON
    before = files(folder)
    with only_writer(folder):
        assert "is in use by another process" in complaint(*run("migrate", "data"))
        assert "is in use by another process" in complaint(*run("migrate", "data", "-o", "new"))
    events = (folder / "events.jsonl").read_text(encoding="utf-8")
    lines = events.splitlines()
    place = next(number for number, line in enumerate(lines) if '"correct":false' in line)
    (folder / "events.jsonl").write_text(
        "\n".join([*lines[:place], lines[place].replace('"correct":false', '"correct":true', 1), *lines[place + 1 :]])
        + "\n",
        encoding="utf-8",
    )
    assert "is scored otherwise today (trial" in complaint(*run("migrate", "data"))
    (folder / "events.jsonl").write_text(events.replace('"rt_ms":', '"rt_ms":1', 1), encoding="utf-8")
    assert "differs between its table and its events (row 1, rt_ms)" in complaint(*run("migrate", "data"))
    (folder / "events.jsonl").write_text(events, encoding="utf-8")
    assert files(folder) == before


_KILLED = """
import os, pathlib, shutil, sys
left = int(sys.argv[1])
def dies(function):
    def called(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*args, **kwargs)
    return called
for owner, names in ((os, ("fsync", "replace", "rename", "mkdir", "unlink")), (shutil, ("copy2", "rmtree"))):
    for name in names:
        setattr(owner, name, dies(getattr(owner, name)))
from spanlab.exchange.migration import migrate
print([one.became for one in migrate([sys.argv[2]])])
"""


@pytest.mark.slow
def test_a_kill_anywhere_loses_nothing_and_the_same_command_goes_on(tmp_path: Path) -> None:
    old = GOLDEN / "finished" / PERSON
    before = files(old)
    for step in range(200):
        folder = tmp_path / f"at-{step}" / PERSON
        shutil.copytree(old, folder)
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, str(step), str(folder)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode in (0, 9), done.stderr
        columns = ["trial_id", "answer", "correct", "rt_ms"]
        assert table(folder, columns) == table(old, columns), f"killed at {step}"
        json.loads((folder / "session.json").read_text(encoding="utf-8"))
        migrate([folder])
        check(folder, before, old)
        assert not (folder / ".migrating").exists()
        shutil.rmtree(folder.parent)
        if done.returncode == 0:
            break
    else:
        pytest.fail("it never came to its end")
    assert step > 10
