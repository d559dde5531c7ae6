"""Pages of text between trials: instructions, breaks, thanks; and the pause that Escape brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PIL import Image

from ...paradigms.example import ExampleDisplay
from ...stimuli.fonts import wrap
from .answering import Press
from .errors import Abandoned
from .lettering import ACCENT, MUTED, Block, line_height, pill, set_text
from .room import Room
from .words import word

#: Seconds for which a page stays at least, so that the press that ended the step before does not end it too.
LEAST = 0.3
#: Width of a column of text, in letters' heights.
_COLUMN = 34


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Parameters
    ----------
    text : paragraphs, separated by empty lines; a line that begins with ``# `` is a heading
    title : above the text
    footer : how to go on
    example : displays of a trial, pictured below the text
    after : paragraphs below the example
    progress : how much of the session is done (0 to 1), as a bar below the text
    least : seconds for which the last page stays at least
    """

    text: str
    title: str = ""
    footer: str = ""
    example: tuple[ExampleDisplay, ...] = ()
    after: str = ""
    progress: float | None = None
    least: float = 0.0


def blocks(page: Page, letter: int) -> list[Block]:
    """A page as blocks of text."""
    found = [Block(page.title, round(letter * 1.7), weight="semibold", after=letter)] if page.title else []
    for paragraph in [*page.text.split("\n\n"), *page.after.split("\n\n")]:
        for line in paragraph.strip().split("\n"):
            if line.startswith("# "):
                found.append(Block(line[2:].strip(), round(letter * 1.15), weight="semibold", after=round(letter * 0.2)))
            elif line.strip():
                found.append(Block(line.strip(), round(letter * 1.15), after=round(letter * 0.8)))
    return found


def paginate(found: Sequence[Block], room: int, height: int) -> list[list[Block]]:
    """Distribute blocks over pages no higher than ``height`` pixels; a block that is higher alone is broken between lines, and headings stay with what
    follows."""

    def lines_of(block: Block) -> list[str]:
        return wrap(block.text, block.size, room, block.weight)

    def height_of(block: Block) -> int:
        return len(lines_of(block)) * line_height(block.size) + block.after

    pages: list[list[Block]] = [[]]
    for block in found:
        if pages[-1] and sum(map(height_of, pages[-1])) + height_of(block) > height:
            with_it = [pages[-1].pop()] if len(pages[-1]) > 1 and pages[-1][-1].weight == "semibold" else []
            pages.append(with_it)
        used = sum(map(height_of, pages[-1]))
        while used + height_of(block) > height:
            lines, fits = lines_of(block), max(1, (height - used) // line_height(block.size))
            pages[-1].append(replace(block, text=" ".join(lines[:fits]), after=0))
            pages.append([])
            block, used = replace(block, text=" ".join(lines[fits:])), 0
        pages[-1].append(block)
    return [page for page in pages if page] or [[]]


def show(room: Room, page: Page, language: str, seconds: float | None = None) -> None:
    """Show a text, on as many pages as it needs, until the participant goes on (space bar or click; left arrow for the page before).

    Parameters
    ----------
    seconds : show it for this long instead, without waiting for a press

    Raises
    ------
    Abandoned
        when the participant presses Escape and leaves.
    """
    width, height = room.window.size
    letter = room.letter_px
    column = min(width - 6 * letter, _COLUMN * letter)
    sheets = paginate(blocks(page, letter), column, round(height * 0.72))
    number = 0
    while number < len(sheets):
        last = number == len(sheets) - 1
        footer = "" if seconds is not None else page.footer or word("go_on", language) if last else word("next", language)
        picture = set_text(tuple(sheets[number]), column, align="left" if sum(len(block.text) for block in sheets[number]) > 120 else "centre")
        end = _wait(room, language, picture, footer, back=number > 0, seconds=seconds)
        number += -1 if end == "back" else 1
    (room.forget if seconds is None else room.set_aside)()


def _wait(room: Room, language: str, text: Image.Image, footer: str, back: bool, seconds: float | None) -> str:
    """One page on the screen; ``on`` or ``back``."""
    drawn = [(room.pictures.once(text), 0, round(room.letter_px * 1.2))]
    if footer:
        below = set_text((Block(footer, room.letter_px, MUTED),), room.window.size[0] - 2 * room.letter_px)
        drawn.append((room.pictures.once(below), 0, -room.window.size[1] // 2 + 3 * room.letter_px))

    def draw() -> None:
        for picture, x, y in drawn:
            room.pictures.draw(picture, x, y)

    def decide(press: Press) -> str:
        if seconds is not None:
            return ""
        if back and press.device == "key" and press.key in ("left", "backspace"):
            return "back"
        return "on" if press.device == "click" or press.key in ("space", "return", "right") else ""

    return _until(room, language, draw, decide, seconds)


def _until(room: Room, language: str, draw: Callable[[], None], decide: Callable[[Press], str], seconds: float | None = None, may_pause: bool = True) -> str:
    """Keep something on the screen until a press decides, or for some time."""
    (room.forget if seconds is None else room.set_aside)()
    room.pointer(False)
    onset = room.replace(None, draw)
    if seconds is None:
        room.tell("page", onset)
    while seconds is None or room.window.grid.due - onset < seconds - room.window.grid.period / 2:
        room.guard(0.003)
        for press in room.take():
            if seconds is not None:
                room.aside.append(press)
            if press.time - onset < LEAST:
                continue
            if may_pause and press.device == "key" and press.key == "escape":
                pause(room, language)
                room.replace(None, draw)
                room.tell("page", room.window.now())
                continue
            decision = decide(press)
            if decision:
                return decision
        room.ready(draw, id(draw))
        room.again()
    return "on"


def pause(room: Room, language: str) -> None:
    """Ask whether to go on or to leave.

    Raises
    ------
    Abandoned
        when the participant leaves.
    """
    letter = room.letter_px
    text = set_text(
        (
            Block(word("pause", language), round(letter * 1.7), weight="semibold", after=letter),
            Block(word("pause_more", language), round(letter * 1.15)),
        ),
        _COLUMN * letter,
    )
    go_on = pill(word("continue", language), round(letter * 1.1), ACCENT, (255, 255, 255), ACCENT)
    leave = pill(word("leave", language), round(letter * 1.1), (214, 214, 214), MUTED, MUTED)
    gap = round(0.8 * letter)
    left = -(go_on.width + gap + leave.width) // 2
    row = -round(text.height / 2 + 0.4 * letter)
    drawn = [
        (room.pictures.once(text), 0, round(2 * letter)),
        (room.pictures.once(go_on), left + go_on.width // 2, row),
        (room.pictures.once(leave), left + go_on.width + gap + leave.width // 2, row),
    ]

    def draw() -> None:
        for picture, x, y in drawn:
            room.pictures.draw(picture, x, y)

    def decide(press: Press) -> str:
        if press.device == "key":
            return {"space": "on", "l": "leave"}.get(press.key, "")
        x, y = room.surface.to_pixels(press.x, press.y)
        for (picture, middle_x, middle_y), what in zip(drawn[1:], ("on", "leave"), strict=True):
            if abs(x - middle_x) <= picture.size[0] / 2 and abs(y - middle_y) <= picture.size[1] / 2:
                return what
        return ""

    def shown() -> None:
        room.pointer(True)
        draw()

    if _until(room, language, shown, decide, may_pause=False) == "leave":
        raise Abandoned()
