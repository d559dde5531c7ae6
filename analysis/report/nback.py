"""The text and tables of an N-back paradigm in a report: measures over N by our rules and by the
published ones, the study's values, lures and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..data.coding import records
from ..data.numbers import p_value
from ..data.scoring import WHO, Scored, plural
from ..data.unread import UNREAD_COLUMNS, with_unread
from ..figures.nback_chart import TITLES
from ..nback.cells import AVERAGED, blocks_over_repeats, nback_cells, testable_blocks
from ..nback.measures import GRID, OURS, PUBLISHED, describe_exceptions, gridded_blocks
from ..nback.published import recomputed_cells
from ..nback.significance import kruskal_wallis, mann_whitney
from .html_tables import PageTable
from .text import Remark, between, percent, ranked

#: Blocks that each level needs before a test is printed.
_ENOUGH = 5


@dataclass(frozen=True)
class NBack:
    """N-back results of one paradigm: blocks and cells by both sets of rules, and the study's
    values beside them; apart by the size of the grid.

    ``accept_unread`` says whether levels at which many replies could not be read are tested all the
    same.
    """

    blocks: pd.DataFrame
    cells: pd.DataFrame
    published_cells: pd.DataFrame
    study: pd.DataFrame
    grids: tuple[int | None, ...]
    accept_unread: bool = False


def nback_results(scored: Scored, paradigm: str) -> NBack | None:
    """The results of one paradigm; None when it has no N-back blocks."""
    if not scored.blocks:
        return None
    blocks, theirs = gridded_blocks(scored, OURS), gridded_blocks(scored, PUBLISHED)
    by = (GRID,) if GRID in blocks.columns else ()
    over = (*by, "n")
    grids: tuple[int | None, ...] = (
        tuple(int(grid) for grid in sorted(blocks[GRID].dropna().unique())) if by else (None,)
    )
    study = []
    for grid in grids:
        cells = recomputed_cells(paradigm, grid)
        there = blocks.loc[blocks[GRID] == grid, "n"] if grid is not None else blocks["n"]
        if len(cells):
            study.append(cells[cells["n"].isin(there.unique())].assign(**({} if grid is None else {GRID: grid})))
    return NBack(
        blocks=blocks,
        cells=with_unread(nback_cells(blocks, over, OURS)),
        published_cells=with_unread(nback_cells(theirs, over, PUBLISHED, measures=AVERAGED)),
        study=pd.concat(study, ignore_index=True) if study else pd.DataFrame(columns=[*WHO, *over, "measure", "mean"]),
        grids=grids,
        accept_unread=scored.accept_unread,
    )


def _of_grid(table: pd.DataFrame, grid: int | None) -> pd.DataFrame:
    return table if grid is None or GRID not in table.columns else table[table[GRID] == grid]


def nback_tables(results: NBack) -> list[PageTable]:
    """The folded tables of a paradigm."""
    tables = []
    for grid in results.grids:
        size = "" if grid is None or len(results.grids) == 1 else f", {grid} × {grid}"
        ours, theirs, study = (
            _of_grid(table, grid) for table in (results.cells, results.published_cells, results.study)
        )
        number = (
            "Of summed counts, log-linear correction; 95% interval in brackets. Zero is chance, below zero worse than"
            " chance."
        )
        tables.append(_over_n(ours, "dprime_pooled", f"d′ over N{size}", number))
        criterion = "Above zero: rarely says that an item matches. Of summed counts; 95% interval in brackets."
        tables.append(_over_n(ours, "criterion_pooled", f"Criterion c over N{size}", criterion))
        for measure in ("hit_rate", "false_alarm_rate", "accuracy", "lure_rate", "plain_rate"):
            if (ours["measure"] == measure).any():
                tables.append(
                    _over_n(ours, measure, f"{TITLES[measure]} over N{size}", "In percent; 95% interval in brackets.")
                )
        both = pd.concat([theirs, study], ignore_index=True) if len(study) else theirs
        caption = (
            "Mean of blocks ± s.e.m. by the published rules; (recomputed): the study's, from its raw answers."
            if len(study)
            else "Mean of blocks ± s.e.m."
        )
        for measure in ("hit_rate", "false_alarm_rate", "accuracy", "dprime_abs"):
            tables.append(_over_n(both, measure, f"By the published rules: {TITLES[measure]}{size}", caption, sem=True))
        tables.append(
            _over_n(
                theirs,
                "dprime",
                f"By the published rules, but with its sign: d′{size}",
                "Mean of blocks ± s.e.m.",
                sem=True,
            )
        )
    tests = _tests(results)
    return [*tables, *([tests] if tests.rows else [])]


def _over_n(table: pd.DataFrame, measure: str, title: str, caption: str, sem: bool = False) -> PageTable:
    """A row for each answerer, a column for each N; with a number the share of replies that could
    not be read, where there are any."""
    part = ranked(table[table["measure"] == measure])
    if "unread" in part.columns and (part["unread"] > 0).any():
        caption += " After a semicolon: the share of replies that could not be read" + (
            ", and what is right if these are guesses."
            if measure == "accuracy"
            else "; these count as missed, or as no match."
            if sem
            else "; they count as missed."
        )
    levels = [int(n) for n in sorted(part["n"].unique())]
    share = measure.endswith("rate") or measure == "accuracy"
    cells: dict[tuple[str, int], str] = {}
    for row in records(part):
        mean, low, high, spread = (row[name] for name in ("mean", "low", "high", "sem"))
        text = percent(mean) if share else "–" if mean != mean else f"{mean:.2f}"
        if sem and spread == spread:
            text = f"{100 * mean:.2f} ± {100 * spread:.2f}" if share else f"{mean:.2f} ± {spread:.2f}"
        elif not sem and low == low:
            text += f" [{between(low, high)}]" if share else f" [{low:.2f}, {high:.2f}]"
        cells[row["agent"], int(row["n"])] = text + _unread(row)
    agents = list(dict.fromkeys(part["agent"]))
    rows = tuple((agent, *(cells.get((agent, n), "") for n in levels)) for agent in agents)
    return PageTable(title, caption, ("who", *(f"{n}-back" for n in levels)), rows)


def _unread(row: Mapping[Any, Any]) -> str:
    """Say what unread replies leave open, to follow a number in its cell; empty where there are
    none."""
    share, if_guessed = (row.get(name, math.nan) for name in UNREAD_COLUMNS)
    if not share > 0:
        return ""
    return f"; {percent(share)} unread" + (f", as guesses {percent(if_guessed)}" if if_guessed == if_guessed else "")


def _tests(results: NBack) -> PageTable:
    """Test whether d' differs over N, for whoever has enough independent blocks."""
    blocks = (
        results.blocks
        if results.accept_unread
        else testable_blocks(results.blocks, [name for name in (GRID, "n") if name in results.blocks.columns])
    )
    blocks = blocks_over_repeats(blocks)
    units = results.cells[results.cells["unit"] == "block"]["agent"].unique()
    rows: list[tuple[str, ...]] = []
    for grid in results.grids:
        part = _of_grid(blocks, grid)
        for agent in dict.fromkeys(ranked(part[["agent", "agent_kind"]].drop_duplicates())["agent"]):
            blocks_of = part[part["agent"] == agent]
            if agent not in units or blocks_of["n"].nunique() < 2 or blocks_of.groupby("n").size().min() < _ENOUGH:
                continue
            (whole,) = records(kruskal_wallis(blocks_of, "dprime", WHO))
            pairs = [
                f"{row['first']} and {row['second']}: p {_p(row['p_bonferroni'])}, r = {row['rank_biserial']:+.2f}"
                for row in records(mann_whitney(blocks_of, "dprime", WHO))
            ]
            name = f"{agent}, {grid} × {grid}" if grid is not None and len(results.grids) > 1 else agent
            kruskal = (
                "–"
                if whole["h"] != whole["h"]
                else f"H({whole['df']}) = {whole['h']:.2f}, p {_p(whole['p'])}, ε² = {whole['epsilon_squared']:.2f}"
            )
            rows.append((name, kruskal, "; ".join(pairs)))
    caption = (
        "Signed d′ of each block (log-linear). Kruskal–Wallis with ε² = H / (n − 1); two-sided Mann–Whitney between"
        " levels, times the number of pairs (Bonferroni), with the rank-biserial correlation r (negative: the lower N"
        f" scores higher). For agents with {_ENOUGH} blocks or more at each N."
    )
    columns = ("who", "Kruskal–Wallis", "pairs of N")
    return PageTable("Does d′ differ over N?", caption, columns, tuple(rows), words=columns)


