"""Continuous report: the errors of answers, and the mixture models that are fitted to them, for
each person and model.

Errors are those of the record: signed degrees, the shorter way round. Answers that are missing have
none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..data.scoring import WHO, Scored, plural
from ..means.bootstrap import LEVEL
from ..means.over_people import means_over_people
from ..stats.mixture import COMPONENTS, ENOUGH, Mixture, Model, circular_mean_sd, fit_mixture, mixture_limits

#: Errors that spread less than this (circular standard deviation in degrees) are as good as none:
#: answers are whole degrees.
LEAST_SD = 1.0
#: A mixture must be more likely than guessing alone by this much (natural logarithm) for its
#: parameters to mean something.
MORE_LIKELY = 5.0
_MODELS: tuple[Model, ...] = ("two", "three")
_MEASURES = {model: (*COMPONENTS[model], "sd") for model in _MODELS}
_FITTED = tuple(f"{model}_{name}" for model in _MODELS for name in _MEASURES[model])
#: Columns of a table of errors after who, ``participant`` and ``by``.
ERROR_COLUMNS = (
    *("n_items", "n_missing", "period", "mean_error", "sd_error", "mean_absolute_error"),
    *(f"{name}{end}" for name in _FITTED for end in ("", "_low", "_high")),
    *("two_log_likelihood", "three_log_likelihood", "unit", "note"),
)


def report_errors(
    scored: Scored, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL, three: bool = True
) -> pd.DataFrame:
    """For each person and paradigm: circular mean and standard deviation of the errors, and the
    fitted mixtures of two and of three components.

    Parameters
    ----------
    by : columns for each combination of which there is a row of its own
    level : of the intervals, see :func:`..stats.mixture.mixture_limits`
    three : whether the model with swaps is fitted, too

    Returns
    -------
    pandas.DataFrame
        ``who``, ``participant``, ``by`` and :data:`ERROR_COLUMNS`: angles in degrees of the scale,
        weights as probabilities (``p_swap`` of all other items together); what is not fitted is
        NaN, and ``note`` says why
    """
    keys = [*who, "participant", *by]
    rows = []
    for key, questions in asked_on_a_scale(scored).groupby(keys, sort=True, observed=True, dropna=False):
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | dict.fromkeys(ERROR_COLUMNS, math.nan)
        rows.append(row | {"unit": "question"} | _of_one(questions, level, three))
    return pd.DataFrame(rows, columns=[*keys, *ERROR_COLUMNS])


def asked_on_a_scale(scored: Scored) -> pd.DataFrame:
    """The questions of continuous report, with ``error`` and ``period`` as numbers."""
    items = scored.items
    if "period" not in items.columns or "error" not in items.columns:
        return items.iloc[:0].assign(error=0.0, period=0.0)
    items = items.assign(
        **{name: pd.to_numeric(items[name], errors="coerce").astype(float) for name in ("error", "period")}
    )
    return items[items["period"] > 0]


def _of_one(questions: pd.DataFrame, level: float, three: bool) -> dict[str, Any]:
    """Everything of one row of the table but its keys."""
    answered = questions[questions["error"].notna()]
    measures: dict[str, Any] = {"n_items": len(answered), "n_missing": len(questions) - len(answered)}
    periods = questions["period"].unique()
    if len(periods) > 1:
        return measures | {"note": "answers on scales that repeat after different angles: not put together"}
    period = float(periods[0])
    factor = 2 * math.pi / period
    errors = answered["error"].to_numpy(float)
    mean, sd = circular_mean_sd(errors * factor)
    measures |= {"period": period, "mean_error": mean / factor, "sd_error": sd / factor}
    measures["mean_absolute_error"] = float(np.abs(errors).mean()) if len(errors) else math.nan
    if measures["sd_error"] < LEAST_SD:
        return measures | {"note": f"errors spread by less than {LEAST_SD:g}°: no distribution fitted"}
    notes: list[str] = []
    for model in _MODELS[: 2 if three else 1]:
        values, why = _fitted(model, errors * factor, answered, factor, level)
        measures |= {f"{model}_{name}": value for name, value in values.items()}
        if why and why not in notes:
            notes.append(why)
    return measures | {"note": "; ".join(notes)}


def _fitted(
    model: Model, errors: np.ndarray, answered: pd.DataFrame, factor: float, level: float
) -> tuple[dict[str, float], str]:
    """The measures of one model with their intervals, in degrees; or nothing, and why."""
    others, components = None, len(COMPONENTS[model])
    if model == "three":
        deviations = other_errors(answered)
        if deviations is None:
            return {}, "no non_targets recorded: no fit with swaps"
        if not np.isfinite(deviations).any(1).all():
            return {}, "displays of a single item: no fit with swaps"
        others = deviations * factor
    if len(errors) < ENOUGH[model]:
        return {}, f"only {plural(len(errors), 'answer')}: {components} components are fitted from {ENOUGH[model]} on"
    fitted = fit_mixture(errors, others)
    if fitted.log_likelihood + len(errors) * math.log(2 * math.pi) < MORE_LIKELY:
        guessing = dict.fromkeys(COMPONENTS[model], 0.0) | {"p_guess": 1.0}
        return guessing, "answers no better than guesses: guessing 1, no spread"
    if fitted.sd / factor < LEAST_SD:
        return {}, f"answers about the right value spread by less than {LEAST_SD:g}°: no fit"
    values = dict(zip(COMPONENTS[model], fitted.weights, strict=True)) | {
        "sd": fitted.sd / factor,
        "log_likelihood": fitted.log_likelihood,
    }
    ends = mixture_limits(errors, fitted, others, level)
    for name, (low, high) in ends.items():
        scale = 1 / factor if name == "sd" else 1.0
        values |= {f"{name}_low": low * scale, f"{name}_high": high * scale}
    return values, "" if math.isfinite(
        ends["sd"][0]
    ) else f"one of {components} components is as good as none: no intervals"


def other_errors(answered: pd.DataFrame) -> np.ndarray | None:
    """Answer minus the value of each of the other items, in degrees, a row for each answer, NaN
    where there are fewer; None where nobody recorded them."""
    if "non_targets" not in answered.columns or answered["non_targets"].isna().any():
        return None
    lists = [json.loads(text) if isinstance(text, str) else list(text) for text in answered["non_targets"]]
    given = pd.to_numeric(answered["answer"], errors="coerce").to_numpy(float)
    wide = max(map(len, lists), default=0)
    values = np.array([[*map(float, one), *[math.nan] * (wide - len(one))] for one in lists]).reshape(len(lists), wide)
    return given[:, None] - values


def errors_over_people(
    table: pd.DataFrame, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL
) -> pd.DataFrame:
    """Means over several people of each person's measures and fits, with intervals over people;
    ``participant`` says how many they are.

    A measure is averaged over the people who have a value.

    Parameters
    ----------
    table : of :func:`report_errors`, by the same columns
    """

    def further(people: pd.DataFrame) -> dict[str, float]:
        averages = {name: float(people[name].mean()) for name in ("mean_error", "sd_error", "mean_absolute_error")}
        return {"period": float(people["period"].iloc[0]), **averages}

    return means_over_people(
        table,
        [*who, *by],
        ERROR_COLUMNS,
        counts=("n_items", "n_missing"),
        measures={name: "_p_" in name for name in _FITTED},
        further=further,
        level=level,
    )


def two_components(row: Any) -> Mixture | None:
    """The two-component mixture of a row of :func:`report_errors`; None where none was fitted."""
    from scipy.optimize import brentq

    from ..stats.mixture import kappa_to_sd

    if math.isnan(row["two_sd"]):
        return None
    sd = float(row["two_sd"]) * 2 * math.pi / float(row["period"])
    kappa = float(brentq(lambda kappa: kappa_to_sd(kappa) - sd, 0.01, 20_000.0))  # type: ignore[arg-type]
    return Mixture(
        "two", (float(row["two_p_target"]), float(row["two_p_guess"])), kappa, float(row["two_log_likelihood"])
    )
