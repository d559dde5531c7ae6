"""The scores of a participant in a paradigm: each is a sentence, a unit, and a function of the rows
that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from spanlab.analysis.effects import cowan_k, pashler_k
from spanlab.analysis.stats import detection, fit_mixture

#: The rows of a participant in a paradigm: columns as arrays of the same length, among them
#: ``trial`` (a number for each trial).
Rows = Mapping[str, np.ndarray]
#: A mixture is fitted to at least so many answers.
FEWEST_REPORTS = 30


@dataclass(frozen=True)
class Measure:
    """A score of a participant.

    Parameters
    ----------
    name : of its column, after that of the paradigm
    says : what it is, in a sentence
    unit : of its values
    value : the score of some rows, NaN where they do not tell it
    resampled : whether halves of the trials and trials left out tell reliability and standard error
    """

    name: str
    says: str
    unit: str
    value: Callable[[Rows], float]
    resampled: bool = True


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _lists(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each list its length, the items at their right places, and whether the whole list was
    given without anything else."""
    _, first, trial = np.unique(rows["trial"], return_index=True, return_inverse=True)
    length = np.bincount(trial)
    right = np.bincount(trial, weights=rows["correct"])
    return length, right, (right == length) & (rows["edit_distance"][first] == 0)


def _unit(rows: Rows) -> float:
    length, right, _ = _lists(rows)
    return _mean(right / length)


def _load(rows: Rows) -> float:
    return _mean(rows["correct"])


def _all_or_nothing(rows: Rows) -> float:
    return _mean(_lists(rows)[2].astype(float))


def _absolute(rows: Rows) -> float:
    length, _, whole = _lists(rows)
    return float(length[whole].sum())


def _longest(rows: Rows) -> float:
    """The longest length of which at least half of the lists were recalled whole; 0 where there is
    none."""
    length, _, whole = _lists(rows)
    return float(max((one for one in np.unique(length) if whole[length == one].mean() >= 0.5), default=0))


def _share(rows: Rows) -> float:
    return _mean(rows["correct"])


def _share_of_trials(rows: Rows) -> float:
    """The mean over trials of the share of right answers in each, as on pages."""
    _, trial = np.unique(rows["trial"], return_inverse=True)
    return _mean(np.bincount(trial, rows["correct"]) / np.bincount(trial)) if len(trial) else np.nan


def _omitted(rows: Rows) -> float:
    return _mean(rows["omitted"])


def _time(share: float) -> Callable[[Rows], float]:
    def of(rows: Rows) -> float:
        times = rows["rt_ms"][(rows["correct"] == 1) & np.isfinite(rows["rt_ms"])]
        return float(np.quantile(times, share)) if len(times) else np.nan

    return of


def _counts(rows: Rows) -> tuple[int, int, int, int]:
    """Hits, misses, false alarms and correct rejections; who does not answer misses a signal, and
    is in no count where there was none."""
    signal, right, answered = rows["signal"] == 1, rows["correct"] == 1, rows["omitted"] == 0
    other = ~signal & answered
    return (
        int((signal & right).sum()),
        int((signal & ~right).sum()),
        int((other & ~right).sum()),
        int((other & right).sum()),
    )


def _detected(rows: Rows, name: str) -> float:
    hits, misses, alarms, rejections = _counts(rows)
    if not hits + misses or not alarms + rejections:
        return np.nan
    return float(getattr(detection(hits, misses, alarms, rejections), name))


def _k(formula: Callable[..., float]) -> Callable[[Rows], float]:
    def of(rows: Rows) -> float:
        """The mean of K over set sizes with both kinds of trials."""
        values = []
        for size in np.unique(rows["set_size"]):
            hits, misses, alarms, rejections = _counts(
                {name: column[rows["set_size"] == size] for name, column in rows.items()}
            )
            if hits + misses and alarms + rejections:
                others = alarms + rejections
                values.append(float(formula(size, hits / (hits + misses), alarms / others, others)))
        return _mean(np.array(values))

    return of


def _errors(rows: Rows) -> np.ndarray:
    """Errors of answers in radians of the whole circle."""
    known = np.isfinite(rows["error"])
    return rows["error"][known] * 2 * np.pi / rows["period"][known]


def _mixed(of: Callable[[Rows], float]) -> Callable[[Rows], float]:
    return lambda rows: of(rows) if len(_errors(rows)) >= FEWEST_REPORTS else np.nan


def _precision(rows: Rows) -> float:
    return float(np.degrees(fit_mixture(_errors(rows)).sd))


