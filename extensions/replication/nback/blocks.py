"""N-back blocks of the study (AAAI 2024) as trials, and trials as blocks: one by one, and in sets of files.

``SET/NBACK/B.txt`` (``letters/2back/17.txt``): the items of one block on the first line, their
labels on the second (``m`` for a match, ``-`` for the others). Letters, and positions in grids of 3
x 3 (numbered from 1, row by row), stand without anything between; positions in larger grids, and
then the labels too, are separated by commas.

The labels of a block are kept as they are, for scoring: published blocks hold *unlabelled matches*
(an item that matches the one n back, labelled as if it did not), and somebody who sees everything
is wrong there by the label. They are counted and reported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from spanlab.core import SpanLabError, whole_folder
from spanlab.core.errors import Problem
from spanlab.exchange import ImportedSet, TrialSet, import_sets
from spanlab.paradigms import Generator, Paradigm, load_paradigm, trial_seed
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language import listed
from spanlab.paradigms.samplers import CellNoise, LetterNoise, NBackBlock
from spanlab.paradigms.trials_file import GivenTrial

MATCH, OTHER = "m", "-"
#: no block is longer than this, so that a file which is something else is not read to its end
_MOST_BYTES = 100_000
_LEVEL = re.compile(r"([1-9][0-9]?)back")
_FILE = re.compile(r"(0|[1-9][0-9]{0,5})\.txt")
_GRIDS = re.compile(r"grids(?:_([1-9])[*x×]\1)?(_abstraction(?:_2)?)?")
_ABSTRACTIONS = {"": "nback_spatial", "_abstraction": "nback_abstraction", "_abstraction_2": "nback_abstraction_strict"}


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of blocks, by its name.

    Parameters
    ----------
    paradigm : its paradigm
    grid : rows and columns of its grids; None for letters
    """

    paradigm: str
    grid: int | None = None


def set_named(name: str) -> PublishedSet | None:
    """The published set of this name (``grids`` alone is 3 x 3), or None."""
    if name == "letters":
        return PublishedSet("nback_verbal")
    match = _GRIDS.fullmatch(name)
    return None if match is None else PublishedSet(_ABSTRACTIONS[match[2] or ""], int(match[1] or 3))


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


#: the draw of an N-back paradigm that holds its items
ITEMS = "items"
#: lines of a block file
_ITEMS_LINE, _LABELS_LINE = 1, 2


class UnusedError(LineError):
    """An item that this generator never uses, and the other one does."""


