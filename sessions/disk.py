"""What sessions need of the disk: one writer at a time, files that are whole or not there, and new names that outlast a power cut."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

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
def only_writer(folder: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Be the only process that writes this session. The operating system ends the lock with the process, however that ends.

    Parameters
    ----------
    patience_s : how long to wait for another process

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
        until = time.monotonic() + patience_s
        while True:
            try:
                _lock(file)
            except _TAKEN:
                if time.monotonic() >= until:
                    raise SpanLabError(f"{folder} is being run by another process; wait until that one has ended") from None
                time.sleep(0.05)
                continue
            except OSError:
                pass  # a file system without locks (some network drives): then nobody else is looked out for
            break
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


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise SpanLabError(f"cannot write {path}: {error.strerror or error}") from None


def append_line(path: Path, content: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file; it is on the disk when this returns. A last line that a power cut has left unfinished is removed first: nobody has been
    told that it is there.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    line = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
    try:
        new = not path.exists()
        with path.open("ab+") as file:
            file.seek(0)
            whole = file.read()
            file.truncate(whole.rfind(b"\n") + 1)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(path.parent)
    except OSError as error:
        raise SpanLabError(f"cannot write {path}: {error.strerror or error}; make room, or see to the disk") from None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines that :func:`append_line` has written, save one that was cut off at the end.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or a line in it is damaged.
    """
    try:
        whole = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise SpanLabError(f"cannot read {path}: {error.strerror or error}") from None
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(whole[: whole.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            content = json.loads(line)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise SpanLabError(f"{path}:{number} is damaged; restore the file from a copy")
        lines.append(content)
    return lines
