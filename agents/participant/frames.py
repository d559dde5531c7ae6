"""Time in frames: how many refreshes a duration takes, and how many have passed."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: A measured rate above this (or none at all) means that flips do not wait for the screen.
NO_VSYNC_HZ = 300.0


@dataclass(slots=True)
class FrameGrid:
    """The refreshes of a display.

    A duration is shown for the nearest whole number of refreshes, and the count goes by the clock: a flip that came late counts as all the refreshes that it
    missed, so that a dropped frame lengthens a display by nothing as long as there is time to catch up.

    Parameters
    ----------
    hz : refreshes per second
    paced : True where flips do not wait for the screen: the grid then lies on the clock, and the caller waits for :attr:`due` before it flips
    """

    hz: float
    paced: bool = False
    last: float | None = None

    @property
    def period(self) -> float:
        """Seconds from one refresh to the next."""
        return 1.0 / self.hz

    def frames(self, ms: float) -> int:
        """The nearest whole number of refreshes, at least one (halves are rounded up)."""
        return max(1, math.floor(ms / 1000.0 * self.hz + 0.5))

    @property
    def due(self) -> float:
        """When the next refresh is expected, in seconds on the clock of :meth:`tick`; the past before the first one."""
        return -math.inf if self.last is None else self.last + self.period

    def tick(self, time: float) -> int:
        """Note a flip that took effect at ``time`` (s) and return the number of refreshes since the flip before (at least 1)."""
        if self.last is None:
            self.last = time
            return 1
        passed = max(1, math.floor((time - self.last) / self.period + 0.5))
        # a paced grid stays on the clock, so that the small delays of single flips do not add up
        self.last = self.last + passed * self.period if self.paced else time
        return passed
