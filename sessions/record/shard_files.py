"""The files of a large session: its response table in parts, each a fixed range of its trials. It imports no sibling.

``session.json`` has ``parts`` then: how many ``trials`` a part has, and whether hidden ``states`` are kept beside. A part is there, whole, or it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import SpanLabError

if TYPE_CHECKING:
    import pyarrow

PARTS = "parts"


def planned_trials(session: Mapping[str, Any]) -> int:
    """How many trials (practice apart) a session has."""
    plan = session["plan"]
    return plan["trials"] if isinstance(plan, dict) else len(plan)


def count_parts(session: Mapping[str, Any]) -> int:
    """How many parts the table of a large session has."""
    return -(-planned_trials(session) // session[PARTS]["trials"])


def part_path(folder: str | Path, number: int) -> Path:
    """The file of one part; numbers count from 0."""
    return Path(folder) / PARTS / f"{number:05d}.parquet"


def parts_missing(folder: str | Path, session: Mapping[str, Any]) -> list[int]:
    """Which parts are not there yet."""
    return [number for number in range(count_parts(session)) if not part_path(folder, number).exists()]


def stored_parts(folder: str | Path, session: Mapping[str, Any]) -> dict[int, Path]:
    """The files of the parts that are there, by their numbers."""
    return {number: path for number in range(count_parts(session)) if (path := part_path(folder, number)).exists()}


def read_parts(
    folder: str | Path, session: Mapping[str, Any], columns: Sequence[str] | None = None, parts: Sequence[int] | None = None
) -> Iterator[pyarrow.Table]:
    """The parts of a large session that are there, in the order of its trials, one at a time.

    Parameters
    ----------
    columns : those to read; all when not given
    parts : numbers of those to read; all when not given

    Raises
    ------
    SpanLabError
        when one is damaged.
    """
    import pyarrow
    import pyarrow.parquet

    paths = stored_parts(folder, session).values() if parts is None else [part_path(folder, number) for number in parts]
    for path in paths:
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                table = file.read(None if columns is None else [name for name in columns if name in file.schema_arrow.names])
                if file.schema_arrow.metadata is None or file.schema_arrow.metadata.get(b"session") != session["session"].encode():
                    raise SpanLabError(f"{path} is of another session; put it back where it belongs, and the part is made again by: spanlab resume {folder}")
        except (pyarrow.ArrowException, OSError) as error:
            raise SpanLabError(
                f"{path} is damaged and cannot be read ({str(error).splitlines()[0]}); delete it, and it is made again by: spanlab resume {folder}"
            ) from None
        yield table


def joined(parts: Sequence[pyarrow.Table], declared: Sequence[str]) -> pyarrow.Table:
    """Parts as one table: the declared columns in order, the others by name."""
    import pyarrow

    table = pyarrow.concat_tables(parts, promote_options="default")
    others = sorted(set(table.column_names) - set(declared))
    return table.select([*(name for name in declared if name in table.column_names), *others]).replace_schema_metadata(None)
