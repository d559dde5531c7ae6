"""The figures of the N-back study of language models (Gong, Wan & Wang, AAAI 2024), drawn from any
N-back data.

A *variant* is a paradigm, or one size of its grid where it has several; a *family* is a set of
variants that the study compares in one figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import pandas as pd

from spanlab.analysis.data import Scored, condition_looks, plural
from spanlab.analysis.data.scoring import WHO
from spanlab.analysis.data.style import Look, thin_lines
from spanlab.analysis.data.unread import UNREAD_COLUMNS, unread_caption, with_unread
from spanlab.analysis.figures import MarkedAnswers, Wish
from spanlab.analysis.figures.effect_figure import looks_of
from spanlab.analysis.figures.figure import (
    BAR_LABELS,
    Bars,
    Computed,
    FigureDeclaration,
    Section,
    lines,
    named_paradigms,
    with_bars,
)
from spanlab.analysis.figures.marked_answers import between_edges, rows_with
from spanlab.analysis.nback import FAMILIES, PUBLISHED, REFERENCE, STUDY_MODEL, nback_cells
from spanlab.analysis.nback.cells import AVERAGED
from spanlab.analysis.nback.measures import GRID, OURS, Rules, describe_exceptions, gridded_blocks
from spanlab.analysis.nback.published import recomputed_cells, recomputed_name, variant_of
from spanlab.core import SpanLabError

from .chart import dprime_histograms, dprime_summary, nback_rows, span_of

if TYPE_CHECKING:
    from spanlab.analysis.data import Data

_MEASURES = ("hit_rate", "false_alarm_rate", "accuracy")
_LURES = ("lure_rate", "before_rate", "after_rate", "plain_rate")
#: So many blocks of somebody at one N are a distribution.
_DISTRIBUTION = 10
#: Models of the study that are drawn; all of them are in the table.
_DRAWN = (STUDY_MODEL, "gpt-4")
_OURS = (
    "A hit is a match that was called one. Signed d′ of summed counts, log-linear correction. The first N items of a"
    " block, which have nothing to match, and"
    " answers that were never asked for are left out."
)
_THEIRS = (
    "By the rules of the N-back study of language models (Gong, Wan & Wang, 2024): rates clipped to 0.01 and 0.99, all"
    " items counted."
)
_SHOWN = ("agent", "variant", "n", "measure", "mean", "low", "high", "sem", *UNREAD_COLUMNS, "unit", "n_units", "note")


def variant_blocks(figure: str, data: Data, wish: Wish, rules: Rules) -> pd.DataFrame:
    """The blocks of the chosen N-back paradigms (:func:`.nback_blocks`), with ``variant`` as
    figures name it and ``study_variant`` as the study does.

    Raises
    ------
    SpanLabError
        when there are none.
    """
    named = named_paradigms(data, wish)
    there = {name for name, part in data.scored.parts.items() if part.blocks}
    other = [name for name in named if name not in there]
    if other:
        raise SpanLabError(f"no figure {figure}: {other[0]} is not an N-back paradigm")
    if not there:
        have = f"no N-back paradigm, only {', '.join(data.titles)}" if data.titles else "no scored answers"
        raise SpanLabError(f"no figure {figure}: these data have {have}")
    tables = []
    for paradigm in named or sorted(there):
        blocks = gridded_blocks(data.scored.parts[paradigm], rules)
        grids = [_grid(value) for value in blocks[GRID]] if GRID in blocks.columns else [None] * len(blocks)
        several = len(set(grids)) > 1
        title = data.titles[paradigm]
        blocks["variant"] = [f"{title}, {grid} × {grid}" if several and grid else title for grid in grids]
        blocks["study_variant"] = [variant_of(paradigm, grid) for grid in grids]
        tables.append(blocks)
    whole = pd.concat(tables, ignore_index=True)
    if not len(whole):
        raise SpanLabError(
            f"no figure {figure}: no item of these data tells whether it is a match (record match) and how many back"
            " (factor n, or set_size)"
        )
    order = {
        variant: place
        for place, variant in enumerate(dict.fromkeys(name for members in FAMILIES.values() for name, _ in members))
    }
    rank = whole["study_variant"].map(order).fillna(len(order))
    return (
        whole.assign(_rank=rank)
        .sort_values(["_rank", "variant"], kind="stable", ignore_index=True)
        .drop(columns="_rank")
    )


def _grid(value: Any) -> int | None:
    """The size of a grid; None where there is none."""
    number = float(value) if isinstance(value, Real) else math.nan
    return int(number) if number.is_integer() else None


def _cells(blocks: pd.DataFrame, rules: Rules, measures: Sequence[str]) -> pd.DataFrame:
    return with_unread(nback_cells(blocks, ("variant", "n"), rules, measures=measures))


def _of_answerers(table: pd.DataFrame, blocks: pd.DataFrame) -> tuple[list[tuple[str, pd.DataFrame]], Sequence[Look]]:
    """A row for each variant, whose lines are answerers."""
    variants = list(dict.fromkeys(blocks["variant"]))
    return [(name if len(variants) > 1 else "", table[table["variant"] == name]) for name in variants], looks_of(table)


def _of_variants(table: pd.DataFrame, blocks: pd.DataFrame) -> tuple[list[tuple[str, pd.DataFrame]], list[Look]]:
    """A row for each answerer and family, whose lines are variants."""
    groups = families(dict(zip(blocks["variant"], blocks["study_variant"], strict=True)))
    answerers = [look.label for look in looks_of(table)][::-1]
    rows = []
    for answerer in answerers:
        for name, variants in groups:
            part = table[(table["agent"] == answerer) & table["variant"].isin(variants)]
            if len(part):
                rows.append(
                    (
                        f"{answerer}, {name}" if len(groups) > 1 else answerer,
                        part.assign(agent=part["variant"], answerer=part["agent"]),
                    )
                )
    return rows, condition_looks(list(dict.fromkeys(blocks["variant"])))


def families(variants: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Return which variants are compared with which: those of each family of the study of which
    there are two or more, and all others together.

    Parameters
    ----------
    variants : for each variant what the study called it; empty where it had none of the kind
    """
    groups = []
    for family, members in FAMILIES.items():
        names = {name for name, _ in members}
        mine = [variant for variant, study in variants.items() if study in names]
        if family != "models" and len(mine) > 1:
            groups.append((family, mine))
    others = [variant for variant in variants if not any(variant in group for _, group in groups)]
    if others:
        groups.append(("others" if groups else "all", others))
    return groups


