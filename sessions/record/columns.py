"""The response table: its columns, as the models of the record declare them, and its rows, as the events of a session give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .displays import TrialTiming, trial_timing
from .events import AskedStep, Event, Notes, OwnColumns, Score, Shown, TrialStart
from .marking import Cell, columns_of
from .session_files import finished_trials
from .session_info import SessionInfo

#: The declared columns; factors that are not among them follow as ``factor_<name>`` and further recorded values as ``record_<name>`` (type ``json``).
COLUMNS, _SOURCES = columns_of((SessionInfo, TrialStart, AskedStep, OwnColumns, Score, Notes, Shown, TrialTiming))
_OF_SESSION, _OF_TRIAL, _OF_QUESTION, _, _OF_SCORE, _OF_NOTES, _OF_DISPLAY, _TIMING = _SOURCES

#: factors and recorded values that are columns by themselves
OWN_COLUMNS = frozenset(OwnColumns.__annotations__)

Row = dict[str, Cell]


def response_rows(session: Mapping[str, Any], events: Iterable[Event]) -> list[Row]:
    """The rows of the response table of one session: one per answered item, finished trials only, in the order of the plan (practice first)."""
    events = list(events)
    done, timing = finished_trials(events), trial_timing(session, events)
    of_session = _OF_SESSION.fill(session)
    heads: dict[str, tuple[TrialStart, Row]] = {}
    rows: dict[str, list[Row]] = {}
    for event in events:
        if event["event"] == "trial_start":
            if done.get(key := event["trial"]) == event["attempt"]:
                heads[key], rows[key] = (event, {**of_session, **_OF_TRIAL.fill(event), **_named(event["levels"], "factor")}), []
        elif event["event"] != "step" or (key := event["trial"]) not in heads or done.get(key) != event["attempt"]:
            continue
        elif "ask" in event:
            before = {**heads[key][1], **_of_question(event)}
            of_trial = _TIMING.fill(timing.get((key, event["attempt"]), {}))
            rows[key] += [{**before, **_of_score(score, before), **of_trial} for score in event["scores"]]
        elif feedback := event.get("feedback"):
            last = rows[key][-1]["ask"] if rows[key] else None
            for row in rows[key]:
                if row["ask"] == last:
                    row["feedback_shown"] = feedback
    ordered = sorted(rows, key=lambda key: (not heads[key][0]["practice"], heads[key][0]["block"], int(key.removeprefix("p"))))
    return [row for key in ordered for row in rows[key]]


def _of_question(event: AskedStep) -> Row:
    """What the rows of a question share."""
    shown = event.get("shown")
    return {
        **_OF_QUESTION.fill(event),
        "feedback_shown": "",  # that of the step after it
        **_OF_NOTES.fill(event["notes"]),
        **_OF_DISPLAY.fill(shown[0] if shown else {}),
        **_named(event["record"], "record"),
    }


def _named(values: Mapping[str, Any], prefix: str) -> Row:
    return {name if name in OWN_COLUMNS else f"{prefix}_{name}": value for name, value in values.items()}


def _of_score(score: Score, before: Row) -> Row:
    """What a row has of its own; where an item does not say its position, the question's holds."""
    return {name: before.get(name) if value is None and name in OWN_COLUMNS else value for name, value in _OF_SCORE.fill(score).items()}
