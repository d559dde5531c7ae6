"""Signals that end a program: handled by a function for a while."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

#: sent when a system or a scheduler ends the program, and when its terminal goes away
ENDING = ("SIGTERM", "SIGHUP")


@contextmanager
def catching(handler: Callable[[int, Any], object] | signal.Handlers, *names: str) -> Generator[None]:
    """Have signals handled by a function until the block ends. Outside the main thread nothing changes.

    Parameters
    ----------
    names : of the signals; those that this system does not know, or that a parent wants to have ignored (nohup), are passed over
    """
    numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
    here = threading.current_thread() is threading.main_thread()
    before = {number: old for number in numbers if here and (old := signal.getsignal(number)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def ending_as_ctrl_c() -> Any:
    """Have the signals that end a program stop what runs as Ctrl-C does: by a ``KeyboardInterrupt``, so that it is recorded and can go on."""
    return catching(signal.default_int_handler, *ENDING)
