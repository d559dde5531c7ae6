"""A real window, real key presses and real clicks, under a virtual screen. What happened in it is
judged here; the scenes are in ``lab_bench.py``."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from processes import bench

from spanlab.agents.human.display import window as display
from spanlab.agents.human.display.frames import FrameGrid
from spanlab.agents.human.display.window import LabWindow
from spanlab.agents.human.input import mouse as mouse_module
from spanlab.agents.human.input.mouse import Mouse
from spanlab.core.errors import SpanLabError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
FRAME = 1000 / 60
#: what is the same however busy the computer is
SCENES = ("durations", "nine_clicks", "cells", "ordered", "dials", "escape", "pixels", "pages", "choices")
#: what hands do at a moment of real time: the quick part has the like on a virtual clock
#: (``test_clock.py``, ``test_refractory.py``)
MOMENTS = (
    "nine_clicks",
    "dials",
    "short_presses",
    "borders",
    "busy",
    "omission",
    "counting",
    "self_paced",
    "double_clicks",
    "escape_between",
    "pages",
)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return bench("lab/lab_bench", *SCENES)


@pytest.fixture(scope="module")
def moments() -> dict[str, Any]:
    return bench("lab/lab_bench", *MOMENTS)


def scene(facts: dict[str, Any], name: str) -> Any:
    found = facts[name]
    assert not (isinstance(found, dict) and "error" in found), found["error"]
    return found


def presses(step: dict[str, Any]) -> list[float]:
    """When everything happened that is credited to a step, in ms from its onset."""
    raw = step["response"]["raw"]["presses"] if step["response"] else step["notes"].get("presses", [])
    return [press["rt_ms"] for press in raw + step["notes"].get("late", [])]


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["colour", "orientation", "location"])
def test_a_dial_takes_clicks_in_every_direction_and_keys(facts: dict[str, Any], feature: str) -> None:
    found = scene(facts, "dials")[feature]
    responses = [step["response"] for step in found["steps"]]
    assert [response["value"] for response in responses] == found["values"]
    *by_click, in_the_middle, by_keys = responses
    assert all([press["does"] for press in response["raw"]["presses"]] == ["answer"] for response in by_click)
    assert [press["does"] for press in in_the_middle["raw"]["presses"]] == ["nothing", "answer"]
    assert [press["does"] for press in by_keys["raw"]["presses"]] == [
        "not yet",
        "turn",
        "turn",
        "turn",
        "turn",
        "turn",
        "nothing",
        "turn",
        "answer",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("announced", ["announced", "unannounced"])
def test_displays_last_for_their_frames(facts: dict[str, Any], announced: str) -> None:
    shown = [one for step in scene(facts, "durations")[announced] for one in step["shown"]]
    assert len(shown) == 12
    assert [one["planned_frames"] for one in shown] == [max(1, int(one["planned_ms"] / FRAME + 0.5)) for one in shown]
    for one in shown:
        # Nothing is cut short, and what is too long is owned up to as dropped frames. (A busy
        # machine drops some; an idle one none.)
        assert one["planned_frames"] <= one["shown_frames"] <= one["planned_frames"] + one["dropped_frames"]
        assert abs(one["shown_ms"] - one["shown_frames"] * FRAME) < 1.5 * FRAME
    for one, following in itertools.pairwise(shown):
        assert one["onset_ms"] + one["shown_ms"] == pytest.approx(following["onset_ms"], abs=0.01)


def credited_where_they_happened(steps: list[dict[str, Any]]) -> None:
    """Each injected press is found once, and in the step in which it happened (within 5 ms of a
    border in either)."""
    injected = [step["onset"] + ms / 1000 for step in steps for ms in step["injected"]]
    found = sorted((step["onset"] + ms / 1000, number) for number, step in enumerate(steps) for ms in presses(step))
    assert len(found) == len(injected)
    onsets = [step["onset"] for step in steps] + [float("inf")]
    for (when, number), pressed in zip(found, sorted(injected), strict=True):
        # A busy machine delivers a press late, and it then counts when it arrives.
        assert -0.005 < when - pressed < 0.5
        # The X server tells time in whole milliseconds, and its clock is compared with ours: a
        # press at a border may lie a little beyond it.
        assert onsets[number] - 0.005 <= when < onsets[number + 1] + 0.005


@pytest.mark.slow
def test_presses_at_the_border_of_two_steps_belong_to_the_right_one(moments: dict[str, Any]) -> None:
    steps = scene(moments, "borders")
    assert sum(len(step["injected"]) for step in steps) > 10
    credited_where_they_happened(steps)
    for step in steps:
        first = min(presses(step), default=math.inf)
        # The window of 100 ms closes with a frame, which without vertical synchronisation may come
        # half a frame early.
        if abs(first - 100) > FRAME / 2:
            assert (step["response"]["outcome"] == "answered") == (first < 100)
        if step["response"]["outcome"] == "answered":
            assert step["response"]["rt_ms"] == first


@pytest.mark.slow
def test_presses_at_borders_where_the_next_display_is_not_known() -> None:
    credited_where_they_happened(scene(bench("lab/lab_bench", "unannounced_borders"), "unannounced_borders"))


@pytest.mark.slow
def test_clicks_and_keys_have_the_times_at_which_they_were_made(moments: dict[str, Any]) -> None:
    steps = scene(moments, "nine_clicks")
    errors = np.array([step["response"]["rt_ms"] - step["injected"][0] for step in steps])
    assert abs(np.median(errors[:9])) < 6
    assert abs(np.median(errors[9:])) < 2


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["colour", "orientation", "location"])
def test_answers_on_a_dial_have_the_times_at_which_they_were_given(moments: dict[str, Any], feature: str) -> None:
    errors = [step["response"]["rt_ms"] - step["injected"][-1] for step in scene(moments, "dials")[feature]["steps"]]
    assert abs(np.median(errors)) < 6


@pytest.mark.slow
def test_clicks_and_keys_keep_their_order_and_times_while_the_program_is_busy(moments: dict[str, Any]) -> None:
    found = scene(moments, "busy")
    step, (freed,) = found["step"], found["freed"]
    happened = step["response"]["raw"]["presses"]
    assert [press["does"] for press in happened] == ["mark", "mark", "mark", "answer"]
    assert step["response"]["value"] == [12, 57, 40]
    for press, injected in zip(happened, step["injected"], strict=False):
        # each has the time at which it happened, and not that at which it was read
        assert press["rt_ms"] - injected < (freed - injected) / 2


class Handle:
    """A window of pyglet's to which an X server tells of clicks."""

    def __init__(self) -> None:
        from pyglet.libs.x11 import xlib

        self.coming: list[int] = []
        self._view_event_handlers: dict[int, Any] = {xlib.ButtonPress: lambda event: self.press(10, 10, 1, 0)}
        self._number = xlib.ButtonPress

    def push_handlers(self, on_mouse_press: Any, **others: Any) -> None:
        self.press = on_mouse_press

    def dispatch_events(self) -> None:
        for stamp in self.coming:
            self._view_event_handlers[self._number](SimpleNamespace(xbutton=SimpleNamespace(time=stamp)))
        self.coming.clear()


