"""Names and texts that are hostile, disks that are full or read-only, and several writers in one
folder: nothing outside, nothing half, nothing lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, complaint
from session_tools import one_thread, spanlab

from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import find_sessions

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sessions" / "finished"
SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"../../outside/{SCRIPT}\"'&$(touch outside)=1+1"
FORMATS = ("bids", "psychds", "csv", "psych101", "chat-jsonl")


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Sessions of a person and of a machine in which every name and text is hostile."""
    for name in ("vsr-p01-s3", "vsr-chat-scripted-s31"):
        folder = tmp_path / "data" / name
        shutil.copytree(GOLDEN / name, folder)
        info = json.loads((folder / "session.json").read_text(encoding="utf-8"))
        info |= {
            "session": HOSTILE,
            "label": HOSTILE,
            "paradigm_title": HOSTILE,
            "instructions": HOSTILE,
            "paradigm_source": HOSTILE,
            "design": HOSTILE,
        }
        info |= {"participant": HOSTILE} if info["participant"] else {"agent": f"chat:{HOSTILE}"}
        (folder / "session.json").write_text(json.dumps(info), encoding="utf-8")
        for table in folder.glob("responses.*"):
            table.unlink()
        transcript = folder / "transcripts.jsonl"
        if transcript.exists():
            text = transcript.read_text(encoding="utf-8")
            transcript.write_text(
                re.sub(r'"content":"[^"]*"', lambda _: f'"content":{json.dumps(HOSTILE)}', text, count=2),
                encoding="utf-8",
            )
    return tmp_path / "data"


def test_hostile_names_stay_inside_the_data_set(tmp_path: Path, run: Run, hostile: Path) -> None:
    before = everything(tmp_path)
    for name in FORMATS:
        status, _, err = run(
            "export",
            name,
            hostile,
            f"out-{name}",
            *(["--machines"] if name in ("psych101", "chat-jsonl") else []),
        )
        assert status == 0, err
    new = everything(tmp_path) - before
    assert {name.partition("/")[0] for name in new} == {f"out-{name}" for name in FORMATS}
    assert not [name for name in new if re.search(r"\.\.|[<>\"'&$=;|]", name)]
    assert not (tmp_path / "outside").exists()
    status, _, err = run("import", "table", "out-bids", "-o", "back.csv")
    assert (status, "Traceback" in err) == (0, False), err
    assert everything(tmp_path) - before - new == {"back.csv"}


@pytest.mark.slow
def test_hostile_names_run_no_script_in_pages(tmp_path: Path, run: Run, hostile: Path) -> None:
    before = everything(tmp_path)
    assert run("transcript", hostile / "vsr-chat-scripted-s31", "-o", "talk.html")[0] == 0
    status, _, err = run("compare", hostile, "-o", "report")
    assert status == 0, err
    for page in (tmp_path / "talk.html", tmp_path / "report" / "report.html"):
        assert "<script>alert" not in page.read_text(encoding="utf-8"), page
    assert {name.partition("/")[0] for name in everything(tmp_path) - before} == {"talk.html", "report"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are those of Unix")
@pytest.mark.parametrize(
    "what", ["csv", *(pytest.param(one, marks=pytest.mark.slow) for one in ("bids", "psych101", "import"))]
)
def test_a_full_disk_leaves_nothing_half(tmp_path: Path, run: Run, what: str) -> None:
    """The largest size of a file stands for the disk."""
    resource = pytest.importorskip("resource")
    session = tmp_path / "data" / "vsr-p01-s3"
    shutil.copytree(GOLDEN / "vsr-p01-s3", session)
    assert run("export", "bids", session, "set")[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    arguments = ("import", "table", "set", "-o", "back.csv") if what == "import" else ("export", what, "data", "out")
    done = spanlab(*arguments, cwd=tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"
    } == before
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "back.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounts a disk")
def test_a_disk_that_is_read_only_is_read_and_never_written(tmp_path: Path, run: Run) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(GOLDEN / "vsr-p01-s3", tmp_path / "source" / "vsr-p01-s3")
    disk.mkdir()
    if subprocess.run(["mount", "--bind", "-o", "ro", tmp_path / "source", disk], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        if (
            os.statvfs(disk).f_flag & os.ST_RDONLY == 0
            and subprocess.run(["mount", "-o", "remount,ro,bind", disk], capture_output=True).returncode
        ):
            pytest.skip("mounting is not allowed here")
        for name in FORMATS:
            assert run("export", name, disk, f"out-{name}")[0] == 0
            assert "Read-only file system" in complaint(*run("export", name, disk, disk / f"out-{name}"))
        assert "Read-only file system" in complaint(*run("import", "table", "out-bids", "-o", disk / "back.csv"))
        assert "Read-only file system" in complaint(
            *run("replay", "vsr", "--agent", "chance", "--trials", "2", "--data", disk / "data")
        )
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_several_writers_in_one_data_folder_lose_nothing(tmp_path: Path, run: Run) -> None:
    """Three programs at once take the same session."""
    for name in ("vsr-p01-s3", "cd-chance-s12"):
        shutil.copytree(GOLDEN / name, tmp_path / "data" / name)
    replay = ("replay", "vsr", "--agent", "chance", "--trials", "20", "--data", "data")
    lines = [
        *[replay] * 3,
    ]
    command = [sys.executable, "-m", "spanlab"]
    environment = {**os.environ, **one_thread()}
    running = [
        subprocess.Popen(
            [*command, *line], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for line in lines
    ]
    for process in running:
        _, err = process.communicate()
        assert process.returncode == 0, err
    folders = find_sessions([tmp_path / "data"])
    names = sorted(folder.name for folder in folders)
    assert names[:1] == ["cd-chance-s12"]
    assert [name for name in names if "chance-s1" in name and name.startswith("vsr")] == [
        "vsr-chance-s1",
        "vsr-chance-s1-2",
        "vsr-chance-s1-3",
    ]
    tables = [
        read_responses(folder)[["trial_id", "answer", "correct"]]
        for folder in folders
        if folder.name.startswith("vsr-chance-s1")
    ]
    assert all(table.equals(tables[0]) for table in tables)
    assert all(read_session(folder)["session"] == folder.name for folder in folders)
    assert not [path for path in (tmp_path / "data").iterdir() if path.name.startswith(".")]
