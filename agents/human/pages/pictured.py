"""Pictures of a trial for the instructions: its displays side by side, with arrows from one to the
next, drawn at the size at which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw

from ....core.locale import FALLBACK, sentence
from ....paradigms import Answer, Region, ResponseKind
from ....paradigms.preview.dial_marks import paste_mark
from ....paradigms.preview.example import ExampleDisplay, OwnMark, WorkedQuestion, called, numbered
from ....paradigms.responses.base import items_of
from ....stimuli.render.fonts import face
from ....stimuli.render.pixels import picture
from ....stimuli.scene import CANVAS, Colour, Scene
from ..display.colours import ACCENT, BACKGROUND, MUTED, ON_ACCENT, PALE, TEXT
from ..display.lettering import fitting, pixels_of
from ..display.pad import draw_keys, grid_picture

#: Space between two displays, and width of a large display, in letters' heights; and of one on
#: which answers are shown at small places, or somebody's own marks.
_GAP, _LARGEST, _LARGEST_FINE = 2.4, 9.0, 18.0
#: A display may be so many times as wide as high.
_WIDER = 1.6
#: Places of answers are small up to so many canvas units: a mark then hides most of what is there.
_SMALL = 33
#: Canvas units around what is drawn, where only a part of the canvas is pictured.
_SPACE = 3
#: Canvas units between a frame and what it is around.
_AROUND = 4.5
#: In so many dots it is said how much is done.
DOTS = 10
#: From so many canvas units on the lines of a grid of cells are drawn.
_FINE = 4


@dataclass(frozen=True, slots=True)
class Strip:
    """Layout of the displays of an example: one row, or several where they are larger so.

    Parameters
    ----------
    many : how many displays there are
    columns : how many of them beside one another
    side : width and height of the whole canvas of each, in pixels
    letter : height of letters, in pixels
    left_out : whether a display is left out between two of them, which is said below all
    part : of the canvas that is pictured: left, upper, right and lower end, as shares
    lines : how many lines of words there are below each display
    """

    many: int
    columns: int
    side: int
    letter: int
    left_out: bool = False
    part: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    lines: tuple[int, ...] = (0,)

    @classmethod
    def within(
        cls, displays: Sequence[ExampleDisplay], room: tuple[int, int], letter: int, smallest: float = 3.0
    ) -> Strip | None:
        """The strip of the largest displays in a room; None when there is nothing to show, or no
        room for it.

        Parameters
        ----------
        room : width and height that there are, in pixels
        letter : height of letters
        smallest : width that a display needs at least, in letters' heights
        """
        small = fine(displays) or any(not display.phase for display in displays)
        part = _part(displays) if fine(displays) else (0.0, 0.0, 1.0, 1.0)
        wide, high = part[2] - part[0], part[3] - part[1]
        largest = (_LARGEST_FINE if small else _LARGEST) * letter / max(wide / _WIDER, high)
        lines = tuple(len(words) for words in _captions(displays, "en"))
        left_out = any(display.more for display in displays[:-1])
        pairs = any(display.caption == "before" for display in displays)  # which stay in one row

        def fitting(columns: int) -> Strip:
            strip = cls(len(displays), columns, 0, letter, left_out, part, lines)
            across, down = (room[0] - strip.width) / columns / wide, (room[1] - strip.height) / strip.rows / high
            return replace(strip, side=int(min(across, down, largest)))

        strip = max(
            (fitting(columns) for columns in range(1 + pairs, len(displays) + 1, 1 + pairs)),
            key=lambda strip: (strip.side, strip.columns),
            default=None,
        )
        if strip is None or strip.side < smallest * letter:
            return None
        columns = -(-strip.many // strip.rows)  # rows of about the same length
        return replace(strip, columns=columns + columns % (1 + pairs), side=strip.side // 2 * 2)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The part of the canvas that is pictured, in pixels."""
        x0, y0, x1, y1 = (round(end * self.side) for end in self.part)
        return x0, y0, x1, y1

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of each display, in pixels."""
        x0, y0, x1, y1 = self.box
        return x1 - x0, y1 - y0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return -(-self.many // self.columns)

    @property
    def gap(self) -> int:
        """Pixels between two displays."""
        return round(_GAP * self.letter)

    @property
    def caption(self) -> int:
        """Height of a line of words, in pixels."""
        return round(1.5 * self.letter)

    @property
    def width(self) -> int:
        """Of the picture, in pixels."""
        return self.columns * (self.size[0] + self.gap) - self.gap + 2

    @property
    def height(self) -> int:
        """Of the picture, in pixels."""
        return self._top(self.rows) + 1 + self.left_out * self.caption

    def _top(self, row: int) -> int:
        """The upper end of a row, below those before it with their words."""
        rows = (self.lines[one * self.columns : (one + 1) * self.columns] for one in range(row))
        return 1 + (sum(max(1, *lines) for lines in rows) * self.caption) + row * (self.size[1] + self.letter // 2)

    def draw(
        self,
        displays: Sequence[ExampleDisplay],
        language: str,
        look: Callable[[Scene], Scene] = lambda scene: scene,
    ) -> Image.Image:
        """Draw the displays.

        Parameters
        ----------
        look : what the window makes of a scene before it is drawn
        """
        (wide, high), caption = self.size, self.caption
        image = Image.new("RGB", (self.width, self.height), BACKGROUND)
        draw = ImageDraw.Draw(image)
        edge = max(1, round(self.letter / 14))
        captions = fitted(displays, language, round(self.letter * 0.85), wide)
        for number, (display, lines) in enumerate(zip(displays, captions, strict=True)):
            left, top = self._corner(number)
            board = picture(look(display.stimulus.scene()), self.side)
            if display.asks is not None:
                _question(board, display, display.asks, self.side)
            for line, words in enumerate(lines):
                words.draw(draw, left + wide / 2, top + high + (line + 0.6) * caption)
            image.paste(board.crop(self.box), (left, top))
            plain = display.asks is None or any(_marked_inside(question, language) for question in display.questions)
            colour, thick = (MUTED, edge) if plain else (ACCENT, 2 * edge)
            draw.rectangle((left, top, left + wide - 1, top + high - 1), None, colour, thick)
            if self._leads_on(number) and (display.phase or display.caption == "before"):
                arrow = _arrow(self.gap, self.letter, display.more)
                image.paste(arrow, (left + wide, top + (high - arrow.height) // 2))
        if any(display.more and self._leads_on(number) for number, display in enumerate(displays)):
            words, room = sentence("window.left_out", language), self.width
            size = fitting(words, round(self.letter * 0.85), room)
            draw.text((room / 2, self.height - caption / 2), words, MUTED, face(words, size, "semibold"), anchor="mm")
        return image

    def _leads_on(self, number: int) -> bool:
        """Return whether there is an arrow from a display to the next one: not from the last one of
        a row."""
        return number + 1 < self.many and number % self.columns != self.columns - 1

    def _corner(self, number: int) -> tuple[int, int]:
        """The left upper corner of a display."""
        row, column = divmod(number, self.columns)
        return column * (self.size[0] + self.gap) + 1, self._top(row)


def _question(image: Image.Image, display: ExampleDisplay, asks: ResponseKind, side: int) -> None:
    """Draw the way in which a question is answered, and its right answers."""
    draw, surface = ImageDraw.Draw(image), asks.surface()
    if surface.outlined and all(region.x1 - region.x0 >= _FINE for region in surface.regions):
        grid = grid_picture(surface.regions, side, PALE)
        image.paste(grid, (0, 0), grid)
    draw_keys(draw, surface, 0, 0, side)
    if surface.several:
        _own(draw, display.marks, asks, side)
    if (dial := surface.dial) is not None:
        for question in display.questions:
            assert isinstance(question.answer, int)
            paste_mark(image, dial, question.answer, 0, 0, side)
        for mark in display.marks:
            assert isinstance(mark.value, int)
            paste_mark(image, dial, mark.value, 0, 0, side, ACCENT)
    for question in display.questions:
        mark_answer(draw, question.answer, asks, side)
        _frames(draw, question.why.frames, side)
        if question.why.way:
            _way(draw, question.why.way, side)
        if display.marks and not surface.several:
            places = {region.value: region for region in surface.regions}
            wrong = [mark.value for mark in display.marks if mark.verdict == "wrong"]
            for value, sign in (*((value, "wrong") for value in wrong), (question.answer, "right")):
                if isinstance(value, int | str) and (region := places.get(value)) is not None:
                    _badge(draw, region, sign, side)


def _marked_inside(question: WorkedQuestion, language: str) -> bool:
    """Return whether the right answer is marked in the picture, so that nothing around it is."""
    has_place = any(region.value == question.answer for region in question.kind.surface().regions)
    return has_place or not question.shown_answer(language)


def _badge(draw: ImageDraw.ImageDraw, region: Region, sign: str, side: int) -> None:
    """Draw a tick or a cross in the corner of a place, so that what is there is still seen; around
    a wrong one a thin frame, as the right one has a thick one."""
    factor = side / CANVAS
    x0, y0, x1, y1 = (part * factor for part in (region.x0, region.y0, region.x1, region.y1))
    small = min(x1 - x0, y1 - y0)
    radius = max(8.0, small / 8)
    x, y = x1 - 1.3 * radius, y1 - 1.3 * radius
    if 4 * radius > small:
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
    if sign == "wrong":
        draw.rectangle((x0 + 1, y0 + 1, x1 - 2, y1 - 2), None, TEXT, max(1, round(side / 160)))
    fill, ink = (ACCENT, ON_ACCENT) if sign == "right" else (ON_ACCENT, TEXT)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill, ink, 2)
    draw_sign(draw, sign, x, y, radius / 3.6, ink, max(2, round(radius / 4)))


def draw_sign(draw: ImageDraw.ImageDraw, sign: str, x: float, y: float, unit: float, ink: Colour, thick: int) -> None:
    """Draw a tick, a cross or two arrows around a point."""
    for line in _SIGNS[sign]:
        draw.line([(x + a * unit, y + b * unit) for a, b in line], ink, thick)


def _part(displays: Sequence[ExampleDisplay]) -> tuple[float, float, float, float]:
    """The part of the canvas on which something is drawn in some of the displays, with some space
    around it: left, upper, right and lower end, as shares."""
    empty = Image.new("RGB", (CANVAS, CANVAS), BACKGROUND)
    ends: list[tuple[float, ...]] = []
    for display in displays:
        drawn = ImageChops.difference(picture(display.stimulus.scene(), CANVAS), empty).getbbox()
        if drawn is not None:
            ends.append(drawn)
        if display.asks is not None:
            surface, own = display.asks.surface(), {mark.value for mark in display.marks}
            keys = surface.outlined or surface.scale is not None or surface.ordered is not None
            ends += [(one.x0, one.y0, one.x1, one.y1) for one in surface.regions if keys or one.value in own]
    x0, y0 = (max(0.0, min(one[end] for one in ends) - _SPACE) for end in (0, 1))
    x1, y1 = (min(CANVAS, max(one[end] for one in ends) + _SPACE) for end in (2, 3))
    return x0 / CANVAS, y0 / CANVAS, x1 / CANVAS, y1 / CANVAS


def heading(displays: Sequence[ExampleDisplay], language: str) -> str:
    """Return the words above an example, or above pictures of somebody's own answer."""
    marks = [mark for display in displays for mark in display.marks]
    captions = {display.caption for display in displays}
    if any(mark.number is not None for mark in marks):
        return sentence("window.own_order", language)
    if "yours" in captions or any(display.questions and not display.phase for display in displays):
        return sentence("window.own_and_right", language)
    if marks:
        missed = any(mark.verdict == "missed" for mark in marks)
        return sentence("window.own_missed" if missed else "window.own", language)
    several = sum(len(display.questions) for display in displays) > 1
    return sentence("window.examples" if several else "window.example", language)


