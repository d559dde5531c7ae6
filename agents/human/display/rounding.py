"""Rounding of the durations of a paradigm to whole refreshes: planned and shown, before a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....core.locale import sentence
from .frames import FrameGrid

#: A duration that rounding changes by more than this share of itself is told about. Rounding to the
#: nearest refresh errs by half a refresh at most, so a fixed number of milliseconds would tell of
#: all displays or of none; what may matter to an experiment is the share.
LARGE = 0.05


@dataclass(frozen=True, slots=True)
class Rounding:
    """One duration at one refresh rate.

    Parameters
    ----------
    phase : of the display
    planned_ms : as the paradigm has it
    frames : refreshes for which it is shown
    shown_ms : how long these take
    frame_ms : from one refresh to the next
    """

    phase: str
    planned_ms: float
    frames: int
    shown_ms: float
    frame_ms: float

    @property
    def error_ms(self) -> float:
        """Shown minus planned."""
        return self.shown_ms - self.planned_ms

    @property
    def share(self) -> float:
        """The error as a share of what was planned."""
        return self.error_ms / self.planned_ms if self.planned_ms else float("inf")

    @property
    def complaint(self) -> str:
        """A sentence about what an experimenter would not expect; empty if there is nothing."""
        if self.planned_ms < self.frame_ms * (1 - 1e-6):
            return "less than one refresh"
        return f"more than {LARGE:.0%} off" if abs(self.share) > LARGE else ""

    def describe(self, language: str = "en") -> str:
        """Return how the duration will be shown, for the assistant."""
        frames = sentence("window.refresh" if self.frames == 1 else "window.refreshes", language, n=self.frames)
        numbers = {
            "planned": f"{self.planned_ms:g}",
            "shown": f"{self.shown_ms:.1f}",
            "error": f"{self.error_ms:+.1f}",
            "share": f"{self.share:+.0%}",
        }
        return sentence("window.rounding", language, phase=self.phase, frames=frames, **numbers)


def roundings(durations: Iterable[tuple[str, float]], grid: FrameGrid) -> list[Rounding]:
    """Each duration (phase, ms) on a display, once, in the order given."""
    frame = 1000.0 / grid.hz
    return [
        Rounding(phase, ms, grid.frames(ms), grid.frames(ms) * frame, frame) for phase, ms in dict.fromkeys(durations)
    ]


def complaints(durations: Iterable[tuple[str, float]], grid: FrameGrid, language: str = "en") -> list[str]:
    """The durations that a display cannot show well, a sentence each."""
    return [
        sentence("window.at_rate", language, what=rounding.describe(language), hz=f"{grid.hz:.2f}")
        for rounding in roundings(durations, grid)
        if rounding.complaint
    ]
