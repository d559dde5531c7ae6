"""Commands that other packages add through their entry points, and ``python -m spanlab``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import HANGS_S

ENTRY_POINTS = """
[spanlab.commands]
greet = lab_commands:greet
sheets = lab_commands:sheets
run = lab_commands:greet
gone = no_such_module:nothing
"""
MODULE = '''
"""Commands of a laboratory."""

from typing import Annotated

import typer

from spanlab.core.errors import SpanLabError

print("loaded")


def greet(name: str, loudly: Annotated[bool, typer.Option(help="in capitals")] = False) -> None:
    """Greet somebody of the laboratory."""
    if name == "nobody":
        raise SpanLabError("there is nobody to greet")
    print(name.upper() if loudly else name)


sheets = typer.Typer(help="Sheets of the laboratory.")


@sheets.command()
def first() -> None:
    """The first sheet."""
    print("sheet 1")


@sheets.command()
def second() -> None:
    """The second sheet."""
    print("sheet 2")
'''


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    (folder / "lab_commands.py").write_text(MODULE)
    (record := folder / "lab_commands-1.0.dist-info").mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-commands\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def spanlab(packages: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "spanlab", *arguments], capture_output=True, text=True, env=environment, timeout=HANGS_S
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_command_takes_arguments_and_its_mistakes_are_sentences(packages: Path) -> None:
    assert spanlab(packages, "greet", "Ada", "--loudly") == (0, "loaded\nADA\n", NOTE)
    status, _, complaint = spanlab(packages, "greet", "nobody")
    assert (status, complaint.splitlines()[-1]) == (1, "spanlab: there is nobody to greet")
    assert "spanlab greet --help" in spanlab(packages, "greet")[2]


def test_a_group_of_commands(packages: Path) -> None:
    assert spanlab(packages, "sheets", "second")[:2] == (0, "loaded\nsheet 2\n")


@pytest.mark.slow
def test_help_lists_them_and_names_what_cannot_be_loaded(packages: Path) -> None:
    status, page, notes = spanlab(packages, "--help")
    assert status == 0
    lines = {line.split()[0]: line for line in page.splitlines() if line.startswith("  ")}
    assert "Greet somebody of the laboratory." in lines["greet"]
    assert "Sheets of the laboratory." in lines["sheets"]
    assert "Cannot be loaded: No module named 'no_such_module'" in lines["gone"]
    assert "Run a session with a person" in lines["run"]  # nobody takes the name of a command of SpanLab's
    assert notes == NOTE


def test_one_that_cannot_be_loaded_says_so_and_the_others_work(packages: Path) -> None:
    status, _, complaint = spanlab(packages, "gone")
    assert status == 1
    assert "the command 'gone' of lab-commands cannot be loaded (No module named 'no_such_module')" in complaint
    assert "Traceback" not in complaint


def test_nothing_of_others_is_loaded_for_a_command_of_spanlab(packages: Path) -> None:
    assert spanlab(packages, "--version") == (0, spanlab(Path("nowhere"), "--version")[1], "")


def test_a_misspelt_one_is_suggested(packages: Path) -> None:
    assert "Did you mean 'greet'" in spanlab(packages, "gret")[2]


NOTE = "NOTE the command 'run' of lab-commands is left out: there is one of this name already\n"
