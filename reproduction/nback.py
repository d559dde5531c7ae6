"""The N-back study of language models (Gong, Wan & Wang, AAAI 2024), made again from the counts of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.data.loading import load
from ..analysis.data.style import condition_looks
from ..analysis.figure_catalogue import figure_named
from ..analysis.figures.charts import draw
from ..analysis.figures.figure import Wish
from ..analysis.figures.nback_chart import nback_rows
from ..analysis.nback.cells import nback_cells
from ..analysis.nback.measures import PUBLISHED, measured
from ..analysis.nback.published import FAMILIES, REFERENCE, layout, published_blocks, published_results
from ..analysis.nback.significance import above, kruskal_wallis
from ..core.agent_kinds import CHAT
from ..core.errors import SpanLabError
from .entries import Entry, Row, Verdict, verdict_of

if TYPE_CHECKING:
    import pandas as pd

#: The study's tasks; those with feedback are left to agents that read.
PARADIGMS = (
    *("nback_verbal", "nback_verbal_noise", "nback_verbal_reasoning", "nback_spatial", "nback_spatial_noise", "nback_spatial_reasoning"),
    *("nback_abstraction", "nback_abstraction_strict"),
)
#: Blocks of each, where nothing else is said: 50 at each of three N, as the study had them.
TRIALS = 150
LEAD = REFERENCE
_MEASURES = (("hit_rate", "hits %", 2), ("fa_rate", "false alarms %", 2), ("accuracy", "accuracy %", 2), ("dprime", "d′", 2))
#: To how many digits the published values are kept.
_DIGITS = 4
_DRAWN = ("hit_rate", "false_alarm_rate", "accuracy", "dprime_abs")
_FAMILY_SAID = {
    "verbal": "verbal N-back and its variants",
    "spatial": "spatial N-back and its variants",
    "grid size": "spatial N-back in grids of four sizes",
    "abstraction": "spatial N-back and the two tasks of relations",
    "models": "language models compared",
}
#: Printed p values that are at hand: of which test, of which variant, model and N, and the one that was printed.
_PRINTED_P = (
    ("Kruskal–Wallis over N", "verbal_with_noise", "gpt-3.5-turbo", None, "0.14"),
    ("Kruskal–Wallis over N", "spatial_abstraction_2", "gpt-3.5-turbo", None, "0.027"),
    ("Wilcoxon, d′ above 1", "verbal", "gpt-3.5-turbo", 3, "0.048"),
    ("Wilcoxon, d′ above 1", "verbal(first 30 blocks)", "gpt-3.5-turbo", 3, "0.035"),
)


def entries(data: Sequence[Path], absent: Sequence[str]) -> list[Entry]:
    """The page's tables and figures.

    Parameters
    ----------
    data : folders with sessions of N-back paradigms, of answerers at hand
    absent : who could not take which paradigm, and why, in sentences
    """
    blocks = measured(published_blocks(), PUBLISHED)
    table = printed_table(blocks)
    return [table, *(_family(name, blocks, table.verdict) for name in FAMILIES), printed_tests(blocks), *_at_hand(data, absent), _asked_again()]


def printed_table(blocks: pd.DataFrame) -> Entry:
    ours, printed = layout(blocks), published_results()
    rows = []
    by_row = {(row["variant"], row["model"], row["n"]): row for row in ours.to_dict("records")}
    for row in printed.to_dict("records"):
        mine = by_row[row["variant"], row["model"], row["n"]]
        texts, theirs, apart = [], [], []
        for name, name_of_measure, digits in _MEASURES:
            pairs = [(round(mine[f"{name}_{part}"], _DIGITS), row[f"{name}_{part}"]) for part in ("mean", "sem")]
            texts.append(f"{pairs[0][0]:.{digits}f} ± {pairs[1][0]:.{digits}f}")
            theirs.append(f"{pairs[0][1]:.{digits}f} ± {pairs[1][1]:.{digits}f}")
            if any(abs(one - other) > 0.6 * 10**-_DIGITS for one, other in pairs):
                apart.append(f"{name_of_measure} by {max(abs(a - b) for a, b in pairs):.2g}")
        what = (str(row["variant"]), str(row["model"]), str(row["n"]))
        rows.append(Row(what, " · ".join(texts), " · ".join(theirs), "differs" if apart else "same", ", ".join(apart)))
    verdict, summary = verdict_of(rows)
    return Entry(
        "table",
        "The study's table: hits, false alarms, accuracy and d′ (mean ± s.e.m. of blocks)",
        verdict,
        f"{summary}, to the fourth digit. Ours are counted from the four counts of each of {len(blocks):,} published blocks by the study's rules.",
        ("variant", "model", "N"),
        tuple(rows),
        caption="In each cell: hits % · false alarms % · accuracy % · d′ without its sign.",
        command='python -c "from spanlab.analysis.nback.published import layout, published_blocks; print(layout(published_blocks()))"',
    )


def _family(name: str, blocks: pd.DataFrame, verdict: Verdict) -> Entry:
    """The figure of one family, from the published blocks; its points are those of the table, and so is the verdict on them."""
    import pandas as pd

    parts = []
    for variant, model in FAMILIES[name]:
        part = blocks[(blocks["variant"] == variant) & ((blocks["model"] == model) | (model is None))]
        label = part["model"].astype(str) if name == "models" else part["variant"].astype(str)
        parts.append(part.assign(agent=label))
    whole = pd.concat(parts, ignore_index=True)
    cells = nback_cells(whole, rules=PUBLISHED, who=("agent",), measures=_DRAWN, unit="block").assign(paradigm=name, agent_kind=CHAT.name, oracle=False)
    looks = condition_looks(list(dict.fromkeys(whole["agent"])))
    spec = nback_rows(
        [("", cells)], looks, _DRAWN, title=_FAMILY_SAID[name][:1].upper() + _FAMILY_SAID[name][1:], line="variant" if name != "models" else "model"
    )
    return Entry(
        f"family-{name.replace(' ', '-')}",
        f"Figure: {_FAMILY_SAID[name]}",
        verdict,
        f"its points are the means of the table above, {'every row of which is as published' if verdict == 'same' else 'where the verdicts on them stand'}",
        picture=draw(spec, looks),
        caption="Bars: 95% intervals over blocks; the study drew standard errors or t intervals. d′ without its sign, as there.",
    )


def printed_tests(blocks: pd.DataFrame) -> Entry:
    rows = []
    for test, variant, model, n, printed in _PRINTED_P:
        ours = {}
        for value in ("dprime_abs", "dprime"):
            one = blocks[(blocks["variant"] == variant) & (blocks["model"] == model)]
            if n is None:
                found = kruskal_wallis(one, value).iloc[0]["p"]
            else:
                table = above(one, value)
                found = table[table["n"] == n].iloc[0]["p_exact"]
            ours[value] = float(found)
        digits = len(printed.partition(".")[2])
        same = f"{ours['dprime_abs']:.{digits}f}" == printed
        signed = f"with signed d′ p = {ours['dprime']:.2g}"
        what = (test, variant, "1, 2, 3" if n is None else str(n))
        if same:
            rows.append(Row(what, f"{ours['dprime_abs']:.{digits}f}", printed, "same", signed))
        else:
            rows.append(Row(what, f"{ours['dprime_abs']:.3g}", printed, "differs", f"by {abs(ours['dprime_abs'] - float(printed)):.2g}; {signed}"))
    verdict, summary = verdict_of(rows)
    return Entry(
        "tests",
        "Tests of d′: those whose printed p values are available",
        verdict,
        f"{summary}. All 23 Kruskal–Wallis tests, 69 Mann–Whitney tests and 69 Wilcoxon tests of the study can be made again, but their printed values are not "
        "among the data that ship. With its sign, d′ leads to other decisions in these four.",
        ("test", "variant", "N"),
        tuple(rows),
        command='python -c "from spanlab.analysis.nback.published import published_blocks; from spanlab.analysis.nback.significance import kruskal_wallis; '
        "print(kruskal_wallis(published_blocks(), 'dprime_abs'))\"",
    )


def _at_hand(data: Sequence[Path], absent: Sequence[str]) -> list[Entry]:
    """Whoever is at hand, in the study's tasks, counted as the study counted."""
    if not data:
        return [Entry("at-hand", "The same tasks with the available agents", "not available here", "no available agent takes these tasks", notes=tuple(absent))]
    loaded = load(data)
    found: list[Entry] = []
    for paradigm in loaded.titles:
        try:
            drawing = figure_named("nback_published").draw(loaded, Wish((paradigm,)))
        except SpanLabError as error:
            found.append(Entry(f"at-hand-{paradigm}", f"{loaded.titles[paradigm]}: available agents", "not available here", str(error)))
            continue
        found.append(
            Entry(
                f"at-hand-{paradigm.replace('_', '-')}",
                f"{loaded.titles[paradigm]}: available agents, beside the printed values",
                "ours alone",
                "these are other answerers than the study's, in trials that are made as its were; printed values are hollow",
                picture=draw(drawing.spec, drawing.agents),
                notes=tuple(drawing.notes),
                command=f"spanlab figure nback_published {' '.join(map(str, data))} --paradigm {paradigm} -o FILE.svg",
            )
        )
    if absent:
        found.append(Entry("absent", "Who could not take which task", "not available here", "see below", notes=tuple(absent)))
    return found


def _asked_again() -> Entry:
    return Entry(
        "asked-again",
        "The study's models, asked again",
        "not available here",
        "the study asked gpt-3.5-turbo and seven other models, which are on their makers' servers or on large computers, and a page that is made without "
        "keys asks nobody; with a key or a server of your own, --agent chat:MODEL@PROVIDER takes them along. What a model says today need "
        "not be what it said in 2023.",
    )
