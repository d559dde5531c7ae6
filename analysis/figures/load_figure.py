"""Right answers by memory load in all paradigms at once: ``spanlab figure load``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.errors import SpanLabError
from ..data.scoring import Scored
from ..data.unread import with_unread
from ..effects.conditions import conditions_effect
from ..effects.effect import Effect
from ..effects.registry import effect
from .effect_figure import answers_of, caption, effect_chart, looks_of, shown
from .figure import Computed, FigureDeclaration, Wish, lines, named_paradigms
from .marked_answers import MarkedAnswers

if TYPE_CHECKING:
    from ..data.loading import Data

NAME = "load"
_SET_SIZE = effect("set_size")
#: What is drawn: the curves of all paradigms in panels.
_TOGETHER = replace(
    _SET_SIZE,
    name=NAME,
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
        raise SpanLabError(f"no figure {NAME}: no paradigm of these data varies its set size, its list length or n")
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
    return "" if loads > 1 else f"{paradigm} has {'only one load' if loads else 'no load (a set size or n)'}."


def _levels(part: Scored, column: str) -> int:
    return int(part.items[column].nunique()) if column in part.items.columns else 0


LOAD = FigureDeclaration(
    NAME,
    "correct by memory load",
    compute_load,
    _missing,
    line="correct by set size, list length or n, all paradigms in one figure",
    section=None,
)
