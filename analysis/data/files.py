"""Files of tables as programs write them: text with any delimiter and encoding, workbooks, JSON,
E-Prime's logs, Parquet. What comes out are columns of text (of Parquet: of its types), under the
names that stand there; what they mean is decided in :mod:`.door`.

A spreadsheet that opens a table and saves it may change it without a word. What can be undone is
undone; what cannot is reported as an error, because a table that is half understood gives a wrong
mean.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import union_categoricals

from ...core.atomic_files import ordinary
from ...core.doors import need
from ...core.errors import SpanLabError
from ...core.packed_tables import refuse_growth, sheets

#: Endings of tables in text files.
TEXT = (".csv", ".tsv", ".dat", ".txt")
#: Endings of files that may be tables.
TABLES = (".parquet", *TEXT, ".xlsx", ".json")
#: Endings of spreadsheets that are not read, so that it can be said.
UNREAD = (".xls", ".ods", ".numbers", ".xlsb")
#: A cell of a workbook that is a date begins so.
DATE = "\0"
#: What spreadsheets in Western Europe write where nobody asks for UTF-8.
WINDOWS = "cp1252"
_DELIMITERS = (",", ";", "\t", "|")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NUMBER = re.compile(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*|\s*(NA|NaN|nan|n/a)?\s*")

#: So many rows are text at once; then texts that repeat are kept once.
_ROWS = 100_000

Pick = Callable[[Sequence[str]], Sequence[str]]


def read_columns(
    file: Path, names: Sequence[str] = (), skip: int = 0, sheet: str = "", pick: Pick = list
) -> pd.DataFrame:
    """The columns of a table in a file.

    Parameters
    ----------
    names : of its columns, where the file has no header
    skip : lines before the header
    sheet : of a workbook; its only one with several columns when not given
    pick : of all columns, those that are wanted

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    ending = ordinary(file).suffix.lower()
    try:
        if ending == ".parquet":
            return _parquet(file, pick)
        if ending == ".xlsx":
            return _of_rows(file, _sheet(file, sheet)[skip:], names, pick)
        encoding = _encoding(file)
        with file.open(encoding=encoding) as opened:
            start = opened.read(4_096).lstrip()
        if ending == ".json" or (ending == ".txt" and start[:1] in ("[", "{")):
            return _of_objects(file, _objects(file, file.read_text(encoding=encoding)), pick)
        if start.startswith("*** Header Start ***"):
            return _of_objects(file, _frames(file.read_text(encoding=encoding)), pick)
        return _text(file, encoding, names, skip, pick)
    except UnicodeError:
        raise SpanLabError(
            f"{file} cannot be read as a table: it is not text in UTF-8 or Windows-1252. Save it again as 'CSV UTF-8',"
            " or as a workbook (.xlsx)"
        ) from None
    except FileNotFoundError:
        raise SpanLabError(f"{file} does not exist") from None
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise SpanLabError(
            f"{file} cannot be read as a table: {(str(error) or 'it is empty').splitlines()[0]}"
        ) from None


def _parquet(file: Path, pick: Pick) -> pd.DataFrame:
    need("parquet", "pyarrow", f"reading {file.name}")
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file)
        wanted = [*pick(schema.names)]
        texts = [name for name in wanted if pyarrow.types.is_string(schema.field(name).type)]
        # column by column: of a long table, all at once take twice the memory
        with pyarrow.parquet.ParquetFile(file, read_dictionary=texts, pre_buffer=False) as opened:
            refuse_growth(file, opened.metadata.num_rows * len(wanted))
            columns = {name: opened.read([name]).unify_dictionaries().to_pandas()[name] for name in wanted}
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from None
    pyarrow.default_memory_pool().release_unused()  # it keeps what it has freed
    return pd.DataFrame(columns, copy=False)


def _encoding(file: Path) -> str:
    with file.open("rb") as opened:
        start = opened.read(65_536)
        marked = next((name for mark, name in _MARKS if start.startswith(mark)), "")
        if marked or start.count(b"\0") >= len(start) / 4:
            return marked or ("utf-16-be" if start[:1] == b"\0" else "utf-16-le")
        opened.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while part := opened.read(1_000_000):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "utf-8" if re.search(rb"[\x00-\x08\x0e-\x1f]", start) else WINDOWS
    return "utf-8"