def _measures(name: str, title: str, data: Data, wish: Wish) -> Computed:
    blocks = variant_blocks(name, data, wish, OURS)
    if blocks["variant"].nunique() == 1:
        return _models(name, title, data, wish)
    table = _cells(blocks, OURS, (*_MEASURES, OURS.dprime))
    computed = _over_n(
        data,
        title,
        table,
        blocks,
        *_of_variants(table, blocks),
        (*_MEASURES, OURS.dprime),
        _OURS,
        wish.bars,
        OURS,
        line="variant",
    )
    return replace(computed, conditions=True)


def _models(name: str, title: str, data: Data, wish: Wish) -> Computed:
    blocks = variant_blocks(name, data, wish, OURS)
    table = _cells(blocks, OURS, (*_MEASURES, OURS.dprime))
    return _over_n(
        data, title, table, blocks, *_of_answerers(table, blocks), (*_MEASURES, OURS.dprime), _OURS, wish.bars, OURS
    )


def _lures(name: str, title: str, data: Data, wish: Wish) -> Computed:
    blocks = variant_blocks(name, data, wish, OURS)
    table = _cells(blocks, OURS, _LURES)
    if not (table["measure"] == "lure_rate").any():
        raise SpanLabError(f"no figure {name}: no item of these data is recorded as a lure (record lure_lag)")
    explanation = (
        "Lures do not match the item N back, but the one before or after it. Other items count from the first that"
        " has an item N back."
    )
    return _over_n(data, title, table, blocks, *_of_answerers(table, blocks), _LURES, explanation, wish.bars, OURS)


def _published(name: str, title: str, data: Data, wish: Wish) -> Computed:
    blocks = variant_blocks(name, data, wish, PUBLISHED)
    table = _cells(blocks, PUBLISHED, AVERAGED)
    theirs = []
    for (paradigm, variant), part in blocks.groupby(["paradigm", "variant"], sort=False):
        cells = recomputed_cells(str(paradigm), _grid(part[GRID].iloc[0]) if GRID in part.columns else None)
        if len(cells):
            theirs.append(cells[cells["n"].isin(part["n"].unique())].assign(variant=str(variant)))
    whole = pd.concat([table, *theirs], ignore_index=True)
    drawn = whole[whole["agent"].isin({*map(recomputed_name, _DRAWN), *table["agent"]})]
    explanation = (
        f"{_THEIRS} Hits: repetitions that were noticed. False alarms: others that were taken for one. Sensitivity: by"
        " how much hits exceed false alarms (d′, whose sign the study drops: guessing is above 0, too)."
    )
    if theirs:
        explanation += " Hollow points: recomputed from the study's raw answers; other sessions in other blocks."
    computed = _over_n(
        data,
        title,
        whole,
        blocks,
        *_of_answerers(drawn, blocks),
        (*_MEASURES, PUBLISHED.dprime),
        explanation,
        wish.bars,
        PUBLISHED,
    )
    return replace(
        computed,
        notes=[*computed.notes, f"Recomputed from the raw answers of: {REFERENCE}"] if theirs else computed.notes,
    )


