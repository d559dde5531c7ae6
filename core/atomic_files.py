"""Files and folders that appear whole or not at all, whatever happens while they are written. Everybody who replaces a file does it here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO

from .errors import SpanLabError

Folders = Literal["none", "own", "all"]


def user_cache() -> Path:
    """Where programs of this user keep what can be fetched or made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanlab"


def sync_folder(folder: Path) -> None:
    """Make sure that the names of new files in a folder are on the disk; Windows does so by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(path: Path, error: OSError, remedy: str) -> SpanLabError:
    return SpanLabError(f"cannot write {path}: {error.strerror or error}{f'; {remedy}' if remedy else ''}")


@contextmanager
def replacing(path: Path, remedy: str = "", folders: Folders = "none", together: bool = False) -> Iterator[Path]:
    """The name of a file to write, beside the place that it takes when the block ends well; it is on the disk then. A file that was there is replaced.

    Parameters
    ----------
    remedy : what the user can do when it cannot be written, as the end of a sentence
    folders : which missing folders are made: none, the file's own, or all above it, too
    together : whether other processes may write the same file at the same time

    Raises
    ------
    SpanLabError
        when it cannot be written; what was there stays as it was.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part" if together else f".{path.name}.part")
    try:
        try:
            if folders != "none":
                path.parent.mkdir(parents=folders == "all", exist_ok=True)
            yield partial
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise _refused(path, error, remedy) from None
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def write_whole(path: Path, content: bytes | memoryview, remedy: str = "", folders: Folders = "none", together: bool = False) -> None:
    """Write a file, whole or not at all, as :func:`replacing` does."""
    with replacing(path, remedy, folders, together) as partial:
        partial.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file to write (UTF-8, lines end as in every system alike), whole or not at all, as :func:`replacing` does."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, under another name beside its place. It takes its place when the block ends well, and is removed otherwise.

    Raises
    ------
    SpanLabError
        when there is something at its place already (an empty folder will do), or it cannot be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise SpanLabError(f"{path} exists; name a new folder, so that nothing is overwritten")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    except OSError as error:
        raise _refused(path, error, "") from None
    try:
        try:
            yield partial
            with suppress(FileNotFoundError):
                path.rmdir()
            partial.rename(path)
        except OSError as error:
            raise _refused(path, error, "") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """The name of a new file or folder to write, in a hidden folder beside its place. It takes its place when the block ends well, and is removed otherwise.

    Raises
    ------
    SpanLabError
        when there is something at its place already, or it cannot be written.
    """
    if path.exists():
        raise SpanLabError(f"{path} exists; name another place, so that nothing is overwritten")
    hidden = path.with_name(f".{path.name}.part")
    try:
        shutil.rmtree(hidden, ignore_errors=True)
        hidden.mkdir(parents=True)
        yield hidden / path.name
        (hidden / path.name).rename(path)
    except OSError as error:
        raise _refused(path, error, "") from None
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
