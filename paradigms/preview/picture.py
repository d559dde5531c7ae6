"""A picture of one trial's timeline: every display in sequence with its phase and its time, the questions, and the correct answers marked.

Made for print: 2400 pixels wide (20 cm at 300 dots per inch), higher or lower as the trial is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from PIL import Image

from ...core.errors import SpanLabError
from ..trial import Trial
from .frames import Frame, frames_of
from .sheet import EDGE, GAP, LARGEST, WIDTH, Placed, Sheet

if TYPE_CHECKING:
    from ..paradigm import Paradigm

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
        raise SpanLabError(f"a picture has room for {_MOST_DISPLAYS} displays; this trial of {trial.paradigm} has {len(frames)}")
    placed, columns = _place(frames)
    side = min(LARGEST, (WIDTH - 2 * EDGE - (columns - 1) * GAP) // columns)
    sheet = Sheet(placed, columns, side)
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


def _place(frames: Sequence[Frame]) -> tuple[list[Placed], int]:
    """Rows and columns: as few rows as it takes, then phases together in rows unless they alternate, then as few columns as that takes."""
    runs = [list(run) for _, run in groupby(frames, key=lambda frame: frame.phase)]
    longest = max(len(run) for run in runs)
    layouts = []
    for together in (True, False):
        if together and (longest < _LONG_RUN or len(frames) < _MOST_COLUMNS or len({run[0].phase for run in runs}) < len(runs)):
            continue
        wanted = longest if together else len(frames)
        fewest = -(-wanted // -(-wanted // _MOST_COLUMNS))
        layouts += [(_in_rows(runs, columns, together), not together, columns) for columns in range(fewest, _MOST_COLUMNS + 1)]
    placed, _, columns = min(layouts, key=lambda layout: (layout[0][-1].row, *layout[1:]))
    return placed, columns


def _in_rows(runs: list[list[Frame]], columns: int, together: bool) -> list[Placed]:
    """Displays in rows; a phase that is to be kept together begins a new row when the rest of the row is too short for it."""
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
