"""Events that other packages declare: checked when they are written and read, and columns of the
response table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import with_config
from written_anew import STORED

from spanlab.core.errors import SpanLabError
from spanlab.sessions.record import (
    CLOSED,
    Holds,
    InTable,
    OfTrial,
    event_meaning,
    read_events,
    read_session,
    response_rows,
)
from spanlab.sessions.record.further_events import FURTHER_EVENTS, event_columns
from spanlab.sessions.record.table import response_table

SESSION = STORED / "vsr-ideal-s11"


@with_config(CLOSED)
class Blinks(OfTrial):
    """eyes were closed"""

    event: Literal["blinks"]
    count: Annotated[int, Holds("number of blinks", measured=True), InTable()]
    eye: Annotated[str | None, Holds("which eye"), InTable(missing="both", cell=str.upper)]
    raw: Annotated[list[float], Holds("as the tracker tells it")]


def blinks(trial: str, count: Any, **more: Any) -> dict[str, Any]:
    return {"event": "blinks", "trial": trial, "attempt": 1, "count": count, "eye": None, "raw": [0.5], **more}


@pytest.fixture
def known() -> Iterator[None]:
    FURTHER_EVENTS.add(Blinks)
    event_columns.cache_clear()
    yield
    del FURTHER_EVENTS._known["blinks"]
    event_columns.cache_clear()


@pytest.mark.usefixtures("known")
def test_the_last_event_of_a_trial_gives_its_columns_to_all_rows_of_the_trial() -> None:
    events: list[Any] = read_events(SESSION)
    before = response_rows(read_session(SESSION), events)
    end = next(number for number, event in enumerate(events) if event["event"] == "trial_end" and event["trial"] == "2")
    within: list[Any] = [blinks("2", 7), blinks("2", 3), {**blinks("2", 9), "attempt": 2}]
    after: list[Any] = [blinks("1", 1, eye="left"), blinks("99", 1)]
    rows = response_rows(read_session(SESSION), [*events[:end], *within, *events[end:], *after])
    more = {
        1: {"event_blinks_count": 1, "event_blinks_eye": "LEFT"},
        2: {"event_blinks_count": 3, "event_blinks_eye": "both"},
    }
    assert rows == [{**row, **more.get(int(row["trial"] or 0), {})} for row in before]
    assert response_table(rows).to_pandas()["event_blinks_count"].dropna().unique().tolist() == ["1", "3"]
    assert (event_meaning("event_blinks_count"), event_meaning("event_winks_count").meaning) == (
        Holds("number of blinks", measured=True),
        "recorded by a package that is not installed here",
    )


def test_a_record_is_not_read_without_the_package_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(json.dumps(blinks("1", 3)) + "\n", encoding="utf-8")
    with pytest.raises(
        SpanLabError,
        match=(
            r"events.jsonl:1: this version of spanlab knows no event 'blinks'; install the package, or the newer"
            r" spanlab,"
        ),
    ):
        read_events(tmp_path)  # although it is the last line, which is left out where a kill has cut it off
