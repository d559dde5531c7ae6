"""Read the published human curves.

The files hold group means that the authors of WorM (NeurIPS 2023) read off printed figures: no spread, no number of people, and a third decimal that means
nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Columns that every answer of :func:`published` has; ``factor_<name>`` and ``record_<name>`` columns, named as in the response
#: table, follow where a study varied more.
PUBLISHED_COLUMNS = ("study", "paradigm", "list_length", "set_size", "serial_position", "retention_steps", "accuracy", "measure", "source")
_WHOLE = ("list_length", "set_size", "serial_position", "retention_steps")


def studies() -> list[str]:
    """Names of the files that hold one study each, such as ``avons1998``."""
    return sorted(file.name.removesuffix(".csv") for file in files(__name__.rpartition(".")[0]).iterdir() if file.name.endswith(".csv"))


def published(paradigm: str | None = None) -> pd.DataFrame:
    """Published human accuracies, one row per point of a printed figure.

    Parameters
    ----------
    paradigm : short name such as ``vsr``; None for all of them

    Returns
    -------
    pandas.DataFrame
        :data:`PUBLISHED_COLUMNS` and the ``factor_<name>`` and ``record_<name>`` columns in use; ``accuracy`` is a proportion in 0..1, whole numbers are
        nullable integers. Empty when no digitised numbers exist for the paradigm.
    """
    return _points(paradigm).copy()


@cache
def _points(paradigm: str | None) -> pd.DataFrame:
    """The points of a paradigm, read and sorted out once."""
    table = _read()
    if paradigm is not None:
        table = table[table["paradigm"] == paradigm].reset_index(drop=True)
    table = table.astype(dict.fromkeys(_WHOLE, "Int64"))
    extra = [name for name in table.columns if name.startswith(("factor_", "record_")) and table[name].notna().any()]
    return table[[*PUBLISHED_COLUMNS, *extra]]


@cache
def _read() -> pd.DataFrame:
    import pandas as pd

    parts = []
    for study in studies():
        with files(__name__.rpartition(".")[0]).joinpath(f"{study}.csv").open(encoding="utf-8") as file:
            parts.append(pd.read_csv(file))
    return pd.concat(parts, ignore_index=True)
