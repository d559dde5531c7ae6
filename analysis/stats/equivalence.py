"""Conclusions where no difference was found: margins within which a difference counts as none,
and equivalence by two one-sided tests.

* **Margin**: declared in the numbers of a study, such as ``5points`` (percentage points of right
  answers), ``0.3d'`` or ``20ms``. Without one for what was measured there is no verdict: "not told
  apart" is not "alike".
* **Equivalence** (TOST; Schuirmann, 1987, Journal of Pharmacokinetics and Biopharmaceutics 15,
  657-680): a difference is within a margin that was declared when the tests against its both ends
  reject.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from ...core.errors import SpanLabError
from ..means.bootstrap import LEVEL
from ..means.contrasts import NEAR, Apart, Contrast

Measured = Literal["points", "d′", "ms"]
_UNITS: dict[str, Measured] = {
    "points": "points",
    "point": "points",
    "pp": "points",
    "%": "points",
    "d'": "d′",
    "d′": "d′",
    "dprime": "d′",
    "ms": "ms",
}
#: What a margin adds to a table of differences: the margin, the interval whose limits are those of the
#: two tests (90%; 95% where shares are near 0 or 1), their p and what they say.
MARGIN_COLUMNS = ("margin", "low_alike", "high_alike", "p_alike", "alike")
_APART = {
    "within the margin": "alike within {}",
    "beyond the margin": "further apart than {}",
    "undecided": "undecided whether alike within {}",
}
_FROM_0 = {
    "within the margin": "within {} of 0",
    "beyond the margin": "further than {} from 0",
    "undecided": "undecided whether within {} of 0",
}


@dataclass(frozen=True)
class Equivalence:
    """Test whether a difference is within a margin.

    Parameters
    ----------
    low, high : of the interval whose limits are those of the two tests
    p : the larger of the two one-sided p values, see :func:`equivalence_test`
    verdict : ``within the margin``, ``beyond the margin`` or ``undecided``
    """

    low: float
    high: float
    p: float
    verdict: str


def equivalence_test(difference: Contrast | Apart, margin: float, alpha: float = 1 - LEVEL) -> Equivalence:
    """Two one-sided tests of a difference against both ends of a margin, by its interval.

    Where a share is near 0 or 1 each test is at half of ``alpha``, and p is doubled: few people do not
    contain the poor performers who make a mean near the ceiling, and at the margin tests of 5 % said
    "within" in up to 10 %.

    Raises
    ------
    SpanLabError
        for a margin that is not above 0, and a difference without an interval.
    """
    if not margin > 0:
        raise SpanLabError(
            "the margin within which a difference counts as none must be declared, and above 0; without one there is no"
            " verdict"
        )
    near = any(_near_an_end(part) for part in _parts(difference))
    low, high = difference.ends(1 - alpha if near else 1 - 2 * alpha)
    if math.isnan(low):
        raise SpanLabError("a difference without an interval cannot be tested")
    inside = (difference.value > -margin, difference.value < margin)
    sides = [difference.p(end) / 2 for end in (-margin, margin)]
    p = max(side if within else 1 - side for side, within in zip(sides, inside, strict=True))
    p = min(1.0, 2 * p) if near else p
    verdict = "undecided"
    if p < alpha:
        verdict = "within the margin"
    elif low > margin or high < -margin:
        verdict = "beyond the margin"
    return Equivalence(low, high, p, verdict)


def _parts(difference: Contrast | Apart) -> list[Contrast]:
    if isinstance(difference, Contrast):
        return [difference]
    return [part for part in (difference.first, difference.second) if isinstance(part, Contrast)]


def _near_an_end(part: Contrast) -> bool:
    """Return whether a share, or one that a sum is made from, is near 0 or 1."""
    return part.skewed is not None or (part.share and min(part.value, 1 - part.value) < NEAR)


@dataclass(frozen=True)
class Margin:
    """A margin: differences up to so much count as none.

    Parameters
    ----------
    value : above 0, in the unit
    unit : percentage points, d′ or milliseconds
    """

    value: float
    unit: Measured

    @property
    def words(self) -> str:
        return f"{self.value:g} {'point' if self.unit == 'points' and self.value == 1 else self.unit}"

    @property
    def typed(self) -> str:
        """The margin as typed on a command line."""
        return f"{self.value:g}{'dprime' if self.unit == 'd′' else self.unit}"

    @property
    def scaled(self) -> float:
        """The margin in the unit of tables, where shares run from 0 to 1."""
        return self.value / 100 if self.unit == "points" else self.value

    def judge(self, difference: Contrast | Apart) -> Equivalence | None:
        """Two one-sided tests of a difference; None where it has no interval."""
        return None if math.isnan(difference.ends()[0]) else equivalence_test(difference, self.scaled)


def read_margins(texts: Sequence[str]) -> tuple[Margin, ...]:
    """Margins as they are typed, one for each unit at most.

    Raises
    ------
    SpanLabError
        for a number without a unit, one that is not above 0, and two of one unit.
    """
    margins: dict[Measured, Margin] = {}
    for text in texts:
        match = re.fullmatch(r"\s*([0-9]*[.,]?[0-9]+)\s*([^\s0-9.,]*)\s*", text)
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            raise SpanLabError(
                "is a number with its unit, such as 5points (percentage points of right answers), 0.3d' or"
                f" 20ms, not '{text}'",
                option="margin",
            )
        margin = Margin(float(match[1].replace(",", ".")), unit)
        if not margin.value > 0:
            raise SpanLabError(
                f"{text}: the margin within which a difference counts as none must be above 0", option="margin"
            )
        if unit == "points" and margin.value >= 100:
            raise SpanLabError(
                f"{text}: shares of right answers never differ by more than 100 points, so that this margin"
                " could not say no",
                option="margin",
            )
        if unit in margins:
            raise SpanLabError(
                f"is given twice in {unit}: a difference counts as none within one margin, which is declared"
                " beforehand",
                option="margin",
            )
        margins[unit] = margin
    return tuple(margins.values())


def margin_of(margins: Sequence[Margin], unit: str) -> Margin | None:
    """The margin that was declared for a measure."""
    return next((one for one in margins if one.unit == unit), None)


def judged(table: pd.DataFrame, margin: Margin | None) -> pd.DataFrame:
    """A table of differences (``value``, ``se``, ``df``) with :data:`MARGIN_COLUMNS`; as it is
    without a margin.

    Slopes are not differences, and have no verdict; neither has a measure that is not that of the
    margin.
    """
    if margin is None or not len(table):
        return table
    rows = []
    for row in table.to_dict("records"):
        apart = row.get("tested")
        difference = (
            apart
            if isinstance(apart, Apart | Contrast)
            else Contrast(float(row["value"]), float(row["se"]), float(row["df"]), 0)
        )
        other = str(row.get("contrast", "")).startswith("slope") or row.get("measure", margin.unit) not in (
            margin.unit,
            "correct",
        )
        rows.append(_columns(None if other else margin.judge(difference), margin))
    return table.assign(**{name: [row[name] for row in rows] for name in MARGIN_COLUMNS})


def _columns(verdict: Equivalence | None, margin: Margin) -> dict[str, Any]:
    if verdict is None:
        return dict(zip(MARGIN_COLUMNS, (math.nan, math.nan, math.nan, math.nan, ""), strict=True))
    return dict(
        zip(
            MARGIN_COLUMNS,
            (margin.scaled, verdict.low, verdict.high, verdict.p, verdict_in_words(verdict, margin)),
            strict=True,
        )
    )


def verdict_in_words(verdict: Equivalence, margin: Margin, from_0: bool = False) -> str:
    """``alike within 5 points``, to follow a difference in a sentence; ``within 5 points of 0``, to
    follow an effect."""
    return (_FROM_0 if from_0 else _APART)[verdict.verdict].format(margin.words)
