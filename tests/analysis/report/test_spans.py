"""Spans of adaptive sessions: a session that is over has one, and every other one a note that says
why it has none, or too low a one."""

from __future__ import annotations

import math
from pathlib import Path

from spanlab.analysis.data.sessions import SessionFacts, SpanFacts
from spanlab.analysis.report.lab import span_table
from spanlab.sessions.record.staircase import Staircase, StaircaseRule

NAMES = dict.fromkeys(("paradigm", "label", "title", "instructions", "human", "started"), "")
PERSON = SessionFacts(
    Path("s"),
    "s",
    "participant",
    "participant",
    "P01",
    oracle=False,
    pilot=False,
    trials=9,
    planned=None,
    finished=True,
    timing=None,
    **NAMES,
)


def found(span: int, rule: str, trials: int | None = None, reversals: int | None = None) -> tuple[float, str, str]:
    """What a table has of somebody who always repeats so many items and never one more: the span,
    as a number and as it is shown, and the note."""
    staircase = Staircase.begin(
        StaircaseRule("list_length", (2, 3, 4, 5, 6), 2, 60, 1.0, reversals=reversals, rule=rule)
    )
    while not staircase.over and len(staircase.levels) != trials:
        staircase.take(int(staircase.level) <= span)
    facts = SpanFacts(
        PERSON,
        "",
        "list length",
        2,
        "span test" if rule == "span" else "staircase",
        staircase.summary(),
        staircase.over,
    )
    (row,) = span_table([facts]).to_dict("records")
    return row["value"], row["span"], row["note"]


def test_a_span_that_was_reached_has_no_reservation() -> None:
    assert found(4, "span") == (4, "4", "")
    assert found(4, "staircase", reversals=6) == (4.5, "4.5", "6 reversals")


def test_a_span_that_was_not_reached_has_a_note_that_says_why() -> None:
    assert found(4, "span", trials=3)[1:] == ("–", "unfinished, 3 trials so far")
    assert found(6, "span") == (6, "6", "the longest list was passed: the span may be higher")
    assert found(1, "span")[1:] == ("below 2", "")
    assert found(4, "staircase", reversals=2)[1:] == ("–", "2 reversals, too few for an estimate")
    value, shown, note = found(6, "staircase")
    assert math.isnan(value)
    assert (shown, note) == ("–", "0 reversals, too few for an estimate")
