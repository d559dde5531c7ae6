"""The figure of an effect, from data as they were read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..effects.effect import Effect
from ..effects.trends import trends
from .effect_charts import caption, effect_chart, looks_of
from .figure import Computed, FigureDeclaration, Wish, chosen, lines

if TYPE_CHECKING:
    import pandas as pd

    from ..data.loading import Data

_COLUMNS = ("mean", "sem", "low", "high", "chance", "unit", "n_units", "note")
_TREND = ("contrast", "value", "low", "high", "t", "df", "p", "omnibus_p", "n_units", "note")


@dataclass(frozen=True, kw_only=True)
class ComputedEffect(Computed):
    """The numbers of an effect in one paradigm; ``trends`` are its slopes or differences."""

    effect: Effect
    trends: pd.DataFrame


def effect_figure(effect: Effect) -> FigureDeclaration:
    """The figure of an effect."""
    return FigureDeclaration(
        effect.name,
        effect.title,
        partial(compute_effect, effect),
        effect.missing,
        effect.lacking,
        line=f"{effect.title} ({', '.join(effect.paradigms)})" if effect.paradigms else effect.title,
        answers="items",
        section="effects",
        expected=effect.paradigms,
        effects=(effect.name,),
    )


def compute_effect(effect: Effect, data: Data, wish: Wish) -> ComputedEffect:
    """An effect in one paradigm, with slopes and differences.

    Raises
    ------
    SpanLabError
        when no paradigm of the data shows the effect, or several do and none was chosen.
    """
    paradigm = chosen(effect.name, effect.missing, data, wish, expected=effect.paradigms)
    table = effect.table(data.scored, paradigm, human=data.human.get(paradigm))
    title, below = f"{data.titles[paradigm]}: {effect.title}", caption(effect, table, wish.bars)
    found = trends(effect, data.scored, paradigm)
    heading = "Slopes and differences (t-tests against guessing; omnibus: do the conditions differ at all?)"
    return ComputedEffect(
        title=title,
        caption=below,
        table=table,
        shown=shown(effect, table),
        picture=lambda agents: effect_chart(effect, table, agents, title=title, subtitle=lines(below), bars=wish.bars),
        looks=looks_of(table),
        notes=effect.notes(data.scored, paradigm, table),
        readouts=data.readouts.get(paradigm, ()),
        further=((heading, found[["agent", *effect.panels, *_TREND]]),) if len(found) else (),
        effect=effect,
        trends=found,
    )


def shown(effect: Effect, table: pd.DataFrame) -> pd.DataFrame:
    """The columns of an effect's table that a terminal shows."""
    further = [effect.without] if effect.without in table.columns else []
    return table[["agent", *effect.by, *_COLUMNS[:-3], *further, *_COLUMNS[-3:]]]
