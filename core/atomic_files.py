"""Files and folders that appear whole or not at all, whatever happens while they are written, and
folders with one writer at a time.

Everybody who replaces a file does it here. The lock on a folder is the operating system's, and ends
with the process, however that ends.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, TextIO, cast

from .errors import SpanLabError, UnwritableError

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
def only_writer(folder: Path, patience_s: float = 0.0) -> Generator[None]:
    """Be the only process that writes a folder. The operating system ends the lock with the
    process, however that ends.

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
        raise UnwritableError(f"cannot write {folder}: {error.strerror or error}") from None
    with file:
        until = time.monotonic() + patience_s
        while True:
            try:
                _lock(file)
            except _TAKEN:
                if time.monotonic() >= until:
                    raise TakenError(f"{folder} is in use by another process; wait until it has ended") from None
                time.sleep(0.05)
                continue
            except OSError:
                pass  # a file system without locks (some network drives): then nobody else is looked out for
            break
        yield


Folders = Literal["none", "own", "all"]


def user_cache() -> Path:
    """The user's cache folder, for files that can be fetched or made again."""
    variable, usual = ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", ".cache")
    return Path(os.environ.get(variable) or Path.home() / usual) / "spanlab"


def ordinary(path: Path) -> Path:
    """The path of what is going to be read as a file. Reading a pipe or a device might never end.

    Raises
    ------
    SpanLabError
        when it is one of them.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SpanLabError(f"cannot read {path}: it is not an ordinary file")
    return path


def sync_folder(folder: Path) -> None:
    """Make sure that the names of new files in a folder are on the disk; Windows does so by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(path: Path | str, error: OSError, remedy: str) -> SpanLabError:
    return UnwritableError(f"cannot write {path}: {error.strerror or error}{f'; {remedy}' if remedy else ''}")


@contextmanager
def replacing(
    path: Path, remedy: str = "", folders: Folders = "none", together: bool = False, mode: int = 0o666
) -> Generator[Path]:
    """The name of a file to write, beside the place that it takes when the block ends well; it is
    on the disk then. A file that was there is replaced; a link that has this name is not followed.

    Parameters
    ----------
    remedy : what the user can do when it cannot be written, as the end of a sentence
    folders : which missing folders are made: none, the file's own, or all above it, too
    together : whether other processes or threads may write the same file at the same time
    mode : permissions of the file from its creation on, as far as the system's mask leaves them

    Raises
    ------
    SpanLabError
        when it cannot be written; what was there stays as it was.
    """
    writer = f".{os.getpid()}-{threading.get_ident()}" if together else ""
    partial = path.with_name(f".{path.name}{writer}.part")
    try:
        try:
            if folders != "none":
                path.parent.mkdir(parents=folders == "all", exist_ok=True)
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), mode))
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


def write_whole(
    path: Path,
    content: bytes | memoryview,
    remedy: str = "",
    folders: Folders = "none",
    together: bool = False,
    mode: int = 0o666,
) -> None:
    """Write a file, whole or not at all, as :func:`replacing` does."""
    with replacing(path, remedy, folders, together, mode) as partial:
        partial.write_bytes(content)


@contextmanager
def written_in(folder: Path, what: str = "", remedy: str = "", mode: int = 0o777) -> Generator[None]:
    """Make a folder where it is missing, for a block that writes into it.

    Parameters
    ----------
    what : what is written, as the message names it, such as ``the report to DIR``; the folder when
        empty
    remedy : what the user can do when it cannot be written, as the end of a sentence
    mode : permissions of a new folder, as far as the system's mask leaves them

    Raises
    ------
    SpanLabError
        when the folder cannot be made, or something cannot be written in the block.
    """
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise SpanLabError(str(_refused(what or folder, error, remedy))) from None


def make_folder(folder: Path, what: str = "", remedy: str = "", mode: int = 0o777) -> None:
    """Make a folder where it is missing, as :func:`written_in` does."""
    with written_in(folder, what, remedy, mode):
        pass


@contextmanager
def aside(path: Path) -> Generator[Path]:
    """A hidden folder beside a place, in which what takes the place is made: by one process at a time. It is gone
    when the block ends; what a killed process has left in it is removed by the next. A link in its place is removed,
    and not followed.

    Raises
    ------
    TakenError
        when another process makes the same.
    SpanLabError
        when it cannot be written.
    """
    hidden = path.with_name(f".{path.name}.part")
    try:
        if hidden.is_symlink():
            hidden.unlink()
        hidden.mkdir(parents=True, exist_ok=True)
        with only_writer(hidden):
            try:
                for left in hidden.iterdir():
                    if left.is_dir():
                        shutil.rmtree(left)
                    elif left.name != ".lock":
                        left.unlink()
                yield hidden
            finally:
                shutil.rmtree(hidden, ignore_errors=True)
    except OSError as error:
        raise _refused(path, error, "") from None


