"""Trials of a session that were cut off and replaced: how many there may be, and how soon one
follows another."""

# pyright: strict
from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from spanlab.core import SpanLabError

#: So many trials in a minute are replaced at once; after each further one the page waits, twice as
#: long every time.
_AT_ONCE, _WITHIN_S = 5, 60.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 20.0


class TooManyReplacementsError(SpanLabError):
    """More trials had to be replaced than the study allows."""


class Replacements:
    """Counts the trials that had to be replaced.

    Parameters
    ----------
    before : how many there were in earlier parts of the session
    most : so many are allowed; None for any number
    clock : of the server (s)
    """

    def __init__(self, before: int = 0, most: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.count, self.most = before, most
        self._clock = clock
        self._recent: deque[float] = deque(maxlen=100)

    def add(self) -> None:
        """Count a trial that was cut off."""
        self.count += 1
        self._recent.append(self._clock())

    def wait_s(self) -> float:
        """For how long the next trial waits (s)."""
        now = self._clock()
        over = sum(now - at < _WITHIN_S for at in self._recent) - _AT_ONCE
        return 0.0 if over <= 0 else min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (over - 1))

    def check(self) -> None:
        """Check that another trial may be taken.

        Raises
        ------
        TooManyReplacementsError
            when there were too many.
        """
        if self.most is not None and self.count > self.most:
            raise TooManyReplacementsError(f"{self.count} trials had to be replaced, and the study allows {self.most}")