@dataclass(frozen=True, slots=True)
class GivenBlock:
    """A block as a trial: its levels, its draws, and the positions (from 0) of its unlabelled
    matches."""

    levels: Mapping[str, Any]
    draws: Mapping[str, Any]
    unlabelled: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BlockTask:
    """The properties that blocks of one paradigm, level and length must have.

    Parameters
    ----------
    paradigm, levels, generator : of the trials
    sampler : that draws such blocks
    """

    paradigm: Paradigm
    levels: Mapping[str, Any]
    generator: Generator
    sampler: NBackBlock

    @classmethod
    def of(
        cls, paradigm: Paradigm, n: int, length: int, grid: int | None, generator: Generator, lures: str = "free"
    ) -> BlockTask:
        """The task of blocks of ``length`` items, ``n`` back; ``grid`` is None for letters, and
        where the paradigm has grids of one size only.

        Raises
        ------
        SpanLabError
            when the paradigm has no such blocks.
        """
        _need_items(paradigm)
        known = {"n": n, "lures": lures, "block_length": length, "grid": grid}
        levels: dict[str, Any] = {}
        for name, factor in paradigm.factors.items():
            level = known.get(name)
            if level is None and len(factor.levels) > 1:
                raise SpanLabError(
                    f"{paradigm.name} has a factor '{name}' ({listed(factor.levels)}), and N-back blocks do not say its"
                    f" level{_UNSAID.get(name, '')}"
                )
            try:
                levels[name] = paradigm.level(name, next(iter(factor.levels)) if level is None else level)
            except SpanLabError as error:
                raise SpanLabError(f"{error}{_OTHERS.get(name, '')}") from None
        sampler = _sampler(paradigm, {"generator": generator, **levels})
        if sampler.n != n or sampler.length != length or grid not in (None, sampler.grid):
            has, wanted = (
                "letters" if size is None else f"grids of {size} x {size}"
                for size in (sampler.grid, grid or sampler.grid)
            )
            raise SpanLabError(
                f"{paradigm.name} has {sampler.n}-back blocks of {sampler.length} {has}, not {n}-back blocks of"
                f" {length} {wanted}"
            )
        return cls(paradigm, levels, generator, sampler)

    def given(
        self,
        symbols: Sequence[str | int],
        labels: Sequence[str],
        seed: int,
        prefilled: Sequence[bool] = (),
        **draws: Any,
    ) -> GivenBlock:
        """A block of others as a trial.

        Parameters
        ----------
        symbols, labels : letters, or cells from 0; and what they are said to be
        seed : for what is random besides the items and is not given
        prefilled : for each item, whether the protocol gave its answer itself
        draws : what else is known, by name

        Raises
        ------
        ValueError
            when it is no such block; the message says why.
        """
        items = self.sampler.described(symbols, labels, prefilled)
        try:
            random = drawn_values(self.paradigm, self.levels, seed, self.generator, {**draws, ITEMS: items})
        except SpanLabError as error:
            raise ValueError(
                str(error).removeprefix(f"{self.paradigm.name}: the draw '{ITEMS}' that was given: ")
            ) from None
        return GivenBlock(self.levels, random, tuple(self.sampler.unlabelled(items)))

    def noise(self, shown: Sequence[str | Sequence[Sequence[Any]]]) -> dict[str, Any]:
        """The draw of the noise, by name, from what was shown: for each item the whole string
        around a letter, or ``[cell, sign]`` of a grid's noise.

        Raises
        ------
        ValueError
            when there is noise where the paradigm has none.
        """
        for draw in self.paradigm.draws:
            if draw.sampler is not None and draw.sampler.cls in (LetterNoise, CellNoise):
                return {draw.name: list(shown)}
        noisy = next((number for number, sign in enumerate(shown, start=1) if len(sign) > isinstance(sign, str)), None)
        if noisy is not None:
            raise ValueError(f"trial {noisy}: there is noise around the item, and {self.paradigm.name} has none")
        return {}

    def read(self, lines: Lines, seed: int) -> GivenBlock:
        """A block file as a trial.

        Raises
        ------
        LineError
            when it is no such block.
        """
        symbols = [self._symbol(position, text, lines.separated) for position, text in enumerate(lines.items, start=1)]
        try:
            return self.given(symbols, lines.labels, seed)
        except ValueError as error:
            raise LineError(_LABELS_LINE, str(error)) from None

    def _symbol(self, position: int, text: str, separated: bool) -> str | int:
        grid, letters = self.sampler.grid, self.sampler.symbols or ()
        if grid is None:
            if text not in letters:
                raise LineError(
                    _ITEMS_LINE,
                    f"item {position} is {text!r}; the letters of {self.paradigm.name} are {' '.join(letters)}",
                )
            return text
        if grid > 3 and not separated:
            raise LineError(_ITEMS_LINE, f"positions in a grid of {grid} x {grid} are separated by commas")
        if not (
            text.isascii()
            and text.isdigit()
            and not text.startswith("0")
            and int(text[:9]) <= grid**2
            and len(text) < 9
        ):
            raise LineError(
                _ITEMS_LINE,
                f"item {position} is {text!r}; the positions of a grid of {grid} x {grid} are 1 to {grid**2}",
            )
        cell = int(text) - 1
        if cell in self.sampler.unused:
            unused = " and ".join(str(position + 1) for position in self.sampler.unused)
            raise UnusedError(
                _ITEMS_LINE, f"item {position} is '{text}'; published blocks of {grid} x {grid} never use {unused}"
            )
        return cell

    def drawn(self, seed: int) -> Lines:
        """A block of our own, as a block file has it."""
        items = drawn_values(self.paradigm, self.levels, seed, self.generator)[ITEMS]
        grid = self.sampler.grid
        symbols = tuple(str(item["symbol"]) if grid is None else str(item["symbol"] + 1) for item in items)
        return Lines(symbols, tuple(item["label"] for item in items), separated=grid is not None and grid > 3)


