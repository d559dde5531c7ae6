"""Known trials against fresh ones with the same levels: the difference of a model's shares of right
answers, and what it shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spanlab.analysis.stats import Margin, holm
from spanlab.core import SpanLabError, as_object

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.data import Data

#: Of sessions of which a larger share of replies could not be read, nothing is said.
WITHHELD = 0.20
_LEVEL = 0.05
BETTER, WORSE, NO_DIFFERENCE, ALIKE = (
    "better on the known trials",
    "worse on the known trials",
    "no difference shown",
    "alike within {}",
)

_FEWEST = 5


@dataclass(frozen=True, slots=True)
class StratifiedDifference:
    """The difference of two means within strata, with its standard error and degrees of freedom."""

    value: float
    se: float
    df: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return the limits of Student's interval."""
        from scipy.special import stdtrit

        reach = self.se * float(stdtrit(self.df, (1 + level) / 2))
        return self.value - reach, self.value + reach

    @property
    def p(self) -> float:
        """The two-tailed p value of no difference."""
        from scipy.special import stdtr

        return 2 * float(stdtr(self.df, -abs(self.value) / self.se))


@dataclass(frozen=True, slots=True)
class Contamination:
    """A model's known and fresh trials.

    Parameters
    ----------
    known, fresh : share of right answers, NaN where there are none
    trials : how many of each, repeats counted once
    unread : share of replies that could not be read, of each
    difference : of known and fresh trials with the same levels, with its error and degrees of
        freedom; None where nothing is tested
    p : Holm's, for all models that are tested together
    verdict : empty where nothing is said, and ``note`` says why
    """

    paradigm: str
    agent: str
    known: float
    fresh: float
    trials: tuple[int, int]
    unread: tuple[float, float]
    difference: StratifiedDifference | None = None
    p: float = math.nan
    verdict: str = ""
    note: str = ""


def stratified_difference(
    known: Mapping[str, np.ndarray], fresh: Mapping[str, np.ndarray]
) -> StratifiedDifference | None:
    """Return the difference over the strata that both have, each with the weight of its known
    trials; None where there are too few, or nothing varies.

    The variances within strata are those of each kind of trial, with Satterthwaite's degrees of
    freedom (Welch, 1947), or the same of both kinds (Student) where the error is larger then: a few
    trials that all came out right would else count as known exactly.
    """
    strata = [name for name in known if name in fresh]
    kinds = [[scores[name] for name in strata] for scores in (known, fresh)]
    counts = [sum(map(len, kind)) for kind in kinds]
    degrees = [count - len(strata) for count in counts]
    if not strata or min(counts) < _FEWEST or min(degrees) < 1:
        return None
    weights = np.array([len(scores) for scores in kinds[0]], dtype=float)
    weights /= weights.sum()
    means = [np.array([scores.mean() for scores in kind]) for kind in kinds]
    value = float(weights @ (means[0] - means[1]))
    squares = [sum(float(((scores - scores.mean()) ** 2).sum()) for scores in kind) for kind in kinds]
    shares = [float(weights**2 @ [1 / len(scores) for scores in kind]) for kind in kinds]
    each = [square / free * share for square, free, share in zip(squares, degrees, shares, strict=True)]
    same = sum(squares) / sum(degrees) * sum(shares)
    if not same > 0:
        return None
    if same > sum(each) * (1 + 1e-9):
        return StratifiedDifference(value, math.sqrt(same), sum(degrees))
    return StratifiedDifference(
        value,
        math.sqrt(sum(each)),
        sum(each) ** 2 / sum(part**2 / free for part, free in zip(each, degrees, strict=True)),
    )


def verdict_on(difference: StratifiedDifference, p: float, margin: Margin | None) -> str:
    """Say what a difference shows.

    Parameters
    ----------
    p : of no difference, corrected where several are tested
    """
    low, high = difference.interval(0.90)
    if margin is not None and -margin.scaled < low and high < margin.scaled:
        return ALIKE.format(margin.words)
    if p < _LEVEL:
        return BETTER if difference.value > 0 else WORSE
    return NO_DIFFERENCE


