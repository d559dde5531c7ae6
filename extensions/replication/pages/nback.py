"""The N-back study of language models (Gong, Wan & Wang, AAAI 2024), made again from the counts of
its blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from spanlab.analysis import figure_named
from spanlab.analysis.data import condition_looks, load
from spanlab.analysis.figures import Wish, draw
from spanlab.analysis.nback import (
    FAMILIES,
    OTHER_MODELS,
    PUBLISHED,
    REFERENCE,
    STUDY_MODEL,
    above,
    kruskal_wallis,
    layout,
    mann_whitney,
    measured,
    nback_cells,
    printed_means,
    printed_tests,
    published_blocks,
)
from spanlab.core import SpanLabError

from ..nback.chart import nback_rows
from .entries import Entry, Row, verdict_of

#: The study's tasks; those with feedback are left to agents that read.
PARADIGMS = (
    *(
        "nback_verbal",
        "nback_verbal_noise",
        "nback_verbal_reasoning",
        "nback_spatial",
        "nback_spatial_noise",
        "nback_spatial_reasoning",
    ),
    *("nback_abstraction", "nback_abstraction_strict"),
)
#: Blocks of each, where nothing else is said: 50 at each of three N, as the study had them.
TRIALS = 150
LEAD = REFERENCE
_MEASURES = (
    ("hit_rate", "hits %", 2),
    ("fa_rate", "false alarms %", 2),
    ("accuracy", "accuracy %", 2),
    ("dprime", "d′", 2),
)
#: Of the other models, the one that the notebook of other models prints.
OTHER_MODEL = "bloomz-7b"
_DRAWN = ("hit_rate", "false_alarm_rate", "accuracy", "dprime_abs")
_FAMILY_SAID = {
    "verbal": "verbal N-back and its variants",
    "spatial": "spatial N-back and its variants",
    "grid size": "spatial N-back in grids of four sizes",
    "abstraction": "spatial N-back and the two tasks of relations",
    "models": "language models compared",
}
#: Why some notebooks print other values than their raw answers give, and how the printed ones come
#: out: by notebook.
_HITS_MINUS_FALSE_ALARMS = "the notebook prints hits minus false alarms as accuracy"
_REASONS = {
    "verbal_with_noise": _HITS_MINUS_FALSE_ALARMS,
    "verbal_with_feedback": _HITS_MINUS_FALSE_ALARMS,
    "verbal_think_by_step": _HITS_MINUS_FALSE_ALARMS,
    "spatial_4x4": "the notebook prints the first 25 of 50 blocks",
    "spatial_abstraction_2": "the notebook prints the results of spatial_abstraction",
    "verbal_other_models": "the notebook prints the results of bloomz-7b",
}
_NOTEBOOKS = "printed in the authors' notebooks (Daniel-Gong/ChatGPT-WM, commit 1c1467b)"


def entries(data: Sequence[Path], absent: Sequence[str]) -> list[Entry]:
    """The page's tables and figures.

    Parameters
    ----------
    data : folders with sessions of N-back paradigms, of answerers at hand
    absent : who could not take which paradigm, and why, in sentences
    """
    blocks = measured(published_blocks(), PUBLISHED)
    families = [_family(name, blocks) for name in FAMILIES]
    return [
        printed_table(blocks),
        *families,
        printed_tests_again(blocks),
        *_at_hand(data, absent),
        Entry(
            "asked-again",
            "The study's models, asked again",
            "not available here",
            "the study asked gpt-3.5-turbo and seven other models, which are on their makers' servers or on large"
            " computers, and a page that is made without keys asks nobody; with a key or a server of your own, --agent"
            " chat:MODEL@PROVIDER takes them along. What a model says today need not be what it said in 2023.",
        ),
    ]


def printed_table(blocks: pd.DataFrame) -> Entry:
    """The tables of the notebooks, beside what the raw answers give."""
    rows, cells, apart = [], 0, 0
    recounted = layout(blocks)
    for row in printed_means().to_dict("records"):
        notebook, n = str(row["notebook"]), int(row["n"])
        ours, printed = (
            _texts(recounted, notebook, n),
            [f"{row[f'{name}_mean']} ± {row[f'{name}_sem']}" for name, *_ in _MEASURES],
        )
        others = [label for (_, label, _), mine, theirs in zip(_MEASURES, ours, printed, strict=True) if mine != theirs]
        cells, apart = cells + len(printed), apart + len(others)
        said = f"{', '.join(others)}: {_why(blocks, recounted, notebook, n, printed)}" if others else ""
        rows.append(
            Row((notebook, str(n)), " · ".join(ours), " · ".join(printed), "differs" if others else "same", said)
        )
    verdict, summary = verdict_of(rows)
    return Entry(
        "table",
        "The notebooks' tables: hits, false alarms, accuracy and d′ (mean ± s.e.m. of blocks)",
        verdict,
        f"{summary}; {cells - apart} of {cells} cells are, to the last printed digit. Ours are counted from the raw"
        f" answers of {len(blocks):,} blocks",
        ("notebook", "N"),
        tuple(rows),
        caption="In each cell: hits % · false alarms % · accuracy % · d′ without its sign.",
        source=_NOTEBOOKS,
        command=(
            'python -c "from spanlab.analysis.nback.published import layout, published_blocks;'
            ' print(layout(published_blocks()))"'
        ),
    )


def _texts(recounted: pd.DataFrame, variant: str, n: int, model: str = STUDY_MODEL) -> list[str]:
    """The means and standard errors of a variant, with the digits of the notebooks."""
    model = OTHER_MODEL if variant == OTHER_MODELS else model
    row = recounted[(recounted["variant"] == variant) & (recounted["model"] == model) & (recounted["n"] == n)].iloc[0]
    return [f"{row[f'{name}_mean']:.2f} ± {row[f'{name}_sem']:.2f}" for name, *_ in _MEASURES]


def _why(blocks: pd.DataFrame, recounted: pd.DataFrame, notebook: str, n: int, printed: Sequence[str]) -> str:
    """Why a notebook prints other values: said only where the printed ones come out in that way."""
    reason = _REASONS.get(notebook, "")
    found: Sequence[str] = []
    if reason == _HITS_MINUS_FALSE_ALARMS:
        mine = blocks[(blocks["variant"] == notebook) & (blocks["n"] == n)]
        gap = 100 * (mine["hit_rate"] - mine["false_alarm_rate"])
        texts = _texts(recounted, notebook, n)
        found = [*texts[:2], f"{gap.mean():.2f} ± {gap.std(ddof=0) / len(gap) ** 0.5:.2f}", texts[3]]
    elif notebook == "spatial_4x4":
        found = _texts(layout(blocks[(blocks["variant"] == notebook) & (blocks["block"] < 25)]), notebook, n)
    elif notebook == "spatial_abstraction_2":
        found = _texts(recounted, "spatial_abstraction", n)
    return (
        f"{reason}; in that way, ours are as printed"
        if list(found) == list(printed)
        else reason or "the reason is not known"
    )


def _family(name: str, blocks: pd.DataFrame) -> Entry:
    """The figure of one family, from the published blocks."""
    parts = []
    for variant, model in FAMILIES[name]:
        part = blocks[(blocks["variant"] == variant) & ((blocks["model"] == model) | (model is None))]
        label = part["model"].astype(str) if name == "models" else part["variant"].astype(str)
        parts.append(part.assign(agent=label))
    whole = pd.concat(parts, ignore_index=True)
    cells = nback_cells(whole, rules=PUBLISHED, who=("agent",), measures=_DRAWN, unit="block").assign(
        paradigm=name, agent_kind="chat", oracle=False
    )
    looks = condition_looks(list(dict.fromkeys(whole["agent"])))
    spec = nback_rows(
        [("", cells)],
        looks,
        _DRAWN,
        title=_FAMILY_SAID[name][:1].upper() + _FAMILY_SAID[name][1:],
        line="variant" if name != "models" else "model",
    )
    return Entry(
        f"family-{name.replace(' ', '-')}",
        f"Figure: {_FAMILY_SAID[name]}",
        "ours alone",
        "it is drawn from the published raw answers; the study's own figure is a picture, and the means in it are held"
        " against print in the table above",
        picture=draw(spec, looks),
        source="recomputed from the published raw answers",
        caption=(
            "Bars: 95% intervals over blocks; the study drew standard errors or t intervals. d′ without its sign, as"
            " there."
        ),
    )


def printed_tests_again(blocks: pd.DataFrame) -> Entry:
    """All tests that the study printed, run again."""
    ours = {value: _tests(blocks, value) for value in ("dprime_abs", "dprime")}
    rows, other_decisions = [], 0
    for row in printed_tests().to_dict("records"):
        key = (row["test"], row["variant"], row["model"], row["n"])
        mine, signed = ours["dprime_abs"][key], ours["dprime"][key]
        names = ("statistic", "p", "effect")
        apart = [name for name, value in zip(names, mine, strict=True) if not _as_printed(value, row[name])]
        changed = (signed[1] < 0.05) != (mine[1] < 0.05)
        other_decisions += changed
        said = [f"{', '.join(apart)} differ"] * bool(apart)
        said += [f"with signed d′ p = {signed[1]:.2g}, another decision at .05"] * changed
        texts = [f"{name} {value:.6g}" for name, value in zip(names, mine, strict=True)]
        printed = [f"{name} {row[name]}" for name in names]
        what = (row["family"], row["test"], f"{row['variant']}, {row['model']}", row["n"])
        rows.append(Row(what, " · ".join(texts), " · ".join(printed), "differs" if apart else "same", "; ".join(said)))
    verdict, summary = verdict_of(rows)
    return Entry(
        "tests",
        "Tests of d′ over N: all that the study printed",
        verdict,
        f"{summary}, in statistic, p and effect size. With its sign, d′ leads to another decision at .05 in"
        f" {other_decisions} of them",
        ("family", "test", "of", "N"),
        tuple(rows),
        caption=(
            "d′ without its sign, as in the study. Wilcoxon's p values are those of the exact distribution without"
            " ties, as the study's software took it."
        ),
        source="printed in the authors' notebook analysis_across_exps (Daniel-Gong/ChatGPT-WM, commit 1c1467b)",
        command=(
            'python -c "from spanlab.analysis.nback.published import published_blocks; from'
            " spanlab.analysis.nback.significance import kruskal_wallis; print(kruskal_wallis(published_blocks(),"
            " 'dprime_abs'))\""
        ),
    )


def _tests(blocks: pd.DataFrame, value: str) -> dict[tuple[str, str, str, str], tuple[float, float, float]]:
    """Statistic, p and effect of every test of the study, by test, variant, model and N."""
    over_levels = {
        ("Kruskal-Wallis", row["variant"], row["model"], "1, 2, 3"): (row["h"], row["p"], row["eta_squared"])
        for row in kruskal_wallis(blocks, value).to_dict("records")
    }
    between_levels = {
        ("Mann-Whitney", row["variant"], row["model"], f"{row['first']} vs {row['second']}"): (
            row["u"],
            row["p_bonferroni"],
            row["rank_biserial"],
        )
        for row in mann_whitney(blocks, value).to_dict("records")
    }
    above_threshold = {
        ("Wilcoxon above 1", row["variant"], row["model"], str(row["n"])): (
            math.floor(row["w_plus"]),
            row["p_exact"],
            row["rank_biserial"],
        )
        for row in above(blocks, value).to_dict("records")
    }
    return over_levels | between_levels | above_threshold


def _as_printed(value: float, printed: str) -> bool:
    """Return whether a value is the printed one, to its last digit."""
    mantissa, _, exponent = printed.partition("e")
    digit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(printed)) <= 0.51 * digit


def _at_hand(data: Sequence[Path], absent: Sequence[str]) -> list[Entry]:
    """Whoever is at hand, in the study's tasks, counted as the study counted."""
    if not data:
        return [
            Entry(
                "at-hand",
                "The same tasks with the available agents",
                "not available here",
                "no available agent takes these tasks",
                notes=tuple(absent),
            )
        ]
    loaded = load(data)
    found: list[Entry] = []
    for paradigm in loaded.titles:
        try:
            drawing = figure_named("nback_published").draw(loaded, Wish((paradigm,)))
        except SpanLabError as error:
            found.append(
                Entry(
                    f"at-hand-{paradigm}",
                    f"{loaded.titles[paradigm]}: available agents",
                    "not available here",
                    str(error),
                )
            )
            continue
        found.append(
            Entry(
                f"at-hand-{paradigm.replace('_', '-')}",
                f"{loaded.titles[paradigm]}: available agents, beside the study's values",
                "ours alone",
                "these are other answerers than the study's, in trials that are made as its were; the study's values"
                " are hollow",
                source="recomputed from the published raw answers",
                picture=draw(drawing.spec, drawing.agents),
                notes=tuple(drawing.notes),
                command=f"spanlab figure nback_published {' '.join(map(str, data))} --paradigm {paradigm} -o FILE.svg",
            )
        )
    if absent:
        found.append(
            Entry("absent", "Who could not take which task", "not available here", "see below", notes=tuple(absent))
        )
    return found
