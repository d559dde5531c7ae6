"""Block files of the N-back study (AAAI 2024): their two lines, and their places in folders.

``SET/NBACK/B.txt`` (``letters/2back/17.txt``): the items of one block on the first line, their
labels on the second (``m`` for a match, ``-`` for the others). Letters, and positions in grids of 3
x 3 (numbered from 1, row by row), stand without anything between; positions in larger grids, and
then the labels too, are separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanlab.core import Problem, SpanLabError

MATCH, OTHER = "m", "-"
#: no block is longer than this, so that a file which is something else is not read to its end
_MOST_BYTES = 100_000
_LEVEL = re.compile(r"([1-9][0-9]?)back")
_FILE = re.compile(r"(0|[1-9][0-9]{0,5})\.txt")
_GRIDS = re.compile(r"grids(?:_([1-9])[*x×]\1)?(_abstraction(?:_2)?)?")
_ABSTRACTIONS = {"": "nback_spatial", "_abstraction": "nback_abstraction", "_abstraction_2": "nback_abstraction_strict"}


@dataclass(frozen=True, slots=True)
class BlockSet:
    """A set of blocks, by its name.

    Parameters
    ----------
    paradigm : its paradigm
    grid : rows and columns of its grids; None for letters
    """

    paradigm: str
    grid: int | None = None


def set_named(name: str) -> BlockSet | None:
    """The published set of this name (``grids`` alone is 3 x 3), or None."""
    if name == "letters":
        return BlockSet("nback_verbal")
    match = _GRIDS.fullmatch(name)
    return None if match is None else BlockSet(_ABSTRACTIONS[match[2] or ""], int(match[1] or 3))


def name_of(paradigm: str, grid: int | None, cross: str = "*") -> str:
    """The folder that holds the blocks of a paradigm; noise, feedback and reasoning take the
    sequences of the plain one."""
    if grid is None:
        return "letters"
    ending = next((ending for ending, name in _ABSTRACTIONS.items() if name == paradigm), "")
    return f"grids_{grid}{cross}{grid}{ending}"


class LineError(ValueError):
    """Raised where something is wrong with one line of a block file.

    Parameters
    ----------
    line : from 1
    message : what was expected, and what was found
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Lines:
    """The two lines of a block file, as written; ``separated`` by commas or not."""

    items: tuple[str, ...]
    labels: tuple[str, ...]
    separated: bool


def read_lines(text: str) -> Lines:
    """Read a block file.

    Raises
    ------
    LineError
        when it does not hold items and as many labels.
    """
    lines = text.removesuffix("\n").removesuffix("\r").split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    if len(lines) != 2:
        content = f"found {len(lines)} lines" if any(lines) else "the file is empty"
        raise LineError(min(len(lines), 3), f"expected two lines, items and labels; {content}")
    for number, line in enumerate(lines, start=1):
        if not line:
            raise LineError(number, f"{'items' if number == 1 else 'labels'} are missing: the line is empty")
    separated = "," in lines[0]
    if separated != ("," in lines[1]) and len(lines[1]) > 1:
        raise LineError(
            2,
            f"the labels are {'not ' if separated else ''}separated by commas, and the items are"
            f" {'' if separated else 'not'}".rstrip(),
        )
    items, labels = (tuple(line.split(",")) if separated else tuple(line) for line in lines)
    for position, label in enumerate(labels, start=1):
        if label not in (MATCH, OTHER):
            raise LineError(2, f"label {position} is {label!r}; a label is {MATCH} (a match) or {OTHER}")
    if len(labels) != len(items):
        raise LineError(2, f"{len(labels)} labels for {len(items)} items")
    return Lines(items, labels, separated)


def write_lines(lines: Lines) -> str:
    """The text of a block file."""
    between = "," if lines.separated else ""
    return f"{between.join(lines.items)}\n{between.join(lines.labels)}\n"


def read_text(path: Path) -> str:
    """The text of a file that may be a block.

    Raises
    ------
    LineError
        when it cannot be read as text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise LineError(1, f"cannot be read: {error.strerror or error}") from None
    if len(content) > _MOST_BYTES:
        raise LineError(1, f"the file is longer than {_MOST_BYTES} bytes: it is not a block")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LineError(
            content.count(b"\n", 0, error.start) + 1, "this is not text (a byte that is not UTF-8)"
        ) from None


@dataclass(frozen=True, slots=True)
class BlockFile:
    """Place of a block file: ``name`` is ``SET/NBACK/B``."""

    path: Path
    set: str
    n: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.set}/{self.n}back/{self.number}"


def find_blocks(folder: Path) -> tuple[list[BlockFile], list[Problem]]:
    """The block files in a folder that holds sets, or that is one set or one level of a set; and
    other files among them.

    Raises
    ------
    SpanLabError
        when there are none.
    """
    if not folder.is_dir():
        raise SpanLabError(f"{folder} is not a folder; expected one with block files, such as letters/1back/0.txt")
    problems: list[Problem] = []
    here = folder.resolve()
    if _LEVEL.fullmatch(here.name):
        levels = [(here.parent.name, folder)]
    elif levels_here := _levels(folder):
        levels = [(here.name, level) for level in levels_here]
        problems += [
            Problem(str(folder_below), "", "no level of a set; expected folders such as 1back here")
            for folder_below in _folders(folder)
            if folder_below not in levels_here
        ]
    else:
        levels = [(folder_below.name, level) for folder_below in _folders(folder) for level in _levels(folder_below)]
        problems += [
            Problem(str(folder_below), "", "no set of blocks: there are no folders such as 1back in it")
            for folder_below in _folders(folder)
            if not _levels(folder_below)
        ]
    files: list[BlockFile] = []
    for name, level in levels:
        match = _LEVEL.fullmatch(level.resolve().name)
        assert match is not None
        for path in sorted(_visible(level)):
            number = _FILE.fullmatch(path.name)
            if number is None or not path.is_file():
                problems.append(Problem(str(path), "", "no block; expected files such as 0.txt here"))
            else:
                files.append(BlockFile(path, name, int(match[1]), int(number[1])))
    if not files:
        raise SpanLabError(f"{folder} holds no block files; expected a layout such as letters/1back/0.txt")
    return sorted(files, key=lambda file: (file.set, file.n, file.number)), problems


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith("."))


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in _visible(folder) if path.is_dir())


def _levels(folder: Path) -> Sequence[Path]:
    return [path for path in _folders(folder) if _LEVEL.fullmatch(path.name)]
