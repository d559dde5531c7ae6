"""The effects of a paradigm on the page: each with its figure, its numbers, its slopes or differences, and the command that makes it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..figures.figure import lines
from ..effects.effect import Effect
from ..figures.effect_charts import caption, effect_chart, panel_names
from ..effects.registry import EFFECTS
from ..data.loading import Data
from ..data.style import GROUP_MEANS, Look
from .commands import Commands
from .folder import Figure, Folder
from .text import between, percent, ranked
from ..data.numbers import counted, limits, number, p_value, with_sign
from .html_tables import PageTable, Said, page_table, percent_points, words_of
from ..effects.trends import trends

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measured:
    """An effect in one paradigm, in numbers: its table, its slopes or differences, and what must be known of it."""

    effect: Effect
    table: pd.DataFrame
    trends: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def shares(self) -> bool:
        """Whether its values are shares, which are said in percent."""
        return self.effect.value == "correct" and self.effect.make is None


@dataclass(frozen=True)
class Shown:
    """A figure with everything that is told below it."""

    figure: Figure
    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]
    command: str


def measured(data: Data, paradigm: str) -> tuple[list[Measured], list[str]]:
    """The effects that a paradigm shows; and for those that the library's paradigm of this name has, but these data do not, why not."""
    found, absent = [], []
    for effect in EFFECTS:
        why = effect.missing(data.scored, paradigm)
        if why:
            if paradigm in effect.paradigms:
                absent.append(f"No figure “{effect.title}”: {why}")
            continue
        table = effect.table(data.scored, paradigm, human=data.human.get(paradigm))
        notes = tuple(effect.notes(data.scored, paradigm, table))
        found.append(Measured(effect, table, trends(effect, data.scored, paradigm), notes))
    return found, absent


def shown(one: Measured, paradigm: str, title: str, stem: str, styles: Sequence[Look], folder: Folder, commands: Commands) -> Shown:
    """An effect as it stands on the page; its figure and tables are written on the way."""
    effect, name = one.effect, f"{stem}_{one.effect.name}"
    file = folder.table(name, one.table)
    words = caption(effect, one.table)
    spec = effect_chart(effect, one.table, styles, title=f"{title}: {effect.title}", subtitle=lines(words))
    figure = folder.figure(name, spec, effect.title[:1].upper() + effect.title[1:], words, file, styles)
    tables = [_numbers(one, file)]
    if len(one.trends):
        tables.append(_trends(one, folder.table(f"{name}_trends", one.trends)))
    return Shown(figure, tuple(tables), one.notes, commands.effect(effect, paradigm, f"{figure.stem}.svg"))


def _value(value: Any, shares: bool) -> str:
    return percent(value) if shares else number(value)


def _ordered(one: Measured, table: pd.DataFrame) -> pd.DataFrame:
    """Rows by panel, then people first, then along the axis."""
    rows = ranked(table)
    effect = one.effect
    if effect.panels:
        names = panel_names(effect, one.table)
        rows = rows.assign(_panel=[names.index(effect.panel(row)) for row in rows.to_dict("records")])
        rows = rows.sort_values("_panel", kind="stable")
    return rows


def _panel(effect: Effect) -> list[Said]:
    return [("panel", effect.panel)] if effect.panels else []


def _along(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def _numbers(one: Measured, file: str) -> PageTable:
    effect, shares = one.effect, one.shares

    def sem(row: Mapping[Any, Any]) -> str:
        return percent_points(row["sem"]) if shares else number(row["sem"])

    def interval(row: Mapping[Any, Any]) -> str:
        return (between(row["low"], row["high"]) or "–") if shares else limits(row["low"], row["high"])

    columns: list[Said] = [
        words_of("agent", "who"),
        *_panel(effect),
        (effect.x_title, lambda row: _along(row[effect.x])),
        (effect.measure, lambda row: _value(row["mean"], shares)),
        ("s.e.m.", sem),
        ("95% interval", interval),
        ("chance", lambda row: "" if row["chance"] != row["chance"] else _value(row["chance"], shares)),
        ("n", lambda row: "not published" if row["agent_kind"] == GROUP_MEANS else counted(row["n_units"], row["unit"])),
        words_of("note"),
    ]
    words = ["panel", *([effect.x_title] if effect.order else [])]
    return page_table(_ordered(one, one.table), columns, "The numbers", "s.e.m. in percentage points." if shares else "", words=words, file=file)


def _trends(one: Measured, file: str) -> PageTable:
    effect, shares = one.effect, one.shares
    scale = 100 if shares else 1

    def signed(value: Any) -> str:
        return "–" if value != value else with_sign(scale * value, 1 if shares else 2)

    def tested(row: Mapping[Any, Any]) -> str:
        return "–" if row["t"] != row["t"] else f"t({row['df']:.1f}) = {with_sign(row['t'])}"

    columns: list[Said] = [
        words_of("agent", "who"),
        *_panel(effect),
        *([("difference", lambda row: str(row["contrast"]))] if effect.order else []),
        ("value", lambda row: signed(row["value"])),
        ("95% interval", lambda row: limits(row["low"], row["high"], signed)),
        ("guessing", lambda row: signed(row["guessing"])),
        ("test", tested),
        ("p", lambda row: p_value(row["p"])),
        ("any difference: p", lambda row: p_value(row["omnibus_p"])),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        words_of("note"),
    ]
    unit = "percentage points" if shares else "units of the vertical axis"
    what = f"Differences of conditions, in {unit}." if effect.order else f"Slope of a straight line, in {unit} for each step of 1 along {effect.x_title}."
    said = f"{what} Two-tailed t-tests against what guessing gives; p values are not corrected for their number."
    title = "Differences, with tests" if effect.order else "Slopes, with tests"
    return page_table(_ordered(one, one.trends), columns, title, said, words=("panel", "difference"), file=file)
