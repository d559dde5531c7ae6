"""Sensitivity and criterion in a mixed-effects probit model, beside the logistic model of right
answers: equal-variance signal detection with random effects.

    probit P(first word said) = -criterion[agent, condition] + (1/2 or -1/2) x d'[agent, condition]
    + participant + participant x signal + ...

where the half is added where the first word was true (DeCarlo, 1998, Psychological Methods 3,
186-205). ``participant`` are differences in criterion, ``participant x signal`` those in
sensitivity; the others are as in :mod:`.mixed_model`. In a forced choice d' is divided by the
square root of 2. d' and criteria have a weak normal prior around 0 with standard deviation 3, so
that perfect cells have an end; standard deviations have that of :mod:`.laplace`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ..data.scoring import Scored
from ..data.unread import testable
from ..effects.conditions import question_of
from ..means.bootstrap import LEVEL
from ..planned import NOTHING, Planned
from .laplace import Fit, FitError, Probit, fit
from .mixed_contrasts import TESTED, asked_of, spelt, with_holm
from .mixed_model import Cells, sort_cells

PRIOR_SD = 3.0
COLUMNS = (
    "measure",
    "kind",
    "contrast",
    "first",
    "second",
    "condition",
    "estimate",
    "se",
    "low",
    "high",
    "df",
    "t",
    "p",
    "p_holm",
    "note",
)


@dataclass(frozen=True)
class SensitivityModel:
    """A model of one paradigm.

    Parameters
    ----------
    cells : the answers
    words : the first word, and the other
    forced : whether both alternatives are shown
    fit : None where there is none
    problem : why
    """

    cells: Cells | None
    words: tuple[str, str]
    forced: bool
    fit: Fit | None
    problem: str

    @property
    def formula(self) -> str:
        """The model in the notation of R."""
        if self.cells is None:
            return ""
        fixed = f"agent * {self.cells.by}" if self.cells.by else "agent"
        names = {
            "participant": "participant",
            "participant x condition": f"participant:{self.cells.by}",
            "participant x signal": "participant:signal",
            "session": "session:agent",
            "session x condition": f"session:agent:{self.cells.by}",
            "session x signal": "session:agent:signal",
            "wording": "wording:agent",
            "wording x condition": f"wording:agent:{self.cells.by}",
            "wording x signal": "wording:agent:signal",
            "item": "item",
            "item x agent": "item:agent",
            "trial as taken": "trial",
        }
        return " + ".join(
            [
                f'probit: said "{self.words[0]}" ~ ({fixed}) * signal',
                *(f"(1 | {names[one]})" for one in self.cells.components),
            ]
        )


def sensitivity_model(scored: Scored, paradigm: str, by: str | None = None) -> SensitivityModel:
    """Fit the model to one paradigm; where its questions are not answered by one of two words,
    ``problem`` says so.

    Parameters
    ----------
    by : the column of conditions, as for :func:`.mixed_model`

    Raises
    ------
    SpanLabError
        for a column that is not there.
    """
    part = scored.parts.get(paradigm)
    try:
        if part is None:
            raise SpanLabError(f"there are no scored answers to {paradigm}")
        words, of = question_of(part.items, (), paradigm, "model")
    except SpanLabError as error:
        return SensitivityModel(None, ("", ""), False, None, f"{error}.")
    rows = of.of_words(testable(part), {words[0]}, {words[1]}).items
    said = Scored(rows.assign(correct=rows["signal_response"]), part.intrusions, (), accept_unread=part.accept_unread)
    sorted_cells = sort_cells(said, paradigm, by, beside=("signal",))
    components = {name: sorted_cells.items[name].to_numpy() for name in sorted_cells.components}
    for name in ("participant", "session", "wording"):
        if name in components:
            unit = components[name]
            components[f"{name} x signal"] = np.where(
                unit >= 0, 2 * unit + sorted_cells.items["signal"].to_numpy(int), -1
            )
    cells = Cells(
        sorted_cells.paradigm,
        sorted_cells.by,
        sorted_cells.table,
        sorted_cells.items.assign(**components),
        tuple(components),
        sorted_cells.numeric,
        sorted_cells.notes,
    )
    if not len(cells.table) or (cells.items.groupby("cell")["signal"].nunique() < 2).any():
        why = (
            "only yardsticks answered"
            if not len(cells.table)
            else f"some {cells.by or 'agent'} has questions of one right answer only; d′ needs both"
        )
        return SensitivityModel(cells, words, of.kind == "forced choice", None, f"No model of sensitivity: {why}.")
    grouped = (
        cells.items.groupby(["cell", "signal", *cells.components], sort=True)["correct"]
        .agg(["sum", "size"])
        .reset_index()
    )
    where = np.eye(len(cells.table))[grouped["cell"].to_numpy()]
    half = np.where(grouped["signal"].to_numpy(bool), 0.5, -0.5)[:, None]
    model = Probit(
        grouped["sum"].to_numpy(float),
        grouped["size"].to_numpy(float),
        np.hstack([where * half, -where]),
        [grouped[name].to_numpy() for name in cells.components],
        prior_sd=PRIOR_SD,
    )
    try:
        return SensitivityModel(cells, words, of.kind == "forced choice", fit(model), "")
    except FitError as error:
        return SensitivityModel(cells, words, of.kind == "forced choice", None, f"No model of sensitivity: {error}.")


def sensitivity_contrasts(model: SensitivityModel, planned: Planned = NOTHING, level: float = LEVEL) -> pd.DataFrame:
    """d' and criterion of every cell, and the contrasts of d' and of the criterion that
    :mod:`.mixed_contrasts` computes for shares.

    Returns
    -------
    pandas.DataFrame
        :data:`COLUMNS`; intervals are 95 % each (Student's t with Satterthwaite's degrees of
        freedom), ``p_holm`` is corrected within a kind of a measure.
    """
    from scipy.special import stdtr, stdtrit

    if model.fit is None or model.cells is None:
        return pd.DataFrame(columns=[*COLUMNS])
    many, rows = len(model.cells.table), []
    for measure, start, scale in (
        ("d′", 0, 1 / math.sqrt(2) if model.forced else 1.0),
        ("side bias" if model.forced else "criterion", many, 1.0),
    ):
        for one in asked_of(model.cells):
            weights = np.zeros(2 * many)
            weights[start : start + many] = one.weights * scale
            estimate, df = float(weights @ model.fit.fixed), min(model.fit.degrees(weights), 1e9)
            se = float(np.sqrt(weights @ model.fit.covariance @ weights))
            reach = float(stdtrit(df, (1 + level) / 2)) * se
            row = {
                "measure": measure,
                "kind": one.kind,
                "contrast": spelt(one, model.cells),
                "first": one.first,
                "second": one.second,
                "condition": one.condition,
                "estimate": estimate,
                "se": se,
                "low": estimate - reach,
                "high": estimate + reach,
                "df": df,
                "note": "",
            }
            tested = one.kind in TESTED
            rows.append(row | ({"t": estimate / se, "p": 2 * float(stdtr(df, -abs(estimate / se)))} if tested else {}))
    return with_holm(pd.DataFrame(rows, columns=[*COLUMNS]), ["measure", "kind"], planned)
