"""How alike answerers are beyond slopes and means: distance of curves, errors on the same trials, and how alike people are among themselves.

Error consistency is Cohen's kappa of right and wrong on the same items (Geirhos, Meding & Wichmann, 2020, NeurIPS 33)::

    kappa = (observed - expected) / (1 - expected),   expected = a b + (1 - a)(1 - b)

with ``a`` and ``b`` the two proportions correct: 0 is what two independent answerers have, 1 the same errors. Nothing can be said where somebody is always
right or always wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import groups
from .look import GROUP_MEANS
from .resampling import LEVEL, RESAMPLES, Estimate, estimate, estimate_pooled
from .table import Scored, plural

if TYPE_CHECKING:
    import pandas as pd

#: Columns of :func:`error_consistency`.
KAPPA_COLUMNS = (
    *("paradigm", "agent", "other", "kappa", "low", "high", "observed", "expected"),
    *("unit", "n_units", "n_pairs", "n_trials", "n_items", "note"),
)
#: Columns of :func:`curve_distance`.
DISTANCE_COLUMNS = ("paradigm", "agent_kind", "agent", "against", "n_points", "r", "rmse", "note")
#: Fewer points than this have no correlation worth the name.
_POINTS = 3


def curve_distance(table: pd.DataFrame, by: Sequence[str], against: str = "") -> pd.DataFrame:
    """Pearson's correlation and root mean square difference of everybody's curve and people's, over the points that both have.

    Parameters
    ----------
    table : a table of an effect with published people among its rows
    by : the columns that span its points
    against : the ``agent`` who stands for people; published people when not given
    """
    import pandas as pd

    reference = table[table["agent"] == against] if against else table[table["agent_kind"] == GROUP_MEANS]
    rows = []
    for (kind, agent), own in table.drop(reference.index).groupby(["agent_kind", "agent"], sort=True):
        if kind == GROUP_MEANS:
            continue
        for name, theirs in reference.groupby("agent"):
            pair = own.merge(theirs, on=list(by), suffixes=("", "_theirs"))[["mean", "mean_theirs"]].dropna().astype(float)
            mine, people = pair["mean"].to_numpy(), pair["mean_theirs"].to_numpy()
            flat = len(pair) >= _POINTS and (np.ptp(mine) < 1e-12 or np.ptp(people) < 1e-12)
            note = "no points in common" if not len(pair) else f"only {plural(len(pair), 'point')}: no correlation" if len(pair) < _POINTS else ""
            rows.append(
                {
                    "paradigm": own["paradigm"].iloc[0],
                    "agent_kind": kind,
                    "agent": agent,
                    "against": name,
                    "n_points": len(pair),
                    "r": float(np.corrcoef(mine, people)[0, 1]) if len(pair) >= _POINTS and not flat else math.nan,
                    "rmse": float(np.sqrt(np.mean((mine - people) ** 2))) if len(pair) else math.nan,
                    "note": "a curve is flat: no correlation" if flat else note,
                }
            )
    return pd.DataFrame(rows, columns=list(DISTANCE_COLUMNS))


def kappa(both: Any, first: Any, second: Any, neither: Any) -> Any:
    """Cohen's kappa from how many items both, only the first, only the second and neither had right; NaN where it is undefined."""
    both, first, second, neither = (np.asarray(one, float) for one in (both, first, second, neither))
    total = both + first + second + neither
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = (both + first) / total, (both + second) / total
        expected = a * b + (1 - a) * (1 - b)
        varied = (a > 0) & (a < 1) & (b > 0) & (b < 1)
        return np.where(varied, ((both + neither) / total - expected) / (1 - expected), np.nan)[()]