def _bars(name: str, title: str, data: Data, wish: Wish) -> Computed:
    rules = replace(PUBLISHED, ddof=1)
    blocks = variant_blocks(name, data, wish, rules)
    table = _with_t_intervals(_cells(blocks, rules, AVERAGED))
    explanation = (
        f"{_THEIRS} Bars: means of blocks, with 95% t intervals, which may extend beyond 0 and 100%; very long ones end"
        " at the edge of the panel."
    )
    measures = (*_MEASURES, "dprime_abs", "dprime")
    return _over_n(
        data,
        title,
        table,
        blocks,
        *_of_answerers(table, blocks),
        measures,
        explanation,
        "interval",
        rules,
        marks="bars",
        spread="95% t interval",
    )


def _with_t_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Cells whose interval is that of Student's t; none where there is no spread."""
    from scipy.special import stdtrit

    half = stdtrit(table["n_units"].astype(float) - 1, 0.975) * table["sem"].astype(float)
    mean = table["mean"].astype(float)
    has_spread = table["sem"].notna() & (table["n_units"] > 1)
    note = table["note"].where(
        ~has_spread,
        table["note"].str.replace("(; )?(only .*: rough interval|all .* alike: no interval)", "", regex=True),
    )
    return table.assign(
        low=(mean - half).where(has_spread),
        high=(mean + half).where(has_spread),
        interval=has_spread.map({True: "t", False: "none"}),
        note=note,
    )


def _dprime(name: str, title: str, data: Data, wish: Wish) -> Computed:
    blocks = variant_blocks(name, data, wish, PUBLISHED)
    title = _title(blocks, title)
    explanation = (
        f"{_THEIRS} Filled: blocks by their signed d′; outlined: without its sign, as published. Lines: densities by a"
        " normal kernel (Scott's rule), that of d′ without its sign folded at 0. Dotted: 0, which is guessing."
        + unread_caption(with_unread(blocks.assign(mean=blocks["accuracy"])))
    )
    columns = [
        *WHO,
        "variant",
        "n",
        "session",
        "participant",
        *("hits", "misses", "false_alarms", "correct_rejections"),
        "dprime",
        "dprime_abs",
    ]
    return Computed(
        title=title,
        caption=explanation,
        table=blocks[columns],
        shown=dprime_summary(blocks),
        picture=lambda looks: dprime_histograms(blocks, looks, title=title, subtitle=lines(explanation)),
        looks=looks_of(blocks),
        notes=describe_exceptions(blocks, PUBLISHED),
        answers=partial(_answers_in_bar, data.scored, blocks),
    )


def _over_n(
    data: Data,
    title: str,
    table: pd.DataFrame,
    blocks: pd.DataFrame,
    rows: Sequence[tuple[str, pd.DataFrame]],
    looks: Sequence[Look],
    measures: Sequence[str],
    explanation: str,
    bars: Bars,
    rules: Rules,
    **options: Any,
) -> Computed:
    """A figure of measures over N, with its table and notes."""
    title = _title(blocks, title)
    spread = options.pop("spread", BAR_LABELS[bars])
    if options.get("marks") != "bars":
        chance = " Dotted: chance." if table["chance"].notna().any() else ""
        explanation = (
            f"{explanation} Bars:"
            f" {'95% intervals' if bars == 'interval' else 'standard errors of the mean'}.{chance}{thin_lines(looks)}"
        )
    explanation += unread_caption(table)
    parts = [(heading, with_bars(part, bars)) for heading, part in rows]
    shown = table[table["measure"].isin(measures)][[name for name in _SHOWN if name in table.columns]]
    return Computed(
        title=title,
        caption=explanation,
        table=table,
        shown=shown,
        picture=lambda drawn: nback_rows(
            parts, drawn, measures, title=title, subtitle=lines(explanation), bars=spread, **options
        ),
        looks=looks,
        notes=describe_exceptions(blocks, rules),
        answers=partial(_answers, data.scored, blocks, [part for _, part in rows]),
    )


