"""The image and sound files of a paradigm: which they are, and what is known of them.

A paradigm's images are those that its displays name (``image: faces/01.png``), those that its
factors and draws name, and everything in the files and folders under ``images``, for names that
expressions put together; its sounds likewise. Their hashes become a part of the paradigm's content,
so that its hash covers them, sessions keep them, and trials are compiled without the files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from os.path import isdir, isfile  # unlike those of Path, they take names that no file can have
from pathlib import Path
from typing import Any

from ...core.errors import SpanLabError
from ...core.json_values import as_object, is_whole, weigh
from ...core.packed_tables import sheets
from ...core.registry import nearest
from ...stimuli.own_files import FileFacts, ImageFacts, SoundFacts, name_problem, with_article
from ..identity import digest
from .diagnostics import show
from .expressions import is_expression, is_name, varies
from .yaml_source import MAX_EXTENDS, YamlPath, beside, in_library, locate, read, scalar

KINDS: tuple[type[FileFacts], ...] = (ImageFacts, SoundFacts)
#: so many files of a kind may a paradigm have
MAX_FILES = 5000
Report = Callable[[YamlPath, str], None]


def recorded_files(data: Mapping[str, Any]) -> dict[str, FileFacts]:
    """The files of a paradigm that was read before, from its content; none of a kind where the
    content is as somebody has written it."""
    return {name: facts for kind in KINDS for name, facts in _recorded(data.get(kind.nouns), kind).items()}


def _recorded(records: Any, kind: type[FileFacts]) -> dict[str, FileFacts]:
    facts = {str(name): kind.recorded(value) for name, value in as_object(records).items()}
    return {} if None in facts.values() else {name: fact for name, fact in facts.items() if fact is not None}


def with_files(data: Mapping[str, Any], files: Mapping[str, FileFacts]) -> dict[str, Any]:
    """The content of a paradigm with what is known of its files."""
    named = {
        kind.nouns: {name: facts.to_record() for name, facts in files.items() if isinstance(facts, kind)}
        for kind in KINDS
    }
    return {**data, **{key: facts for key, facts in named.items() if facts}}


def find_files(data: Mapping[str, Any], folder: Path, report: Report) -> dict[str, FileFacts]:
    """Look for the files of a paradigm, and at each of them.

    Parameters
    ----------
    data : the content of the paradigm
    folder : in which its file lies
    report : takes what is wrong with a file, and where it is named
    """
    return {name: facts for kind in KINDS for name, facts in _Search(kind, data, folder, report).files().items()}


#: of a table of conditions: the factor whose levels are its rows, the draw that holds them, and the
#: column that says how often a row comes
TABLE_ROW, TABLE, WEIGHT = "table_row", "table", "weight"


def with_table(data: Mapping[str, Any], folder: Path, report: Report) -> Mapping[str, Any]:
    """The content of a paradigm with the rows of its table of conditions (``draw: {table:
    conditions.csv}``): a factor of their numbers, and a draw for each column."""
    draw, factors = data.get("draw"), data.get("factors") or {}
    if not isinstance(draw, dict) or not isinstance(factors, dict):
        return data
    name = draw.get(TABLE)
    if not isinstance(name, str) or is_expression(name):
        return data
    try:
        if ".." in Path(name).parts or Path(name).is_absolute() or "\\" in name:
            raise ValueError("tables lie in the folder of the paradigm, or in folders below it")
        if not isfile(folder / name):
            raise ValueError(f"there is no such table beside the paradigm{_alike(folder / name)}")
        rows = _table(folder / name)
    except (ValueError, OSError) as error:
        report(("draw", TABLE), f"'{name}': {error}")
        return data
    weights = {str(number): row.pop(WEIGHT, 1) for number, row in enumerate(rows, start=1)}
    levels = [*range(1, len(rows) + 1)] if set(weights.values()) == {1} else weights
    columns = {column: f"={TABLE}[{TABLE_ROW} - 1].{column}" for column in rows[0]}
    others = {key: value for key, value in draw.items() if key != TABLE}
    return {**data, "factors": {TABLE_ROW: levels, **factors}, "draw": {TABLE: rows, **columns, **others}}


def _table(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV or XLSX file, by the names in its first line.

    Raises
    ------
    ValueError, OSError
        when it is no such table.
    """
    lines: list[list[Any]]
    if path.suffix.lower() == ".xlsx":
        lines = next(iter(sheets(path).values()), [])
        widest = max(map(len, lines), default=0)
        lines = [[*line, *[None] * (widest - len(line))] for line in lines]
    elif path.suffix.lower() == ".csv":
        text = path.read_text(encoding="utf-8-sig")
        head = text.partition("\n")[0]
        lines = list(csv.reader(io.StringIO(text), delimiter=";" if head.count(";") > head.count(",") else ","))
        lines = [[scalar(cell.strip()) for cell in line] for line in lines]
    else:
        raise ValueError("a table of conditions is a .csv or an .xlsx file")
    names, *rows = [line for line in lines if any(cell is not None for cell in line)] or [[]]
    if not rows or len(rows) > MAX_FILES:
        raise ValueError(f"expected a line with names, and then 1 to {MAX_FILES} rows; found {len(rows)}")
    if wrong := next((name for n, name in enumerate(names) if not is_name(name) or name in names[:n]), ""):
        raise ValueError(
            f"the column '{wrong}' cannot be a name: use letters, digits and underscores, and each name once"
        )
    if uneven := next((n for n, row in enumerate(rows, start=2) if len(row) != len(names)), 0):
        raise ValueError(f"line {uneven} has {len(rows[uneven - 2])} cells, and the line with the names {len(names)}")
    # dates and times, which programs for tables make of 1-2, are no plain values
    table = [dict(zip(names, row, strict=True)) for row in rows if weigh(row)]
    for number, weight in enumerate((row.get(WEIGHT, 1) for row in table), start=2):
        if not is_whole(weight) or weight < 1:
            raise ValueError(f"line {number}: a weight is a whole number from 1; found {show(weight)}")
    return table