def _guesses(rows: Rows) -> float:
    return float(fit_mixture(_errors(rows)).p_guess)


def _difference(of: Callable[[Rows], float]) -> Callable[[Rows], float]:
    """A score of the rows of one level (``signal`` 1) minus that of the other's (0)."""

    def value(rows: Rows) -> float:
        one, other = ({name: column[rows["signal"] == level] for name, column in rows.items()} for level in (1, 0))
        return of(one) - of(other)

    return value


def _mean_time(rows: Rows) -> float:
    times = rows["rt_ms"][(rows["correct"] == 1) & np.isfinite(rows["rt_ms"])]
    return _mean(times)


#: By the value of an effect that a paradigm's file declares, its unit and its size in one person.
EFFECTS: Mapping[str, tuple[str, Callable[[Rows], float]]] = {
    "correct": ("share, -1 to 1", _difference(_share)),
    "rt_ms": ("ms", _difference(_mean_time)),
    "rt_median": ("ms", _difference(_time(0.5))),
    "d_prime": ("z", lambda rows: _detected(rows, "dprime")),
}
ACCURACY = (
    Measure(
        "accuracy",
        "Share of right answers, the mean over trials; omitted and invalid answers are wrong.",
        "share, 0 to 1",
        _share_of_trials,
    ),
    Measure(
        "omitted",
        "Share of questions without an answer in time, or with an answer that is not allowed.",
        "share, 0 to 1",
        _omitted,
    ),
)
TIMES = (
    Measure("rt_median", "Median reaction time of right answers.", "ms", _time(0.5)),
    Measure("rt_p10", "Reaction time below which a tenth of the right answers lies.", "ms", _time(0.1)),
    Measure(
        "rt_p90", "Reaction time below which nine tenths of the right answers lie: the slow tail.", "ms", _time(0.9)
    ),
)
LISTS = (
    Measure(
        "pcu",
        "Partial-credit unit score: mean over lists of the share of items at their right places (Conway et al., 2005).",
        "share, 0 to 1",
        _unit,
    ),
    Measure(
        "pcl",
        "Partial-credit load score: share of all items of all lists at their right places, so that long lists count"
        " more.",
        "share, 0 to 1",
        _load,
    ),
    Measure(
        "anu",
        "All-or-nothing unit score: share of lists that were recalled whole, in order.",
        "share, 0 to 1",
        _all_or_nothing,
    ),
    Measure(
        "absolute",
        "Absolute score: sum of the lengths of the lists that were recalled whole, in order.",
        "items",
        _absolute,
    ),
    Measure(
        "span",
        "Span: longest list length of which at least half of the lists were recalled whole; 0 where there is none.",
        "items",
        _longest,
    ),
)
DETECTION = (
    Measure(
        "d_prime",
        "d′ = z(H) − z(F), with half an answer added to each count (log-linear).",
        "z",
        lambda rows: _detected(rows, "dprime"),
    ),
    Measure(
        "criterion",
        "c = −(z(H) + z(F)) / 2; above 0 for somebody who rarely reports a signal.",
        "z",
        lambda rows: _detected(rows, "criterion"),
    ),
)
CAPACITY = (
    Measure("k_cowan", "Cowan's K = N (H − F), for probes of single items; mean over set sizes.", "items", _k(cowan_k)),
    Measure(
        "k_pashler",
        "Pashler's K = N (H − F) / (1 − F), without the bias of few trials, for whole displays; mean over set sizes.",
        "items",
        _k(pashler_k),
    ),
)
REPORT = (
    Measure(
        "error",
        "Mean size of errors of continuous reports, of a whole circle.",
        "degrees",
        lambda rows: _mean(np.abs(np.degrees(_errors(rows)))),
    ),
    Measure(
        "mixture_sd",
        "Standard deviation of remembered values, by a mixture of von Mises and uniform.",
        "degrees",
        _mixed(_precision),
        resampled=False,
    ),
    Measure(
        "mixture_guesses", "Share of guesses, by the same mixture.", "share, 0 to 1", _mixed(_guesses), resampled=False
    ),
    Measure(
        "mixture_answers",
        f"Answers it rests on; below {FEWEST_REPORTS} it is not fitted.",
        "answers",
        lambda r: len(_errors(r)),
        resampled=False,
    ),
)
PROCESSING = (
    Measure(
        "processing_accuracy",
        "Share of right decisions between the items of a complex span; omitted ones are wrong.",
        "share, 0 to 1",
        _share,
    ),
    Measure("processing_rt", "Median reaction time of right decisions between the items.", "ms", _time(0.5)),
)
