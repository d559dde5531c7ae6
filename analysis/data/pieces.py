"""Long tables in pieces: which rows of which files are read together. No trial is cut in two where
a file is in the order of the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from ...core.errors import SpanLabError
from ...sessions.record.reader import PARTS, read_table, stored_parts
from .coding import changes
from .loading import as_frame, read_arrow, wanted
from .scoring import TRIAL
from .sessions import Head

#: About so many rows are read at once.
ROWS = 500_000
#: About so many a session of ordinary size has.
_SESSION = 2_000


@dataclass(frozen=True)
class Piece:
    """Rows that are read together.

    Parameters
    ----------
    path : a response table in a file, or the folder of a session
    rows : about how many
    session : unique name of the session; empty for a file
    parts : which parts of a large session; of others none
    cut : first row of a file, and the one after the last; None for all
    """

    path: Path
    rows: int
    session: str = ""
    parts: tuple[int, ...] = ()
    cut: tuple[int, int] | None = None


def pieces_of_session(head: Head, rows: int = ROWS) -> Iterator[Piece]:
    """The pieces of a session: one, or of a large one about so many rows each."""
    if PARTS not in head.session:
        yield Piece(head.folder, _SESSION, head.name)
        return
    stored = stored_parts(head.folder, head.session)
    if not stored:
        return
    try:
        each = max(1, pyarrow.parquet.read_metadata(next(iter(stored.values()))).num_rows)
    except (pyarrow.ArrowException, OSError):
        each = rows  # reading it will tell what is wrong
    together = max(1, rows // each)
    numbers = list(stored)
    for first in range(0, len(numbers), together):
        some = tuple(numbers[first : first + together])
        yield Piece(head.folder, each * len(some), head.name, some)


def pieces_of_file(file: Path, rows: int = ROWS) -> Iterator[Piece]:
    """The pieces of a response table: of a Parquet file about so many rows each, cut where its row
    groups end and moved to the end of a trial.

    Raises
    ------
    SpanLabError
        when the file cannot be read.
    """
    if file.suffix.lower() != ".parquet":
        yield Piece(file, rows)
        return
    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(number).num_rows for number in range(opened.metadata.num_row_groups)]
            ends = [int(end) for end in np.cumsum(sizes)]
            cuts, start = [0], 0
            for number, end in enumerate(ends[:-1]):
                if end - start >= rows or end - start + sizes[number + 1] > 1.5 * rows:
                    cuts.append(_trial_end(opened, number, ends))
                    start = end
    except FileNotFoundError:
        raise SpanLabError(f"{file} does not exist") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise SpanLabError(f"{file} cannot be read as a table: {str(error).splitlines()[0]}") from None
    total = ends[-1] if ends else 0
    for start, end in zip(cuts, [*cuts[1:], total], strict=True):
        if end > start or not total:
            yield Piece(file, end - start, cut=(start, end))


def _trial_end(opened: pyarrow.parquet.ParquetFile, number: int, ends: Sequence[int]) -> int:
    """The first row after a row group that begins another trial than the row before it."""
    there = [
        name
        for name in TRIAL
        if name in opened.schema_arrow.names and (name != "trial_id" or "trial" not in opened.schema_arrow.names)
    ]
    if "trial" in there and _above(
        opened.metadata.row_group(number),
        opened.metadata.row_group(number + 1),
        opened.schema_arrow.names.index("trial"),
    ):
        return ends[number]
    last = opened.read_row_group(number, columns=there).to_pandas().iloc[-1:]
    for following in range(number + 1, len(ends)):
        table = pd.concat([last, opened.read_row_group(following, columns=there).to_pandas()], ignore_index=True)
        differs = np.zeros(len(table) - 1, bool)
        for name in there:
            differs |= changes(table[name])
        if differs.any():
            return ends[following - 1] + int(np.argmax(differs))
    return ends[-1]


def _above(one: pyarrow.parquet.RowGroupMetaData, other: pyarrow.parquet.RowGroupMetaData, column: int) -> bool:
    """Return whether all numbers of a column are higher in the other row group, as far as its
    statistics tell."""
    before, after = one.column(column).statistics, other.column(column).statistics
    if (
        before is None
        or after is None
        or not (before.has_min_max and after.has_min_max)
        or before.null_count
        or after.null_count
    ):
        return False
    return bool(before.max < after.min)


def jobs_of(pieces: Sequence[Piece], rows: int = ROWS) -> list[tuple[Piece, ...]]:
    """Group pieces into jobs of about so many rows, in their order."""
    jobs: list[list[Piece]] = []
    full = 0
    for piece in pieces:
        if not jobs or full + piece.rows > rows:
            jobs.append([])
            full = 0
        jobs[-1].append(piece)
        full += piece.rows
    return [tuple(job) for job in jobs]


def read_piece(piece: Piece) -> pd.DataFrame:
    """The columns that the analysis needs, of the rows of a piece; texts that repeat are kept once.

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    if not piece.session:
        return as_frame(read_arrow(piece.path, trial_ids=False, cut=piece.cut))
    table = read_table(piece.path, parts=piece.parts or None)
    frame = as_frame(table.select(wanted(table.column_names, trial_ids=True)))
    return frame.assign(session=piece.session)
