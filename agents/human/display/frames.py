"""Time in frames: how many refreshes a duration takes, how many have passed, and which durations a
display cannot show well; how far two clocks are apart, and the session's clock."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ....core.locale import sentence

#: From so many flips the moments of the refreshes are reckoned.
_REMEMBERED, _ENOUGH = 30, 5

#: Seconds within which two clocks are read at the same time, and how often that is tried.
_AT_ONCE, _READINGS = 0.0002, 5

#: A measured rate above this (or none at all) means that flips do not wait for the screen.
NO_VSYNC_HZ = 300.0


@dataclass(slots=True)
class FrameGrid:
    """The refreshes of a display.

    A duration is shown for the nearest whole number of refreshes, and the count goes by the clock:
    a flip that came late counts as all the refreshes that it missed, so that a dropped frame
    lengthens a display by nothing as long as there is time to catch up.

    Parameters
    ----------
    hz : refreshes per second
    paced : True where flips do not wait for the screen: the grid then lies on the clock, and the
        caller waits for :attr:`due` before it flips
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
        """Time at which the next refresh is expected, in seconds on the clock of :meth:`tick`; the
        past before the first one."""
        return -math.inf if self.last is None else self.last + self.period

    def tick(self, time: float) -> int:
        """Note a flip that took effect at ``time`` (s) and return the number of refreshes since the
        flip before (at least 1)."""
        if self.last is None:
            self.last = time
            return 1
        passed = max(1, math.floor((time - self.last) / self.period + 0.5))
        # a paced grid stays on the clock, so that the small delays of single flips do not add up
        self.last = self.last + passed * self.period if self.paced else time
        return passed


@dataclass(slots=True)
class Refreshes:
    """Times of the refreshes of a screen, as far as the time stamps of flips tell: their own
    moments, without the delay of single stamps.

    A time stamp is read once the flip is over, and is late where the system has given the processor
    to something else meanwhile. A flip that waits for the screen takes effect at a refresh, and
    these come at steady times, which the middle one of the last stamps tells.

    Parameters
    ----------
    period : seconds from one refresh to the next
    stamps : times (s) by which the last flips took effect
    """

    period: float
    stamps: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def earliest(self, begun: float, stamp: float) -> float:
        """Return when the picture of a flip can have come on at the earliest: at the first refresh
        after the flip was ``begun`` (s), and not after its ``stamp``."""
        if len(self.stamps) < _ENOUGH:
            return min(begun, stamp)
        last, half = self.stamps[-1], self.period / 2
        phase = last + statistics.median((stamp - last + half) % self.period - half for stamp in self.stamps)
        return min(stamp, phase + math.ceil((begun - phase) / self.period) * self.period)


def apart(one: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """By how many s one clock is ahead of another, and within how many s that is sure.

    Two clocks are read at the same time only where nothing comes between, and a busy machine comes
    between: of several readings the one that took least counts.
    """
    readings: list[tuple[float, float]] = []
    for _ in range(_READINGS):
        before, now, after = other(), one(), other()
        readings.append((after - before, now - (before + after) / 2))
        if after - before < _AT_ONCE:
            break
    took, ahead = min(readings)
    return ahead, took


#: Seconds by which two clocks must part before it is said.
CLOCK_JUMP = 0.005


class SessionClock:
    """Milliseconds since the window opened, on PsychoPy's clock, which is watched.

    Parameters
    ----------
    now : PsychoPy's clock, in seconds
    say : told when that clock has jumped
    """

    def __init__(self, now: Callable[[], float], say: Callable[[str], None]) -> None:
        self._now, self._say = now, say
        self._zero = now()
        self._beside = now() - time.monotonic()

    def ms(self, at: float) -> float:
        """Seconds on PsychoPy's clock as ms on the session's, which starts when the window opens."""
        return (at - self._zero) * 1000.0

    def jump(self) -> float:
        """By how many ms PsychoPy's clock has moved against the monotonic clock of the system since
        the last call.

        On Linux the former is the wall clock, which may be set while a session runs. 0 when the two
        cannot be read together because the machine is busy.
        """
        beside, within = apart(self._now, time.monotonic)
        if within >= 0.001:
            return 0.0
        jump, self._beside = beside - self._beside, beside
        if abs(jump) > CLOCK_JUMP:
            self._say(
                f"The computer's clock was set while the session ran: it jumped by {jump * 1000:.0f} ms. The step is"
                " marked in the record."
            )
        return jump * 1000.0


#: A duration that rounding changes by more than this share of itself is told about. Rounding to the
#: nearest refresh errs by half a refresh at most, so a fixed number of milliseconds would tell of
#: all displays or of none; what may matter to an experiment is the share.
LARGE = 0.05


def complaints(durations: Iterable[tuple[str, float]], grid: FrameGrid, language: str = "en") -> list[str]:
    """The durations (phase, ms) that a display cannot show well, a sentence each."""
    told: list[str] = []
    for phase, ms in dict.fromkeys(durations):
        refreshes = grid.frames(ms)
        error = 1000.0 * refreshes * grid.period - ms
        if ms >= 1000.0 * grid.period * (1 - 1e-6) and abs(error) <= LARGE * ms:
            continue
        share = error / ms if ms else math.inf
        frames = sentence("window.refresh" if refreshes == 1 else "window.refreshes", language, n=refreshes)
        numbers = {
            "planned": f"{ms:g}",
            "shown": f"{ms + error:.1f}",
            "error": f"{error:+.1f}",
            "share": f"{share:+.0%}",
        }
        what = sentence("window.rounding", language, phase=phase, frames=frames, **numbers)
        told.append(sentence("window.at_rate", language, what=what, hz=f"{grid.hz:.2f}"))
    return told
