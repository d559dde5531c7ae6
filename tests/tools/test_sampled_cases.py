"""Sampled tests: which of their cases the quick part tries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
CONFTEST = """
import pytest
from sampled_cases import mark_others_slow

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_others_slow(items)

def pytest_configure(config):
    config.addinivalue_line("markers", "sampled(count)")
    config.addinivalue_line("markers", "slow")
"""
TESTS = """
import pytest

@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", range(6))
@pytest.mark.parametrize("b", range(5))
def test_grid(a, b): ...

def test_other(): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {HELPERS}\n")
    return tmp_path


def collected(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--collect-only", *arguments]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return [line for line in told.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_a_sample_has_every_value_and_is_the_same_each_time(folder: Path) -> None:
    quick = collected(folder, "-m", "not slow")
    assert collected(folder, "-m", "not slow") == quick
    grid = [name for name in quick if "test_grid" in name]
    assert len(grid) == 6
    assert {name[-2] for name in grid} == set("012345")
    assert {name[-4] for name in grid} == set("01234")
    assert len(quick) == 7


@pytest.mark.slow
def test_no_case_is_lost(folder: Path) -> None:
    assert len(collected(folder, "-m", "slow")) == 24
    assert len(collected(folder)) == 31


@pytest.mark.slow
def test_a_case_that_is_named_is_run(folder: Path) -> None:
    for name in ("test_grid[0-0]", "test_grid[4-5]"):
        assert len(collected(folder, "-m", "not slow", f"test_cases.py::{name}")) == 1
