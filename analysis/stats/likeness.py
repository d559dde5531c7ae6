"""Differences between answerers, and between the conditions of each, in the numbers of a study:
with a t test and, for a declared margin, TOST.

The mixed-effects models test differences in log odds; a margin is declared in percentage points or
d'. Units are those of all figures: people where an answerer is several, sessions, else trials;
conditions have the same weight. Answerers with different people are compared by Welch's test.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import kind_named
from ...core.errors import SpanLabError
from ..data.coding import natural, plain_name, plain_value
from ..data.scoring import WHO, Scored
from ..data.unread import testable
from ..effects.conditions import question_of
from ..inference import MARGIN_COLUMNS, NO_MARGINS, Margin, judged
from ..means.cell_means import Cells, place_of, unit_means
from ..means.contrasts import Apart, Contrast, contrast_of
from .agreement import MOST_ANSWERERS

if TYPE_CHECKING:
    from ..effects.sensitivity import Sensitivity

#: Columns of the table.
COLUMNS = ("kind", "contrast", "measure", "value", "se", "low", "high", "t", "df", "p", "unit", "n_units")
#: Of so many conditions every two are compared; of more, each with the first.
_PAIRS = 6


def likeness(part: Scored, paradigm: str, by: str, margins: Mapping[str, Margin] = NO_MARGINS) -> pd.DataFrame:
    """Compare every two answerers who are not yardsticks, over the conditions that both have, and
    every two conditions of each answerer.

    Parameters
    ----------
    part : scored items of one paradigm
    by : the column of conditions; empty for none

    Returns
    -------
    pandas.DataFrame
        :data:`COLUMNS` (shares from 0 to 1), and where a margin was declared
        :data:`.margins.MARGIN_COLUMNS`
    """
    names, called = ((by,) if by else ()), plain_name(by).replace("_", " ")
    part = testable(part, names)
    cells = unit_means(part, names)
    tables = {
        "points": _table(_places(cells, names), partial(contrast_of, cells, shares=True), cells, "correct", called)
    }
    sensitive = _detected(part, paradigm, names)
    if sensitive is not None:
        of, signal_cells = sensitive
        pairs: dict[tuple[str, ...], dict[Any, Any]] = {}
        heads = [name for name in signal_cells.keys.columns if name != "signal"]
        for key, pair in of.pairs(signal_cells).items():
            row = dict(zip(heads, key, strict=True))
            if min(pair) >= 0:
                pairs.setdefault(tuple(row[name] for name in WHO), {})[place_of(row, names)] = pair
        tables["d′"] = _table(pairs, _of_sensitivity(of, signal_cells), signal_cells, "d′", called)
    tables = {unit: judged(one, margins[unit]) if unit in margins else one for unit, one in tables.items()}
    columns = [*COLUMNS, *(MARGIN_COLUMNS if tables.keys() & margins.keys() else ())]
    kept = [one for one in tables.values() if len(one)]
    table = pd.concat(kept, ignore_index=True) if kept else tables["points"]
    table = table.reindex(columns=columns)
    return table.assign(alike=table["alike"].fillna("")) if "alike" in columns else table


def _places(cells: Cells, names: Sequence[str]) -> dict[tuple[str, ...], dict[Any, Any]]:
    return {who: dict(points) for who, points in cells.points(names).items()}


def _of_sensitivity(of: Sensitivity, cells: Cells) -> Any:
    at = of.asked(cells, of.pairs(cells).values())[0]
    return lambda places, weights: of.weighted(cells, places, weights, "d′", at=at)


def _detected(part: Scored, paradigm: str, names: Sequence[str]) -> tuple[Sensitivity, Cells] | None:
    """Return how d' is made of the questions of a paradigm, and its cells; None where one of two
    words answers nothing."""
    try:
        words, of = question_of(part.items, names, paradigm, "difference")
    except SpanLabError:
        return None
    return of, of.cells(of.of_words(part, {words[0]}, {words[1]}))[""]


def _table(
    places: Mapping[tuple[str, ...], Mapping[Any, Any]], weighted: Any, cells: Cells, measure: str, called: str
) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    known = {who: points for who, points in places.items() if kind_named(who[1]).competes}
    ranked = sorted(known, key=lambda who: (kind_named(who[1]).order, who[2]))
    for first, second in combinations(ranked, 2) if len(ranked) <= MOST_ANSWERERS else ():
        shared = sorted(set(known[first]) & set(known[second]), key=str)
        if shared:
            weights = np.full(len(shared), 1 / len(shared))
            mine, theirs = (weighted([known[who][place] for place in shared], weights) for who in (first, second))
            units = [_unit(cells, known[who][shared[0]]) for who in (first, second)]
            rows.append(
                {"kind": "answerers", "contrast": f"{first[2]} minus {second[2]}"} | _apart(mine, theirs, units)
            )
    for who in ranked:
        conditions = sorted(known[who], key=lambda place: [natural(plain_value(one)) for one in place])
        pairs = (
            combinations(conditions, 2)
            if len(conditions) <= _PAIRS
            else ((conditions[0], one) for one in conditions[1:])
        )
        for one, other in pairs:
            difference = weighted([known[who][other], known[who][one]], np.array([1.0, -1.0]))
            names = [", ".join(_as_text(value) for value in place) for place in (other, one)]
            head: dict[str, Any] = {
                "kind": "conditions",
                "contrast": f"{who[2]}, {called}: {names[0]} minus {names[1]}",
            }
            rows.append(head | _row(difference, _unit(cells, known[who][one])))
    # where nobody has what is compared, there is nothing to tell
    return pd.DataFrame(
        [row | {"measure": measure} for row in rows if row["value"] == row["value"]], columns=[*COLUMNS, "tested"]
    )


def _as_text(value: Hashable) -> str:
    """A level as it is said: words of the record are JSON text."""
    if isinstance(value, str):
        return str(json.loads(value)) if value.startswith('"') else value
    return f"{value:g}"


def _unit(cells: Cells, place: Any) -> str:
    return cells.unit[place[0] if isinstance(place, tuple) else place]


def _apart(mine: Contrast, theirs: Contrast, units: Sequence[str]) -> dict[str, Any]:
    """The difference of two answerers, who have no unit in common."""
    apart, se = Apart(mine, theirs), math.hypot(mine.se, theirs.se)
    unit = units[0] if units[0] == units[1] else " and ".join(units)
    ends = dict(zip(("low", "high"), apart.ends(), strict=True))
    return _untested(apart.value, unit, mine.n + theirs.n) | ends | {"se": se, "p": apart.p(), "tested": apart}


def _row(difference: Contrast, unit: str) -> dict[str, Any]:
    """The difference of two conditions of one answerer."""
    row = _untested(difference.value, unit, difference.n)
    if not difference.se > 0:
        return row
    row |= difference.against(0.0) | dict(zip(("low", "high"), difference.ends(), strict=True))
    return row | {"se": difference.se, "p": difference.p(), "tested": difference}


def _untested(value: float, unit: str, many: int) -> dict[str, Any]:
    return {"value": value, "unit": unit, "n_units": many} | dict.fromkeys(
        ("se", "df", "low", "high", "t", "p"), math.nan
    )
