"""Curves of everybody beside people's, over all effects: distances from people, and how well people foretell each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .agreement import curve_distance, noise_ceiling
from .curves import averages
from .effect import ready
from .effects import EFFECTS
from .look import GROUP_MEANS
from .table import WHO, Scored

if TYPE_CHECKING:
    import pandas as pd

#: A mean needs no bootstrap here.
_FEW = 2


def distances(scored: Scored, human: Mapping[str, str] | None = None, against: str = "") -> pd.DataFrame:
    """Correlation and root mean square difference of everybody's curve and people's, for every effect and paradigm that both have.

    Parameters
    ----------
    human : for each paradigm the name of the published human data that belong to it
    against : the ``agent`` who stands for people; published people when not given
    """
    import pandas as pd

    parts = []
    for effect in EFFECTS:
        for paradigm in effect.applies(scored):
            table = effect.table(scored, paradigm, human=(human or {}).get(paradigm), resamples=_FEW)
            if (table["agent"] == against).any() if against else (table["agent_kind"] == GROUP_MEANS).any():
                parts.append(curve_distance(table, effect.by, against).assign(effect=effect.name))
    columns = ["paradigm", "effect", "agent", "against", "n_points", "r", "rmse", "note"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def ceilings(scored: Scored) -> pd.DataFrame:
    """For every effect and paradigm that several people have taken: how well the curve of each is foretold by the others'."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    people = scored.items["agent_kind"] == "participant"
    own = Scored(scored.items[people], scored.intrusions[scored.intrusions["agent_kind"] == "participant"], ())
    for effect in EFFECTS:
        if effect.make is not None or effect.value != "correct":
            continue
        for paradigm in effect.applies(own):
            each = averages(ready(effect, own, paradigm), effect.by, who=(*WHO, "participant"), resamples=_FEW)
            for agent, curves in each.groupby("agent"):
                found = noise_ceiling(curves, effect.by)
                if found["people"] > 1:
                    rows.append({"paradigm": paradigm, "effect": effect.name, "agent": agent, **found})
    return pd.DataFrame(rows, columns=["paradigm", "effect", "agent", "people", "r", "rmse"])
