"""Finding the file of a paradigm, and following ``extends``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import ParadigmError, SpanLabError
from ...core.registry import nearest
from .. import library
from ..identity import digest
from . import yaml_source
from .diagnostics import show
from .own_files import file_hashes
from .yaml_source import Document, YamlPath, inherit

_MAX_EXTENDS = 8


def in_library(source: str) -> bool:
    """Return whether a specification is the name of a paradigm, and not a user's file."""
    return not any(mark in source for mark in ("/", "\\", "."))


def locate(source: str | Path) -> Path:
    """The file of a paradigm: by its name in the library, or by its path.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    text = str(source)
    if isinstance(source, str) and in_library(source):
        path = library.path(text)
        if path is None:
            names = library.list_paradigms()
            begin = [name for name in names if text and name.startswith(text)]
            hint = (
                f"; there are {', '.join(begin)}"
                if len(begin) > 1
                else nearest(text, begin or names) or "; see spanlab list"
            )
            raise SpanLabError(
                f"there is no paradigm '{text}'{hint} (a file of your own is given by its path, ending in .yaml)"
            )
        return path
    path = Path(text)
    try:
        if path.is_dir():
            raise SpanLabError(f"{text} is a folder; a paradigm is one file, ending in .yaml")
        if not path.exists():
            raise SpanLabError(f"{text}: there is no such paradigm file")
    except OSError as error:
        raise SpanLabError(f"cannot read {text}: {error.strerror or error}") from None
    return path


def _beside(path: Path, name: str) -> str | Path:
    """Return the file that ``extends: name`` refers to in the file at ``path``: a file beside it,
    or else a paradigm of the library."""
    try:
        return path.parent / name if (path.parent / name).is_file() else name
    except OSError:
        return name


def resolve(path: Path, depth: int = 0) -> Document:
    """The document with ``extends`` followed: the keys of the file itself override those of its
    base; null removes one.

    Raises
    ------
    ParadigmError
        when a file cannot be read as YAML, or the files extend one another in a circle.
    """
    document = yaml_source.read(path)
    if not isinstance(document.data, dict) or "extends" not in document.data:
        return document
    base_name = document.data["extends"]
    if not isinstance(base_name, str):
        raise ParadigmError(
            [document.problem(("extends",), f"expected the name of a paradigm; found {show(base_name)}")]
        )
    if depth >= _MAX_EXTENDS:
        raise ParadigmError([document.problem(("extends",), "paradigms extend one another in a circle, or too deeply")])
    try:
        base = resolve(locate(_beside(path, base_name)), depth + 1)
    except ParadigmError:
        raise
    except SpanLabError as error:
        raise ParadigmError([document.problem(("extends",), str(error))]) from None
    merged, overridden = inherit(base.data if isinstance(base.data, dict) else {}, document.data)

    def is_own(path: YamlPath) -> bool:
        return any(path[:n] in overridden for n in range(1, len(path) + 1))

    lines = {path: line for path, line in base.lines.items() if not is_own(path)} | {
        path: line for path, line in document.lines.items() if is_own(path)
    }
    lines[()] = document.where(())
    return Document(merged, lines, document.name, document.folder)


def own_hash(source: str | Path) -> str:
    """A hash of what a user has written of a paradigm: its file and those of the user's own that it
    extends, without what the library says.

    Raises
    ------
    SpanLabError
        when a file cannot be read.
    """
    contents: list[Any] = []
    folder, files = locate(source).parent, dict[str, Any]()
    while not (isinstance(source, str) and in_library(source)) and len(contents) <= _MAX_EXTENDS:
        path = locate(source)
        data = yaml_source.read(path).data
        contents.append(data)
        files |= file_hashes(data, folder)
        if not isinstance(data, dict) or not isinstance(data.get("extends"), str):
            break
        source = _beside(path, data["extends"])
    return digest([*contents, files] if files else contents)
