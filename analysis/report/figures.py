"""The figures of a paradigm on the page: all that are declared for it and that the data allow, each
with its tables and the command that reproduces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ...core.errors import SpanLabError, UnwritableError, in_number
from ..data.coding import plain_name, records
from ..data.loading import Data
from ..data.numbers import counted, decimals, limits, missing, number, p_value, whole, with_sign
from ..data.scoring import plural
from ..data.style import GROUP_MEANS, Look, competitors
from ..data.unread import UNREAD_COLUMNS
from ..effects.effect import Effect
from ..effects.sensitivity import RATES
from ..figure_catalogue import FIGURES
from ..figures.conditions_figure import CONDITIONS, unnamed
from ..figures.effect_figure import ComputedEffect, panel_names
from ..figures.figure import Computed, DrawnFigure, Wish
from ..figures.reaction_time_figure import ComputedTimes
from ..inference import NO_MARGINS, Margin
from .commands import ReportCommands
from .folder import FigureFiles, Folder
from .html_tables import PageColumn, PageTable, page_table, percent_points, words_of
from .text import between, percent, ranked


@dataclass(frozen=True)
class FigureOnPage:
    """A figure with all text, tables and files that belong to it.

    Parameters
    ----------
    agents, off : who is in it, people first, and who of them is not shown at first
    crowd : who of them are thin lines, of which there are many
    bars, chance : whether it has intervals that can be switched off, and a line of chance
    sparse : why it is folded, see :func:`sparse`; empty where it is not
    open : it stands open at first
    named : name, paradigm and options by which ``spanlab figure`` makes it from the same data
    """

    figure: FigureFiles
    agents: tuple[str, ...]
    off: tuple[str, ...]
    crowd: tuple[str, ...]
    bars: bool
    chance: bool
    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]
    command: str
    sparse: str = ""
    open: bool = False
    named: tuple[str, ...] = ()


#: Figures of a paradigm that stand open; the others are drawn when they are opened.
OPEN_FIGURES = 1
#: Cells with fewer trials than this say little, and so does a figure of which most cells have
#: fewer.
FEWEST_TRIALS = 8


def sparse(computed: Computed) -> str:
    """Why the figure of an effect is folded on a page: most of its cells have few trials; empty
    where they have enough."""
    if not isinstance(computed, ComputedEffect) or "n_trials" not in computed.table.columns:
        return ""
    cells = competitors(computed.table)
    cells = cells[cells["mean"].notna() & (cells["agent_kind"] != GROUP_MEANS)]
    few = int((cells["n_trials"].astype(float) < FEWEST_TRIALS).sum())
    return (
        f"{few} of its {plural(len(cells), 'point')} are of fewer than {FEWEST_TRIALS} trials"
        if 2 * few > len(cells)
        else ""
    )


#: Of more people no single ones are drawn on a page.
_MOST_PEOPLE = 40


def compute_figures(
    data: Data, paradigm: str, margins: Mapping[str, Margin] = NO_MARGINS
) -> tuple[dict[str, Computed], list[str], list[str]]:
    """The numbers of all figures that a paradigm has, by name and in the page's order; why those
    are missing that the library's paradigm of this name has; and why others could not be computed."""
    computed: dict[str, Computed] = {}
    absent, failed = [], []
    asked = Wish(
        (paradigm,), margins=margins, points=data.scored.parts[paradigm].items["participant"].nunique() <= _MOST_PEOPLE
    )
    for figure in (one for one in FIGURES.on_page() if one.concerns(data.scored, paradigm)):
        why = figure.missing(data.scored, paradigm)
        if why and paradigm in figure.expected:
            absent.append(f"No figure “{figure.title}”: {why}")
        if not why and (few := figure.too_few(data.scored, paradigm)):
            absent.append(few)
        elif not why:
            try:
                computed[figure.name] = figure.compute(data, asked)
            except Exception as error:  # whatever it is: the page is made without this figure, and says so
                failed.append(_without(f"{data.titles[paradigm]}: {figure.title}", "computed", error))
    further: dict[str, Computed] = {}
    for wish in unnamed(data, paradigm, [one.effect for one in computed.values() if isinstance(one, ComputedEffect)]):
        try:
            name = f"{CONDITIONS.name}_{wish.value}"
            name += f"_{plain_name(wish.along)}" if name in further else ""
            further[name] = CONDITIONS.compute(data, replace(wish, margins=margins, points=asked.points))
        except Exception as error:
            failed.append(_without(f"{data.titles[paradigm]}: {wish.value}", "computed", error))
    effects = {name: one for name, one in computed.items() if isinstance(one, ComputedEffect)}
    return (
        {**effects, **further, **{name: one for name, one in computed.items() if name not in effects}},
        absent,
        failed,
    )


