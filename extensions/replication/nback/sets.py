"""Sets of N-back blocks: folders of block files to trials files, and back."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from spanlab.core import Problem, SpanLabError, whole_folder
from spanlab.exchange import ImportedSet, TrialSet, import_sets
from spanlab.paradigms import Generator, GivenTrial, Paradigm, load_paradigm, trial_seed

from .blocks import BlockTask, UnusedError
from .files import BlockFile, LineError, Lines, find_blocks, name_of, read_lines, read_text, set_named, write_lines


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
        grid = tasks[0].sampler.grid
        path = output / name_of(paradigm.name, grid, "x" if sys.platform == "win32" else "*")
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