def contaminations(data: Data, margin: Margin | None = None, accept_unread: bool = False) -> list[Contamination]:
    """Return a row for each model that took known trials and fresh ones with their levels, by
    paradigm and name."""
    kinds = _kinds(data)
    items = data.scored.items
    items = items[items["session"].astype(str).isin(kinds)]
    if not len(items):
        return []
    which = [kinds[str(name)] for name in items["session"]]
    table = items.assign(
        _pair=[f"{pair}" for pair, _ in which], _fresh=[fresh for _, fresh in which], _stratum=_strata(items)
    )
    rows = [
        _compared(part, accept_unread) for _, part in table.groupby([table["paradigm"].astype(str), "_pair"], sort=True)
    ]
    corrected = holm([math.nan if row.difference is None else row.difference.p for row in rows])
    return [
        row if row.difference is None else replace(row, p=float(p), verdict=verdict_on(row.difference, p, margin))
        for row, p in zip(rows, corrected, strict=True)
    ]


def _kinds(data: Data) -> dict[str, tuple[str, bool]]:
    """For each session that can be compared the agent and source to which it belongs, and whether
    its trials are fresh."""
    from spanlab.sessions import read_session

    infos = {facts.name: read_session(facts.folder) for facts in data.sessions}
    fresh = {name: info for name, info in infos.items() if info.get("fresh_of")}
    found: dict[str, tuple[str, bool]] = {}
    for name, info in fresh.items():
        source = as_object(info["fresh_of"])
        others = [
            other
            for other, known in infos.items()
            if other not in fresh and _is_source(known, source) and _agent(known) == _agent(info)
        ]
        if others:
            pair = f"{info['agent']} {info['agent_settings_hash']} {source.get('sha256') or source.get('session')}"
            found |= dict.fromkeys(others, (pair, False)) | {name: (pair, True)}
    return found


def _agent(info: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(info["agent"]), str(info["agent_settings_hash"]), str(info["paradigm_hash"])


def _is_source(info: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
    """Return whether a session took the trials that others were made to differ from."""
    if "sha256" in source:
        return as_object(info.get("trials_from")).get("sha256") == source["sha256"]
    return source.get("session") in (info.get("like"), info.get("session"))


def _strata(items: pd.DataFrame) -> list[str]:
    """The levels of each row's trial."""
    names = [
        *(name for name in ("set_size", "list_length", "retention_steps") if name in items.columns),
        *(str(name) for name in items.columns if str(name).startswith("factor_")),
    ]
    names = [name for name in names if items.groupby("trial_id")[name].nunique().max() == 1]
    return (
        ["|".join(map(str, row)) for row in items[names].itertuples(index=False, name=None)]
        if names
        else [""] * len(items)
    )


def _compared(part: pd.DataFrame, accept_unread: bool) -> Contamination:
    """The row of one model in one paradigm, without a verdict."""
    trials = part.groupby(["_fresh", "_stratum", "trial_id"], observed=True)["correct"].mean()
    by_kind: list[dict[str, np.ndarray]] = [{}, {}]
    for key, scores in trials.groupby(level=[0, 1], observed=True):
        fresh, stratum = cast("tuple[bool, str]", key)
        by_kind[int(fresh)][stratum] = scores.to_numpy(float)
    known, new = by_kind
    means = [float(np.concatenate([*kind.values()]).mean()) if kind else math.nan for kind in by_kind]
    counts = sum(map(len, known.values())), sum(map(len, new.values()))
    unread = [float(part.loc[part["_fresh"] == kind, "outcome"].eq("invalid").mean()) for kind in (False, True)]
    plain = Contamination(
        paradigm=str(part["paradigm"].iloc[0]),
        agent=str(part["agent"].iloc[0]),
        known=means[0],
        fresh=means[1],
        trials=counts,
        unread=(unread[0], unread[1]),
    )
    if max(unread) > WITHHELD and not accept_unread:
        return replace(plain, note=f"{max(unread):.0%} of its replies could not be read")
    difference = stratified_difference(known, new)
    if difference is None:
        few = min(counts) < _FEWEST or not set(known) & set(new)
        return replace(
            plain,
            note=f"fewer than {_FEWEST} trials of a kind, or no level that both have" if few else "nothing varies",
        )
    return replace(plain, difference=difference)


def compared(
    paths: Sequence[Path], margin: Margin | None = None, accept_unread: bool = False
) -> tuple[list[Contamination], Sequence[str]]:
    """Load sessions and compare the known and fresh trials among them.

    Returns
    -------
    the rows, and what could not be read

    Raises
    ------
    SpanLabError
        when no model took both.
    """
    from spanlab.analysis.data import load

    data = load(paths, accept_unread=accept_unread)
    rows = contaminations(data, margin, accept_unread)
    if not rows:
        raise SpanLabError(
            "no agent took known trials (--like SESSION or --trials-from FILE) and, with the same settings, fresh ones"
            " (the same with --fresh)"
        )
    return rows, data.problems
