"""Reading a YAML file into plain values that remember their lines.

Only the scalars of the YAML 1.2 core schema are recognised (``no`` is a word, ``012`` is a string).
Duplicate keys, tags, merge keys, aliases that explode, deep nesting and very large files are
refused, each with its line.

Where the file of a paradigm lies, and what it ``extends``, is here, too: lists of paradigms need all
of this, and no validators.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import exists, isdir, isfile  # unlike those of Path, they take names that no file can have
from pathlib import Path
from typing import Any

import yaml

from ...core.atomic_files import ordinary
from ...core.errors import MAX_PROBLEMS, ParadigmError, Problem, SpanLabError, shortened
from ...core.json_values import as_list, as_object
from ...core.registry import nearest

_LIBRARY = Path(__file__).parent.parent / "library"

#: keys of a file whose entries are inherited one by one; every other value is replaced as a whole
MERGED = (
    "factors",
    "draw",
    "instructions",
    "translations",
    "effects",
    "designs",
    "source",
    "network",
    "practice",
    "example",
    "triggers",
)


def titled(title: str | Mapping[str, str], language: str = "en") -> str:
    """A title in a language: in English where there is none, and the first one where there is no
    English one either."""
    if isinstance(title, str):
        return title
    return title.get(language) or title.get("en") or next(iter(title.values()))


def inherit(base: dict[str, Any], extension: dict[str, Any]) -> tuple[dict[str, Any], set[YamlPath]]:
    """``base`` with the keys of ``extension``, where null removes one; and the paths at which
    ``extension`` holds."""
    overridden: set[YamlPath] = set()
    return _merge(
        base, {key: value for key, value in extension.items() if key != "extends"}, (), overridden
    ), overridden


def _merge(
    base: dict[str, Any], extension: dict[str, Any], path: YamlPath, overridden: set[YamlPath]
) -> dict[str, Any]:
    merged = dict(base)
    for key, value in extension.items():
        below = (*path, key)
        if len(below) == 1 and key in MERGED and isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = _merge(base[key], value, below, overridden)
            continue
        overridden.add(below)
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


#: A way into a document: keys and list positions.
YamlPath = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
#: values after aliases are followed; a real paradigm has a few hundred
MAX_VALUES = 50_000

# The C parser, where the wheel has it, reads ten times faster.
_LOADER = getattr(yaml, "CLoader", yaml.Loader)
#: characters that YAML does not allow
_STRANGE = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: the first word of a line or of an entry, without a colon
_KEY = re.compile(r"""^ *(- +)*([^\s"'#:\[\]{},-][^\s"'#:\[\]{},]*|"[^"]*"|'[^']*')(?=\s|$)""")
#: a missing colon is noticed where the next one is, after lines of text at most
_NOTICED_WITHIN = 20
#: a key that has the next one within it, with the bracket or the quote between them, which ends after it
_TWO_KEYS = re.compile(r"""[\w-]+ +([\[{][^\]}]*|"[^"]*|'[^']*)$""")
_NO_COLON = "there is a line without a colon; write KEY: VALUE"
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "null": None,
    "Null": None,
    "NULL": None,
    "~": None,
    "": None,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document.

    Parameters
    ----------
    data : plain values (dict, list, str, int, float, bool, None)
    lines : for every path in ``data`` its place, such as ``vsr.yaml:14``
    name : the file's name, as messages show it
    folder : in which the file lies, where it was read from one
    """

    data: Any
    lines: Mapping[YamlPath, str]
    name: str
    folder: Path | None = None

    def where(self, path: YamlPath) -> str:
        """The place of ``path``, or of the nearest enclosing value that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.name)

    def problem(self, path: YamlPath, message: str) -> Problem:
        """A problem at ``path``."""
        return Problem(self.where(path), spell(path), message)


def spell(path: YamlPath) -> str:
    """A path in words: ``timeline step 2 > show > matrix``; list positions count from 1."""
    parts: list[str] = []
    if len(path) > 12:
        path = (*path[:6], "...", *path[-3:])
    for key in path:
        if not isinstance(key, int):
            parts.append(shortened(key))
        elif parts and parts[-1] in ("timeline", "do", "else"):
            parts[-1] += f" step {key + 1}"
        elif parts:
            parts[-1] += f" item {key + 1}"
        else:
            parts.append(f"item {key + 1}")
    return " > ".join(parts)


def scalar(text: str) -> Any:
    """The value of a plain scalar by the YAML 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 40 and _INT.fullmatch(text):
        return int(text)
    if len(text) <= 40 and _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def levels_of(factor: Any) -> list[Any]:
    """The levels of a factor as it stands in the file: in a list, at random, or with weights."""
    if isinstance(factor, dict):
        random = factor.get("random")
        return random if isinstance(random, list) else [scalar(level) for level in factor]
    return as_list(factor)


