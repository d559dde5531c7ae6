"""Pages of text between trials: instructions, breaks, thanks; and the pause that Escape brings.

A page of text and pictures is first laid out for a window of any size, on as many sheets as it
takes, with nothing cut off; then its sheets are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from PIL import Image

from ....core.locale import sentence
from ....paradigms.responses.keys import is_button
from ....stimuli.render.fonts import rejoined, wrap
from ....stimuli.scene import Scene
from ...interruptions import Abandoned
from ...window import Option, PageContent
from ..display.colours import ACCENT, ACCENT_STRONG, BACKGROUND, MUTED
from ..display.lettering import TextBlock, line_height, pill, set_text
from ..input.answering import Press
from ..stage import Stage
from .pictured import Strip, fine, heading, progress_dots

#: Width of a column of text, in letters' heights.
COLUMN = 34
#: Width of a display, in letters' heights, from which on an example shares a sheet with the text;
#: and where answers are shown at small places.
_WELL_SEEN, _WELL_SEEN_FINE = 5.5, 14.0
#: And of somebody's own answers, below which there are several lines.
_OWN_SEEN = 9.0
#: Where that is too much for small places: from here on, alone on its sheet.
_ALONE = 7.5
#: And at least.
_SEEN = 3.0
#: Seconds for which a page stays at least, so that the press that ended the step before does not
#: end it too.
LEAST = 0.3


# -- laying pages out ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture between paragraphs, with space below it."""

    image: Image.Image
    after: int


Item = TextBlock | PagePicture


@dataclass(frozen=True, slots=True)
class PageSheet:
    """Content of one screen: a picture of the text with its middle ``y`` pixels above that of the
    window, and the same of the footer.

    ``buttons`` are the boxes of the page's options (x0, y0, x1, y1), in pixels from the middle of
    the window (y up).
    """

    body: Image.Image
    y: int
    footer: Image.Image | None
    footer_y: int
    buttons: tuple[tuple[int, int, int, int], ...] = ()


