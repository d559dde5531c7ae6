"""Sessions that appear whole or not at all: they are written to a hidden folder beside their destination and moved when all of them are finished."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core.atomic_files import only_writer, sync_folder
from ..core.errors import SpanLabError

_PREFIX = ".unfinished-import-"


@contextmanager
def all_or_none(data: Path) -> Iterator[Path]:
    """A hidden folder for sessions in the making. When the block ends without an error, they are moved to ``data``; otherwise they are removed.

    Readers of data folders pass hidden folders by. What a killed process has left there is removed by the next one.

    Parameters
    ----------
    data : folder for sessions; made when it is missing

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    new = not data.exists()
    try:
        data.mkdir(parents=True, exist_ok=True)
        _sweep(data)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
    except OSError as error:
        raise SpanLabError(f"cannot write sessions to {data}: {error.strerror or error}; choose another folder") from None
    try:
        with only_writer(folder):
            yield folder
            _move(folder, data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if new and data.is_dir() and not any(data.iterdir()):
            data.rmdir()


def _move(folder: Path, data: Path) -> None:
    try:
        for session in sorted(path for path in folder.iterdir() if path.is_dir()):
            session.rename(data / session.name)
        sync_folder(data)
    except OSError as error:
        raise SpanLabError(f"cannot write sessions to {data}: {error.strerror or error}") from None


def _sweep(data: Path) -> None:
    """Remove what processes that are gone have left."""
    for folder in data.glob(f"{_PREFIX}*"):
        try:
            with only_writer(folder):
                pass
        except SpanLabError:
            continue  # another import is under way
        shutil.rmtree(folder, ignore_errors=True)
