"""A text that is written at a real window, for ``tests/paradigms/test_open_text.py``:
``python writing_bench.py FOLDER TEXT BY [PICTURE] > answer.json``."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path += [
    os.path.dirname(os.path.abspath(__file__)),
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "lab"),
]

from PIL import Image
from session_tools import take
from window_bench import screenshot

import spanlab
from spanlab.agents.human import SimulatedParticipant, WindowOptions, virtual_screen
from spanlab.paradigms import Answer, Percept, Truth
from spanlab.sessions.record import read_events

QUESTION = """
paradigm: afterwards
version: 1
title: Afterwards
questionnaire: true
timeline:
  - phase: strategy
    show: {blank: {}}
    ask: {open_text: {most: 200, more: äöüß}, prompt: {en: "How did you remember?", de: "Wie haben Sie sich erinnert?"}}
instructions: {en: Please answer some questions., de: Bitte beantworten Sie einige Fragen.}
designs: {human: {repetitions: 1}}
"""


class Writer:
    """Answers an open question with a text."""

    name = "writer"

    def __init__(self, text: str) -> None:
        self._text = text

    def fresh(self, seed: int) -> Writer:
        return self

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        return None if percept.ask is None else self._text

    def settings(self) -> dict[str, Any]:
        return {}


def main(folder: Path, text: str, by: Any, picture: str = "") -> None:
    (file := folder / "afterwards.yaml").write_text(QUESTION, encoding="utf-8")
    with virtual_screen(1280, 1024):
        agent = SimulatedParticipant(Writer(text), WindowOptions(fullscreen=True), speed=6, answers=by)
        if picture:

            def look() -> None:
                time.sleep(9)
                Image.fromarray(screenshot()).save(picture)

            threading.Thread(target=look, daemon=True).start()
        session = take(folder / "data", spanlab.load_paradigm(file), agent, 1, participant="p1")
        agent.close()
    (answer,) = [event for event in read_events(session.folder) if event["event"] == "step"]
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