def _without(title: str, verb: str, error: Exception, file: str = "") -> str:
    """The sentence in place of a figure."""
    if isinstance(error, SpanLabError) and not file:
        return str(error)
    known = isinstance(error, SpanLabError)
    numbers = f" Its numbers are in {file}." if file else ""
    return (
        f"No figure “{title}”: it could not be {verb}"
        f" ({error if known else f'{type(error).__name__}: {error}'}).{numbers}"
    )


def show_figures(
    computed: Mapping[str, Computed],
    paradigm: str,
    title: str,
    stem: str,
    styles: Sequence[Look],
    folder: Folder,
    commands: ReportCommands,
    folded: bool = False,
) -> tuple[list[FigureOnPage], list[str]]:
    """Make the figures of a paradigm (:func:`show_figure`), and say of those that cannot be drawn
    why they are missing.

    Sparse figures are folded. Where all are sparse, the first one is open, and says so. What a
    reader does not see at first is drawn by the page when it is opened, and has no files of its own
    unless ``commands.all_figures`` asks for them.

    Parameters
    ----------
    folded : the whole paradigm is folded at first
    """
    shown: list[FigureOnPage] = []
    failed: list[str] = []
    all_sparse = all(sparse(figure) for figure in computed.values())
    for name, figure in computed.items():
        opened = len(shown) < OPEN_FIGURES and (all_sparse or not sparse(figure))
        filed = commands.all_figures or (opened and not folded)
        try:
            one = show_figure(name, figure, paradigm, title, stem, styles, folder, commands, filed)
            shown.append(replace(one, open=opened))
        except (OSError, UnwritableError):  # the disk refuses: that ends the page
            raise
        except Exception as error:
            failed.append(_without(figure.title, "drawn", error, folder.table(f"{stem}_{name}", figure.table)))
    if shown and all(one.sparse for one in shown):
        shown[0] = replace(
            shown[0], sparse="", notes=(f"{shown[0].sparse[:1].upper()}{shown[0].sparse[1:]}.", *shown[0].notes)
        )
    return shown, failed


def show_figure(
    name: str,
    computed: Computed,
    paradigm: str,
    title: str,
    stem: str,
    styles: Sequence[Look],
    folder: Folder,
    commands: ReportCommands,
    filed: bool = True,
) -> FigureOnPage:
    """Make a figure for the page, and write its files.

    Parameters
    ----------
    title : of the paradigm
    stem : what its files begin with
    styles : how everybody on the page looks
    filed : also as SVG and PDF
    """
    key, asked = f"{stem}_{name}", CONDITIONS.name if computed.asked else name
    file = folder.table(key, computed.table)
    words = computed.title.removeprefix(f"{title}: ").removeprefix("N-back: ")
    words = words if words.startswith("d′") else words[:1].upper() + words[1:]
    drawing = computed.draw(styles)
    figure = folder.figure(key, drawing.spec, words, computed.caption, file, drawing.agents, filed)
    return FigureOnPage(
        figure,
        *_shown(drawing),
        tuple(_tables(name, computed, file, key, folder)),
        tuple(computed.notes),
        commands.figure(asked, paradigm, f"{figure.stem}.svg", (*computed.asked, *["--points"] * computed.singles)),
        sparse(computed),
        named=(asked, paradigm, *computed.asked),
    )


def _shown(drawing: DrawnFigure) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], bool, bool]:
    """Return who is in a figure, people first, who of them is not shown at first, who is one of a
    crowd, and whether it has intervals and a line of chance."""
    rows = [row for row in drawing.spec.get("data", {}).get("values", ()) if isinstance(row, Mapping)]
    there, roles = {row.get("agent") for row in rows}, {row.get("role") for row in rows}
    switches = {one["name"]: one.get("value") for one in drawing.spec.get("params", ())}
    who = tuple(look.label for look in reversed(drawing.agents) if look.label in there)
    thin = {row.get("agent") for row in rows if row.get("crowd")}
    return (
        who,
        tuple(switches.get("hidden") or ()),
        tuple(one for one in who if one in thin),
        "intervals" in switches,
        "chance" in roles,
    )


