"""Tests whether an answerer is better than guessing: right answers against the best blind guess,
and sensitivity where a preference looks like knowledge.

The level to beat is what the record calls ``blind``, the share of right answers of somebody who has
not looked but knows how trials are made; where the record tells none, ``chance``, that of a uniform
guess. Shares are compared as they are (marginally), never on the log odds of a model.

* Several people: one-sample t-test of their own differences from that level. Where guessing leaves
  little to count (the number of right answers of all people has a variance below 10), or people do
  not vary: the exact test below.
* One person, or a machine: the exact distribution of the number of right answers of somebody who
  guesses (each answer right with its own level, by itself), with mid-p, whose size is closest to 5
  % on average. Where a chat model took the same trials in several wordings or repeats, each
  question counts once: the number is that of its mean over them, rounded, and of two words it is
  the one that was said more often. Who guesses is then found out less often than that.
* Where an answer is one of two words (``same`` and ``different``), a share above the level says
  little: whoever prefers the more frequent word has it. There the verdict is that of sensitivity:
  do answers depend on the truth at all? People: one-sample t-test of hit minus false-alarm rate.
  One person or a machine, and where one word is rare: Fisher's exact test with mid-p, within
  questions that have the same level. d' stands beside it, with an interval over people, over the
  sessions of a machine that took several, or over trials.

p values are two-sided, and Holm's within the answerers of a paradigm. Yardsticks (simulated
observers, guessing) are not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import decoded, records
from ..data.exclusions import SELECTED
from ..data.numbers import number, p_value
from ..data.scoring import SAME_TRIAL, UNIT_SESSION, Scored, over_repeats, same_trial, unit_session
from ..data.style import of_kinds
from ..data.unread import beside_shares, testable
from ..means.bootstrap import LEVEL, RESAMPLES, estimate, estimate_pooled
from .corrections import holm
from .signal_detection import SIDES, at_an_end, detection, without_interval

#: Columns of the table.
COLUMNS = (
    *("agent", "agent_kind", "unit", "n_units", "n_items", "share", "chance", "blind", "p_share", "p_share_holm"),
    *(
        "hit_rate",
        "false_alarm_rate",
        "dprime",
        "dprime_low",
        "dprime_high",
        "p_dprime",
        "p_dprime_holm",
        "verdict",
        "note",
    ),
)
#: Columns of the answers that an answerer is compared by.
_READ = (
    "agent",
    "agent_kind",
    "participant",
    "session",
    "unit_trial",
    "correct",
    "chance",
    "blind",
    "outcome",
    SELECTED,
)
#: Below this variance of the number of right answers that guessing gives, people's t-test has
#: another size than it says.
_FEW_EXPECTED = 10.0
#: Above so many answers the number of right ones is as good as normal.
_MANY = 20_000
#: Why somebody is not tested: whoever is left is right more often by choice.
CIRCULAR = "not tested: what was left out depended on how right it was"
#: Levels of guessing that differ by less are the same.
SAME = 0.005


@dataclass(frozen=True)
class GuessingVerdict:
    """Comparison of an answerer with guessing.

    Parameters
    ----------
    where : ``above``, ``below``, ``not told apart`` or ``not tested``
    against : ``chance``, ``blind`` (the best blind guess) or ``dprime`` (sensitivity)
    level : the share of right answers of that guess
    p : Holm's
    dprime : NaN where there is none
    """

    where: str
    against: str
    level: float
    p: float
    dprime: float

    @property
    def sentence(self) -> str:
        """The verdict in words, to follow a share in a sentence."""
        if self.where == "not tested":
            return ", not tested against guessing (what was left out depended on how right it was)"
        p_text = p_value(self.p)
        p = f"p {p_text}" if p_text.startswith("<") else f"p = {p_text}"
        place = "not distinguishable from" if self.where == "not told apart" else self.where
        if self.against == "dprime":
            result = "no d′: always the same answer" if math.isnan(self.dprime) else f"d′ {number(self.dprime, 1)}, {p}"
            return f", {place} guessing ({result})"
        name = "chance" if self.against == "chance" else "the best blind guess"
        return f", {place} {name} ({self.level:.0%}; {p})"


def against_guessing(
    scored: Scored, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Compare each answerer in one paradigm with guessing.

    Returns
    -------
    pandas.DataFrame
        :data:`COLUMNS` (and :data:`.BOUND_COLUMNS` where replies could not be read), a row for each
        answerer that is not a yardstick and whose chance is recorded. ``share``, ``chance`` and
        ``blind`` are means over units; ``verdict`` is ``above``, ``below``, ``not told apart`` or (where
        a rule on right answers left something out) ``not tested``,
        by Holm's p of sensitivity where there is one, else of the share.
    """
    items = testable(scored).items
    items = items[
        ~(of_kinds(items["agent_kind"], lambda kind: kind.yardstick) | items["oracle"]) & items["chance"].notna()
    ]
    items = _with_one_answer(items)
    signal = _signal(items)
    needed = items if SAME_TRIAL in items.columns else items[[name for name in _READ if name in items.columns]]
    rows = []
    for (agent, kind), answers in needed.groupby(["agent", "agent_kind"], sort=True, observed=True):
        row: dict[str, Any] = {"agent": str(agent), "agent_kind": str(kind), "note": ""} | _share(answers)
        if SELECTED in answers.columns and bool(answers[SELECTED].any()):
            row |= {"p_share": math.nan, "note": CIRCULAR}
        elif signal is not None:
            row |= _sensitivity(answers, signal.loc[answers.index].to_numpy(bool), level, resamples, seed)
        rows.append(row)
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    for name in ("p_share", "p_dprime"):
        table[f"{name}_holm"] = holm(table[name].to_numpy(float))
    return beside_shares(
        table.assign(verdict=[verdict_of(row).where for row in records(table)]), items.assign(paradigm="")
    )


