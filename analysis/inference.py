"""The one inference: every rule by which SpanLab speaks, as one table, and the object from which a
sentence, a table, a figure, a terminal, a file and a Methods section take estimate, interval and p.

Whoever answers has units (:data:`UNITS`), such as people or trials: another sample would have others.
A quantity of an answerer is a claim (:class:`Claim`): an estimate over these units, an interval, and the
value that it is told from. The test is the interval's own, p being one minus the level at which the interval
ends at that value, so that the two never contradict each other.

Claims of one kind on one page are a family: of those that the page tells from something, one in twenty
is false at most, on average (:func:`false_discovery`), so that a page without anything in it tells
something in one of twenty. Intervals have the level at which the last of these is told (Benjamini &
Yekutieli, 2005, Journal of the American Statistical Association 100, 71-81). A single claim is a family
of one, and so is one that was planned: those that were named beforehand are families of their own.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..core.errors import SpanLabError
from ..core.json_values import grouped
from .data.numbers import decimals, with_sign
from .data.scoring import plural
from .means.bootstrap import LEVEL
from .means.cell_means import Cells
from .means.contrasts import NEAR, Apart, Contrast, contrast_of
from .means.over_people import Each

#: Who has which units.
UNITS: Mapping[str, str] = {
    "several people": "people; each person's answers are averaged first",
    "a machine in several sessions, such as seeds of a network": "sessions",
    "a chat model in several wordings": "wordings and trials; the variance of both counts",
    "one person, or a machine in one session": "trials; a claim is about this one, and not about others like it",
    "several people or sessions who took the same trials": (
        "people (or sessions), and the trials that they share; the variance of both counts"
    ),
}


@dataclass(frozen=True)
class Rule:
    """How one quantity is estimated and judged."""

    quantity: str
    estimator: str
    interval: str
    null: str
    family: str


RULES: Mapping[str, Rule] = {
    "share": Rule(
        "share of right answers",
        "mean over units of their means over trials",
        "Wilson's, with Student's t, for the number of independent answers that would vary as units do; binomial"
        " (mid-p) where each unit is right or wrong, exact where all are alike",
        "the best blind guess",
        "above guessing",
    ),
    "mean": Rule(
        "value of a condition that is not a share, such as a time, d′ or K",
        "mean over units of their own values",
        "Student's; for K, where most is held, as for shares; for d′ over trials, normal",
        "none",
        "none",
    ),
    "rates": Rule(
        "how often one of two words is said: where it is right, minus where it is wrong",
        "difference of the means of both rates",
        "as of effects",
        "0, whatever word somebody prefers",
        "above guessing",
    ),
    "difference": Rule(
        "difference from people",
        "difference of means over the conditions that both have, each with the same weight",
        "the root of the sum of the squares of both intervals (Zou & Donner, 2008)",
        "0",
        "differences from people",
    ),
    "effect": Rule(
        "slope, difference of conditions, end of a list",
        "weighted sum of the means of cells",
        "Student's, with the variance of Bell & McCaffrey (2002); wider at the end that is further from 0 where shares"
        " are near 0 or 100 %",
        "what guessing gives",
        "effects",
    ),
}


@dataclass(frozen=True)
class Claim:
    """A quantity of an answerer.

    Parameters
    ----------
    rule : its name in :data:`RULES`
    agent, agent_kind : who
    of : the estimate
    null : the value that it is tested against; NaN where it is tested against none
    unit, n : its units, and how many there are
    note : what limits it
    family : p of all claims of this kind on the page, in order
    planned : whether it was named before the data were seen
    each : what each of several units adds
    """

    rule: str
    agent: str
    agent_kind: str
    of: Contrast | Apart
    null: float
    unit: str
    n: int
    note: str = ""
    family: tuple[float, ...] = ()
    planned: bool = False
    each: Each | None = field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """The family that it is in."""
        return RULES[self.rule].family + ", planned" * self.planned

    @property
    def value(self) -> float:
        return self.of.value

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of this claim alone."""
        return self.of.ends(LEVEL)

    @cached_property
    def p(self) -> float:
        """Two-sided p of this claim alone."""
        return math.nan if math.isnan(self.null) else self.of.p(self.null)

    @cached_property
    def interval_of_family(self) -> tuple[float, float]:
        """The interval among all claims of its kind: those of claims that are told hold in 95 %, on
        average."""
        if len(self.family) < 2:
            return self.interval
        told = int((false_discovery(self.family) < 1 - LEVEL).sum())
        return self.of.ends(1 - (1 - LEVEL) * max(1, told) / len(self.family))

    @cached_property
    def p_of_family(self) -> float:
        """p, corrected for all claims of its kind."""
        place = bisect_left(self.family, self.p)
        if math.isnan(self.p) or place == len(self.family):
            return self.p
        return float(false_discovery(self.family)[place])

    @property
    def told(self) -> bool:
        """Whether it can be told from :attr:`null`, among all claims of its kind."""
        return self.p_of_family < 1 - LEVEL

    @property
    def side(self) -> str:
        """``above``, ``below`` or ``not told apart``."""
        if not self.told:
            return "not told apart"
        return "above" if self.value > self.null else "below"

    def columns(self) -> dict[str, float]:
        """What a table has of the family beside the claim's own interval and p."""
        low, high = self.interval_of_family
        return {"low_family": low, "high_family": high, "p_family": self.p_of_family}

    def verdict(self, margin: Margin, *, from_0: bool = False) -> str:
        """Whether it is within a margin, by two one-sided tests, in words; empty where it has no interval."""
        judged = margin.judge(self.of)
        return "" if judged is None else verdict_in_words(judged, margin, from_0=from_0)

    def words(self, margin: Margin | None = None) -> str:
        """The interval in points, and what it is not told from: ``+8 to +16: not distinguishable from
        0``.

        Parameters
        ----------
        margin : within which differences count as none
        """
        low, high = (100 * end for end in self.interval_of_family)
        digits = decimals(low, high)
        words = []
        if not self.told:
            words.append("not distinguishable from " + ("guessing" if abs(self.null) > 1e-9 else "0"))
        if margin is not None and (verdict := self.verdict(margin, from_0=True)):
            words.append(verdict)
        return f"{with_sign(low, digits)} to {with_sign(high, digits)}{': ' * bool(words)}{', '.join(words)}"


