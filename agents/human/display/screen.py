"""A virtual screen (Xvfb), for machines without a display and for simulated participants."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ....core.errors import SpanLabError

_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Runs in the child before it becomes Xvfb: Linux is to end it when the process that started it
    is gone, however that ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def virtual_screen(width: int = 1280, height: int = 1024) -> Iterator[str]:
    """Start Xvfb on a free display and point ``DISPLAY`` at it.

    The screen stops with the ``with`` block. Where PsychoPy was used meanwhile it stops when the
    process ends (in any way, also by ``kill -9``): PsychoPy and its keyboard stay connected to the
    first display that they meet, and no X client outlives its display. For the same reason a
    process that uses PsychoPy has one virtual screen in its life; a second call gives the same one
    again.

    Parameters
    ----------
    width, height : in pixels

    Yields
    ------
    The display, such as ``:7``.

    Raises
    ------
    SpanLabError
        when Xvfb is not installed or does not start.
    """
    global _kept
    if _kept is None:
        process, display = _start(width, height)
    else:
        process, display = None, _kept
    before = os.environ.get("DISPLAY")
    os.environ["DISPLAY"] = display
    try:
        yield display
    finally:
        if before is None:
            os.environ.pop("DISPLAY", None)
        else:
            os.environ["DISPLAY"] = before
        if process is not None:
            if "psychopy.visual" in sys.modules:
                _kept = display
                process.returncode = 0  # left running on purpose: it ends with this process
            else:
                _stop(process)


#: the display that PsychoPy is connected to in this process
_kept: str | None = None


def _start(width: int, height: int) -> tuple[subprocess.Popen[bytes], str]:
    server = shutil.which("Xvfb")
    if server is None:
        where = (
            "install it with: sudo apt-get install xvfb"
            if sys.platform.startswith("linux")
            else "it exists on Linux only; use a real display"
        )
        raise SpanLabError(f"a virtual screen needs the X server Xvfb, which is not installed; {where}")
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [server, "-displayfd", str(writer), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt from the keyboard is for us, not for the screen
        preexec_fn=_end_with_parent if sys.platform.startswith("linux") else None,
    )
    os.close(writer)
    with os.fdopen(reader) as pipe:
        number = pipe.readline().strip()
    if not number:
        process.wait(10)
        raise SpanLabError(f"Xvfb did not start (it ended with status {process.returncode}); try it by hand: Xvfb :99")
    return process, f":{number}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
