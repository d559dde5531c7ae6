"""How much work something is, told without a clock on the wall: processor time as a multiple of a
fixed piece of work on the same machine, at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds after which something that is waited for will never come. Only what hangs takes so long,
#: on a machine however busy.
HANGS_S = 300.0


def unit() -> float:
    """The processor time of this process for a million additions, at best of three: some hundredths
    of a second."""
    best = float("inf")
    for _ in range(3):
        began, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number
        best = min(best, time.process_time() - began)
    return best


_KNOWN = [0.0]


@contextmanager
def at_most(units: float) -> Iterator[None]:
    """What is done inside takes at most so many times the processor time of a million additions.
    Waiting costs nothing, and neither does other people's work.

    Parameters
    ----------
    units : of about 0.03 to 0.1 seconds, as machines are
    """
    began = time.process_time()
    yield
    spent = time.process_time() - began
    _KNOWN[0] = _KNOWN[0] or unit()
    if spent > units * _KNOWN[0]:  # a machine that is slower now than it was then
        _KNOWN[0] = max(_KNOWN[0], unit())
    assert spent <= units * _KNOWN[0], (
        f"{spent / _KNOWN[0]:.0f} times the work of a million additions, and {units:g} at most was meant"
    )
