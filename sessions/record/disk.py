"""What sessions need of the disk: one writer at a time, files that are whole or not there, and new names that outlast a power cut."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ...core.atomic_files import sync_folder as sync_folder
from ...core.atomic_files import write_whole
from ...core.errors import SpanLabError
from ...core.locks import only_writer as only_writer

_LINES = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    write_whole(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))


def json_line(content: Mapping[str, Any]) -> bytes:
    """A line of JSON."""
    return _LINES.encode(content).encode("ascii") + b"\n"


def append_line(path: Path, content: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file; it is on the disk when this returns. A last line that a power cut has left unfinished is removed first: nobody has been
    told that it is there.

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
        lines.append(cast(dict[str, Any], content))
    return lines
