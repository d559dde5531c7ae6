"""A picture of one trial's timeline: every display in sequence under the name of its phase, with
its time below it, the questions, and the correct answers marked.

Made for print: 2400 pixels wide (20 cm at 300 dots per inch), higher or lower as the trial is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from ...core.errors import SpanLabError
from ...core.locale import FALLBACK
from ...stimuli import CANVAS, Stimulus
from ...stimuli.kinds.files import ShownSound
from ...stimuli.kinds.plain import Blank, Tone
from ...stimuli.render.fonts import Weight, font, wrap
from ...stimuli.render.fonts import width as text_width
from ...stimuli.render.pixels import picture as drawn
from ..responses import Answer
from ..trial import Ask, Step, Trial, Truth
from .dial_marks import paste_mark

if TYPE_CHECKING:
    from ..paradigm import Paradigm


#: With more displays than this, those that come between others again and again are drawn once and
#: then only named.
_MANY = 18


@dataclass(frozen=True)
class Frame:
    """A display of the timeline, or several equal ones in a row.

    Parameters
    ----------
    first, last : numbers of the steps; None for a display that goes on with a step
    phase : in words
    stimulus : what is drawn
    ms : its durations, that of the empty screen after it included; None = until the answer, or the
        end of the window for it
    people_only : whether machines do not get it
    ask, truth : the question that belongs to it, and the step's truth
    variants : of feedback, what is shown after each verdict
    copies : how many equal displays it stands for
    then : what comes after it and was drawn before
    """

    first: int | None
    last: int | None
    phase: str
    stimulus: Stimulus
    ms: tuple[float | None, ...]
    people_only: bool
    ask: Ask | None
    truth: Truth
    variants: tuple[tuple[str, Stimulus], ...] = ()
    copies: int = 1
    then: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """The number of the step, or of the first and the last."""
        if self.first is None:
            return ""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"

    @property
    def time(self) -> str:
        """The duration in words."""
        window = None if self.ask is None else self.ask.window_ms
        open_end = "self-paced" if window is None else f"up to {round(window)} ms"
        lasts = " + ".join(open_end if ms is None else str(round(ms)) for ms in self.ms)
        return (f"{self.copies} × " if self.copies > 1 else "") + lasts + ("" if self.ms[-1] is None else " ms")

    @property
    def question(self) -> str:
        """The question as people read it; in the words for machines where the file has none."""
        if self.ask is None:
            return ""
        return self.ask.kind.question() if self.ask.prompt is None else self.ask.prompt.text_in(FALLBACK)


def frames_of(trial: Trial) -> list[Frame]:
    """The displays of a trial, folded: an empty screen after a display is part of it, equal
    displays in a row are one, and in a long trial what comes between others again and again
    (intervals, feedback, empty screens) is drawn the first time only."""
    frames = _in_a_row(frame for step in trial.steps for frame in _frames(step))
    return _named(frames) if len(frames) > _MANY else frames


def _frames(step: Step) -> list[Frame]:
    """The displays of a step; the question belongs to the one that machines get."""
    percept = step.percept
    frames: list[Frame] = []
    for place, display in enumerate(percept.displays):
        shown_to_machines = display is percept.for_machine
        if (
            place
            and not shown_to_machines
            and step.feedback is None
            and display.stimulus == Blank.model_validate({})
            and display.ms is not None
        ):
            frames[-1] = replace(frames[-1], ms=(*frames[-1].ms, display.ms))
            continue
        frames.append(
            Frame(
                first=step.index + 1 if place == 0 else None,
                last=step.index + 1 if place == 0 else None,
                phase=percept.phase.replace("_", " "),
                stimulus=display.stimulus,
                ms=(display.ms,),
                people_only=not percept.model_step or not shown_to_machines,
                ask=percept.ask if shown_to_machines else None,
                truth=step.truth,
                variants=()
                if step.feedback is None
                else tuple(
                    (verdict, step_of_verdict.displays[place].stimulus)
                    for verdict, step_of_verdict in step.feedback.items()
                ),
            )
        )
    return frames


def _alike(one: Frame, other: Frame) -> bool:
    """Return whether two frames look the same and ask nothing."""
    same = (one.phase, one.stimulus, one.ms, one.people_only, one.variants) == (
        other.phase,
        other.stimulus,
        other.ms,
        other.people_only,
        other.variants,
    )
    return same and one.ask is None and other.ask is None


def _in_a_row(frames: Iterable[Frame]) -> list[Frame]:
    folded: list[Frame] = []
    for frame in frames:
        if folded and _alike(folded[-1], frame) and frame.first is not None and None not in frame.ms:
            folded[-1] = replace(folded[-1], copies=folded[-1].copies + 1, last=frame.last)
        else:
            folded.append(frame)
    return folded


def _named(frames: Sequence[Frame]) -> list[Frame]:
    named: list[Frame] = []
    for frame in frames:
        between = frame.people_only or frame.variants or isinstance(frame.stimulus, Blank)
        if between and any(_alike(frame, kept_frame) and frame.copies == kept_frame.copies for kept_frame in named):
            named[-1] = replace(named[-1], then=(*named[-1].then, f"{frame.phase} {frame.time}"))
        else:
            named.append(frame)
    return named


#: A phase with this many displays is kept together.
_LONG_RUN = 4
_MOST_COLUMNS = 9
_MOST_DISPLAYS = 1000


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

    Raises
    ------
    SpanLabError
        when the trial is too long for a picture.
    """
    frames = frames_of(trial)
    if len(frames) > _MOST_DISPLAYS:
        raise SpanLabError(
            f"a picture has room for {_MOST_DISPLAYS} displays; this trial of {trial.paradigm} has {len(frames)}"
        )
    placed, columns = _place(frames)
    side = min(LARGEST, (WIDTH - 2 * EDGE - (columns - 1) * GAP) // columns)
    sheet = TrialSheet(placed, columns, side)
    sheet.head(title or (paradigm.title if paradigm is not None else trial.paradigm), _subtitle(trial))
    sheet.rows()
    sheet.foot(_sums(trial))
    return sheet.finished()


def _subtitle(trial: Trial) -> str:
    levels = [f"{name.replace('_', ' ')} {level}" for name, level in trial.levels.items()]
    return "   ·   ".join([trial.paradigm, *levels, f"seed {trial.seed}", f"{trial.generator} generator"])


def _sums(trial: Trial) -> str:
    """Describe the number of steps and questions, and the duration without self-paced steps."""
    displays = [display for step in trial.steps for display in step.percept.displays]
    windows = [
        step.percept.ask.window_ms or 0
        for step in trial.steps
        if step.percept.ask is not None and step.percept.displays[-1].ms is None
    ]
    fixed = sum(display.ms or 0 for display in displays) + sum(windows)
    waits = sum(display.ms is None for display in displays) > sum(map(bool, windows))
    model = sum(step.percept.model_step for step in trial.steps)
    parts = [
        _count(model, "step")
        + (f" and {len(trial.steps) - model} for people only" if model < len(trial.steps) else ""),
        _count(trial.asks, "question"),
    ]
    if fixed:
        parts.append(f"{round(fixed / 1000, 2):g} s" + (", plus self-paced steps" if waits else ""))
    elif waits:
        parts.append("self-paced")
    return "   ·   ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _place(frames: Sequence[Frame]) -> tuple[list[Placed], int]:
    """Rows and columns: as few rows as it takes, then phases together in rows unless they
    alternate, then as few columns as that takes."""
    runs = [list(run) for _, run in groupby(frames, key=lambda frame: frame.phase)]
    longest = max(len(run) for run in runs)
    layouts = []
    for together in (True, False):
        if together and (
            longest < _LONG_RUN or len(frames) < _MOST_COLUMNS or len({run[0].phase for run in runs}) < len(runs)
        ):
            continue
        cells = longest if together else len(frames)
        fewest = -(-cells // -(-cells // _MOST_COLUMNS))
        layouts += [
            (_in_rows(runs, columns, together), not together, columns) for columns in range(fewest, _MOST_COLUMNS + 1)
        ]
    placed, _, columns = min(layouts, key=lambda layout: (layout[0][-1].row, *layout[1:]))
    return placed, columns


def _in_rows(runs: list[list[Frame]], columns: int, together: bool) -> list[Placed]:
    """Displays in rows; a phase that is to be kept together begins a new row when the rest of the
    row is too short for it."""
    placed: list[Placed] = []
    row = column = 0
    for number, run in enumerate(runs):
        if together and column and column + len(run) > columns:
            row, column = row + 1, 0
        for frame in run:
            if column == columns:
                row, column = row + 1, 0
            placed.append(Placed(frame, number, row, column))
            column += 1
    return placed


#: Pixels: the page, its margin, the space between displays, and the largest display.
WIDTH, EDGE, GAP, LARGEST = 2400, 84, 44, 420
_INK, _SOFT, _FAINT, _ACCENT = (32, 33, 36), (104, 108, 115), (196, 199, 204), (24, 92, 170)
_TITLE, _TEXT, _SMALL, _SMALLEST = 62, 34, 29, 20
_CORRECT = "correct: "
#: How far a card behind another shows, and how many do.
_BEHIND, _MOST_BEHIND = 5, 2


@dataclass
class Placed:
    """A frame at its place; ``run`` numbers the phases in sequence."""

    frame: Frame
    run: int
    row: int
    column: int


class TrialSheet:
    """The page under construction. Heights are settled first, so the image is made once."""

    def __init__(self, placed: list[Placed], columns: int, side: int) -> None:
        self.placed = placed
        self.count = placed[-1].row + 1
        self.right = WIDTH - EDGE if side == LARGEST else EDGE + columns * (side + GAP) - GAP
        self._members = [[member for member in placed if member.row == row] for row in range(self.count)]
        self._sides = [2 * side + GAP if self._is_detailed(row, columns) else side for row in range(self.count)]
        frames = [placed_frame.frame for placed_frame in placed]
        #: whether there is room for the word "correct" before every answer
        self._in_full = all(
            text_width(_correct(frame), _SMALL, "semibold") <= side + GAP - 8
            for frame in frames
            if not _is_alone(frame, frames)
        )
        self._time_size = _size_for([(frame.time, side - text_width(frame.number, _SMALL) - 10) for frame in frames])
        self._then_size = _size_for([(_then(what), side) for frame in frames for what in frame.then])
        self._questions = self._first_questions()
        heights = [self._height(row) for row in range(self.count)]
        self.tops = [288 + sum(heights[:row]) for row in range(self.count)]
        self.image = Image.new("RGB", (WIDTH, self.tops[-1] + heights[-1] + 96), "white")
        self.draw = ImageDraw.Draw(self.image)

    def write(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: tuple[int, int, int] = _INK,
        weight: Weight = "regular",
        anchor: str = "ls",
    ) -> None:
        self.draw.text((x, y), text, colour, font(size, weight), anchor=anchor)

    def head(self, title: str, subtitle: str) -> None:
        self.write(EDGE, 124, title, _TITLE, weight="semibold")
        self.write(EDGE, 186, subtitle, _TEXT, _SOFT)

    def foot(self, sums: str) -> None:
        y = self.image.height - 62
        self.draw.line((EDGE, y - 52, self.right, y - 52), _FAINT, 2)
        self.write(EDGE, y, sums, _SMALL, _SOFT)
        self.write(self.right, y, "   ·   ".join(self._legend()), _SMALL, _SOFT, anchor="rs")

    def _legend(self) -> list[str]:
        frames = [placed.frame for placed in self.placed]
        words = {
            "dashed: only people see it": any(frame.people_only for frame in frames),
            "+: an empty screen": any(len(frame.ms) > 1 for frame in frames),
            "blue: the correct answer": not self._in_full,
        }
        return [word for word, needed in words.items() if needed]

    def finished(self) -> Image.Image:
        self.image.info["dpi"] = (300, 300)
        return self.image

    # rows -----------------------------------------------------------------------------------------

    def _is_detailed(self, row: int, columns: int) -> bool:
        """Return whether a row is drawn twice as large: its marks are small, and there is room."""
        detailed = any(
            member.frame.ask is not None and member.frame.ask.kind.surface().several for member in self._members[row]
        )
        return detailed and 2 * len(self._members[row]) <= columns

    def _bands(self, row: int) -> list[list[Placed]]:
        return [list(band) for _, band in groupby(self._members[row], key=lambda placed: placed.run)]

    def _x(self, placed: Placed) -> int:
        return EDGE + placed.column * (self._sides[placed.row] + GAP)

    def _is_to_the_left(self, placed: Placed) -> bool:
        """Return whether the texts under a display end at the page's right edge and reach to the
        left: those of the only question of a row, when they are long."""
        frame = placed.frame
        if frame.ask is None or sum(member.frame.ask is not None for member in self._members[placed.row]) > 1:
            return False
        longest = max(text_width(self._answer(frame), _SMALL, "semibold"), text_width(f"“{frame.question}”", _SMALL))
        return self._x(placed) + longest > self.right

    def _write_below(
        self, placed: Placed, y: float, line: str, size: int, colour: tuple[int, int, int], weight: Weight = "regular"
    ) -> None:
        left = self._is_to_the_left(placed)
        self.write(self.right if left else self._x(placed), y, line, size, colour, weight, "rs" if left else "ls")

    def _first_questions(self) -> list[list[tuple[Placed, list[str]]]]:
        """For each row, the questions that are asked for the first time in a phase: under which
        display, and their lines."""
        earlier: set[tuple[str, str]] = set()
        rows = []
        for row in range(self.count):
            first: list[tuple[Placed, str]] = []
            for placed in self._members[row]:
                if placed.frame.ask is not None:
                    asked = (placed.frame.phase, placed.frame.ask.kind.question())
                    if asked not in earlier:
                        earlier.add(asked)
                        first.append((placed, placed.frame.question))
            ends = [*(self._x(placed) - GAP for placed, _ in first[1:]), self.right]
            starts = [EDGE if self._is_to_the_left(placed) else self._x(placed) for placed, _ in first]
            rows.append(
                [
                    (placed, wrap(f"“{question}”", _SMALL, end - x))
                    for (placed, question), x, end in zip(first, starts, ends, strict=False)
                ]
            )
        return rows

    def _notes_height(self, row: int) -> int:
        return 42 * max(len(self._answer_lines(placed)) + len(placed.frame.then) for placed in self._members[row])

    def _height(self, row: int) -> int:
        lines_of_questions = max((len(lines) for _, lines in self._questions[row]), default=0)
        return 34 + self._sides[row] + 44 + self._notes_height(row) + 40 * lines_of_questions + 96

    def rows(self) -> None:
        for row, top in enumerate(self.tops):
            side = self._sides[row]
            for band in self._bands(row):
                self._band(band, top, side)
            for placed in self._members[row]:
                self._thumbnail(placed.frame, self._x(placed), top + 34, side)
                self._caption(placed, self._x(placed), top + 34 + side + 42)
            for placed in self._members[row][:-1]:
                self._chevron(
                    self._x(placed) + side + GAP // 2 + (_BEHIND if placed.frame.copies > 1 else 0),
                    top + 34 + side // 2,
                )
            below = top + 34 + side + 42 + self._notes_height(row) + 44
            for placed, lines in self._questions[row]:
                for number, line in enumerate(lines):
                    self._write_below(placed, below + 40 * number, line, _SMALL, _SOFT)

    def _band(self, band: list[Placed], y: int, side: int) -> None:
        """The phase's name over a line as long as the phase."""
        asks = any(placed.frame.ask is not None for placed in band)
        colour = _ACCENT if asks else _SOFT
        x0, x1 = self._x(band[0]), self._x(band[-1]) + side
        self.draw.line((x0, y + 10, x1, y + 10), colour, 5)
        self.write(
            x0, y - 8, _fitted(band[0].frame.phase, _TEXT, x1 - x0 + GAP // 2, "semibold"), _TEXT, colour, "semibold"
        )

    def _chevron(self, x: int, y: int) -> None:
        self.draw.line([(x - 6, y - 11), (x + 5, y), (x - 6, y + 11)], _SOFT, 4, joint="curve")

    # one display ----------------------------------------------------------------------------------

    def _thumbnail(self, frame: Frame, x: int, y: int, side: int) -> None:
        for behind in range(min(frame.copies, _MOST_BEHIND + 1) - 1, 0, -1):
            self._card(x + _BEHIND * behind, y - _BEHIND * behind, side)
        if frame.variants:
            self._variants(frame, x, y, side)
        else:
            self.image.paste(drawn(frame.stimulus.scene(), side), (x, y))
            if isinstance(frame.stimulus, Tone) or (
                isinstance(frame.stimulus, ShownSound) and isinstance(frame.stimulus.visual, Blank)
            ):
                self._loudspeaker(x + side / 2, y + side / 2, side / CANVAS)
            elif isinstance(frame.stimulus, ShownSound):
                self._loudspeaker(x + side * 0.1, y + side * 0.1, side / CANVAS / 2)
        if frame.ask is not None and frame.truth.answer is not None:
            self._mark(frame.ask, frame.truth.answer, x, y, side)
        if frame.people_only:
            self._dashed(x, y, side)
        else:
            self.draw.rectangle((x - 2, y - 2, x + side + 1, y + side + 1), None, _SOFT, 2)

    def _card(self, x: int, y: int, side: int) -> None:
        self.draw.rectangle((x - 2, y - 2, x + side + 1, y + side + 1), "white", _SOFT, 2)

    def _variants(self, frame: Frame, x: int, y: int, side: int) -> None:
        """Draw the displays after a right, a wrong and a missed answer, one below the other: the
        middle of each, larger, under the verdict."""
        part, label = side // len(frame.variants), 24
        for number, (verdict, stimulus) in enumerate(frame.variants):
            top = y + number * part
            height = part if number < len(frame.variants) - 1 else side - number * part
            large = drawn(stimulus.scene(), round(1.6 * side))
            left, above = (large.width - side) // 2, (large.height - height + label) // 2
            self.draw.rectangle((x, top, x + side - 1, top + height - 1), large.getpixel((0, 0)))
            self.image.paste(large.crop((left, above, left + side, above + height - label)), (x, top + label))
            self.write(x + 8, top + 22, f"if {verdict}", 20, _SOFT)
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
            for x0, y0, x1, y1 in (
                (offset, -2, end, -2),
                (offset, side, end, side),
                (-2, offset, -2, end),
                (side, offset, side, end),
            ):
                self.draw.line((x + x0, y + y0, x + x1, y + y1), _SOFT, 3)

    def _mark(self, ask: Ask, answer: Answer, x: int, y: int, side: int) -> None:
        """Outline the correct regions; several are numbered in the order of presentation."""
        surface = ask.kind.surface()
        if surface.ordered is not None and surface.ordered.labels:
            return  # what is given in order is said below
        if surface.dial is not None and isinstance(answer, int):
            paste_mark(self.image, surface.dial, answer, x, y, side)
        where = {region.value: region for region in surface.regions}
        for number, value in enumerate(answer if isinstance(answer, tuple) else (answer,), start=1):
            if value is None or (region := where.get(value)) is None:
                continue
            x0, y0, x1, y1 = (round(part * side / CANVAS) for part in (region.x0, region.y0, region.x1, region.y1))
            box = (x + max(1, x0), y + max(1, y0), x + min(side - 2, x1 - 1), y + min(side - 2, y1 - 1))
            if surface.several:
                self.draw.rectangle(box, "white", _ACCENT, 3)
                size = round((box[3] - box[1]) * 0.6)
                self.write(
                    (box[0] + box[2]) / 2 + 0.5,
                    (box[1] + box[3]) / 2 + size * 0.36,
                    str(number),
                    size,
                    _ACCENT,
                    "semibold",
                    "ms",
                )
            else:
                small = box[2] - box[0] < 60
                around = 0 if small else 3
                if small:
                    self.draw.rectangle((box[0] - 3, box[1] - 3, box[2] + 3, box[3] + 3), None, "white", 3)
                self.draw.rectangle(
                    (box[0] - around, box[1] - around, box[2] + around, box[3] + around),
                    None,
                    _ACCENT,
                    3 if small else 6,
                )

    # captions -------------------------------------------------------------------------------------

    def _caption(self, placed: Placed, x: int, y: int) -> None:
        side, number = self._sides[placed.row], placed.frame.number
        self.write(x + side, y, number, _SMALL, _SOFT, anchor="rs")
        self.write(
            x,
            y,
            _fitted(placed.frame.time, self._time_size, side - text_width(number, _SMALL) - 10, "regular"),
            self._time_size,
        )
        for line, text in enumerate(answer := self._answer_lines(placed), start=1):
            self._write_below(placed, y + 42 * line, text, _SMALL, _ACCENT, "semibold")
        for line, what in enumerate(placed.frame.then, start=len(answer) + 1):
            self._write_below(placed, y + 42 * line, _then(what), self._then_size, _SOFT)

    def _answer_lines(self, placed: Placed) -> list[str]:
        """The correct answer under a question, in lines."""
        if placed.frame.ask is None:
            return []
        start = EDGE if self._is_to_the_left(placed) else self._x(placed)
        room = self.right - start if placed is self._members[placed.row][-1] else self._sides[placed.row] + GAP - 8
        return wrap(self._answer(placed.frame), _SMALL, room, "semibold")

    def _answer(self, frame: Frame) -> str:
        return _correct(frame) if self._in_full else _correct(frame).removeprefix(_CORRECT)


def _correct(frame: Frame) -> str:
    return (
        "" if frame.ask is None or frame.truth.answer is None else _CORRECT + frame.ask.kind.write(frame.truth.answer)
    )


def _then(what: str) -> str:
    return f"then {what}"


def _is_alone(frame: Frame, frames: list[Frame]) -> bool:
    """Return whether no other question is asked, so that a long answer has room."""
    return sum(other.ask is not None for other in frames) == (frame.ask is not None)


def _size_for(texts: list[tuple[str, float]]) -> int:
    """The largest size at which every text has room."""
    return next(
        (size for size in range(_SMALL, _SMALLEST, -1) if all(text_width(text, size) <= room for text, room in texts)),
        _SMALLEST,
    )


def _fitted(text: str, size: int, room: float, weight: Weight) -> str:
    """The text, cut to the room that there is."""
    if text_width(text, size, weight) <= room:
        return text
    while text and text_width(text + "…", size, weight) > room:
        text = text[:-1]
    return text + "…"
