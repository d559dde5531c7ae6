"""What the server's clock says about the times of a page: scripts that cheat are marked, all of
them, and honest sessions never."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted_page import SCREEN_REPORT, ScriptedPage

from spanlab.analysis.data.exclusions import Rule, apply_exclusions
from spanlab.analysis.data.timing import session_timing, verdict
from spanlab.extensions.browser.participant.agent import BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel
from spanlab.extensions.browser.participant.evidence import REASONS, TimeWitness, Told
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.participant.reports import StepReading, StepReport
from spanlab.extensions.browser.visits.messages import read_message
from spanlab.paradigms import Percept, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.trial import Display
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.studies.monitoring import SessionReader
from spanlab.stimuli.kinds.plain import Blank

#: ms from the end of a step at a page to its arrival at the server, as recorded (see the file's
#: first line)
DELAYS_MS = np.loadtxt(Path(__file__).parent / "delays_ms.txt")


class ServerClock:
    """A clock that stands still unless a page lets time pass."""

    def __init__(self) -> None:
        self.at = 5000.0

    def __call__(self) -> float:
        return self.at

    def forward_to(self, at: float) -> None:
        self.at = max(self.at, at)


class TimedPage(ScriptedPage):
    """A page that tells each step when it is over: its times and those of the server go together.

    Parameters
    ----------
    honest : whether steps take their time; otherwise they are told at once
    random : draws how long messages are under way
    """

    def __init__(
        self, channel: Channel, clock: ServerClock, random: np.random.RandomState, honest: bool = True
    ) -> None:
        self.clock, self.random, self.honest = clock, random, honest
        self._began = self._began_ms = 0.0
        super().__init__(channel)

    def delay(self) -> float:
        return float(self.random.choice(DELAYS_MS)) / 1000.0

    def _play(self) -> None:
        self._began, self._began_ms = self.clock.at + self.delay(), self._now
        super()._play()

    def tell(
        self, command: int, kind: str, body: Mapping[str, Any] | None = None, place: int = -1, epoch: str = ""
    ) -> Any:
        if kind == "step" and self.honest:
            self.clock.forward_to(self._began + (self._now - self._began_ms) / 1000.0 + self.delay())
        else:
            self.clock.forward_to(self.clock.at + 0.005)
        return super().tell(command, kind, self.changed(kind, dict(body or {}), place), place, epoch)

    def changed(self, kind: str, body: dict[str, Any], place: int) -> dict[str, Any]:
        """What is told instead."""
        return body


class OfflinePage(TimedPage):
    """An honest page whose line is cut for twenty seconds in the middle of each trial: what it
    tells waits, and comes all at once."""

    def _play(self) -> None:
        self._waiting: list[tuple[Any, ...]] = []
        self._steps = 0
        super()._play()
        self.clock.forward_to(self.clock.at + 20.0)
        self.channel.detach(self._line)
        self.clock.forward_to(self.clock.at + 20.0)
        self.channel.attach(self._line, self.instance, 10**9)
        waiting, self._waiting = self._waiting, None  # type: ignore[assignment]
        for told in waiting:
            super().tell(*told)

    def tell(
        self, command: int, kind: str, body: Mapping[str, Any] | None = None, place: int = -1, epoch: str = ""
    ) -> Any:
        if kind in ("step", "end") and self._waiting is not None:
            self._waiting.append((command, kind, body, place, epoch))
            return None
        return super().tell(command, kind, body, place, epoch)


def taken(data: Path, name: str, page: type[TimedPage], seed: int, trials: int = 3, honest: bool = True) -> Path:
    """The session of a page."""
    paradigm, clock = load_paradigm(name), ServerClock()
    plan = plan_session(paradigm, seed=seed, trials=trials, design=SessionDesign())
    channel = Channel("e" * 24, lambda event: None, clock=clock)
    at_page = page(channel, clock, np.random.RandomState(seed), honest)
    agent = BrowserParticipant(channel, FrameStore(), SCREEN_REPORT.screen)
    session = begin(data, paradigm, agent, plan, Request(seed=seed, participant=f"P{seed}", source=name))
    Runner(session, agent).run()
    at_page.close()
    return session.folder


def reasons_of(folder: Path) -> list[str]:
    """Why times of each trial cannot be true."""
    return read_responses(folder).groupby("trial")["trial_implausible"].first().tolist()


# -- scripts that cheat ----------------------------------------------------------------------------


class ByNames(TimedPage):
    """A script that answers change detection by the names of frames: the same name, no change. It
    claims that everything has taken its time."""

    asked = named_alike = 0

    def _answer(self, ask: Mapping[str, Any]) -> list[dict[str, Any]]:
        frames = [
            display["frame"] for step in self._trial["steps"] for percept in step for display in percept["displays"]
        ]
        type(self).asked += 1
        type(self).named_alike += len(set(frames)) < len(frames)
        return super()._answer(ask)


class Wrong(TimedPage):
    """A page that takes its time, and tells a time that cannot be."""

    wrong_ms = 0.0

    def changed(self, kind: str, body: dict[str, Any], place: int) -> dict[str, Any]:
        if body.get("presses") and body.get("complete"):
            onset = body["displays"][0]["onset"]
            body["presses"] = [{**press, "t": max(0.0, onset + self.wrong_ms)} for press in body["presses"]]
        return body


class Negative(Wrong):
    wrong_ms = -400.0


class Endless(Wrong):
    wrong_ms = 8_999_991_000.0


class AtOnce(Wrong):
    wrong_ms = 0.5


class Beforehand(TimedPage):
    """A script that tells all answers before the server has said that the trial begins."""

    def _do(self, message: Mapping[str, Any]) -> None:
        if message["what"] == "trial":
            self._trial, self._place = message, message["first"]
            self._began, self._began_ms, self.honest = self.clock.at - 100.0, self._now, False
            ScriptedPage._play(self)
        elif message["what"] != "begin":
            super()._do(message)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 23))])
@pytest.mark.parametrize(
    ("name", "page", "honest", "reason", "trials"),
    [
        ("sternberg", TimedPage, False, "before its displays", 11),
        ("cd", ByNames, False, "longer than the server waited", 8),
        ("sternberg", Negative, True, "before its question", 3),
        ("vsr", Endless, True, "longer than the server waited", 3),
        ("sternberg", Beforehand, True, "before its displays", 3),
    ],
)
def test_scripts_that_cheat_are_marked(
    tmp_path: Path, name: str, page: type[TimedPage], honest: bool, reason: str, trials: int, seed: int
) -> None:
    folder = taken(tmp_path, name, page, seed, trials, honest)
    marked = reasons_of(folder)
    assert len(marked) == trials
    assert all(reason in reasons for reasons in marked), marked
    assert all(part in REASONS for reasons in marked for part in reasons.split(", "))
    timing = session_timing(folder)
    assert timing is not None
    judged = verdict(timing)
    assert not judged.holds
    assert f"in {trials} trials, times cannot be true" in judged.line
    assert f"{trials} with times that cannot be true" in SessionReader().look(folder, ("P", "", ""), (), 0.0).note
    kept, report = apply_exclusions(
        read_responses(folder), [Rule(leave_out="sessions", where="trial_implausible", above=0)]
    )
    assert not len(kept)
    assert report.units["value"].tolist() == [1.0]


def test_answers_within_a_refresh_of_their_question_are_marked_from_the_third_on(tmp_path: Path) -> None:
    assert ["before the picture" in reasons for reasons in reasons_of(taken(tmp_path, "sternberg", AtOnce, 1, 8))] == [
        *[False] * 2,
        *[True] * 6,
    ]


@pytest.mark.parametrize(("early_ms", "marked"), [(400.0, True), (100.0, False)])
def test_a_step_may_be_told_a_quarter_of_a_second_early_and_no_more(early_ms: float, marked: bool) -> None:
    """So much two clocks and the rounding of a browser may differ."""
    percept = Percept("study", (Display(Blank.model_validate({}), 1000.0),))
    shown = {"onset": 0.0, "end": 1000.0, "planned": 60, "frames": 60, "dropped": 0}
    report = StepReport.model_validate({"displays": [shown], "presses": []})
    reading, witness = StepReading(percept, report, None), TimeWitness()
    witness.trial_begins(10.0)
    notes = witness.look(percept, report, reading, Told(11.0 - early_ms / 1000.0, 0.0, 1000 / 60))
    assert ("before its displays" in notes.get("implausible", ())) == marked


def test_names_of_frames_tell_nothing_about_change(tmp_path: Path) -> None:
    ByNames.asked = ByNames.named_alike = 0
    taken(tmp_path, "cd", ByNames, 2, 8, honest=False)
    assert (ByNames.asked, ByNames.named_alike) == (8, 0)


# -- honest sessions -------------------------------------------------------------------------------


PARADIGMS = ("vsr", "cd", "sternberg", "digit_span", "nback_verbal", "sfr", "continuous_colour", "corsi")


def unmarked(data: Path, seed: int, page: type[TimedPage]) -> None:
    folder = taken(data, PARADIGMS[seed % len(PARADIGMS)], page, seed, 2)
    assert reasons_of(folder) == ["", ""]
    assert all(
        "reported_after_ms" in {**(event.get("notes") or {}), **(event.get("happened") or {})}
        for event in read_events(folder)
        if event["event"] == "step"
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("page", [TimedPage, OfflinePage])
@pytest.mark.parametrize("seed", range(4))
def test_honest_sessions_are_not_marked(tmp_path: Path, seed: int, page: type[TimedPage]) -> None:
    unmarked(tmp_path, seed, page)


def test_twenty_seconds_without_a_line_are_recorded(tmp_path: Path) -> None:
    notes = [
        {**(event.get("notes") or {}), **(event.get("happened") or {})}
        for event in read_events(taken(tmp_path, "vsr", OfflinePage, 1, 1))
        if event["event"] == "step"
    ]
    assert {note["line_cut_ms"] for note in notes} == {20_000.0}


# -- what is no number -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, '[[{"x": NaN}]]'])
def test_what_json_cannot_hold_is_no_message(value: str) -> None:
    text = json.dumps(
        {"type": "event", "id": f"{'a' * 24}:1", "epoch": "", "c": 1, "kind": "step", "place": 0, "body": {"x": "V"}}
    )
    assert read_message(text) is not None
    assert read_message(text.replace('"V"', value)) is None
