"""Time at the window, on a virtual clock: every display lasts for its frames, a press in the window
counts, and what came late is owned up to."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from conditions import some_conditions
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState
from virtual_lab import Person, VirtualStage, VirtualWindow, play, trial

from spanlab.agents.base import Shown
from spanlab.agents.human.display.frames import Refreshes
from spanlab.agents.human.pages import between_trials
from spanlab.agents.human.trial_player import DELIVERY
from spanlab.paradigms import Ask, Percept, Step, Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.trial import Display
from spanlab.stimuli.kinds.plain import Blank, Fixation

NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
BLANK, CROSS = Blank.model_validate({}), Fixation.model_validate({})


def somebody(seed: int) -> Person:
    """A person who answers anything, and lets three in ten windows pass."""
    random = RandomState(seed)

    def person(ask: Ask) -> tuple[Any, float] | None:
        if ask.window_ms is None:
            return ask.kind.guess(random), float(random.uniform(0.3, 1))
        return (
            None if random.rand() < 0.3 else (ask.kind.guess(random), float(random.uniform(0.1, ask.window_ms / 1000)))
        )

    return person


def timed(told: list[Any]) -> Iterator[tuple[Shown, int]]:
    """Displays that had a time to last and were not ended by an answer, and the refreshes that were
    waited for an answer that decides what comes."""
    for percept, response, shown, notes in told:
        for number, one in enumerate(shown):
            last = number == len(shown) - 1
            cut = (
                last and percept.ask is not None and percept.ask.ends == "on_answer" and response.outcome == "answered"
            )
            if one.planned_frames is not None and not cut:
                yield one, notes.get("waited_frames", 0) if last else 0


@pytest.fixture(scope="module", autouse=True)
def others_are_set_aside() -> Iterator[None]:
    """Garbage is collected between trials, as in the laboratory; what the tests before these have
    left behind is not looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def off_plan(
    hz: float, vsync: bool, conditions: int, names: Sequence[str] = tuple(list_paradigms())
) -> tuple[int, list[Any]]:
    """How many timed displays paradigms of the library have in some conditions, and those that did
    not last for their frames."""
    stage, count, off = VirtualStage(VirtualWindow(hz, vsync, jitter=0.001)), 0, []
    for name in names:
        paradigm = load_paradigm(name)
        for levels in some_conditions(paradigm, conditions):
            for one, waited in timed(play(stage, compile_trial(paradigm, levels, 1), somebody(count))):
                count += 1
                assert one.dropped_frames == 0
                if (
                    one.shown_frames - waited != one.planned_frames
                    or abs(one.shown_ms - one.shown_frames * 1000 / hz) > 2
                ):
                    off.append((name, one))
    return count, off


def test_every_display_lasts_for_its_frames() -> None:
    count, off = off_plan(60, True, 1, ("cd", "sfr", "smu", "sts", "vsr", "nback_verbal"))
    assert count > 100
    assert not off


@pytest.mark.slow
def test_ten_thousand_displays_of_all_paradigms_last_for_their_frames() -> None:
    found = [off_plan(hz, vsync, 1) for hz in (60, 75, 120, 144) for vsync in (True, False)]
    assert sum(count for count, _ in found) > 10_000
    assert not [off for _, some in found for off in some]


def feedback(*percepts: Percept) -> Trial:
    """The last of the percepts depends on the answer, so it is not announced."""
    *first, last = trial(*percepts).steps
    given = Step(
        last.index, last.percept, last.truth, feedback=dict.fromkeys(("right", "wrong", "missed"), last.percept)
    )
    return Trial("test", 1, "corrected", {}, 1, "test", 1, 1, (*first, given))


