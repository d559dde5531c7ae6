"""A picture of one trial's timeline: every display in sequence with its phase and its time, the questions, and the correct answers marked.

Made for print: 2400 pixels wide (20 cm at 300 dots per inch), higher or lower as the trial is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from ..stimuli import CANVAS, Stimulus
from ..stimuli.fonts import Weight, font, wrap
from ..stimuli.fonts import width as text_width
from ..stimuli.kinds.plain import Tone
from ..stimuli.pixels import picture as drawn
from .responses import Answer
from .trial import Ask, Step, Trial, Truth

if TYPE_CHECKING:
    from .paradigm import Paradigm

_WIDTH = 2400
_EDGE = 84
_GAP = 44
_LARGEST = 420
_INK, _SOFT, _FAINT, _ACCENT = (32, 33, 36), (104, 108, 115), (196, 199, 204), (24, 92, 170)
_TITLE, _TEXT, _SMALL = 62, 34, 29
#: From a run of this many displays on, every phase begins a new row.
_LONG_RUN = 4
_MOST_COLUMNS = 9


@dataclass(frozen=True)
class _Frame:
    """One display of the timeline."""

    number: str
    phase: str
    stimulus: Stimulus
    time: str
    people_only: bool
    ask: Ask | None
    truth: Truth
    variants: tuple[tuple[str, Stimulus], ...] = ()


@dataclass
class _Placed:
    """A frame at its place; ``run`` numbers the phases in sequence."""

    frame: _Frame
    run: int
    row: int
    column: int


def trial_picture(trial: Trial, paradigm: Paradigm | None = None, title: str | None = None) -> Image.Image:
    """Draw a trial's timeline.

    Parameters
    ----------
    trial : a compiled trial
    paradigm : gives the title, when none is given
    title : overrides it; the paradigm's short name when there is nothing better

    Returns
    -------
    an RGB image 2400 pixels wide, with 300 dots per inch in its ``info``
    """
    frames = [frame for step in trial.steps for frame in _frames(step)]
    placed, columns = _place(frames)
    side = min(_LARGEST, (_WIDTH - 2 * _EDGE - (columns - 1) * _GAP) // columns)
    sheet = _Sheet(placed, columns, side)
    sheet.head(title or (paradigm.title if paradigm is not None else trial.paradigm), _subtitle(trial))
    sheet.rows()
    sheet.foot(_sums(trial))
    return sheet.finished()


def _subtitle(trial: Trial) -> str:
    levels = [f"{name.replace('_', ' ')} {level}" for name, level in trial.levels.items()]
    return "   ·   ".join([trial.paradigm, *levels, f"seed {trial.seed}", f"{trial.generator} generator"])


def _sums(trial: Trial) -> str:
    """How many steps and questions, and how long without the self-paced ones."""
    displays = [display for step in trial.steps for display in step.percept.displays]
    fixed = sum(display.ms or 0 for display in displays)
    waits = any(display.ms is None for display in displays)
    model = sum(step.percept.model_step for step in trial.steps)
    parts = [_count(model, "step") + (f" and {len(trial.steps) - model} for people only" if model < len(trial.steps) else ""), _count(trial.asks, "question")]
    if fixed:
        parts.append(f"{round(fixed / 1000, 2):g} s" + (" and what is self-paced" if waits else ""))
    elif waits:
        parts.append("self-paced")
    return "   ·   ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _frames(step: Step) -> list[_Frame]:
    """The displays of a step; the question belongs to the one that machines get."""
    percept = step.percept
    frames = []
    for place, display in enumerate(percept.displays):
        asked = percept.ask if display is percept.for_machine else None
        time = "self-paced" if display.ms is None else f"{round(display.ms)} ms"
        variants = () if step.feedback is None else tuple((verdict, one.displays[place].stimulus) for verdict, one in step.feedback.items())
        frames.append(
            _Frame(
                str(step.index + 1) if place == 0 else "",
                percept.phase.replace("_", " "),
                display.stimulus,
                time,
                not percept.model_step or display is not percept.for_machine,
                asked,
                step.truth,
                variants,
            )
        )
    return frames


def _place(frames: Sequence[_Frame]) -> tuple[list[_Placed], int]:
    """Rows and columns: when phases do not alternate, long ones get rows of their own; else displays simply follow one another."""
    runs = [list(run) for _, run in groupby(frames, key=lambda frame: frame.phase)]
    longest = max(len(run) for run in runs)
    apart = longest >= _LONG_RUN and len(frames) >= _MOST_COLUMNS and len({run[0].phase for run in runs}) == len(runs)
    wanted = longest if apart else len(frames)
    columns = -(-wanted // -(-wanted // _MOST_COLUMNS))
    placed: list[_Placed] = []
    row = column = 0
    for number, run in enumerate(runs):
        short = number > 0 and max(len(run), len(runs[number - 1])) < _LONG_RUN and column + len(run) <= columns
        if apart and column and not short:
            row, column = row + 1, 0
        for frame in run:
            if column == columns:
                row, column = row + 1, 0
            placed.append(_Placed(frame, number, row, column))
            column += 1
    return placed, columns


class _Sheet:
    """The page under construction. Heights are settled first, so the image is made once."""

    def __init__(self, placed: list[_Placed], columns: int, side: int) -> None:
        self.placed = placed
        self.count = placed[-1].row + 1
        self._members = [[one for one in placed if one.row == row] for row in range(self.count)]
        self._sides = [2 * side + _GAP if self._is_detailed(row, columns) else side for row in range(self.count)]
        self._questions = self._first_questions()
        heights = [self._height(row) for row in range(self.count)]
        self.tops = [288 + sum(heights[:row]) for row in range(self.count)]
        self.image = Image.new("RGB", (_WIDTH, self.tops[-1] + heights[-1] + 96), "white")
        self.draw = ImageDraw.Draw(self.image)

    def write(self, x: float, y: float, text: str, size: int, colour: tuple[int, int, int] = _INK, weight: Weight = "regular", anchor: str = "ls") -> None:
        self.draw.text((x, y), text, colour, font(size, weight), anchor=anchor)

    def head(self, title: str, subtitle: str) -> None:
        self.write(_EDGE, 124, title, _TITLE, weight="semibold")
        self.write(_EDGE, 186, subtitle, _TEXT, _SOFT)

    def foot(self, sums: str) -> None:
        y = self.image.height - 62
        self.draw.line((_EDGE, y - 52, _WIDTH - _EDGE, y - 52), _FAINT, 2)
        self.write(_EDGE, y, sums, _SMALL, _SOFT)
        if any(placed.frame.people_only for placed in self.placed):
            label = "dashed: only people see it"
            self.write(_WIDTH - _EDGE, y, label, _SMALL, _SOFT, anchor="rs")

    def finished(self) -> Image.Image:
        self.image.info["dpi"] = (300, 300)
        return self.image

    # rows ------------------------------------------------------------------------------------------------------------------------------------------------

    def _is_detailed(self, row: int, columns: int) -> bool:
        """Whether a row is drawn twice as large: its marks are small, and there is room."""
        detailed = any(one.frame.ask is not None and one.frame.ask.kind.surface().several for one in self._members[row])
        return detailed and 2 * len(self._members[row]) <= columns

    def _bands(self, row: int) -> list[list[_Placed]]:
        return [list(band) for _, band in groupby(self._members[row], key=lambda placed: placed.run)]

    def _x(self, placed: _Placed) -> int:
        return _EDGE + placed.column * (self._sides[placed.row] + _GAP)

    def _first_questions(self) -> list[list[tuple[int, list[str]]]]:
        """For each row, the questions that are asked for the first time in a phase: where they are written, and their lines."""
        seen: set[tuple[str, str]] = set()
        rows = []
        for row in range(self.count):
            first: list[tuple[int, str]] = []
            for placed in self._members[row]:
                if placed.frame.ask is not None:
                    question = placed.frame.ask.kind.question()
                    if (placed.frame.phase, question) not in seen:
                        seen.add((placed.frame.phase, question))
                        first.append((self._x(placed), question))
            ends = [*(x - _GAP for x, _ in first[1:]), _WIDTH - _EDGE]
            rows.append([(x, wrap(f"“{question}”", _SMALL, end - x)) for (x, question), end in zip(first, ends, strict=False)])
        return rows

    def _notes_height(self, row: int) -> int:
        return 42 * max(len(self._notes(placed)) for placed in self._members[row])

    def _height(self, row: int) -> int:
        asked = max((len(lines) for _, lines in self._questions[row]), default=0)
        return 34 + self._sides[row] + 44 + self._notes_height(row) + 40 * asked + 96

    def rows(self) -> None:
        for row, top in enumerate(self.tops):
            side = self._sides[row]
            for band in self._bands(row):
                self._band(band, top, side)
            for placed in self._members[row]:
                self._thumbnail(placed.frame, self._x(placed), top + 34, side)
                self._caption(placed, self._x(placed), top + 34 + side + 42)
            for placed in self._members[row][:-1]:
                self._chevron(self._x(placed) + side + _GAP // 2, top + 34 + side // 2)
            below = top + 34 + side + 42 + self._notes_height(row) + 44
            for x, lines in self._questions[row]:
                for number, line in enumerate(lines):
                    self.write(x, below + 40 * number, line, _SMALL, _SOFT)

    def _band(self, band: list[_Placed], y: int, side: int) -> None:
        """The phase's name over a line as long as the phase."""
        asks = any(placed.frame.ask is not None for placed in band)
        colour = _ACCENT if asks else _SOFT
        x0, x1 = self._x(band[0]), self._x(band[-1]) + side
        self.draw.line((x0, y + 10, x1, y + 10), colour, 5)
        self.write(x0, y - 8, _fitted(band[0].frame.phase, _TEXT, x1 - x0 + _GAP // 2), _TEXT, colour, "semibold")

    def _chevron(self, x: int, y: int) -> None:
        self.draw.line([(x - 6, y - 11), (x + 5, y), (x - 6, y + 11)], _SOFT, 4, joint="curve")

    # one display ----------------------------------------------------------------------------------------------------------------------------------------

    def _thumbnail(self, frame: _Frame, x: int, y: int, side: int) -> None:
        if frame.variants:
            self._variants(frame, x, y, side)
        else:
            self.image.paste(drawn(frame.stimulus.scene(), side), (x, y))
            if isinstance(frame.stimulus, Tone):
                self._loudspeaker(x + side / 2, y + side / 2, side / CANVAS)
        if frame.ask is not None and frame.truth.answer is not None:
            self._mark(frame.ask, frame.truth.answer, x, y, side)
        if frame.people_only:
            self._dashed(x, y, side)
        else:
            self.draw.rectangle((x - 2, y - 2, x + side + 1, y + side + 1), None, _SOFT, 2)

    def _variants(self, frame: _Frame, x: int, y: int, side: int) -> None:
        """What is shown after a right, a wrong and a missed answer, one below the other: the middle of each display, larger."""
        part = side // len(frame.variants)
        for number, (verdict, stimulus) in enumerate(frame.variants):
            top = y + number * part
            height = part if number < len(frame.variants) - 1 else side - number * part
            large = drawn(stimulus.scene(), 2 * side)
            self.image.paste(large.crop((side // 2, side - height // 2, side // 2 + side, side - height // 2 + height)), (x, top))
            self.write(x + 8, top + 24, f"if {verdict}", 20, _SOFT)
            if number:
                self.draw.line((x, top, x + side, top), "white", 3)

    def _loudspeaker(self, x: float, y: float, unit: float) -> None:
        shape = [(-16, -5), (-9, -5), (0, -13), (0, 13), (-9, 5), (-16, 5)]
        self.draw.polygon([(x + a * unit, y + b * unit) for a, b in shape], _INK)
        for radius in (8, 14, 20):
            box = (x + (3 - radius) * unit, y - radius * unit, x + (3 + radius) * unit, y + radius * unit)
            self.draw.arc(box, -42, 42, _INK, max(2, round(2.4 * unit)))

    def _dashed(self, x: int, y: int, side: int) -> None:
        for offset in range(0, side, 24):
            end = min(offset + 13, side)
            for x0, y0, x1, y1 in ((offset, -2, end, -2), (offset, side, end, side), (-2, offset, -2, end), (side, offset, side, end)):
                self.draw.line((x + x0, y + y0, x + x1, y + y1), _SOFT, 3)

    def _mark(self, ask: Ask, answer: Answer, x: int, y: int, side: int) -> None:
        """Outline the correct regions; several are numbered in the order of presentation."""
        surface = ask.kind.surface()
        where = {region.value: region for region in surface.regions}
        for number, value in enumerate(answer if isinstance(answer, tuple) else (answer,), start=1):
            if (region := where.get(value)) is None:
                continue
            x0, y0, x1, y1 = (round(part * side / CANVAS) for part in (region.x0, region.y0, region.x1, region.y1))
            box = (x + max(1, x0), y + max(1, y0), x + min(side - 2, x1 - 1), y + min(side - 2, y1 - 1))
            if surface.several:
                self.draw.rectangle(box, "white", _ACCENT, 3)
                size = round((box[3] - box[1]) * 0.6)
                self.write((box[0] + box[2]) / 2 + 0.5, (box[1] + box[3]) / 2 + size * 0.36, str(number), size, _ACCENT, "semibold", "ms")
            else:
                thick, halo = (3, -3) if box[2] - box[0] < 60 else (7, 7)
                self.draw.rectangle((box[0] + halo, box[1] + halo, box[2] - halo, box[3] - halo), None, "white", 3)
                self.draw.rectangle(box, None, _ACCENT, thick)

    # captions -------------------------------------------------------------------------------------------------------------------------------------------

    def _caption(self, placed: _Placed, x: int, y: int) -> None:
        side = self._sides[placed.row]
        self.write(x + side, y, placed.frame.number, _SMALL, _SOFT, anchor="rs")
        self.write(x, y, _fitted(placed.frame.time, _SMALL, side - 46), _SMALL)
        for number, line in enumerate(self._notes(placed), start=1):
            self.write(x, y + 42 * number, line, _SMALL, _ACCENT, "semibold")

    def _notes(self, placed: _Placed) -> list[str]:
        """The correct answer under a question; the answer to a question for several things may be long, and goes on to the right when nothing is there."""
        frame = placed.frame
        if frame.ask is None or frame.truth.answer is None:
            return []
        alone = placed is self._members[placed.row][-1]
        room = _WIDTH - _EDGE - self._x(placed) if alone else self._sides[placed.row] + _GAP - 8
        return wrap(f"correct: {frame.ask.kind.write(frame.truth.answer)}", _SMALL, room, "semibold")


def _fitted(text: str, size: int, room: float) -> str:
    """The text, cut to the room that there is."""
    if text_width(text, size, "semibold") <= room:
        return text
    while text and text_width(text + "…", size, "semibold") > room:
        text = text[:-1]
    return text + "…"
