"""Cells of N-back results: each measure of each agent at each N, with its standard error and
interval.

Independent units are the participants where an agent is several people, the sessions where a
machine took several that share a cell (seeds of a network, for one), the wordings where a chat
model had several, and the blocks otherwise; sessions and blocks can be asked for. Repeats are
averaged, block by block.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from ...core.agent_kinds import kind_named
from ..data.coding import with_whole
from ..data.scoring import SAME_TRIAL, UNIT_SESSION, WHO, WORDING, plural, unit_session
from ..data.unread import WITHHELD, may_be_unread
from ..means.bootstrap import FEW, LEVEL, RESAMPLES, MeanEstimate, estimate_pooled
from ..means.contrasts import estimate
from ..stats.signal_detection import always_the_same, detection
from .measures import COUNTS, LURE_COUNTS, OURS, Rules

Unit = Literal["auto", "block", "session", "wording", "participant"]

#: Means over blocks, within each unit and then across units.
AVERAGED = ("hit_rate", "false_alarm_rate", "accuracy", "dprime", "dprime_abs")
#: From counts summed over the blocks of a unit: d' and criterion of few items are far off, and
#: lures are few in any one block.
POOLED = ("dprime_pooled", "criterion_pooled", "lure_rate", "before_rate", "after_rate", "plain_rate")
MEASURES = (*AVERAGED, *POOLED)
_BETWEEN_0_AND_1 = ("accuracy", *(name for name in MEASURES if name.endswith("rate")))
#: Columns of a table of cells after who and ``by``.
CELL_COLUMNS = (
    "measure",
    "rules",
    "oracle",
    "unit",
    "n_units",
    "n_blocks",
    "n_items",
    "n_omitted",
    "n_invalid",
    "n_negative",
    "mean",
    "sd",
    "sem",
    "low",
    "high",
    "interval",
    "chance",
    "note",
)


def nback_cells(
    blocks: pd.DataFrame,
    by: Sequence[str] = ("n",),
    rules: Rules = OURS,
    *,
    who: Sequence[str] = WHO,
    measures: Sequence[str] = MEASURES,
    unit: Unit = "auto",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Every measure in every cell.

    Parameters
    ----------
    blocks : as from :func:`.measures.nback_blocks` or :func:`.measures.measured`, by the same rules
    by : columns that span the cells
    rules : of the blocks; they say which standard deviation is meant, and how pooled counts are
        corrected
    who : columns that tell agents apart
    measures : among :data:`MEASURES`. ``hit_rate``, ``false_alarm_rate``, ``accuracy``, ``dprime``
        (signed) and ``dprime_abs`` are means over blocks. ``dprime_pooled`` (signed),
        ``criterion_pooled``, ``lure_rate``, ``before_rate``, ``after_rate`` and ``plain_rate``
        (false alarms on lures, on lures that would match N-1 and N+1 back, and on other items) are
        computed from summed counts
    unit : what is independent; ``auto`` for participants where an agent is several people, sessions
        where a machine took several, else blocks
    level, resamples, seed : of the bootstrap

    Returns
    -------
    pandas.DataFrame
        ``who``, ``by`` and :data:`CELL_COLUMNS`, a row for each cell and measure that exists.
        ``n_negative`` counts units below 0. ``sd`` and ``sem`` have the degrees of freedom that the
        rules say; with blocks as units, ``sem`` of pooled measures is that of the bootstrap, and
        there is no ``sd``.
    """
    keys = [*who, *by]
    units = _units(blocks, who, by, unit)
    rows = []
    for key, cell in units.groupby(keys, sort=True, dropna=False) if len(units) else ():
        kind = str(cell["_kind"].iloc[0])
        common = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True)) | _described(cell, rules)
        cell = blocks_over_repeats(cell)
        for measure in measures:
            estimated = _pooled if measure in POOLED else _averaged
            estimates = estimated(cell, measure, kind, rules, level, resamples, seed)
            if estimates is not None:
                rows.append(
                    common
                    | {"measure": measure, "chance": _chance(cell, measure)}
                    | _row(*estimates, kind, rules, measure, _edge(cell, measure))
                )
    whole = [name for name in (*keys, *CELL_COLUMNS) if name == "n" or name.startswith("n_")]
    return with_whole(pd.DataFrame(rows, columns=[*keys, *CELL_COLUMNS]), whole)