def page_letter(letter: int, window: tuple[int, int]) -> int:
    """The height of letters on pages: that of the window's other letters, where a page then still
    holds a few sentences."""
    return max(8, min(letter, window[0] // 38, window[1] // 26))


#: before a key in parentheses and around the sign between a key and its meaning, no line is broken
_TOGETHER = re.compile(r" (?=\(\S{1,3}\))| (?== )|(?<= =) ")
#: between items of a list, where a line is rather broken than within an item of at most so many
#: letters
_BETWEEN, _ITEM = " · ", 50


def blocks(text: str, letter: int) -> list[TextBlock]:
    """Paragraphs and headings as blocks of text."""
    items: list[TextBlock] = []
    text = _TOGETHER.sub("\u00a0", text)
    text = re.sub(rf"[^\n]*{_BETWEEN}[^\n]*", lambda line: "\u00a0· ".join(map(_whole, line[0].split(_BETWEEN))), text)
    for paragraph in text.split("\n\n"):
        for line in paragraph.strip().split("\n"):
            if line.startswith("# "):
                items.append(
                    TextBlock(line[2:].strip(), round(letter * 1.15), weight="semibold", after=round(letter * 0.2))
                )
            elif line.strip():
                items.append(TextBlock(line.strip(), round(letter * 1.15), after=round(letter * 0.8)))
    return items


def _whole(item: str) -> str:
    """An item of a list in which no line is broken, unless it is long: then only after what is
    before a colon, where there is one."""
    before, colon, after = ("", "", item) if len(item) <= _ITEM else item.rpartition(": ")
    return before + colon + (after.replace(" ", "\u00a0") if len(after) <= _ITEM else after)


def paginate(items: Sequence[Item], room: int, height: int) -> list[list[Item]]:
    """Distribute text and pictures over sheets no higher than ``height`` pixels; a block of text
    that is higher alone is broken between lines, and headings stay with what follows."""

    def height_of(item: Item) -> int:
        return _height(item, room)

    sheets: list[list[Item]] = [[]]
    for item in items:
        if sheets[-1] and isinstance(item, TextBlock) and item.anew:
            sheets.append([])
        if sheets[-1] and sum(map(height_of, sheets[-1])) + height_of(item) - item.after > height:
            last = sheets[-1][-1]
            heading = len(sheets[-1]) > 1 and isinstance(last, TextBlock) and last.weight == "semibold"
            sheets.append([sheets[-1].pop()] if heading else [])
        used = sum(map(height_of, sheets[-1]))
        while isinstance(item, TextBlock) and used + height_of(item) - item.after > height:
            lines, fits = _lines(item, room), max(1, (height - used) // line_height(item.size))
            if fits >= len(lines):
                break
            sheets[-1].append(replace(item, text=rejoined(lines[:fits]), after=0))
            sheets.append([])
            item, used = replace(item, text=rejoined(lines[fits:])), 0
        sheets[-1].append(item)
    return [sheet for sheet in sheets if sheet] or [[]]


def _height(item: Item, room: int) -> int:
    """Of an item and the space below it."""
    return (
        item.image.height if isinstance(item, PagePicture) else len(_lines(item, room)) * line_height(item.size)
    ) + item.after


def _lines(block: TextBlock, room: int) -> list[str]:
    return wrap(block.text, block.size, room, block.weight)


def lay_out(
    page: PageContent,
    language: str,
    window: tuple[int, int],
    letter: int,
    look: Callable[[Scene], Scene] = lambda scene: scene,
    footers: bool = True,
) -> list[PageSheet]:
    """The sheets of a page.

    Parameters
    ----------
    window : width and height in pixels
    letter : height of the window's letters
    look : what the window makes of a scene before it is drawn
    footers : whether it is said how to go on
    """
    letter = page_letter(letter, window)
    column = min(window[0] - 3 * letter, COLUMN * letter)
    onward = (
        sentence("window.next_first", language),
        sentence("window.next", language),
        page.footer or sentence("window.go_on", language),
    )
    below = onward if footers else ()
    feet = [set_text((TextBlock(foot, letter, MUTED),), window[0] - 2 * letter) for foot in below]
    boxes: list[tuple[int, int, int, int]] = []
    if page.options:
        feet[-1:], boxes = _buttons(page.options, window[0] - 2 * letter, letter)
    foot = max((image.height for image in feet), default=0)
    top, bottom = window[1] // 2 - 2 * letter, -window[1] // 2 + foot + (2 * letter if feet else letter)
    head: list[Item] = []
    if page.title:
        head.append(TextBlock(page.title, round(letter * 1.7), weight="semibold", after=round(letter * 0.4)))
    if page.progress is not None:
        head.append(PagePicture(progress_dots(page.progress, letter), round(letter * 0.8)))
    room = top - bottom - sum(_height(item, column) for item in head)
    contents = paginate(_items(page, language, (window[0] - 3 * letter, room), column, letter, look), column, room)
    sheets = []
    for number, sheet in enumerate(contents):
        body = _composed([*head, *sheet], column)
        last = number == len(contents) - 1
        place = -1 if last else min(number, 1)
        footer = feet[place] if feet else None
        y = top - -(-body.height // 2)  # the title is at the same place on every page
        low = -window[1] // 2 + letter + foot // 2
        sheets.append(
            PageSheet(
                body, y, footer, low, tuple((x0, low + y0, x1, low + y1) for x0, y0, x1, y1 in boxes) if last else ()
            )
        )
    return sheets


def _buttons(
    options: Sequence[Option], room: int, letter: int
) -> tuple[list[Image.Image], list[tuple[int, int, int, int]]]:
    """The options as buttons that look alike, side by side where there is room: a picture (the only
    one of a list), and their boxes from its middle (y up)."""
    pills = [pill(option.label, round(letter * 1.1), BACKGROUND, ACCENT_STRONG, ACCENT) for option in options]
    gap, high = 2 * letter, pills[0].height
    beside = sum(pill.width + gap for pill in pills) - gap <= room
    rows = [pills] if beside else [[pill] for pill in pills]
    wide = max(sum(pill.width + gap for pill in row) - gap for row in rows)
    stack = Image.new("RGB", (wide, len(rows) * (high + letter) - letter), BACKGROUND)
    boxes = []
    for number, row in enumerate(rows):
        left, top = (wide - sum(pill.width + gap for pill in row) + gap) // 2, number * (high + letter)
        for one in row:
            stack.paste(one, (left, top))
            boxes.append(
                (
                    left - wide // 2,
                    stack.height // 2 - top - high,
                    left - wide // 2 + one.width,
                    stack.height // 2 - top,
                )
            )
            left += one.width + gap
    return [stack], boxes


def _items(
    page: PageContent,
    language: str,
    room: tuple[int, int],
    column: int,
    letter: int,
    look: Callable[[Scene], Scene],
) -> list[Item]:
    items: list[Item] = [*blocks(page.text, letter)]
    after = blocks(page.after, letter)
    worked = after[: next((number for number, block in enumerate(after) if block.weight == "semibold"), len(after))]
    words, size = heading(page.example, language), round(letter * 1.15)
    above = TextBlock(words, size, weight="semibold", after=round(letter * 0.4), anew=bool(items))
    well_seen = _WELL_SEEN_FINE if fine(page.example) else _WELL_SEEN
    if any(not display.phase for display in page.example):
        well_seen = max(well_seen, _OWN_SEEN)
    # The picture is below the title, and what is below it on the same sheet where it is then large
    # enough.
    alone, shared = (([], well_seen), ([], _ALONE)), ((after, well_seen), (worked, well_seen))
    for below, smallest in (*shared, *alone, (worked, _SEEN), ([], _SEEN)):
        high = room[1] - sum(_height(item, column) for item in (above, *below)) - letter
        strip = Strip.within(page.example, (room[0], high), letter, smallest)
        if page.example and strip is not None:
            return [*items, above, PagePicture(strip.draw(page.example, language, look), round(letter * 0.6)), *after]
    return [*items, *after]


def _composed(items: Sequence[Item], column: int) -> Image.Image:
    """Text and pictures below one another, as one picture of even width and height, in which the
    column of text is in the middle."""
    parts: list[tuple[Image.Image, int, bool]] = []
    for is_text, run in groupby(items, lambda item: isinstance(item, TextBlock)):
        if is_text:
            texts = tuple(item for item in run if isinstance(item, TextBlock))
            parts.append((set_text(texts, column, "left"), texts[-1].after, True))
        else:
            parts += [(item.image, item.after, False) for item in run if isinstance(item, PagePicture)]
    widest = max(column, *(image.width for image, _, _ in parts), 2)
    height = sum(image.height + after for image, after, _ in parts) - (parts[-1][1] if parts else 0)
    sheet = Image.new("RGB", (widest + widest % 2, max(2, height + height % 2)), BACKGROUND)
    margin, top = (widest - column) // 2, 0
    for image, after, is_text in parts:
        sheet.paste(image, (margin if is_text else min(margin, (widest - image.width) // 2), top))
        top += image.height + after
    return sheet


# -- showing them ----------------------------------------------------------------------------------


def show(room: Stage, page: PageContent, language: str, clicks: bool = True) -> str:
    """Show a text, on as many pages as it needs, until the participant goes on (space bar or click;
    left arrow for the page before).

    A page with options ends with one of them, and with nothing else.

    Parameters
    ----------
    clicks : whether a click on a button chooses its option, as its key does

    Returns
    -------
    the name of the option that was chosen; empty for a page without options

    Raises
    ------
    Abandoned
        when the participant presses Escape and leaves.
    """
    sheets = lay_out(page, language, room.window.size, room.letter_px, room.renderer.look)
    number, end = 0, ""
    while number < len(sheets):
        last = number == len(sheets) - 1
        if last and page.least > LEAST:  # how to go on is said when one can
            _until(
                room, language, _drawing(room, sheets[number], footer=False), over=_after(room, page.least), waits=""
            )
        end = _wait(room, language, sheets[number], page.options if last else (), clicks, back=number > 0)
        number += -1 if end == "back" else 1
    room.presses.note_aside()
    room.presses.forget()
    return end if page.options else ""


def rest(room: Stage, language: str, seconds: float, meanwhile: Callable[[], object] | None = None) -> None:
    """An empty screen for some time, in which something is done ``meanwhile``.

    Raises
    ------
    Abandoned
        when the participant presses Escape and leaves.
    """
    _until(room, language, lambda: room.pointer(False), over=_after(room, seconds), meanwhile=meanwhile, waits="")
    room.presses.set_aside()


def show_until(room: Stage, page: PageContent, language: str, over: Callable[[], bool]) -> None:
    """Show a page until something is true that is no press.

    Raises
    ------
    Abandoned
        when the participant presses Escape and leaves.
    """
    sheet = lay_out(page, language, room.window.size, room.letter_px, room.renderer.look, footers=False)[0]
    _until(room, language, _drawing(room, sheet), over=lambda onset: over(), waits="pulse")
    room.presses.set_aside()


def _wait(room: Stage, language: str, sheet: PageSheet, options: Sequence[Option], clicks: bool, back: bool) -> str:
    """One sheet on the screen; ``on``, ``back`` or the name of an option."""

    def decide(press: Press) -> str:
        if back and press.device == "key" and press.key in ("left", "backspace"):
            return "back"
        if options:
            return _chosen(room, sheet, options, press) if clicks or press.device == "key" else ""
        return (
            "on" if press.device == "click" or press.key in ("space", "return", "right") or is_button(press.key) else ""
        )

    draw = _drawing(room, sheet, pointer=bool(options) and clicks)
    return _until(room, language, draw, decide, waits="choice" if options else "page")


def _drawing(room: Stage, sheet: PageSheet, pointer: bool = False, footer: bool = True) -> Callable[[], None]:
    """What draws a sheet."""
    parts = [(sheet.body, sheet.y)]
    if footer and sheet.footer is not None:
        parts.append((sheet.footer, sheet.footer_y))
    pictures = [(room.pictures.once(image), y) for image, y in parts]

    def draw() -> None:
        room.pointer(pointer)
        for picture, y in pictures:
            room.pictures.draw(picture, 0, y)

    return draw


def _chosen(room: Stage, sheet: PageSheet, options: Sequence[Option], press: Press) -> str:
    """The name of the option that a press chooses, by its key or with a click on its button."""
    if press.device == "key":
        return next((option.name for option in options if option.key == press.key), "")
    x, y = room.surface.to_pixels(press.x, press.y)
    boxes = zip(options, sheet.buttons, strict=True)
    return next((option.name for option, (x0, y0, x1, y1) in boxes if x0 <= x <= x1 and y0 <= y <= y1), "")


def _after(room: Stage, seconds: float) -> Callable[[float], bool]:
    """Whether a display that came at a moment (s) has had so many seconds with its next refresh."""
    return lambda onset: room.window.grid.due - onset >= seconds - room.window.grid.period / 2


def _until(
    room: Stage,
    language: str,
    draw: Callable[[], None],
    decide: Callable[[Press], str] = lambda press: "",
    over: Callable[[float], bool] = lambda onset: False,
    may_pause: bool = True,
    meanwhile: Callable[[], object] | None = None,
    waits: str = "page",
) -> str:
    """Keep something on the screen until a press decides, or until it is over.

    Escape counts whenever it is pressed, also between what was there before and this: it ends
    nothing by itself, and who has pressed it once waits.

    Parameters
    ----------
    over : asked before every refresh, with the moment (s) at which this came on
    waits : for what the window waits; empty where it goes on by itself
    """

    def offer_pause() -> None:
        nonlocal onset
        pause(room, language)
        onset = room.rested = room.replace(None, draw)  # its least time begins anew
        if waits:
            room.tell(waits, onset)

    stopped = may_pause and any(press.escapes for press in room.presses.set_aside())
    room.pointer(False)
    onset = room.replace(None, draw)
    if waits:
        room.tell(waits, onset)
    if meanwhile is not None:
        room.rested = onset
        meanwhile()
    if stopped:
        offer_pause()
    while not over(onset):
        room.guard(0.003)
        for press in room.presses.take():
            escapes = may_pause and press.escapes
            decision = decide(press) if press.meant and press.time - onset >= LEAST and not escapes else ""
            if decision:
                room.presses.ended_by = press
                return decision
            room.presses.aside.append(press)
            if escapes:
                offer_pause()
        room.ready(draw, id(draw))
        room.again()
    if may_pause and any(
        press.escapes for press in room.presses.set_aside()
    ):  # while the last refresh was waited for, or what was done meanwhile took longer
        offer_pause()
    return "on"


def pause(room: Stage, language: str, replaces: bool = False) -> None:
    """Ask whether to go on or to leave.

    Parameters
    ----------
    replaces : whether another trial takes the place of the one that was paused, which is then said

    Raises
    ------
    Abandoned
        when the participant leaves.
    """
    keys = {"continue": "space", "leave": "l"}
    options = tuple(Option(name, sentence(f"window.{name}", language), key) for name, key in keys.items())
    texts = ["pause_replaces", "pause_more"] if replaces else ["pause_more"]
    text = "\n\n".join(sentence(f"window.{name}", language) for name in texts)
    page = PageContent(text, sentence("window.pause", language), options=options)
    sheet = lay_out(page, language, room.window.size, room.letter_px)[-1]

    def decide(press: Press) -> str:
        return "continue" if is_button(press.key) else _chosen(room, sheet, options, press)

    if _until(room, language, _drawing(room, sheet, pointer=True), decide, may_pause=False) == "leave":
        raise Abandoned()
