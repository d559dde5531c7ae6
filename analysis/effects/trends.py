"""What an effect amounts to, in numbers with tests: the slope along its axis, or the differences of its conditions (switch cost, mixing cost, conflict).

Slopes and differences are weighted sums of the means of cells (:mod:`.contrasts`), tested two-tailed against what guessing would give.
``omnibus_p`` asks whether the conditions differ at all: Kruskal and Wallis's test over trials, Friedman's over people (or sessions) who have
all conditions (Wilcoxon's for two).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.scoring import WHO, Scored, plural, score_table
from ..means.bootstrap import LEVEL, RESAMPLES
from ..means.cell_means import Cells
from ..means.contrasts import Contrast, contrast_of
from ..stats.ranks import friedman, kruskal
from .effect import Effect

if TYPE_CHECKING:
    import pandas as pd

#: Columns of a table of contrasts after who and the panels.
TREND_COLUMNS = ("contrast", "value", "low", "high", "guessing", "t", "df", "p", "omnibus_p", "unit", "n_units", "conditions", "note")
#: More units than this need no omnibus test of ranks: it would find any difference, however small.
_RANKS = 1_000_000


def trends(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """For everybody and every panel of an effect: its slope (per unit of its axis) or its differences, with interval and test.

    Returns
    -------
    pandas.DataFrame
        who, the panels, then :data:`TREND_COLUMNS`; empty where the effect does not apply, or is no average.
    """
    import pandas as pd

    columns = [*WHO, *effect.panels, *TREND_COLUMNS]
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    if effect.make is not None or effect.missing(scored, paradigm):
        return pd.DataFrame(columns=columns)
    cells = effect.whole(scored, paradigm).cells[""]
    lines: dict[tuple[Any, ...], dict[Any, int]] = {}
    heads = [*WHO, *effect.panels]
    for number, row in enumerate(cells.keys.to_dict("records")):
        lines.setdefault(tuple(row[name] for name in heads), {})[row[effect.x]] = number
    rows = []
    for key, line in lines.items():
        overall = _omnibus(cells, list(line.values()))
        for name, weight in _weights(effect, line).items():
            numbers = [line[place] for place in weight]
            weights = np.array(list(weight.values()))
            found = contrast_of(cells, numbers, weights, level=level, resamples=resamples, seed=seed)
            guessing = float(weights @ cells.chance[numbers]) if effect.value == "correct" else 0.0
            head = dict(zip(heads, key, strict=True)) | {"contrast": name, "omnibus_p": overall, "conditions": len(line)}
            rows.append(head | _row(found, guessing, cells, numbers))
    return pd.DataFrame(rows, columns=columns)


def _weights(effect: Effect, line: dict[Any, int]) -> dict[str, dict[Any, float]]:
    """The contrasts of a line: its slope, or the differences that are declared and that it has."""
    if effect.order:
        return {name: {one: 1.0, other: -1.0} for name, one, other in effect.differences if one in line and other in line}
    places = sorted(line)
    if len(places) < 2:
        return {}
    x = np.asarray(places, float) - np.mean(np.asarray(places, float))
    return {"slope": dict(zip(places, map(float, x / (x @ x)), strict=True))}


def _row(found: Contrast, guessing: float, cells: Cells, numbers: Sequence[int]) -> dict[str, Any]:
    unit = cells.unit[numbers[0]]
    row: dict[str, Any] = {"value": found.value, "guessing": guessing, "unit": unit, "n_units": found.n}
    row |= dict.fromkeys(("low", "high", "t", "df", "p"), math.nan)
    if unit == "trial" and not cells.told_apart[list(numbers)].all():
        return row | {"unit": "", "omnibus_p": math.nan, "note": "no trial numbers: no interval, no test"}
    if not found.se > 0:
        return row | {
            "note": f"no spread over {plural(found.n, unit)}: no interval, no test" if found.n > len(numbers) else "too few units: no interval, no test"
        }
    if not math.isnan(guessing):
        row |= found.against(guessing)
    if found.draws is not None:
        row["low"], row["high"] = found.limits(found.draws)
    return row | {"note": "" if not found.lone else "a unit alone in its conditions: the interval is too narrow"}


def _omnibus(cells: Cells, numbers: Sequence[int]) -> float:
    """Whether conditions differ at all; NaN where that cannot be said."""
    many = [int(cells.many[one].sum()) for one in numbers]
    if len(many) < 2 or sum(many) > _RANKS or min(many) < 2 or not cells.told_apart[list(numbers)].all():
        return math.nan
    values = [cells.each(one) for one in numbers]
    if len(np.unique(np.concatenate(values))) < 2:
        return math.nan
    shared = cells.ids[numbers[0]]
    for one in numbers[1:]:
        shared = np.intersect1d(shared, cells.ids[one])
    if cells.unit[numbers[0]] == "trial":
        # Positions of one list are answered in the same trials, and their ranks would not be independent.
        return math.nan if len(shared) else kruskal(values)
    if len(shared) < 3:
        return math.nan
    table = []
    for one in numbers:
        order = np.argsort(cells.ids[one])
        table.append(cells.values[one][order[np.searchsorted(cells.ids[one], shared, sorter=order)]])
    if len(table) == 2:
        from scipy.stats import wilcoxon  # takes half a second to import

        return float(np.asarray(wilcoxon(*table))[1]) if np.any(table[0] != table[1]) else math.nan
    return friedman(np.array(table))
