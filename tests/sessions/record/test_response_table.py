"""The table of answers, with pyarrow and without: the same bytes, the same data frame; what needs pyarrow or
vl-convert says so."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run, complaint
from hypothesis import given
from hypothesis import strategies as st
from session_tools import ended_well

import spanlab
from spanlab.core import doors
from spanlab.sessions.record import table as tables
from spanlab.sessions.record.table import Table

ROOT = Path(__file__).resolve().parents[3]
TYPES = {"text": "string", "whole": "integer", "number": "number", "yes": "boolean"}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(),
        st.none() | st.booleans(),
    ),
    min_size=1,
)


@given(ROWS)
def test_the_csv_says_what_the_table_has(rows: list[tuple[object, ...]]) -> None:
    table = Table(dict(zip(TYPES, map(list, zip(*rows, strict=True)), strict=True)), TYPES)
    header, *lines = csv.reader(io.StringIO(table.csv(), newline=""))
    assert header == list(TYPES)
    read = {"string": str, "integer": int, "number": float, "boolean": lambda text: text == "true"}
    for written, row in zip(lines, rows, strict=True):
        for text, cell, kind in zip(written, row, TYPES.values(), strict=True):
            assert text == "" if cell is None else read[kind](text) == cell or cell != cell


def test_numbers_are_as_short_as_they_can_be() -> None:
    values = [1.0, 1e9, 0.1, 123.456, -2.5, 1e-7]
    assert Table({"rt_ms": values}, {"rt_ms": "number"}).csv().split()[1:] == [
        *("1", "1000000000", "0.1", "123.456", "-2.5", "1e-07")
    ]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extras parquet and figures."""
    there = doors.find_spec
    monkeypatch.setattr(doors, "find_spec", lambda name: None if name in ("pyarrow", "vl_convert") else there(name))
    monkeypatch.setattr(tables, "_arrow", lambda: None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)


def test_without_pyarrow_and_vl_convert_sessions_and_tables_are_the_same(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = spanlab.replay("vsr", agent="capacity:3", trials=12, data=tmp_path / "data").folder
    whole = spanlab.read_responses(folder)
    text = (folder / "responses.csv").read_bytes()
    assert (folder / "responses.parquet").exists()
    request.getfixturevalue("bare")
    shutil.copytree(tmp_path / "data", tmp_path / "bare")
    copy = tmp_path / "bare" / folder.name
    for name in ("responses.csv", "responses.parquet"):
        (copy / name).unlink()
    assert run("resume", "bare")[0] == 0
    assert (copy / "responses.csv").read_bytes() == text
    assert not (copy / "responses.parquet").exists()
    pd.testing.assert_frame_equal(spanlab.read_responses(copy), whole)
    status, _, err = run("compare", "bare", "-o", "report")
    assert status == 0, err
    assert "pip install 'spanlab[figures]'" in err
    assert "figures/vsr_serial_position.svg" in err
    assert "There are no pictures, only tables" in Path("report/report.html").read_text("utf-8")
    assert Path("report/tables/vsr_serial_position.csv").exists()
    assert "a figure needs vl-convert" in complaint(*run("figure", "serial_position", "bare", "-o", "x.svg"))
    Path("answers.parquet").touch()
    assert "needs pyarrow" in complaint(*run("stats", "answers.parquet"))


@pytest.mark.slow
def test_a_bare_installation_is_small_and_works(tmp_path: Path) -> None:
    """What observers and analysis need takes less than 480 MB."""
    python = tmp_path / "bare" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "bare"], check=True)
    copy = tmp_path / "source"
    left_out = {".venv", ".git", "build", "data", "runs", "demo", "report", "spanlab.egg-info"}
    shutil.copytree(ROOT, copy, ignore=lambda folder, _: left_out if Path(folder) == ROOT else {"__pycache__"})
    ended_well(
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-c", copy / "constraints.txt", copy], capture_output=True, text=True
        )
    )
    (site,) = (tmp_path / "bare" / "lib").glob("python*/site-packages")
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 480e6
    assert not {"pyarrow", "vl_convert"} & set(os.listdir(site))
    for words in ("replay vsr --agent ideal --trials 4", "stats data", "compare data -o report"):
        ended_well(
            subprocess.run([python, "-m", "spanlab", *words.split()], capture_output=True, text=True, cwd=tmp_path)
        )
