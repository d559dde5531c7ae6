"""Confidence: receiver operating characteristics of questions that one of two words answers, for
each person and model, from ratings beside their answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ..data.coding import decoded
from ..data.ratings import in_steps
from ..data.scoring import WHO, Scored, plural
from ..means.bootstrap import LEVEL
from ..means.over_people import means_over_people
from ..stats.rated_detection import (
    ENOUGH,
    LEAST_LEVELS,
    RatingCounts,
    UnequalVariance,
    area_under_curve,
    fit_unequal_variance,
)
from ..stats.signal_detection import scale_of
from .conditions import question_of

#: Measures with intervals.
_MEASURED = ("auc", "d_a", "slope", "type2_auc")
#: Columns of a table of curves after who, ``participant`` and ``by``, and what they hold.
ROC_COLUMNS = {
    "n_signals": "rated answers to questions whose right answer was the first word",
    "n_others": "rated answers to all other questions",
    "n_missing": "questions without an answer or without a rating, which are left out of all this",
    **{
        f"{name}{end}": f"{meaning}{', its 95% interval' if end else ''}"
        for name, meaning in (
            ("auc", "area under the curve"),
            (
                "d_a",
                (
                    "distance of both distributions of the unequal-variance model; in a forced choice divided by the"
                    " square root of 2"
                ),
            ),
            ("slope", "slope of the line of z-scores: the standard deviation of others, divided by that of signals"),
        )
        for end in ("", "_low", "_high")
    },
    "criteria": (
        "criteria of the model from the most lenient on, in standard deviations of the distribution of others, whose"
        " mean is 0"
    ),
    "g2": "likelihood ratio of the model against the counts themselves",
    "df": "its degrees of freedom",
    "p": "its p value; small where the model does not fit",
    **{
        f"type2_auc{end}": (
            "area under the type-2 curve: how often a right answer was rated higher than a wrong"
            f" one{', its 95% interval' if end else ''}"
        )
        for end in ("", "_low", "_high")
    },
    "unit": "what intervals are over",
    "note": "what was not computed, and why",
}
#: Columns of a table of points after who, ``participant`` and ``by``, and what they hold.
POINT_COLUMNS = {
    "answer": "the answer of the criterion",
    "confidence": (
        "its rating; answers of the first word count from the highest rating down, then those of the other word from"
        " the lowest rating up"
    ),
    "false_alarms": "share of other questions that were answered so, or more surely with the first word",
    "hits": "the same share of questions whose right answer was the first word",
    "z_false_alarms": "z-score of false_alarms; empty for a share of 0 or 1",
    "z_hits": "z-score of hits; empty for a share of 0 or 1",
}


#: How areas and models are computed, for a Methods section.
ROC_METHOD = (
    "The area under the curve is the share of pairs of questions with and without a signal in which the first has more"
    " evidence (Bamber, 1975); its interval is taken on the logit with the variance of DeLong et al., 1988. Slope and"
    " d_a are those of signal detection with unequal variances, fitted to each person and model by maximum likelihood"
    f" (Dorfman & Alf, 1969) where there are {ENOUGH} rated answers of each kind; means over people have intervals over"
    " people."
)


@dataclass(frozen=True)
class Rated:
    """Questions that one of two words answers, with ratings.

    Parameters
    ----------
    items : with ``signal``, ``evidence`` (missing where there is no answer or no rating) and
        ``confidence``
    words : the word that names the signal, and the other
    forced : whether both alternatives are shown
    """

    items: pd.DataFrame
    words: tuple[str, str]
    forced: bool


def rated_questions(scored: Scored, paradigm: str) -> Rated:
    """The questions of a paradigm that one of two words answers, with the evidence of each answer.

    Raises
    ------
    SpanLabError
        with a sentence, where there are none, or none with ratings.
    """
    part = scored.parts.get(paradigm)
    if part is None or "confidence" not in part.items.columns or not part.items["confidence"].notna().any():
        raise SpanLabError(f"{paradigm} has no ratings of confidence")
    try:
        words, sensitivity = question_of(part.items, (), paradigm, "curve")
    except SpanLabError:
        raise SpanLabError(
            f"{paradigm} has ratings of confidence, but no questions answered with one of two words"
        ) from None
    items = in_steps(part.items)
    signal = (decoded(items["correct_answer"]) == words[0]).to_numpy(bool)
    first = (items["correct"].to_numpy(float) == 1) == signal
    answered = items["outcome"].eq("answered").to_numpy()
    strength = items["confidence"].to_numpy(float) + 1  # a scale may begin at 0
    evidence = np.where(answered, np.where(first, strength, -strength), np.nan)
    return Rated(items.assign(signal=signal, evidence=evidence), words, sensitivity.kind == "forced choice")


def roc_table(rated: Rated, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL) -> pd.DataFrame:
    """For each person and model: the area under the curve, the unequal-variance model, and the
    type-2 area, with intervals.

    Parameters
    ----------
    by : columns for each combination of which there is a row of its own

    Returns
    -------
    pandas.DataFrame
        ``who``, ``participant``, ``by`` and :data:`ROC_COLUMNS`; what is not computed is NaN, and
        ``note`` says why
    """
    keys = [*who, "participant", *by]
    rows = []
    for key, questions in rated.items.groupby(keys, sort=True, observed=True, dropna=False):
        row: dict[str, Any] = (
            dict(zip(keys, key, strict=True))
            | dict.fromkeys(ROC_COLUMNS, math.nan)
            | {
                "criteria": "",
                "unit": "question",
            }
        )
        rows.append(row | _of_one(questions, rated.forced, level))
    return pd.DataFrame(rows, columns=[*keys, *ROC_COLUMNS])


def _of_one(questions: pd.DataFrame, forced: bool, level: float) -> dict[str, Any]:
    """Everything of one row of the table but its keys."""
    known = questions[questions["evidence"].notna()]
    signal, evidence = known["signal"].to_numpy(bool), known["evidence"].to_numpy(float)
    many, others = int(signal.sum()), int((~signal).sum())
    measures: dict[str, Any] = {
        "n_signals": many,
        "n_others": others,
        "n_missing": len(questions) - len(known),
        "note": "",
    }
    right = known["correct"].to_numpy(float) == 1
    trials = known["unit_trial"].to_numpy()
    trials = trials if (trials >= 0).all() else None
    type2 = area_under_curve(known["confidence"].to_numpy(float), right, trials, level)
    measures |= {"type2_auc": type2.value, "type2_auc_low": type2.low, "type2_auc_high": type2.high}
    if not many or not others:
        return measures | {"note": "only one of the two answers was ever right: no curve"}
    area = area_under_curve(evidence, signal, trials, level)
    measures |= {"auc": area.value, "auc_low": area.low, "auc_high": area.high}
    counts = RatingCounts.of(evidence, signal)
    if min(many, others) < ENOUGH:
        few = (
            f"only {plural(min(many, others), 'rated answer')} of one kind: the model is fitted from {ENOUGH} of each"
            " kind on"
        )
        return measures | {"note": few}
    if len(counts.values) < LEAST_LEVELS:
        few = f"only {len(counts.values)} different answers with their ratings: the model needs {LEAST_LEVELS}"
        return measures | {"note": few}
    fitted = fit_unequal_variance(counts, level)
    if fitted is None:
        return measures | {"note": "the likelihood of the model has no peak: no fit"}
    return measures | _measures_of(fitted, forced)


def _measures_of(fitted: UnequalVariance, forced: bool) -> dict[str, Any]:
    scale = 1 / scale_of(forced)
    return {
        **{
            f"d_a{end}": value * scale
            for end, value in (("", fitted.d_a), ("_low", fitted.d_a_low), ("_high", fitted.d_a_high))
        },
        **{"slope": fitted.slope, "slope_low": fitted.slope_low, "slope_high": fitted.slope_high},
        "criteria": ", ".join(f"{criterion:.2f}" for criterion in fitted.criteria),
        **{"g2": fitted.g2, "df": fitted.df, "p": fitted.p},
    }


def roc_over_people(
    table: pd.DataFrame, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL
) -> pd.DataFrame:
    """Means over several people of each person's measures, with intervals over people;
    ``participant`` says how many they are.

    A measure is averaged over the people who have a value.

    Parameters
    ----------
    table : of :func:`roc_table`, by the same columns
    """
    return means_over_people(
        table,
        [*who, *by],
        [*ROC_COLUMNS],
        counts=("n_signals", "n_others", "n_missing"),
        measures={name: "auc" in name for name in _MEASURED},
        further=lambda people: {"criteria": ""},
        level=level,
    )


def roc_points(rated: Rated, *, who: Sequence[str] = WHO, by: Sequence[str] = ()) -> pd.DataFrame:
    """The points of the curve of each person and model, from the strictest criterion on: ``who``,
    ``participant``, ``by`` and :data:`POINT_COLUMNS`."""
    from scipy.special import ndtri

    keys = [*who, "participant", *by]
    rows = []
    for key, questions in rated.items.groupby(keys, sort=True, observed=True, dropna=False):
        known = questions[questions["evidence"].notna()]
        signal = known["signal"].to_numpy(bool)
        if not signal.any() or signal.all():
            continue
        counts = RatingCounts.of(known["evidence"].to_numpy(float), signal)
        for value, alarms, hits in zip(counts.values[:0:-1], *counts.points(), strict=True):
            row: dict[str, Any] = {
                "answer": rated.words[int(value < 0)],
                "confidence": abs(value) - 1,
                "false_alarms": alarms,
                "hits": hits,
            }
            for name in ("false_alarms", "hits"):
                row[f"z_{name}"] = float(ndtri(row[name])) if 0 < row[name] < 1 else math.nan
            rows.append(dict(zip(keys, key, strict=True)) | row)
    return pd.DataFrame(rows, columns=[*keys, *POINT_COLUMNS])


def model_of(row: Any, forced: bool) -> UnequalVariance | None:
    """The fitted model of a row of :func:`roc_table`; None where none was fitted."""
    if math.isnan(row["d_a"]):
        return None
    slope, d_a = float(row["slope"]), float(row["d_a"]) * scale_of(forced)
    return UnequalVariance(d_a * math.sqrt((1 + slope**2) / 2), slope)
