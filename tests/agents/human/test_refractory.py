"""Presses at the border of two self-paced steps: the second half of a double click answers nothing,
and stays on record; everything else counts as ever."""

from __future__ import annotations

import shutil
import subprocess
from collections import deque
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_lab import VirtualStage, VirtualWindow, play, trial
from x_server import x_server

from spanlab.agents.human import SimulatedParticipant
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.agents.human.input.keyboard import Keyboard
from spanlab.agents.human.input.keymap import Keymap
from spanlab.agents.human.input.steps import USUAL, Refractory, StepAccount
from spanlab.agents.human.input.xtest import InputEvent
from spanlab.paradigms import Ask, Percept
from spanlab.paradigms.responses import Cells, Choice, Continuous
from spanlab.paradigms.trial import Display
from spanlab.stimuli.kinds.plain import Blank

NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
BLANK = Blank.model_validate({})


def question(ask: Ask | None = None, ms: float | None = None) -> Percept:
    return Percept("probe", (Display(BLANK, ms),), ask or Ask(NINE))


class Scripted(VirtualStage):
    """A stage in which somebody presses at given times after the first onset, and answers each step
    that is still open long after."""

    def __init__(self, presses: list[Press], refractory: Refractory = USUAL) -> None:
        super().__init__(VirtualWindow(60))
        self.refractory = refractory
        self.script, self.began = presses, 0.0

    def waits(self, for_what: str, onset: float) -> None:
        self.fingers.coming = [press for press in self.fingers.coming if press.time < onset + 3 and press.key != "9"]
        if not self.began:
            self.began = onset
            self.fingers.coming += [replace(press, time=onset + press.time) for press in self.script]
        self.fingers.coming.append(Press("key", onset + 4.0, key="9" if for_what == "answer" else "space"))


def effects(told: list[Any]) -> list[list[tuple[str, float]]]:
    """What every press did in each step, and when (s after the first onset)."""
    first = told[0][2][0].onset_ms
    return [
        [
            (press["does"], (shown[0].onset_ms - first + press["rt_ms"]) / 1000)
            for press in (response.raw["presses"] if response is not None else notes.get("presses", []))
        ]
        for _, response, shown, notes in told
    ]


CLICK, FIVE = Press("click", 0.4, x=48, y=48), Press("key", 0.4, key="5")


def later(press: Press, seconds: float) -> Press:
    return Press(press.device, press.time + seconds, press.key, press.x, press.y)


@pytest.mark.parametrize("gap", [0.17, 0.2, 0.25])
def test_nought_switches_it_off(gap: float) -> None:
    told = play(Scripted([CLICK, later(CLICK, gap)], Refractory(0, 0)), trial(question(), question()), lambda ask: None)
    assert [does for does, _ in effects(told)[1]] == ["answer"]


@pytest.mark.parametrize("gap", [0.17, 0.2, 0.25])
def test_a_window_that_the_clock_opens_takes_every_press(gap: float) -> None:
    """Timed questions are as they were, after a self-paced one and after a timed one; and so is a
    self-paced one after a timed display."""
    timed = Ask(NINE, window_ms=2000)
    for steps in ((question(), question(timed, 2000.0)), (question(timed, 2000.0), question(timed, 2000.0))):
        told = play(Scripted([FIVE, later(FIVE, gap)]), trial(*steps), lambda ask: None)
        assert all("too soon" not in [does for does, _ in step] for step in effects(told))
    between = Percept("pause", (Display(BLANK, 100.0),))
    told = play(Scripted([FIVE, later(FIVE, 0.35)]), trial(question(), between, question()), lambda ask: None)
    assert [does for does, _ in effects(told)[2]] == ["answer"]


def test_a_double_click_on_a_display_that_waits_answers_no_question() -> None:
    told = play(
        Scripted([CLICK, later(CLICK, 0.18)]),
        trial(Percept("present", (Display(BLANK, None),)), question()),
        lambda ask: None,
    )
    assert [does for does, _ in effects(told)[1]] == ["too soon", "answer"]


def test_cells_are_marked_as_fast_as_anybody_clicks() -> None:
    """Only the border counts: within a question clicks 40 ms apart, on one cell and on others, all
    have their effect."""
    cells = Ask(Cells.model_validate({"grid": 4, "take": 4}))
    places = [(12, 12), (36, 12), (60, 12), (60, 12), (84, 12), (12, 36)]
    clicks = [Press("click", 1.0 + 0.04 * number, x=x, y=y) for number, (x, y) in enumerate(places)]
    told = play(
        Scripted([FIVE, *clicks, Press("key", 1.3, key="return")]), trial(question(), question(cells)), lambda ask: None
    )
    assert [does for does, _ in effects(told)[1]] == ["mark", "mark", "mark", "unmark", "mark", "mark", "answer"]


