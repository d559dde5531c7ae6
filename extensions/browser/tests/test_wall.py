"""Nothing that is sent to a page depends on what is right: the lines and pictures are the same,
byte by byte, where the truth is another one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted_page import SCREEN_REPORT, ScriptedPage

from spanlab.extensions.browser.participant.agent import BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel
from spanlab.extensions.browser.participant.frames import FrameStore, TrialPictures
from spanlab.paradigms import PlannedTrial, Step, Trial, Truth, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.strategies.one_by_one import TrialSource


class Pictured(BrowserParticipant):
    """Keeps all pictures that a page may ask for, and draws their names from a seed, so that two
    visits can be compared."""

    pictures: list[tuple[str, bytes]]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        names = itertools.count(1)
        self.name_picture = lambda: f"{next(names):032x}"

    def _publish(self, pictures: dict[str, Future[bytes]]) -> None:  # type: ignore[override]
        self.pictures = [
            *getattr(self, "pictures", []),
            *((name, picture.result()) for name, picture in pictures.items()),
        ]
        super()._publish(pictures)


def sent(data: Path, name: str) -> tuple[list[str], list[tuple[str, bytes]], list[bool | None]]:
    """The lines and pictures that went to the page, and what of its answers was right."""
    paradigm = load_paradigm(name)
    levels = {factor: [one.levels[0]] for factor, one in paradigm.factors.items() if one.mode == "crossed"}
    plan = plan_session(paradigm, seed=4, levels=levels, trials=2, design=SessionDesign())
    channel = Channel("e" * 24, lambda event: None)
    page = ScriptedPage(channel)
    agent = Pictured(channel, FrameStore(), SCREEN_REPORT.screen)
    session = begin(data, paradigm, agent, plan, Request(seed=4, participant="P01", source=name))
    Runner(session, agent).run()
    page.close()
    right = [
        score["correct"]
        for event in read_events(session.folder)
        if event["event"] == "step" and "ask" in event
        for score in event["scores"]
    ]
    return page.lines, agent.pictures, right


def forge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every trial have another truth, whatever is shown."""
    compile_: Callable[[TrialSource, PlannedTrial], Trial] = TrialSource.compile

    def another(step: Step) -> Step:
        ask, random = step.percept.ask, np.random.RandomState(1)
        if ask is None:
            return replace(step, truth=Truth())
        others = (ask.kind.guess(random) for _ in range(100))
        return replace(step, truth=Truth(next(other for other in others if other != step.truth.answer)))

    def forged(source: TrialSource, planned: PlannedTrial) -> Trial:
        trial = compile_(source, planned)
        return replace(trial, steps=tuple(map(another, trial.steps)), set_size=None)

    monkeypatch.setattr(TrialSource, "compile", forged)


@pytest.mark.parametrize(
    "name",
    ["vsr", "cd", "sfr", "digit_span", "continuous_colour", pytest.param("nback_verbal", marks=pytest.mark.slow)],
)
def test_nothing_that_is_sent_to_a_page_depends_on_what_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lines, pictures, right = sent(tmp_path / "true", name)
    forge(monkeypatch)
    forged_lines, forged_pictures, forged_right = sent(tmp_path / "forged", name)
    assert lines == forged_lines
    assert pictures == forged_pictures
    assert len(lines) > 5
    assert pictures
    assert any(right) or not any(forged_right), "the truth was another one"


def test_names_of_pictures_are_drawn_anew_and_equal_ones_differ(tmp_path: Path) -> None:
    paradigm = load_paradigm("cd")
    trial = plan_session(paradigm, seed=4, design=SessionDesign(), trials=1)[0].compile(paradigm, "corrected")
    displays = [display for step in trial.steps for display in step.percept.displays]
    store = FrameStore()
    visits = [TrialPictures(store, 96, "published") for _ in range(2)]
    names = [[made.frame(display)["frame"] for display in (*displays, *displays)] for made in visits]
    every = [name for of_visit in names for name in of_visit]
    assert len(set(every)) == len(every)
    for made, of_visit in zip(visits, names, strict=True):
        for first, second in zip(of_visit[: len(displays)], of_visit[len(displays) :], strict=True):
            assert made.pictures[first] == made.pictures[second]


def test_of_feedback_the_page_is_told_which_display_comes_and_nothing_else(tmp_path: Path) -> None:
    lines, _, right = sent(tmp_path, "nback_spatial_feedback")
    verdicts = [line for line in lines if '"verdict"' in line]
    assert len(verdicts) == len(right)
    import json

    assert {tuple(json.loads(line)) for line in verdicts} == {("type", "c", "what", "trial", "step", "show")}
