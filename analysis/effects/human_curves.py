"""Published human curves in the shape of curve tables."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...human_data import published
from ..data.scoring import WHO
from ..data.style import GROUP_MEANS
from .curves import CURVE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd


def published_curve(paradigm: str, by: Sequence[str]) -> pd.DataFrame:
    """Published accuracies of people over ``by``, as a curve table.

    ``agent`` is the study (``Avons 1998 (people)``), ``agent_kind`` is ``published``; nothing is known of n, s.e.m., interval or chance, so these are empty.
    Points that were printed in finer cells are averaged, and ``note`` says so.

    Returns
    -------
    pandas.DataFrame
        empty when there are no digitised numbers for the paradigm, or none over ``by``.
    """
    return _curve(paradigm, tuple(by)).copy()


@functools.lru_cache(maxsize=256)
def _curve(paradigm: str, by: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    columns = [*WHO, *by, *(name for name in CURVE_COLUMNS if name not in WHO)]
    points = published(paradigm)
    points = points.dropna(subset=list(by)) if set(by) <= set(points.columns) else points.iloc[0:0]
    rows = []
    for key, cell in points.groupby(["study", *by], sort=True) if len(points) else ():
        note = "group mean, digitised from a printed figure"
        if len(cell) > 1:
            note += f"; average of {len(cell)} printed points"
        who = {"paradigm": paradigm, "agent_kind": GROUP_MEANS, "agent": f"{key[0]} (people)", "oracle": False}
        rows.append(who | dict(zip(by, key[1:], strict=True)) | {"unit": "", "mean": cell["accuracy"].mean(), "interval": "none", "note": note})
    table = pd.DataFrame(rows, columns=columns)
    counted = ("list_length", "set_size", "serial_position", "retention_steps", "n_units", "n_trials", "n_items", "n_omitted", "n_invalid")
    whole = {name: "Int64" for name in counted if name in columns}
    numbers = dict.fromkeys(("mean", "sem", "low", "high", "chance"), "float64")
    return table.astype(whole | numbers)


def sources(paradigm: str) -> list[tuple[str, str]]:
    """Study and reference of every published curve of a paradigm."""
    return list(published(paradigm)[["study", "source"]].drop_duplicates().itertuples(index=False, name=None))
