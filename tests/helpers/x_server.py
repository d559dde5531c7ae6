"""An X server of a test's own (Xvfb), for sessions in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class XServer:
    """A server that runs, and its display, such as ``:3``."""

    process: subprocess.Popen[bytes]
    display: str


@contextmanager
def x_server(*sizes: str) -> Iterator[XServer]:
    """Start Xvfb on a free display, and stop it at the end of the block, if it still runs then.

    Parameters
    ----------
    sizes : of its screens, such as ``1024x768``; several lie side by side
    """
    server = shutil.which("Xvfb")
    if server is None:
        pytest.fail("Xvfb is missing; run 'make setup', or: sudo apt-get install xvfb")
    screens = [word for number, size in enumerate(sizes) for word in ("-screen", str(number), f"{size}x24")]
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [server, "-displayfd", str(writer), *(["+xinerama"] if len(sizes) > 1 else []), *screens, "-nolisten", "tcp"],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": "/tmp"},
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        if not number:
            pytest.fail("Xvfb did not start; try it by hand: Xvfb :99")
        yield XServer(process, f":{number}")
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
