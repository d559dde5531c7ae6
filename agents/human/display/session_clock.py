"""The session's clock: milliseconds since the window opened."""

from __future__ import annotations

import time
from collections.abc import Callable

from .frames import apart

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