def verdict_of(row: Any) -> GuessingVerdict:
    """The verdict of a row of the table."""
    better = row["blind"] > row["chance"] + SAME
    if not math.isnan(row["p_dprime"]):
        p, over, against = row["p_dprime_holm"], row["hit_rate"] > row["false_alarm_rate"], "dprime"
    else:
        p, over, against = row["p_share_holm"], row["share"] > row["blind"], "blind" if better else "chance"
    side = "above" if over else "below"
    if row["note"] == CIRCULAR:
        side = "not tested"
    elif not p < 1 - LEVEL:
        side = "not told apart"
    return GuessingVerdict(side, against, float(row["blind"]), float(p), float(row["dprime"]))


def _levels(answers: pd.DataFrame) -> np.ndarray:
    """Return the accuracy of the best known guess, item by item."""
    chance = answers["chance"].to_numpy(float)
    if "blind" not in answers.columns:
        return chance
    blind = answers["blind"].to_numpy(float)
    return np.where(np.isfinite(blind), blind, chance)


def _with_one_answer(items: pd.DataFrame) -> pd.DataFrame:
    """Where of two words the same one was right in all questions, whoever always says it is always
    right: that is the best blind guess, whatever the record says of others."""
    if "correct_answer" not in items.columns or len(items) < 2 or not np.allclose(items["chance"], 0.5):
        return items
    answers = decoded(items["correct_answer"])
    known = answers.notna().all() and answers.nunique() == 1 and isinstance(answers.iloc[0], str)
    return items.assign(blind=1.0) if known else items


def _several(names: pd.Series) -> bool:
    return len([name for name in names.dropna().unique() if str(name) != ""]) > 1


