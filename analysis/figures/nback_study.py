"""The figures of the N-back study of language models (Gong, Wan & Wang, AAAI 2024), drawn from any N-back data.

A *variant* is a paradigm, or one size of its grid where it has several; a *family* is a set of variants that the study compares in one figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from ...core.errors import SpanLabError
from ..data.scoring import WHO
from ..data.style import Look, condition_looks
from ..nback.cells import AVERAGED, nback_cells
from ..nback.measures import OURS, PUBLISHED, Rules, has_blocks, nback_blocks, told
from ..nback.published import FAMILIES, REFERENCE, STUDY_MODEL, printed_cells, printed_name, variant_of
from .effect_charts import looks_of
from .figure import BARS_SAID, Bars, Drawing, Wish, lines, named_paradigms, with_bars
from .nback_chart import nback_rows
from .nback_histograms import dprime_histograms, dprime_summary

if TYPE_CHECKING:
    import pandas as pd

    from ..data.loading import Data

_GRID = "factor_grid"
_MEASURES = ("hit_rate", "false_alarm_rate", "accuracy")
_LURES = ("lure_rate", "before_rate", "after_rate", "plain_rate")
#: Models whose printed values are drawn; all printed values are in the table.
_DRAWN = (STUDY_MODEL, "gpt-4")
_OURS = (
    "Signed d′ of summed counts, log-linear correction. The first N items of a block, which have nothing to match, and answers that were never asked for are "
    "left out."
)
_THEIRS = "By the rules of the N-back study of language models (Gong, Wan & Wang, 2024): rates clipped to 0.01 and 0.99, all items counted."
_SHOWN = ("agent", "variant", "n", "measure", "mean", "low", "high", "sem", "unit", "n_units", "note")


@dataclass(frozen=True)
class NBackFigure:
    """A figure of N-back data: its name, what it shows in a line, and the function that draws it."""

    name: str
    line: str
    draw: Callable[[NBackFigure, Data, Wish], Drawing]


def variant_blocks(figure: str, data: Data, wish: Wish, rules: Rules) -> pd.DataFrame:
    """The blocks of the N-back paradigms that were asked for (:func:`.nback_blocks`), with ``variant`` as figures name it, ``study_variant`` as the study.

    Raises
    ------
    SpanLabError
        when there are none.
    """
    import pandas as pd

    named = named_paradigms(data, wish)
    there = {name for name, part in data.scored.parts.items() if has_blocks(part.items)}
    other = [name for name in named if name not in there]
    if other:
        raise SpanLabError(f"no figure {figure}: {other[0]} is no N-back paradigm")
    if not there:
        have = f"no N-back paradigm, only {', '.join(data.titles)}" if data.titles else "no scored answers"
        raise SpanLabError(f"no figure {figure}: these data have {have}")
    tables = []
    for paradigm in named or sorted(there):
        part = data.scored.parts[paradigm]
        gridded = _GRID in part.items.columns and bool(part.items[_GRID].notna().any())
        blocks = nback_blocks(part, rules, by=(_GRID,) if gridded else ())
        grids = [_grid(value) for value in blocks[_GRID]] if gridded else [None] * len(blocks)
        several = len(set(grids)) > 1
        title = data.titles[paradigm]
        blocks["variant"] = [f"{title}, {grid} × {grid}" if several and grid else title for grid in grids]
        blocks["study_variant"] = [variant_of(paradigm, grid) for grid in grids]
        tables.append(blocks)
    whole = pd.concat(tables, ignore_index=True)
    order = {variant: place for place, variant in enumerate(dict.fromkeys(name for members in FAMILIES.values() for name, _ in members))}
    rank = whole["study_variant"].map(order).fillna(len(order))
    return whole.assign(_rank=rank).sort_values(["_rank", "variant"], kind="stable", ignore_index=True).drop(columns="_rank")


def _grid(value: Any) -> int | None:
    """The size of a grid; None where there is none."""
    number = float(value) if isinstance(value, Real) else math.nan
    return int(number) if number.is_integer() else None


def _cells(blocks: pd.DataFrame, rules: Rules, measures: Sequence[str]) -> pd.DataFrame:
    return nback_cells(blocks, ("variant", "n"), rules, measures=measures)


def _of_answerers(table: pd.DataFrame, blocks: pd.DataFrame, wish: Wish) -> tuple[list[tuple[str, pd.DataFrame]], Sequence[Look]]:
    """A row for each variant, whose lines are answerers."""
    variants = list(dict.fromkeys(blocks["variant"]))
    return [(name if len(variants) > 1 else "", table[table["variant"] == name]) for name in variants], wish.agents or looks_of(table)


def _of_variants(table: pd.DataFrame, blocks: pd.DataFrame) -> tuple[list[tuple[str, pd.DataFrame]], list[Look]]:
    """A row for each answerer and family, whose lines are variants."""
    groups = families(dict(zip(blocks["variant"], blocks["study_variant"], strict=True)))
    answerers = [look.label for look in looks_of(table)][::-1]
    rows = []
    for answerer in answerers:
        for name, variants in groups:
            part = table[(table["agent"] == answerer) & table["variant"].isin(variants)]
            if len(part):
                rows.append((f"{answerer}, {name}" if len(groups) > 1 else answerer, part.assign(agent=part["variant"])))
    return rows, condition_looks(list(dict.fromkeys(blocks["variant"])))


def families(variants: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Which variants are compared with which: those of each family of the study of which there are two or more, and all others together.

    Parameters
    ----------
    variants : for each variant what the study called it; empty where it had none of the kind
    """
    found = []
    for family, members in FAMILIES.items():
        names = {name for name, _ in members}
        mine = [variant for variant, study in variants.items() if study in names]
        if family != "models" and len(mine) > 1:
            found.append((family, mine))
    others = [variant for variant in variants if not any(variant in group for _, group in found)]
    return [*found, *([("others" if found else "all", others)] if others else [])]