@pytest.mark.slow
@settings(max_examples=250)
@given(
    hz=st.sampled_from([60.0, 59.94, 75.0, 120.0, 144.0]),
    vsync=st.booleans(),
    window=st.sampled_from([100.0, 105.0, 203.0, 300.0]),
    offset=st.floats(-12, 12).filter(
        lambda ms: abs(ms) > 1e-6
    ),  # at the very moment of the end, the last digit of a number decides
    where=st.sampled_from(["announced", "last", "feedback"]),
    ends=st.sampled_from(["on_answer", "on_time"]),
    jitter=st.sampled_from([0.0, 0.001, 0.004]),
    seed=st.integers(0, 1000),
)
def test_a_press_in_the_window_counts_and_one_after_it_does_not(
    hz: float, vsync: bool, window: float, offset: float, where: str, ends: Any, jitter: float, seed: int
) -> None:
    """Around the very moment at which the window closes, whatever the frames do meanwhile."""
    asked = Percept("probe", (Display(BLANK, window),), Ask(NINE, ends=ends, window_ms=window))
    following = Percept("next", (Display(CROSS, 400.0),), None)
    made = {
        "announced": trial(asked, following),
        "last": trial(following, asked),
        "feedback": feedback(asked, following),
    }[where]
    told = play(
        VirtualStage(VirtualWindow(hz, vsync, jitter=jitter, seed=seed)),
        made,
        lambda ask: (4, (window + offset) / 1000),
    )
    (response, notes), *others = [(response, notes) for percept, response, _, notes in told if percept.ask is not None]
    assert not others
    assert response is not None
    if offset < 0:
        assert response.outcome == "answered"
        assert response.value == 4
        assert response.rt_ms == pytest.approx(window + offset, abs=0.01)
        assert "late" not in notes
    elif offset > 0.01:
        assert response.outcome == "omitted"
    assert "passed_on_too_late" not in notes


@pytest.mark.parametrize(
    ("name", "levels"),
    [("sts", {"switch_probability": 0}), ("cd", {"feature": "colour", "set_size": 2, "retention_steps": 0})],
)
@pytest.mark.parametrize("ms", [-60.0, 60.0])
def test_deadlines_of_the_speeded_paradigms(name: str, levels: dict[str, Any], ms: float) -> None:
    """A press 60 ms before the window closes answers; 60 ms after it, it neither answers nor ends
    anything, and what comes next goes on as planned."""
    taken = compile_trial(load_paradigm(name), levels, seed=3)
    first = next(step.percept.ask for step in taken.steps if step.percept.ask is not None)
    window = {"sts": 1500.0, "cd": 2000.0}[name]
    assert first.window_ms == window
    asked: list[Ask] = []

    def person(ask: Ask) -> tuple[Any, float]:
        asked.append(ask)
        return ask.kind.guess(RandomState(3)), (window + ms if len(asked) == 1 else 300.0) / 1000

    told = [one for one in play(VirtualStage(VirtualWindow(60)), taken, person) if one[1] is not None]
    _, response, shown, _ = told[0]
    assert response is not None
    if ms < 0:
        assert (response.outcome, response.rt_ms) == ("answered", pytest.approx(window + ms, abs=0.01))
    else:
        assert (response.outcome, response.rt_ms, response.raw["presses"]) == ("omitted", None, [])
        assert shown[-1].shown_ms == pytest.approx(window, abs=1000 / 60)
    assert [one.outcome for _, one, _, _ in told[1:] if one is not None] == ["answered"] * (len(told) - 1)
    assert all(one.rt_ms == pytest.approx(300.0, abs=0.01) for _, one, _, _ in told[1:] if one is not None)


def test_a_press_that_is_passed_on_too_late_is_told_as_such() -> None:
    asked = Percept("probe", (Display(BLANK, 100.0),), Ask(NINE, window_ms=100.0))
    stage = VirtualStage(VirtualWindow(60))
    stage.fingers._delay = DELIVERY + 0.02
    told = play(stage, trial(asked, Percept("next", (Display(CROSS, 400.0),))), lambda ask: (4, 0.099))
    _, response, _, notes = told[0]
    assert response is not None
    assert response.outcome == "omitted"
    assert notes["passed_on_too_late"][0]["rt_ms"] == pytest.approx(99, abs=0.01)
    assert "late" not in notes


@pytest.mark.parametrize("where", ["announced", "last", "feedback"])
@pytest.mark.parametrize("answers", [True, False])
def test_questions_last_for_their_frames_and_wait_a_refresh_only_for_feedback(where: str, answers: bool) -> None:
    asked = Percept("probe", (Display(CROSS, 100.0), Display(BLANK, 400.0)), Ask(NINE, ends="on_time", window_ms=500.0))
    following = Percept("next", (Display(CROSS, 400.0),), None)
    made = {
        "announced": trial(asked, following),
        "last": trial(following, asked),
        "feedback": feedback(asked, following),
    }[where]
    told = play(VirtualStage(VirtualWindow(60)), made, lambda ask: (4, 0.25) if answers else None)
    shown, notes = next((shown, notes) for percept, _, shown, notes in told if percept.ask is not None)
    waited = int(where == "feedback" and not answers)
    assert [one.shown_frames for one in shown] == [6, 24 + waited]
    assert notes.get("waited_frames", 0) == waited