def fine(displays: Sequence[ExampleDisplay]) -> bool:
    """Return whether an example shows answers at places so small that it must be large to be read."""
    places = [
        region
        for display in displays
        if display.asks is not None and display.questions
        for region in display.asks.surface().regions
    ]
    return any(min(region.x1 - region.x0, region.y1 - region.y0) < _SMALL for region in places)


#: Reasons of at most so many letters (in English) stand below a display, too.
_BRIEF = 32
#: The signs before captions of rows of items, of which not all were right.
_CAPTIONS = {"yours": "wrong", "right_marked": "right"}
#: a line of words below a display: the sign before it, and its words, long and short
Caption = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class FittedWords:
    """Words below a display, at a size at which they have room, with the sign before them."""

    sign: str
    words: str
    size: int

    def draw(self, draw: ImageDraw.ImageDraw, x: float, y: float) -> None:
        """Draw them with their middle at (x, y)."""
        wide = 1.2 * self.size if self.sign else 0.0
        ink, letters = ACCENT if self.sign == "right" else TEXT, face(self.words, self.size, "semibold")
        draw.text((x + wide / 2, y), self.words, ink, letters, anchor="mm")
        if self.sign:
            left = x - letters.getlength(self.words) / 2 - 0.2 * self.size
            draw_sign(draw, self.sign, left, y, self.size / 5.5, ink, max(2, round(self.size / 7)))


