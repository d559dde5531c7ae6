"""One trial to look at. As a picture: a grid of its displays in order, each with its phase, its time, and the correct
answer, made for print (2400 pixels wide, 20 cm at 300 dots per inch, higher or lower as the trial is long). As a film:
every display for as long as people see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from ...core.errors import SpanLabError
from ...core.locale import FALLBACK
from ...stimuli import CANVAS, Stimulus
from ...stimuli.kinds.files import ShownSound
from ...stimuli.kinds.plain import Tone
from ...stimuli.render.fonts import Weight, font, wrap
from ...stimuli.render.pixels import picture as drawn
from ..responses.base import Answer, items_of
from ..trial import Ask, Step, Trial
from .dial_marks import paste_mark

if TYPE_CHECKING:
    from ..paradigm import Paradigm

#: pixels: the page, its margin, the space between displays, the largest display, and a line of text
WIDTH, EDGE, GAP, LARGEST, LINE = 2400, 84, 44, 420, 40
_INK, _SOFT, _ACCENT = (32, 33, 36), (104, 108, 115), (24, 92, 170)
_TITLE, _TEXT, _SMALL = 62, 34, 28
_MOST_COLUMNS, _MOST_DISPLAYS = 9, 1000


@dataclass(frozen=True)
class Frame:
    """A display of the grid, or several equal ones in a row.

    Parameters
    ----------
    phase : in words
    after : of feedback, the verdict that it is about
    stimulus : what is drawn
    ms : its duration; None = until the answer, or the end of the window for it
    people_only : whether machines do not get it
    ask, answer : the question that belongs to it, and its correct answer
    copies : how many equal displays it stands for
    """

    phase: str
    after: str
    stimulus: Stimulus
    ms: float | None
    people_only: bool
    ask: Ask | None
    answer: Answer | None
    copies: int = 1

    @property
    def time(self) -> str:
        """The duration in words."""
        window = self.ask and self.ask.window_ms
        if self.ms is not None:
            lasts = f"{round(self.ms)} ms"
        else:
            lasts = "self-paced" if window is None else f"up to {round(window)} ms"
        return f"{self.copies} × {lasts}" if self.copies > 1 else lasts

    @property
    def question(self) -> str:
        """The question as people read it, or else how they answer."""
        if self.ask is None:
            return ""
        if self.ask.prompt is None:
            return self.ask.kind.legend("participant", FALLBACK)
        return f"“{self.ask.prompt.text_in(FALLBACK)}”"


def frames_of(trial: Trial) -> list[Frame]:
    """The displays of a trial in order. Equal ones in a row that ask nothing are one; feedback and
    what only people see between others is there the first time only."""
    frames: list[Frame] = []
    for frame in (frame for step in trial.steps for frame in _frames(step)):
        if frames and frame.ask is None and replace(frames[-1], copies=1) == frame:
            frames[-1] = replace(frames[-1], copies=frames[-1].copies + 1)
        elif frame not in frames or not (frame.people_only or frame.after):
            frames.append(frame)
    return frames


def _frames(step: Step) -> Iterator[Frame]:
    """The displays of a step; the question belongs to the one that machines get, and feedback has one
    display for each verdict."""
    phase = step.percept.phase.replace("_", " ")
    for verdict, percept in (step.feedback or {"": step.percept}).items():
        for display in percept.displays:
            to_machines = display is percept.for_machine
            yield Frame(
                phase=phase,
                after=verdict,
                stimulus=display.stimulus,
                ms=display.ms,
                people_only=not percept.model_step or not to_machines,
                ask=percept.ask if to_machines else None,
                answer=step.truth.answer if to_machines and percept.ask is not None else None,
            )


def trial_picture(trial: Trial, paradigm: Paradigm | None = None, title: str | None = None) -> Image.Image:
    """Draw the displays of a trial.

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
    rows = -(-len(frames) // _MOST_COLUMNS)
    columns = -(-len(frames) // rows)
    side = min(LARGEST, (WIDTH - 2 * EDGE - (columns - 1) * GAP) // columns)
    questions = [frame.question for frame in frames]
    texts = [_texts(frame, side, questions.index(frame.question) == at) for at, frame in enumerate(frames)]
    height = 2 * LINE + side + LINE * max(len(below) for below in texts)
    page = Image.new("RGB", (WIDTH, 250 + rows * height + EDGE), "white")
    page.info["dpi"] = (300, 300)
    _write(page, EDGE, 124, title or (paradigm.title if paradigm is not None else trial.paradigm), _TITLE, _INK)
    levels = [f"{name.replace('_', ' ')} {level}" for name, level in trial.levels.items()]
    about = [trial.paradigm, *levels, f"seed {trial.seed}", f"{trial.generator} generator"]
    _write(page, EDGE, 186, "   ·   ".join(about), _TEXT, _SOFT, "regular")
    for number, (frame, below) in enumerate(zip(frames, texts, strict=True)):
        x, y = EDGE + number % columns * (side + GAP), 250 + number // columns * height
        colour = _SOFT if frame.ask is None else _ACCENT
        phase = f"if {frame.after}" if frame.after else wrap(frame.phase, _SMALL, side + GAP, "semibold")[0]
        _write(page, x, y + LINE - 12, phase, _SMALL, colour)
        _display(page, frame, x, y + LINE, side)
        for line, (text, ink) in enumerate(below, start=2):
            _write(page, x, y + side + line * LINE - 4, text, _SMALL, ink, "regular")
    return page


def _texts(frame: Frame, side: int, asks_first: bool) -> list[tuple[str, tuple[int, int, int]]]:
    """The lines below a display, with their colours: its time, who sees it, the correct answer, and a
    question where it is asked first."""
    heard = isinstance(frame.stimulus, Tone | ShownSound)
    lines = [(f"{frame.time}, sound" if heard else frame.time, _INK)]
    if frame.people_only:
        lines.append(("people only", _SOFT))
    if frame.ask is not None and frame.answer is not None:
        lines += [(text, _ACCENT) for text in wrap(frame.ask.kind.write(frame.answer), _SMALL, side + GAP // 2)]
    if frame.question and asks_first:
        lines += [(text, _SOFT) for text in wrap(frame.question, _SMALL, side + GAP // 2)]
    return lines


def _write(
    page: Image.Image,
    x: float,
    y: float,
    text: str,
    size: int,
    colour: tuple[int, int, int],
    weight: Weight = "semibold",
) -> None:
    ImageDraw.Draw(page).text((x, y), text, colour, font(size, weight), anchor="ls")


def _display(page: Image.Image, frame: Frame, x: int, y: int, side: int) -> None:
    """A display, with the correct answer marked on it."""
    page.paste(drawn(frame.stimulus.scene(), side), (x, y))
    ImageDraw.Draw(page).rectangle((x - 2, y - 2, x + side + 1, y + side + 1), None, _SOFT, 2)
    if frame.ask is not None and frame.answer is not None:
        _mark(page, frame.ask, frame.answer, x, y, side)


def _mark(page: Image.Image, ask: Ask, answer: Answer, x: int, y: int, side: int) -> None:
    """Outline the regions of the correct answer, where it has any on the display."""
    surface = ask.kind.surface()
    if surface.ordered is not None and surface.ordered.labels:
        return
    if surface.dial is not None and isinstance(answer, int):
        paste_mark(page, surface.dial, answer, x, y, side)
    for region in surface.regions:
        if region.value in items_of(answer):
            x0, y0, x1, y1 = (round(part * side / CANVAS) for part in (region.x0, region.y0, region.x1, region.y1))
            ImageDraw.Draw(page).rectangle((x + x0, y + y0, x + x1 - 1, y + y1 - 1), None, _ACCENT, 6)


#: of a film: the side of its pictures (pixels), how long is shown what waits for the participant, and
#: the shortest time that every program shows (ms)
FILM, SELF_PACED_MS, SHORTEST_MS = 480, 1500.0, 20


def film_frames(trial: Trial) -> list[tuple[Image.Image, int]]:
    """The pictures of a film, each with its time (ms), in hundredths of a second as GIF has them; what
    is rounded off one picture is made up for by the next."""
    percepts = [step.shown_after("right") for step in trial.steps]
    displays = [display for percept in percepts for display in percept.displays]
    ends = [0.0]
    for display in displays:
        ends.append(ends[-1] + (SELF_PACED_MS if display.ms is None else display.ms))
    times = [max(SHORTEST_MS, 10 * (round(end / 10) - round(start / 10))) for start, end in pairwise(ends)]
    return [(drawn(display.stimulus.scene(), FILM), ms) for display, ms in zip(displays, times, strict=True)]


def write_film(trial: Trial, file: Path) -> None:
    """Write a trial as a film, a ``.gif``.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    frames = film_frames(trial)
    first, *others = [image.convert("P", palette=Image.Palette.ADAPTIVE) for image, _ in frames]
    durations = [ms for _, ms in frames]
    try:
        first.save(file, format="GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1)
    except OSError as error:
        raise SpanLabError(f"cannot write {file}: {error.strerror or error}") from None
