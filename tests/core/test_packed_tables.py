"""Small files that would grow to more than the memory holds."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook

from spanlab import read_responses, replay
from spanlab.analysis.data.files import read_columns
from spanlab.analysis.data.loading import load as load_data
from spanlab.core.errors import SpanLabError
from spanlab.core.packed_tables import sheets

#: the end of a workbook's sheet
END = b"</sheetData>"


def workbook(file: Path, cells: bytes, dimension: bytes = b"A1:C2") -> Path:
    """A workbook of one row, with further rows as somebody else may have written them."""
    pd.DataFrame({"participant": ["p1"], "set_size": [2], "correct": [1]}).to_excel(file, index=False)
    with zipfile.ZipFile(file) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content.replace(b"A1:C2", dimension).replace(END, cells + END))
    return file


def far(file: Path) -> None:
    """Sixty cells, each after sixteen thousand without content."""
    workbook(file, b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (at, at) for at in range(3, 63)))


def packed(file: Path) -> None:
    """A text of one letter."""
    workbook(file, b'<row r="3"><c r="A3" t="inlineStr"><is><t>%b</t></is></c></row>' % (b"x" * 2_000_000))


def constant(file: Path) -> None:
    """Columns of one number."""
    pd.DataFrame({name: np.zeros(1_000_000) for name in ("set_size", "correct")}).to_parquet(file)


def test_a_workbook_is_as_large_as_its_cells(tmp_path: Path) -> None:
    """And not as what it says of its size, such as where whole columns have a format."""
    rows = sheets(
        workbook(tmp_path / "x.xlsx", b'<row r="1048576"><c r="A1048576"><v>7</v></c></row>', b"A1:XFD1048576")
    )["Sheet1"]
    assert rows == [["participant", "set_size", "correct"], ["p1", 2, 1], [7]]


def test_a_sheet_without_rows_is_told(tmp_path: Path) -> None:
    Workbook().save(tmp_path / "x.xlsx")
    with pytest.raises(SpanLabError, match="there is nothing in it"):
        read_columns(tmp_path / "x.xlsx", sheet="Sheet")


@pytest.mark.parametrize(
    ("ending", "written", "why"), [(".xlsx", far, "cells"), (".xlsx", packed, "bytes"), (".parquet", constant, "cells")]
)
def test_a_small_file_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, written: Callable[[Path], None], why: str
) -> None:
    file = tmp_path / f"table{ending}"
    written(file)
    monkeypatch.setattr("spanlab.core.packed_tables._ALWAYS_CELLS", 500_000)
    monkeypatch.setattr("spanlab.core.packed_tables._ALWAYS_BYTES", 1_000_000)
    with pytest.raises(SpanLabError, match=f"it would grow to [0-9,]+ {why}"):
        load_data([file])


def test_the_table_of_a_session_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = replay("vsr", "chance", trials=1, data=tmp_path).folder
    constant(session / "responses.parquet")
    monkeypatch.setattr("spanlab.core.packed_tables._ALWAYS_CELLS", 500_000)
    with pytest.raises(SpanLabError, match="would grow to 2,000,000 cells"):
        read_responses(session)
