"""What earlier parts of a session have left is one object, made from the lines of its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanlab.core.errors import SpanLabError
from spanlab.sessions.record.reader import NO_TRIAL, SessionState, read_events

EVENTS: Any = [
    {"event": "trial_start", "trial": "1", "attempt": 1, "trial_id": "a"},
    {"event": "trial_failed", "trial": "1", "attempt": 1, "why": "refused"},
    {"event": "practice_decision", "rounds": 2, "decided": "again"},
]
LINES = [
    {"trial": NO_TRIAL, "attempt": 2, "reply": {}},
    {"trial": "1", "attempt": 1, "reply": {}},
    {"trial": "1", "attempt": 2, "reply": {}},
]


def test_the_state_is_read_once_and_cannot_be_changed() -> None:
    state = SessionState.of(EVENTS, LINES)
    assert (dict(state.attempts), dict(state.failed), dict(state.finished)) == ({"1": 1}, {"1": "refused"}, {})
    assert (state.preparations, state.trial_ids, list(state.decisions), state.practised) == (
        2,
        {"1": "a"},
        ["again"],
        False,
    )
    assert len(state.replies["1"]) == 2
    with pytest.raises(AttributeError):
        state.practised = True  # type: ignore[misc]


def test_replies_of_a_failed_attempt_do_not_count_where_the_trial_moves() -> None:
    assert [line["attempt"] for line in SessionState.of(EVENTS, LINES, moved=True).replies["1"]] == [2]


def test_lines_that_the_quick_reader_refuses_are_read_all_the_same(tmp_path: Path) -> None:
    """Half a surrogate pair stands in replies that were cut off in the middle of a sign."""
    failed = {"event": "trial_failed", "trial": "1", "attempt": 1, "why": ""}
    lines = [json.dumps(failed | {"why": why}) for why in ("cut off \ud83d", "refused \u00e9")]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read_events(tmp_path) == [*map(json.loads, lines)]
    (tmp_path / "events.jsonl").write_text("\n".join([lines[0], lines[1][:-9], lines[1]]) + "\n", encoding="utf-8")
    with pytest.raises(SpanLabError, match=r"events\.jsonl:2 is damaged"):
        read_events(tmp_path)
