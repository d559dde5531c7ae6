"""One writer of a folder at a time, on every operating system; the lock ends with the process, however that ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import SpanLabError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    _TAKEN: tuple[type[OSError], ...] = (OSError,)
else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _TAKEN = (BlockingIOError,)


class TakenError(SpanLabError):
    """Somebody else writes the folder."""


@contextmanager
def only_writer(folder: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Be the only process that writes a folder. The operating system ends the lock with the process, however that ends.

    Parameters
    ----------
    patience_s : how long to wait for another process

    Raises
    ------
    TakenError
        when another process writes it.
    SpanLabError
        when the folder cannot be written.
    """
    try:
        file = (folder / ".lock").open("ab")
    except OSError as error:
        raise SpanLabError(f"cannot write {folder}: {error.strerror or error}") from None
    with file:
        until = time.monotonic() + patience_s
        while True:
            try:
                _lock(file)
            except _TAKEN:
                if time.monotonic() >= until:
                    raise TakenError(f"{folder} is being run by another process; wait until that one has ended") from None
                time.sleep(0.05)
                continue
            except OSError:
                pass  # a file system without locks (some network drives): then nobody else is looked out for
            break
        yield
