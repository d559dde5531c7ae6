"""A battery with everything in it, and a program that takes it: ``python battery_bench.py FOLDER``
takes it at a real window. ``extensions/browser/tests/test_every_answer.py`` takes it in Chromium, and
compares."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

from spanlab.agents.human import SimulatedParticipant, WindowOptions, virtual_screen
from spanlab.paradigms import Percept, Truth
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.study import load_study
from spanlab.sessions.studies.visit import VisitRequest, sit_down

SAID = "I said the letters aloud! It was a 2-back (hard). Why?"
#: in a browser, keys stand for the buttons of the box
STUDY = """
study: everything
title: Everything
languages: [en, de]
seed: 11
paradigms:
  - {paradigm: cd, set: {feature: colour, set_size: 2, retention_steps: 0}, trials: 4, practice: false}
  - {paradigm: digit_span, design: forward, trials: 3, practice: false, scanned: false}
  - {paradigm: ./afterwards.yaml, scanned: false}
keys: {own: {same: SAME, different: DIFFERENT}}
start: {pulse: "5", at: 3}
"""
BOX = "buttons: keys:f5+f6\n"
AFTERWARDS = """
paradigm: afterwards
version: 1
title: {en: Afterwards, de: Danach}
questionnaire: true
timeline:
  - {phase: effort, show: {blank: {}}, ask: {rating: {from: 1, to: 7}, prompt: {en: Did you try hard?, de: Haben Sie sich angestrengt?}}}
  - {phase: strategy, show: {blank: {}}, ask: {open_text: {most: 200}, prompt: {en: How?, de: Wie?}}}
instructions: {en: Two questions., de: Zwei Fragen.}
designs: {human: {repetitions: 1}}
"""  # noqa: E501


class Typist:
    """Answers by a rule, right or wrong, and writes the same remark everywhere."""

    name = "typist"

    def fresh(self, seed: int) -> Typist:
        return self

    def choose(self, percept: Percept, truth: Truth) -> Any:
        if percept.ask is None:
            return None
        if percept.phase == "strategy":
            return SAID
        drawn = int(hashlib.sha256(repr((percept.phase, truth.answer)).encode()).hexdigest(), 16)
        if truth.answer is not None and drawn % 3:
            return truth.answer
        return percept.ask.kind.guess(np.random.RandomState(drawn % 2**32))

    def settings(self) -> dict[str, Any]:
        return {}


def study_in(folder: Path, box: bool) -> Path:
    (folder / "afterwards.yaml").write_text(AFTERWARDS, encoding="utf-8")
    same, different = ("button_1", "button_2") if box else ("f", "j")
    text = STUDY.replace("SAME", same).replace("DIFFERENT", different) + (BOX if box else "")
    (file := folder / "everything.yaml").write_text(text, encoding="utf-8")
    return file


def main(folder: Path) -> None:
    study = load_study(study_in(folder, box=True))
    visit, _ = sit_down(study, folder / "window", VisitRequest("p1", language="de"))
    assert study.start is not None
    options = WindowOptions(fullscreen=False, size_px=(1000, 900), buttons=study.buttons, scanner=study.start.pulse)
    with virtual_screen(1100, 1000):
        Battery(visit, SimulatedParticipant(Typist(), options, speed=8.0), pilot=False).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
