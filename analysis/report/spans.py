"""Spans of adaptive sessions, for the report: one for each session, and means over people and over
the sessions of a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...core.agent_kinds import PARTICIPANT, kind_named
from ..data.numbers import limits, number, whole
from ..data.scoring import plural
from ..data.sessions import SessionFacts, SpanFacts
from ..means.contrasts import estimate
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, words_of

#: What a table of spans is about: sessions with the same values here can be compared.
_ALIKE = ["title", "conditions", "factor", "rule"]


@dataclass(frozen=True)
class SpansPart:
    """All spans: for each paradigm and condition the means where somebody has several, and a row
    for each session; and how they were found."""

    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]


def spans_part(spans: Sequence[SpanFacts], folder: Folder, with_rules: bool = False) -> SpansPart | None:
    """The spans of adaptive sessions; None where there are none.

    Parameters
    ----------
    with_rules : whether exclusion rules were given, which spans do not follow
    """
    if not spans:
        return None
    frame = span_table(spans)
    file = folder.table("spans", frame.drop(columns=["span", "title", "what"]).rename(columns={"value": "span"}))
    means = mean_spans(frame)
    means_file = folder.table("mean_spans", means)
    tables: list[PageTable] = []
    for alike, sessions in frame.groupby(_ALIKE, sort=False):
        heading = _heading(*map(str, alike))
        together = means[(means[_ALIKE] == list(alike)).all(axis=1)] if len(means) else means
        if len(together):
            tables.append(
                page_table(
                    together,
                    _MEANS,
                    f"{heading}: means",
                    "Student's t intervals over people, or over the sessions of a machine.",
                    file=means_file,
                )
            )
        tables.append(page_table(sessions, _SESSIONS, f"{heading}: each session", words=("what", "session"), file=file))
    notes = [
        (
            "The levels of these sessions depended on the answers. Proportions correct would not mean the same as in"
            " other sessions, so these sessions are left out of all figures and other tables."
        ),
        *sorted(
            {
                f"{one.rule.capitalize()}: the span is the {one.result['formula']}."
                for one in spans
                if one.result is not None
            }
        ),
    ]
    if with_rules:
        notes.append("Exclusion rules are not applied to spans.")
    return SpansPart(tuple(tables), tuple(notes))


def _heading(title: str, conditions: str, factor: str, rule: str) -> str:
    return f"{title}{', ' + conditions if conditions else ''} ({factor}, by a {rule})"


def span_table(spans: Sequence[SpanFacts]) -> pd.DataFrame:
    """One row for each adaptive session: who, in which paradigm and conditions, and its span
    (``value``; missing where there is none)."""
    ordered = sorted(
        spans,
        key=lambda one: (
            one.facts.title,
            one.conditions,
            kind_named(one.facts.kind).order,
            _who(one.facts),
            one.facts.name,
        ),
    )
    return pd.DataFrame([_row(one) for one in ordered])


def _row(one: SpanFacts) -> dict[str, Any]:
    facts, result = one.facts, one.result
    over = result is not None and one.over
    value = result["span"] if result is not None and over else None
    below = value is None and over and one.rule == "span test"
    return {
        "who": _who(facts),
        "what": "people" if facts.kind == PARTICIPANT.name else kind_named(facts.kind).described,
        "agent_kind": facts.kind,
        "paradigm": facts.paradigm,
        "title": facts.title or facts.paradigm,
        "conditions": one.conditions,
        "span": f"below {one.start:g}" if below else "–" if value is None else f"{value:g}",
        "value": math.nan if value is None else float(value),
        "below_start": below,
        "factor": one.factor,
        "rule": one.rule,
        "trials": result["trials"] if result is not None else 0,
        "correct_trials": result["correct_trials"] if result is not None else 0,
        "session": facts.name,
        "note": "; ".join(filter(None, (_note(one, over), "pilot" if facts.pilot else ""))),
    }


def _note(one: SpanFacts, over: bool) -> str:
    if one.problem or one.result is None:
        return one.sentence
    if not over:
        return f"unfinished, {plural(one.result['trials'], 'trial')} so far"
    at_highest = one.result["at_limit"]["highest"]
    if one.rule == "span test":
        passed = one.result["span"] is not None and one.result["span"] == one.result["highest_reached"] and at_highest
        return "the longest list was passed: the span may be higher" if passed else ""
    turns = plural(len(one.result["reversals"]), "reversal")
    return (
        f"{turns}, too few for an estimate"
        if one.result["span"] is None
        else turns + (f", {plural(at_highest, 'trial')} at the hardest level" if at_highest else "")
    )


def _who(facts: SessionFacts) -> str:
    if facts.kind == PARTICIPANT.name:
        return facts.participant or "participant"
    return facts.agent + (f" ({facts.label})" if facts.label else "")


def mean_spans(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over people, and over the sessions of a machine, wherever there are two or more; a
    person's sessions are averaged first."""
    people = frame["agent_kind"] == PARTICIPANT.name
    grouped = frame.assign(unit=frame["who"].where(people, frame["session"]), agent=frame["who"].mask(people, "People"))
    rows: list[dict[str, Any]] = []
    for (*alike, agent), of_agent in grouped.groupby([*_ALIKE, "agent"], sort=False):
        spans = of_agent.dropna(subset=["value"]).groupby("unit")["value"].mean()
        below = int(of_agent["below_start"].sum())
        if len(spans) < 2:
            continue
        mean = estimate(spans.to_numpy(float), proportion=False)
        rows.append(
            {
                "who": agent,
                **dict(zip(_ALIKE, alike, strict=True)),
                "n": mean.n,
                "unit": "person" if agent == "People" else "session",
                "mean": mean.mean,
                "sd": float(spans.std()),
                "low": mean.low,
                "high": mean.high,
                "lowest": float(spans.min()),
                "highest": float(spans.max()),
                "note": (
                    f"without {plural(below, 'session')} below the first level, so the mean is too high"
                    if below
                    else ""
                ),
            }
        )
    return pd.DataFrame(rows)


def _many(row: Mapping[Any, Any]) -> str:
    return f"{row['n']} people" if row["unit"] == "person" else plural(row["n"], "session")


_SESSIONS: list[PageColumn] = [
    words_of("who"),
    words_of("span"),
    ("trials", lambda row: whole(row["trials"])),
    ("correct", lambda row: whole(row["correct_trials"])),
    words_of("note"),
    words_of("what"),
    words_of("session"),
]
_MEANS: list[PageColumn] = [
    words_of("who"),
    ("mean span", lambda row: number(row["mean"])),
    ("95% interval", lambda row: limits(row["low"], row["high"])),
    ("SD", lambda row: number(row["sd"])),
    ("range", lambda row: f"{row['lowest']:g} to {row['highest']:g}"),
    ("n", _many),
    words_of("note"),
]