def fitted(displays: Sequence[ExampleDisplay], language: str, size: int, room: int) -> list[list[FittedWords]]:
    """Return the lines of words below each display. All are short where one of them has no room
    otherwise."""
    captions = _captions(displays, language)
    narrow = room - round(1.2 * size)
    short = any(pixels_of(long, size) > narrow for lines in captions for _, long, form in lines if long != form)
    return [
        [FittedWords(sign, form := forms[short], fitting(form, size, narrow)) for sign, *forms in lines]
        for lines in captions
    ]


def _captions(displays: Sequence[ExampleDisplay], language: str) -> list[list[Caption]]:
    """Return what is said below each display: what its question is called, the answer that was
    given, and the right one; what an answer without words was is marked in the picture."""
    questions = [question for display in displays for question in display.questions]
    names = iter(zip(called(questions, language), enumerate(questions, start=1), strict=True))
    captions: list[list[Caption]] = []
    for display in displays:
        lines: list[Caption] = []
        for _ in display.questions:
            name, (place, question) = next(names)
            if name and not display.caption:
                lines.append(("", name, numbered(question, place, language)))
            lines += _answers(display, question, language)
        if display.caption or (display.marks and not display.questions):
            words = sentence(f"window.{display.caption or 'yours'}", language)
            lines.append((_CAPTIONS.get(display.caption, ""), words, words))
        captions.append(lines)
    return captions