def _answers(
    scored: Scored, blocks: pd.DataFrame, parts: Sequence[pd.DataFrame], mark: Mapping[str, Any]
) -> MarkedAnswers | None:
    """The answers behind a point or a bar over N: those of all of its blocks."""
    if mark.get("role") != "curve":
        return None
    cells = parts[mark["part"]]
    cell = cells[
        (cells["agent"] == mark["agent"]) & (cells["measure"] == mark["measure"]) & (cells["n"] == mark["at"])
    ].iloc[0]
    conditions = {"variant": cell["variant"], "n": int(cell["n"])}
    return _of_blocks(
        scored, rows_with(blocks, {"agent": cell.get("answerer", cell["agent"]), **conditions}), conditions
    )


def _answers_in_bar(scored: Scored, blocks: pd.DataFrame, mark: Mapping[str, Any]) -> MarkedAnswers | None:
    """The answers behind a bar of blocks."""
    if mark.get("role") not in ("signed", "unsigned"):
        return None
    conditions = {"variant": mark["variant"], "n": mark["n"]}
    mine = rows_with(blocks, {"agent": mark["answerer"], **conditions})
    values = mine["dprime"].astype(float) if mark["role"] == "signed" else mine["dprime"].astype(float).abs()
    return _of_blocks(
        scored,
        mine[between_edges(values, mark["x"], mark["x2"], span_of(blocks)[1])],
        {**conditions, "d′": mark["range"]},
    )


def _of_blocks(scored: Scored, blocks: pd.DataFrame, conditions: Mapping[str, Any]) -> MarkedAnswers | None:
    """The answers of some blocks; None where there are none, as of the study's own models, or where
    trials cannot be told apart."""
    units = blocks["unit_trial"]
    if not len(units) or (units < 0).any():
        return None
    return MarkedAnswers(conditions, lambda: scored.items[scored.items["unit_trial"].isin(units)])


def _title(blocks: pd.DataFrame, what: str) -> str:
    variants = list(dict.fromkeys(blocks["variant"]))
    return f"{variants[0] if len(variants) == 1 else 'N-back'}: {what}"


def _no_blocks(scored: Scored, paradigm: str) -> str:
    return (
        "" if paradigm in scored.parts and scored.parts[paradigm].blocks else f"{paradigm} is not an N-back paradigm."
    )


def _no_lures(scored: Scored, paradigm: str) -> str:
    lacking = _no_blocks(scored, paradigm)
    if lacking or gridded_blocks(scored.parts[paradigm], OURS)["lures"].any():
        return lacking
    return f"{paradigm} has no item that is recorded as a lure (record lure_lag)."


def _few_blocks(scored: Scored, paradigm: str) -> str:
    """Return why a distribution of blocks is not worth a place on a page."""
    blocks = gridded_blocks(scored.parts[paradigm], OURS)
    most = int(blocks.groupby([*WHO, "n"], observed=True).size().max()) if len(blocks) else 0
    if most >= _DISTRIBUTION:
        return ""
    reason = f"nobody has more than {plural(most, 'block')} at one N, and a distribution needs {_DISTRIBUTION}"
    return f"No figure “d′ of blocks”: {reason}. 'spanlab figure nback_dprime' draws it anyway."


def _declared(
    name: str,
    title: str,
    details: str,
    compute: Callable[[str, str, Data, Wish], Computed],
    missing: Callable[[Scored, str], str] = _no_blocks,
    place: int | None = None,
    too_few: Callable[[Scored, str], str] | None = None,
) -> FigureDeclaration:
    """A figure of N-back data; ``place`` is that on the page, None where it is on none."""
    line = f"N-back: {title}" + (f" ({details})" if details else "")
    section: Section | None = None if place is None else "blocks"
    declaration = FigureDeclaration(
        name,
        title,
        partial(compute, name, title),
        missing,
        line=line,
        answers="blocks",
        section=section,
        place=place or 0,
    )
    return replace(declaration, too_few=too_few) if too_few else declaration


_OVER_N = "hits, false alarms, accuracy and d′ over N"
MEASURES = _declared("nback_measures", _OVER_N, "variants compared, for each answerer and family", _measures)
MODELS = _declared("nback_models", _OVER_N, "answerers compared, for each variant", _models, place=1)
BARS = _declared(
    "nback_bars", "means of blocks with t intervals", "bars for each answerer, as the study counted", _bars
)
DPRIME = _declared(
    "nback_dprime",
    "d′ of blocks",
    "histograms with densities, signed and without its sign",
    _dprime,
    place=4,
    too_few=_few_blocks,
)
LURES = _declared("nback_lures", "false alarms on lures and on other items", "", _lures, _no_lures, place=2)
AS_PUBLISHED = _declared(
    "nback_published", "as the study counted", "with the study's own values beside them", _published, place=3
)
