"""Files and folders that appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..errors import SpanLabError


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file to write (UTF-8, lines end as in every system alike). It takes its place when the block ends well; one that was there is replaced then.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError as error:
            raise SpanLabError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


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
        raise SpanLabError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        try:
            yield partial
            with suppress(FileNotFoundError):
                path.rmdir()
            partial.rename(path)
        except OSError as error:
            raise SpanLabError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