def _units(blocks: pd.DataFrame, who: Sequence[str], by: Sequence[str], unit: Unit) -> pd.DataFrame:
    """The blocks with the unit that each belongs to, and what kind of unit it is (the same in all
    cells of an agent)."""
    session = "" if "session" not in blocks.columns else unit_session(blocks).fillna("")
    person = blocks.get("participant", pd.Series("", index=blocks.index)).fillna("")
    named = blocks.assign(_person=person, _session=session, _block=np.arange(len(blocks)).astype(str))

    def at_most(name: str, keys: Sequence[str]) -> pd.Series:
        return (
            named[name]
            .where(named[name] != "")
            .groupby([named[key] for key in keys], dropna=False)
            .transform("nunique")
        )

    persons = at_most("_person", who)
    together = (
        (at_most("_session", [*who, *by]) > 1).groupby([named[key] for key in who], dropna=False).transform("any")
    )
    several = np.where(named["_session"].astype(str).str.startswith(WORDING), "wording", "session")
    kind = (
        np.where(persons > 1, "participant", np.where(together & (persons == 0), several, "block"))
        if unit == "auto"
        else np.full(len(named), unit)
    )
    columns = {"participant": "_person", "session": "_session", "wording": "_session", "block": "_block"}
    return named.assign(
        _kind=kind,
        _unit=np.select(
            [kind == name for name in columns], [named[column] for column in columns.values()], named["_block"]
        ),
    )