def _text(file: Path, encoding: str, names: Sequence[str], skip: int, pick: Pick) -> pd.DataFrame:
    with file.open(encoding=encoding, newline=None) as lines:
        first = lines.readline()
        if marked := re.fullmatch(r'"?sep=(.)"?;*,*', first.strip(), re.IGNORECASE):
            skip, first = skip + 1, lines.readline()
        for _ in range(skip - bool(marked)):
            first = lines.readline()
        while first and (not first.strip() or first.startswith("#")):
            skip, first = skip + 1, lines.readline()
        second = lines.readline()
        titled = not names and not any(one in first for one in _DELIMITERS)
        if titled and any(second.count(one) > 1 for one in _DELIMITERS):  # such as the name of the data in E-Prime
            skip, first, second = skip + 1, second, lines.readline()
        while second and not second.strip():
            skip, second = skip + 1, lines.readline()
    bare = re.sub(r'"[^"]*"', "", first)
    delimiter = marked[1] if marked else max(_DELIMITERS, key=bare.count)
    spaced = not marked and not bare.count(delimiter)
    options: dict[str, Any] = {"sep": r"\s+"} if spaced else {"sep": delimiter}

    def cells(line: str) -> list[str]:
        return (
            [*re.findall(r'"[^"]*"|\S+', line)]
            if spaced
            else next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
        )

    header = [cell.strip().strip('"') for cell in cells(first)]
    if names:
        many = len(header)
        header = [
            *names,
            *(f"column {number}" for number in range(len(names) + 1, many + bool(cells(first)[-1].strip()))),
        ]
    elif sum(bool(_NUMBER.fullmatch(cell)) for cell in header) > len(header) / 2:
        raise SpanLabError(
            f"{file} has no header: its first line holds numbers. Name its {len(header)} columns under 'names' in a"
            f" recipe, which spanlab import table {file} --suggest begins"
        )
    else:
        skip, first = skip + 1, second
        if len(cells(second)) == len(header) + 1 and cells(second)[-1].strip():
            header = ["row", *header]  # as R writes the names of rows
    _refuse_twins(file, header)
    columns = [name or f"unnamed {at}" for at, name in enumerate(header)]
    wanted = [*pick([name for name in header if name])]
    if not first.strip():
        return pd.DataFrame(columns=wanted, dtype="str")
    parts = pd.read_csv(
        file,
        encoding=encoding,
        skiprows=skip,
        header=None,
        names=columns,
        usecols=[columns.index(name) for name in wanted],
        index_col=False,
        dtype="str",
        keep_default_na=False,
        na_values=[""],
        chunksize=_ROWS,
        **options,
    )
    once = [{name: pd.Categorical(part[name]) for name in wanted} for part in parts]
    table = pd.DataFrame({name: union_categoricals([part[name] for part in once]) for name in wanted})
    table.attrs |= {"delimiter": delimiter, "encoding": encoding}
    return table


def _as_text(column: pd.Series) -> pd.Series:
    """A column of categories whose names are texts."""
    return column.cat.rename_categories([str(name) for name in column.cat.categories])


def _refuse_twins(file: Path, header: Sequence[str]) -> None:
    if twice := sorted({name for name in header if name and list(header).count(name) > 1}):
        raise SpanLabError(f"{file} has several columns called {', '.join(twice)}: it is unclear which one counts")


def _sheet(file: Path, wanted: str) -> Sequence[Sequence[object]]:
    """The rows of the sheet of a workbook that is a table."""
    full = sheets(file)
    tables = [title for title, rows in full.items() if len(rows) > 1 and sum(cell is not None for cell in rows[0]) > 1]
    if wanted and wanted not in full:
        raise SpanLabError(f"{file} has no sheet '{wanted}'; it has {', '.join(full)}")
    if not wanted and len(tables) > 1:
        raise SpanLabError(
            f"{file} has several sheets that may be the table ({', '.join(tables)}): name one under 'sheet' in a recipe"
        )
    if not wanted and not tables:
        raise SpanLabError(f"{file}: no sheet is a table with names of columns in its first row")
    return full[wanted or tables[0]]


def _of_rows(file: Path, rows: Sequence[Sequence[object]], names: Sequence[str], pick: Pick) -> pd.DataFrame:
    if not rows:
        raise ValueError("there is nothing in it, or in the sheet that is named")
    header = [*names] or ["" if cell is None else str(cell).strip() for cell in rows[0]]
    _refuse_twins(file, header)
    cells = [[_cell(cell) for cell in row] for row in (rows if names else rows[1:])]
    wanted = pick([name for name in header if name])
    at = {name: header.index(name) for name in wanted}
    columns = {name: [row[at[name]] if at[name] < len(row) else None for row in cells] for name in wanted}
    return pd.DataFrame({name: _as_text(pd.Series(values, dtype="category")) for name, values in columns.items()})


def _cell(value: object) -> str | None:
    """A value of a workbook or of JSON as text; None where there is none."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return f"{DATE}{value}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def _objects(file: Path, text: str) -> list[Mapping[str, Any]]:
    """The objects of a JSON file: a list of them, lists in a list, one in each line, or columns."""
    try:
        whole: Any = json.loads(text)
    except ValueError:
        whole = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(whole, dict):
        lists = {str(key): value for key, value in whole.items() if isinstance(value, list)}
        within = next((value for value in lists.values() if value and isinstance(value[0], dict)), None)
        if {"columns", "data"} <= {*lists}:
            within = [dict(zip(map(str, lists["columns"]), row, strict=True)) for row in lists["data"]]
        elif within is None and len({len(value) for value in lists.values()}) == 1:
            within = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        elif whole and all(isinstance(value, dict) for value in whole.values()):
            columns = pd.DataFrame(whole)  # of columns, or of rows under their numbers
            within = (columns.T if all(map(str.isdigit, whole)) else columns).to_dict("records")
        whole = [whole] if within is None else within
    rows = [one for part in whole for one in (part if isinstance(part, list) else [part])]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise SpanLabError(f"{file} cannot be read as a table: expected a list of trials, each an object")
    return rows


def _frames(text: str) -> list[Mapping[str, Any]]:
    """The trials of E-Prime's log: its innermost frames, with what its header says."""
    header: dict[str, str] = {}
    frames: list[tuple[int, dict[str, str]]] = []
    level, inside = 0, header
    for line in map(str.strip, text.splitlines()):
        key, colon, value = line.partition(":")
        if line == "*** LogFrame Start ***":
            inside = {}
            frames.append((level, inside))
        elif line in ("*** Header End ***", "*** LogFrame End ***"):
            inside = {}
        elif colon and key == "Level":
            level = int(value)
        elif colon:
            inside[key] = value.strip()
    deepest = max((depth for depth, _ in frames), default=0)
    return [{**header, **frame} for depth, frame in frames if depth == deepest]


def _of_objects(file: Path, rows: Iterable[Mapping[str, Any]], pick: Pick) -> pd.DataFrame:
    rows = [*rows]
    header = list(dict.fromkeys(name for row in rows for name in row))
    return _of_rows(file, [header, *([row.get(name) for name in header] for row in rows)], (), pick)
