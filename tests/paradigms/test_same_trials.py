"""A trial is the same in every process, with every numpy, forever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from golden_trials import FILE, SEEDS
from session_tools import ended_well

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = TESTS / "helpers" / "golden_trials.py"
OLD_NUMPY = "2.0.2"


Fingerprints = dict[str, dict[str, str]]


def golden() -> Fingerprints:
    return json.loads(FILE.read_text(encoding="utf-8"))


def run(python: Path | str, *arguments: str, **environment: str) -> Fingerprints:
    done = ended_well(
        subprocess.run([python, PROGRAM, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    )
    return json.loads(done)


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_trials_are_the_golden_ones_whatever_the_hash_seed(hash_seed: str) -> None:
    the_same(run(sys.executable, PYTHONHASHSEED=hash_seed), golden())


def test_trials_of_the_last_seed_are_the_golden_ones() -> None:
    last = {
        name: {trial: one for trial, one in trials.items() if f" {SEEDS[-1]} " in trial}
        for name, trials in golden().items()
    }
    assert all(last.values())
    the_same(run(sys.executable, "--last", PYTHONHASHSEED="4242"), last)


def the_same(found: Fingerprints, wanted: Fingerprints) -> None:
    assert set(found) == set(wanted)
    for paradigm, expected in wanted.items():
        changed = {trial for trial in expected if found[paradigm].get(trial) != expected[trial]}
        assert not changed, (
            f"{paradigm}: {len(changed)} of {len(expected)} trials changed; if that is meant, raise the paradigm's"
            " version"
        )


def test_no_two_golden_trials_are_the_same() -> None:
    for trials in golden().values():
        assert len(set(trials.values())) == len(trials)


@pytest.mark.slow
def test_trials_are_the_golden_ones_with_another_numpy(tmp_path: Path) -> None:
    """A second environment, which has only what the compiler needs and an older numpy."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {**os.environ, "HOME": os.environ["REAL_HOME"]}
    needs = [f"numpy=={OLD_NUMPY}", "pyyaml", "pydantic", "pillow<12", "lazy_loader"]
    pip = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *needs], capture_output=True, text=True, env=environment
    )
    if pip.returncode:
        pytest.skip(f"packages for the second environment could not be installed: {pip.stderr.splitlines()[-1:]}")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "spanlab").symlink_to(TESTS.parent, target_is_directory=True)
    version = subprocess.run(
        [python, "-c", "import numpy; print(numpy.__version__)"], capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == OLD_NUMPY
    assert run(python, PYTHONPATH=str(tmp_path / "path")) == golden()