@contextmanager
def whole_file(path: Path) -> Generator[TextIO]:
    """A text file to write (UTF-8, lines end as in every system alike), whole or not at all. A file that was there
    is replaced."""
    with aside(path) as hidden:
        with (hidden / path.name).open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        (hidden / path.name).replace(path)
        sync_folder(path.parent)


@contextmanager
def whole_path(path: Path) -> Generator[Path]:
    """The name of a new file or folder to write, in a hidden folder beside its place. It takes its
    place when the block ends well, and is removed otherwise.

    Raises
    ------
    SpanLabError
        when there is something at its place already (an empty folder will do), or it cannot be
        written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise SpanLabError(f"{path} exists; name a new folder or file, so that nothing is overwritten")
    with aside(path) as hidden:
        yield hidden / path.name
        if path.exists():
            path.rmdir()
        (hidden / path.name).rename(path)


@contextmanager
def whole_folder(path: Path) -> Generator[Path]:
    """A new folder to fill, as :func:`whole_path` does."""
    with whole_path(path) as partial:
        partial.mkdir()
        yield partial


def first_free_folder(
    parent: Path, names: Iterable[str], fill: Callable[[Path, str], object], mode: int = 0o777
) -> Path:
    """Make a folder together with its first files, under the first name that nothing has: it is
    there with all of them, or not at all. What a killed process of this computer has left is removed.

    Parameters
    ----------
    parent : made when it is missing
    fill : writes the files, given where and the name that the folder is going to have
    mode : permissions of the folder, as far as the system's mask leaves them

    Raises
    ------
    SpanLabError
        when it cannot be written, or no name is free.
    """
    import psutil

    ours = f".{platform.node()}-"
    partial = parent / f"{ours}{os.getpid()}-{secrets.token_hex(4)}.part"
    new, name = not os.path.exists(parent), ""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f"{ours}*-*.part"):
            process = left.name.removeprefix(ours).rpartition("-")[0]
            if re.fullmatch("[0-9]{1,9}", process) and not psutil.pid_exists(int(process)):
                shutil.rmtree(left, ignore_errors=True)
        partial.mkdir(mode)
        for name in names:
            if os.path.lexists(parent / name):
                continue
            fill(partial, name)
            try:
                partial.rename(parent / name)
            except OSError as error:
                if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                    continue  # taken at this very moment
                raise
            sync_folder(parent)
            return parent / name
    except UnwritableError as error:
        raise UnwritableError(str(error).replace(partial.name, name)) from None
    except OSError as error:
        raise _refused(parent, error, "") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if new:
            with suppress(OSError):
                parent.rmdir()  # where nothing came of it
    raise SpanLabError(f"{parent} has a folder for each of these names already: {name} is the last")


#: So many bytes are written to see whether there is room again.
_ROOM = 64 * 1024


def check_room(folder: Path) -> None:
    """Check that something can be written in a folder, by writing it and removing it again.

    Raises
    ------
    UnwritableError
        when it cannot.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _refused(folder, error, "") from None


#: A line of JSON as text, without its end.
json_text: Callable[[Mapping[str, Any]], str] = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def write_json(path: Path, content: Mapping[str, Any], together: bool = False) -> None:
    """Write a JSON file, whole or not at all, as :func:`replacing` does.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    write_whole(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"), together=together)


def json_line(content: Mapping[str, Any]) -> bytes:
    """A line of JSON."""
    return json_text(content).encode("ascii") + b"\n"


def append_line(path: Path, content: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file; it is on the disk when this returns. A last line that a power
    cut has left unfinished is removed first: nobody has been told that it is there.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    line = json_line(content)
    try:
        new = not path.exists()
        with path.open("ab+") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(path.parent)
    except OSError as error:
        raise UnwritableError(
            f"cannot write {path}: {error.strerror or error}; free some space, or check the disk"
        ) from None


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
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise SpanLabError(f"{path}:{number} is damaged; restore the file from a copy")
        lines.append(cast(dict[str, Any], content))
    return lines
