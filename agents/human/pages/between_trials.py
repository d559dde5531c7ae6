"""Pages of text between trials: instructions, breaks, thanks; and the pause that Escape brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....core.locale import sentence
from ....paradigms.responses.keys import is_button
from ...interruptions import Abandoned
from ...window import Option, PageContent
from ..display.colours import ACCENT, BACKGROUND, MUTED, ON_ACCENT
from ..display.lettering import TextBlock, pill, set_text
from ..input.answering import Press
from ..stage import Stage
from .sheets import COLUMN, PageSheet, lay_out, page_letter

#: Seconds for which a page stays at least, so that the press that ended the step before does not
#: end it too.
LEAST = 0.3


def show(
    room: Stage,
    page: PageContent,
    language: str,
    seconds: float | None = None,
    meanwhile: Callable[[], object] | None = None,
    clicks: bool = True,
) -> str:
    """Show a text, on as many pages as it needs, until the participant goes on (space bar or click;
    left arrow for the page before).

    A page with options ends with one of them, and with nothing else.

    Parameters
    ----------
    seconds : show it for this long instead, without waiting for a press
    meanwhile : done while it is shown, within these seconds
    clicks : whether a click on a button chooses its option, as its key does

    Returns
    -------
    the name of the option that was chosen; empty for a page without options

    Raises
    ------
    Abandoned
        when the participant presses Escape and leaves.
    """
    empty = not (page.title or page.text)
    sheets = lay_out(page, language, room.window.size, room.letter_px, room.renderer.look, footers=seconds is None)
    number, end = 0, ""
    while number < len(sheets):
        last = number == len(sheets) - 1
        least = page.least if last else 0.0
        options = page.options if last else ()
        end = _wait(
            room,
            language,
            sheets[number],
            options,
            clicks,
            back=number > 0,
            seconds=seconds,
            least=least,
            empty=empty,
            meanwhile=meanwhile,
        )
        number += -1 if end == "back" else 1
    if seconds is None:
        room.presses.note_aside()
        room.presses.forget()
    else:
        room.presses.set_aside()
    return end if page.options else ""


def _wait(
    room: Stage,
    language: str,
    sheet: PageSheet,
    options: Sequence[Option],
    clicks: bool,
    back: bool,
    seconds: float | None,
    least: float,
    empty: bool,
    meanwhile: Callable[[], object] | None,
) -> str:
    """One sheet on the screen; ``on``, ``back`` or the name of an option. How to go on is said when
    one can."""
    body = None if empty else room.pictures.once(sheet.body)
    footer = None if sheet.footer is None else room.pictures.once(sheet.footer)
    waits = [least > LEAST]

    def draw() -> None:
        room.pointer(bool(options) and clicks)
        if body is not None:
            room.pictures.draw(body, 0, sheet.y)
        if footer is not None and not waits[0]:
            room.pictures.draw(footer, 0, sheet.footer_y)

    if waits[0]:
        _until(room, language, draw, lambda press: "", least)
        waits[0] = False

    def decide(press: Press) -> str:
        if seconds is not None:
            return ""
        if back and press.device == "key" and press.key in ("left", "backspace"):
            return "back"
        if options:
            if press.device == "key":
                return next((option.name for option in options if option.key == press.key), "")
            x, y = room.surface.to_pixels(press.x, press.y)
            hits = (
                option.name
                for option, (x0, y0, x1, y1) in zip(options, sheet.buttons, strict=True)
                if x0 <= x <= x1 and y0 <= y <= y1
            )
            return next(hits, "") if clicks else ""
        return (
            "on" if press.device == "click" or press.key in ("space", "return", "right") or is_button(press.key) else ""
        )

    return _until(room, language, draw, decide, seconds, meanwhile=meanwhile, waits="choice" if options else "page")


def _until(
    room: Stage,
    language: str,
    draw: Callable[[], None],
    decide: Callable[[Press], str],
    seconds: float | None = None,
    may_pause: bool = True,
    meanwhile: Callable[[], object] | None = None,
    waits: str = "page",
) -> str:
    """Keep something on the screen until a press decides, or for some time.

    Escape counts whenever it is pressed, also between what was there before and this: it ends
    nothing by itself, and who has pressed it once waits.
    """

    def offer_pause() -> None:
        pause(room, language)
        at = room.replace(None, draw)
        if seconds is None:
            room.tell(waits, at)

    stopped = may_pause and any(press.escapes for press in room.presses.set_aside())
    room.pointer(False)
    onset = room.replace(None, draw)
    if seconds is None:
        room.tell(waits, onset)
    if meanwhile is not None:
        room.rested = onset
        meanwhile()
    if stopped:
        offer_pause()
    while seconds is None or room.window.grid.due - onset < seconds - room.window.grid.period / 2:
        room.guard(0.003)
        for press in room.presses.take():
            if seconds is not None:
                room.presses.aside.append(press)
            if may_pause and press.escapes:
                offer_pause()
                continue
            if press.time - onset < LEAST or not press.meant:
                if seconds is None:
                    room.presses.aside.append(press)
                continue
            decision = decide(press)
            if decision:
                room.presses.ended_by = press
                return decision
            if seconds is None:
                room.presses.aside.append(press)
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
    letter = page_letter(room.letter_px, room.window.size)
    text = set_text(
        (
            TextBlock(sentence("window.pause", language), round(letter * 1.7), weight="semibold", after=letter),
            *(
                (TextBlock(sentence("window.pause_replaces", language), round(letter * 1.15), after=letter),)
                if replaces
                else ()
            ),
            TextBlock(sentence("window.pause_more", language), round(letter * 1.15)),
        ),
        min(room.window.size[0] - 3 * letter, COLUMN * letter),
    )
    go_on = pill(
        sentence("window.continue", language),
        round(letter * 1.1),
        ACCENT,
        ON_ACCENT,
        ACCENT,
    )
    leave = pill(
        sentence("window.leave", language),
        round(letter * 1.1),
        BACKGROUND,
        MUTED,
        MUTED,
    )
    gap = round(0.8 * letter)
    left = -(go_on.width + gap + leave.width) // 2
    row = -round(text.height / 2 + 0.4 * letter)
    drawn = [
        (room.pictures.once(text), 0, round(2 * letter)),
        (room.pictures.once(go_on), left + go_on.width // 2, row),
        (room.pictures.once(leave), left + go_on.width + gap + leave.width // 2, row),
    ]

    def draw() -> None:
        room.pointer(True)
        for picture, x, y in drawn:
            room.pictures.draw(picture, x, y)

    def decide(press: Press) -> str:
        if press.device == "key":
            return "on" if is_button(press.key) else {"space": "on", "l": "leave"}.get(press.key, "")
        x, y = room.surface.to_pixels(press.x, press.y)
        for (picture, middle_x, middle_y), what in zip(drawn[1:], ("on", "leave"), strict=True):
            if abs(x - middle_x) <= picture.size[0] / 2 and abs(y - middle_y) <= picture.size[1] / 2:
                return what
        return ""

    if _until(room, language, draw, decide, may_pause=False) == "leave":
        raise Abandoned()