_OTHERS = {
    "block_length": (
        ". For blocks of other lengths extend the paradigm in a file of yours (extends: NAME, factors: {block_length:"
        " [LENGTH]}), and name that file with --as"
    )
}
_UNSAID = {"grid": ": name the folder of the set by the size of its grids, such as grids_3x3"}


def _need_items(paradigm: Paradigm) -> None:
    if not any(
        draw.name == ITEMS and draw.sampler is not None and draw.sampler.cls is NBackBlock for draw in paradigm.draws
    ):
        raise SpanLabError(f"{paradigm.name} is not an N-back paradigm: it draws no '{ITEMS}' with {NBackBlock.name}")


def _sampler(paradigm: Paradigm, env: dict[str, Any]) -> NBackBlock:
    """The sampler of a paradigm's items, for these levels.

    Raises
    ------
    SpanLabError
        when its items are labelled otherwise.
    """
    for draw in paradigm.draws:
        if draw.name == ITEMS and draw.sampler is not None:
            sampler = draw.sampler.build(env)
            if isinstance(sampler, NBackBlock) and (sampler.match, sampler.other) == (MATCH, OTHER):
                return sampler
        elif draw.value is not None:
            env[draw.name] = paradigm.reader.fill(draw.value, ("draw", draw.name), env)
    raise SpanLabError(f"{paradigm.name} labels its items otherwise than with {MATCH} and {OTHER}")


@dataclass(frozen=True, slots=True)
class BlockSet(TrialSet):
    """The blocks of one paradigm.

    Parameters
    ----------
    unlabelled : ``SET/NBACK/B`` of blocks with unlabelled matches, and which of their items (from
        1) these are
    """

    unlabelled: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def import_blocks(
    folder: Path,
    output: Path,
    paradigm: str | None = None,
    generator: Generator | None = None,
    seed: int = 1,
    skip_malformed: bool = False,
) -> list[ImportedSet[BlockSet]]:
    """Read block files into trials files, one for each paradigm.

    Parameters
    ----------
    folder : with sets of blocks (``letters/1back/0.txt``), one set, or one level of a set
    output : a new folder for the trials files, which appears whole or not at all
    paradigm : whose trials they are, when the set's name does not say or the blocks serve another
        one (feedback, reasoning, noise)
    generator : whose blocks they are; when it is not given, the published one, unless that cannot
        have made them
    seed : for what is random besides the items, such as noise
    skip_malformed : leave out what is malformed, instead of importing nothing

    Raises
    ------
    SpanLabError
        when there is nothing to import, or (unless it is left out) for everything that is
        malformed, by file and line.
    """
    block_files, problems = find_blocks(folder)
    read = [
        _read_blocks(loaded, files, generator, seed) for loaded, files in _by_paradigm(folder, block_files, paradigm)
    ]
    return import_sets(
        folder, output, [blocks.as_set() for blocks in read], skip_malformed, problems=problems, unit="block"
    )


def _by_paradigm(
    folder: Path, block_files: Sequence[BlockFile], paradigm: str | None
) -> list[tuple[Paradigm, list[BlockFile]]]:
    names = sorted({file.set for file in block_files})
    if paradigm is not None and len(names) > 1:
        raise SpanLabError(
            f"--as names the paradigm of one set; {folder} holds {len(names)} ({', '.join(names)}): import them one"
            " by one"
        )
    grouped: dict[str, tuple[Paradigm, list[BlockFile]]] = {}
    for name, files in groupby(block_files, lambda file: file.set):
        known = set_named(name)
        whose = paradigm or (None if known is None else known.paradigm)
        if whose is None:
            raise SpanLabError(
                f"{folder}: the name of the set '{name}' does not say whose blocks these are; import it with --as"
                " PARADIGM"
            )
        grouped.setdefault(whose, (load_paradigm(whose), []))[1].extend(files)
    return list(grouped.values())


