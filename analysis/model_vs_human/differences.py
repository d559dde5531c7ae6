"""Distance of each answerer from people overall: the difference of mean accuracies over the
conditions that both have, each with the same weight."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.agent_kinds import PARTICIPANT, kind_named
from ...core.json_values import grouped
from ..data.coding import records
from ..data.loading import Data
from ..data.scoring import plural
from ..data.style import GROUP_MEANS, listed
from ..data.unread import WITHHELD, testable
from ..effects.curves import published_curve
from ..effects.effect import Effect
from ..effects.registry import EFFECTS
from ..inference import Claim
from ..means.cell_means import Cells, place_of, unit_means
from ..means.contrasts import Apart, Contrast, contrast_of

#: A condition: its value of each column of an effect.
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Difference:
    """An answerer's mean accuracy minus people's.

    Parameters
    ----------
    agent, against : who, and the people
    claim : the difference of shares, over the units of the answerer
    conditions : how many conditions both have
    over : what these conditions are, in words; empty where there is only one for everybody; levels
        stand beside a column of which somebody has more
    left_out : how many conditions both have that are in no mean, since too many replies could not be
        read; mostly empty
    share, share_low, share_high : the agent's own mean over these conditions
    people, people_low, people_high : people's
    """

    agent: str
    against: str
    claim: Claim
    conditions: int
    over: str = ""
    share: float = math.nan
    share_low: float = math.nan
    share_high: float = math.nan
    people: float = math.nan
    people_low: float = math.nan
    people_high: float = math.nan
    left_out: str = ""

    @property
    def value(self) -> float:
        return self.claim.value

    @property
    def low(self) -> float:
        """The lower end of the 95% interval of this difference alone; NaN where there is none."""
        return self.claim.interval[0]

    @property
    def high(self) -> float:
        """The upper end."""
        return self.claim.interval[1]

    @property
    def note(self) -> str:
        """Why there is no interval."""
        return self.claim.note


@dataclass(frozen=True)
class CommonConditions:
    """Mean accuracies over the conditions that all answerers of a paradigm have, each condition
    with the same weight.

    Parameters
    ----------
    same : whether these are all conditions that anybody has
    words : the conditions, in words
    shares : for each answerer, its mean and the 95% interval (NaN where there is none)
    differences : from people, over these conditions
    effect, where : the effect whose conditions these are, and the conditions, each with its levels by
        column, as :func:`.stated_answers` takes them
    """

    same: bool
    words: str
    shares: Mapping[str, tuple[float, float, float]]
    differences: Mapping[str, Difference]
    effect: str = ""
    where: tuple[Mapping[str, Any], ...] = ()


def from_people(data: Data, paradigm: str, within: Set[Place] | None = None) -> dict[str, Difference]:
    """Differences from the people who were measured; where there are none, and for these people
    themselves, from published ones.

    Conditions are those of the first effect that the paradigm shows. Intervals are over the units
    of both; published people have no spread, and add none.

    Parameters
    ----------
    within : of the conditions that an answerer and people have, these only; all when not given.
        Published people who lack one of them are left out.
    """
    shown, cells, points = _conditions(data, paradigm, tested=True)
    had = _conditions(data, paradigm)[2]
    people = next((who for who in points if who[1] == PARTICIPANT.name), None)
    differences = {}
    for who, places in points.items():
        if not kind_named(who[1]).competes or people is None or who == people:
            continue
        shared = sorted(
            (place for place in places if place in points[people] and (within is None or place in within)), key=str
        )
        if shared:
            mine, theirs = (_mean(cells, [at[place] for place in shared]) for at in (places, points[people]))
            differences[who[2]] = _difference(
                who,
                people[2][:1].lower() + people[2][1:],
                (mine, theirs),
                cells.unit[places[shared[0]]],
                conditions=len(shared),
                over=_over(shown[0], shared, {*had[who], *had[people]}) if shown else "",
                left_out=_left_out({*had[who]} & {*had[people]} & (within or {*had[who]}), shared),
            )
    effects = shown if within is None else [effect for effect in shown if effect.by == shown[0].by]
    return _from_published(data, paradigm, effects, None if people is None else people[2], within) | differences


def at_common_conditions(data: Data, paradigm: str, differences: Mapping[str, Difference]) -> CommonConditions | None:
    """Means over the conditions that everybody has who competes, and published people where nobody
    was measured.

    None where the paradigm shows no conditions; without shares where none is one that all have.

    Parameters
    ----------
    differences : those of :func:`from_people`, each over all conditions that an answerer and people
        have
    """
    shown, cells, points = _conditions(data, paradigm)
    competing = {who: places for who, places in points.items() if kind_named(who[1]).competes}
    if not shown or not competing:
        return None
    effect, curves = shown[0], [set(places) for places in competing.values()]
    everywhere = set().union(*curves)
    printed = _printed(data, paradigm, effect)
    if printed is not None and differences and not any(who[1] == PARTICIPANT.name for who in points):
        curves.append(everywhere & set(printed[1]))
    common = everywhere.intersection(*curves)
    if not common:
        return CommonConditions(False, "", {}, {})
    words = [
        f"{_plain(name)} {levels}"
        for name, levels in zip(effect.by, _narrowed(common, everywhere), strict=True)
        if levels
    ]
    order = sorted(common, key=str)
    means = {
        who[2]: _mean(cells, [places[place] for place in order])
        for who, places in points.items()
        if common <= set(places)
    }
    shares = {agent: (mean.value, *mean.ends()) for agent, mean in means.items()}
    same = all(curve == common for curve in curves)
    return CommonConditions(
        same,
        " and ".join(words) or _over(effect, common, common),
        shares,
        from_people(data, paradigm, common),
        effect.name,
        _by_column(order, effect.by),
    )


def _by_column(places: Sequence[Place], by: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Conditions as levels by column; those that differ in the last column alone stand together."""
    levels = grouped((place[:-1], place[-1]) for place in places)
    return tuple({**dict(zip(by, first, strict=False)), by[-1]: last} for first, last in levels.items())


