"""One step as somebody takes it: which presses may do something in it, and what became of it; the
same at the window and at a page in a browser.

A press does something in a step only if it began there. What was down before, and repeats itself,
is on record and does nothing. Neither does a key that was pressed while another window had the
focus, nor what follows at once on the press that ended a self-paced step: that is the rest of the
same movement. Within one question, and in a window that the clock opens and closes, every press
that began there counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....paradigms import Percept
from ....paradigms.responses.keys import is_button
from ...base import Shown
from .answering import TURN_KEYS, AnswerSheet, Press

#: What a press does that may do nothing: a key that was down repeats itself; another window had the
#: focus; it comes within the refractory times.
HELD, ELSEWHERE, TOO_SOON = "held", "elsewhere", "too soon"
#: Seconds within which nobody goes on to the next display on purpose: a second click of a double
#: click is not taken for it.
GO_ON_AFTER = 0.2
#: A press longer ago than this (s) has nothing to do with the step that begins.
_FORGOTTEN = 1.0


@dataclass(frozen=True, slots=True)
class Refractory:
    """Times after its onset from which a self-paced step takes presses, where a press has ended the
    step before.

    Parameters
    ----------
    same_ms : ms from which on the same key or mouse button counts again, once it was released
    other_ms : ms from which on another one counts
    """

    same_ms: float = 200.0
    other_ms: float = 100.0

    def divided(self, by: float) -> Refractory:
        """The times of somebody who is so many times as fast; never longer ones."""
        return Refractory(self.same_ms / max(1.0, by), self.other_ms / max(1.0, by))

    def holds_off(self, press: Press, before: Press | None, onset: float) -> bool:
        """Return whether a press comes too soon to count in a self-paced step.

        Parameters
        ----------
        before : the press that ended the step before; None where the clock did
        onset : of the step, in seconds on PsychoPy's clock
        """
        if before is None or onset - before.time > _FORGOTTEN:
            return False
        same = press.device == before.device and press.key == before.key
        return (press.time - onset) * 1000.0 < (self.same_ms if same else self.other_ms)


#: For people.
USUAL = Refractory()


@dataclass(slots=True)
class StepAccount:
    """The account of one step: the ``place``-th of the trial, with its ``number``-th question.
    ``notes`` and ``shown`` are completed until the next step has begun (late presses, the end of
    the last display)."""

    percept: Percept
    onset: float
    sheet: AnswerSheet | None
    refractory: Refractory = USUAL
    #: the press that ended the step before; and the one that ended this one
    before: Press | None = None
    ended_by: Press | None = None
    shown: list[Shown] = field(default_factory=list[Shown])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    number: int = 0
    place: int = 0
    gone_on: bool = False
    #: keys that went down in this step
    began: set[str] = field(default_factory=set[str])

    def take(self, press: Press, display: int, onset: float) -> str:
        """Let a press that came after the onset of the step have its effect, and return what it
        did: what an :class:`AnswerSheet` says, ``go on``, ``nothing``, or why it may do nothing.

        Parameters
        ----------
        display : number of the display on the screen
        onset : of that display, in seconds on the clock of the press
        """
        sheet = self.sheet
        if sheet is not None:
            onset = self.onset
        does = self._refusal(press, self.before if display == 0 or sheet is not None else self.ended_by, onset)
        if not (does or press.held):
            self.began.add(press.key)
        if sheet is None:
            self.notes.setdefault("presses", []).append(
                {**press.record(self.onset), "does": does or self._go_on(press, display, onset)}
            )
        elif does:
            sheet.refuse(press, does)
        else:
            does = sheet.take(press)
            if does == "late":
                self.notes.update(sheet.notes())
        return does

    def _refusal(self, press: Press, before: Press | None, onset: float) -> str:
        """Why a press may do nothing; empty if it may."""
        turns = self.sheet is not None and self.sheet.surface.dial is not None and press.key in TURN_KEYS
        if press.held and not (turns and press.key in self.began):
            return HELD
        if press.elsewhere:
            return ELSEWHERE
        paced = self.sheet is None or (self.sheet.closes is None and not self.sheet.complete)
        return TOO_SOON if paced and self.refractory.holds_off(press, before, onset) else ""

    def _go_on(self, press: Press, display: int, onset: float) -> str:
        goes_on = press.device == "click" or press.key == "space" or is_button(press.key)
        if display >= len(self.percept.displays) or self.percept.displays[display].ms is not None or not goes_on:
            return "nothing"
        if press.time - onset < GO_ON_AFTER:
            return TOO_SOON
        self.gone_on, self.ended_by = True, press
        return "go on"

    def next_display(self) -> None:
        """The next display of the step has come on."""
        if not self.gone_on:
            self.ended_by = None
        self.gone_on = False

    def take_late(self, press: Press) -> None:
        """Note a press that happened before the next step had come on, and is known only now."""
        ask = self.percept.ask
        if ask is None:
            self.notes.setdefault("presses", []).append({**press.record(self.onset), "does": "nothing"})
        elif self.open_until is not None and press.time <= self.open_until:
            # The machine passed it on only after the answer had been taken: never silently.
            self.notes.setdefault("passed_on_too_late", []).append(press.record(self.onset))
        elif ask.late == "record":
            self.notes.setdefault("late", []).append(press.record(self.onset))

    @property
    def over(self) -> bool:
        """True if the step ends without waiting for its displays."""
        sheet, ask = self.sheet, self.percept.ask
        return sheet is not None and sheet.complete and ask is not None and ask.ends == "on_answer"

    @property
    def waits(self) -> bool:
        """True if a press could still matter."""
        sheet, ask = self.sheet, self.percept.ask
        return (
            sheet is not None
            and ask is not None
            and (not sheet.complete or ask.counts == "last" or sheet.surface.several)
        )

    @property
    def open_until(self) -> float | None:
        """Time at which the window closes (s) in which an answer could still come; None where none
        can, or there is no window."""
        return self.sheet.closes if self.sheet is not None and self.waits and not self.over else None

    @property
    def ending(self) -> Press | None:
        """The press that ended the step; None where the clock did."""
        if self.sheet is not None:
            return self.sheet.answered_by if self.over else None
        return self.ended_by if self.gone_on else None


def time_of(percept: Percept, index: int) -> float | None:
    """Return how long a display of a step is to last (ms): its own time; what is left of the window
    for the last one of a question whose window is longer."""
    display, ask, before = percept.displays[index], percept.ask, [earlier.ms for earlier in percept.displays[:index]]
    if ask is None or ask.window_ms is None or index + 1 < len(percept.displays) or None in before:
        return display.ms
    return max(display.ms or 0.0, ask.window_ms - sum(ms for ms in before if ms is not None))
