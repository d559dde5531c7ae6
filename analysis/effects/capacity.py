"""Number of items that are held: Cowan's K and Pashler's K from hits and false alarms of change
detection.

With N items, hit rate H (a change was called one) and false-alarm rate F (no change was called
one):

* Pashler (1988, Perception & Psychophysics 44, 369-378), for probes that show the whole display
  again: K = N (H - F) / (1 - F);
* Cowan (2001, Behavioral and Brain Sciences 24, 87-114), for probes of a single item: K = N (H -
  F).

K is never cut off at 0 or N: a value below 0 means that answers were worse than guessing, and a
guesser whose values below 0 were cut off would hold something. Pashler's K divides by 1 - F. Of few
trials the inverse of a rate is too large on average, and that of 0 is infinite: (m + 1) / (x + 1)
stands for it, with x correct rejections in m trials without a change, whose expectation is that of
the inverse but for F to the power of m + 1 (Chapman, 1951, University of California Publications in
Statistics 1, 131-160, for the inverse of a binomial count). Where that is large, or the interval
wider than N, these trials cannot tell K. Omitted and invalid answers are misses where something
changed; where nothing did, they are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import records
from ..data.scoring import WHO, Scored
from ..inference import claimed
from ..means.bootstrap import LEVEL, estimate_pooled
from ..means.cell_means import Cells, unit_means
from ..means.contrasts import contrast
from .curves import CURVE_COLUMNS, curve_frame, described

FORMULAS = ("Pashler", "Cowan")
#: From fewer trials than this, with or without a change, there is no K.
FEWEST = 8
#: Of fewer misses than this in all, the spread between units tells too little.
FEW_MISSES = 10
#: What the note of a K begins with that these trials cannot tell.
UNTOLD = "these trials cannot tell K"
#: Where somebody may have had no correct rejection by chance with a larger probability than this,
#: the inverse of their rate is not known.
_UNKNOWN = 0.05


def pashler_k(items: Any, hits: Any, false_alarms: Any, others: Any = None) -> Any:
    """Pashler's K from the number of items and the two rates; NaN where every answer was a false
    alarm.

    Parameters
    ----------
    others : how many trials had no change: K is then without the bias of few of them, and finite
    """
    items, hits, false_alarms = (np.asarray(values, float) for values in (items, hits, false_alarms))
    if others is not None:
        m = np.asarray(others, float)
        return (items * (1 - (1 - hits) * (m + 1) / (m * (1 - false_alarms) + 1)))[()]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(false_alarms < 1, items * (hits - false_alarms) / (1 - false_alarms), np.nan)[()]


def cowan_k(items: Any, hits: Any, false_alarms: Any, others: Any = None) -> Any:
    """Cowan's K from the number of items and the two rates; that of few trials has no bias."""
    return (np.asarray(items, float) * (np.asarray(hits, float) - np.asarray(false_alarms, float)))[()]


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"Pashler": pashler_k, "Cowan": cowan_k}


@dataclass(frozen=True)
class Capacity:
    """Estimator of the number of items that are held."""

    value = "correct"

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> dict[str, Cells]:
        """See :func:`capacity_cells`."""
        return capacity_cells(scored, who)

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """See :func:`capacity_of`."""
        return capacity_of(cells, level=level)


def capacity_cells(scored: Scored, who: Sequence[str] = WHO) -> dict[str, Cells]:
    """Hits and false alarms by set size and by whether something changed.

    Parameters
    ----------
    scored : with ``changed`` in its items, see :func:`.transforms.detections`
    """
    items = scored.items
    positive = np.where(items["changed"], items["correct"] == 1, items["correct"] == 0)
    return {
        "": unit_means(
            Scored(items.assign(_positive=positive.astype(float)), scored.intrusions, ()),
            ("set_size", "changed"),
            who=who,
            value="_positive",
        )
    }