def error_consistency(scored: Scored, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """Kappa of every pair of answerers, per paradigm, over the items of trials that both took (the same ``trial_id``).

    Several people are each paired with the other answerer: kappa is then the mean over pairs, and its interval resamples the pairs' people. One pair's interval
    resamples trials. Two answerers who are the same person or machine are no pair, but several people of one name (``People (n = 5)``) are paired among
    themselves. A trial that somebody took twice counts the first time.

    Returns
    -------
    pandas.DataFrame
        :data:`KAPPA_COLUMNS`; pairs without a common trial are not in it.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    items = scored.items[scored.items["trial_id"] != ""]
    for paradigm, own in items.groupby("paradigm", sort=True, observed=True):
        takers = _takers(own)
        pairs: dict[tuple[str, str], list[tuple[str, str, np.ndarray]]] = {}
        for (one, correct), (two, right) in combinations(takers, 2):
            if one == two:
                continue
            shared = correct.index.intersection(right.index, sort=False)
            if len(shared):
                counts = _counts(correct.loc[shared].to_numpy(float) == 1, right.loc[shared].to_numpy(float) == 1, shared)
                pairs.setdefault((one[0], two[0]), []).append((one[1], two[1], counts))
        for (agent, other), found in pairs.items():
            rows.append({"paradigm": paradigm, "agent": agent, "other": other} | _kappa_row(found, level, resamples, seed))
    return pd.DataFrame(rows, columns=list(KAPPA_COLUMNS))


def _takers(items: pd.DataFrame) -> list[tuple[tuple[str, str], pd.Series]]:
    """Everybody who took trials: name and person, and right or wrong by item (trial, question and position)."""
    keys = ["trial_id", "ask", "serial_position"]
    number, _ = groups(items, keys)
    trial, _ = groups(items, ["trial_id"])
    work = items[["agent", "participant", "correct"]].assign(_item=number, _trial=trial)
    work = work.assign(agent=work["agent"].astype(str), participant=work["participant"].astype(str))
    return [
        ((str(agent), str(person)), one.drop_duplicates("_item").set_index(["_trial", "_item"])["correct"])
        for (agent, person), one in work.groupby(["agent", "participant"], sort=True)
    ]


def _counts(one: np.ndarray, two: np.ndarray, items: pd.Index) -> np.ndarray:
    """For each trial how many items both, only the first, only the second and neither had right."""
    import pandas as pd

    trial, names = pd.factorize(items.get_level_values(0))
    return np.stack([np.bincount(trial[which], minlength=len(names)) for which in (one & two, one & ~two, ~one & two, ~one & ~two)], axis=1)


def _kappa_row(pairs: Sequence[tuple[str, str, np.ndarray]], level: float, resamples: int, seed: int) -> dict[str, Any]:
    sums = np.array([counts.sum(axis=0) for *_, counts in pairs], float)
    values = np.asarray(kappa(*sums.T), float).reshape(-1)
    totals = sums.sum(axis=1)
    a, b = (sums[:, 0] + sums[:, 1]) / totals, (sums[:, 0] + sums[:, 2]) / totals
    row = {"observed": float(np.mean((sums[:, 0] + sums[:, 3]) / totals)), "expected": float(np.mean(a * b + (1 - a) * (1 - b)))}
    if len(pairs) == 1:
        found = estimate_pooled(pairs[0][2], lambda counts: np.asarray(kappa(*counts.T), float), level=level, resamples=resamples, seed=seed)
        unit = "trial"
    else:
        found, unit = _over_people(pairs, values, level, resamples, seed)
    undefined = int(np.isnan(values).sum())
    always = "somebody was always right or always wrong"
    note = "" if not undefined else f"no kappa: {always}" if len(values) == 1 else f"{undefined} of {len(values)} pairs without kappa: {always}"
    return row | {
        "kappa": found.mean,
        "low": found.low,
        "high": found.high,
        "unit": unit,
        "n_units": found.n,
        "n_pairs": len(pairs),
        "n_trials": int(np.mean([len(counts) for *_, counts in pairs])),
        "n_items": int(np.mean(totals)),
        "note": note or ("no interval" if math.isnan(found.low) else ""),
    }


def _over_people(pairs: Sequence[tuple[str, str, np.ndarray]], values: np.ndarray, level: float, resamples: int, seed: int) -> tuple[Estimate, str]:
    """The mean over pairs. Its units are people: each person's mean kappa with everybody else."""
    members: dict[str, list[float]] = {}
    for (one, two, _), value in zip(pairs, values, strict=True):
        for person in {one, two} - {""}:
            members.setdefault(person, []).append(value)
    means = [float(np.mean(known)) for ones in members.values() if (known := [one for one in ones if not math.isnan(one)])]
    spread = estimate(means, proportion=False, level=level, resamples=resamples, seed=seed)
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if len(known) else math.nan
    return Estimate(len(means), mean, spread.sem, spread.low, spread.high, spread.interval), "participant"


def noise_ceiling(curves: pd.DataFrame, by: Sequence[str]) -> dict[str, float]:
    """How well one person's curve is foretold by that of all others: what a model could reach at most, given so few trials and such differences.

    Parameters
    ----------
    curves : a curve table with a row for each person and point: ``participant``, ``by`` and ``mean``
    by : the columns that span the points

    Returns
    -------
    dict
        ``people``; ``r`` and ``rmse``, means over people of the correlation and the root mean square difference of each person's curve and the mean of the
        others'; NaN for fewer than two people.
    """
    wide = curves.pivot_table(index=list(by), columns="participant", values="mean", observed=True).astype(float)
    found = [(r, rmse) for r, rmse in _left_out(wide.to_numpy())]
    correlations = [r for r, _ in found if not math.isnan(r)]
    return {
        "people": float(wide.shape[1]),
        "r": float(np.mean(correlations)) if correlations else math.nan,
        "rmse": float(np.mean([rmse for _, rmse in found])) if found else math.nan,
    }


def _left_out(wide: np.ndarray) -> Iterator[tuple[float, float]]:
    for person in range(wide.shape[1] if wide.shape[1] > 1 else 0):
        rest = np.delete(wide, person, axis=1)
        there = ~np.isnan(wide[:, person]) & ~np.isnan(rest).all(axis=1)
        if there.any():
            own, others = wide[there, person], np.nanmean(rest[there], axis=1)
            flat = len(own) < _POINTS or np.ptp(own) < 1e-12 or np.ptp(others) < 1e-12
            yield math.nan if flat else float(np.corrcoef(own, others)[0, 1]), float(np.sqrt(np.mean((own - others) ** 2)))
