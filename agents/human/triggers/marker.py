"""The trigger codes of one trial at the window: which one is due when, and the record of those
sent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ....paradigms import Verdict
from ....paradigms.triggers import DONE, Triggers
from ..display.frames import apart
from .sender import Sending, TriggerSender

#: A code that need not come at once is held back where a flip is nearer than this (s): so no pulse
#: is cut shorter than it.
SHORTEST = 0.002

For = Literal["trial_start", "phase", "response", "verdict", "trial_end"]


@dataclass(slots=True)
class _Mark:
    """A code that was asked for. ``flip`` is the onset of the step; ``since`` is when that happened
    for which the code stands (both s, on the window's clock)."""

    sending: Sending
    is_for: For
    what: str
    step: int
    flip: float | None
    since: float | None


class Marker:
    """Sends the codes of one trial.

    Parameters
    ----------
    sender : of the open port
    codes : which code stands for what
    write : takes the record of each code, once it is known what became of it
    now : the window's clock (s)
    due : when the next flip is expected (s, on the window's clock)
    ms : turns times of the window's clock into ms on the session's
    """

    def __init__(
        self,
        sender: TriggerSender,
        codes: Triggers,
        write: Callable[[Mapping[str, Any]], None],
        now: Callable[[], float],
        due: Callable[[], float],
        ms: Callable[[float], float],
    ) -> None:
        self._sender, self._codes, self._write, self._now, self._due, self._ms = sender, codes, write, now, due, ms
        self._marks: list[_Mark] = []
        self._armed: _Mark | None = None
        self._verdict: Verdict = "missed"
        self._step = 0
        self._soon(codes.trial_start, "trial_start", 0, None, now())

    # -- what happens ------------------------------------------------------------------------------

    def arm(self, phase: str, step: int) -> Callable[[], None] | None:
        """The next flip brings a step on: what is to be called within that flip, if it has a code.
        ``step`` counts from 1."""
        if step == 1:
            self._sender.settle()  # the code of the trial's beginning has its whole pulse
        self._step = step
        code = self._codes.of_phase(phase, self._verdict)
        if code is None:
            return None
        sending = Sending(code)
        self._armed = _Mark(sending, "phase", phase, step, None, None)
        return lambda: self._sender.at_once(sending)

    def landed(self, at: float) -> None:
        """That flip took effect at ``at`` (s)."""
        if self._armed is not None:
            mark, self._armed = self._armed, None
            mark.flip = mark.since = at
            self._marks.append(mark)

    def answered(self, value: int | str | None, step: int, onset: float, pressed: float) -> None:
        """A press gave an answer or a part of one (None: it confirmed an answer of several values)."""
        what = DONE if value is None else value
        self._soon(self._codes.of_response(what), "response", step, onset, pressed, str(what))

    def judged(self, verdict: Verdict, step: int) -> None:
        """The answer to a step was judged."""
        self._verdict = verdict
        self._soon(self._codes.verdicts.get(verdict), "verdict", step, None, self._now(), verdict)

    def end(self, at: float) -> None:
        """The trial is over, and the screen was cleared at ``at`` (s)."""
        self._soon(self._codes.trial_end, "trial_end", self._step, None, at)
        self._sender.settle()
        self.record()

    def _soon(self, code: int | None, is_for: For, step: int, flip: float | None, since: float, what: str = "") -> None:
        if code is not None:
            left = self._due() - self._now()
            sending = Sending(code, time.perf_counter() + left + SHORTEST if 0 <= left < SHORTEST else 0.0)
            self._marks.append(_Mark(sending, is_for, what, step, flip, since))
            self._sender.soon(sending)

    # -- the record --------------------------------------------------------------------------------

    def record(self) -> None:
        """Return the codes sent so far in their order, and report it if the port has failed."""
        self._sender.tell()
        settled = [mark for mark in self._marks if mark.sending.settled]
        if not settled:
            return
        self._marks = [mark for mark in self._marks if not mark.sending.settled]
        clock = apart(self._now, time.perf_counter)[0]
        for mark in sorted(settled, key=lambda mark: mark.sending.at or math.inf):
            self._write(self._to_record(mark, clock))

    def _to_record(self, mark: _Mark, clock: float) -> dict[str, Any]:
        sending = mark.sending
        at = None if sending.at is None else sending.at + clock
        delay = None if at is None or mark.since is None else (at - mark.since) * 1000.0
        if mark.is_for == "phase" and delay is not None:
            self._sender.counts.delays.append(delay)
        record: dict[str, Any] = {
            "step": mark.step,
            "code": sending.code,
            "for": mark.is_for,
            "what": mark.what,
            "flip_ms": None if mark.flip is None else round(self._ms(mark.flip), 3),
            "sent_ms": None if at is None else round(self._ms(at), 3),
            "delay_ms": None if delay is None else round(delay, 3),
        }
        if sending.stamp is not None:
            record["lsl_s"] = sending.stamp
        if sending.over is not None:
            record["over"] = {"code": sending.over[0], "after_ms": round(sending.over[1] * 1000.0, 3)}
        return record
