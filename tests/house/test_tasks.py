"""Whoever has no make has the same tasks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tasks

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_every_target_of_make_is_a_task() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert {*tasks.TASKS, "help"} == set(targets.split())
    assert tasks.__doc__ is not None
    for target in targets.split():
        assert re.search(rf"(^|; ){target}\b", tasks.__doc__, re.MULTILINE), target


@pytest.mark.parametrize("task", ["docs", "bench", "measure", "test-servers", "style"])
def test_a_task_runs_what_make_runs(task: str) -> None:
    written = MAKEFILE.replace("$(PYTEST) ", ".venv/bin/python -m pytest ")
    recipe = re.search(rf"^{task}:.*\n((?:\t.*\n)+)", written, re.MULTILINE)
    assert recipe is not None
    ran = re.findall(r"\.venv/bin/(?!python scripts/unchanged)([^\n$]*[^\n$ ])", recipe[1])
    assert [" ".join(words) for words in tasks.TASKS[task]] == ran


@pytest.mark.skipif(os.name == "nt", reason="the program that stands for Python is a script")
def test_a_task_hands_its_arguments_on_and_clean_removes_what_was_made(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "tasks.py", tmp_path / "scripts")
    for folder in (".venv/bin", "core/__pycache__", "data", "spanlab.egg-info"):
        (tmp_path / folder).mkdir(parents=True)
    (python := tmp_path / ".venv" / "bin" / "python").write_text('#!/bin/sh\necho "$@" >> ran\n')
    python.chmod(0o755)

    def task(*words: str) -> int:
        return subprocess.run([sys.executable, "scripts/tasks.py", *words], cwd=tmp_path, check=False).returncode

    assert task("measure", ".1") == 0
    assert (tmp_path / "ran").read_text().splitlines()[-1] == "benchmarks/coverage.py .1"
    python.write_text("#!/bin/sh\nexit 3\n")
    assert task("measure") == 3
    assert task("clean") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["core", "data", "ran", "scripts"]
    assert list((tmp_path / "core").iterdir()) == []


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "least", "most"), [("soak", 20, 999), ("slow and not soak", 12, 12), ("not slow", 0, 0)]
)
def test_cases_that_a_long_test_leaves_to_the_soaks_are_there_and_nowhere_else(
    part: str, least: int, most: int
) -> None:
    file = ROOT / "tests" / "paradigms" / "test_trials_independence.py"
    listed = subprocess.check_output([sys.executable, "-m", "pytest", "--co", "-q", "-m", part, file], text=True)
    assert least <= listed.count("every_paradigm_know_nothing_of_one_another[") <= most