class _Reader:
    """Builds values from parse events, keeping lines. Its own stack limits make hostile nesting
    harmless."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines: dict[YamlPath, str] = {}
        self.order: list[YamlPath] = []
        self.values = 0
        self.anchors: dict[str, Any] = {}
        #: for every anchor the paths below it
        self.below: dict[str, tuple[YamlPath, list[YamlPath]]] = {}
        self.problems: list[Problem] = []
        self.loader = _LOADER(text)

    def fail(self, mark: Any, message: str, path: YamlPath = ()) -> ParadigmError:
        line = f":{mark.line + 1}" if mark is not None else ""
        return ParadigmError([*self.problems, Problem(f"{self.name}{line}", spell(path), message)])

    def document(self) -> Any:
        loader = self.loader
        loader.get_event()
        if loader.check_event(yaml.StreamEndEvent):
            raise self.fail(None, "the file is empty")
        loader.get_event()
        data = self.value((), 0)
        loader.get_event()
        if not loader.check_event(yaml.StreamEndEvent):
            raise self.fail(
                loader.peek_event().start_mark, "a second document begins here; one paradigm is one document"
            )
        return data

    def value(self, path: YamlPath, depth: int) -> Any:
        event = self.loader.get_event()
        mark = event.start_mark
        self.lines[path] = f"{self.name}:{mark.line + 1}"
        self.order.append(path)
        self.values += 1
        if self.values > MAX_VALUES:
            raise self.fail(mark, f"more than {MAX_VALUES} values", path)
        if depth > MAX_DEPTH:
            raise self.fail(mark, f"nested deeper than {MAX_DEPTH} levels", path)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, path)
        if event.tag is not None and not (isinstance(event, yaml.ScalarEvent) and event.tag == "!"):
            raise self.fail(mark, f"tags such as {event.tag} are not understood; write plain values", path)
        start = len(self.order)
        if isinstance(event, yaml.ScalarEvent):
            result: Any = scalar(event.value) if event.implicit[0] and event.tag is None else event.value
        elif isinstance(event, yaml.SequenceStartEvent):
            result = []
            while not self.loader.check_event(yaml.SequenceEndEvent):
                result.append(self.value((*path, len(result)), depth + 1))
            self.loader.get_event()
        else:
            result = self.mapping(path, depth)
        if event.anchor:
            self.anchors[event.anchor] = result
            self.below[event.anchor] = (path, self.order[start:])
        return result

    def mapping(self, path: YamlPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            event = self.loader.get_event()
            if not isinstance(event, yaml.ScalarEvent):
                raise self.fail(event.start_mark, "a key must be a word", path)
            key, line = event.value, f"{self.name}:{event.start_mark.line + 1}"
            if key == "<<" and event.implicit[0]:
                raise self.fail(
                    event.start_mark, "merge keys (<<) are not understood; use 'extends' for variants", path
                )
            if event.implicit[0] and _TWO_KEYS.match(key):
                raise self.fail(event.start_mark, _NO_COLON, path)
            first = self.lines.get((*path, key))
            value = self.value((*path, key), depth + 1)
            if key in result:
                self.problems.append(Problem(line, spell(path), f"duplicate key '{key}'; it is already at {first}"))
                if len(self.problems) >= MAX_PROBLEMS:
                    raise self.fail(event.start_mark, f"more than {MAX_PROBLEMS} problems; correct these first")
                continue
            # a text below its key may be a line without its colon
            self.lines[(*path, key)] = self.lines[(*path, key)] if isinstance(value, str) else line
            result[key] = value
        self.loader.get_event()
        return result

    def alias(self, event: Any, path: YamlPath) -> Any:
        if event.anchor not in self.anchors:
            raise self.fail(event.start_mark, f"unknown alias '*{event.anchor}'", path)
        anchored, paths = self.below[event.anchor]
        self.values += len(paths)
        if self.values > MAX_VALUES:
            raise self.fail(event.start_mark, f"the aliases in this file expand to more than {MAX_VALUES} values", path)
        for one in paths:
            here = path + one[len(anchored) :]
            self.lines[here] = self.lines[one]
            self.order.append(here)
        return self.anchors[event.anchor]


def _too_large(name: str) -> ParadigmError:
    return ParadigmError([Problem(name, "", f"the file is larger than {MAX_BYTES // 1000} kB")])


def _lacking_colon(lines: Sequence[str], at: int) -> int | None:
    """The line that lacks the colon after its key, where this is the fault that is noticed in a line:
    with a colon there, everything up to that line can be read."""
    for key in (key for key in range(at, max(-1, at - _NOTICED_WITHIN), -1) if _KEY.match(lines[key])):
        mended = [*lines[:key], _KEY.sub(r"\g<0>:", lines[key], count=1), *lines[key + 1 : at + 1]]
        with suppress(yaml.YAMLError):
            list(yaml.parse("\n".join(mended), _LOADER))
            return key
    return None


def parse(text: str, name: str) -> Document:
    """Parse YAML text.

    Raises
    ------
    ParadigmError
        with the file and line of everything that makes the text unreadable.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _too_large(name)
    if (strange := _STRANGE.search(text)) is not None:
        line = text.count("\n", 0, strange.start()) + 1
        raise ParadigmError(
            [Problem(f"{name}:{line}", "", f"not valid YAML: the character {strange[0]!a} is not allowed in it")]
        )
    try:
        reader = _Reader(text, name)
        data = reader.document()
    except yaml.MarkedYAMLError as error:
        what = " ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark or error.context_mark
        at, lines = mark.line if mark else 0, [*text.splitlines(), ""]
        if "\t" in lines[at][: len(lines[at]) - len(lines[at].lstrip())]:
            what = "the line is indented with a tab; use spaces"
        elif (lacking := _lacking_colon(lines, at)) is not None:
            at, what = lacking, _NO_COLON
        raise ParadigmError([Problem(f"{name}:{at + 1}", "", f"not valid YAML: {what}")]) from None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        text_of_error = next(iter(str(error).splitlines()), type(error).__name__)
        raise ParadigmError([Problem(name, "", f"not valid YAML: {text_of_error}")]) from None
    if reader.problems:
        raise ParadigmError(reader.problems)
    return Document(data, reader.lines, name)