def test_the_border_of_two_trials_is_one_too() -> None:
    stage = Scripted([CLICK, later(CLICK, 0.19)])
    play(stage, trial(question()), lambda ask: None)
    told = play(stage, trial(question()), lambda ask: None)
    assert [does for does, _ in effects(told)[0]] == ["too soon", "answer"]


TIMED = Ask(NINE, window_ms=500)


@pytest.mark.parametrize("first", [question(), question(TIMED, 500.0), Percept("pause", (Display(BLANK, None),))])
@pytest.mark.parametrize("second", [question(), question(TIMED, 500.0)])
@pytest.mark.parametrize("why", ["held", "elsewhere"])
def test_what_was_down_before_and_what_was_typed_elsewhere_answer_nothing(
    first: Percept, second: Percept, why: str
) -> None:
    """An answer is a press that began after its question, in this window: a key that lies down is on
    record, and answers no question, however often it repeats itself."""
    key = "space" if first.ask is None else "5"
    more = [replace(Press("key", 0.3 + 0.033 * number, key="5"), **{why: True}) for number in range(60)]
    told = play(Scripted([Press("key", 0.3, key=key), *more], Refractory(0, 0)), trial(first, second), lambda ask: None)
    steps = effects(told)
    assert [does for does, _ in steps[0]][:1] == ["answer" if first.ask is not None else "go on"]
    assert {does for does, _ in steps[1]} <= {why, "answer"}
    response = told[1][1]
    assert response is not None
    if second.ask is not None and second.ask.window_ms is None:
        assert (response.value, [does for does, _ in steps[1]][-1]) == (8, "answer"), "the press that was meant"
    else:
        assert (response.value, response.outcome) == (None, "omitted")
    assert sum(does == why for does, _ in [*steps[0], *steps[1]]) > 10, "all of it is on record"


#: where keys lie, by X's codes, as they are called on a US keyboard; [ is dead on a French one
PLACES = {
    "1": 10,
    "5": 14,
    "num_5": 84,
    "space": 65,
    "f": 41,
    "y": 29,
    "z": 52,
    "bracketleft": 34,
    "numlock": 77,
    "return": 36,
}
#: where the sign y is on a keyboard; on one without it, it counts by its place
PLACE_OF_Y = {"us": "y", "fr": "y", "de": "z", "ru": "y"}
LETTERS = Choice.model_validate({"options": ["f", "y"], "keys": ["f", "y"]})
KEYS = st.sampled_from(list(PLACES))


@cache
def keymap(layout: str) -> Keymap:
    """The signs on the keys of a real X server with a layout."""
    display = pytest.importorskip("Xlib.display")
    with x_server("64x64") as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("DISPLAY", server.display)
        there = display.Display(server.display)  # a server without anybody forgets its layout
        subprocess.run(f"setxkbmap {layout} -print | xkbcomp -w0 - {server.display}", shell=True, check=True)
        read = Keymap()
        there.close()
    return read


ONE_PRESS = st.tuples(
    st.floats(0.001, 0.6), st.sampled_from(["key", "key", "key", "click"]), KEYS, st.booleans(), st.booleans()
)