def claimed(
    rule: str, who: Mapping[Any, Any], of: Contrast, unit: str, *, null: float = math.nan, distinct: bool = True
) -> Claim:
    """An estimate as a claim of somebody; without an interval where trials cannot be told apart.

    Parameters
    ----------
    who : with ``agent`` and ``agent_kind``
    """
    if not distinct:
        of, unit = replace(of, se=math.nan, df=math.nan, n=1, right=-1), ""
    note = _why_none(of, unit) if math.isnan(of.ends()[0]) else ""
    return Claim(rule, str(who.get("agent", "")), str(who.get("agent_kind", "")), of, float(null), unit, of.n, note)


def claim_of(
    rule: str,
    cells: Cells,
    numbers: Sequence[int],
    weights: np.ndarray,
    *,
    who: Mapping[Any, Any],
    shares: bool = True,
    null: float = math.nan,
) -> Claim:
    """A weighted sum of the means of some cells of somebody as a claim; of one cell its mean.

    Parameters
    ----------
    shares : whether they are shares of right answers
    """
    unit = cells.unit[numbers[0]]
    distinct = unit != "trial" or bool(cells.distinct[list(numbers)].all())
    claim = claimed(rule, who, contrast_of(cells, numbers, weights, shares=shares), unit, null=null, distinct=distinct)
    several = who and unit in ("participant", "session")
    return replace(claim, each=Each.of(cells, numbers, weights, shares)) if several else claim


def _why_none(of: Contrast, unit: str) -> str:
    """Why an estimate has no interval."""
    if not unit:
        return "no trial numbers: no interval"
    if of.n < 2:
        return f"one {unit}: no interval" if of.n else ""
    if of.lone:
        few = "a condition has" if of.lone == 1 else f"{of.lone} conditions have"
        return f"{few} only one {unit}: no interval"
    return f"no spread over {plural(of.n, unit)}: no interval"