def read(path: Path, name: str | None = None) -> Document:
    """Read and parse a YAML file; messages call it ``name`` (its file name when not given).

    Raises
    ------
    SpanLabError
        when the file cannot be read.
    ParadigmError
        when it is not valid.
    """
    shown = name or path.name
    try:
        with ordinary(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _too_large(shown)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        why = f"not UTF-8 text (byte {error.start + 1}: {error.object[error.start]:#04x}); save the file as UTF-8"
        raise ParadigmError([Problem(f"{shown}:{line}", "", why)]) from None
    except OSError as error:
        raise SpanLabError(f"cannot read {path}: {error.strerror or error}") from None
    return replace(parse(text, shown), folder=path.parent)


#: files that extend one another, at most
MAX_EXTENDS = 8


def list_paradigms() -> list[str]:
    """The names of all paradigms.

    Examples
    --------
    >>> "vsr" in spanlab.list_paradigms()
    True
    """
    return sorted(path.stem for path in _LIBRARY.glob("*.yaml"))


def library_file(name: str) -> Path | None:
    """The file of a paradigm of the library, or None."""
    return _LIBRARY / f"{name}.yaml" if name in list_paradigms() else None


def card(name: str) -> Mapping[str, Any]:
    """The content of a paradigm's file with ``extends`` followed, unvalidated: for lists, quickly."""
    data = read(_LIBRARY / f"{name}.yaml").data
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
        file = library_file(text)
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
        raise ParadigmError([document.problem(("extends",), f"expected the name of a paradigm; found {base_name!r}")])
    if depth >= MAX_EXTENDS:
        raise ParadigmError([document.problem(("extends",), "paradigms extend one another in a circle, or too deeply")])
    try:
        base = resolve(locate(beside(path, base_name)), depth + 1)
    except ParadigmError:
        raise
    except SpanLabError as error:
        raise ParadigmError([document.problem(("extends",), str(error))]) from None
    merged, overridden = inherit(as_object(base.data), document.data)

    def is_own(path: YamlPath) -> bool:
        return any(path[:n] in overridden for n in range(1, len(path) + 1))

    lines = {path: line for path, line in base.lines.items() if not is_own(path)} | {
        path: line for path, line in document.lines.items() if is_own(path)
    }
    lines[()] = document.where(())
    return Document(merged, lines, document.name, document.folder)