@pytest.mark.parametrize(("ahead", "believed"), [(0, True), (2**32 - 1500, True), (40_000, False), (-40_000, False)])
def test_a_click_is_dated_by_the_server_where_it_has_the_clock_of_this_computer(
    monkeypatch: pytest.MonkeyPatch, ahead: int, believed: bool
) -> None:
    now, handle = [5000.0], Handle()
    mouse = Mouse(
        SimpleNamespace(winHandle=handle, size=(100, 100), getContentScaleFactor=lambda: 1.0), lambda x, y: (x, y)
    )
    monkeypatch.setattr(mouse, "_now", lambda: now[0])
    monkeypatch.setattr(
        mouse_module, "time", SimpleNamespace(monotonic=lambda: now[0] - 4000.0 + (ahead if believed else 0) / 1000)
    )
    mouse.poll()
    handle.coming = [(1_000_200 + ahead) % 2**32, (1_000_700 + ahead) % 2**32]
    now[0] += 1.0  # the program was busy for a second
    first, second = (press.time for press in mouse.poll())
    if believed:
        assert (first, second) == pytest.approx((5000.2005, 5000.7005), abs=0.0006)
    else:
        assert (first, second) == pytest.approx((5001 - Mouse.LONGEST_GAP / 2,) * 2)