def _measures(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    blocks = variant_blocks(figure.name, data, wish, OURS)
    table = _cells(blocks, OURS, (*_MEASURES, OURS.dprime))
    if blocks["variant"].nunique() == 1:
        return _models(figure, data, wish)
    rows, agents = _of_variants(table, blocks)
    return _over_n(figure, table, blocks, rows, agents, (*_MEASURES, OURS.dprime), _OURS, wish.bars, OURS, line="variant")


def _models(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    blocks = variant_blocks(figure.name, data, wish, OURS)
    table = _cells(blocks, OURS, (*_MEASURES, OURS.dprime))
    return _over_n(figure, table, blocks, *_of_answerers(table, blocks, wish), (*_MEASURES, OURS.dprime), _OURS, wish.bars, OURS)


def _lures(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    blocks = variant_blocks(figure.name, data, wish, OURS)
    table = _cells(blocks, OURS, _LURES)
    if not (table["measure"] == "lure_rate").any():
        raise SpanLabError(f"no figure {figure.name}: no item of these data is recorded as a lure (record lure_lag)")
    said = "Lures do not match the item N back, but the one before or after it. Other items: from the first on that has one N back."
    return _over_n(figure, table, blocks, *_of_answerers(table, blocks, wish), _LURES, said, wish.bars, OURS)


def _published(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    import pandas as pd

    blocks = variant_blocks(figure.name, data, wish, PUBLISHED)
    table = _cells(blocks, PUBLISHED, AVERAGED)
    printed = []
    for (paradigm, variant), part in blocks.groupby(["paradigm", "variant"], sort=False):
        one = printed_cells(str(paradigm), _grid(part[_GRID].iloc[0]) if _GRID in part.columns else None)
        if len(one):
            printed.append(one[one["n"].isin(part["n"].unique())].assign(variant=str(variant)))
    whole = pd.concat([table, *printed], ignore_index=True)
    known = {printed_name(model) for model in _DRAWN} | set(table["agent"])
    drawn = whole[whole["agent"].isin(known)]
    said = f"{_THEIRS} d′ without its sign, as there, is above 0 for guessing, too; the table has it signed."
    if printed:
        said += " Hollow points: values as printed; other sessions in other blocks."
    found = _over_n(figure, whole, blocks, *_of_answerers(drawn, blocks, wish), (*_MEASURES, PUBLISHED.dprime), said, wish.bars, PUBLISHED)
    return replace(found, notes=[*found.notes, f"Printed values: {REFERENCE}"] if printed else found.notes)


def _bars(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    rules = replace(PUBLISHED, ddof=1)
    blocks = variant_blocks(figure.name, data, wish, rules)
    table = _with_t_intervals(_cells(blocks, rules, AVERAGED))
    said = f"{_THEIRS} Bars: means of blocks, with 95% t intervals, which know no limits at 0 and 100%; very long ones end where the panel does."
    measures = (*_MEASURES, "dprime_abs", "dprime")
    return _over_n(figure, table, blocks, *_of_answerers(table, blocks, wish), measures, said, "interval", rules, marks="bars", spread="95% t interval")


def _with_t_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Cells whose interval is that of Student's t; none where there is no spread."""
    from scipy.special import stdtrit

    half = stdtrit(table["n_units"].astype(float) - 1, 0.975) * table["sem"].astype(float)
    mean = table["mean"].astype(float)
    found = table["sem"].notna() & (table["n_units"] > 1)
    note = table["note"].where(~found, table["note"].str.replace("(; )?(only .*: rough interval|all .* alike: no interval)", "", regex=True))
    return table.assign(low=(mean - half).where(found), high=(mean + half).where(found), interval=found.map({True: "t", False: "none"}), note=note)


def _dprime(figure: NBackFigure, data: Data, wish: Wish) -> Drawing:
    blocks = variant_blocks(figure.name, data, wish, PUBLISHED)
    agents = wish.agents or looks_of(blocks)
    title = _title(blocks, "d′ of blocks")
    said = (
        f"{_THEIRS} Filled: blocks by their signed d′; outlined: without its sign, as published. Lines: densities by a normal kernel (Scott's rule), that "
        "of d′ without its sign folded at 0. Dotted: 0, which is guessing."
    )
    columns = [*WHO, "variant", "n", "session", "participant", *("hits", "misses", "false_alarms", "correct_rejections"), "dprime", "dprime_abs"]
    spec = dprime_histograms(blocks, agents, title=title, subtitle=lines(said))
    return Drawing(title, said, blocks[columns], dprime_summary(blocks), spec, agents, told(blocks, PUBLISHED))


def _over_n(
    figure: NBackFigure,
    table: pd.DataFrame,
    blocks: pd.DataFrame,
    rows: Sequence[tuple[str, pd.DataFrame]],
    agents: Sequence[Look],
    measures: Sequence[str],
    said: str,
    bars: Bars,
    rules: Rules,
    **options: Any,
) -> Drawing:
    """A figure of measures over N, with its table and notes."""
    title = _title(blocks, figure.line.removeprefix("N-back: ").split(" (")[0])
    spread = options.pop("spread", BARS_SAID[bars])
    if options.get("marks") != "bars":
        chance = " Dotted: chance." if table["chance"].notna().any() else ""
        said = f"{said} Bars: {'95% intervals' if bars == 'interval' else 'standard errors of the mean'}.{chance}"
    parts = [(heading, with_bars(part, bars)) for heading, part in rows]
    spec = nback_rows(parts, agents, measures, title=title, subtitle=lines(said), bars=spread, **options)
    shown = table[table["measure"].isin(measures)][[name for name in _SHOWN if name in table.columns]]
    return Drawing(title, said, table, shown, spec, agents, told(blocks, rules))


def _title(blocks: pd.DataFrame, what: str) -> str:
    variants = list(dict.fromkeys(blocks["variant"]))
    return f"{variants[0] if len(variants) == 1 else 'N-back'}: {what}"


NBACK_FIGURES: tuple[NBackFigure, ...] = (
    NBackFigure("nback_measures", "N-back: hits, false alarms, accuracy and d′ over N (variants compared, for each answerer and family)", _measures),
    NBackFigure("nback_models", "N-back: hits, false alarms, accuracy and d′ over N (answerers compared, for each variant)", _models),
    NBackFigure("nback_bars", "N-back: means of blocks with t intervals (bars for each answerer, as the study counted)", _bars),
    NBackFigure("nback_dprime", "N-back: d′ of blocks (histograms with densities, signed and without its sign)", _dprime),
    NBackFigure("nback_lures", "N-back: false alarms on lures and on other items", _lures),
    NBackFigure("nback_published", "N-back: as the study counted (with its printed values beside)", _published),
)
