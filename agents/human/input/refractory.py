"""The refractory times after a press that ended a self-paced step: what follows at once is the rest
of the same movement, and no answer to the next question.

They hold at the border of two self-paced steps alone. Within one question every press counts, and
so it does in a window that the clock opens and closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpanLabError
from .answering import Press

#: What a press does that comes within the refractory times.
TOO_SOON = "too soon"
#: A press longer ago than this (s) has nothing to do with the step that begins.
_FORGOTTEN = 1.0
#: Longer times (ms) would keep quick people from answering.
_LONGEST_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Refractory:
    """Times after its onset from which a self-paced step takes presses, where a press has ended the
    step before.

    Parameters
    ----------
    same_ms : ms from which on the same key or mouse button counts again, once it was released
    other_ms : ms from which on another one counts

    0 switches either off.
    """

    same_ms: float = 200.0
    other_ms: float = 100.0

    def __post_init__(self) -> None:
        if not all(0 <= ms <= _LONGEST_MS for ms in (self.same_ms, self.other_ms)):
            raise SpanLabError(
                f"refractory times are from 0 to {_LONGEST_MS:g} ms; found {self.same_ms:g} (same key) and"
                f" {self.other_ms:g} (another key)"
            )

    def divided(self, by: float) -> Refractory:
        """The times of somebody who is so many times as fast; never longer ones."""
        return Refractory(self.same_ms / max(1.0, by), self.other_ms / max(1.0, by))

    def record(self) -> dict[str, float]:
        """For the record."""
        return {"same_ms": self.same_ms, "other_ms": self.other_ms}

    def holds_off(self, press: Press, before: Press | None, onset: float) -> bool:
        """Return whether a press comes too soon to count in a self-paced step.

        Parameters
        ----------
        before : the press that ended the step before; None where the clock did
        onset : of the step, in seconds on PsychoPy's clock
        """
        if before is None or onset - before.time > _FORGOTTEN:
            return False
        if _same(press, before):
            return self.same_ms > 0 and (press.held or (press.time - onset) * 1000.0 < self.same_ms)
        return (press.time - onset) * 1000.0 < self.other_ms


#: For people.
USUAL = Refractory()


def _same(one: Press, other: Press) -> bool:
    return one.device == other.device and one.key == other.key


def read_refractory(text: str) -> Refractory:
    """Refractory times as they are typed: ``200,100`` (the same key, another key), or ``0`` for
    none.

    Raises
    ------
    SpanLabError
        when they are not understood.
    """
    try:
        same, *other = [float(part) for part in text.split(",")]
        (other_ms,) = other or ([0.0] if same == 0 else [])
    except ValueError:
        raise SpanLabError(
            "refractory times are two numbers of ms, for the same key and for another one, such as 200,100, or 0 for"
            f" none; found '{text}'"
        ) from None
    return Refractory(same, other_ms)


def refractory_from(record: Mapping[str, Any]) -> Refractory:
    """The refractory times from a session's record (:meth:`Refractory.record`)."""
    return Refractory(float(record["same_ms"]), float(record["other_ms"]))
