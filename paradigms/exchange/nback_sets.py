"""Sets of N-back blocks: folders of block files to trials files, and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from ...errors import Problem, SpanLabError
from ..identity import trial_seed
from ..paradigm import Generator, Paradigm, load_paradigm
from ..trials_file import GivenTrial, write_trials
from ..whole import whole_folder
from .malformed import refused, told
from .nback_blocks import BlockTask
from .nback_files import BlockFile, BlockSet, LineError, Lines, find_blocks, name_of, read_lines, read_text, set_named, write_lines


@dataclass(slots=True)
class ImportedBlocks:
    """What came of an import.

    Parameters
    ----------
    files : trials files with their number of blocks
    unlabelled : ``SET/NBACK/B`` of blocks with unlabelled matches, and which of their items (from 1) these are
    left_out : what was malformed and skipped on request
    """

    files: dict[Path, int] = field(default_factory=dict)
    unlabelled: dict[str, tuple[int, ...]] = field(default_factory=dict)
    left_out: list[Problem] = field(default_factory=list)


def import_blocks(
    folder: Path, output: Path, paradigm: str | None = None, generator: Generator = "published", seed: int = 1, skip_malformed: bool = False
) -> ImportedBlocks:
    """Read block files into trials files, one for each paradigm.

    Parameters
    ----------
    folder : with sets of blocks (``letters/1back/0.txt``), one set, or one level of a set
    output : a new folder for the trials files, which appears whole or not at all
    paradigm : whose trials they are, when the set's name does not say or the blocks serve another one (feedback, reasoning, noise)
    generator : under which name they go
    seed : for what is random besides the items, such as noise
    skip_malformed : leave out what is malformed, instead of importing nothing

    Raises
    ------
    SpanLabError
        when there is nothing to import, or (unless it is left out) for everything that is malformed, by file and line.
    """
    found, problems = find_blocks(folder)
    names = sorted({file.set for file in found})
    if paradigm is not None and len(names) > 1:
        raise SpanLabError(f"--as names the paradigm of one set; {folder} holds {len(names)} ({', '.join(names)}): import them one by one")
    imported = ImportedBlocks()
    by_paradigm: dict[str, tuple[Paradigm, list[GivenTrial], list[str]]] = {}
    for name, files in groupby(found, lambda file: file.set):
        known = set_named(name)
        if known is None and paradigm is None:
            raise SpanLabError(f"the name of {folder if len(names) == 1 else folder / name} does not say whose blocks these are; say --as PARADIGM")
        loaded = load_paradigm(paradigm or (known or BlockSet("")).paradigm)
        _, trials, sets = by_paradigm.setdefault(loaded.name, (loaded, [], []))
        sets.append(name)
        for file in files:
            try:
                trials.append(_trial(file, loaded, known, generator, seed, imported))
            except LineError as error:
                problems.append(Problem(f"{file.path}:{error.line}", "", str(error)))
    if problems and not skip_malformed:
        raise refused(problems)
    if not any(trials for _, trials, _ in by_paradigm.values()):
        raise SpanLabError("\n".join([*told(problems), f"not one block of {folder} can be read"]))
    imported.left_out = problems
    with whole_folder(output) as partial:
        for loaded, trials, sets in by_paradigm.values():
            if not trials:
                continue
            source = {
                "files": "N-back block files",
                "sets": sets,
                "labels": "as in the files",
                "unlabelled_matches": sum(len(imported.unlabelled.get(trial.name, ())) for trial in trials),
                "left_out": sum(Path(problem.where).suffix.startswith(".txt") for problem in problems),
            }
            name = f"{loaded.name}.jsonl"
            imported.files[output / name] = write_trials(partial / name, loaded, generator, source, trials)
    return imported


def _trial(file: BlockFile, paradigm: Paradigm, known: BlockSet | None, generator: Generator, seed: int, imported: ImportedBlocks) -> GivenTrial:
    lines = read_lines(read_text(file.path))
    try:
        task = BlockTask.of(paradigm, file.n, len(lines.items), None if known is None else known.grid, generator)
    except SpanLabError as error:
        raise LineError(1, str(error)) from None
    block = task.read(lines, trial_seed("session", seed, _index(file.n, file.number)))
    if block.unlabelled:
        imported.unlabelled[file.name] = tuple(position + 1 for position in block.unlabelled)
    return GivenTrial(file.name, block.levels, block.draws)


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
    """Write blocks of a paradigm as block files, in the published layout: a folder for each set (each size of grids is one).

    Returns
    -------
    the folders of the sets, with their numbers of files

    Raises
    ------
    SpanLabError
        when the paradigm has no such blocks, or a set is there already; nothing is written then.
    """
    levels = paradigm.factors["n"].levels if "n" in paradigm.factors else ()
    sizes: Sequence[int | None] = paradigm.factors["grid"].levels if "grid" in paradigm.factors else [None]
    sets: dict[Path, dict[str, Lines]] = {}
    for size in sizes:
        tasks = [BlockTask.of(paradigm, n, length, size, generator, lures) for n in ns or levels]
        grid = tasks[0].sampler.grid
        path = output / name_of(paradigm.name, grid, "x" if sys.platform == "win32" else "*")
        if path.exists():
            raise SpanLabError(f"{path} exists; name another folder, so that nothing is overwritten")
        sets[path] = {
            f"{task.sampler.n}back/{number}.txt": task.drawn(trial_seed("session", seed, _index(task.sampler.n, number)))
            for task in tasks
            for number in range(blocks)
        }
    for path, files in sets.items():
        with whole_folder(path) as partial:
            for name, lines in files.items():
                (partial / name).parent.mkdir(exist_ok=True)
                (partial / name).write_text(write_lines(lines), encoding="ascii", newline="\n")
    return {path: len(files) for path, files in sets.items()}