def _share(answers: pd.DataFrame) -> dict[str, Any]:
    """The share of right answers against the level of the best guess; averaged over trials, then
    over people."""
    levels = _levels(answers)
    people = _several(answers["participant"])
    trial = same_trial(answers).to_numpy(np.int64)
    known = bool((trial >= 0).all())
    unit = np.unique(answers["participant"].astype(str).to_numpy(object), return_inverse=True)[1] if people else trial
    means = np.stack([answers["correct"].to_numpy(float), answers["chance"].to_numpy(float), levels])
    if known and people:
        (unit, _), means = _averaged(means, [unit, trial])
    _, means = _averaged(means, [unit])
    correct, chance, level = means
    row: dict[str, Any] = {
        "unit": "participant" if people else "trial" if known else "answer",
        "n_units": len(level) if known or people else len(answers),
        "n_items": len(answers),
        "share": float(np.nanmean(correct)),
        "chance": float(np.nanmean(chance)),
        "blind": float(np.nanmean(level)),
    }
    away = correct - level
    if people and float((levels * (1 - levels)).sum()) >= _FEW_EXPECTED and np.ptp(away) > 1e-9:
        return row | {"p_share": t_test(away)}
    each = _each_question(answers)
    return row | {"p_share": exact(round(float(each["correct"].sum())), _levels(each))}


