"""Conclusions where no difference was found: equivalence by two one-sided tests, Bayes factors of t
tests, and the reliability of scores.

* **Equivalence** (TOST; Schuirmann, 1987, Journal of Pharmacokinetics and Biopharmaceutics 15,
  657-680): a difference is within a margin that was declared when the tests against its both ends
  reject. Without a margin there is no verdict: "not told apart" is not "alike".
* **Bayes factor** of a t test (Rouder, Speckman, Sun, Morey & Iverson, 2009, Psychonomic Bulletin &
  Review 16, 225-237): the standardised difference is 0, or Cauchy around 0 with a scale that is
  printed (0.707 when not given).
* **Reliability**: halves of everybody's trials (odd and even ones in their order), or two sessions,
  correlated over people; halves are stepped up to the whole by Spearman and Brown's formula. The
  interval is Fisher's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ...core.verdicts import VerdictRule
from ..data.scoring import Scored
from ..means.bootstrap import LEVEL
from ..means.contrasts import Apart, Contrast

#: Scale of the Cauchy prior of a standardised difference ("medium").
SCALE = math.sqrt(2) / 2
#: Where the Bayes factor's integral is summed up.
_LOG_G = np.linspace(-12.0, 60.0, 1441)
RELIABILITY_COLUMNS = ("agent", "score", "kind", "r", "whole", "low", "high", "n_people", "note")

VERDICTS = (
    VerdictRule(
        name="reliability",
        says=(
            "Reliability of the share of right answers, over people",
            "few people: rough",
            "people do not differ: no correlation",
            "people had different conditions, which count as differences between them",
            "a correlation over people needs at least four of them",
        ),
        rests_on=(
            "the correlation of odd and even trials over people, stepped up by Spearman and Brown, or of two sessions,"
            " with Fisher's interval"
        ),
        says_no_when=(
            "people do not differ (its interval holds 0); below four people there is none, below ten it is called "
            "rough, and where people had different conditions that is said"
        ),
        tests=(
            "tests/analysis/stats/test_equivalence.py::test_reliability_of_people_who_differ_and_of_people_who_do_not",
            "tests/analysis/stats/test_equivalence.py::test_people_who_differ_by_their_conditions_alone_are_not_simply_reliable",
        ),
    ),
)


@dataclass(frozen=True)
class Equivalence:
    """Test whether a difference is within a margin.

    Parameters
    ----------
    low, high : of the interval whose limits are those of the two tests (90 % for tests of 5 %)
    p : the larger of the two one-sided p values
    verdict : ``within the margin``, ``beyond the margin`` or ``undecided``
    """

    low: float
    high: float
    p: float
    verdict: str


def equivalence(value: float, se: float, df: float, margin: float, alpha: float = 1 - LEVEL) -> Equivalence:
    """Two one-sided t tests of a difference against both ends of a margin.

    Raises
    ------
    SpanLabError
        for a margin that is not above 0, and a difference without standard error.
    """
    from scipy.special import stdtr, stdtrit

    if not margin > 0:
        raise SpanLabError(
            "the margin within which a difference counts as none must be declared, and above 0; without one there is no"
            " verdict"
        )
    if not se > 0:
        raise SpanLabError("a difference without a standard error cannot be tested")
    df = min(df, 1e9)
    p = max(float(stdtr(df, -(value + margin) / se)), float(stdtr(df, (value - margin) / se)))
    reach = float(stdtrit(df, 1 - alpha)) * se
    beyond = abs(value) - reach > margin
    verdict = "within the margin" if p < alpha else "beyond the margin" if beyond else "undecided"
    return Equivalence(value - reach, value + reach, p, verdict)


def equivalence_of_ends(difference: Contrast | Apart, margin: float, alpha: float = 1 - LEVEL) -> Equivalence:
    """:func:`equivalence` by an interval that is not Student's: of two that have no unit in common,
    or of shares near 0 and 1."""
    low, high = difference.ends(1 - 2 * alpha)
    two_sided = [difference.p(end) for end in (-margin, margin)]
    p = max(
        p / 2 if inside else 1 - p / 2
        for p, inside in zip(two_sided, (difference.value > -margin, difference.value < margin), strict=True)
    )
    return equivalence_from(low, high, p, margin, alpha)


def equivalence_from(low: float, high: float, p: float, margin: float, alpha: float = 1 - LEVEL) -> Equivalence:
    """The verdict that follows from an interval of 1 - 2 alpha and from the larger p of the two
    tests."""
    verdict = (
        "within the margin" if p < alpha else "beyond the margin" if low > margin or high < -margin else "undecided"
    )
    return Equivalence(low, high, p, verdict)


def bayes_factor(t: float, n_first: int, n_second: int = 0, *, scale: float = SCALE) -> float:
    """Return how much likelier a t value is if there is a difference than if there is none (JZS).

    Parameters
    ----------
    n_first : units; pairs, or those of one sample, where there is no second group
    n_second : units of a second, independent group
    scale : of the Cauchy prior of the standardised difference
    """
    if not scale > 0:
        raise SpanLabError("the scale of the prior must be above 0")
    n = n_first * n_second / (n_first + n_second) if n_second else float(n_first)
    df = n_first + n_second - 2 if n_second else n_first - 1
    if df < 1:
        raise SpanLabError("a t test needs at least two units")

    # g is inverse gamma (1/2, 1/2), so that the difference is Cauchy; its logarithm is integrated
    # over by the trapezoidal rule, which is as good as exact for a function so smooth that vanishes
    # at both ends
    wide = 1 + n * np.exp(_LOG_G) * scale**2
    log = (
        -0.5 * np.log(wide)
        - (df + 1) / 2 * np.log1p(t**2 / (wide * df))
        - 0.5 * math.log(2 * math.pi)
        - 0.5 * _LOG_G
        - np.exp(-_LOG_G) / 2
    )
    with np.errstate(over="ignore"):
        return float(np.exp(log + (df + 1) / 2 * math.log1p(t**2 / df)).sum() * (_LOG_G[1] - _LOG_G[0]))


def reliability(scored: Scored, *, value: str = "correct", level: float = LEVEL) -> pd.DataFrame:
    """Split-half reliability of people's means of a column in one paradigm, and where people came
    twice, the correlation of their sessions.

    Returns
    -------
    pandas.DataFrame
        :data:`RELIABILITY_COLUMNS`: ``r`` of the halves or sessions; ``whole`` is stepped up from
        halves; the interval is that of ``whole``.
    """
    rows = []
    items = scored.items[scored.items["participant"].astype(str).ne("") & scored.items[value].notna()]
    varied = [
        name
        for name in items.columns
        if name.startswith("factor_") or name in ("set_size", "list_length", "retention_steps")
    ]
    for agent, group in items.groupby("agent", sort=True, observed=True):
        trials = (
            group.groupby(["participant", "session", "unit_trial"], sort=True, observed=True)[value]
            .mean()
            .astype(float)
            .reset_index()
        )
        place = trials.groupby("participant", observed=True).cumcount()
        halves = trials.assign(part=place % 2).pivot_table(
            index="participant", columns="part", values=value, aggfunc="mean", observed=True
        )
        rows.append({"agent": str(agent), "score": value, "kind": "split half"} | _together(halves, True, level))
        levels = group.groupby("participant", observed=True)[varied].agg(
            lambda column: " ".join(sorted(map(str, column.unique())))
        )
        if len(levels.drop_duplicates()) > 1:
            rows[-1]["note"] = "; ".join(
                filter(
                    None,
                    [str(rows[-1]["note"]), "people had different conditions, which count as differences between them"],
                )
            )
        often = trials.groupby("participant", observed=True)["session"].nunique()
        again = trials[trials["participant"].isin(often[often > 1].index)]
        if len(again):
            number = again.groupby("participant", observed=True)["session"].rank(method="dense")
            twice = again.assign(part=number)[number <= 2].pivot_table(
                index="participant", columns="part", values=value, aggfunc="mean", observed=True
            )
            rows.append({"agent": str(agent), "score": value, "kind": "retest"} | _together(twice, False, level))
    return pd.DataFrame(rows, columns=[*RELIABILITY_COLUMNS])


def _together(table: pd.DataFrame, halves: bool, level: float) -> dict[str, object]:
    """The correlation of two columns over people."""
    from scipy.special import ndtri

    both = table.dropna().to_numpy(float)
    nothing: dict[str, object] = {
        "r": math.nan,
        "whole": math.nan,
        "low": math.nan,
        "high": math.nan,
        "n_people": len(both),
    }
    if both.shape[1:] != (2,) or len(both) < 4:
        return nothing | {"note": "a correlation over people needs at least four of them"}
    if np.ptp(both[:, 0]) == 0 or np.ptp(both[:, 1]) == 0:
        return nothing | {"note": "people do not differ: no correlation"}
    r = float(np.corrcoef(both.T)[0, 1])
    reach = float(ndtri((1 + level) / 2)) / math.sqrt(len(both) - 3)
    z = math.atanh(min(max(r, -0.999999), 0.999999))

    def stepped(one: float) -> float:
        return spearman_brown(one) if halves else one

    ends = [stepped(math.tanh(z + sign * reach)) for sign in (-1, 1)]
    return {
        "r": r,
        "whole": stepped(r),
        "low": ends[0],
        "high": ends[1],
        "n_people": len(both),
        "note": "" if len(both) >= 10 else "few people: rough",
    }


def spearman_brown(r: float, longer: float = 2.0) -> float:
    """The reliability of a test that is ``longer`` times as long (Spearman and Brown)."""
    return max(-1.0, longer * r / (1 + (longer - 1) * r)) if r > -1 else -1.0


def alike(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, margin: float) -> Equivalence:
    """Test whether two conditions of the same people are alike within a margin: :func:`equivalence`
    of their differences."""
    away = np.asarray(first, float) - np.asarray(second, float)
    return equivalence(float(away.mean()), float(away.std(ddof=1) / math.sqrt(len(away))), len(away) - 1, margin)