def test_a_window_that_is_longer_than_the_displays_is_the_plan_of_the_last_one() -> None:
    asked = Percept("probe", (Display(CROSS, 100.0), Display(BLANK, 100.0)), Ask(NINE, window_ms=500.0))
    (told,) = play(VirtualStage(VirtualWindow(60)), trial(asked), lambda ask: None)
    assert [(one.planned_ms, one.planned_frames, one.shown_frames) for one in told[2]] == [
        (100.0, 6, 6),
        (400.0, 24, 24),
    ]


@pytest.mark.parametrize("vsync", [True, False])
def test_late_frames_are_owned_up_to_and_nothing_adds_up(vsync: bool) -> None:
    """Every 37th flip comes late by one to three refreshes."""
    stage = VirtualStage(
        VirtualWindow(60, vsync, jitter=0.002, late=lambda flip: 1 + flip % 3 if flip % 37 == 0 else 0)
    )
    displays = [
        Percept("test", (Display(CROSS if number % 2 else BLANK, 50.0 + 17 * (number % 9)),)) for number in range(400)
    ]
    shown = [one for _, _, some, _ in play(stage, trial(*displays), lambda ask: None) for one in some]
    assert sum(one.dropped_frames for one in shown) > 50
    refreshes = 0
    for one in shown:
        assert 0 <= one.shown_frames - (one.planned_frames or 0) <= one.dropped_frames
        assert (
            abs(one.onset_ms - shown[0].onset_ms - refreshes * 1000 / 60) < 5
        )  # as many refreshes as were counted, to the last
        refreshes += one.shown_frames
    # a late frame inside a display is caught up with; only one at its end lengthens it
    assert sum(one.shown_frames != one.planned_frames for one in shown) < sum(one.dropped_frames > 0 for one in shown)


@pytest.mark.parametrize("vsync", [True, False])
@pytest.mark.parametrize(("wanted", "takes"), [(1000, 0.0), (800, 0.0), (1000, 0.7), (250, 0.2), (500, 1.3)])
def test_the_interval_before_a_trial_is_on_record_and_lasts_as_planned_or_as_long_as_it_took(
    vsync: bool, wanted: float, takes: float
) -> None:
    """From the first frame of the empty screen to that of the trial; ``takes`` (s) is how long it
    takes to make the trial ready."""
    stage = VirtualStage(VirtualWindow(60, vsync, jitter=0.001))
    trial = compile_trial(load_paradigm("vsr"), {"list_length": 2}, 1)
    frame = 1000 / 60
    for _ in range(3):
        between_trials.rest(stage, "en", wanted / 1000, lambda: stage.window.sleep(takes))
        first, *others = [notes for _, _, _, notes in play(stage, trial, somebody(1))]
        if takes * 1000 < wanted - 2 * frame:
            assert abs(first["interval_ms"] - wanted) < frame / 2 + 2
        else:  # it is never told to be shorter than it was
            assert takes * 1000 <= first["interval_ms"] < takes * 1000 + 4 * frame
        assert not any("interval_ms" in notes for notes in others)
    (first, *_) = [notes for _, _, _, notes in play(stage, trial, somebody(1))]
    assert "interval_ms" not in first  # nothing was between this trial and the one before


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_a_time_stamp_holds_where_flips_wait_for_the_screen(seed: int) -> None:
    """Stamps are late by up to 30 ms in one flip of ten, and the rate is known to one part in ten
    thousand: no picture came on before the bound says."""
    random, period, true = RandomState(seed), 1 / 60, 1 / 60 * 1.0001
    refreshes, refresh, bounds = Refreshes(period), 0, []
    for _ in range(2000):
        refresh += 1 + (random.rand() < 0.02)
        begun = refresh * true - float(random.uniform(0.001, 0.012))
        late = float(random.uniform(0, 0.03)) if random.rand() < 0.1 else float(random.exponential(0.00005))
        stamp = refresh * true + late
        refresh = max(refresh, int(stamp / true))  # what comes next waits for the stamp
        bound = stamp - refreshes.earliest(begun, stamp)
        refreshes.stamps.append(stamp)
        assert bound >= late - 0.0003
        assert bound <= stamp - begun + 1e-9
        bounds.append(bound - late)
    assert np.percentile(bounds[5:], 90) < 0.001  # and it is hardly longer than the stamp was late