def _conditions(
    data: Data, paradigm: str, *, tested: bool = False
) -> tuple[list[Effect], Cells, dict[Any, dict[Place, int]]]:
    """The effects of right answers that a paradigm shows, and the cells of the first of them for
    each answerer (``tested``: those that may be tested)."""
    effects = [effect for effect in EFFECTS if effect.value == "correct" and effect.averages and not effect.by_choice]
    shown = [effect for effect in effects if not effect.missing(data.scored, paradigm)]
    by = shown[0].by if shown else ()
    part = data.scored.parts[paradigm]
    part = testable(part, by) if tested else part
    cells = unit_means(shown[0].prepared(part) if shown else part, by)
    return shown, cells, cells.points(by)


def _printed(data: Data, paradigm: str, effect: Effect) -> tuple[str, dict[Place, float]] | None:
    """The first published study of an effect, and its curve."""
    printed = published_curve(data.human.get(paradigm, paradigm) if effect.human else "", effect.by)
    if not len(printed):
        return None
    study = str(printed["agent"].iloc[0])
    return study, {place_of(row, effect.by): float(row["mean"]) for row in records(printed[printed["agent"] == study])}


def _from_published(
    data: Data, paradigm: str, shown: Sequence[Effect], people: str | None, within: Set[Place] | None
) -> dict[str, Difference]:
    for effect in shown:
        printed = _printed(data, paradigm, effect)
        if printed is None:
            continue
        study, curve = printed
        if within is not None and not within <= set(curve):
            return {}
        cells = unit_means(effect.prepared(testable(data.scored.parts[paradigm], effect.by)), effect.by)
        had = unit_means(effect.prepared(data.scored.parts[paradigm]), effect.by).points(effect.by)
        differences = {}
        for who, places in cells.points(effect.by).items():
            shared = [place for place in places if place in curve and (within is None or place in within)]
            if shared and kind_named(who[1]).competes and who[1] != GROUP_MEANS and people in (None, who[2]):
                mine = _mean(cells, [places[place] for place in shared])
                theirs = float(np.mean([curve[place] for place in shared]))
                differences[who[2]] = _difference(
                    who,
                    study,
                    (mine, theirs),
                    cells.unit[places[shared[0]]],
                    conditions=len(shared),
                    over=_over(effect, shared, {*had[who], *curve}),
                    left_out=_left_out({*had[who]} & {*curve} & (within or {*curve}), shared),
                )
        return differences
    return {}


