"""The curves of all answerers beside people's, over all effects: distances from people, and the
noise ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ..data.coding import records
from ..data.scoring import WHO, Scored
from ..data.style import GROUP_MEANS
from ..data.unread import beside_shares, testable
from ..effects.effect import Effect, ready
from ..effects.registry import EFFECTS
from ..means.cell_means import place_of, unit_means
from ..stats.agreement import Crowd, curve_distance

#: Columns of :func:`distances`.
COLUMNS = (
    *(
        "paradigm",
        "effect",
        "agent",
        "against",
        "n_people",
        "n_points",
        "r",
        "r_low",
        "r_high",
        "ceiling_low",
        "ceiling_high",
        "rmse",
        "note",
    ),
)


def distances(scored: Scored, human: Mapping[str, str] | None = None, against: str = "") -> pd.DataFrame:
    """Correlation and root mean square difference between each answerer's curve and people's, for
    every effect and paradigm that both have.

    People who were measured are taken one by one, and their noise ceiling stands beside; of
    published people there are only means.

    Parameters
    ----------
    human : for each paradigm the name of the published human data that belong to it
    against : the ``agent`` who stands for people; published people when not given
    """
    scored = testable(scored)
    parts: list[pd.DataFrame] = []
    for effect in EFFECTS:
        for paradigm in effect.applies(scored):
            table = effect.table(scored, paradigm, human=(human or {}).get(paradigm))
            crowd = crowd_of(effect, scored, paradigm, against) if against else None
            if crowd is not None and len(crowd.curves) > 1:
                parts.append(_from_each(effect, table, crowd, paradigm, against))
            elif (table["agent"] == against).any() if against else (table["agent_kind"] == GROUP_MEANS).any():
                parts.append(curve_distance(table, effect.by, against).assign(effect=effect.name))
    parts = [part for part in parts if len(part)]
    return beside_shares(
        pd.concat(parts, ignore_index=True).reindex(columns=[*COLUMNS]) if parts else pd.DataFrame(columns=[*COLUMNS]),
        scored.items,
    )


def crowd_of(effect: Effect, scored: Scored, paradigm: str, agent: str) -> Crowd | None:
    """The curve of each of several people; None where there is only one, and for effects that are
    not averages of each person's answers."""
    return scored.once((crowd_of, effect.name, paradigm, agent), lambda: _crowd(effect, scored, paradigm, agent))


def _crowd(effect: Effect, scored: Scored, paradigm: str, agent: str) -> Crowd | None:
    if effect.averages is None:
        return None
    part = ready(effect, scored, paradigm)
    items = part.items[(part.items["agent"].astype(str) == agent) & (part.items["participant"].astype(str) != "")]
    if items["participant"].nunique() < 2:
        return None
    cells = unit_means(
        Scored(items, part.intrusions.iloc[:0], ()), effect.by, who=(*WHO, "participant"), value=effect.value
    )
    return Crowd.of(cells.keys.assign(mean=cells.means), effect.by)


def _from_each(effect: Effect, table: pd.DataFrame, crowd: Crowd, paradigm: str, against: str) -> pd.DataFrame:
    ceiling, rows = crowd.ceiling(), []
    for (agent, kind), curve_rows in table.groupby(["agent", "agent_kind"], sort=True):
        if kind != GROUP_MEANS and agent != against:
            curve = {
                place_of(row, effect.by): float(row["mean"]) for row in records(curve_rows.dropna(subset=["mean"]))
            }
            distance = crowd.distance(curve)
            if distance["n_points"] == len(crowd.points):
                distance |= {"ceiling_low": ceiling["r_low"], "ceiling_high": ceiling["r_high"]}
            rows.append(
                {
                    "paradigm": paradigm,
                    "effect": effect.name,
                    "agent": agent,
                    "against": against,
                    "n_people": len(crowd.curves),
                }
                | distance
            )
    return pd.DataFrame(rows)


def ceilings(scored: Scored) -> pd.DataFrame:
    """The noise ceilings for every effect and paradigm that several people have taken."""
    rows: list[dict[str, Any]] = []
    kinds = scored.items["agent_kind"] == PARTICIPANT.name
    people = scored
    if not kinds.all():
        people = Scored(scored.items[kinds], scored.intrusions[scored.intrusions["agent_kind"] == PARTICIPANT.name], ())
    for effect in EFFECTS:
        for paradigm in effect.applies(people):
            for agent in sorted(set(people.parts[paradigm].items["agent"].astype(str))):
                crowd = crowd_of(effect, testable(scored), paradigm, agent)
                if crowd is not None and crowd.points:
                    rows.append({"paradigm": paradigm, "effect": effect.name, "agent": agent, **crowd.ceiling()})
    return pd.DataFrame(
        rows, columns=["paradigm", "effect", "agent", "people", "n_points", "r_low", "r_high", "rmse_low", "rmse_high"]
    )
