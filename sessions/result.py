"""The result of a session: its record, and its answers as a data frame."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SessionResult:
    """A session that is over.

    Parameters
    ----------
    folder : of its record
    span : what an adaptive session has come to; None for others

    Examples
    --------
    >>> import spanlab
    >>> result = spanlab.replay("smu", agent="ideal", trials=4)
    >>> result.accuracy
    1.0
    """

    folder: Path
    span: Mapping[str, Any] | None = field(default=None, compare=False)

    @functools.cached_property
    def info(self) -> Mapping[str, Any]:
        """The content of ``session.json``."""
        from .record.reader import read_session

        return read_session(self.folder)

    @functools.cached_property
    def responses(self) -> pd.DataFrame:
        """One row for each scored item (:func:`read_responses`)."""
        return read_responses(self.folder)

    @property
    def accuracy(self) -> float:
        """The share of scored items that were right, without practice; NaN where nothing was
        scored."""
        rows = self.responses
        return float(rows.loc[~rows["practice"].astype(bool), "correct"].astype("Float64").mean())

    @override
    def __repr__(self) -> str:
        return f"SessionResult({str(self.folder)!r}: {self.info['agent']}, {self.info['paradigm']})"


def read_responses(data: str | Path | Iterable[str | Path], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The answers of sessions, or of data folders full of sessions: one row for each scored item.

    Answers are values and not the JSON text of the files: a number, a word, a list of cells.

    Parameters
    ----------
    data : sessions, or folders that hold sessions
    columns : those to read, such as ``["correct", "set_size"]``; all when not given
        (``docs/record.md`` says what they mean)

    Raises
    ------
    SpanLabError
        when a session cannot be read.

    Examples
    --------
    >>> import spanlab
    >>> result = spanlab.replay("vsr", agent="ideal", trials=2)
    >>> set(result.responses["answer"].map(type))
    {<class 'int'>}
    """
    from .record.reader import COLUMNS
    from .record.reader import read_responses as read_table

    table = read_table(data, columns)
    types = {column.name: column.type for column in COLUMNS}
    for name in table.columns:
        if types.get(str(name), "json") == "json":
            table[name] = [json.loads(text) if isinstance(text, str) else None for text in table[name]]
    return table
