"""Surroundings of the canvas, and what lies on it while a question is open: legend, marks, the done
button, acknowledgement. None of it is part of the stimulus."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from PIL import Image, ImageDraw

from ....core.locale import sentence
from ....paradigms import Dial, Ordered, Prompt, Region, ResponseKind, Surface
from ....paradigms.preview.dial_marks import mark_picture, mark_place
from ....paradigms.responses.keys import key_label
from ....stimuli.scene import BACKGROUND, CANVAS, Colour
from ..input.answering import DONE, UNDO, UNKNOWN, AnswerSheet, Button, hit
from .colours import ACCENT, ACCENT_STRONG, MUTED, ON_ACCENT, PALE
from .lettering import PictureStore, TextBlock, pill, set_text
from .pad import grid_picture, keys_picture, line_picture, number_picture, numbers_of
from .writing import WritingBox

#: How long a single press is acknowledged, in seconds.
ACKNOWLEDGE = 0.15
#: Free space above and below the buttons, in letters' heights: two lines of a legend have room
#: below them in every window.
_BEFORE_BUTTON, _AFTER_BUTTON = 0.6, 0.35
#: The buttons beside the done button, where values are given in order; and the largest number that
#: this one says to be missing.
_SIDES: tuple[Button, ...] = (UNDO, UNKNOWN)
_MOST = 88
#: Marks on the canvas.
_MARK, _STRONG, _GRID = ACCENT, ACCENT_STRONG, (150, 154, 160)


class SurfaceView:
    """Draws the answering surface of questions, and knows where its parts are.

    Parameters
    ----------
    win : the PsychoPy window
    pictures : where pictures are kept
    canvas_px : width and height of the canvas
    letter_px : height of letters
    """

    def __init__(self, win: Any, pictures: PictureStore, canvas_px: int, letter_px: int) -> None:
        self._pictures = pictures
        self.canvas_px = canvas_px
        self.letter_px = letter_px
        self._width = int(win.size[0])
        self.language = "en"
        self._win = win
        #: whether the question on the screen is answered with a text that is written freely
        self._asks_text = False
        self._box: tuple[Hashable, WritingBox] | None = None
        #: the line of what was given, as it was drawn last
        self._given_line: tuple[Hashable, Any] | None = None

    # -- places ------------------------------------------------------------------------------------

    def to_canvas(self, x: float, y: float) -> tuple[float, float]:
        """Pixels from the middle of the window (y up) to canvas units (y down)."""
        return CANVAS * (x / self.canvas_px + 0.5), CANVAS * (0.5 - y / self.canvas_px)

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Canvas units to pixels from the middle of the window (y up)."""
        return self.canvas_px * (x / CANVAS - 0.5), self.canvas_px * (0.5 - y / CANVAS)

    @property
    def _below(self) -> float:
        """The upper end of the space below the canvas."""
        return -self.canvas_px / 2 - _BEFORE_BUTTON * self.letter_px

    def _button_middle(self, button: Any) -> tuple[float, float]:
        return 0.0, self._below - float(button.size[1]) / 2

    def button_at(self, x: float, y: float) -> Button:
        """Return which button below the canvas is at a place (pixels)."""
        if _on(self._button("enabled"), self.done_middle(), x, y):
            return DONE
        for button in _SIDES:
            if _on(self._beside(button), self.beside_middle(button), x, y):
                return button
        return ""

    def beside_middle(self, button: Button) -> tuple[float, float]:
        """The middle of a button beside the done button, in pixels from the middle of the window."""
        # the done button is widest where it says how much is missing
        widest = max(float(self._button("disabled", _MOST, "enter").size[0]), float(self._button("enabled").size[0]))
        x = widest / 2 + 0.6 * self.letter_px + float(self._beside(button).size[0]) / 2
        return (-x if button == UNDO else x), self.done_middle()[1]

    def done_middle(self) -> tuple[float, float]:
        """The middle of the done button, in pixels from the middle of the window."""
        return self._button_middle(self._button("enabled"))

    # -- writing -----------------------------------------------------------------------------------

    def write_in(self, sheet: AnswerSheet | None) -> None:
        """Have what is typed written in the answer to a question; None: in none."""
        if self._box is not None:
            self._box[1].listens = False
        if sheet is None or not sheet.written or sheet.complete or sheet.surface.ordered is None:
            return
        box = self._writing_box(sheet.surface.ordered)
        if sheet.writing is not box:
            box.begin()
            box.most, sheet.writing = sheet.surface.ordered.most, box
        box.listens = True

    def _writing_box(self, ordered: Ordered) -> WritingBox:
        """The box of a question; there is one at a time."""
        if self._box is None or self._box[0] != ordered.line:
            assert ordered.line is not None
            middle, size = self._between(ordered.line)
            self._box = ordered.line, WritingBox(self._win, middle, size, self.letter_px, ordered.most)
        return self._box[1]

    def _between(self, area: tuple[float, float, float, float]) -> tuple[tuple[float, float], tuple[int, int]]:
        """Middle and even size of an area of the canvas, in pixels."""
        (x0, y0), (x1, y1) = self.to_pixels(area[0], area[1]), self.to_pixels(area[2], area[3])
        return ((x0 + x1) / 2, (y0 + y1) / 2), (2 * round((x1 - x0) / 2), 2 * round((y0 - y1) / 2))

    # -- pictures ----------------------------------------------------------------------------------

    def prepare(
        self, kinds: Iterable[ResponseKind], language: str, prompts: Iterable[Prompt] = (), buttons: bool = False
    ) -> None:
        """Draw and upload everything that questions of these kinds will need, with what they ask in
        words.

        Parameters
        ----------
        buttons : whether answers that keys alone give have buttons (:meth:`with_buttons`)
        """
        self.language = language
        self._hint()
        for prompt in prompts:
            self._prompt(prompt)
        for kind in kinds:
            self._legend(kind, "first")
            surface = kind.surface()
            if buttons and (shown := self.with_buttons(kind)) is not None:
                for region in shown.regions:
                    self._answer_button(kind, region.value, under=True)
            if surface.several:
                for state in ("disabled", "enabled", "under"):
                    self._button(state)
                enter = "enter" if surface.ordered is not None else "mark"
                for marked in range((surface.take or len(surface.regions)) + 1):
                    if surface.take is None and surface.ordered is None:
                        self._said("marked_any", marked, weight="semibold")
                    elif surface.take is not None and marked:
                        self._button("disabled", marked, enter)
                if surface.ordered is not None:
                    self._prepare_order(surface)
            else:
                for number in range(2, 13):
                    self._said("which", number, weight="semibold")
                if surface.dial is not None:
                    self._dial_mark(surface.dial, answered=False)
                    self._dial_mark(surface.dial, answered=True)
                elif not surface.regions:
                    for value in dict.fromkeys(value for _, value in surface.keys):
                        self._given(kind, value)
            if surface.outlined:
                self._grid(surface)
            if surface.scale is not None:
                self._keys(surface)

    def _prepare_order(self, surface: Surface) -> None:
        if surface.ordered is not None and surface.ordered.written:
            self._writing_box(surface.ordered)
        for button in _SIDES:
            for under in (False, True):
                self._beside(button, under)
        if surface.ordered is not None and surface.ordered.labels:
            self._keys(surface)

    def _keys(self, surface: Surface) -> Any:
        return self._pictures.put(
            ("keys", surface.regions, surface.ordered, surface.scale), lambda: keys_picture(surface, self.canvas_px)
        )

    def _text(self, key: Any, text: str, scale: float = 1.0, **style: Any) -> Any:
        room = min(self._width - 4 * self.letter_px, max(2 * self.canvas_px, 34 * self.letter_px))
        block = TextBlock(text, round(self.letter_px * scale), **style)
        return self._pictures.put((key, self.language), lambda: set_text((block,), room))

    def _legend(self, kind: ResponseKind, counts: Literal["first", "last"]) -> Any:
        """How to answer, and whether an answer can be changed."""
        text = f"{kind.legend('participant', self.language)} {kind.finality(counts, self.language)}".rstrip()
        return self._text(("legend", text), text, colour=MUTED)

    def _said(self, name: str, n: int = 0, **style: Any) -> Any:
        """A sentence of the window, with a number."""
        return self._text((name, n), sentence(f"window.{name}", self.language, n=n), **style)

    def _hint(self) -> Any:
        return self._said("go_on", colour=MUTED)

    def _prompt(self, prompt: Prompt) -> Any:
        text = prompt.text_in(self.language)
        return self._text(("prompt", text), text, 1.1, weight="semibold")

    def _given(self, kind: ResponseKind, value: int | str) -> Any:
        text = kind.label(value)
        return self._pictures.put(
            ("given", text),
            lambda: pill(text, self.letter_px, BACKGROUND, ACCENT_STRONG, ACCENT),
        )

    def _beside(self, button: Button, under: bool = False) -> Any:
        """A button beside the done button."""
        name = "nothing" if button == UNKNOWN and self._asks_text else button
        text = sentence(f"window.{name}", self.language)
        edge, ink = (ACCENT_STRONG, ACCENT_STRONG) if under else (ACCENT, ACCENT)
        return self._pictures.put((button, under, text), lambda: pill(text, self.letter_px, BACKGROUND, ink, edge))

    def _button(self, state: str, missing: int = 0, more: str = "mark") -> Any:
        """The done button; while items are ``missing``, it says how many to mark (or to enter)."""
        fill, ink, edge = {
            "disabled": (BACKGROUND, MUTED, PALE),
            "enabled": (ACCENT, ON_ACCENT, ACCENT),
            "under": (ACCENT_STRONG, ON_ACCENT, ACCENT_STRONG),
        }[state]
        key = {0: "done", 1: f"{more}_one"}.get(missing, f"{more}_more")
        text = sentence(f"window.{key}", self.language, n=missing)
        return self._pictures.put(("done", state, text), lambda: pill(text, self.letter_px, fill, ink, edge))

    def _dial_mark(self, dial: Dial, answered: bool) -> Any:
        """The mark of a value on a dial; in another colour once it was given as the answer."""
        colours = (ACCENT,) if answered else ()
        return self._pictures.put(
            ("dial", dial.mark, answered),
            lambda: mark_picture(dial.mark, self.canvas_px / CANVAS, *colours),
            smooth=True,
        )

    def _grid(self, surface: Surface) -> Any:
        """Thin outlines of all regions, see-through elsewhere: on the empty canvas, or on the part
        of a stimulus where one clicks."""
        regions, colour = surface.regions, (*_GRID, 130) if surface.several else (255, 255, 255, 230)
        return self._pictures.put(("grid", regions, colour), lambda: grid_picture(regions, self.canvas_px, colour))

    def with_buttons(self, kind: ResponseKind) -> Surface | None:
        """Return the surface of a question that keys alone answer, with a button below the canvas
        for each answer.

        None for other questions, and where the buttons have no room in two rows.
        """
        surface = kind.surface()
        if surface.clickable or surface.several:
            return None
        values = tuple(dict.fromkeys(value for _, value in surface.keys))
        sizes = [self._answer_button(kind, value).size for value in values]
        rows = in_rows([float(wide) for wide, _ in sizes], self._width - 4 * self.letter_px, 0.8 * self.letter_px)
        if not rows:
            return None
        high = max(float(height) for _, height in sizes)
        regions: list[Region] = []
        for number, row in enumerate(rows):
            top = self._below - number * (high + _AFTER_BUTTON * self.letter_px)
            for (left, right), value in zip(row, values[len(regions) :], strict=False):
                (x0, y0), (x1, y1) = self.to_canvas(left, top), self.to_canvas(right, top - high)
                regions.append(Region(value, x0, y0, x1, y1))
        return replace(surface, regions=tuple(regions))

    def _answer_button(self, kind: ResponseKind, value: int | str, under: bool = False) -> Any:
        """The button of an answer, with its key; filled while the pointer is on it, and when it was
        the answer."""
        label = kind.label(value)
        sign = key_label(next(key for key, stands_for in kind.surface().keys if stands_for == value), self.language)
        text = label if label.lower() == sign.lower() else f"{label}  ({sign.upper()})"
        fill, ink = (ACCENT_STRONG, ON_ACCENT) if under else (BACKGROUND, ACCENT_STRONG)
        return self._pictures.put(("answer", text, under), lambda: pill(text, self.letter_px, fill, ink, ACCENT))

    # -- drawing -----------------------------------------------------------------------------------

    def draw_hint(self) -> None:
        """Draw how to go on, for a display that waits without a question."""
        self._line(self._hint(), self._below)

    def state(self, sheet: AnswerSheet, pointer: tuple[float, float], now: float) -> Hashable:
        """Everything that changes what :meth:`draw` draws while a question is open."""
        under = (
            hit(sheet.surface.regions, *self.to_canvas(*pointer))
            if sheet.surface.dial is None
            else self._marked_value(sheet, sheet.surface.dial, pointer)
        )
        return (
            tuple(sheet.marks),
            sheet.complete,
            under,
            sheet.pointed or (self.button_at(*pointer) if sheet.surface.several else None),
            sheet.writing.state,
            not sheet.surface.several and sheet.seen_at(now, 2 * ACKNOWLEDGE),
        )

    def draw(self, sheet: AnswerSheet, number: int, pointer: tuple[float, float], now: float) -> None:
        """Everything that belongs to an open question.

        Parameters
        ----------
        number : of the question among the self-paced ones of its phase, from 1; 0 = none
        pointer : where the mouse is, in pixels from the middle of the window
        now : seconds on PsychoPy's clock
        """
        surface, self._asks_text = sheet.surface, sheet.written
        under = hit(surface.regions, *self.to_canvas(*pointer))
        top, chip = self._below, self.canvas_px / 2 + 0.4 * self.letter_px
        if sheet.ask.prompt is not None:
            prompt = self._prompt(sheet.ask.prompt)
            height = float(prompt.size[1])
            self._pictures.draw(prompt, 0, round(chip + height / 2))
            chip += height
        elif number > 1 and not surface.several:
            top = self._line(self._said("which", number, weight="semibold"), top)
        if surface.outlined:
            self._pictures.draw(self._grid(surface), 0, 0)
        if surface.scale is not None:
            self._pictures.draw(self._keys(surface), 0, 0)
        if surface.several:
            on = sheet.pointed or self.button_at(*pointer)
            missing, enter = max(0, (surface.take or 0) - len(sheet.marks)), "mark"
            if surface.ordered is None:
                self._draw_marks(sheet, surface, under)
            else:
                enter = "enter"
                self._draw_order(sheet, surface, surface.ordered, under, on)
            ready = "under" if on == DONE else "enabled"
            button = self._button(ready) if sheet.may_finish else self._button("disabled", missing, enter)
            self._pictures.draw(button, *self._button_middle(button))
            top -= float(button.size[1]) + _AFTER_BUTTON * self.letter_px
            if (
                surface.take is None and surface.ordered is None
            ):  # what is given in order is numbered where it is, or stands in its line
                top = self._line(self._said("marked_any", len(sheet.marks), weight="semibold"), top)
        elif surface.dial is not None:
            self._draw_dial(sheet, surface.dial, pointer, now)
        elif sheet.buttons:
            self._draw_buttons(sheet, surface, under, now)
            return
        else:
            self._draw_single(sheet, surface, under, now, chip)
        self._line(self._legend(sheet.ask.kind, sheet.ask.counts), top)

    def _draw_buttons(self, sheet: AnswerSheet, surface: Surface, under: Region | None, now: float) -> None:
        """Draw the buttons of the answers, which say their keys themselves."""
        filled = sheet.seen_at(now, 2 * ACKNOWLEDGE)
        if under is not None and not sheet.complete:
            filled = under.value
        for region in surface.regions:
            middle = self.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
            self._pictures.draw(self._answer_button(sheet.ask.kind, region.value, region.value == filled), *middle)

    def _line(self, text: Any, top: float) -> float:
        height = float(text.size[1])
        self._pictures.draw(text, 0, round(top - height / 2))
        return top - height - 0.15 * self.letter_px

    def _draw_marks(self, sheet: AnswerSheet, surface: Surface, under: Region | None) -> None:
        marked = set(sheet.marks)
        for region in surface.regions:
            if region.value in marked:
                self._outline(region, fill=_MARK, inset=0.16)
        if under is not None and (under.value in marked or not sheet.may_finish):
            self._outline(under, line=_STRONG, inset=0.05)

    def _draw_order(
        self, sheet: AnswerSheet, surface: Surface, ordered: Ordered, under: Region | None, on: Button
    ) -> None:
        """Draw the answer that was given in order: in its line, or as numbers at its places; and
        what it is given and taken back with."""
        for button in (UNKNOWN,) if ordered.written else _SIDES[: 1 + ordered.unknown]:
            self._pictures.draw(self._beside(button, on == button), *self.beside_middle(button))
        if ordered.labels:
            self._pictures.draw(self._keys(surface), 0, 0)
        if ordered.line is not None:
            self._draw_line(sheet, surface, ordered, ordered.line)
        else:
            for region in surface.regions:
                if numbers := numbers_of(sheet.marks, region):
                    self._outline(region, fill=_MARK, inset=0.1)
                    (x0, y0), (x1, y1) = self.to_pixels(region.x0, region.y0), self.to_pixels(region.x1, region.y1)
                    side = round(min(x1 - x0, y0 - y1))
                    number = self._pictures.put(
                        ("number", numbers, side), lambda numbers=numbers, side=side: number_picture(numbers, side)
                    )
                    self._pictures.draw(number, (x0 + x1) / 2, (y0 + y1) / 2)
        if under is not None and len(sheet.marks) < ordered.most and not sheet.complete:
            self._outline(under, line=_STRONG, inset=0.05)

    def _draw_line(
        self, sheet: AnswerSheet, surface: Surface, ordered: Ordered, line: tuple[float, float, float, float]
    ) -> None:
        middle, size = self._between(line)
        if ordered.written:
            self._outline(Region("", *line), line=MUTED, fill=(255, 255, 255))
            if isinstance(sheet.writing, WritingBox):
                sheet.writing.listens = not (sheet.pointed or sheet.complete)
                sheet.writing.draw()
            return
        state = (sheet.ask.kind, tuple(sheet.marks), size)
        if self._given_line is None or self._given_line[0] != state:
            labels = [None if mark is None else sheet.ask.kind.label(mark) for mark in sheet.marks]
            self._given_line = state, self._pictures.once(line_picture(ordered, surface.take, labels, size))
        self._pictures.draw(self._given_line[1], *middle)

    def _marked_value(self, sheet: AnswerSheet, dial: Dial, pointer: tuple[float, float]) -> int | None:
        """The value whose mark is to be seen: the answer; else where keys have moved the mark; else
        the one in the direction of the pointer."""
        if sheet.complete:
            value = sheet.marks[0]
            return value if isinstance(value, int) else None
        return dial.value_at(*self.to_canvas(*pointer)) if sheet.turned_to is None else dial.values[sheet.turned_to]

    def _draw_dial(self, sheet: AnswerSheet, dial: Dial, pointer: tuple[float, float], now: float) -> None:
        value = self._marked_value(sheet, dial, pointer)
        if value is None or (sheet.complete and sheet.seen_at(now, 2 * ACKNOWLEDGE) is None):
            return
        x, y, turned = mark_place(dial, value)
        self._pictures.draw(self._dial_mark(dial, sheet.complete), *self.to_pixels(x, y), turned=turned)

    def _draw_single(
        self, sheet: AnswerSheet, surface: Surface, under: Region | None, now: float, above: float
    ) -> None:
        """Draw the answer for a moment; a chip for what has no place of its own lies from ``above``
        (pixels) on."""
        given = sheet.seen_at(now, 2 * ACKNOWLEDGE)
        if given is not None:
            region = next((region for region in surface.regions if region.value == given), None)
            if region is not None:
                width = max(3.0, self.letter_px / 5)
                self._outline(region, line=(255, 255, 255), width=width + 4, inset=0.04)  # to be seen on any colour
                self._outline(region, line=_MARK, width=width, inset=0.04)
            else:
                chip = self._given(sheet.ask.kind, given)
                self._pictures.draw(chip, 0, round(above + 0.3 * self.letter_px + float(chip.size[1]) / 2))
        elif under is not None and not sheet.complete:
            self._outline(under, line=_MARK, width=1.5, inset=0.04)

    def _outline(
        self,
        region: Region,
        line: Colour | None = None,
        fill: Colour | None = None,
        width: float = 2.0,
        inset: float = 0.0,
    ) -> None:
        """A box on a region; ``inset`` is the margin as a part of the region's smaller side."""
        x0, y0 = self.to_pixels(region.x0, region.y0)
        x1, y1 = self.to_pixels(region.x1, region.y1)
        margin = inset * min(x1 - x0, y0 - y1)
        wide, high = (2 * max(2, round(side / 2 - margin)) for side in (x1 - x0, y0 - y1))
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        box = self._pictures.put(
            ("box", wide, high, line, fill, width, x, y), lambda: outlined(wide, high, line, fill, width)
        )
        self._pictures.draw(box, x, y)


