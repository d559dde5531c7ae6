"""The focus of the desktop: where the window lacks it, something else may lie on what is to be
seen, though keys are still read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Focus:
    """Notes when the window loses the focus, and when it has it again.

    Parameters
    ----------
    window : pyglet's
    now : PsychoPy's clock (s)
    """

    def __init__(self, window: Any, now: Callable[[], float]) -> None:
        self._now = now
        #: when it was lost and came back (s); None while it is still away
        self._spans: list[tuple[float, float | None]] = []
        window.push_handlers(on_deactivate=self._lost, on_activate=self._back)

    def _lost(self) -> None:
        if not self._spans or self._spans[-1][1] is not None:
            self._spans.append((self._now(), None))

    def _back(self) -> None:
        if self._spans and self._spans[-1][1] is None:
            self._spans[-1] = self._spans[-1][0], self._now()

    def away(self, since: float, until: float) -> list[tuple[float, float]]:
        """From when to when (s) the focus was away between two moments. What lies before ``until``
        is forgotten then."""
        clipped = [(max(since, lost), min(until, until if back is None else back)) for lost, back in self._spans]
        self._spans = [(lost, back) for lost, back in self._spans if back is None or back > until]
        return [(lost, back) for lost, back in clipped if back > lost]
