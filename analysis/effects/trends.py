"""The size of an effect, with tests: the slope along its axis, or the differences between its
conditions (switch cost, mixing cost, conflict).

Slopes and differences are weighted sums of the means of cells (:mod:`.contrasts`), tested
two-tailed against the value that guessing would give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import override

from ..data.coding import records
from ..data.scoring import WHO, Scored, plural, score_table
from ..data.unread import testable, withheld_cells
from ..means.bootstrap import LEVEL
from ..means.cell_means import Cells
from ..means.contrasts import Contrast, contrast_of
from ..stats.equivalence import Margin, judged
from .effect import Effect
from .sensitivity import RATES, Sensitivity

#: Columns of a table of contrasts after who and the panels.
TREND_COLUMNS = (
    "contrast",
    "value",
    "se",
    "low",
    "high",
    "guessing",
    "t",
    "df",
    "p",
    "unit",
    "n_units",
    "conditions",
    "note",
)
#: With fewer people than this, d' of unequal numbers of questions is not tested: of four, the t
#: test rejects in 9 of 100 where there is nothing.
_FEWEST_UNEQUAL = 8
#: Of more panels not every two are compared.
MOST_PANELS = 4


def trends(
    effect: Effect,
    responses: pd.DataFrame | Scored,
    paradigm: str,
    *,
    level: float = LEVEL,
    margin: Margin | None = None,
    estimates: dict[int, Contrast] | None = None,
) -> pd.DataFrame:
    """For each answerer and panel of an effect: its slope (per unit of its axis) or its
    differences, with interval and test.

    Parameters
    ----------
    estimates : gets, by the number of a row, what its interval and test are of

    Returns
    -------
    pandas.DataFrame
        who, the panels, then :data:`TREND_COLUMNS`, and with a margin :data:`.MARGIN_COLUMNS`;
        empty where the effect does not apply, or is not an average.
    """
    rows = []
    for source in _found(effect, responses, paradigm):
        for key, line in source.lines().items():
            for name, weight in _weights(effect, line).items():
                numbers, weights = [line[place] for place in weight], np.array(list(weight.values()))
                head = dict(zip([*WHO, *effect.panels], key, strict=True)) | {
                    "contrast": name,
                    "conditions": len(line),
                }
                rows.append(head | source.row(numbers, weights, level))
    if estimates is not None:
        estimates |= {number: row["tested"] for number, row in enumerate(rows)}
    return _judged(rows, [*WHO, *effect.panels, *TREND_COLUMNS], margin)


def between_panels(
    effect: Effect,
    responses: pd.DataFrame | Scored,
    paradigm: str,
    *,
    level: float = LEVEL,
    margin: Margin | None = None,
) -> pd.DataFrame:
    """For each answerer and pair of panels: how much their means differ over the conditions that
    both have, and how much their slopes (along numbers) or declared differences do.

    Returns
    -------
    pandas.DataFrame
        who, then :data:`TREND_COLUMNS`, where ``contrast`` names the panels; empty where the effect
        does not apply or has more than :data:`MOST_PANELS`.
    """
    rows = []
    for source in _found(effect, responses, paradigm):
        panels: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[Any, Any]]] = {}
        for key, line in source.lines().items():
            panels.setdefault(key[: len(WHO)], {})[key[len(WHO) :]] = line
        for who, ones in panels.items():
            if not 2 <= len(ones) <= MOST_PANELS:
                continue
            for (one, first), (other, second) in combinations(ones.items(), 2):
                both = sorted(first.keys() & second.keys(), key=str if effect.order else float)
                if not both:
                    continue
                asked = {"mean": dict.fromkeys(both, 1 / len(both))}
                asked |= _weights(effect, {place: first[place] for place in both})
                names = [
                    ", ".join(str(value) for value in panel if not effect.sensitivity or value != source.measured)
                    for panel in (one, other)
                ]
                for what, weight in asked.items():
                    numbers = [*(first[place] for place in weight), *(second[place] for place in weight)]
                    weights = np.array([*weight.values(), *(-one for one in weight.values())])
                    head = dict(zip(WHO, who, strict=True)) | {
                        "contrast": f"{what}, {names[0]} minus {names[1]}",
                        "conditions": len(both),
                    }
                    rows.append(head | source.row(numbers, weights, level))
    return _judged(rows, [*WHO, *TREND_COLUMNS], margin)


def _judged(rows: Sequence[dict[str, Any]], columns: Sequence[str], margin: Margin | None) -> pd.DataFrame:

    return judged(pd.DataFrame(rows, columns=[*columns, "tested"]), margin).drop(columns="tested")


def _found(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> list[_Averages]:
    """Return the sources of contrasts: nothing where the effect does not apply, or is neither an
    average nor a sensitivity."""
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    scored = testable(scored)
    if (effect.averages is None and effect.sensitivity is None) or effect.missing(scored, paradigm):
        return []
    cells = effect.evidence(scored, paradigm).cells[""]
    out = frozenset() if scored.accept_unread else withheld_cells(cells)
    return (
        [_Averages(effect, cells, out)]
        if effect.sensitivity is None
        else [_Detected(effect, cells, out, one) for one in effect.sensitivity.measures]
    )


@dataclass(frozen=True)
class _Averages:
    """Cells of averages, whose contrasts are weighted sums of their means; those of which too much
    could not be read are in none."""

    effect: Effect
    cells: Cells
    withheld: frozenset[int]

    def lines(self) -> dict[tuple[Any, ...], dict[Any, Any]]:
        """For each answerer and panel, the cell at each place along the axis."""
        lines_of: dict[tuple[Any, ...], dict[Any, Any]] = {}
        for number, row in enumerate(records(self.cells.keys)):
            if number in self.withheld:
                continue
            lines_of.setdefault(tuple(row[name] for name in (*WHO, *self.effect.panels)), {})[row[self.effect.x]] = (
                number
            )
        return lines_of

    @property
    def measured(self) -> str:
        return self.effect.measure

    def row(self, places: Sequence[Any], weights: np.ndarray, level: float) -> dict[str, Any]:
        chance = self.cells.chance[list(places)]
        # where nobody says how far guessing gets, it is taken to get as far in all conditions
        known = self.effect.value == "correct" and bool(np.isfinite(chance).any())
        guessing = float(weights @ chance) if known else 0.0
        shares = self.effect.value == "correct"
        return _row(contrast_of(self.cells, places, weights, shares=shares, level=level), guessing, self.cells, places)


@dataclass(frozen=True)
class _Detected(_Averages):
    """One measure of signal detection, whose places are pairs of cells: of signals, and of others."""

    measure: str

    @property
    @override
    def measured(self) -> str:
        return self.measure

    @property
    def _of(self) -> Sensitivity:
        assert self.effect.sensitivity is not None
        return self.effect.sensitivity

    @override
    def lines(self) -> dict[tuple[Any, ...], dict[Any, Any]]:
        lines_of: dict[tuple[Any, ...], dict[Any, Any]] = {}
        names = [name for name in self.cells.keys.columns if name != "signal"]
        for key, pair in self._of.pairs(self.cells).items():
            row = dict(zip(names, key, strict=True)) | {"measure": self.measure}
            if min(pair) >= 0 and not self.withheld & {*pair}:
                lines_of.setdefault(tuple(row[name] for name in (*WHO, *self.effect.panels)), {})[
                    row[self.effect.x]
                ] = pair
        return lines_of

    @override
    def row(self, places: Sequence[Any], weights: np.ndarray, level: float) -> dict[str, Any]:
        weighted = self._of.weighted(self.cells, places, weights, self.measure, level=level)
        row = _row(weighted, 0.0, self.cells, [number for pair in places for number in pair])
        compared_at = "" if self.measure in RATES.values() else self._of.compared_at(self.cells, places)
        if compared_at and row["unit"] != "trial" and row["n_units"] < _FEWEST_UNEQUAL:
            row |= dict.fromkeys(("se", "low", "high", "t", "df", "p"), math.nan)
            row["tested"] = replace(row["tested"], se=math.nan)
            compared_at += f"; fewer than {_FEWEST_UNEQUAL} {row['unit']}s: no interval, no test"
        return row | {"note": "; ".join(filter(None, (row["note"], compared_at)))}


def _weights(effect: Effect, line: dict[Any, int]) -> dict[str, dict[Any, float]]:
    """The contrasts of a line: its slope, or the differences that are declared and that it has."""
    if effect.order:
        return {
            name: {one: 1.0, other: -1.0} for name, one, other in effect.differences if one in line and other in line
        }
    places = sorted(line)
    if len(places) < 2:
        return {}
    x = np.asarray(places, float) - np.mean(np.asarray(places, float))
    return {"slope": dict(zip(places, map(float, x / (x @ x)), strict=True))}


def _row(estimate: Contrast, guessing: float, cells: Cells, numbers: Sequence[int]) -> dict[str, Any]:
    unit = cells.unit[numbers[0]]
    row: dict[str, Any] = {
        "value": estimate.value,
        "guessing": guessing,
        "unit": unit,
        "n_units": estimate.n,
        "tested": estimate,
    }
    row |= dict.fromkeys(("se", "low", "high", "t", "df", "p"), math.nan)
    if unit == "trial" and not cells.told_apart[list(numbers)].all():
        return row | {"unit": "", "note": "no trial numbers: no interval, no test"}
    if not estimate.se > 0:
        why = f"no spread over {plural(estimate.n, unit)}"
        if estimate.lone:
            why = (
                f"one {unit}"
                if estimate.n == 1
                else (
                    f"{'a condition has' if estimate.lone == 1 else f'{estimate.lone} conditions have'} only one {unit}"
                )
            )
        return row | {"note": f"{why}: no interval, no test"}
    row |= {"se": estimate.se, "df": estimate.df}
    if not math.isnan(guessing):
        row |= estimate.against(guessing) | {"p": estimate.p(guessing)}
    row["low"], row["high"] = estimate.ends()
    return row | {"note": ""}