class _Search:
    """The search for the files of one kind."""

    def __init__(self, kind: type[FileFacts], data: Mapping[str, Any], folder: Path, report: Report) -> None:
        self._kind, self._data, self._folder, self._report = kind, data, folder, report
        self._declared = data.get(kind.nouns)
        self._files: dict[str, FileFacts] = {}
        self._checked: set[str] = set()

    def files(self) -> dict[str, FileFacts]:
        """The facts about each file, by name."""
        kind, folder = self._kind, self._folder
        endings = tuple(kind.suffixes)
        for key in ("timeline", "factors", "draw"):
            for name, path in _texts(self._data.get(key), (key,)):
                if name.lower().endswith(endings) and not varies(name):
                    self._look(
                        name, path, key == "timeline" and (path[-1] == kind.noun or path[-2:] == (kind.noun, "file"))
                    )
        for entry, path in _declared(self._declared, kind.nouns):
            if ".." in Path(entry).parts or Path(entry).is_absolute() or "\\" in entry:
                self._report(
                    path,
                    f"'{entry}': {kind.nouns} lie in the folder of the paradigm, or in folders below it; write the path"
                    " from there, with /",
                )
            elif isdir(folder / entry):
                names = list(islice(_in_folder(folder, entry, kind), MAX_FILES + 1))
                if not names:
                    self._report(
                        path,
                        f"there is no {kind.noun} in the folder {folder / entry} (files that end in"
                        f" {', '.join(kind.suffixes)})",
                    )
                for name in names:
                    self._look(name, path, True)
            elif not Path(entry).suffix:
                self._report(path, f"there is no folder {folder / entry}{_alike(folder / entry)}")
            else:
                self._look(entry, path, True)
        if len(self._checked) > MAX_FILES:
            self._report((kind.nouns,), f"more than {MAX_FILES} {kind.nouns}; name only those that the paradigm uses")
        return dict(sorted(self._files.items()))

    def _look(self, name: str, path: YamlPath, must_exist: bool) -> None:
        kind, folder, declared = self._kind, self._folder, self._declared
        if name in self._checked:
            return
        problem = name_problem(name, kind)
        if problem or (not must_exist and not isfile(folder / name)):
            if must_exist and path[0] != "timeline":  # what is wrong with a name in a display is said by the display
                self._report(path, problem)
            return
        self._checked.add(name)
        try:
            if not (folder / name).resolve().is_relative_to(folder.resolve()):
                raise ValueError(
                    f"the file is a link that leads out of the folder of the paradigm; copy the {kind.noun} there"
                )
            if isdir(folder / name):
                raise ValueError(f"it is a folder; {with_article(kind.noun)} is one file")
            if not isfile(folder / name):
                raise ValueError(
                    f"there is no such {kind.noun} beside the paradigm: {folder / name}{_alike(folder / name)}"
                )
            facts = kind.read(folder / name)
            if isinstance(declared, dict) and name in declared and kind.recorded(declared[name]) != facts:
                raise ValueError(
                    f"the {kind.noun} has changed: its SHA-256 is {facts.sha256} now, and another one is declared"
                )
            self._files[name] = facts
        except (ValueError, OSError) as error:
            self._report(path, f"'{name}': {error}")


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
    while not (isinstance(source, str) and in_library(source)) and len(contents) <= MAX_EXTENDS:
        path = locate(source)
        data = read(path).data
        contents.append(data)
        files |= _file_hashes(data, folder)
        if not isinstance(data, dict) or not isinstance(data.get("extends"), str):
            break
        source = beside(path, data["extends"])
    return digest([*contents, files] if files else contents)


def _file_hashes(data: Any, folder: Path) -> dict[str, Any]:
    """The files of a paradigm's own content with their hashes, for a hash of all that a user has
    made.

    Raises
    ------
    SpanLabError
        when one of them is missing or broken.
    """
    problems: list[str] = []
    files = find_files(as_object(data), folder, lambda path, message: problems.append(message))
    if problems:
        raise SpanLabError(problems[0])
    return {name: facts.sha256 for name, facts in files.items()}


def _declared(value: Any, key: str) -> Iterator[tuple[str, YamlPath]]:
    """Yield the entries listed at the top of the file, with their paths. Their form is checked with
    the rest of the file."""
    entries = [value] if isinstance(value, str) else value
    for number, entry in enumerate(entries if isinstance(entries, (list, dict)) else ()):
        if isinstance(entry, str) and entry:
            yield entry, (key, entry if isinstance(value, dict) else number)


def _texts(value: Any, path: YamlPath) -> Iterator[tuple[str, YamlPath]]:
    if isinstance(value, str):
        yield value, path
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*path, key))


def _in_folder(folder: Path, entry: str, kind: type[FileFacts]) -> Iterator[str]:
    """The files of a kind in a folder and below it, in the order of their names; hidden files are
    none."""
    for path in sorted((folder / entry).rglob("*")):
        name = path.relative_to(folder)
        if (
            path.suffix.lower() in kind.suffixes
            and path.is_file()
            and not any(part.startswith(".") for part in name.parts)
        ):
            yield name.as_posix()


def _alike(path: Path) -> str:
    """Suggest a neighbouring file whose name is nearly that of one that does not exist."""
    try:
        return nearest(path.name, [other.name for other in islice(path.parent.iterdir(), MAX_FILES)])
    except OSError:
        return "; there is no such folder either"
