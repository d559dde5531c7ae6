"""How many items are held: Cowan's K and Pashler's K from hits and false alarms of change detection.

With N items, hit rate H (a change was called one) and false-alarm rate F (no change was called one):

* Pashler (1988, Perception & Psychophysics 44, 369-378), for probes that show the whole display again: K = N (H - F) / (1 - F);
* Cowan (2001, Behavioral and Brain Sciences 24, 87-114), for probes of a single item: K = N (H - F).

K is never cut off at 0 or N: a value below 0 means that answers were worse than guessing. Omitted and invalid answers are misses where something changed; where
nothing did, they are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.scoring import WHO, Scored
from ..means.bootstrap import LEVEL, RESAMPLES, estimate_pooled
from ..means.cell_means import Cells, Sums, unit_sums
from .curves import CURVE_COLUMNS, curve_frame, summary

if TYPE_CHECKING:
    import pandas as pd

FORMULAS = ("Pashler", "Cowan")


def pashler_k(items: Any, hits: Any, false_alarms: Any) -> Any:
    """Pashler's K from the number of items and the two rates; NaN where every answer was a false alarm."""
    items, hits, false_alarms = (np.asarray(values, float) for values in (items, hits, false_alarms))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(false_alarms < 1, items * (hits - false_alarms) / (1 - false_alarms), np.nan)[()]


def cowan_k(items: Any, hits: Any, false_alarms: Any) -> Any:
    """Cowan's K from the number of items and the two rates."""
    return (np.asarray(items, float) * (np.asarray(hits, float) - np.asarray(false_alarms, float)))[()]


def capacity_sums(scored: Scored, who: Sequence[str] = WHO) -> dict[str, Sums]:
    """The sums of hits and false alarms in a table, or in a part of one, by set size and by whether something changed.

    Parameters
    ----------
    scored : with ``changed`` in its items, see :func:`.transforms.detections`
    """
    items = scored.items
    answered = items["outcome"].eq("answered") | (items["outcome"] == "")
    items = items[answered | items["changed"]]
    positive = np.where(items["changed"], items["correct"] == 1, items["correct"] == 0)
    return {"": unit_sums(Scored(items.assign(_positive=positive.astype(float)), scored.intrusions, ()), ("set_size", "changed"), who=who, value="_positive")}


def capacity_of(cells: Mapping[str, Cells], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """K by set size, one row for each formula, from the cells of :func:`capacity_sums`.

    Where an answerer is several people (or a machine has many sessions), K is taken of each and averaged. Where units are trials, hits and false alarms are
    summed, and whole trials are resampled.
    """
    answers = cells[""]
    pairs: dict[tuple[Any, ...], dict[bool, int]] = {}
    keys = [name for name in answers.keys.columns if name != "changed"]
    for number, key in enumerate(answers.keys.to_dict("records")):
        pairs.setdefault(tuple(key[name] for name in keys), {})[bool(key["changed"])] = number
    rows: list[dict[str, Any]] = []
    for key, pair in pairs.items():
        head = dict(zip(keys, key, strict=True))
        numbers = list(pair.values())
        counts = {name: sum(int(column[number]) for number in numbers) for name, column in answers.counts.items() if name != "oracle"}
        head |= counts | {"oracle": any(bool(answers.counts["oracle"][number]) for number in numbers), "chance": 0.0}
        for formula in FORMULAS:
            rows.append(head | {"formula": formula} | _k(formula, key[-1], answers, pair, level, resamples, seed))
    return curve_frame(rows, [*keys[:-1], "formula", "set_size", *(name for name in CURVE_COLUMNS if name not in WHO)])


def _k(formula: str, size: float, cells: Cells, pair: dict[bool, int], level: float, resamples: int, seed: int) -> dict[str, Any]:
    function = pashler_k if formula == "Pashler" else cowan_k
    nothing = {"unit": "", "n_units": 0, "mean": np.nan, "sem": np.nan, "low": np.nan, "high": np.nan, "interval": "none"}
    if len(pair) < 2:
        return nothing | {"note": f"no trials {'with' if True not in pair else 'without'} a change: no K"}
    unit = cells.unit[pair[True]]
    signals, others = cells.values[pair[True]], cells.values[pair[False]]
    if unit != "trial":
        shared, mine, theirs = np.intersect1d(cells.ids[pair[True]], cells.ids[pair[False]], return_indices=True)
        values = np.asarray(function(np.full(len(shared), size), signals[mine], others[theirs]))
        lost = int(np.isnan(values).sum())
        row = summary(values, unit, level=level, resamples=resamples, seed=seed, proportion=False)
        return row | ({"note": f"no K for {lost} of {len(values)}: every answer was a false alarm"} if lost else {})
    times = np.concatenate([cells.many[pair[True]], cells.many[pair[False]]])
    counts = np.zeros((len(signals) + len(others), 4))
    counts[: len(signals), 0], counts[: len(signals), 1] = signals, 1
    counts[len(signals) :, 2], counts[len(signals) :, 3] = others, 1

    def statistic(sums: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(function(size, sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]))

    result = estimate_pooled(counts, statistic, many=times, level=level, resamples=resamples, seed=seed)
    note = "every answer was a false alarm: no K" if np.isnan(result.mean) else ""
    if not note and result.interval == "none":
        note = "one trial: no interval" if result.n == 1 else f"no spread over {result.n} trials: no interval"
    row = {"unit": unit, "n_units": result.n, "mean": result.mean, "sem": result.sem, "low": result.low, "high": result.high, "interval": result.interval}
    return row | {"note": note}
