"""Response tables as spreadsheets write them (byte order marks, UTF-16, semicolons, decimal commas,
WAHR and FAUX, workbooks): read correctly, or refused.

A spreadsheet that opens a table and saves it may change it without a word. What can be undone is
undone here; what cannot (identifiers that became numbers, values that became dates) is reported as
an error, because a table that is half understood gives a wrong mean.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow
import pyarrow.csv

from ...core.errors import SpanLabError
from ...sessions.record.columns import FURTHER
from .coding import NO, YES
from .column_map import AS_WRITTEN, ColumnMap, hint
from .scoring import NEEDED, NUMBERS, YES_NO

#: Endings of tables in text files and workbooks.
TEXT, WORKBOOK = (".csv", ".tsv"), ".xlsx"
#: Endings of spreadsheets that are not read, so that it can be said.
UNREAD = (".xls", ".ods", ".numbers", ".xlsb")
_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
_POINT = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
#: How spreadsheets write what was recorded as true or false; yes, no, 0 and 1 may be levels of a
#: factor.
_TRUTHS = (YES | NO) - {"yes", "no", "1", "0", "1.0", "0.0"}
#: What a spreadsheet makes of an identifier such as 12e5, or of one of sixteen digits.
_POWER = re.compile(r"\d([.,]\d+)?[eE][-+]\d+")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_text(
    file: Path,
    pick: Callable[[Sequence[str]], Sequence[str]],
    texts: Callable[[str], bool],
    columns: ColumnMap = AS_WRITTEN,
) -> pyarrow.Table:
    """A table in a text file or a workbook.

    Parameters
    ----------
    columns : the names of its columns in the response table
    pick : of all columns, those that are wanted
    texts : whether a column holds texts, in which 007 is not a number

    Raises
    ------
    SpanLabError
        when it cannot be read, or a spreadsheet has changed it in a way that cannot be undone.
    """
    source, delimiter, skip, encoding = _workbook(file, columns) if file.suffix.lower() == WORKBOOK else _text(file)
    names = columns.renamed(file, _header(source, skip, delimiter))
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise SpanLabError(f"{file} has several columns called {', '.join(twice)}: it is unclear which one counts")
    read = list(pick(names))
    plain = delimiter == "," and file.suffix.lower() != WORKBOOK
    kinds = {name: pyarrow.string() for name in names if not plain or texts(name)}
    table = pyarrow.csv.read_csv(
        source.whole(),
        read_options=pyarrow.csv.ReadOptions(
            encoding=encoding,
            column_names=[name or f"unnamed {at}" for at, name in enumerate(names)],
            skip_rows=skip + 1,
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=not plain),
        convert_options=pyarrow.csv.ConvertOptions(include_columns=read, column_types=kinds, strings_can_be_null=True),
    )
    return _mended(file, table, everywhere=delimiter != ",")


def header_of(file: Path, columns: ColumnMap = AS_WRITTEN) -> list[str]:
    """The names of the columns of a table in a text file or a workbook, as they stand there.

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    source, delimiter, skip, _ = _workbook(file, columns) if file.suffix.lower() == WORKBOOK else _text(file)
    return _header(source, skip, delimiter)


def _header(source: _Source, skip: int, delimiter: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([source.readline(skip)], delimiter=delimiter), [])]


class _Source:
    """A file, or a text that stands for one."""

    def __init__(self, file: Path | None = None, text: str = "", encoding: str = "utf-8") -> None:
        self.file, self.text, self.encoding = file, text, encoding

    def readline(self, skip: int) -> str:
        lines = (
            self.file.open(encoding=self.encoding, newline=None) if self.file is not None else io.StringIO(self.text)
        )
        with lines:
            for _ in range(skip):
                lines.readline()
            return lines.readline().rstrip("\r\n")

    def whole(self) -> Path | io.BytesIO:
        return self.file if self.file is not None else io.BytesIO(self.text.encode("utf-8"))


def _text(file: Path) -> tuple[_Source, str, int, str]:
    """A text file, its delimiter, how many lines stand before its header, and its encoding."""
    with file.open("rb") as opened:
        start = opened.read(65_536)
    encoding = next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in start:
        encoding = "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    source = _Source(file, encoding=encoding)
    try:
        first = source.readline(0)
        if encoding.startswith("utf-16"):
            source = _Source(text=file.read_bytes().decode(encoding).removeprefix("\ufeff"))
            first, encoding = source.readline(0), "utf-8"
    except UnicodeError:
        raise SpanLabError(
            f"{file} cannot be read as a table: it is not text in UTF-8. Save it again as 'CSV UTF-8', or as a workbook"
            " (.xlsx)"
        ) from None
    hint = re.fullmatch(r"\ufeff?\"?sep=(.)\"?;*,*", first.strip(), re.IGNORECASE)
    skip = 1 if hint else 0
    header = re.sub(r'"[^"]*"', "", source.readline(skip))
    delimiter = hint[1] if hint else max((",", ";", "\t"), key=header.count)
    return source, delimiter, skip, "utf-8"