def in_rows(widths: Sequence[float], room: float, gap: float) -> list[list[tuple[float, float]]]:
    """Distribute boxes over one centred row, or two of about as many; none where they have no room.

    Returns
    -------
    left and right end of each box, row by row, from the middle
    """
    half = -(-len(widths) // 2)
    for rows in ([widths], [widths[:half], widths[half:]]):
        ends = [[sum(row[: place + 1]) + gap * place for place in range(len(row))] for row in rows]
        if widths and max(row[-1] for row in ends) <= room:
            lefts = [
                [end - width - row[-1] / 2 for end, width in zip(row, of, strict=True)]
                for row, of in zip(ends, rows, strict=True)
            ]
            return [
                [(left, left + width) for left, width in zip(row, of, strict=True)]
                for row, of in zip(lefts, rows, strict=True)
            ]
    return []


def _on(picture: Any, middle: tuple[float, float], x: float, y: float) -> bool:
    """Return whether a place is on a picture that has its middle there."""
    return abs(x - middle[0]) <= float(picture.size[0]) / 2 and abs(y - middle[1]) <= float(picture.size[1]) / 2


@lru_cache(maxsize=64)
def outlined(wide: int, high: int, line: Colour | None, fill: Colour | None, width: float) -> Image.Image:
    """A box with slightly rounded corners, see-through where there is nothing; smooth."""
    fine = 4
    large = Image.new("RGBA", (wide * fine, high * fine), (*(line or fill or BACKGROUND), 0))
    edge, inside = line and (*line, 255), fill and (*fill, 255)
    ImageDraw.Draw(large).rounded_rectangle(
        (0, 0, wide * fine - 1, high * fine - 1), min(wide, high) * fine / 12, inside, edge, max(1, round(width * fine))
    )
    return large.reduce(fine)