def _plain(name: str) -> str:
    return name.removeprefix("factor_").removeprefix("record_").replace("_", " ")


def _levels(values: Set[Any]) -> str:
    """``2, 3 and 5``; ``2 to 6`` of whole numbers that follow each other."""
    if (
        len(values) > 2
        and not any(isinstance(value, str) for value in values)
        and len(values) == max(values) - min(values) + 1
    ):
        return f"{min(values):g} to {max(values):g}"
    return listed(
        [
            value if isinstance(value, str) else f"{value:g}"
            for value in sorted(values, key=lambda value: (isinstance(value, str), value))
        ]
    )


def _over(effect: Effect, places: Collection[Place], everywhere: Set[Place]) -> str:
    """Some of the conditions of an effect, in words: its columns, with their levels where these are
    not all that there are ``everywhere``."""
    names = (*map(_plain, effect.panels), effect.x_title)
    levels = _narrowed(places, everywhere)
    return listed([f"{name} ({some})" if some else name for name, some in zip(names, levels, strict=True)])


def _narrowed(places: Collection[Place], everywhere: Set[Place]) -> list[str]:
    """The levels of each column of some conditions, in words; empty where they are all that there
    are ``everywhere``, once the columns before it are narrowed."""
    words, left = [], everywhere
    for at in range(len(next(iter(places), ()))):
        levels = {place[at] for place in places}
        narrow = levels != {place[at] for place in left}
        words.append(_levels(levels) if narrow else "")
        left = {place for place in left if place[at] in levels}
    return words


def _left_out(both: Set[Place], shared: Collection[Place]) -> str:
    """The conditions of both sides that are in no test, in words."""
    lacking = len(both) - len(shared)
    many = f"{lacking} of {plural(len(both), 'condition')}"
    return f"without {many}, in which more than {WITHHELD:.0%} of the replies could not be read" if lacking else ""


def _mean(cells: Cells, numbers: Sequence[int]) -> Contrast:
    """The mean over conditions; without a standard error where trials cannot be told apart."""
    mean = contrast_of(cells, numbers, np.full(len(numbers), 1 / len(numbers)), shares=True)
    distinct = cells.unit[numbers[0]] != "trial" or bool(cells.distinct[list(numbers)].all())
    return mean if distinct else replace(mean, se=math.nan, df=math.nan, n=0)


def _difference(
    who: tuple[str, ...],
    against: str,
    means: tuple[Contrast, Contrast | float],
    unit: str,
    *,
    conditions: int,
    over: str,
    left_out: str,
) -> Difference:
    """The difference between an answerer and people, from their means."""
    mine, theirs = means
    apart, people = Apart(mine, theirs), theirs.n if isinstance(theirs, Contrast) else 0
    note = ""
    if math.isnan(apart.ends()[0]):
        reasons = (
            (not mine.n, "trials cannot be distinguished"),
            (mine.n == 1, f"only one {unit}"),
            (people == 1, "only one person"),
            (mine.lone, f"a condition with only one {unit}"),
        )
        note = next((reason for holds, reason in reasons if holds), "no spread")
    return Difference(
        agent=who[2],
        against=against,
        claim=Claim("difference", who[2], who[1], apart, 0.0, unit, mine.n, note),
        conditions=conditions,
        over=over,
        left_out=left_out,
        **_limits("share", mine),
        **_limits("people", theirs),
    )


def _limits(name: str, mean: Contrast | float) -> dict[str, float]:
    value, low, high = (mean.value, *mean.ends()) if isinstance(mean, Contrast) else (mean, math.nan, math.nan)
    return {name: value, f"{name}_low": low, f"{name}_high": high}
