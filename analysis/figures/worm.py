"""The figures of WorM (Sikarwar & Zhang, 2023, NeurIPS), drawn from any data as its published code
draws them.

That code has a notebook for each task; what each draws (which conditions, along what, with which
people) is kept here. There a figure shows one network, with a line for each condition, and people
apart; here everybody gets such a panel. Which number is which, the paper's captions tell: see
:data:`NUMBERS`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import SpanLabError
from ..data.coding import decoded
from ..data.scoring import Scored
from ..data.unread import with_unread
from ..effects.effect import Effect
from ..effects.registry import effect
from .effect_figure import (
    answers_of,
    caption,
    condition_chart,
    constant,
    effect_chart,
    looks_of,
    looks_of_conditions,
    shown,
)
from .figure import Computed, FigureDeclaration, Wish, chosen, lines

if TYPE_CHECKING:
    from ..data.loading import Data

#: Serial positions of visual serial recognition for each pattern-distractor difference; its own
#: figure only in the benchmark.
_RESOLUTION = replace(
    effect("serial_position"),
    name="serial_position_resolution",
    title="serial positions by pattern–distractor difference",
    paradigms=("vsrec",),
    panels=("list_length", "factor_pattern_distractor_difference"),
    panel_labels=("{} items", "{} cells differ"),
    needs=("list_length", "serial_position", "factor_pattern_distractor_difference"),
    method=(
        "Proportion of patterns distinguished from their distractors at each position of the list, by the number of"
        " cells in which the two differ."
    ),
)


@dataclass(frozen=True)
class PaperFigure:
    """A figure as the published code draws it.

    Parameters
    ----------
    name : as ``spanlab figure`` knows it
    effect : what it shows
    title : of the figure, after the paradigm's
    keeps : for each column the values that are drawn, all others are not
    conditions : whether lines are conditions, with a panel for each answerer; else lines are
        answerers
    differs : what is different there, in a sentence
    """

    name: str
    effect: Effect
    title: str
    keeps: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    conditions: bool = True
    differs: str = ""

    @property
    def paradigm(self) -> str:
        """The paradigm of the library that it shows."""
        return self.effect.paradigms[0]

    @property
    def kept(self) -> str:
        """The conditions that it shows, in words."""
        return "; ".join(f"{column_label(name)} {', '.join(map(str, values))}" for name, values in self.keeps)

    @property
    def excerpt_of(self) -> str:
        """The effect that shows all conditions, of which this figure shows some."""
        return "memory_resolution" if self.effect is _RESOLUTION else self.effect.name


def _as_drawn(name: str, **changes: Any) -> Effect:
    return replace(effect(name), **changes)


PAPER_FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure(
        "worm-vsr",
        _as_drawn("serial_position", paradigms=("vsr",)),
        "correct by serial position",
        (("list_length", (3, 4, 5, 6, 7, 9)),),
    ),
    PaperFigure(
        "worm-vir",
        _as_drawn("serial_position_retention", paradigms=("vir",)),
        "serial positions, without and after retention",
        (("list_length", (4,)), ("retention_steps", (0, 5))),
    ),
    PaperFigure(
        "worm-cs",
        _as_drawn("cognitive_load", paradigms=("cs",)),
        "correct by cognitive load",
        (("factor_load", (1, 3, 5)),),
        differs=(
            "The published figure has networks over the number of decisions (1, 3 or 5), and people over the share of"
            " time that decisions take; here, all are over that share."
        ),
    ),
    PaperFigure("worm-smu", _as_drawn("set_size", paradigms=("smu",)), "correct by set size", conditions=False),
    PaperFigure(
        "worm-vsrec", _RESOLUTION, "serial positions by pattern–distractor difference", (("list_length", (5,)),)
    ),
    PaperFigure(
        "worm-cd",
        _as_drawn("features", paradigms=("cd",)),
        "features and conjunctions by set size",
        (("retention_steps", (18,)),),
        differs=(
            "Only trials with the longest retention, as in the published figure; people's retention interval was"
            " different."
        ),
    ),
)
#: Figures of networks' units: from a checkpoint, not from answers. What each is among the files of
#: ``spanlab neural``, and what it shows.
UNITS: Mapping[str, tuple[str, str]] = {
    "worm-sts": ("task_switching", "states of a network in task switching, by task and by answer"),
    "worm-units": ("task_variance", "task variance of a network's units, and their clusters"),
    "worm-clusters": ("units", "a network's units by their task variances, in a plane"),
    "worm-preferences": ("fractional_variance", "fractional task variance of a network's units, for pairs of tasks"),
    "worm-similarity": ("similarity_to_first", "similarity of a network's states between positions of a list"),
    "worm-lesions": ("lesions", "accuracy of a network without clusters of its units"),
    "worm-embeddings": ("task_embeddings", "similarity of a network's learned task embeddings"),
}
#: Figures of training: from the log of a run.
TRAINING = "NAME.svg of a training run ('spanlab train PRESET' writes it)"
#: The figures of answers and of units that the paper's numbers stand for, by its captions
#: (``analysis/published/worm_figures.csv``).
NUMBERS: Mapping[str, str] = {
    **{
        "worm-4a": "worm-vsr",
        "worm-4b": "worm-vir",
        "worm-4c": "worm-cs",
        "worm-4d": "worm-smu",
        "worm-4e": "worm-vsrec",
        "worm-4f": "worm-cd",
    },
    **{"worm-5a": "worm-sts", "worm-5b": "worm-clusters", "worm-5c": "worm-units", "worm-5d": "worm-preferences"},
    **{
        "worm-a2a": "worm-vsr",
        "worm-a2b": "serial_position",
        "worm-a2c": "serial_position",
        "worm-a3": "serial_position_retention",
    },
    **{"worm-a5": "worm-similarity", "worm-a6": "worm-lesions", "worm-a13": "worm-embeddings"},
    **{
        "worm-a7": "worm-vsr",
        "worm-a8": "worm-vir",
        "worm-a9": "worm-cs",
        "worm-a10": "worm-smu",
        "worm-a11": "worm-vsrec",
        "worm-a12": "worm-cd",
    },
}
#: Numbers of figures that are made neither of answers nor of a checkpoint, with what makes them.
OTHERS: Mapping[str, str] = {
    "worm-a1": "'spanlab show PARADIGM' draws the scheme of each paradigm",
    "worm-a4": TRAINING,
    "worm-a14": TRAINING,
}


@cache
def numbered() -> Mapping[str, Mapping[str, str]]:
    """Return what each numbered figure of the paper shows: ``task``, ``models``, ``x``, ``panels``,
    ``what`` and ``note``, by its number (``4A``)."""
    with (files("spanlab.analysis") / "published" / "worm_figures.csv").open(encoding="utf-8") as file:
        return {row["figure"]: row for row in csv.DictReader(line for line in file if not line.startswith("#"))}


def paper_figure(figure: PaperFigure) -> FigureDeclaration:
    """The declaration of a figure of the paper. A report has all conditions, and so none of these."""

    def missing(scored: Scored, paradigm: str) -> str:
        return (
            figure.effect.missing(_kept(figure, scored.parts[paradigm])[0], paradigm)
            if paradigm in scored.parts
            else f"{paradigm} has no scored answers."
        )

    return FigureDeclaration(
        figure.name,
        figure.title,
        partial(compute_paper_figure, figure),
        missing,
        figure.effect.lacking,
        line=f"WorM, figure of {figure.paradigm}: {figure.title}" + (f" ({figure.kept})" if figure.keeps else ""),
        answers="items",
        section=None,
        expected=figure.effect.paradigms,
        excerpt_of=figure.excerpt_of,
    )


def compute_paper_figure(figure: PaperFigure, data: Data, wish: Wish) -> Computed:
    """A figure of the paper from some data.

    Raises
    ------
    SpanLabError
        when the data have nothing of what it shows.
    """
    alike = [name for name in data.titles if figure.paradigm in (name, data.human.get(name))]
    paradigm = chosen(figure.name, figure.effect.missing, data, wish, expected=figure.effect.paradigms, among=alike)
    part, absent = _kept(figure, data.scored.parts[paradigm])
    if not len(part.items) or figure.effect.missing(part, paradigm):
        everything = f"'spanlab figure {figure.excerpt_of}' draws everything there is"
        raise SpanLabError(
            f"no figure {figure.name}: {paradigm} has nothing of what it shows ({figure.kept}); {everything}"
        )
    table = with_unread(
        figure.effect.table(part, paradigm, human=data.human.get(paradigm)), shares=figure.effect.against_chance
    )
    for name, values in figure.keeps:
        table = table[table[name].isin(values)] if name in table.columns else table
    table = table.reset_index(drop=True)
    below = caption(figure.effect, table, wish.bars, conditions=figure.conditions) + (
        f" {figure.differs}" if figure.differs else ""
    )
    title, draw, looks_in = f"{data.titles[paradigm]}: {figure.title}", effect_chart, looks_of(table)
    if figure.conditions:
        draw, looks_in = condition_chart, looks_of_conditions(figure.effect, table)
        same = constant(figure.effect, table)
        title += f" ({same})" if same else ""
    return Computed(
        title=title,
        caption=below,
        table=table,
        shown=shown(figure.effect, table),
        picture=lambda looks: draw(figure.effect, table, looks, title=title, subtitle=lines(below), bars=wish.bars),
        looks=looks_in,
        conditions=figure.conditions,
        notes=(*figure.effect.notes(part, paradigm, table), *absent),
        readouts=data.readouts.get(paradigm, ()),
        answers=answers_of(figure.effect, part, paradigm, table, conditions=figure.conditions),
    )


def _kept(figure: PaperFigure, part: Scored) -> tuple[Scored, list[str]]:
    """The items of the conditions that a figure shows, and a note for each value that the data
    lack."""
    items, notes = part.items, []
    for name, values in figure.keeps:
        if name not in items.columns:
            return Scored(items.iloc[:0], part.intrusions, part.notes), []
        column = decoded(items[name])
        there = set(column.dropna().unique())
        lacking = [value for value in values if value not in there]
        if lacking and len(lacking) < len(values):
            notes.append(
                f"As published it also shows {column_label(name)} {', '.join(map(str, lacking))}, which these data do"
                " not have."
            )
        items = items[column.isin(values).to_numpy()]
    return Scored(items.reset_index(drop=True), part.intrusions, part.notes), notes


def column_label(name: str) -> str:
    """A column, in words."""
    return {"retention_steps": "retention", "factor_load": "decisions per item"}.get(
        name, name.removeprefix("factor_").replace("_", " ")
    )


def elsewhere(name: str, source: Sequence[str]) -> str:
    """Return why a figure cannot be made from answers, and what makes it instead; empty where it
    can."""
    known = NUMBERS.get(name, name)
    if known in UNITS:
        file, what = UNITS[known]
        network = source[0] if len(source) == 1 and not Path(source[0]).is_dir() else "CHECKPOINT"
        return (
            f"{name} ({what}) needs a checkpoint, not answers: 'spanlab neural {network} -o DIR' draws it as"
            f" DIR/figures/{file}.svg"
        )
    if name in OTHERS:
        return (
            f"Fig. {name.removeprefix('worm-').upper()} of WorM is made neither of answers nor of a checkpoint:"
            f" {OTHERS[name]}"
        )
    return ""
