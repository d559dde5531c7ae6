"""The set-up says what is missing in one sentence. (That it works is shown by the environment in which these tests run.)"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the set-up is for Debian and Ubuntu")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that the set-up reads, somewhere else."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "scripts/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)


def test_no_fitting_python(copy: Path) -> None:
    old = copy / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = make(copy, "demo", PYTHON=str(old))
    assert done.returncode != 0
    assert "setup: no Python 3.11 or 3.12" in done.stderr
    assert "PYTHON=/path/to/python3.12 make setup" in done.stderr
    assert not (copy / ".venv").exists()


@pytest.mark.slow
def test_no_network(copy: Path) -> None:
    """pip's own words, then ours; and nothing that a second run would take for a finished set-up."""
    done = make(copy, "setup", PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode != 0
    assert "setup: the packages could not be installed" in done.stderr
    assert not (copy / ".venv" / ".set-up").exists()


def test_help_names_every_target(copy: Path) -> None:
    targets = {line.split(":")[0] for line in (copy / "Makefile").read_text().splitlines() if line and line[0].isalpha() and ":" in line and "=" not in line}
    shown = make(copy, "help").stdout
    assert {f"make {target}" for target in targets - {"help"}} <= {word for line in shown.splitlines() for word in _phrases(line)}


def _phrases(line: str) -> list[str]:
    words = line.split()
    return [f"{a} {b}" for a, b in itertools.pairwise(words)]
