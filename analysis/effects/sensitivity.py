"""Sensitivity and bias along conditions: hits, false alarms, d' and criterion of questions with two
words; d' and side bias of choices between two sides.

Rates of 0 and 1 have no z-score: half an answer is added to both kinds (log-linear, see
:mod:`.signal_detection`). In a forced choice both alternatives are shown, so the same d' makes for
more right answers: d' = (z(H) - z(F)) / sqrt(2) with H and F how often the first side was said
where it was right and where it was wrong, which is sqrt(2) z(share of right answers) for somebody
without a side bias (Macmillan & Creelman, 2005, Detection Theory, chapter 7).

Half an answer pulls d' towards 0, the more the fewer questions there are. Measures that are
compared are therefore those of as many questions (:func:`.thinned_z`): the fewest that anybody has
of either kind in the compared conditions.

Where an answerer is several people, each has a d' of its own, and these are averaged. Where units
are trials, answers are summed, and the variance of d' and bias is that of Gourevitch and Galanter
(1967, Psychometrika 32, 25-33) at the corrected rates: each z(rate) has rate x (1 - rate) / ((n +
1) x density²). It is reckoned trial by trial, so that the several questions of a trial may be
answered right or wrong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..data.coding import decoded, mean_or_nan, records
from ..data.scoring import WHO, Scored
from ..inference import claimed
from ..means.bootstrap import LEVEL
from ..means.cell_means import Cells, unit_means
from ..means.contrasts import Contrast, contrast, over_both, questions_of
from ..stats.signal_detection import (
    NOISE,
    SIDES,
    SIGNALS,
    always_the_same,
    at_an_end,
    signal_of,
    thinned_z,
    without_interval,
)
from .curves import CURVE_COLUMNS, curve_frame, described, summary_of

Kind = Literal["detection", "forced choice"]
#: How many questions of signals and of others.
Numbers = tuple[int, ...]
#: Measures of each kind, in the order of their panels.
MEASURES: Mapping[Kind, tuple[str, ...]] = {
    "detection": ("d′", "criterion", "hits", "false alarms"),
    "forced choice": ("d′", "side bias"),
}
#: Columns of a table that stand beside every measure, and what they are.
RATES: Mapping[str, str] = {"hit_rate": "hits", "false_alarm_rate": "false alarms"}
#: Numbers of questions up to this many times the fewest are much the same.
_MUCH_THE_SAME = 1.25
#: With no sensitivity and no bias.
_NOTHING = {"d′": 0.0, "criterion": 0.0, "side bias": 0.0}


@dataclass(frozen=True)
class Sensitivity:
    """Estimator of measures of signal detection in cells; these have slopes and tests, too.

    Parameters
    ----------
    by : columns that span the cells: panels, then the horizontal axis; ``measure`` among them
        stands for the measures
    kind : of the question
    measures : of :data:`MEASURES`
    """

    by: tuple[str, ...]
    kind: Kind = "detection"
    measures: tuple[str, ...] = ("d′", "criterion")
    value = "signal_response"

    @property
    def _by(self) -> tuple[str, ...]:
        return tuple(name for name in self.by if name != "measure")

    def rows(self, scored: Scored) -> Scored:
        """The questions of this kind, by words that are known; ``signal`` says what was true,
        ``signal_response`` whether the answer was the signal."""
        pairs = SIDES if self.kind == "forced choice" else tuple(zip(SIGNALS, NOISE, strict=True))
        truth = decoded(scored.items["correct_answer"])
        if "record_transition" in scored.items.columns and scored.items["record_transition"].notna().any():
            return Scored(
                scored.items.iloc[:0].assign(signal=False, signal_response=0.0), scored.intrusions, scored.notes
            )  # one word for the answers of two tasks
        there = {str(word) for word in truth.dropna().unique()}
        if there - {word for pair in pairs for word in pair}:  # half of a pair belongs to a word that is not known
            pairs = tuple(pair for pair in pairs if there.issuperset(pair))
        return self.of_words(scored, {one for one, _ in pairs}, {other for _, other in pairs}, truth)

    def unsized_rows(self, scored: Scored) -> Scored:
        """The questions of this kind where neither sizes nor parts tell them apart, as one condition."""
        rows = self.rows(scored)
        sizes = rows.items[rows.items.columns.intersection(["set_size", "factor_part_size"])]
        unsized = rows.items.iloc[:0] if sizes.notna().any(axis=None) else rows.items
        return Scored(unsized.assign(questions="all"), rows.intrusions, rows.notes)

    def meaning(self, scored: Scored) -> str:
        """What a hit is in some questions, in a sentence; empty where several pairs of words answer."""
        words = {str(one) for one in decoded(scored.items["correct_answer"]).dropna().unique()}
        if len(words) != 2:
            return ""
        signal, other = signal_of(words)
        return f"A hit is “{signal}” where it is right, a false alarm “{signal}” where “{other}” is right."

    def of_words(self, scored: Scored, signals: set[str], others: set[str], truth: pd.Series | None = None) -> Scored:
        """The questions whose answer is one of some words, with ``signal`` and ``signal_response``.

        Who does not answer misses what was there, and is in no count where nothing was; in a forced
        choice, in none at all.
        """
        truth = decoded(scored.items["correct_answer"]) if truth is None else truth
        asked = truth.isin([*signals, *others])
        items, truth = scored.items[asked], truth[asked]
        signal = truth.isin(list(signals)).to_numpy(bool)
        right = items["correct"].to_numpy(float) == 1
        given = ~items["outcome"].isin(["omitted", "invalid"]).to_numpy()
        positive = np.where(signal, right, ~right).astype(float)
        counted = given | (signal & (self.kind == "detection"))
        return Scored(items.assign(signal=signal, signal_response=positive)[counted], scored.intrusions, scored.notes)

    def cells(self, scored: Scored, by: Sequence[str] = (), who: Sequence[str] = WHO) -> dict[str, Cells]:
        """The cells of :attr:`by`, each of signals or of other questions."""
        return {"": unit_means(scored, (*self._by, "signal"), who=who, value="signal_response")}

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The measures of every cell, from :meth:`cells`."""
        answers = cells[""]
        rows: list[dict[str, Any]] = []
        heads = [name for name in answers.keys.columns if name != "signal"]
        for key, pair in self.pairs(answers).items():
            head = dict(zip(heads, key, strict=True))
            numbers = [one for one in pair if one >= 0]
            counts: dict[str, Any] = {
                name: sum(int(column[one]) for one in numbers)
                for name, column in answers.counts.items()
                if name != "oracle"
            }
            counts["oracle"] = any(bool(answers.counts["oracle"][one]) for one in numbers)
            for name, what in RATES.items():
                counts[name] = self._mean(answers, pair, what)
            for measure in self.measures:
                measure_column = {"measure": measure} if "measure" in self.by else {}
                rows.append(
                    head
                    | counts
                    | measure_column
                    | {"chance": _NOTHING.get(measure, math.nan)}
                    | self._estimate(answers, pair, measure, level)
                )
        columns = [
            *(name for name in heads if name in WHO),
            *self.by,
            *(name for name in CURVE_COLUMNS if name not in WHO),
            *RATES,
        ]
        return curve_frame(rows, columns)

    def _mean(self, cells: Cells, pair: tuple[int, int], measure: str) -> float:
        """A rate alone: of people's own ones, or of summed answers."""
        if min(pair) < 0:
            return math.nan
        if cells.unit[pair[0]] != "trial":
            return mean_or_nan(self.each(cells, pair, measure)[0])
        return cells.mean(pair[measure != RATES["hit_rate"]])

    def pairs(self, cells: Cells) -> dict[tuple[Any, ...], tuple[int, int]]:
        """For each answerer and condition, the cells of signals and of other questions; -1 where
        there is none."""
        pairs_of_cells: dict[tuple[Any, ...], list[int]] = {}
        names = [name for name in cells.keys.columns if name != "signal"]
        for number, key in enumerate(records(cells.keys)):
            pairs_of_cells.setdefault(tuple(key[name] for name in names), [-1, -1])[0 if key["signal"] else 1] = number
        return {key: (one, other) for key, (one, other) in pairs_of_cells.items()}

    def _estimate(self, cells: Cells, pair: tuple[int, int], measure: str, level: float) -> dict[str, Any]:
        nothing = {
            "unit": "",
            "n_units": 0,
            "mean": math.nan,
            "sem": math.nan,
            "low": math.nan,
            "high": math.nan,
            "interval": "none",
        }
        if min(pair) < 0:
            return nothing | {"note": f"only one of the two answers was ever right: no {measure}"}
        unit, rates = cells.unit[pair[0]], measure in RATES.values()
        distinct = unit != "trial" or bool(cells.distinct[list(pair)].all())
        if rates and unit in ("trial", "wording"):
            return summary_of(cells, pair[measure != RATES["hit_rate"]], level=level)
        if unit in ("trial", "wording"):
            of = self.weighted(cells, [pair], np.ones(1), measure)
            row = described(claimed("mean", {}, of, unit, distinct=distinct), level)
            return row | ({"interval": "normal"} if unit == "trial" and row["interval"] == "t" else {})
        values, ids = self.each(cells, pair, measure)
        row = described(claimed("mean", {}, contrast([values], [ids], np.ones(1), share=rates), unit), level)
        ends = at_an_end(*self._counts(cells, pair)[0])
        if rates or row["interval"] == "none" or not ends.any():
            return row
        if reason := without_interval(ends, unit):
            return row | {"low": math.nan, "high": math.nan, "interval": "none", "note": reason}
        corrected = (
            f"{int(ends.sum())} of {len(ends)} {unit}s have a rate of 0% or 100%: their {measure} rests on the"
            " correction of rates"
        )
        return row | {"note": "; ".join(filter(None, (str(row["note"]), corrected)))}

    def each(
        self, cells: Cells, pair: tuple[int, int], measure: str, at: Numbers | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """A measure of each person (or session) who has both kinds of questions, and their numbers.

        Parameters
        ----------
        at : of how many questions, where it is to be compared (:meth:`fewest`)
        """
        counts, shared = self._counts(cells, pair)
        return self._function(measure, at)(*counts), shared

    def _counts(self, cells: Cells, pair: tuple[int, int]) -> tuple[list[np.ndarray], np.ndarray]:
        """Signals said and asked, others said and asked of each person who has both, and their
        numbers."""
        one, other = pair
        shared, mine, theirs = np.intersect1d(cells.ids[one], cells.ids[other], return_indices=True)
        counts = []
        for cell, at in ((one, mine), (other, theirs)):
            n = cells.trials[cell][at] * questions_of(cells, cell)
            counts += [cells.values[cell][at] * n, n]
        return counts, shared

    def asked(self, cells: Cells, pairs: Iterable[tuple[int, int]]) -> tuple[Numbers, Numbers]:
        """The fewest and the most signals and others that anybody was asked whose measure these
        cells have: one person, or a machine in all its trials."""
        fewest, most = [math.inf, math.inf], [0.0, 0.0]
        for pair in (one for one in pairs if min(one) >= 0):
            trial = cells.unit[pair[0]] == "trial"
            numbers = (
                [np.array([cells.many[cell].sum() * questions_of(cells, cell)]) for cell in pair]
                if trial
                else self._counts(cells, pair)[0][1::2]
            )
            for kind, of_kind in enumerate(numbers):
                if len(of_kind):
                    fewest[kind], most[kind] = (
                        min(fewest[kind], float(of_kind.min())),
                        max(most[kind], float(of_kind.max())),
                    )
        return tuple(max(1, round(number)) if math.isfinite(number) else 1 for number in fewest), tuple(
            map(round, most)
        )

    def compared_at(self, cells: Cells, pairs: Iterable[tuple[int, int]]) -> str:
        """A sentence about conditions whose numbers of questions differ; empty where they are much
        the same."""
        fewest, most = self.asked(cells, pairs)
        if all(least * _MUCH_THE_SAME >= many for least, many in zip(fewest, most, strict=True)):
            return ""
        return (
            f"compared as of {fewest[0]} and {fewest[1]} questions (the fewest of both kinds), since d′ of fewer is"
            " pulled more towards 0"
        )

    def weighted(
        self,
        cells: Cells,
        pairs: Sequence[tuple[int, int]],
        weights: np.ndarray,
        measure: str,
        *,
        at: Numbers | None = None,
        level: float = LEVEL,
    ) -> Contrast:
        """A weighted sum of a measure over some places: of people's own values, or of summed
        answers.

        Parameters
        ----------
        at : of how many questions; the fewest of any of these places when not given
        """
        at = at or self.asked(cells, pairs)[0]
        if (of_trials := cells.of_trials([number for pair in pairs for number in pair])) is not None:
            over_trials = self.weighted(of_trials, pairs, weights, measure, at=at, level=level)
            return over_both(
                self.weighted(replace(cells, over_trials={}), pairs, weights, measure, at=at, level=level), over_trials
            )
        if cells.unit[pairs[0][0]] != "trial":
            measured = [self.each(cells, pair, measure, at) for pair in pairs]
            return contrast([values for values, _ in measured], [ids for _, ids in measured], weights, level=level)
        numbers = [number for pair in pairs for number in pair]
        ids = np.unique(np.concatenate([cells.ids[number] for number in numbers]))
        counts, many = np.zeros((len(ids), 2 * len(numbers))), np.zeros(len(ids), np.int64)
        for place, number in enumerate(numbers):
            row, n = np.searchsorted(ids, cells.ids[number]), questions_of(cells, number)
            counts[row, 2 * place], counts[row, 2 * place + 1], many[row] = (
                cells.values[number] * n,
                n,
                cells.many[number],
            )
        _, strata = np.unique(
            counts[:, 1::2] > 0, axis=0, return_inverse=True
        )  # which questions a trial has is not an accident
        n = int(many.sum())
        sums, function = many @ counts, self._function(measure, at)
        value = float(sum(weight * function(*sums[4 * place : 4 * place + 4]) for place, weight in enumerate(weights)))
        varies = n > 1 and bool(((sums[::2] > 0) & (sums[::2] < sums[1::2])).any()) and math.isfinite(value)
        se = self._standard_error(counts, many, weights, measure, at) if varies else math.nan
        return Contrast(value, se, max(1.0, n - 1.0 - int(strata.max(initial=0))), n, 0, level)

    def _standard_error(
        self, counts: np.ndarray, many: np.ndarray, weights: np.ndarray, measure: str, at: Numbers
    ) -> float:
        """Of a weighted sum of z-scores of corrected rates, from what each trial adds to it; the
        added halves are counted as two answers more.

        Parameters
        ----------
        counts : of each kind of trial, pairs of columns: how often said, and how often asked
        weights : of the places, each of which has a pair of signals and one of others
        """
        from scipy.special import ndtri

        sums = many @ counts
        rate = (sums[::2] + 0.5) / (sums[1::2] + 1)
        slope = 1 / ((sums[1::2] + 1) * np.exp(-(ndtri(rate) ** 2) / 2) / math.sqrt(2 * math.pi))
        for kind, to in enumerate(at):  # of fewer questions, from one answer less to one more
            said, asked = sums[2 * kind :: 4], sums[2 * kind + 1 :: 4]
            ends = np.maximum(said - 1, 0), np.minimum(said + 1, asked)
            thinner = (thinned_z(ends[1], asked, to) - thinned_z(ends[0], asked, to)) / (ends[1] - ends[0])
            slope[kind::2] = np.where(asked > to, thinner, slope[kind::2])
        slope = np.kron(weights, self._signs(measure)) * slope
        adds = (counts[:, ::2] - rate * counts[:, 1::2]) @ slope
        return math.sqrt(float(many @ adds**2) + float((slope**2 * ((1 - rate) ** 2 + rate**2)).sum()) / 2)

    def _signs(self, measure: str) -> np.ndarray:
        """Return what z(H) and z(F) count in a measure."""
        if measure != "d′":
            return np.array([-0.5, -0.5])
        return np.array([1.0, -1.0]) / math.sqrt(2 if self.kind == "forced choice" else 1)

    def _function(self, measure: str, at: Numbers | None = None) -> Callable[..., np.ndarray]:
        """From signals said and asked, others said and asked, to a measure; as of so many
        questions, if these are given."""
        from scipy.special import ndtri

        def of(hits: Any, signals: Any, alarms: Any, others: Any) -> np.ndarray:
            with np.errstate(invalid="ignore", divide="ignore"):
                if measure in ("hits", "false alarms"):
                    return np.asarray(hits / signals if measure == "hits" else alarms / others)
                known = (signals > 0) & (others > 0)
                same = always_the_same(hits, signals, alarms, others) & (measure == "d′")
                if at is not None and bool(np.all(known)):
                    one, other = self._signs(measure)
                    z = thinned_z(hits, signals, at[0]), thinned_z(alarms, others, at[1])
                    return np.where(same, 0.0, one * z[0] + other * z[1])
                hit, alarm = (
                    ndtri(np.where(known, (count + 0.5) / (asked + 1), np.nan))
                    for count, asked in ((hits, signals), (alarms, others))
                )
            one, other = self._signs(measure)
            return np.where(same & known, 0.0, one * hit + other * alarm)

        return of
