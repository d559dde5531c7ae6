"""Trigger codes of whole sessions, in a real window, over a pseudo-terminal. What was sent is
judged here; the sessions are in ``triggers_bench.py``."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from processes import bench

from spanlab.sessions.triggers import sent_triggers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")]
#: as the paradigm in the bench declares them
ONSETS = {"fixation": 5, "present": 10, "probe": 20, "speeded": 40}
FEEDBACK = {"right": 31, "wrong": 32}
RESPONSES = {"same": 51, "different": 52, "0": 53, "4": 54, "8": 54, "done": 55}
VERDICTS = {"right": 61, "wrong": 62, "missed": 63}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return bench("lab/triggers_bench", tmp_path_factory.mktemp("triggers"))


def of_kind(session: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in session["events"] if event["event"] == kind]


def expected(session: dict[str, Any]) -> Iterator[tuple[str, str, int, int, str]]:
    """(trial, for, step, code, what) of every code that a session should have sent, as follows from
    its steps; each kind in order."""
    for trial in of_kind(session, "trial_start"):
        key = trial["trial"]
        if key.startswith("p"):
            continue  # practice sends no codes
        yield key, "trial_start", 0, 1, ""
        verdict, last = "", 0
        for step in (step for step in of_kind(session, "step") if step["trial"] == key):
            last, phase = step["step"], step["phase"]
            if phase == "feedback":
                yield key, "phase", last, FEEDBACK[verdict], phase
            elif phase in ONSETS:
                yield key, "phase", last, ONSETS[phase], phase
            if "ask" not in step:
                continue
            verdict = (
                "missed"
                if step["outcome"] == "omitted"
                else "right"
                if all(score["correct"] for score in step["scores"])
                else "wrong"
            )
            for press in step["raw"]["presses"]:
                what = str(press.get("value", "done"))
                if press["does"] in ("answer", "mark") and what in RESPONSES:
                    yield key, "response", last, RESPONSES[what], what
            yield key, "verdict", last, VERDICTS[verdict], verdict
        yield key, "trial_end", last, 2, ""


def told(triggers: Sequence[dict[str, Any]]) -> list[tuple[str, str, int, int, str]]:
    return [(one["trial"], one["for"], one["step"], one["code"], one["what"]) for one in triggers]


def by_kind(codes: Sequence[tuple[str, str, int, int, str]]) -> list[tuple[str, str, int, int, str]]:
    """In the order of each kind: a response at the border of two steps may well come after the
    onset of the second."""
    return sorted(codes, key=lambda code: code[1])


def test_codes_are_those_of_the_steps_and_answers_in_order(facts: dict[str, Any]) -> None:
    session = facts["dry"]
    sent = of_kind(session, "trigger")
    assert session["error"] == ""
    assert {step["trial"] for step in of_kind(session, "step")} == {"p1", "1", "2"}
    assert by_kind(told(sent)) == by_kind(list(expected(session)))
    assert {one["for"] for one in sent} == {"trial_start", "phase", "response", "verdict", "trial_end"}
    assert {31, 32} & {one["code"] for one in sent}
    times = [one["sent_ms"] for one in sent]
    assert times == sorted(times)


def test_codes_of_displays_go_out_with_their_flips(facts: dict[str, Any]) -> None:
    session = facts["dry"]
    onsets = {(step["trial"], step["step"]): step["shown"][0]["onset_ms"] for step in of_kind(session, "step")}
    onset = [one for one in of_kind(session, "trigger") if one["for"] == "phase"]
    assert [one["flip_ms"] for one in onset] == [onsets[one["trial"], one["step"]] for one in onset]
    delays = np.array([one["delay_ms"] for one in onset])
    assert delays.min() >= 0
    for one in onset:
        assert one["sent_ms"] - one["flip_ms"] == pytest.approx(one["delay_ms"], abs=0.002)
    assert session["apparatus"]["triggers"]["delay_ms"]["longest"] == pytest.approx(delays.max(), abs=0.001)


def test_codes_of_answers_follow_the_press(facts: dict[str, Any]) -> None:
    session = facts["dry"]
    given = [one for one in of_kind(session, "trigger") if one["for"] == "response" and one["what"] != "done"]
    steps = {(step["trial"], step["step"]): step for step in of_kind(session, "step")}
    for one in given:
        step = steps[one["trial"], one["step"]]
        (press,) = (
            press
            for press in step["raw"]["presses"]
            if str(press.get("value")) == one["what"] and press["does"] in ("answer", "mark")
        )
        assert one["flip_ms"] == step["shown"][0]["onset_ms"]
        assert one["sent_ms"] - one["delay_ms"] == pytest.approx(one["flip_ms"] + press["rt_ms"], abs=0.01)
        assert one["delay_ms"] >= 0


@pytest.mark.slow
def test_codes_leave_within_milliseconds(facts: dict[str, Any]) -> None:
    """A press is looked for about once a millisecond, but for the last three before a refresh and
    while a frame is drawn."""
    sent = of_kind(facts["dry"], "trigger")
    delays = {
        kind: [one["delay_ms"] for one in sent if one["for"] == kind and one["what"] != "done"]
        for kind in ("phase", "response")
    }
    assert np.median(delays["phase"]) < 1
    assert np.median(delays["response"]) < 12


def test_no_pulse_is_cut_shorter_than_a_recorder_can_see(facts: dict[str, Any]) -> None:
    """But for what the machine was late with the code that was cut short."""
    for before, one in itertools.pairwise(of_kind(facts["dry"], "trigger")):
        assert "over" not in one or one["over"]["after_ms"] + (before["delay_ms"] or 0) >= 1.9


def test_what_a_serial_line_carries_is_what_the_record_says(facts: dict[str, Any]) -> None:
    session = facts["mended"]
    resumed = next(number for number, event in enumerate(session["events"]) if event["event"] == "resumed")
    sent = [event["code"] for event in session["events"][resumed:] if event["event"] == "trigger"]
    assert len(sent) > 10
    assert [byte for byte in facts["arrived"] if byte] == [99, *sent]
    assert facts["arrived"][-1] == 0
    assert (
        session["apparatus"]["triggers"] | {"baud": 9600, "pulse_ms": 3.0, "test_code": 99, "lost": ""}
        == session["apparatus"]["triggers"]
    )


def test_a_port_that_dies_stops_the_session_after_the_trial(facts: dict[str, Any]) -> None:
    broken, mended = facts["broken"], facts["mended"]
    assert "takes no more trigger codes" in broken["error"]
    assert any("stops when this trial is over" in sentence for sentence in broken["said"])
    # the trial under way is whole; every code is in the record, and those that were lost are told
    # apart
    assert [end["trial"] for end in of_kind(broken, "trial_end")] == ["1"]
    sent = of_kind(broken, "trigger")
    assert by_kind(told(sent)) == by_kind(list(expected(broken)))
    lost = [one for one in sent if one["sent_ms"] is None]
    # five codes and the test pulse went out; what the system took before it noticed may be one more
    assert len(sent) - len(lost) in (5, 6)
    assert all(one["delay_ms"] is None for one in lost)
    assert of_kind(broken, "interrupted")[0]["why"] == broken["error"]
    assert broken["apparatus"]["triggers"]["lost"]
    assert not broken["table"]
    # mended, the session goes on with the next trial
    assert mended["error"] == ""
    assert [end["trial"] for end in of_kind(mended, "trial_end")] == ["1", "2"]
    assert by_kind(told(of_kind(mended, "trigger"))) == by_kind(list(expected(mended)))
    assert mended["table"]


def test_what_was_sent_is_read_as_a_table(facts: dict[str, Any]) -> None:
    table = sent_triggers(facts["mended"]["folder"])
    sent = of_kind(facts["mended"], "trigger")
    assert table["code"].tolist() == [one["code"] for one in sent]
    assert table["trial"].tolist() == [int(one["trial"]) for one in sent]
    assert table["sent_ms"].isna().sum() == sum(one["sent_ms"] is None for one in sent)


def test_a_block_of_questions_is_not_finished_first(facts: dict[str, Any]) -> None:
    """One with each item, as in N-back: the session stops before the next item, and the block is
    taken again once the port is mended."""
    block = facts["block"]
    assert "the session stops here" in block["error"]
    assert block["events"][-1]["event"] == "interrupted"
    assert not of_kind(block, "trial_end")
    asked = [step for step in of_kind(block, "step") if "ask" in step]
    assert 4 <= len(asked) <= 8
    assert all(step["shown"][0]["shown_ms"] > 100 for step in asked)  # the step under way is on record whole
    assert [one["step"] for one in of_kind(block, "trigger") if one["sent_ms"] is None][-1] in (
        asked[-1]["step"],
        asked[-1]["step"] + 1,
    )
