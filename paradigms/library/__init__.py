"""The paradigms that ship, as YAML files; where the file of any paradigm lies, and what it
``extends``."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import exists, isdir, isfile  # unlike those of Path, they take names that no file can have
from pathlib import Path
from typing import Any

from ...core.errors import ParadigmError, SpanLabError
from ...core.registry import nearest
from ..language.yaml_source import Document, YamlPath, inherit, read

_HERE = Path(__file__).parent
#: files that extend one another, at most
MAX_EXTENDS = 8


def list_paradigms() -> list[str]:
    """The names of all paradigms.

    Examples
    --------
    >>> "vsr" in spanlab.list_paradigms()
    True
    """
    return sorted(path.stem for path in _HERE.glob("*.yaml"))


def path(name: str) -> Path | None:
    """The file of a paradigm, or None."""
    return _HERE / f"{name}.yaml" if name in list_paradigms() else None


def card(name: str) -> Mapping[str, Any]:
    """The content of a paradigm's file with ``extends`` followed, unvalidated: for lists, quickly."""
    data = read(_HERE / f"{name}.yaml").data
    return inherit(dict(card(data["extends"])), data)[0] if "extends" in data else data


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
        file = path(text)
        if file is None:
            names = list_paradigms()
            begin = [name for name in names if text and name.startswith(text)]
            hint = (
                f"; there are {', '.join(begin)}"
                if len(begin) > 1
                else nearest(text, begin or names) or "; see spanlab list"
            )
            raise SpanLabError(
                f"there is no paradigm '{text}'{hint} (a file of your own is given by its path, ending in .yaml)"
            )
        return file
    file = Path(text)
    if isdir(file):
        raise SpanLabError(f"{text} is a folder; a paradigm is one file, ending in .yaml")
    if not exists(file):
        raise SpanLabError(f"{text}: there is no such paradigm file")
    return file


def beside(path: Path, name: str) -> str | Path:
    """The file that ``extends: name`` refers to in the file at ``path``: a file beside it,
    or else a paradigm of the library."""
    return path.parent / name if isfile(path.parent / name) else name


def resolve(path: Path, depth: int = 0) -> Document:
    """The document with ``extends`` followed: the keys of the file itself override those of its
    base; null removes one.

    Raises
    ------
    ParadigmError
        when a file cannot be read as YAML, or the files extend one another in a circle.
    """
    document = read(path)
    if not isinstance(document.data, dict) or "extends" not in document.data:
        return document
    base_name = document.data["extends"]
    if not isinstance(base_name, str):
        from ..language.diagnostics import show  # loads pydantic, which lists of paradigms do without

        raise ParadigmError(
            [document.problem(("extends",), f"expected the name of a paradigm; found {show(base_name)}")]
        )
    if depth >= MAX_EXTENDS:
        raise ParadigmError([document.problem(("extends",), "paradigms extend one another in a circle, or too deeply")])
    try:
        base = resolve(locate(beside(path, base_name)), depth + 1)
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
