"""Pages and answers for the tests of what people read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from spanlab.agents.base import Response
from spanlab.agents.human.display.colours import BACKGROUND
from spanlab.agents.human.pages.between_trials import lay_out
from spanlab.agents.window import PageContent
from spanlab.paradigms import Percept, load_paradigm


def nothing_is_cut_off(page: PageContent, window: tuple[int, int], letter: int, language: str) -> int:
    """Text and pictures lie inside the window, and not on each other; how many sheets it took."""
    sheets = lay_out(page, language, window, letter)
    for sheet in sheets:
        top, bottom = sheet.y + sheet.body.height / 2, sheet.y - sheet.body.height / 2
        assert top <= window[1] / 2
        assert sheet.body.width <= window[0]
        assert sheet.footer is not None
        assert sheet.footer_y + sheet.footer.height / 2 < bottom
        assert sheet.footer_y - sheet.footer.height / 2 >= -window[1] / 2
        assert sheet.footer.width <= window[0]
        # Text that reached over the edge of its picture would be cut off there.
        assert page.progress is not None or (np.asarray(sheet.body)[:, -1] == BACKGROUND).all()
    return len(sheets)


#: Words that English sentences have and German ones do not.
ENGLISH = re.compile(
    r"\b(the|and|press|click|you|your|of|is|are|with|one|to|it|or|key|keys|correct|practice|trial|trials|next|page)\b",
    re.IGNORECASE,
)


def right(percept: Percept, number: int) -> Response:
    assert percept.ask is not None
    return Response(percept.ask.kind.guess(np.random.RandomState(number)), 500.0)


EASY = """
extends: vsr
paradigm: easy
practice: {trials: 1, factors: {list_length: 2}, pass: 1, at_most: 2, otherwise: OTHERWISE}
designs: {human: {factors: {list_length: [2]}, repetitions: 5, breaks: {trials: 2, seconds: 3, accuracy: true}}}
"""


def easy(folder: Path, otherwise: str = "go_on") -> Any:
    (folder / "easy.yaml").write_text(EASY.replace("OTHERWISE", otherwise), encoding="utf-8")
    return load_paradigm(folder / "easy.yaml")


def wrong(percept: Percept, number: int) -> Response:
    return Response(None, 500.0, 99, "invalid")  # no position at all