@lru_cache(maxsize=256)
def false_discovery(family: tuple[float, ...]) -> np.ndarray:
    """p values in order, corrected so that of those below .05 one in twenty is false at most, on average
    (Benjamini & Hochberg, 1995, Journal of the Royal Statistical Society B 57, 289-300)."""
    by_rank = np.array(family) * len(family) / np.arange(1, len(family) + 1)
    return np.minimum.accumulate(by_rank[::-1])[::-1]


def families_of(claims: Iterable[Claim]) -> dict[str, tuple[float, ...]]:
    """p of the claims of each kind, in order: of those that may be told from something."""
    found = grouped((claim.kind, claim.p) for claim in claims if not math.isnan(claim.p))
    return {kind: tuple(sorted(every)) for kind, every in found.items()}


def of_family(claim: Claim, families: Mapping[str, tuple[float, ...]]) -> Claim:
    """A claim among all of its kind."""
    return replace(claim, family=families.get(claim.kind, ()))


# Equivalence: two one-sided tests (TOST; Schuirmann, 1987, Journal of Pharmacokinetics and Biopharmaceutics
# 15, 657-680) within a margin that was declared; without one "not told apart" is not "alike".

Measured = Literal["points", "d′", "ms"]
#: The units of margins, as they may be typed.
_TYPED: dict[str, Measured] = {
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
_AFTER_DIFFERENCE = {
    "within the margin": "alike within {}",
    "beyond the margin": "further apart than {}",
    "undecided": "undecided whether alike within {}",
}
_AFTER_EFFECT = {
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


def equivalence_test(
    difference: Contrast | Apart, margin: float, alpha: float = 1 - LEVEL, near: bool = False
) -> Equivalence:
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
    # a share, or one that a sum is made from, is near 0 or 1
    near = near or any(
        part.skewed is not None or (part.share and min(part.value, 1 - part.value) < NEAR)
        for part in _parts(difference)
    )
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

    def judge(self, difference: Contrast | Apart, near: bool = False) -> Equivalence | None:
        """Two one-sided tests of a difference, of shares ``near`` 0 or 1; None where it has no interval."""
        return None if math.isnan(difference.ends()[0]) else equivalence_test(difference, self.scaled, near=near)


#: Where none was declared.
NO_MARGINS: Mapping[str, Margin] = MappingProxyType({})


def read_margins(texts: Sequence[str]) -> dict[str, Margin]:
    """Margins as they are typed, by their unit, one for each at most.

    Raises
    ------
    SpanLabError
        for a number without a unit, one that is not above 0, and two of one unit.
    """
    margins: dict[str, Margin] = {}
    for text in texts:
        match = re.fullmatch(r"\s*([0-9]*[.,]?[0-9]+)\s*([^\s0-9.,]*)\s*", text)
        unit = _TYPED.get(match[2].lower()) if match else None
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
    return margins


def judged(table: pd.DataFrame, margin: Margin) -> pd.DataFrame:
    """A table of differences (``value``, ``se``, ``df``) with :data:`MARGIN_COLUMNS`.

    Slopes are not differences, and have no verdict; neither has a measure that is not that of the
    margin.
    """
    rows = []
    for row in table.to_dict("records"):
        apart = row.get("tested")
        difference = (
            apart
            if isinstance(apart, Apart | Contrast)
            else Contrast(float(row["value"]), float(row["se"]), float(row["df"]), 0)
        )
        shares = [row[name] for name in ("mean_first", "mean_second") if name in row and margin.unit == "points"]
        near = any(min(share, 1 - share) < NEAR for share in shares)
        measured = row.get("measure", margin.unit) in (margin.unit, "correct")
        slope = str(row.get("contrast", "")).startswith("slope")
        rows.append(_columns(margin.judge(difference, near) if measured and not slope else None, margin))
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
    return (_AFTER_EFFECT if from_0 else _AFTER_DIFFERENCE)[verdict.verdict].format(margin.words)
