"""The figure of continuous report: a histogram of the errors of each person and model, with the
density of the fitted mixture; and the table of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError, in_number
from ..data.coding import column_named, mean_or_nan, records
from ..data.scoring import WHO, Scored, plural
from ..data.style import Look
from ..data.unread import unread_caption, with_unread
from ..effects.curves import overall
from ..means.bootstrap import LEVEL
from ..means.over_people import means_over_people
from ..stats.mixture import ENOUGH, Mixture, circular_mean_sd, fit_mixture, kappa_to_sd, mixture_limits
from .effect_figure import looks_of
from .figure import Computed, FigureDeclaration, Wish, chosen, lines
from .histogram_panels import (
    MOST,
    Panel,
    answers_of_bars,
    bars,
    heading_of,
    histogram_panels,
    in_a_row,
    line,
    notes_on_panels,
    split_by,
)

if TYPE_CHECKING:
    from ..data.loading import Data

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
    measures["mean_absolute_error"] = mean_or_nan(np.abs(errors))
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


NAME = "error_distribution"
#: Bars of a histogram, over the whole scale.
_BARS = 24
_POINTS = 181
#: By this column when no other is asked for and it is varied.
_USUAL = "set_size"
_METHOD = (
    "Errors of answered questions, in degrees of the scale. Line: the mixture of a von Mises distribution about the"
    f" right value and of uniform guesses (Zhang & Luck, 2008), by maximum likelihood, from {ENOUGH} answers on."
)
_SHOWN = (
    *("n_items", "n_missing", "mean_error", "sd_error", "mean_absolute_error"),
    *("two_p_guess", "two_p_guess_low", "two_p_guess_high", "two_sd", "two_sd_low", "two_sd_high", "note"),
)


@dataclass(frozen=True, kw_only=True)
class ComputedErrors(Computed):
    """Distributions of errors: a row for each person and model, and one for all people together."""


def compute_errors(data: Data, wish: Wish) -> ComputedErrors:
    """Distributions of errors in one paradigm.

    Raises
    ------
    SpanLabError
        when nothing was answered on a continuous scale, several paradigms have that and none was
        chosen, or there is no such column as ``by``.
    """
    paradigm = chosen(NAME, _unscaled, data, wish)
    part = data.scored.parts[paradigm]
    by = _columns(part, paradigm, wish)
    part = split_by(part, by)
    each = report_errors(part, by=by)
    if not len(each):
        raise SpanLabError(
            f"no figure {NAME}: {paradigm} has no {' and no '.join(by)} in questions that were answered on a continuous"
            " scale"
        )
    table = pd.concat([each, errors_over_people(each, by=by)], ignore_index=True)
    title = f"{data.titles[paradigm]}: errors"
    below = _METHOD + unread_caption(with_unread(overall(part)))
    notes = notes_on_panels(len(each))
    questions = asked_on_a_scale(part)
    half = float(questions["period"].max()) / 2
    unfitted = each[each["two_sd"].isna()]
    if len(unfitted):
        why = "; ".join(sorted(set(unfitted["note"].str.split("; ").str[0])))
        notes.append(
            f"{len(unfitted)} of {plural(len(each), 'distribution')} {in_number(len(unfitted), 'has', 'have')} no fit:"
            f" {why}."
        )
    return ComputedErrors(
        title=title,
        caption=below,
        table=table,
        shown=table[["agent", "participant", *by, *_SHOWN]],
        picture=lambda looks: _chart(questions, each.iloc[:MOST], by, looks, title, lines(below)),
        looks=looks_of(each),
        notes=notes,
        answers=answers_of_bars(questions, each.iloc[:MOST], by, "error", half),
    )


def _columns(part: Scored, paradigm: str, wish: Wish) -> tuple[str, ...]:
    if wish.by:
        return (column_named(part.items, wish.by, paradigm, f"figure {NAME} by {wish.by}"),)
    return (_USUAL,) if _USUAL in part.items.columns and part.items[_USUAL].nunique() > 1 else ()


def _unscaled(scored: Scored, paradigm: str) -> str:
    there = paradigm in scored.parts and len(asked_on_a_scale(scored.parts[paradigm])) > 0
    return "" if there else f"{paradigm} has no answers on a continuous scale."


def _lacking(scored: Scored, paradigm: str) -> tuple[str, ...]:
    return ("error", "period") if _unscaled(scored, paradigm) else ()


def _chart(
    questions: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str], agents: Sequence[Look], title: str, subtitle: str
) -> dict[str, Any]:
    """A panel for each row of the table: bars of its errors, and the density of its fit, both in
    answers a bar."""
    half = float(questions["period"].max()) / 2
    edges = np.linspace(-half, half, _BARS + 1)
    colours = {look.label: look.light for look in agents}
    keys = [*WHO, "participant", *by]
    errors = dict(iter(questions.groupby(keys, sort=True, observed=True, dropna=False)["error"]))
    panels: list[Panel] = []
    top = 1.0
    for row in records(rows):
        mine = errors[tuple(row[name] for name in keys)].dropna().to_numpy(float)
        marks = bars(mine, edges, "°") + _density(row, len(mine), edges)
        top = max([top, *(bar["count"] for bar in marks)])
        missing = f", {row['n_missing']:g} without" if row["n_missing"] else ""
        panels.append(
            Panel(heading_of(row, by), f"{plural(len(mine), 'answer')}{missing}", colours[row["agent"]], marks)
        )
    axes, pointed = ("error (degrees)", "answers"), ("error", "answers")
    return histogram_panels(
        panels,
        (-half, half),
        top * 1.05,
        wide=in_a_row(rows, by),
        axes=axes,
        tooltip=pointed,
        title=title,
        subtitle=subtitle,
    )


def _density(row: dict[Any, Any], many: int, edges: np.ndarray) -> list[dict[str, Any]]:
    """The fitted density in answers a bar; nothing where nothing was fitted."""
    mixture = two_components(row)
    if mixture is None:
        return []
    factor = 2 * math.pi / float(row["period"])
    at = np.linspace(edges[0], edges[-1], _POINTS)
    return line(at, mixture.density(at * factor) * factor * many * (edges[1] - edges[0]))


ERROR_DISTRIBUTION = FigureDeclaration(
    NAME,
    "errors of continuous reports",
    compute_errors,
    _unscaled,
    _lacking,
    line="errors on a continuous scale, with the fitted mixture of memory and guessing",
    answers="items",
    expected=("continuous_colour", "continuous_orientation"),
    by=True,
)
