"""Sessions that appear whole or not at all: they are written to a hidden folder beside their
destination and moved when all of them are finished."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.atomic_files import only_writer, sync_folder, written_in
from ..core.errors import SpanLabError

_PREFIX = ".unfinished-import-"
#: how long an import waits for another one into the same folder
_PATIENCE_S = 60.0


@contextmanager
def all_or_none(data: Path) -> Iterator[Path]:
    """A hidden folder for sessions in the making. When the block ends without an error, they are
    moved to ``data``; otherwise they are removed.

    Readers of data folders pass hidden folders by. What a killed process has left there is removed
    by the next one. Imports into one folder wait for each other, so that each sees what the other
    has imported, and no two take the same names.

    Parameters
    ----------
    data : folder for sessions; made when it is missing

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    new = not data.exists()
    with written_in(data, f"sessions to {data}", "choose another folder"):
        _sweep(data)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
    try:
        with only_writer(folder), only_writer(data, _PATIENCE_S):
            yield folder
            _move(folder, data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            (data / ".lock").unlink()  # a program that waits for it has opened it
        if new and data.is_dir() and not any(data.iterdir()):
            data.rmdir()


def _move(folder: Path, data: Path) -> None:
    """Move all sessions, or none: their names are taken first, so that no session that begins
    meanwhile can have one of them."""
    sessions = sorted(path for path in folder.iterdir() if path.is_dir())
    taken: list[Path] = []
    try:
        for session in sessions:
            (data / session.name).mkdir()
            taken.append(data / session.name)
        for session, place in zip(sessions, tuple(taken), strict=True):
            if sys.platform == "win32":
                place.rmdir()  # a folder takes the place of an empty one only elsewhere
            session.rename(place)
            taken.remove(place)
        sync_folder(data)
    except FileExistsError as error:
        raise SpanLabError(f"{error.filename} has been made by another program in the meantime: import again") from None
    except OSError as error:
        raise SpanLabError(f"cannot write sessions to {data}: {error.strerror or error}") from None
    finally:
        for place in taken:
            with suppress(OSError):
                place.rmdir()


def _sweep(data: Path) -> None:
    """Remove what processes that are gone have left."""
    for folder in data.glob(f"{_PREFIX}*"):
        try:
            with only_writer(folder):
                pass
        except SpanLabError:
            continue  # another import is under way
        shutil.rmtree(folder, ignore_errors=True)
