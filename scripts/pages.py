"""Draws every page that people read around trials, and every display with a question, as pictures
to be read by somebody who does not know the task.

    python scripts/pages.py OUT                          all paradigms and languages, at three sizes
    python scripts/pages.py OUT --paradigm corsi --language de --size 1280x1024

Pictures are called OUT/PARADIGM/LANGUAGE/SIZE/NUMBER-PAGE.png, in the order in which they come. A
participant who guesses takes practice and one trial.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from PIL import Image
from typing_extensions import override

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human.display.colours import BACKGROUND
from spanlab.agents.human.display.surface import SurfaceView
from spanlab.agents.human.input.answering import AnswerSheet
from spanlab.agents.human.pages.between_trials import PageSheet, lay_out
from spanlab.agents.human.stage import letter_beside
from spanlab.agents.window import PageContent, WindowAgent, WindowEpisode
from spanlab.core.agent_kinds import PARTICIPANT, AgentKind
from spanlab.paradigms import (
    AnswerKeys,
    Ask,
    Percept,
    Truth,
    list_paradigms,
    load_paradigm,
    plan_session,
)
from spanlab.paradigms.design import session_design
from spanlab.paradigms.translation import translated
from spanlab.sessions import Request, Runner, begin
from spanlab.stimuli import Scene, Stimulus
from spanlab.stimuli.render.palette import PALETTES, recoloured
from spanlab.stimuli.render.pixels import picture

SIZES = ((1280, 1024), (1920, 1080), (1024, 768))
#: Letters are as high as those of the window: half a degree at 57 cm on a screen of 53 cm.
_LINES = 48
#: Width of the canvas of a question, as a share of the height of the window: nearly the largest
#: that there may be.
_CANVAS = 0.68


class Reader(WindowAgent):
    """A participant who guesses, and keeps the pages and questions that came."""

    kind: ClassVar[AgentKind] = PARTICIPANT

    def __init__(self, language: str) -> None:
        self.name = "participant"
        self.language = language
        self.pages: list[tuple[str, PageContent | AskedDisplay]] = []
        self.random = np.random.RandomState(3)
        self.keys = AnswerKeys()
        self.words: Mapping[str, str] = {}

    @override
    def start(self, context: TrialContext) -> Guess:
        return Guess(self)

    @override
    def page(self, page: PageContent) -> None:
        self.pages.append((page.title, page))

    @override
    def settings(self) -> dict[str, Any]:
        return {}


class Guess(WindowEpisode):
    """A trial of a participant who guesses; each question is kept once, as it is asked."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if percept.ask is None:
            return None
        reader, ask = self._reader, percept.ask
        board = translated(percept.displays[0].stimulus, reader.words)
        asked = AskedDisplay(replace(ask, kind=ask.kind.with_keys(reader.keys)), board)
        if all(asked != kept for _, kept in reader.pages):
            reader.pages.append((f"question-{percept.phase}", asked))
        return Response(ask.kind.guess(reader.random), 500.0)


@dataclass(frozen=True, slots=True)
class AskedDisplay:
    """A display with its question."""

    ask: Ask
    stimulus: Stimulus


class PastedPictures:
    """Pictures that are pasted on an image, in place of those in a window."""

    def __init__(self, image: Image.Image) -> None:
        self._image = image

    def put(self, key: object, make: Callable[[], Image.Image], smooth: bool = False) -> Image.Image:
        """The picture that ``make()`` draws."""
        return make()

    def once(self, image: Image.Image, smooth: bool = False) -> Image.Image:
        """A picture as it is."""
        return image

    def draw(self, picture: Image.Image, x: float, y: float, turned: float = 0.0) -> None:
        """Paste a picture with its middle at (x, y), in pixels from the middle of the image (y up)."""
        turned_picture = picture.rotate(-turned) if turned else picture
        at = (
            round(self._image.width / 2 + x - turned_picture.width / 2),
            round(self._image.height / 2 - y - turned_picture.height / 2),
        )
        self._image.paste(turned_picture, at, turned_picture if turned_picture.mode == "RGBA" else None)


def safe(scene: Scene) -> Scene:
    """A scene in the colours in which people see it."""
    return recoloured(scene, PALETTES["safe"])


def pages_of(name: str, language: str) -> list[tuple[str, PageContent | AskedDisplay]]:
    """Return the pages of a session with one trial, each with a name."""
    paradigm, reader = load_paradigm(name), Reader(language)
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_session(paradigm, 1, session_design(paradigm), trials=1)
        session = begin(
            Path(folder),
            paradigm,
            reader,
            plan,
            Request(seed=1, language=language, participant="reader", practice=paradigm.practice is not None),
        )
        reader.keys, reader.words = session.answer_keys, paradigm.translations.get(language, {})
        Runner(session, reader).run()
    return reader.pages


def drawn(sheet: PageSheet, size: tuple[int, int]) -> Image.Image:
    """Return a sheet as the window shows it."""
    image = Image.new("RGB", size, BACKGROUND)
    for part, y in ((sheet.body, sheet.y), (sheet.footer, sheet.footer_y)):
        if part is not None:
            image.paste(part, ((size[0] - part.width) // 2, size[1] // 2 - y - part.height // 2))
    return image


def asked(question: AskedDisplay, language: str, size: tuple[int, int], letter: int) -> Image.Image:
    """Return a display with its question, and everything around it to answer with, as the window
    shows it before the first press."""
    image = Image.new("RGB", size, BACKGROUND)
    canvas = round(size[1] * _CANVAS) // 2 * 2
    image.paste(picture(safe(question.stimulus.scene()), canvas), ((size[0] - canvas) // 2, (size[1] - canvas) // 2))
    view = SurfaceView(
        SimpleNamespace(size=size),
        PastedPictures(image),  # type: ignore[arg-type]
        canvas,
        letter_beside(letter, size[1], canvas),
    )
    view.language = language
    view.draw(AnswerSheet(question.ask, 0.0), 1, (-size[0], -size[1]), 0.0)
    return image


def write(name: str, language: str, sizes: tuple[tuple[int, int], ...], out: Path) -> int:
    """Draw the pages of a paradigm in a language; returns how many pictures there are."""
    count = 0
    pages = pages_of(name, language)
    for size in sizes:
        folder = out / name / language / f"{size[0]}x{size[1]}"
        folder.mkdir(parents=True, exist_ok=True)
        letter, number = max(14, round(size[1] / _LINES)), 0
        for title, page in pages:
            pictures = (
                [asked(page, language, size, letter)]
                if isinstance(page, AskedDisplay)
                else [drawn(sheet, size) for sheet in lay_out(page, language, size, letter, safe)]
            )
            for image in pictures:
                number += 1
                image.save(folder / f"{number:02}-{re.sub(r'[^A-Za-z0-9]+', '-', title).strip('-').lower()}.png")
        count += number
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--paradigm", action="append")
    parser.add_argument("--language", action="append")
    parser.add_argument("--size", action="append", type=lambda text: tuple(map(int, text.split("x"))))
    given = parser.parse_args()
    names = given.paradigm or list_paradigms()
    for name in names:
        for language in given.language or sorted(load_paradigm(name).instructions):
            print(f"{name} {language}: {write(name, language, tuple(given.size or SIZES), given.out)} pictures")


if __name__ == "__main__":
    main()
