"""What a session needs of the disk: one writer at a time, and new names that outlast a power cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import SpanLabError

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


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Be the only process that writes this session. The operating system ends the lock with the process, however that ends.

    Raises
    ------
    SpanLabError
        when another process is running the session, or the folder cannot be written.
    """
    try:
        file = (folder / ".lock").open("ab")
    except OSError as error:
        raise SpanLabError(f"cannot write {folder}: {error.strerror or error}") from None
    with file:
        try:
            _lock(file)
        except _TAKEN:
            raise SpanLabError(f"{folder} is being run by another process; wait until that one has ended") from None
        except OSError:
            pass  # a file system without locks (some network drives): then nobody else is looked out for
        yield


def sync_folder(folder: Path) -> None:
    """Make sure that the names of new files in a folder are on the disk; Windows does so by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