def _answers(display: ExampleDisplay, question: WorkedQuestion, language: str) -> list[Caption]:
    """Return the words for the answer that was given to a question after practice, and for the
    right one."""
    if display.caption:
        return []
    surface, answer = question.kind.surface(), question.shown_answer(language)
    lines: list[Caption] = []
    if not (display.phase or surface.several or surface.dial is not None):
        verdict, given = "wrong", sentence("window.nothing", language)
        if display.marks:
            mark = display.marks[0]
            verdict, given = mark.verdict, replace(question, answer=mark.value).shown_answer(language)
        plain = sentence("window.given_short", language, answer=_plain(given))
        lines.append((verdict, sentence("session.yours", language, answer=given).rstrip("."), plain))
        if not given:
            lines[-1] = (verdict, words := sentence("window.yours", language), words)
    long, short = sentence("session.worked", language, answer=answer).rstrip("."), _plain(answer)
    if not display.phase:
        short = sentence("window.right_short", language, answer=short)
    marked = sentence("window.right_marked", language)
    lines.append(("right", long, short) if answer else ("right", marked, marked))
    if (why := question.why.text) is not None and not display.phase and len(why.text_in(FALLBACK)) <= _BRIEF:
        lines.append(("", words := why.text_in(language), words))
    return lines


def _plain(answer: str) -> str:
    """An answer without its key."""
    return answer.rpartition(" (")[0] or answer


def _own(draw: ImageDraw.ImageDraw, marks: Sequence[OwnMark], asks: ResponseKind, side: int) -> None:
    """Somebody's own marks: filled and ticked where they were right, crossed where not, with two
    arrows where they belong elsewhere in the order; and empty frames around what was missed."""
    where = {region.value: region for region in asks.surface().regions}
    factor, thick = side / CANVAS, max(2, round(side / 90))
    for mark in marks:
        if (region := where.get(mark.value)) is None:
            continue
        x0, y0, x1, y1 = (round(part * factor) for part in (region.x0, region.y0, region.x1, region.y1))
        x, y, unit = (x0 + x1) / 2, (y0 + y1) / 2, min(x1 - x0, y1 - y0) / 10
        right = mark.verdict == "right"
        fill = {"right": ACCENT, "missed": None}.get(mark.verdict, (255, 255, 255))
        draw.rectangle((x0 + 1, y0 + 1, x1 - 1, y1 - 1), fill, ACCENT, thick)
        ink = (255, 255, 255) if right else TEXT
        if mark.number is not None:
            size = max(7, round(unit * 5))
            draw.text((x - 2.2 * unit, y), str(mark.number), ink, face(str(mark.number), size, "semibold"), anchor="mm")
            x += 2 * unit
        draw_sign(draw, mark.verdict, x, y, 0.85 * unit, ink, thick)