@dataclass(slots=True)
class _Blocks:
    """The block files of one paradigm, read."""

    paradigm: Paradigm
    generator: Generator
    sets: list[str]
    trials: list[GivenTrial] = field(default_factory=list)
    unlabelled: dict[str, tuple[int, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def as_set(self) -> BlockSet:
        """The blocks as trials, and what the trials file says about where they come from."""
        source = {
            "files": "N-back block files",
            "sets": self.sets,
            "labels": "as in the files",
            "unlabelled_matches": sum(map(len, self.unlabelled.values())),
            "left_out": len(self.problems),
        }
        return BlockSet(
            self.paradigm, [*self.problems, *self.trials], self.generator, source, unlabelled=self.unlabelled
        )


def _read_blocks(paradigm: Paradigm, files: Sequence[BlockFile], generator: Generator | None, seed: int) -> _Blocks:
    blocks = _Blocks(paradigm, generator or "published", sorted({file.set for file in files}))
    for file in files:
        try:
            lines = read_lines(read_text(file.path))
            given = _task(paradigm, file, lines, blocks.generator).read(
                lines, trial_seed("session", seed, _index(file.n, file.number))
            )
        except UnusedError as error:
            if generator is None:
                return _read_blocks(paradigm, files, "corrected", seed)
            blocks.problems.append(Problem(f"{file.path}:{error.line}", "", str(error)))
        except LineError as error:
            blocks.problems.append(Problem(f"{file.path}:{error.line}", "", str(error)))
        else:
            blocks.trials.append(GivenTrial(file.name, given.levels, given.draws))
            if given.unlabelled:
                blocks.unlabelled[file.name] = tuple(position + 1 for position in given.unlabelled)
    return blocks


def _task(paradigm: Paradigm, file: BlockFile, lines: Lines, generator: Generator) -> BlockTask:
    known = set_named(file.set)
    try:
        return BlockTask.of(paradigm, file.n, len(lines.items), None if known is None else known.grid, generator)
    except SpanLabError as error:
        raise LineError(1, str(error)) from None


def _index(n: int, number: int) -> int:
    """The number of a block among all: it does not depend on which others there are."""
    return number * 100 + n


def export_blocks(
    paradigm: Paradigm,
    output: Path,
    blocks: int = 50,
    ns: Sequence[int] | None = None,
    length: int = 24,
    lures: str = "free",
    generator: Generator = "corrected",
    seed: int = 1,
) -> dict[Path, int]:
    """Write blocks of a paradigm as block files, in the published layout: a folder for each set
    (each size of grids is one).

    Returns
    -------
    the folders of the sets, with their numbers of files

    Raises
    ------
    SpanLabError
        when the paradigm has no such blocks, or a set is there already; nothing is written then.
    """
    levels = paradigm.factors["n"].levels if "n" in paradigm.factors else (1,)
    sizes: Sequence[int | None] = paradigm.factors["grid"].levels if "grid" in paradigm.factors else [None]
    sets: dict[Path, dict[str, Lines]] = {}
    for size in sizes:
        tasks = [BlockTask.of(paradigm, n, length, size, generator, lures) for n in ns or levels]
        path = output / name_of(paradigm.name, tasks[0].sampler.grid, "x" if sys.platform == "win32" else "*")
        if path.exists():
            raise SpanLabError(f"{path} exists; name another folder, so that nothing is overwritten")
        sets[path] = {
            f"{task.sampler.n}back/{number}.txt": task.drawn(
                trial_seed("session", seed, _index(task.sampler.n, number))
            )
            for task in tasks
            for number in range(blocks)
        }
    for path, files in sets.items():
        with whole_folder(path) as partial:
            for name, lines in files.items():
                (partial / name).parent.mkdir(exist_ok=True)
                (partial / name).write_text(write_lines(lines), encoding="ascii", newline="\n")
    return {path: len(files) for path, files in sets.items()}
