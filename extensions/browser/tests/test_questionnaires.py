"""A questionnaire in a browser goes on with the question under way, whatever interrupts it: nothing
is counted twice, and no pause is in a reaction time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, Tab
from page_bench import Served, data_folder, hands_of, served
from scripted_page import ScriptedPage, hello

from spanlab.extensions.browser.participant.messages import words
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.visits import Visit, VisitDesk
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

QUESTIONS = """\
paradigm: afterwards
version: 1
title: Afterwards
timeline:
  - phase: effort
    show: {blank: {}}
    ask: {rating: {from: 1, to: 7}, prompt: {en: Did you try hard?}}
  - phase: alone
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "yes", prompt: {en: Were you alone?}}
  - phase: verdict
    feedback: {right: {text: thank you, ms: 100}, wrong: {text: thanks, ms: 100}}
  - phase: sure
    show: {blank: {}}
    ask: {rating: {from: 1, to: 7}, prompt: {en: How sure were you?}}
  - phase: sleep
    show: {blank: {}}
    ask: {rating: {from: 1, to: 7}, prompt: {en: How did you sleep?}}
instructions: {en: Please answer some questions.}
questionnaire: true
"""
PHASES = ["effort", "alone", "sure", "sleep"]


def offer_in(folder: Path) -> ParadigmOffer:
    (source := folder / "afterwards.yaml").write_text(QUESTIONS, encoding="utf-8")
    return ParadigmOffer.checked(str(source), data_folder(folder), trials=1)


def steps_of(folder: Path) -> list[Any]:
    """The steps of the only trial, after checks of what must hold whatever has happened."""
    events = read_events(folder)
    assert [event["attempt"] for event in events if event["event"] == "trial_start"] == [1]
    assert not [event for event in events if event["event"] == "trial_cut"]
    assert events[-1]["event"] == "session_end"
    steps = [event for event in events if event["event"] == "step"]
    assert [step["step"] for step in steps] == [1, 2, 3, 4, 5]
    assert read_responses(folder)["phase"].tolist() == PHASES, "every question has one row"
    return steps


class GoneError(Exception):
    """The page is closed."""


class Leaving(ScriptedPage):
    """A page that is gone before it tells of a step."""

    leaves_at = 0

    def __init__(self, *given: Any) -> None:
        self.left = threading.Event()
        #: numbers of the steps that it was told to begin with
        self.firsts: list[int] = []
        super().__init__(*given)

    def _step(self, which: int) -> None:
        if self._place == self._trial["first"]:
            self.firsts.append(self._place)
        if self._place == self.leaves_at:
            self.left.set()
            raise GoneError
        super()._step(which)

    def _run(self) -> None:
        with suppress(GoneError):
            super()._run()


@pytest.mark.parametrize("leaves_at", range(5))
def test_a_page_that_is_loaded_anew_goes_on_with_the_question_under_way(tmp_path: Path, leaves_at: int) -> None:
    offer = offer_in(tmp_path)
    desk = VisitDesk(offer, print)
    visit = desk.join(Hello.model_validate(hello()), lambda message: None)
    assert isinstance(visit, Visit)
    first = type("LeavingThen", (Leaving,), {"leaves_at": leaves_at})(visit.channel)
    assert first.left.wait(60)
    first.close()
    second = type("Staying", (Leaving,), {"leaves_at": -1})(visit.channel, "b" * 24)
    assert second.over.wait(60)
    assert second.firsts == [leaves_at]
    second.close()
    desk.close()
    (folder,) = offer.data.iterdir()
    steps = steps_of(folder)
    noted = [{**(step.get("notes") or {}), **(step.get("happened") or {})}.get("reloaded", 0) for step in steps]
    assert noted == [int(number == leaves_at) for number in range(5)]
    for event in [*first.told, *second.told]:
        assert event.name in first.acknowledged | second.acknowledged, "the page keeps nothing that is recorded"


# -- in a real browser -----------------------------------------------------------------------------


def interrupted(folder: Path, browser: Chromium, interrupt: Callable[[Tab, Served], None]) -> list[Any]:
    """The steps of a visit that is interrupted while the third question waits."""
    offer, done = offer_in(folder), list[bool]()
    with served(offer, "ideal") as server, browser.window() as tab:
        tab.screen(900, 700)
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")

        def meanwhile(look: Mapping[str, Any]) -> bool | None:
            if (
                done
                or not look["stage"]
                or not (str(look["waits"]).startswith("answer") and str(look["waits"]).endswith(":3"))
            ):
                return False
            done.append(True)
            interrupt(tab, server)
            return None

        hands = hands_of(tab, server, "mouse")
        hands.meanwhile = meanwhile
        assert "Thank you" in hands.go()
        assert (done, tab.complaints, server.said) == ([True], [], [])
    (session,) = offer.data.iterdir()
    return steps_of(session)


def pause(tab: Tab, server: Served) -> None:
    tab.press("escape")
    text = str(tab.until("!document.getElementById('notice').hidden && document.getElementById('notice').innerText"))
    assert words("en")["pause_replaces"] not in text
    time.sleep(1.0)


def load_anew(tab: Tab, server: Served) -> None:
    tab.open(server.address("P01"))
    tab.until("document.readyState === 'complete' && document.querySelector('#sheet button') !== null")


@pytest.mark.slow
def test_a_page_that_is_loaded_anew_asks_only_what_is_left(tmp_path: Path, browser: Chromium) -> None:
    steps = interrupted(tmp_path, browser, load_anew)
    assert {**(steps[3].get("notes") or {}), **(steps[3].get("happened") or {})}.get("reloaded") == 1
    assert all(step["rt_ms"] is not None for step in steps if "ask" in step)
