"""The figure of whatever was measured along any column: ``spanlab figure --along COLUMN --by COLUMN
--value ...``; and right answers by memory load in all paradigms at once: ``spanlab figure load``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.errors import SpanLabError
from ..data.coding import columns_there
from ..data.scoring import Scored
from ..data.unread import with_unread
from ..effects.conditions import NAME, VALUES, columns_of, conditions_effect, effect_of_file, unnamed_conditions
from ..effects.effect import Effect
from ..effects.reaction_times import timed_questions
from ..effects.registry import effect
from .effect_figure import ComputedEffect, answers_of, caption, compute_effect, effect_chart, looks_of, shown
from .figure import Computed, FigureDeclaration, Wish, chosen, lines, named_paradigms
from .marked_answers import MarkedAnswers, no_answers

if TYPE_CHECKING:
    from ..data.loading import Data


def compute_conditions(data: Data, wish: Wish) -> ComputedEffect:
    """Compute what was measured along a column and by another, in one paradigm.

    Raises
    ------
    SpanLabError
        where no paradigm has these columns, or several do and none was chosen.
    """

    def missing(scored: Scored, paradigm: str) -> str:
        if not (wish.along or wish.by):
            return _unvaried(scored, paradigm)
        items = scored.parts[paradigm].items if paradigm in scored.parts else pd.DataFrame()
        asked, there = [*filter(None, [wish.along]), *columns_of(items, wish.by)], columns_there(items)
        lost = [name for name in asked if name.removeprefix("factor_").removeprefix("record_") not in there]
        return f"{paradigm} has no column {' and no column '.join(lost)}." if lost else ""

    having = [name for name, part in data.scored.parts.items() if wish.value in part.of_file.effects]
    alone = wish.paradigms or having or tuple(data.titles)
    paradigm = alone[0] if len(alone) == 1 and alone[0] in data.scored.parts else chosen(NAME, missing, data, wish)
    if wish.value in data.scored.parts[paradigm].of_file.effects:
        effect = effect_of_file(data.scored.parts[paradigm], paradigm, wish.value)
        computed = compute_effect(effect, data, replace(wish, paradigms=(paradigm,)), panels=True)
        return replace(computed, asked=("--value", wish.value))
    effect = conditions_effect(data.scored.parts[paradigm], paradigm, wish.along, wish.by, wish.value)
    computed = compute_effect(effect, data, replace(wish, paradigms=(paradigm,)), panels=True)
    options = (
        "--along",
        effect.x,
        *(("--by", ",".join(effect.panels)) if effect.panels else ()),
        "--value",
        wish.value,
    )
    answers = (
        no_answers if wish.value == "rt_median" else computed.answers
    )  # a median has no row of its own for each answer
    return replace(computed, asked=options, answers=answers)


def unnamed(data: Data, paradigm: str, effects: Sequence[Effect]) -> list[Wish]:
    """Return what a page asks of this figure, beside the effects that it shows: those that the file
    declares, and factors that none of them shows, in right answers and in people's times."""
    part = data.scored.parts[paradigm]
    timed = len(timed_questions(part)) > 0
    own = [name for name, one in part.of_file.effects.items() if timed or not one.value.startswith("rt_")]
    shown = [*effects]
    for name in own:
        with suppress(SpanLabError):  # of which the data have nothing: the page says so in its place
            shown.append(effect_of_file(part, paradigm, name))
    return [
        *(Wish((paradigm,), value=name) for name in own),
        *(
            Wish((paradigm,), along=along, by=by, value=value)
            for value in VALUES[:2]
            for along, by in unnamed_conditions(part, shown, value)
        ),
    ]


def _unvaried(scored: Scored, paradigm: str) -> str:
    there = paradigm in scored.parts and scored.parts[paradigm].conditions
    return "" if there else f"{paradigm} varies no factor."


CONDITIONS = FigureDeclaration(
    NAME,
    "what was measured, by any column",
    compute_conditions,
    _unvaried,
    line="right answers, reaction times or d′ along any column (--along, --by, --value)",
    section=None,
    by=True,
    along=True,
)


# Memory load in all paradigms

LOAD_NAME = "load"
_SET_SIZE = effect("set_size")
#: What is drawn: the curves of all paradigms in panels.
_TOGETHER = replace(
    _SET_SIZE,
    name=LOAD_NAME,
    title="correct by memory load",
    paradigms=(),
    x="load",
    x_title="set size, list length or n",
    panels=("title",),
    panel_labels=("{}",),
    needs=(),
    method=(
        "Proportion correct by the number of items to be held in memory, in N-back by n, averaged over everything else."
    ),
)


def compute_load(data: Data, wish: Wish) -> Computed:
    """The curves of everybody in all paradigms that have a load.

    Raises
    ------
    SpanLabError
        when no paradigm of the data has several loads.
    """
    paradigms = [name for name in named_paradigms(data, wish) or data.titles if not _missing(data.scored, name)]
    if not paradigms:
        raise SpanLabError(f"no figure {LOAD_NAME}: no paradigm here varies its set size, its list length or n")
    tables = [_curve(data, name) for name in paradigms]
    table = pd.concat(tables, ignore_index=True)
    drawn = replace(_TOGETHER, panel_order=tuple(data.titles[name] for name in paradigms))
    below = caption(drawn, table, wish.bars)
    return Computed(
        title="Correct by memory load",
        caption=below,
        table=table,
        shown=shown(drawn, table),
        picture=lambda agents: effect_chart(
            drawn,
            table,
            agents,
            title="Correct by memory load",
            subtitle=lines(below),
            bars=wish.bars,
            yardsticks=wish.yardsticks,
        ),
        looks=looks_of(table),
        readouts=[sentence for name in paradigms for sentence in data.readouts.get(name, ())],
        answers=partial(_answers, data),
    )


def _curve(data: Data, paradigm: str) -> pd.DataFrame:
    own = _effect_of(data.scored, paradigm)
    table = with_unread(own.table(data.scored, paradigm, human=data.human.get(paradigm)), shares=own.against_chance)
    return table.rename(columns={own.x: "load"}).assign(paradigm=paradigm, title=data.titles[paradigm])


def _answers(data: Data, mark: Mapping[str, Any]) -> MarkedAnswers | None:
    paradigm = next(
        (name for name, title in data.titles.items() if title == mark.get("panel") and name in data.scored.parts), ""
    )
    if not paradigm:
        return None
    own = _effect_of(data.scored, paradigm)
    return answers_of(own, data.scored, paradigm, own.table(data.scored, paradigm, human=""))({**mark, "panel": None})


def _effect_of(scored: Scored, paradigm: str) -> Effect:
    """Return the effect that shows the load of a paradigm: its set size, or n."""
    part = scored.parts[paradigm]
    return conditions_effect(part, paradigm, "n") if _levels(part, "factor_n") > 1 else _SET_SIZE


def _missing(scored: Scored, paradigm: str) -> str:
    """Return why a paradigm has no panel."""
    part = scored.parts.get(paradigm)
    loads = 0 if part is None else max(_levels(part, "factor_n"), _levels(part, "set_size"))
    if loads > 1:
        return ""
    return f"{paradigm} has {'only one load' if loads else 'no load (a set size or n)'}."


def _levels(part: Scored, column: str) -> int:
    return int(part.items[column].nunique()) if column in part.items.columns else 0


LOAD = FigureDeclaration(
    LOAD_NAME,
    "correct by memory load",
    compute_load,
    _missing,
    line="correct by set size, list length or n, all paradigms in one figure",
    section=None,
)
