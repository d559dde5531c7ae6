"""The figure of groups: people of different groups along a column, with tests between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ..data.scoring import Scored
from ..data.style import listed
from ..effects.groups import GROUP, GROUP_METHOD, between_groups, group_effect, people_in_groups
from ..stats.margins import PRIOR, judged, margin_of
from .effect_figure import caption, condition_chart, effect_chart, looks_of, looks_of_conditions, shown, unit_of
from .figure import Computed, FigureDeclaration, Wish, chosen, lines

if TYPE_CHECKING:
    import pandas as pd

    from ..data.loading import Data

NAME = "groups"


@dataclass(frozen=True, kw_only=True)
class ComputedGroups(Computed):
    """Groups of people in one paradigm; ``comparisons`` are the tests between them."""

    comparisons: pd.DataFrame


def compute_groups(data: Data, wish: Wish) -> ComputedGroups:
    """Groups of people in one paradigm, along a column, with tests between them.

    Raises
    ------
    SpanLabError
        where there are no two groups of people, somebody is in several, several paradigms have groups and none was chosen, or there is no such column.
    """
    if wish.bars == "within":
        raise SpanLabError("--bars within is for conditions that everybody is in; people of different groups are different people")
    paradigm = chosen(NAME, _ungrouped, data, wish)
    people = people_in_groups(data.scored, paradigm)
    effect = group_effect(people, paradigm, wish.along, wish.value)
    table = effect.table(people, paradigm, human="")
    comparisons = judged(between_groups(effect, people, paradigm), margin_of(wish.margins, unit_of(effect)))
    everybody = data.scored.parts[paradigm].items
    without = everybody[(everybody["agent_kind"] == PARTICIPANT.name) & ~everybody["participant"].isin(set(people.items["participant"]))]
    notes = [f"People without a group are not in this figure: {listed(sorted(set(without['participant'].astype(str))))}."] if len(without) else []
    machines = sorted(set(everybody.loc[everybody["agent_kind"] != PARTICIPANT.name, "agent"].astype(str)))
    notes += [f"Machines have no group, and are not in this figure: {listed(machines)}."] if machines else []
    title = f"{data.titles[paradigm]}: {effect.title}"
    grouped = effect.x != GROUP
    below = f"{caption(effect, table, wish.bars, conditions=True)} {GROUP_METHOD}"
    counts = people.items.groupby(GROUP, observed=True)["participant"].nunique()
    notes.append(f"People in each group: {', '.join(f'{name} {many}' for name, many in counts.items())}.")
    looks = looks_of_conditions(effect, table) if grouped else looks_of(table)
    picture = condition_chart if grouped else effect_chart
    return ComputedGroups(
        title=title,
        caption=below,
        table=table,
        shown=shown(effect, table),
        picture=lambda agents: picture(effect, table, agents, title=title, subtitle=lines(below), bars=wish.bars),
        looks=looks,
        conditions=grouped,
        notes=notes,
        further=((f"Differences between groups (between people, Welch's tests). {PRIOR}", comparisons),),
        comparisons=comparisons,
    )


def _ungrouped(scored: Scored, paradigm: str) -> str:
    try:
        people_in_groups(scored, paradigm)
    except SpanLabError as error:
        return f"{error}."
    return ""


def _lacking(scored: Scored, paradigm: str) -> tuple[str, ...]:
    part = scored.parts.get(paradigm)
    return () if part is not None and GROUP in part.items.columns else (GROUP,)


GROUPS = FigureDeclaration(
    NAME,
    "groups of people",
    compute_groups,
    _ungrouped,
    _lacking,
    line="people of different groups, with tests between them (--along, --value)",
    place=-1,
    along=True,
)
