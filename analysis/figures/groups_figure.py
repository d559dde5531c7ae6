"""The figure of groups: people of different groups along a column, with tests between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ..data.scoring import Scored
from ..data.style import Look, listed
from ..effects.groups import GROUP, GROUP_METHOD, between_groups, group_effect, people_in_groups
from ..inference import judged
from .effect_figure import (
    answers_of,
    caption,
    condition_chart,
    effect_chart,
    looks_of,
    looks_of_conditions,
    shown,
    unit_of,
)
from .figure import Computed, FigureDeclaration, Wish, chosen, lines, why_not

if TYPE_CHECKING:
    from ..data.loading import Data

NAME = "groups"
_UNGROUPED = partial(why_not, people_in_groups)
#: How marks are called.
_MARKS = {
    "circle": "circles",
    "square": "squares",
    "diamond": "diamonds",
    "cross": "crosses",
    "triangle-up": "triangles",
    "triangle-down": "triangles pointing down",
    "triangle-right": "triangles pointing right",
}


@dataclass(frozen=True, kw_only=True)
class ComputedGroups(Computed):
    """Groups of people in one paradigm; ``comparisons`` are the tests between them."""

    comparisons: pd.DataFrame


def compute_groups(data: Data, wish: Wish) -> ComputedGroups:
    """Groups of people in one paradigm, along a column, with tests between them.

    Raises
    ------
    SpanLabError
        where there are no two groups of people, somebody is in several, several paradigms have
        groups and none was chosen, or there is no such column.
    """
    if wish.bars == "within":
        raise SpanLabError(
            "within is for conditions that everybody is in; people of different groups are different people",
            option="bars",
        )
    paradigm = chosen(NAME, _UNGROUPED, data, wish)
    people = people_in_groups(data.scored, paradigm)
    effect = group_effect(people, paradigm, wish.along, wish.value)
    table = effect.table(people, paradigm, human="")
    comparisons = between_groups(effect, people, paradigm)
    if margin := wish.margins.get(unit_of(effect)):
        comparisons = judged(comparisons, margin)
    everybody = data.scored.parts[paradigm].items
    without = everybody[
        (everybody["agent_kind"] == PARTICIPANT.name) & ~everybody["participant"].isin(set(people.items["participant"]))
    ]
    notes = (
        [f"People without a group are not in this figure: {listed(sorted(set(without['participant'].astype(str))))}."]
        if len(without)
        else []
    )
    machines = sorted(set(everybody.loc[everybody["agent_kind"] != PARTICIPANT.name, "agent"].astype(str)))
    notes += [f"Machines have no group, and are not in this figure: {listed(machines)}."] if machines else []
    title = f"{data.titles[paradigm]}: {effect.title}"
    grouped = effect.x != GROUP
    counts = people.items.groupby(GROUP, observed=True)["participant"].nunique()
    notes.append(f"People in each group: {', '.join(f'{name} {many}' for name, many in counts.items())}.")
    looks, marks, chart = looks_of(table), "", effect_chart
    if grouped:
        looks, chart = looks_of_conditions(effect, table), condition_chart
        marks = ", ".join(f"{_MARKS[look.shape]} are {look.label}" for look in reversed(looks))
    below = (
        f"{caption(effect, table, wish.bars, conditions=True)}"
        f" {marks[:1].upper()}{marks[1:]}{'. ' if marks else ''}{GROUP_METHOD}"
    )

    def picture(agents: Sequence[Look]) -> dict[str, Any]:
        made = chart(effect, table, agents, title=title, subtitle=lines(below), bars=wish.bars)
        return _with_colours(made, agents) if grouped else made

    return ComputedGroups(
        title=title,
        caption=below,
        table=table,
        shown=shown(effect, table),
        picture=picture,
        looks=looks,
        conditions=grouped,
        notes=notes,
        further=(("Differences between groups (between people, Welch's tests)", comparisons),),
        comparisons=comparisons,
        answers=answers_of(effect, people, paradigm, table, conditions=grouped),
    )


def _with_colours(spec: dict[str, Any], looks: Sequence[Look]) -> dict[str, Any]:
    """A chart whose lines have these colours wherever it stands: on a page others have the first
    ones."""

    def changed(part: Any) -> Any:
        if isinstance(part, list):
            return [changed(one) for one in part]
        if not isinstance(part, dict):
            return part
        whole = {key: changed(value) for key, value in part.items() if key != "data"}
        for channel in ("color", "fill", "stroke"):
            colour = whole.get(channel)
            if (
                isinstance(colour, dict)
                and colour.get("field") == "agent"
                and "range" not in colour.get("scale", {"range": ()})
            ):
                whole[channel] = {**colour, "scale": {**colour["scale"], "range": [look.light for look in looks]}}
        return whole

    return {**changed(spec), "data": spec["data"]}


def _lacking(scored: Scored, paradigm: str) -> tuple[str, ...]:
    part = scored.parts.get(paradigm)
    return () if part is not None and GROUP in part.items.columns else (GROUP,)


GROUPS = FigureDeclaration(
    NAME,
    "groups of people",
    compute_groups,
    _UNGROUPED,
    _lacking,
    line="people of different groups, with tests between them (--along, --value)",
    place=-1,
    along=True,
)
