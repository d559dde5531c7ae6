"""Which model is closest to people: how well its curve correlates with people's curves, as a share of how well these correlate with one another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.agent_kinds import PARTICIPANT, kind_named
from ..data.scoring import Scored, plural
from ..data.style import GROUP_MEANS
from ..effects.effect import Effect
from ..effects.registry import EFFECTS
from ..means.bootstrap import LEVEL, RESAMPLES, estimate_pooled
from ..means.cell_means import place_of
from ..stats.agreement import Crowd
from .comparison import crowd_of

if TYPE_CHECKING:
    import pandas as pd

#: Columns of :func:`fits`, a row for each model and paradigm.
FIT_COLUMNS = ("paradigm", "effect", "agent", "against", "n_people", "n_points", "r", "ceiling", "ceiling_low", "ceiling_high", "fit", "low", "high", "note")
#: Columns of :func:`standings`, a row for each model.
STANDING_COLUMNS = ("agent", "agent_kind", "fit", "low", "high", "n_paradigms", "paradigms", "note")
#: Fewer people than this have no ceiling that an interval can be given for.
_FEWEST = 3


def fits(scored: Scored, human: Mapping[str, str] | None = None, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """The fit of everybody who is not a yardstick to the people who were measured, in each paradigm, from the curve with the most points.

    Fit is the mean correlation of a model's curve with the curve of each person, divided by the mean correlation of each person's curve with the mean of the
    others (the lower noise ceiling of Nili et al., 2014): 1 is as near to people as their mean is to a person who is not in it. Intervals resample people.
    Where the interval of the ceiling reaches 0, people's curves have nothing in common that a model could fit, and there is no score.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    people = sorted(set(scored.items.loc[scored.items["agent_kind"] == PARTICIPANT.name, "agent"].astype(str)))
    for paradigm in scored.parts:
        for against in people:
            crowds = [(len(crowd.points), effect, crowd) for effect in EFFECTS if (crowd := _crowd(effect, scored, paradigm, against)) is not None]
            if crowds:
                _, effect, crowd = max(crowds, key=lambda one: one[0])
                table = effect.means(scored, paradigm, human=(human or {}).get(paradigm))
                rows += _rows(effect, table, crowd, paradigm, against, level, resamples, seed)
    return pd.DataFrame(rows, columns=[*FIT_COLUMNS, "agent_kind"])


def _crowd(effect: Effect, scored: Scored, paradigm: str, against: str) -> Crowd | None:
    if effect.by_choice or effect.missing(scored, paradigm):
        return None
    crowd = crowd_of(effect, scored, paradigm, against)
    return crowd if crowd is not None and len(crowd.points) >= 3 else None


def _rows(effect: Effect, table: pd.DataFrame, crowd: Crowd, paradigm: str, against: str, level: float, resamples: int, seed: int) -> list[dict[str, Any]]:
    shapes, ceiling = crowd.with_others()
    options: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    ceiling_estimate = estimate_pooled(_units(ceiling), lambda sums: sums[:, 0] / sums[:, 1], **options) if len(ceiling) else None
    rows = []
    for (agent, kind), part in table.groupby(["agent", "agent_kind"], sort=True, observed=True):
        if kind == GROUP_MEANS or agent == against or kind_named(str(kind)).yardstick:
            continue
        curve = {place_of(row, effect.by): float(row["mean"]) for row in part.dropna(subset=["mean"]).to_dict("records")}
        head = {"paradigm": paradigm, "effect": effect.name, "agent": agent, "agent_kind": kind, "against": against, "n_people": len(crowd.curves)}
        row: dict[str, Any] = head | {"n_points": sum(place in curve for place in crowd.points)} | dict.fromkeys(("r", "fit", "low", "high"), math.nan)
        row |= {"ceiling": math.nan, "ceiling_low": math.nan, "ceiling_high": math.nan} if ceiling_estimate is None else {}
        row |= (
            {} if ceiling_estimate is None else {"ceiling": ceiling_estimate.mean, "ceiling_low": ceiling_estimate.low, "ceiling_high": ceiling_estimate.high}
        )
        rows.append(row | _fit(curve, crowd, shapes, ceiling, row, options))
    return rows


def _fit(
    curve: Mapping[Any, float], crowd: Crowd, shapes: np.ndarray, ceiling: np.ndarray, row: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    if row["n_points"] < len(crowd.points):
        return {"note": "it lacks conditions that people have: no score"}
    if len(shapes) < _FEWEST:
        return {"note": f"{plural(len(shapes), 'person', 'people')} with a curve that is not flat: no ceiling, no score"}
    mine = np.array([curve[place] for place in crowd.points])
    mine = mine - mine.mean()
    size = float(np.linalg.norm(mine))
    if size < 1e-9:
        return {"note": "its curve is flat: no correlation, no score"}
    each = shapes @ (mine / size)
    scores_of = {"r": float(each.mean())}
    if not row["ceiling_low"] > 0:
        return scores_of | {"note": "the interval of the ceiling reaches 0: no score"}
    fit = estimate_pooled(np.column_stack([each, ceiling]), lambda sums: np.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], np.nan), **options)
    return scores_of | {"fit": fit.mean, "low": fit.low, "high": fit.high, "note": ""}


def _units(values: np.ndarray) -> np.ndarray:
    return np.column_stack([values, np.ones(len(values))])


def standings(fits_of: pd.DataFrame) -> pd.DataFrame:
    """The mean fit of each answerer over the paradigms in which it has a score, the best first.

    The limits are the means of the limits of these paradigms, as if all went up and down together: the same people may have taken them all, and the interval is
    then wide enough.
    """
    import pandas as pd

    rows = []
    for (agent, kind), group in fits_of.groupby(["agent", "agent_kind"], sort=True, observed=True):
        there = group[group["fit"].notna()]
        row: dict[str, Any] = {"agent": agent, "agent_kind": kind, "n_paradigms": len(there), "paradigms": ", ".join(there["paradigm"].astype(str))}
        row |= {name: float(there[name].mean()) if len(there) and there[name].notna().all() else math.nan for name in ("fit", "low", "high")}
        missed = group[group["fit"].isna()]
        rows.append(row | {"note": "; ".join(f"{one.paradigm}: {one.note}" for one in missed.itertuples(index=False))})
    table = pd.DataFrame(rows, columns=[*STANDING_COLUMNS])
    return table.sort_values("fit", ascending=False, kind="stable", na_position="last", ignore_index=True)