def capacity_of(cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
    """K by set size, one row for each formula, from the cells of :func:`capacity_cells`.

    Where an answerer is several people (or a machine has many sessions), K is taken of each and
    averaged. Where units are trials, hits and false alarms are summed, and whole trials are
    resampled.
    """
    answers = cells[""]
    pairs: dict[tuple[Any, ...], dict[bool, int]] = {}
    keys = [name for name in answers.keys.columns if name != "changed"]
    for number, key in enumerate(records(answers.keys)):
        pairs.setdefault(tuple(key[name] for name in keys), {})[bool(key["changed"])] = number
    rows: list[dict[str, Any]] = []
    for key, pair in pairs.items():
        head = dict(zip(keys, key, strict=True))
        numbers = list(pair.values())
        counts = {
            name: sum(int(column[number]) for number in numbers)
            for name, column in answers.counts.items()
            if name != "oracle"
        }
        head |= counts | {"oracle": any(bool(answers.counts["oracle"][number]) for number in numbers), "chance": 0.0}
        rows += [head | {"formula": name} | _k(name, key[-1], answers, pair, level) for name in FORMULAS]
    return curve_frame(rows, [*keys[:-1], "formula", "set_size", *(name for name in CURVE_COLUMNS if name not in WHO)])


def _k(formula: str, size: float, cells: Cells, pair: dict[bool, int], level: float) -> dict[str, Any]:
    function = _FUNCTIONS[formula]
    nothing = {
        "unit": "",
        "n_units": 0,
        "mean": np.nan,
        "sem": np.nan,
        "low": np.nan,
        "high": np.nan,
        "interval": "none",
    }
    if len(pair) < 2:
        return nothing | {"note": f"no trials {'with' if True not in pair else 'without'} a change: no K"}
    unit = cells.unit[pair[True]]
    signals, others = cells.values[pair[True]], cells.values[pair[False]]
    trials = {changed: int((cells.many[number] * cells.trials[number]).sum()) for changed, number in pair.items()}
    if min(trials.values()) < FEWEST:
        return nothing | {
            "note": (
                f"{trials[True]} and {trials[False]} trials with and without a change: no K from fewer than {FEWEST}"
            )
        }
    if unit != "trial":
        each = _of_units(formula, size, cells, pair)
        return _judged(over_units(each.k, unit, size, each.least, level), formula, size, each.unknown)
    times = np.concatenate([cells.many[pair[True]], cells.many[pair[False]]])
    counts = np.zeros((len(signals) + len(others), 4))
    counts[: len(signals), 0], counts[: len(signals), 1] = signals, 1
    counts[len(signals) :, 2], counts[len(signals) :, 3] = others, 1

    def statistic(sums: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(function(size, sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3], sums[:, 3]))

    result = estimate_pooled(counts, statistic, many=times, level=level)
    note = "" if result.interval != "none" else f"no spread over {result.n} trials: no interval"
    row = {
        "unit": unit,
        "n_units": result.n,
        "mean": result.mean,
        "sem": result.sem,
        "low": result.low,
        "high": result.high,
        "interval": result.interval,
    }
    alarms = float(np.average(others, weights=cells.many[pair[False]]))
    if signals.min() == 1 and alarms < 1:  # every change was seen: the lower limit is that of so many hits
        seen = ((1 - level) / 2) ** (1 / trials[True])
        row |= {
            "low": float(np.fmin(result.low, function(size, seen, alarms, trials[False]))),  # false alarms vary, too
            "high": max(float(size), result.mean),
            "interval": "exact",
        }
        note = ""
    return _judged(row | {"note": note}, formula, size, alarms ** (trials[False] + 1))


@dataclass(frozen=True)
class _OfUnits:
    """K of each person or session at one set size.

    Parameters
    ----------
    ids, k : of those with trials of both kinds
    least : see :func:`least_variance`
    unknown : how probable it is on average that somebody has no correct rejection by chance
    """

    ids: np.ndarray
    k: np.ndarray
    least: float
    unknown: float


def _of_units(formula: str, size: float, cells: Cells, pair: Mapping[bool, int]) -> _OfUnits:
    shared, mine, theirs = np.intersect1d(cells.ids[pair[True]], cells.ids[pair[False]], return_indices=True)
    signals, others = cells.values[pair[True]][mine], cells.values[pair[False]][theirs]
    without = cells.trials[pair[False]][theirs]
    values = np.asarray(_FUNCTIONS[formula](np.full(len(shared), size), signals, others, without))
    unknown = float(np.mean(others ** (without + 1))) if len(shared) else 1.0
    return _OfUnits(shared, values, least_variance(signals, cells.trials[pair[True]][mine], others, formula), unknown)


def over_units(values: np.ndarray, unit: str, size: float, least: float = 0.0, level: float = LEVEL) -> dict[str, Any]:
    """The mean K over people or sessions. It is a share of the items, which nobody exceeds: where
    most are held, its interval is that of a share (Student's held about 90 of 100 where nearly all
    are held), and else Student's, since K may be below 0.

    Parameters
    ----------
    least : below which the variance of a share of the items is not taken to be, see
        :func:`least_variance`
    """
    values = values[np.isfinite(values)] / size
    mostly = bool(len(values)) and float(values.mean()) > 1 / 2
    mean = contrast([values], [np.arange(len(values))], np.ones(1), share=mostly)
    if mostly and 0 < mean.se**2 < least:
        mean = replace(mean, se=math.sqrt(least))
    row: dict[str, Any] = described(claimed("mean", {}, mean, unit), level)
    return row | {name: size * float(row[name]) for name in ("mean", "sem", "low", "high")}


def least_variance(hits: np.ndarray, trials: np.ndarray, alarms: np.ndarray, formula: str) -> float:
    """The variance of a mean K over the number of items if all answers were independent, with one
    hit and one miss more; 0 where misses are not few.

    Of people who hold nearly all items a few may happen to have missed as few changes as one
    another: without this, intervals held down to 91 %.
    """
    answers = float(len(trials)) ** 2 / float((1 / trials).sum()) if len(trials) else 0.0
    hit = float(hits.mean()) if len(hits) else 1.0
    if not answers or (1 - hit) * answers >= FEW_MISSES:
        return 0.0
    share = (hit * answers + 1) / (answers + 2)
    alarm = min(float(alarms.mean()), 0.9)
    return share * (1 - share) / answers / ((1 - alarm) ** 2 if formula == "Pashler" else 1.0)


def _judged(row: dict[str, Any], formula: str, size: float, unknown: float) -> dict[str, Any]:
    """A row whose interval contains its mean, and whose note says where these trials cannot tell K."""
    row |= (
        {"low": min(row["low"], row["mean"]), "high": max(row["high"], row["mean"])} if row["low"] == row["low"] else {}
    )
    why = ""
    if formula == "Pashler" and unknown > _UNKNOWN:
        why = "nearly every answer was that something changed"
    elif row["high"] - row["low"] > size:
        why = f"its interval is wider than from 0 to {size:g}"
    return row | {"note": "; ".join(filter(None, (f"{UNTOLD}: {why}" if why else "", row["note"])))}