def _tables(name: str, computed: Computed, file: str, key: str, folder: Folder) -> list[PageTable]:
    """Return the tables that are folded below a figure."""
    if isinstance(computed, ComputedEffect):
        return effect_tables(computed, file, key, folder)
    if isinstance(computed, ComputedTimes):
        return [_times(computed, file)]
    further = [
        _numbers(table, folder.table(f"{key}_{number}", table), heading)
        for number, (heading, table) in enumerate(computed.further, start=1)
        if len(table)
    ]
    return [_numbers(computed.shown, file), *further]


def _numbers(shown: pd.DataFrame, file: str, heading: str = "The numbers") -> PageTable:
    """Any table, as a terminal shows it; of its heading the first sentence is the title, and the
    rest stands below."""
    texts = [str(name) for name in shown.columns if shown[name].dtype.kind not in "if"]

    def column(name: str) -> PageColumn:
        if name in texts:
            return words_of(name)
        return name, lambda row: "" if missing(row[name]) else f"{row[name]:.4g}"

    title, _, caption = heading.partition(". ")
    return page_table(shown, [column(str(name)) for name in shown.columns], title, caption, words=texts, file=file)


def _times(computed: ComputedTimes, file: str) -> PageTable:
    def who(row: Mapping[Any, Any]) -> str:
        return str(row["participant"] or row["agent"])

    def milliseconds(name: str) -> PageColumn:
        def format_time(row: Mapping[Any, Any]) -> str:
            if missing(row[name]):
                return ""
            limits = (
                ""
                if missing(row.get(f"{name}_low"))
                else f" [{_whole(row[f'{name}_low'])}, {_whole(row[f'{name}_high'])}]"
            )
            return f"{_whole(row[name])}{limits}"

        return name, format_time

    columns = [
        ("who", who),
        ("times", lambda row: whole(row["n_items"])),
        *map(milliseconds, ("mean", "median", "sd", "mu", "sigma", "tau")),
        words_of("note"),
    ]
    caption = (
        "In ms; 95% intervals in brackets. mu and sigma: the normal part of the fitted ex-Gaussian, tau: its"
        " exponential part."
    )
    return page_table(computed.table, columns, "The numbers", caption, file=file)


def _whole(value: float) -> str:
    """Milliseconds in full up to a thousand seconds: limits of few times may have dozens of digits."""
    return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.1e}"


# The tables below the figure of an effect


def effect_tables(computed: ComputedEffect, file: str, name: str, folder: Folder) -> list[PageTable]:
    """The tables of an effect: its numbers, and its slopes or differences, which are also written
    to files.

    Parameters
    ----------
    file, name : of the numbers, as the page knows their file; and of the figure
    """
    tables = [_effect_numbers(computed, file)]
    if len(computed.trends):
        tables.append(_trends(computed, computed.trends, folder.table(f"{name}_trends", computed.trends)))
    if len(computed.between):
        tables.append(
            _trends(computed, computed.between, folder.table(f"{name}_panels", computed.between), between=True)
        )
    return tables


def _shares(effect: Effect) -> bool:
    """Return whether its values are shares, which are said in percent."""
    return effect.value == "correct" and effect.averages is not None


def _ends(low: float, high: float) -> str:
    """``50–74%``; a dash where there is no interval."""
    return between(low, high) or "–"


def _ordered(computed: ComputedEffect, table: pd.DataFrame) -> pd.DataFrame:
    """Rows by panel, then people first, then along the axis."""
    rows = ranked(table)
    effect = computed.effect
    if effect.panels:
        names = panel_names(effect, computed.table)
        rows = rows.assign(_panel=[names.index(effect.panel(row)) for row in records(rows)])
        rows = rows.sort_values("_panel", kind="stable")
    return rows


def _panel(effect: Effect) -> list[PageColumn]:
    return [("panel", effect.panel)] if effect.panels else []