@pytest.mark.skipif(shutil.which("xkbcomp") is None, reason="needs Xvfb and xkbcomp")
@pytest.mark.parametrize("layout", PLACE_OF_Y)
@given(
    presses=st.lists(ONE_PRESS, max_size=25),
    kind=st.sampled_from([NINE, LETTERS]),
    window=st.sampled_from([None, 400.0, 2000.0]),
    counts=st.sampled_from(["first", "last"]),
    before=st.none() | st.tuples(st.floats(0.0, 1.5), KEYS),
    same=st.sampled_from([0, 200]),
)
def test_an_answer_is_a_press_that_began_after_its_question(
    layout: str,
    presses: list[tuple[float, Any, str, bool, bool]],
    kind: Choice,
    window: float | None,
    counts: Any,
    before: Any,
    same: int,
) -> None:
    """At the keyboard of any country, over any sequence of presses, repetitions, clicks, Num Lock, dead keys, and
    keys that are meant for other windows: an answer is one of those that may answer, every one of them counts, and
    each press is on record once."""
    digits = {"1": 0, "5": 4, "num_5": 4}
    values: dict[str, Any] = digits if kind is NINE else {"f": "f", PLACE_OF_Y[layout]: "y"}
    signs = {place: keymap(layout).name(code + 1, place) for place, code in PLACES.items()}
    ask = Ask(kind, window_ms=window, counts=counts, ends="on_time" if window else "on_answer")
    ended = None if before is None else Press("key", 10.0 - before[0], key=signs[before[1]])
    step = StepAccount(question(ask), 10.0, AnswerSheet(ask, 10.0), Refractory(same, same / 2), ended)
    at, may, made = 10.0, [], []
    for gap, device, place, held, elsewhere in presses:
        at += gap
        held, elsewhere = held and device == "key", elsewhere and device == "key"
        press = Press(device, at, ("" if device == "click" else signs[place]), 48, 48, held=held, elsewhere=elsewhere)
        made.append(press)
        value = values.get(place)
        if device == "click":
            value = 4 if kind is NINE else None
        rest = ended is not None and 10.0 - ended.time <= 1.0 and window is None and not may
        least = same if ended is not None and (press.device, press.key) == ("key", ended.key) else same / 2
        soon = rest and (at - 10.0) * 1000.0 < least
        if value is not None and not (held or elsewhere or soon) and (window is None or at <= 10.0 + window / 1000.0):
            may.append((value, at))
        assert (step.take(press, 0, 10.0) == "answer") is bool(
            may and may[-1][1] == at and (counts == "last" or len(may) == 1)
        )
    sheet = step.sheet
    assert sheet is not None
    wanted = None if not may else may[0] if counts == "first" else may[-1]
    assert (sheet.answer(), sheet.answered_at) == (wanted or (None, None))
    assert len(sheet.presses) + len(sheet.late) == len(made)


def test_a_mark_on_a_dial_turns_as_long_as_its_key_is_held_but_only_a_key_of_this_question() -> None:
    ask = Ask(Continuous.model_validate({"feature": "orientation", "tolerance": 10}))
    step = StepAccount(question(ask), 10.0, AnswerSheet(ask, 10.0))
    turns = [Press("key", 10.5, key="right", held=True), Press("key", 10.6, key="left")]
    turns += [Press("key", 11.0 + 0.03 * number, key="left", held=True) for number in range(3)]
    assert [step.take(press, 0, 10.0) for press in turns] == ["held", "turn", "turn", "turn", "turn"]
    assert step.take(Press("key", 12.0, key="return", held=True), 0, 10.0) == "held"


def test_the_keyboard_tells_repetitions_from_presses() -> None:
    pytest.importorskip("psychopy")
    keyboard = Keyboard.__new__(Keyboard)
    keyboard.backend, keyboard._seen, keyboard._down = "ptb", deque(maxlen=500), {}
    keyboard.keymap = SimpleNamespace(name=lambda code, name: name)  # type: ignore[assignment]
    device = SimpleNamespace(responses=[], dispatchMessages=lambda: None)
    keyboard._device = device

    def key(at: float, duration: float | None = None) -> SimpleNamespace:
        return SimpleNamespace(code=10, tDown=at, name="5", duration=duration)

    first = key(1.0)
    device.responses += [first, key(1.3), key(1.34)]
    assert [press.held for press in keyboard.poll()] == [False, True, True]
    first.duration = 0.4
    device.responses += [first, key(1.5, 0.05)]
    assert [press.held for press in keyboard.poll()] == [False]
    device.responses += [key(1.7)]
    assert [press.held for press in keyboard.poll()] == [False]
    device.responses += [key(3.0)]  # its release was lost on the way: a key cannot be dead for good
    assert [press.held for press in keyboard.poll()] == [False]


@pytest.mark.parametrize("speed", [0.5, 1, 2, 3, 8, 100])
def test_the_simulated_participant_answers_after_the_refractory_times_at_any_speed(speed: float) -> None:
    agent = SimulatedParticipant("ideal", speed=speed, answers="keys")
    times: list[float] = []
    agent.open = lambda: None  # type: ignore[assignment, method-assign]
    agent._xtest = SimpleNamespace(at=lambda when, touch: times.append(when))  # type: ignore[assignment]
    for number in range(300):
        agent.answer_plan(Ask(NINE), number % 9)(0.0)
    assert min(times) * 1000 > agent._refractory_times().same_ms
    assert agent._refractory_times().same_ms == pytest.approx(200 / max(1, speed))
    assert InputEvent("5").hold < 0.2
