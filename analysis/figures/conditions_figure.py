"""The figure of whatever was measured along any column: ``spanlab figure --along COLUMN --by COLUMN
--value ...``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ...core.errors import SpanLabError
from ..data.coding import columns_there
from ..data.scoring import Scored
from ..effects.conditions import NAME, VALUES, columns_of, conditions_effect, effect_of_file, unnamed_conditions
from ..effects.effect import Effect
from ..effects.reaction_times import timed_questions
from .effect_figure import ComputedEffect, compute_effect
from .figure import FigureDeclaration, Wish, chosen
from .marked_answers import no_answers

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