def _effect_numbers(computed: ComputedEffect, file: str) -> PageTable:
    effect, value, error, ends, caption = computed.effect, number, number, limits, ""
    if _shares(effect):
        value, error, ends, caption = percent, percent_points, _ends, "s.e.m. in percentage points."
    columns: list[PageColumn] = [
        words_of("agent", "who"),
        *_panel(effect),
        (effect.x_title, lambda row: str(row[effect.x]) if isinstance(row[effect.x], str) else f"{row[effect.x]:g}"),
        (effect.measure, lambda row: value(row["mean"])),
        ("s.e.m.", lambda row: error(row["sem"])),
        ("95% interval", lambda row: ends(row["low"], row["high"])),
        ("chance", lambda row: "" if row["chance"] != row["chance"] else value(row["chance"])),
        *[
            (name.replace("_", " "), lambda row, name=name: percent(row[name]))
            for name in (*RATES, *UNREAD_COLUMNS)
            if name in computed.table.columns
        ],
        (
            "n",
            lambda row: "not published" if row["agent_kind"] == GROUP_MEANS else counted(row["n_units"], row["unit"]),
        ),
        words_of("note"),
    ]
    words = ["panel", *([effect.x_title] if effect.order else [])]
    return page_table(
        _ordered(computed, computed.table),
        columns,
        "The numbers",
        caption,
        words=words,
        file=file,
    )


def _trend_columns(
    effect: Effect, scale: int, least: int, *, families: bool, declared: bool, between: bool
) -> list[PageColumn]:
    """Columns of slopes and differences.

    Parameters
    ----------
    scale, least : by what values are multiplied, and how many digits they have at least
    families : whether values corrected for all claims of a kind stand beside
    declared : whether a margin was
    """

    def signed(row: Mapping[Any, Any], name: str) -> str:
        digits = decimals(scale * row["low"], scale * row["high"], least)
        return "–" if row[name] != row[name] else with_sign(scale * row[name], digits)

    def interval(row: Mapping[Any, Any]) -> str:
        return "–" if row["low"] != row["low"] else f"{signed(row, 'low')} to {signed(row, 'high')}"

    def of_all(row: Mapping[Any, Any]) -> str:
        low, high = signed(row, "low_family"), signed(row, "high_family")
        return "" if row["low_family"] != row["low_family"] else f"{low} to {high}"

    def tested(row: Mapping[Any, Any]) -> str:
        return "–" if row["t"] != row["t"] else f"t({row['df']:.1f}) = {with_sign(row['t'])}"

    of_family: list[PageColumn] = [
        ("p (of all)", lambda row: p_value(row["p_family"])),
        ("95% interval (of all)", of_all),
    ]
    return [
        words_of("agent", "who"),
        *([] if between else _panel(effect)),
        *([("difference", lambda row: str(row["contrast"]))] if effect.order or between else []),
        ("value", lambda row: signed(row, "value")),
        ("95% interval", interval),
        ("guessing", lambda row: signed(row, "guessing")),
        ("test", tested),
        ("p", lambda row: p_value(row["p"])),
        *(of_family if families else []),
        *([("alike?", lambda row: str(row["alike"]))] if declared else []),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        words_of("note"),
    ]


def _trends(computed: ComputedEffect, table: pd.DataFrame, file: str, *, between: bool = False) -> PageTable:
    """Slopes and differences along the axis, or between panels."""
    effect, scale, least, unit = computed.effect, 1, 2, "units of the vertical axis"
    if _shares(effect):
        scale, least, unit = 100, 1, "percentage points"
    declared = "alike" in table.columns and bool(table["alike"].ne("").any())
    columns = _trend_columns(
        effect, scale, least, families="p_family" in table.columns, declared=declared, between=between
    )
    title, what = (
        ("Differences, with tests", f"Differences of conditions, in {unit}.")
        if effect.order
        else (
            "Slopes, with tests",
            f"Slope of a straight line, in {unit} for each step of 1 along {effect.x_title}.",
        )
    )
    explanation = (
        f"{what} Two-tailed t-tests against what guessing gives; p values are not corrected for their number; only"
        " those in the sentence above are, for all claims on the page."
    )
    withheld = int(table["low"].isna().sum())
    if withheld:
        explanation += (
            f" {withheld} of {len(table)} {in_number(withheld, 'has', 'have')} no interval and no test; the note says"
            " why."
        )
    if declared:
        explanation += (
            " Alike: two one-sided t-tests (TOST) at 5% within the margin that was declared; undecided is not a"
            " verdict."
        )
    if between:
        title, explanation = (
            "Differences between panels, with tests",
            f"Means and slopes over conditions that both panels have, in {unit}. {explanation.partition('. ')[2]}",
        )
        return page_table(ranked(table), columns, title, explanation, words=("difference", "alike?"), file=file)
    return page_table(
        _ordered(computed, table), columns, title, explanation, words=("panel", "difference", "alike?"), file=file
    )