def _p(value: float) -> str:
    text = p_value(value)
    return f"= {text}" if text.startswith(".") or text[:1].isdigit() else text


def nback_ends(results: NBack) -> Mapping[str, str]:
    """Return how d' changes from the lowest to the highest N, for each answerer, as the end of a
    sentence; without levels at which somebody always gave the same answer, whose d' is what the
    correction makes of it."""
    if len(results.grids) > 1:
        return {}
    part = results.cells[(results.cells["measure"] == "dprime_pooled") & results.cells["mean"].notna()]
    rates = results.cells.pivot_table(index=["agent", "n"], columns="measure", values="mean", observed=True)
    always = rates[(rates["hit_rate"] == rates["false_alarm_rate"]) & rates["hit_rate"].isin([0, 1])].index
    part = part[~pd.MultiIndex.from_frame(part[["agent", "n"]]).isin(always)]
    ends = {}
    for agent, curve in part.groupby("agent"):
        curve = curve.sort_values("n")
        first, last = curve.iloc[0], curve.iloc[-1]
        text = f"; d′ {first['mean']:.1f} at {first['n']}-back"
        ends[str(agent)] = text + (f", {last['mean']:.1f} at {last['n']}-back" if len(curve) > 1 else "")
    return ends


def nback_notes(results: NBack) -> list[Remark]:
    """Notes on the limits of these numbers and on how answers were counted."""
    notes = [Remark(text) for text in describe_exceptions(results.blocks, OURS)]
    if notes:
        notes.append(Remark("“Overall accuracy” counts all items."))
    empty = results.cells[
        (results.cells["measure"] == "dprime_pooled") & results.cells["note"].str.contains("its size is the correction")
    ]
    if len(empty):
        whose = f"{plural(len(empty), 'd′', 'd′ values')} of somebody without any miss, hit or false alarm"
        notes.append(
            Remark(f"{whose}: how large it is depends on the correction, and its interval is too narrow.", warning=True)
        )
    if len(results.study):
        notes.append(
            Remark(
                "The study's values are recomputed from its raw answers: other sessions of language models, in other"
                " blocks. They have no intervals here."
            )
        )
    return notes
