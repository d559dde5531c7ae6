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
from ..means.bootstrap import RESAMPLES
from ..means.cell_means import Cells, place_of, unit_means
from ..means.contrasts import Contrast, contrast_of


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
    se, df : of the difference: its standard error and degrees of freedom; NaN where there are none
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
    se: float = math.nan
    df: float = math.nan


def from_people(data: Data, paradigm: str) -> dict[str, Difference]:
    """Differences from the people who were measured; where there are none, and for these people themselves, from published ones.

    Conditions are those of the first effect that the paradigm shows. Intervals resample the units of both; published people have no spread, and add none.
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
            mine, theirs = (_mean(cells, [at[place] for place in shared], seed) for seed, at in enumerate((places, points[people])))
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
                mine = _mean(cells, [places[place] for place in shared], 0)
                theirs = float(np.mean([curve[place] for place in shared]))
                differences[who[2]] = _difference(who[2], study, mine, theirs, len(shared), _over(effect), cells.unit[places[shared[0]]])
        return differences
    return {}


def _lower_first(people: str) -> str:
    return people[:1].lower() + people[1:]


def _over(effect: Effect) -> str:
    """The conditions of an effect, in words."""
    return listed([*(name.removeprefix("factor_").removeprefix("record_").replace("_", " ") for name in effect.panels), effect.x_title])


def _mean(cells: Cells, numbers: Sequence[int], seed: int) -> Contrast:
    """The mean over conditions. Where every unit is at 0 or every unit at 1, its draws are those of the exact binomial limit."""
    mean = contrast_of(cells, numbers, np.full(len(numbers), 1 / len(numbers)), seed=seed)
    told_apart = cells.unit[numbers[0]] != "trial" or bool(cells.told_apart[list(numbers)].all())
    if not told_apart:
        return replace(mean, se=math.nan, df=math.nan, n=0, draws=None)
    if mean.se == 0 and mean.n > 1 and abs(mean.value - round(mean.value)) < 1e-12:
        draws = np.random.RandomState(seed).beta(mean.n, 1, RESAMPLES)
        return replace(mean, se=float(draws.std()), df=math.inf, draws=draws if mean.value > 0.5 else 1 - draws)
    return mean


def _difference(agent: str, against: str, mine: Contrast, theirs: Contrast | float, conditions: int, over: str, unit: str) -> Difference:
    if not isinstance(theirs, Contrast):
        value, se, df, draws = mine.value - theirs, mine.se, mine.df, None if mine.draws is None else mine.draws - theirs
    else:
        value, se = mine.value - theirs.value, math.hypot(_known(mine.se), _known(theirs.se))
        parts = [(contrast.se, contrast.df) for contrast in (mine, theirs) if contrast.se > 0]
        known = sum(spread**4 / degrees for spread, degrees in parts)
        df = math.nan if not parts else se**4 / known if known > 0 else math.inf
        drawn = [contrast.value if contrast.draws is None else contrast.draws for contrast in (mine, theirs)]
        draws = np.asarray(drawn[0] - drawn[1]) if parts else None
        if mine.n < 2 or theirs.n < 2:
            draws = None
    both = Contrast(value, se, df, mine.n, mine.lone, draws, mine.level)
    low, high = both.limits(draws) if draws is not None and se > 0 else (math.nan, math.nan)
    low, high = min(low, value), max(high, value)  # draws of an exact limit do not reach 0 or 1
    error = (se, df) if low == low else (math.nan, math.nan)
    note = ""
    if low != low:
        few = f"only one {unit}" if mine.n == 1 else "only one person" if isinstance(theirs, Contrast) and theirs.n == 1 else "no spread"
        note = few if mine.n else "trials cannot be distinguished"
    return Difference(agent, against, value, low, high, conditions, over, plural(mine.n, unit), note, *_with_limits(mine), *_with_limits(theirs), *error)


def _with_limits(mean: Contrast | float) -> tuple[float, float, float]:
    if not isinstance(mean, Contrast):
        return mean, math.nan, math.nan
    low, high = mean.limits(mean.draws) if mean.draws is not None and mean.n > 1 and mean.se > 0 else (math.nan, math.nan)
    return mean.value, max(0.0, min(low, mean.value)), min(1.0, max(high, mean.value))


def _known(value: float) -> float:
    return 0.0 if value != value else value
