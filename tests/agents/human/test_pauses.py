"""What happens in a session and should not: pauses, other windows, late stamps, late presses. All
in a real window, where ``pausing_bench.py`` plays it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pausing_bench import TRIALS
from processes import bench

from spanlab.analysis.data.exclusions import Rule, apply_exclusions
from spanlab.sessions import read_responses
from spanlab.sessions.record.displays import TrialTiming
from spanlab.sessions.record.reader import read_events, read_session, trials_left
from spanlab.sessions.session import same_trials

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session that was played; again where a busy machine has pressed keys later than they were
    due."""
    played: dict[str, Any] = {}
    for _ in range(6):
        played = bench("lab/pausing_bench", tmp_path_factory.mktemp("paused"))
        if played["late_s"] < 0.05:
            break
    return Path(played["folder"])


@pytest.fixture(scope="module")
def events(folder: Path) -> list[Any]:
    return read_events(folder)


def steps(events: list[Any], trial: str, attempt: int) -> list[dict[str, Any]]:
    return [
        event for event in events if event["event"] == "step" and (event["trial"], event["attempt"]) == (trial, attempt)
    ]


def test_a_trial_that_was_paused_after_its_first_item_is_replaced(folder: Path, events: list[Any]) -> None:
    cut = [event for event in events if event["event"] == "trial_cut"]
    assert [(one["trial"], one["attempt"], one["why"], one["phase"]) for one in cut] == [
        ("2", 1, "paused", "present"),
        ("3", 1, "paused", "probe"),
    ]
    for one in cut:
        (pause,) = one["happened"]["paused"]
        assert pause["for_ms"] > 300
        assert (
            one["shown"][0]["shown_frames"] < one["shown"][0]["planned_frames"]
        )  # it did not come back after the pause
        starts = [event for event in events if event["event"] == "trial_start" and event["trial"] == one["trial"]]
        assert [start["attempt"] for start in starts] == [1, 2]
        assert starts[0]["levels"] == starts[1]["levels"]
        assert starts[0]["trial_id"] != starts[1]["trial_id"]
        assert len(steps(events, one["trial"], 2)) == 5
    assert not trials_left(read_session(folder), events)
    table = read_responses(folder)
    assert table.groupby("trial").size().tolist() == [2] * TRIALS
    replaced = next(
        event for event in events if event["event"] == "trial_start" and (event["trial"], event["attempt"]) == ("2", 2)
    )
    assert set(table.loc[table["trial"] == 2, "trial_id"]) == {replaced["trial_id"]}
    assert same_trials(folder).plan[1].seed == replaced["seed"]  # others get the trial that counted


def test_a_pause_before_the_first_item_replaces_nothing(events: list[Any]) -> None:
    fixation, *others = steps(events, "1", 1)
    (pause,) = fixation["happened"]["paused"]
    assert pause["at_ms"] > 50
    assert len(others) == 4
    assert fixation["shown"][0]["shown_ms"] < 300 + pause["for_ms"]


def test_a_press_after_the_last_question_of_a_session_is_on_record(events: list[Any]) -> None:
    last = steps(events, str(TRIALS), 1)[-1]
    assert last["outcome"] == "omitted"
    late = [press for event in events for press in event.get("after_trial", [])]
    assert [press["key"] for press in late + last["happened"].get("late", [])] == [
        "5"
    ]  # a busy machine clears the screen late
    assert all(press["rt_ms"] > 900 for press in late)


def test_what_a_trial_went_through_is_in_the_table_of_responses(folder: Path, events: list[Any]) -> None:
    table = read_responses(folder).groupby("trial")[[*TrialTiming.__annotations__]].first()
    assert table["trial_paused_ms"].gt(300).tolist() == [
        True,
        False,
        False,
        False,
    ]  # those that were cut off are not in it
    assert table["trial_unfocused_ms"].gt(50).tolist() == [False, False, True, False]
    off, dropped = (
        {str(trial): float(value) for trial, value in table[name].items()}
        for name in ("trial_off_ms", "trial_dropped_frames")
    )
    for trial, attempt in (("2", 2), ("4", 1)):
        timed = [one for step in steps(events, trial, attempt) if "ask" not in step for one in step["shown"]]
        assert len(timed) == 3  # none of which was asked at
        assert off[trial] >= max(abs(one["shown_ms"] - one["planned_ms"]) for one in timed) - 0.001
        assert dropped[trial] >= sum(one["dropped_frames"] for one in timed)
    kept, report = apply_exclusions(
        read_responses(folder),
        [
            Rule(leave_out="trials", where="trial_paused_ms", above=0),
            Rule(leave_out="trials", where="trial_unfocused_ms", above=0),
        ],
    )
    assert sorted(set(kept["trial"])) == [2, 4]
    assert report.rules["unknown"].tolist() == [0, 0]