def testable_blocks(blocks: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the N-back blocks that may be tested, as :func:`.testable` does for answers.

    Parameters
    ----------
    by : columns of conditions
    """
    if not {"n_invalid", "n_items", "agent_kind"} <= {*blocks.columns} or not len(blocks):
        return blocks
    talking = np.array([may_be_unread(kind_named(str(kind))) for kind in blocks["agent_kind"]], bool)
    unread = blocks["n_invalid"].astype(float).where(talking, 0.0)
    kept = np.ones(len(blocks), bool)
    for columns in (["agent"], ["agent", "session"], ["agent", *by]):
        keys = [blocks[name].astype(str) for name in columns if name in blocks.columns]
        kept &= (
            unread.groupby(keys).transform("sum")
            <= WITHHELD * blocks["n_items"].astype(float).groupby(keys).transform("sum")
        ).to_numpy()
    return blocks[kept]


def blocks_over_repeats(blocks: pd.DataFrame) -> pd.DataFrame:
    """Blocks of which each is there once in each wording: counts and measures are averaged over
    repeats. So identical repeats add nothing."""
    if SAME_TRIAL not in blocks.columns:
        return blocks
    alike = blocks.groupby(
        [*(name for name in WHO if name in blocks.columns), "n", UNIT_SESSION, SAME_TRIAL], sort=False
    ).ngroup()
    if not alike.duplicated().any():
        return blocks
    numbers = [name for name in blocks.select_dtypes("number").columns if name not in ("n", "unit_trial", SAME_TRIAL)]
    first = blocks[~alike.duplicated().to_numpy()]
    means = blocks[numbers].groupby(alike.to_numpy()).mean()
    return first.assign(**{str(name): means[name].to_numpy() for name in numbers})


def _described(cell: pd.DataFrame, rules: Rules) -> dict[str, object]:
    counted: dict[str, object] = {
        name: int(cell.get(name, pd.Series([0])).sum()) for name in ("n_omitted", "n_invalid")
    }
    items = cell["n_items"] if "n_items" in cell.columns else cell[list(COUNTS)].sum(axis=1)
    oracle = bool(cell.get("oracle", pd.Series([False])).any())
    return counted | {"rules": rules.name, "oracle": oracle, "n_blocks": len(cell), "n_items": int(items.sum())}


def _chance(cell: pd.DataFrame, measure: str) -> float:
    """Return the measures of a blind guesser: no sensitivity; hits and false alarms depend on how
    often it says that an item matches."""
    if measure in ("dprime", "dprime_pooled"):
        return 0.0
    return float(cell["chance"].mean()) if measure == "accuracy" and "chance" in cell.columns else math.nan


def _averaged(
    cell: pd.DataFrame, measure: str, kind: str, _: Rules, level: float, resamples: int, seed: int
) -> tuple[MeanEstimate, np.ndarray]:
    values = (cell[measure] if kind == "block" else cell.groupby("_unit")[measure].mean()).to_numpy(float)
    finite = np.where(np.isfinite(values), values, np.nan)
    return estimate(finite, proportion=measure in _BETWEEN_0_AND_1, level=level), values


def _pooled(
    cell: pd.DataFrame, measure: str, kind: str, rules: Rules, level: float, resamples: int, seed: int
) -> tuple[MeanEstimate, np.ndarray] | None:
    """Of summed counts; None where there is nothing to count, as lures in a record that does not
    tell them."""
    columns = _counted(measure)
    if any(name not in cell.columns for name in columns) or (
        measure in _BETWEEN_0_AND_1 and not cell[columns[0]].sum()
    ):
        return None
    statistic = _statistic(measure, rules)
    if kind == "block":
        counts = np.column_stack([cell[name].to_numpy(float) for name in columns])
        return _of_blocks(counts.tobytes(), measure, rules, level, resamples, seed), np.asarray(statistic(counts))
    values = np.asarray(statistic(cell.groupby("_unit")[list(columns)].sum().to_numpy(float)))
    return estimate(values, proportion=measure in _BETWEEN_0_AND_1, level=level), values


@functools.lru_cache(maxsize=4096)
def _of_blocks(counts: bytes, measure: str, rules: Rules, level: float, resamples: int, seed: int) -> MeanEstimate:
    """The estimate of a measure of summed counts. A page asks for the same one in several figures
    and tables."""
    rows = np.frombuffer(counts, float).reshape(-1, len(_counted(measure)))
    return estimate_pooled(rows, _statistic(measure, rules), level=level, resamples=resamples, seed=seed)


def _counted(measure: str) -> tuple[str, ...]:
    kind = measure.removesuffix("_rate")
    if kind == measure:
        return COUNTS
    whole, alarms = {
        "lure": LURE_COUNTS[:2],
        "before": LURE_COUNTS[2:4],
        "after": LURE_COUNTS[4:6],
        "plain": LURE_COUNTS[6:],
    }[kind]
    return whole, alarms


def _statistic(measure: str, rules: Rules) -> Callable[[np.ndarray], np.ndarray]:
    """From rows of counts to a number each."""
    if measure in _BETWEEN_0_AND_1:
        return lambda counts: np.where(counts[:, 0] > 0, counts[:, 1] / np.maximum(counts[:, 0], 1), np.nan)
    name = measure.removesuffix("_pooled")

    def of(counts: np.ndarray) -> np.ndarray:
        hits, misses, alarms, rejections = counts.T
        value = getattr(detection(*counts.T, correction=rules.correction), name)
        return np.where(
            always_the_same(hits, hits + misses, alarms, alarms + rejections) & (name == "dprime"), 0.0, value
        )

    return of


def _edge(cell: pd.DataFrame, measure: str) -> str:
    """Return which count is empty over all blocks, so that pooled d' and criterion stand for no
    rate that was observed."""
    if measure not in ("dprime_pooled", "criterion_pooled"):
        return ""
    return " and ".join(
        f"no {name.replace('_', ' ').removesuffix('es' if name == 'misses' else 's')}"
        for name in COUNTS
        if not cell[name].to_numpy().any()
    )


def _row(
    result: MeanEstimate, values: np.ndarray, kind: str, rules: Rules, measure: str, edge: str
) -> dict[str, object]:
    finite = values[np.isfinite(values)]
    summed = measure in POOLED and kind == "block"  # one number of all blocks; a single block may well have none
    sd, sem = math.nan, result.sem
    if not summed and len(finite) > rules.ddof:
        sd = float(finite.std(ddof=rules.ddof))
        sem = sd / math.sqrt(len(finite))
    notes = []
    if not summed and (lost := len(values) - len(finite)):
        notes.append(f"{plural(lost, kind)} without a value left out")
    if edge:
        notes.append(f"{edge}: its size is the correction's")
    if result.n == 0:
        notes.append("no value")
    elif result.n == 1:
        notes.append(f"one {kind}: no interval")
    elif result.interval == "none":
        notes.append(
            "no spread among resamples: no interval" if summed else f"all {plural(result.n, kind)} alike: no interval"
        )
    elif result.n < FEW:
        notes.append(f"only {plural(result.n, kind)}: rough interval")
    negative = int((finite < 0).sum()) if measure.startswith("dprime") else 0
    row = {"unit": kind, "n_units": result.n, "n_negative": negative, "mean": result.mean, "sd": sd, "sem": sem}
    return row | {"low": result.low, "high": result.high, "interval": result.interval, "note": "; ".join(notes)}