def _workbook(file: Path, columns: ColumnMap) -> tuple[_Source, str, int, str]:
    """The one sheet of a workbook that has responses, as the text of a table."""
    from openpyxl import load_workbook

    try:
        book = load_workbook(file, read_only=True, data_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # openpyxl raises whatever its archive and its XML raise
        raise SpanLabError(
            f"{file} cannot be read as a workbook: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None
    sheets = [[list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets]
    titles = [sheet.title for sheet in book.worksheets]
    book.close()
    given = {name for name, _ in columns.values}
    with_responses = [
        at for at, rows in enumerate(sheets) if rows and {*NEEDED} <= given | {*_names(file, rows[0], columns)}
    ]
    if len(with_responses) > 1:
        raise SpanLabError(
            f"{file} has several sheets with responses ({', '.join(titles[at] for at in with_responses)}): save the"
            " right one as a file of its own"
        )
    if not with_responses:
        likely = max(
            (hint([str(cell).strip() for cell in rows[0]], (*NEEDED, "participant")) for rows in sheets if rows),
            key=len,
            default="",
        )
        raise SpanLabError(
            f"{file} is not a response table: no sheet has the columns {', '.join(NEEDED)} in its first row (see 'The"
            f" record' in the documentation){likely}"
        )
    rows = [row for row in sheets[with_responses[0]] if any(cell is not None for cell in row)]
    wide = max((at + 1 for at, cell in enumerate(rows[0]) if cell is not None), default=0)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([_format_cell(file, cell) for cell in (*row[:wide], *[None] * (wide - len(row)))])
    return _Source(text=out.getvalue()), ",", 0, "utf-8"


def _names(file: Path, header: Sequence[object], columns: ColumnMap) -> list[str]:
    """The columns of a sheet in the response table; none where it is not the sheet that is meant."""
    try:
        return columns.renamed(file, [str(cell).strip() for cell in header])
    except SpanLabError:
        return []


def _format_cell(file: Path, value: object) -> str:
    """A cell of a workbook as text."""
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        raise SpanLabError(
            f"{file} holds dates ({value}): a spreadsheet has turned values into dates, and the original values are"
            " lost. Read the table as recorded"
        )
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _mended(file: Path, table: pyarrow.Table, everywhere: bool) -> pyarrow.Table:
    """Decimal commas as points; an error for what a spreadsheet has spoilt, and for scores that are
    neither right nor wrong.

    Parameters
    ----------
    everywhere : whether factors and recorded values may have decimal commas, too, because commas
        part no columns
    """
    commas: dict[str, str] = {}
    points: dict[str, str] = {}
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if name in YES_NO:
            odd = [
                value
                for value in column.unique().to_pylist()
                if value is not None and str(value).strip().lower() not in YES | NO | {"", "null", "nan", "none"}
            ]
            if odd:
                raise SpanLabError(
                    f"{file}: column {name} holds {', '.join(sorted(repr(value) for value in odd)[:3])}, which is"
                    " neither true nor false"
                )
        if name.startswith(FURTHER) and (words := _truths(column.unique().to_pylist())):
            values = column.dictionary_encode().combine_chunks()
            mended = pyarrow.array([words.get(value) for value in values.dictionary.to_pylist()], pyarrow.string())
            table = table.set_column(
                place, name, pyarrow.DictionaryArray.from_arrays(values.indices, mended).cast(pyarrow.string())
            )
            continue
        number = name in (*NUMBERS, "rt_ms")
        if not pyarrow.types.is_string(column.type) or not (
            number or name == "trial_id" or (everywhere and name.startswith(FURTHER))
        ):
            continue
        values = column.dictionary_encode().combine_chunks()
        distinct: list[str] = values.dictionary.to_pylist()
        if name == "trial_id":
            if power := next((text for text in distinct if _POWER.fullmatch(text)), ""):
                raise SpanLabError(
                    f"{file}: a spreadsheet has turned identifiers of trials into numbers ({power}), so that trials"
                    " cannot be distinguished. Read the table as recorded, or import the column as text"
                )
            continue
        if number and (point := next((text for text in distinct if _POINT.fullmatch(text)), "")):
            points[name] = point
        if comma := next((text for text in distinct if _COMMA.fullmatch(text)), ""):
            commas[name] = comma
            mended = pyarrow.array([text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in distinct])
            table = table.set_column(
                place, name, pyarrow.DictionaryArray.from_arrays(values.indices, mended).cast(pyarrow.string())
            )
    if commas and (points or not everywhere):
        both = [f"{value} in column {name}" for values in (commas, points) for name, value in list(values.items())[:1]]
        raise SpanLabError(
            f"{file} has numbers with commas ({' and '.join(both)}), and it is unclear whether these separate decimals"
            " or thousands"
        )
    return table


def _truths(values: Sequence[str | None]) -> dict[str | None, str]:
    """``true`` or ``false`` for each value of a column that holds nothing else, as any spreadsheet
    writes them; empty for every other column."""
    words = {text: text.strip().lower() for text in values if text is not None and text.strip()}
    truths: dict[str | None, str] = {
        text: "true" if word in YES else "false" for text, word in words.items() if word in _TRUTHS
    }
    return truths if len(truths) == len(words) else {}
