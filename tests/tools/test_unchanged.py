"""A check that is not repeated on files that have not changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from effort import HANGS_S

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "unchanged.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "status").write_text("0")
    return tmp_path


def checked(folder: Path, *more: str) -> tuple[int, int]:
    """Exit status, and how often the command has run in all."""
    command = "echo >>runs; exit $(cat status)"
    arguments = [sys.executable, str(SCRIPT), "stamp", "*.py", "--", "sh", "-c", command, *more]
    status = subprocess.run(arguments, cwd=folder, capture_output=True, timeout=HANGS_S).returncode
    return status, len((folder / "runs").read_text())


def test_what_passed_is_not_run_again_until_a_file_changes(folder: Path) -> None:
    assert checked(folder) == (0, 1)
    assert checked(folder) == (0, 1)
    (folder / "a.py").write_text("2")
    assert checked(folder) == (0, 2)
    (folder / "b.py").write_text("new, and not in the index")
    assert checked(folder) == (0, 3)
    (folder / "b.py").unlink()
    assert checked(folder) == (0, 4)
    assert checked(folder, "another command") == (0, 5)


def test_what_failed_is_run_again(folder: Path) -> None:
    (folder / "status").write_text("1")
    assert checked(folder) == (1, 1)
    assert checked(folder) == (1, 2)
    (folder / "status").write_text("0")
    assert checked(folder) == (0, 3)
    assert checked(folder) == (0, 3)


def test_without_git_it_is_always_run(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("0")
    assert checked(tmp_path) == (0, 1)
    assert checked(tmp_path) == (0, 2)
