"""One paradigm of a report: its curve tables, figures, tables and notes; figures and tables are written on the way."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import tables
from .curves import accuracy_by_serial_position, accuracy_by_set_size, intrusions, overall, primacy_recency
from .figures import for_page, save, serial_position_chart, set_size_chart
from .gather import Gathered
from .look import Look
from .names import same_trials, title_of
from .nback_section import nback_charts, nback_ends, nback_notes, nback_results, nback_tables
from .published import published_curve
from .story import Note, headline, like_for_like, ranked
from .table import Scored


@dataclass(frozen=True)
class Figure:
    """A figure on the page: its declaration, and its files relative to the page (``stem`` without ending)."""

    key: str
    title: str
    caption: str
    stem: str
    table: str
    spec: dict[str, Any]


def curve_tables(scored: Scored, paradigm: str, human: str) -> dict[str, Any]:
    """All curve tables of one paradigm.

    ``position`` and ``size`` (published people among them), ``overall``, ``primacy``, ``intrusions`` by list length, ``intruded`` in all; ``own``: its
    items, ``published`` the names of its published curves, ``nback`` its N-back results (which have no serial-position curve) or None.
    """
    import pandas as pd

    own = Scored(scored.items[scored.items["paradigm"] == paradigm], scored.intrusions[scored.intrusions["paradigm"] == paradigm], ())
    position, size = ("list_length", "serial_position"), ("set_size",)
    result: dict[str, Any] = {
        "own": own,
        "overall": overall(own),
        "primacy": primacy_recency(own),
        "intrusions": intrusions(own),
        "intruded": intrusions(own, ()),
    }
    published: set[str] = set()
    nback = nback_results(own, paradigm)
    for key, by, curve in (("position", position, accuracy_by_serial_position(own)), ("size", size, accuracy_by_set_size(own))):
        printed = published_curve(human, by).assign(paradigm=paradigm) if len(curve) else published_curve("", by)
        printed = printed[printed["list_length"].isin(curve["list_length"].unique())] if key == "position" else printed
        published |= set(printed["agent"])
        result[key] = pd.concat([curve, printed], ignore_index=True) if len(printed) else curve
    if nback is not None:
        result |= {name: result[name].iloc[:0] for name in ("position", "primacy")}
        published.update(nback.drawn)
    return result | {"published": sorted(published), "nback": nback}


def section(
    gathered: Gathered, scored: Scored, paradigm: str, curves: dict[str, Any], styles: Sequence[Look], number: dict[str, Any], out: Path
) -> dict[str, Any]:
    """Everything that the page says of one paradigm; figures and tables are written on the way."""
    title = title_of(paradigm, gathered.sessions)
    anchor = re.sub(r"[^A-Za-z0-9]+", "-", paradigm).strip("-") or "paradigm"
    stem = re.sub(r"[^A-Za-z0-9]+", "_", paradigm).strip("_") or "paradigm"
    position, size, own = curves["position"], curves["size"], curves["own"]
    same, sentence = same_trials(own.items)
    total = ranked(curves["overall"])
    for name, table in (
        ("overall", total),
        ("serial_position", position),
        ("set_size", size),
        ("primacy_recency", curves["primacy"]),
        ("intrusions", curves["intrusions"]),
    ):
        if len(table):
            table.to_csv(out / "tables" / f"{stem}_{name}.csv", index=False)
    dashed = "Dotted: chance." + (" Hollow diamonds: published group means." if curves["published"] else "")
    bars = "Bars: 95% intervals (faint for simulated observers and guessing)."
    no_human = "" if curves["published"] else " No digitised human data are published for this paradigm."
    figures = []
    if len(position):
        caption = f"One panel for each list length. {bars} {dashed}{no_human}"
        spec = serial_position_chart(position, styles, title=f"{title}: correct by serial position", subtitle=_wrapped(caption))
        figures.append(_figure(spec, "Correct by serial position", caption, f"{stem}_serial_position", styles, out))
    nback = curves["nback"]
    if nback is not None:
        for chart in nback_charts(nback, styles, title, stem, _wrapped):
            chart.table.to_csv(out / "tables" / f"{chart.name}.csv", index=False)
            figures.append(_figure(chart.spec, chart.title, chart.caption, chart.name, styles, out))
        nback.blocks.to_csv(out / "tables" / f"{stem}_nback_blocks.csv", index=False)
    elif len(size):
        caption = f"All positions together. {bars} {dashed}{no_human}"
        word = "list length" if own.items["list_length"].notna().all() else "set size"
        spec = set_size_chart(size, styles, title=f"{title}: correct by {word}", subtitle=_wrapped(caption), x_title=f"{word} (items)")
        figures.append(_figure(spec, f"Correct by {word}", caption, f"{stem}_set_size", styles, out))
    notes = like_for_like(scored, paradigm, total, position if len(position) else size, gathered.sessions, bool(curves["published"]) and nback is None)
    if nback is not None:
        notes = sorted([*notes, *nback_notes(nback)], key=lambda note: not note.warning)
    elif not len(position):
        notes.append(Note("This paradigm has no serial positions, so there is no serial-position curve."))
    return {
        "paradigm": paradigm,
        "title": title,
        "anchor": anchor,
        "same": sentence if same else "Not everybody took the same trials." if same is False else sentence,
        "headline": headline(total, size) if nback is None else _with_ends(headline(total, size.iloc[:0]), nback_ends(nback)),
        "instructions": next((facts.instructions for facts in gathered.sessions if facts.paradigm == paradigm and facts.instructions), ""),
        "figures": figures,
        "overall": tables.overall_rows(total, curves["intruded"], number),
        "lost": bool(total["n_omitted"].sum() + total["n_invalid"].sum()),
        "intruded": bool(len(curves["intruded"])),
        "tables": tables.details(curves) if nback is None else nback_tables(nback),
        "notes": notes,
        "nback": nback is not None,
    }


def _figure(spec: dict[str, Any], title: str, caption: str, name: str, styles: Sequence[Look], out: Path) -> Figure:
    save(spec, out / "figures" / name, styles)
    return Figure(name, title, caption, f"figures/{name}", f"tables/{name}.csv", for_page(spec))


def _with_ends(sentences: list[tuple[str, str]], ends: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, rest.removesuffix(".") + ends[name] + "." if name in ends else rest) for name, rest in sentences]


def _wrapped(text: str, width: int = 100) -> str:
    return "\n".join(textwrap.wrap(text, width))
