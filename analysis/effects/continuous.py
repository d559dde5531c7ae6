"""Continuous report: the errors of answers, and the mixture that is fitted to them, for
each person and model.

Errors are those of the record: signed degrees, the shorter way round. Answers that are missing have
none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..data.scoring import WHO, Scored, plural
from ..means.bootstrap import LEVEL
from ..means.over_people import means_over_people
from ..stats.mixture import ENOUGH, Mixture, circular_mean_sd, fit_mixture, kappa_to_sd, mixture_limits

#: Errors that spread less than this (circular standard deviation in degrees) are as good as none:
#: answers are whole degrees.
LEAST_SD = 1.0
#: A mixture must be more likely than guessing alone by this much (natural logarithm) for its
#: parameters to mean something.
MORE_LIKELY = 5.0
_FITTED = ("two_p_guess", "two_sd")
#: Columns of a table of errors after who, ``participant`` and ``by``.
ERROR_COLUMNS = (
    *("n_items", "n_missing", "period", "mean_error", "sd_error", "mean_absolute_error"),
    *(f"{name}{end}" for name in _FITTED for end in ("", "_low", "_high")),
    *("two_log_likelihood", "unit", "note"),
)


def report_errors(
    scored: Scored, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL
) -> pd.DataFrame:
    """For each person and paradigm: circular mean and standard deviation of the errors, and the
    fitted mixture of what was remembered and guessed.

    Parameters
    ----------
    by : columns for each combination of which there is a row of its own
    level : of the intervals, see :func:`..stats.mixture.mixture_limits`

    Returns
    -------
    pandas.DataFrame
        ``who``, ``participant``, ``by`` and :data:`ERROR_COLUMNS`: angles in degrees of the scale; what is not fitted
        is NaN, and ``note`` says why
    """
    keys = [*who, "participant", *by]
    rows = []
    for key, questions in asked_on_a_scale(scored).groupby(keys, sort=True, observed=True, dropna=False):
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | dict.fromkeys(ERROR_COLUMNS, math.nan)
        rows.append(row | {"unit": "question"} | _of_one(questions, level))
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


def _of_one(questions: pd.DataFrame, level: float) -> dict[str, Any]:
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
    if len(errors) < ENOUGH:
        return measures | {"note": f"only {plural(len(errors), 'answer')}: a mixture is fitted from {ENOUGH} on"}
    fitted = fit_mixture(errors * factor)
    if fitted.log_likelihood + len(errors) * math.log(2 * math.pi) < MORE_LIKELY:
        return measures | {"two_p_guess": 1.0, "note": "answers no better than guesses: guessing 1, no spread"}
    if fitted.sd / factor < LEAST_SD:
        return measures | {"note": f"answers about the right value spread by less than {LEAST_SD:g}°: no fit"}
    measures |= {"two_p_guess": fitted.p_guess, "two_sd": fitted.sd / factor}
    measures["two_log_likelihood"] = fitted.log_likelihood
    ends = mixture_limits(errors * factor, fitted, level)
    for name, scale in (("p_guess", 1.0), ("sd", 1 / factor)):
        measures |= {f"two_{name}_low": ends[name][0] * scale, f"two_{name}_high": ends[name][1] * scale}
    lacking = math.isnan(ends["sd"][0])
    return measures | {"note": "one of 2 components is as good as none: no intervals" if lacking else ""}


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

    if math.isnan(row["two_sd"]):
        return None
    sd = float(row["two_sd"]) * 2 * math.pi / float(row["period"])
    kappa = float(brentq(lambda kappa: kappa_to_sd(kappa) - sd, 0.01, 20_000.0))  # type: ignore[arg-type]
    return Mixture(float(row["two_p_guess"]), kappa, float(row["two_log_likelihood"]))