#: The strokes of a tick, a cross, and two arrows that point away from each other, around the middle
#: of a mark.
_SIGNS: Mapping[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "right": (((-2.2, 0), (-0.8, 2), (2.2, -2)),),
    "wrong": (((-2, -2), (2, 2)), ((-2, 2), (2, -2))),
    "elsewhere": (
        ((-2.2, -1.2), (2.2, -1.2)),
        ((1, -2.4), (2.2, -1.2), (1, 0)),
        ((2.2, 1.6), (-2.2, 1.6)),
        ((-1, 0.4), (-2.2, 1.6), (-1, 2.8)),
    ),
    "missed": (),
}


def mark_answer(draw: ImageDraw.ImageDraw, answer: Answer, asks: ResponseKind, side: int) -> None:
    """A right answer, where it is a place: a frame that hides nothing of what is there; several
    places in order are filled with their numbers."""
    surface = asks.surface()
    if surface.ordered is not None and surface.ordered.labels:
        return  # what is given in order is said below the picture
    where = {region.value: region for region in surface.regions}
    factor, edge = side / CANVAS, max(3, round(side / 60))
    for number, value in enumerate(items_of(answer), start=1):
        if value is None or (region := where.get(value)) is None:
            continue
        x0, y0, x1, y1 = (round(part * factor) for part in (region.x0, region.y0, region.x1, region.y1))
        box = (max(2, x0), max(2, y0), min(side - 3, x1 - 1), min(side - 3, y1 - 1))
        if not surface.several:
            draw.rectangle((box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1), None, (255, 255, 255), edge + 2)
        draw.rectangle(box, ACCENT if surface.several else None, ACCENT, edge)
        if surface.ordered is not None:
            size = max(7, round(0.75 * min(box[2] - box[0], box[3] - box[1])))
            draw.text(
                ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2),
                str(number),
                (255, 255, 255),
                face(str(number), size, "semibold"),
                anchor="mm",
            )


def _frames(draw: ImageDraw.ImageDraw, frames: Sequence[tuple[float, float, float, float]], side: int) -> None:
    """A frame around each area that the reason of an answer is about, at a little distance from
    what is there."""
    factor, thick = side / CANVAS, max(2, round(side / 60))
    for area in frames:
        x0, y0, x1, y1 = (
            min(CANVAS - 1.5, max(1.5, value))
            for value in (area[0] - _AROUND, area[1] - _AROUND, area[2] + _AROUND, area[3] + _AROUND)
        )
        draw.rounded_rectangle((x0 * factor, y0 * factor, x1 * factor, y1 * factor), 3 * factor, None, ACCENT, thick)


def _way(draw: ImageDraw.ImageDraw, points: Sequence[tuple[float, float]], side: int) -> None:
    """The way of what had to be followed: a line from a dot, where it began, to where it ended."""
    line, thick = [(x * side / CANVAS, y * side / CANVAS) for x, y in points], max(2, round(side / 200))
    for colour, width in ((ON_ACCENT, 3 * thick), (TEXT, thick)):
        draw.line(line, colour, width, joint="curve")
        draw.circle(line[0], thick + width, colour)


@lru_cache(maxsize=8)
def _arrow(gap: int, letter: int, more: bool) -> Image.Image:
    """An arrow in the gap between two displays; with dots before it where something is left out."""
    fine = 4
    image = Image.new("RGB", (gap * fine, letter * fine), BACKGROUND)
    draw, unit, middle = ImageDraw.Draw(image), letter * fine, letter * fine / 2
    start, end, thick, head = 0.4 * unit, gap * fine - 0.4 * unit, max(fine, round(0.1 * unit)), 0.3 * unit
    if more:
        draw.text((start, middle), "…", MUTED, face("…", unit, "semibold"), anchor="ls")
        start += unit
    draw.line((start, middle, end - thick, middle), MUTED, thick)
    draw.polygon(((end, middle), (end - head, middle - head * 0.8), (end - head, middle + head * 0.8)), MUTED)
    return image.reduce(fine)


def progress_dots(share: float, letter: int) -> Image.Image:
    """Draw how much is done, as a row of dots."""
    fine, size, step = 4, 2 * max(3, round(letter * 0.2)), 2 * max(6, round(letter * 0.4))
    image = Image.new("RGB", (DOTS * step * fine, size * fine), BACKGROUND)
    for dot in range(DOTS):
        left, colour = dot * step * fine, ACCENT if dot < round(share * DOTS) else PALE
        ImageDraw.Draw(image).ellipse((left, 0, left + size * fine - 1, size * fine - 1), colour)
    return image.reduce(fine)
