"""Tables in packed files: a small one may hold more than the memory, by mistake or on purpose."""

from __future__ import annotations

import zipfile
from pathlib import Path

#: what any file may hold, and what one may hold for each of its bytes; a workbook is packed to a sixtieth at most
_ALWAYS_CELLS, _CELLS_PER_BYTE = 50_000_000, 100
_ALWAYS_BYTES, _BYTES_PER_BYTE = 500_000_000, 60


def refuse_growth(file: Path, cells: int) -> None:
    """Refuse a table that is far larger than its file.

    Raises
    ------
    OSError
        when it is.
    """
    if cells > _ALWAYS_CELLS and cells > _CELLS_PER_BYTE * file.stat().st_size:
        raise OSError(f"it would grow to {cells:,} cells or more")


def sheets(file: Path) -> dict[str, list[list[object]]]:
    """The sheets of a workbook by their names, each as its rows in which something stands.

    Raises
    ------
    OSError
        when it cannot be read, or is far larger than its file.
    """
    from openpyxl import load_workbook

    found, cells = dict[str, list[list[object]]](), 0
    try:
        with zipfile.ZipFile(file) as packed:
            grown = sum(info.file_size for info in packed.infolist())
        if grown > max(_ALWAYS_BYTES, _BYTES_PER_BYTE * file.stat().st_size):
            raise OSError(f"it would grow to {grown:,} bytes")
        book = load_workbook(file, read_only=True, data_only=True)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # which say where cells may stand, and not where some do
            rows = found[sheet.title] = []
            for row in sheet.iter_rows(values_only=True):
                cells += len(row)
                refuse_growth(file, cells)
                if any(cell is not None for cell in row):
                    rows.append(list(row))
        book.close()
    except OSError:
        raise
    except Exception as error:  # openpyxl raises whatever its archive and its XML raise
        raise OSError(f"it is no workbook: {(str(error) or type(error).__name__).splitlines()[0]}") from None
    return found
