"""The account of one step at the window: displays, presses, and whether the step is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...paradigms import Percept
from ..base import Shown
from .input.answering import AnswerSheet, Press


@dataclass(slots=True)
class StepAccount:
    """The account of one step: the ``place``-th of the trial, with its ``number``-th question.
    ``notes`` and ``shown`` are completed until the next step has begun (late presses, the end of
    the last display)."""

    percept: Percept
    onset: float
    sheet: AnswerSheet | None
    shown: list[Shown]
    notes: dict[str, Any] = field(default_factory=dict)
    number: int = 0
    place: int = 0
    gone_on: bool = False
    #: the press that ended the step before; and the one that ended this one
    before: Press | None = None
    ended_by: Press | None = None

    @property
    def over(self) -> bool:
        """True if the step ends without waiting for its displays."""
        return (
            self.sheet is not None
            and self.sheet.complete
            and self.percept.ask is not None
            and self.percept.ask.ends == "on_answer"
        )

    @property
    def waits(self) -> bool:
        """True if a press could still matter."""
        if self.sheet is None or self.percept.ask is None:
            return False
        return not self.sheet.complete or self.percept.ask.counts == "last" or self.sheet.surface.several

    @property
    def open_until(self) -> float | None:
        """Time at which the window closes (s) in which an answer could still come; None where none
        can, or there is no window."""
        return self.sheet.closes if self.sheet is not None and self.waits and not self.over else None


def time_of(percept: Percept, index: int) -> float | None:
    """Return how long a display of a step is to last (ms): its own time; what is left of the window
    for the last one of a question whose window is longer."""
    display, ask, before = percept.displays[index], percept.ask, [earlier.ms for earlier in percept.displays[:index]]
    if ask is None or ask.window_ms is None or index + 1 < len(percept.displays) or None in before:
        return display.ms
    return max(display.ms or 0.0, ask.window_ms - sum(ms for ms in before if ms is not None))
