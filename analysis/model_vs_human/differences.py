"""How far each answerer is from people overall: the difference of mean accuracies over the conditions that both have, each with the same weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.agent_kinds import PARTICIPANT, kind_named
from ..data.loading import Data
from ..data.scoring import plural
from ..data.style import GROUP_MEANS, listed
from ..effects.effect import Effect, published_curve, ready
from ..effects.registry import EFFECTS
from ..means.cell_means import Cells, place_of, unit_means
from ..means.contrasts import Apart, Contrast, contrast_of


@dataclass(frozen=True)
class Difference:
    """An answerer's mean accuracy minus people's.

    Parameters
    ----------
    agent, against : who, and the people
    value, low, high : the difference of shares, and its 95% interval; NaN where there is none
    conditions : how many conditions both have
    over : what these conditions are, in words; empty where there is only one for everybody
    units : of the agent: how many, and what they are
    note : why there is no interval
    share, share_low, share_high : the agent's own mean over these conditions
    people, people_low, people_high : people's
    tested : what the interval and its tests are of
    """

    agent: str
    against: str
    value: float
    low: float
    high: float
    conditions: int
    over: str = ""
    units: str = ""
    note: str = ""
    share: float = math.nan
    share_low: float = math.nan
    share_high: float = math.nan
    people: float = math.nan
    people_low: float = math.nan
    people_high: float = math.nan
    tested: Apart | None = None


def from_people(data: Data, paradigm: str) -> dict[str, Difference]:
    """Differences from the people who were measured; where there are none, and for these people themselves, from published ones.

    Conditions are those of the first effect that the paradigm shows. Intervals are over the units of both; published people have no spread, and add none.
    """
    part = data.scored.parts[paradigm]
    conditions = [effect for effect in EFFECTS if effect.value == "correct" and effect.make is None and not effect.by_choice]
    shown = [effect for effect in conditions if not effect.missing(data.scored, paradigm)]
    cells = unit_means(ready(shown[0], data.scored, paradigm), shown[0].by) if shown else unit_means(part, ())
    points = cells.points(shown[0].by if shown else ())
    people = next((who for who in points if who[1] == PARTICIPANT.name), None)
    differences = {}
    for who, places in points.items():
        if not kind_named(who[1]).competes or people is None or who == people:
            continue
        shared = sorted(set(places) & set(points[people]), key=str)
        if shared:
            mine, theirs = (_mean(cells, [at[place] for place in shared]) for at in (places, points[people]))
            unit = cells.unit[places[shared[0]]]
            differences[who[2]] = _difference(who[2], _lower_first(people[2]), mine, theirs, len(shared), _over(shown[0]) if shown else "", unit)
    return _from_published(data, paradigm, shown, None if people is None else people[2]) | differences


def _from_published(data: Data, paradigm: str, shown: Sequence[Effect], people: str | None) -> dict[str, Difference]:
    for effect in shown:
        printed = published_curve(data.human.get(paradigm, paradigm), effect.by) if effect.human else published_curve("", effect.by)
        if not len(printed):
            continue
        study = str(printed["agent"].iloc[0])
        curve = {place_of(row, effect.by): float(row["mean"]) for row in printed[printed["agent"] == study].to_dict("records")}
        cells = unit_means(ready(effect, data.scored, paradigm), effect.by)
        differences = {}
        for who, places in cells.points(effect.by).items():
            shared = [place for place in places if place in curve]
            if shared and kind_named(who[1]).competes and who[1] != GROUP_MEANS and people in (None, who[2]):
                mine = _mean(cells, [places[place] for place in shared])
                theirs = float(np.mean([curve[place] for place in shared]))
                differences[who[2]] = _difference(who[2], study, mine, theirs, len(shared), _over(effect), cells.unit[places[shared[0]]])
        return differences
    return {}


def _lower_first(people: str) -> str:
    return people[:1].lower() + people[1:]


def _over(effect: Effect) -> str:
    """The conditions of an effect, in words."""
    return listed([*(name.removeprefix("factor_").removeprefix("record_").replace("_", " ") for name in effect.panels), effect.x_title])


def _mean(cells: Cells, numbers: Sequence[int]) -> Contrast:
    """The mean over conditions; without a standard error where trials cannot be told apart."""
    mean = contrast_of(cells, numbers, np.full(len(numbers), 1 / len(numbers)), shares=True)
    told_apart = cells.unit[numbers[0]] != "trial" or bool(cells.told_apart[list(numbers)].all())
    return mean if told_apart else replace(mean, se=math.nan, df=math.nan, n=0)


def _difference(agent: str, against: str, mine: Contrast, theirs: Contrast | float, conditions: int, over: str, unit: str) -> Difference:
    apart, people = Apart(mine, theirs), theirs.n if isinstance(theirs, Contrast) else 0
    low, high = apart.ends()
    note = ""
    if low != low:
        few = f"only one {unit}" if mine.n == 1 else "only one person" if people == 1 else f"a condition with only one {unit}" if mine.lone else "no spread"
        note = few if mine.n else "trials cannot be distinguished"
    return Difference(
        agent=agent,
        against=against,
        value=apart.value,
        low=low,
        high=high,
        conditions=conditions,
        over=over,
        units=plural(mine.n, unit),
        note=note,
        **_limits("share", mine),
        **_limits("people", theirs),
        tested=apart,
    )


def _limits(name: str, mean: Contrast | float) -> dict[str, float]:
    low, high = mean.ends() if isinstance(mean, Contrast) else (math.nan, math.nan)
    return {name: mean.value if isinstance(mean, Contrast) else mean, f"{name}_low": low, f"{name}_high": high}
