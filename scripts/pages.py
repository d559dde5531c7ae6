"""Draws every page that people read around trials, and every display with a question, as pictures to be read by somebody who does not know the task.

    python scripts/pages.py OUT                          all paradigms and languages, at three sizes
    python scripts/pages.py OUT --paradigm corsi --language de --size 1280x1024

Pictures are called OUT/PARADIGM/LANGUAGE/SIZE/NUMBER-PAGE.png, in the order in which they come. A participant who guesses takes practice and one trial.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image
from typing_extensions import override

from spanlab.agents.base import PageContent, Response, TrialContext, WindowAgent, WindowEpisode
from spanlab.agents.human.display.lettering import TextBlock, set_text
from spanlab.agents.human.display.theme import STANDARD
from spanlab.agents.human.pages.pictured import Strip
from spanlab.agents.human.pages.sheets import PageSheet, lay_out
from spanlab.core.agent_kinds import PARTICIPANT, AgentKind
from spanlab.paradigms import AnswerKeys, Percept, Truth, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.preview.example import ExampleDisplay
from spanlab.sessions import Request, Runner, begin

SIZES = ((1280, 1024), (1920, 1080), (1024, 768))
#: Letters are as high as those of the window: half a degree at 57 cm on a screen of 53 cm.
_LINES = 48


class Reader(WindowAgent):
    """A participant who guesses, and keeps the pages and questions that came."""

    kind: ClassVar[AgentKind] = PARTICIPANT

    def __init__(self, language: str) -> None:
        self.name = "participant"
        self.language = language
        self.pages: list[tuple[str, PageContent]] = []
        self.random = np.random.RandomState(3)
        self.keys = AnswerKeys()

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
    """A trial of a participant who guesses; each question is kept once, with its words and the way to answer."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if percept.ask is None:
            return None
        reader, ask = self._reader, percept.ask
        prompt = "" if ask.prompt is None else ask.prompt.text_in(reader.language)
        kind = ask.kind.with_keys(reader.keys)
        display = ExampleDisplay(percept.displays[0].stimulus, kind)
        page = PageContent(prompt, f"[{percept.phase}]", " ", (display,), kind.legend("participant", reader.language))
        if all(page != kept for _, kept in reader.pages):
            reader.pages.append((f"question-{percept.phase}", page))
        return Response(ask.kind.guess(reader.random), 500.0)


def pages_of(name: str, language: str) -> list[tuple[str, PageContent]]:
    """Return the pages of a session with one trial, each with a name."""
    paradigm, reader = load_paradigm(name), Reader(language)
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_session(paradigm, 1, SessionDesign(), trials=1)
        session = begin(Path(folder), paradigm, reader, plan, Request(seed=1, language=language, participant="reader", practice=paradigm.practice is not None))
        reader.keys = session.answer_keys
        Runner(session, reader).run()
    return reader.pages


def drawn(sheet: PageSheet, size: tuple[int, int]) -> Image.Image:
    """Return a sheet as the window shows it."""
    image = Image.new("RGB", size, STANDARD.background)
    for picture, y in ((sheet.body, sheet.y), (sheet.footer, sheet.footer_y)):
        if picture is not None:
            image.paste(picture, ((size[0] - picture.width) // 2, size[1] // 2 - y - picture.height // 2))
    return image


def asked(page: PageContent, language: str, size: tuple[int, int], letter: int) -> Image.Image:
    """Return a display with its question above it and the way to answer below it."""
    image = Image.new("RGB", size, STANDARD.background)
    room = size[0] - 4 * letter
    words = set_text((TextBlock(page.text or page.title, round(1.1 * letter), weight="semibold"),), room)
    legend = set_text((TextBlock(page.after, letter, STANDARD.muted),), room)
    strip = Strip.within(page.example, (size[0], round(size[1] * 0.7)), letter * 4)
    canvas = None if strip is None else strip.draw(page.example, language)
    height = words.height + legend.height + (canvas.height if canvas is not None else 0)
    top = (size[1] - height) // 2
    for picture in filter(None, (words, canvas, legend)):
        image.paste(picture, ((size[0] - picture.width) // 2, top))
        top += picture.height
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
                if title.startswith("question-")
                else [drawn(sheet, size) for sheet in lay_out(page, language, size, letter)]
            )
            for picture in pictures:
                number += 1
                picture.save(folder / f"{number:02}-{re.sub(r'[^A-Za-z0-9]+', '-', title).strip('-').lower()}.png")
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