def _each_question(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers with one row for each question, whose ``correct`` is the mean over all wordings and
    repeats."""
    if SAME_TRIAL not in answers.columns:
        return answers
    return over_repeats(answers.assign(**{UNIT_SESSION: ""}))


def _averaged(values: np.ndarray, groups: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """The means of rows of values within groups, sorted by group; missing values are left out.

    Parameters
    ----------
    groups : whole numbers, which tell groups apart together

    Returns
    -------
    tuple
        the numbers of each group, and the means
    """
    order = np.lexsort([*groups[::-1]])
    starts = np.flatnonzero(np.any([np.append(True, np.diff(group[order]) != 0) for group in groups], axis=0))
    there = ~np.isnan(values[:, order])
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.where(there, values[:, order], 0.0), starts, axis=1) / np.add.reduceat(
            there.astype(np.int64), starts, axis=1
        )
    return [group[order][starts] for group in groups], means


def t_test(values: np.ndarray) -> float:
    """Two-sided p of a mean of 0."""
    from scipy.special import stdtr

    n = len(values)
    return float(2 * stdtr(n - 1, -abs(values.mean()) / (values.std(ddof=1) / math.sqrt(n))))


def exact(right: int, levels: np.ndarray) -> float:
    """Two-sided mid-p of a number of right answers, each of which is right with its own
    probability, by itself."""
    from scipy.special import ndtr

    known, many = np.unique(np.round(levels, 9), return_counts=True)
    sd, away = math.sqrt(float(many @ (known * (1 - known)))), right - float(many @ known)
    if sd == 0:
        return 1.0 if abs(away) < 1e-6 else 0.0
    if len(levels) <= _MANY:
        turns = np.exp(2j * np.pi * np.arange(len(levels) + 1) / (len(levels) + 1))
        logs = sum(
            (times * np.log(1 - share + share * turns + 1e-300) for share, times in zip(known, many, strict=True)),
            np.zeros(len(turns), complex),
        )
        p = _two_sided(np.clip(np.fft.fft(np.exp(logs)).real / len(turns), 0, None), right)
        if p > 1e-9:  # below, it is rounding
            return p
    return float(2 * ndtr(-abs(away) / sd))


def _two_sided(chances: np.ndarray, at: int) -> float:
    low = float(chances[:at].sum() + chances[at] / 2)
    return min(1.0, 2 * min(low, float(chances[at + 1 :].sum() + chances[at] / 2)))


def _signal(items: pd.DataFrame) -> pd.Series | None:
    """Of questions with two words as answers, whether the truth is the second one; None for other
    questions."""
    if "correct_answer" not in items.columns or not len(items) or not np.allclose(items["chance"], 0.5):
        return None
    answers = decoded(items["correct_answer"])
    words = sorted({answer for answer in answers.dropna().unique() if isinstance(answer, str)})
    if answers.isna().any() or len(words) != 2 or answers.nunique() != 2 or set(words) in map(set, SIDES):
        return None
    return answers == words[1]


def _sensitivity(answers: pd.DataFrame, signal: np.ndarray, level: float, resamples: int, seed: int) -> dict[str, Any]:
    """d' and the test of whether answers depend on the truth; which of the two words is the signal
    does not matter."""
    given = ~answers["outcome"].isin(["omitted", "invalid"]).to_numpy()  # who says nothing says neither word
    answers, signal = answers[given], signal[given]
    right = answers["correct"].to_numpy(float) == 1
    response = np.where(signal, right, ~right)
    if not (signal.any() and (~signal).any()):
        return {"note": "no d′: there was only one right answer"}
    counts = np.stack([signal & response, signal & ~response, ~signal & response, ~signal & ~response], axis=1).astype(
        float
    )
    people = _several(answers["participant"])
    own = unit_session(answers)
    sessions = not people and (answers["participant"].astype(str) == "").all() and _several(own)
    unit = (answers["participant"] if people else own if sessions else same_trial(answers)).to_numpy()
    if not (people or sessions) and (unit < 0).any():
        unit = np.arange(len(answers))
    each = pd.DataFrame(counts).groupby(unit).sum().to_numpy()
    total = counts.sum(axis=0)
    row: dict[str, Any] = {"hit_rate": total[0] / total[:2].sum(), "false_alarm_rate": total[2] / total[2:].sum()}
    whose = unit if people else np.zeros(len(answers))
    said = _each_question(answers.assign(correct=response.astype(float), _signal=signal, _whose=pd.factorize(whose)[0]))
    p = p_depends(
        said["correct"].to_numpy(float) > 0.5,
        said["_signal"].to_numpy(bool),
        [said["_whose"].to_numpy(), np.round(_levels(said), 6)],
    )
    both = each[(each[:, :2].sum(axis=1) > 0) & (each[:, 2:].sum(axis=1) > 0)]
    if people:
        rates = both[:, 0] / both[:, :2].sum(axis=1) - both[:, 2] / both[:, 2:].sum(axis=1)
        row |= {
            "hit_rate": float((both[:, 0] / both[:, :2].sum(axis=1)).mean()),
            "false_alarm_rate": float((both[:, 2] / both[:, 2:].sum(axis=1)).mean()),
        }
        rare = min(response.sum(), (~response).sum())
        if len(rates) > 1 and np.ptp(rates) > 1e-9 and rare >= _FEW_EXPECTED:
            p = t_test(rates)
    if people or sessions:
        dprime = estimate(detection(*both.T).dprime, proportion=False, level=level)
        ends = at_an_end(both[:, 0], both[:, :2].sum(axis=1), both[:, 2], both[:, 2:].sum(axis=1))
        if reason := without_interval(ends, "participant" if people else "session"):
            dprime = replace(dprime, low=math.nan, high=math.nan)
            row |= {"note": f"d′: {reason}"}
    else:
        dprime = estimate_pooled(
            each, lambda sums: np.asarray(detection(*sums.T).dprime), level=level, resamples=resamples, seed=seed
        )
    if response.all() or not response.any():
        return row | {"p_dprime": 1.0, "note": "always the same answer: no d′"}
    return row | {"dprime": dprime.mean, "dprime_low": dprime.low, "dprime_high": dprime.high, "p_dprime": p}


def p_depends(response: np.ndarray, signal: np.ndarray, strata: Sequence[np.ndarray]) -> float:
    """Two-sided mid-p of Fisher's exact test within strata: whether responses depend on the truth,
    whatever word somebody prefers."""
    from scipy.special import gammaln

    stratum = np.zeros(len(response), np.int64)
    for codes in (np.unique(one, return_inverse=True)[1] for one in strata):
        stratum = stratum * (int(codes.max(initial=0)) + 1) + codes
    stratum = np.unique(stratum, return_inverse=True)[1]
    sums = [
        np.bincount(stratum, weights=which) for which in (np.ones(len(response)), response, signal, response & signal)
    ]
    chances, least, at = np.ones(1), 0, 0
    for n, many, signals, both in np.stack(sums, axis=1).astype(int):
        low, high = max(0, many + signals - n), min(many, signals)
        k = np.arange(low, high + 1)
        logs = -(
            gammaln(k + 1) + gammaln(signals - k + 1) + gammaln(many - k + 1) + gammaln(n - signals - many + k + 1)
        )
        here = np.exp(logs - logs.max())
        chances = np.convolve(chances, here / here.sum())
        least, at = least + low, at + both
    return _two_sided(chances, at - least)
