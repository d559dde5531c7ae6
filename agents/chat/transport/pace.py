"""How many requests per minute a server takes: as declared (a budget), or as its refusals show (a measured pace)."""

from __future__ import annotations

from collections import deque
from typing import Final

_MINUTE_S: Final = 60.0
#: requests may be held up on their way by so much more than those after them: a server counts when they arrive
_JITTER_S: Final = 1.0
#: what was accepted for so long back says what a server takes: long enough for servers that count by the minute
_WINDOW_S: Final = 120.0
#: a pace that was found begins a little under what the server took, and grows by so much a minute
_UNDER: Final = 0.9
_GROWTH: Final = 0.1
#: how long nothing leaves after refusals without a reply in between: after the second this, then twice as long each time
_HOLD_S: Final = 1.0
_LONGEST_HOLD_S: Final = 60.0
#: so many bursts of refusals within a minute say that it is not about how many are under way at once
_BURSTS: Final = 3


class Bucket:
    """A budget a minute, handed out evenly: it holds what flows in within a second, and at least one.

    Never more than ``per_minute`` leave it within any minute and a second, save that what costs more than it holds may leave a full one, which then owes the
    rest. It begins with one: what left before, in another program, may still count.
    """

    def __init__(self, per_minute: float, at: float) -> None:
        self._size = max(1.0, per_minute / _MINUTE_S)
        self._flow = (per_minute - self._size + 1) / (_MINUTE_S + _JITTER_S)
        self._level = 1.0
        self._at = at

    def _fill(self, at: float) -> None:
        if at > self._at:
            self._level = min(self._size, self._level + (at - self._at) * self._flow)
            self._at = at

    def wait(self, amount: float, at: float) -> float:
        """Seconds until so much may be taken."""
        self._fill(at)
        missing = min(amount, self._size) - self._level
        # what rounding leaves over must not become a wait that is too short for any clock
        return 0.0 if missing <= 1e-9 else max(missing / self._flow, 1e-6)

    def take(self, amount: float, at: float) -> None:
        """Take it, or give some back when it is negative."""
        self._fill(at)
        self._level = min(self._size, self._level - amount)


class Pace:
    """The pace that a server takes which says nothing but that it was too much.

    At first there is none. A burst of refusals is one piece of news: what was sent before the first of them says nothing more, and one request alone tries
    whether it is over. When it is refused, too, or when there is news three times within a minute, the server does not mind how many are under way at once but
    how many come in a time. Then nothing leaves for a while (or for as long as the server asks) before the next one tries, and from what the server took in the
    last two minutes follows the pace at which the others go.
    """

    def __init__(self) -> None:
        #: requests a second; None while none was found
        self.rate: float | None = None
        self._accepted: deque[float] = deque()
        self._news: deque[float] = deque()
        self._began: float | None = None
        self._refused = 0
        self._trying = False
        self._calm_from = float("-inf")
        self._hold_until = float("-inf")
        self._last = float("-inf")
        self._grown_at = 0.0

    @property
    def tried(self) -> bool:
        """Whether one request is trying the server, for which the others wait."""
        return self._refused > 0 and self._trying

    def wait(self, at: float) -> float:
        """Seconds until the next request may leave."""
        wait = self._hold_until - at
        if self.rate is not None:
            if at > self._grown_at:
                self.rate *= 1 + _GROWTH * (at - self._grown_at) / _MINUTE_S
                self._grown_at = at
            wait = max(wait, self._last + 1 / self.rate - at)
        return 0.0 if wait <= 1e-9 else max(wait, 1e-6)

    def take(self, at: float) -> None:
        """A request leaves."""
        self._began = at if self._began is None else self._began
        self._last = at
        self._trying = True

    def nothing(self, sent_at: float) -> None:
        """A request came to nothing, for a reason that says nothing of the pace."""
        self._trying &= sent_at < self._calm_from

    def accepted(self, sent_at: float, at: float) -> None:
        """A reply came."""
        self._accepted.append(at)
        while self._accepted and self._accepted[0] < at - _WINDOW_S:
            self._accepted.popleft()
        if sent_at < self._calm_from:
            return  # it was let in before the server had too much
        if self._refused > 1:
            self._find(at)
        self._refused = 0
        self._trying = False

    def refused(self, sent_at: float, at: float, asked_s: float | None = None) -> None:
        """The server had too much; ``asked_s``: how long it asks to be left alone."""
        if sent_at < self._calm_from:
            return
        self._calm_from = at
        self._trying = False
        self._refused += 1
        self._news.append(at)
        while self._news[0] < at - _MINUTE_S:
            self._news.popleft()
        if self._refused > 1:
            self._hold_until = at + (asked_s if asked_s is not None else min(_LONGEST_HOLD_S, _HOLD_S * 2 ** min(self._refused - 2, 30)))
        elif self.rate is not None or len(self._news) >= _BURSTS:
            self._find(at)

    def _find(self, at: float) -> None:
        """The pace, from what was accepted so far."""
        since = max(_HOLD_S, min(_WINDOW_S, at - (at if self._began is None else self._began)))
        self.rate = _UNDER * max(1, len(self._accepted)) / since
        self._grown_at = at
