"""Whoever has no make has the same tasks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: what make does besides: it removes what was made, and installs chat servers that are compiled
OF_MAKE_ALONE = {"help", "clean", "test-servers", "style"}


def _tasks() -> str:
    return subprocess.run(
        [sys.executable, "scripts/tasks.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_every_target_of_make_is_a_task() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    there = _tasks()
    for target in set(targets.split()) - OF_MAKE_ALONE:
        assert re.search(rf"(^|; ){target}\b", there, re.MULTILINE), target


def test_an_unknown_task_is_refused() -> None:
    ended = subprocess.run(
        [sys.executable, "scripts/tasks.py", "tidy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "setup" in ended.stdout


@pytest.mark.parametrize(("version", "said"), [("0.2.0", "New."), ("0.1.0", "Old.")])
def test_the_notes_of_a_release_are_its_section(version: str, said: str) -> None:
    from release import section

    assert section("# Changelog\n\n## 0.2.0\n\nNew.\n\n## 0.1.0\n\nOld.\n", version) == said


def test_a_release_without_notes_ends() -> None:
    from release import section

    with pytest.raises(SystemExit, match=r"no section '## 0\.3\.0'"):
        section("# Changelog\n\n## 0.2.0\n\nNew.\n", "0.3.0")