@pytest.mark.parametrize("wait", [lambda window: window.wait(0.003, None), lambda window: window.skip()])
def test_nothing_waits_for_a_clock_that_was_set_back(
    monkeypatch: pytest.MonkeyPatch, wait: Callable[[LabWindow], object]
) -> None:
    asked = itertools.count()

    def slept(seconds: float) -> None:
        assert next(asked) < 1000, "the window stands still"

    monkeypatch.setattr(display, "time", SimpleNamespace(sleep=slept))
    window = object.__new__(LabWindow)
    window.grid, window.now = FrameGrid(60.0, paced=True, last=5000.0), lambda: 5000.0 - 3600.0
    with pytest.raises(SpanLabError, match="clock was set back by 3600 s"):
        wait(window)


@pytest.mark.slow
def test_escape_between_two_trials_is_never_lost(moments: dict[str, Any]) -> None:
    assert scene(moments, "escape_between") == [["page"]] * 4


@pytest.mark.slow
def test_hands_that_cannot_move_are_told_instead_of_waited_for() -> None:
    found = scene(bench("lab/lab_bench", "numb"), "numb")
    assert "there is no key 'nosuchkey'" in found["said"]
    assert found["helped"] == 0


@pytest.mark.slow
def test_windows_close(moments: dict[str, Any]) -> None:
    quiet, late, early = scene(moments, "omission")
    assert (quiet["response"]["outcome"], quiet["response"]["value"], quiet["response"]["rt_ms"]) == (
        "omitted",
        None,
        None,
    )
    assert late["response"]["outcome"] == "omitted"
    assert late["notes"]["late"][0]["key"] == "5"
    assert late["notes"]["late"][0]["rt_ms"] > 330
    assert early["response"]["value"] == 3
    assert early["shown"][0]["shown_ms"] < 1400  # the answer ended it


@pytest.mark.slow
def test_escape_asks_before_anybody_leaves(facts: dict[str, Any]) -> None:
    found = scene(facts, "escape")
    (step,) = found["stayed"]
    assert step["response"]["value"] == 6
    assert step["response"]["rt_ms"] is None  # the time since the onset is not a reaction time after a pause
    (pause,) = step["notes"]["paused"]
    assert pause["for_ms"] > 500
    assert step["shown"][0]["shown_ms"] < presses(step)[-1] - pause["for_ms"] + 400  # the pause is not part of it
    assert found["cut"] == "paused"  # somebody who had seen the item would have had time to rehearse it
    assert "saved" in found["left"]


@pytest.mark.slow
def test_the_screen_shows_every_pixel_of_the_picture_and_uploads_it_once(facts: dict[str, Any]) -> None:
    assert scene(facts, "pixels") == [0] * 8


@pytest.mark.slow
def test_what_was_found_is_told(facts: dict[str, Any]) -> None:
    found = scene(facts, "pages")["apparatus"]
    assert found["keyboard"] == "ptb"
    assert found["vsync"] is False  # there is none under Xvfb
    assert (found["frames_by"], found["hz"]) == ("clock", 60.0)
    assert found["window_px"] == [1024, 768]
    assert found["canvas_px"] == round(2 * 57 * np.tan(np.radians(5)) / 34 * 1024 / 2) * 2
    assert any("do not wait for the screen" in sentence for sentence in found["said"])


@pytest.mark.slow
def test_the_event_module_is_a_fallback_and_says_so() -> None:
    found = bench("lab/lab_bench", "event", "nine_clicks", "pages")
    assert [step["response"]["value"] for step in scene(found, "nine_clicks")] == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ]
    apparatus = scene(found, "pages")["apparatus"]
    assert apparatus["keyboard"] == "event"
    assert apparatus["keyboard_precision_ms"] is None


@pytest.mark.slow
def test_pages_with_options_end_with_one_of_them_and_with_nothing_else(facts: dict[str, Any]) -> None:
    told = scene(facts, "choices")
    assert told["chosen"] == [["refuse", 0], ["agree", 0], ["refuse", 0], ["refuse", 0], ["agree", 0]], (
        "the last touch chose, and none before it"
    )
    assert told["told"] == ["choice"] * 4 + ["page", "choice"]
