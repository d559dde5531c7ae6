"""What disturbs a visit in a real browser is in its record: zoom, another size of the window, full
screen left, a pause, a page that is hidden."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, Tab
from page_bench import Served, data_folder, hands_of, served

from spanlab.analysis.data.timing import verdict
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.slow

PLACES = """\
paradigm: places
version: 1
title: Places
factors:
  list_length: [2]
draw:
  slots: {permutation: {of: 9, take: =list_length}}
timeline:
  - phase: fixation
    model_steps: 0
    show: {fixation: {}, ms: 1500}
  - for: slot in slots
    phase: present
    show: {matrix: {grid: 3, filled: "=[slot]", colour: red}, ms: 200}
  - for: slot in slots
    phase: probe
    show: {blank: {}}
    ask: {choice: {options: 9, layout: 3x3}, answer: =slot}
set_size: =list_length
instructions: {en: Remember the places.}
designs:
  human: {repetitions: 3}
"""


class Visit:
    """A visit that is disturbed once, and what its record says."""

    def __init__(
        self,
        folder: Path,
        browser: Chromium,
        when: Callable[[Mapping[str, Any]], bool],
        disturb: Callable[[Tab, Served], None],
        trials: int = 2,
    ) -> None:
        (source := folder / "places.yaml").write_text(PLACES, encoding="utf-8")
        data, done = data_folder(folder), list[bool]()
        with (
            served(ParadigmOffer.checked(str(source), data, trials=trials, practice=False), "ideal") as server,
            browser.tab() as tab,
        ):
            tab.screen(900, 700)
            tab.open(server.address("P01"))
            tab.until("document.querySelector('#sheet button') !== null")
            place = tab.middle("#sheet button")
            assert place is not None
            tab.click(*place)  # a real one: browsers go to full screen after nothing else
            hands = hands_of(tab, server, "mouse")

            def meanwhile(look: Mapping[str, Any]) -> bool:
                if not done and look["stage"] and when(look):
                    done.append(True)
                    disturb(tab, server)
                return False

            hands.meanwhile = meanwhile
            assert "Thank you" in hands.go()
            assert tab.complaints == []
        assert done
        (self.folder,) = data.iterdir()
        self.events = read_events(self.folder)
        self.steps = [event for event in self.events if event["event"] == "step"]
        assert read_responses(self.folder).correct.all()

    @property
    def cuts(self) -> list[str]:
        return [event["why"] for event in self.events if event["event"] == "trial_cut"]

    def noted(self, name: str) -> list[Any]:
        """What steps have under a name, in their notes."""
        notes = [{**(step.get("notes") or {}), **(step.get("happened") or {})} for step in self.steps]
        return [note[name] for note in notes if name in note]


def asks(look: Mapping[str, Any]) -> bool:
    return str(look["waits"]).startswith("answer")


def fixates(look: Mapping[str, Any]) -> bool:
    return str(look["waits"]).startswith("shows") and str(look["waits"]).endswith(":0")


def test_zoom_is_recorded_and_the_next_trial_has_the_new_size(tmp_path: Path, browser: Chromium) -> None:
    visit = Visit(tmp_path, browser, asks, lambda tab, server: tab.screen(600, 400, 1.5))
    (changes,) = visit.noted("screen_changed")
    assert changes[-1]["pixel_ratio"] == 1.5
    assert changes[-1]["window_px"] == [900, 600]
    assert changes[-1]["at_ms"] > 0
    first, second = visit.noted("canvas_px")
    assert changes[-1]["canvas_px"] <= first, "the picture is made no larger than it was drawn"
    assert second != first
    assert visit.cuts == []


def test_a_window_that_becomes_smaller_is_recorded(tmp_path: Path, browser: Chromium) -> None:
    visit = Visit(tmp_path, browser, asks, lambda tab, server: tab.screen(500, 400))
    (changes,) = visit.noted("screen_changed")
    first, second = visit.noted("canvas_px")
    assert changes[-1]["window_px"] == [500, 400]
    assert changes[-1]["canvas_px"] == second < first


def test_full_screen_left_is_recorded(tmp_path: Path, browser: Chromium) -> None:
    def leave(tab: Tab, server: Served) -> None:
        assert tab.evaluate("document.fullscreenElement !== null")
        tab.evaluate("document.exitFullscreen()")

    visit = Visit(tmp_path, browser, asks, leave)
    assert visit.noted("left_fullscreen") == [True]
    assert visit.cuts == []


def test_a_pause_replaces_the_trial_also_where_only_the_fixation_was_seen(tmp_path: Path, browser: Chromium) -> None:
    def pause(tab: Tab, server: Served) -> None:
        tab.press("escape")
        assert "repeated" in tab.until(
            "!document.getElementById('notice').hidden && document.getElementById('notice').innerText"
        )
        time.sleep(1.0)

    visit = Visit(tmp_path, browser, fixates, pause)
    assert visit.cuts == ["paused"]
    assert len({event["seed"] for event in visit.events if event["event"] == "trial_start"}) == 3


@pytest.mark.parametrize("when", [asks, fixates], ids=["at the question", "at the fixation"])
def test_a_tab_in_front_hides_the_page_and_the_trial_is_replaced(
    tmp_path: Path, browser: Chromium, when: Callable[[Mapping[str, Any]], bool]
) -> None:
    def hide(tab: Tab, server: Served) -> None:
        with browser.tab() as other:
            other.open("about:blank")
            time.sleep(1.0)
        tab.ask("Page.bringToFront")

    visit = Visit(tmp_path, browser, when, hide)
    assert visit.cuts == ["hidden"]
    assert visit.noted("focus_lost") == [] or all(
        one["for_ms"] > 0 for away in visit.noted("focus_lost") for one in away
    )


def test_the_verdict_on_an_undisturbed_visit_counts_no_display_that_an_answer_ended_as_off_plan(
    tmp_path: Path, browser: Chromium
) -> None:
    from page_timing import measured

    kept = measured(tmp_path, browser, 2)
    assert [display for display in kept.timing.displays.timed if display.off and not display.owned_up] == []
    assert "without a recorded late frame" not in verdict(kept.timing).line
    assert len(kept.late_ms) > 40, "of 50 keys, those that a busy computer pressed in time"
    # a key is recorded at a moment between the request and the browser's answer to it; the clocks
    # are apart by less than .2 ms
    for late, bracket in zip(kept.late_ms, kept.bracket_ms, strict=True):
        assert -0.2 <= late <= bracket + 0.2
