"""Reading data folders of the WorM benchmark into trials files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ...core.atomic_files import whole_folder
from ...core.errors import MAX_PROBLEMS, Problem, SpanLabError
from ...paradigms.compile import GivenDrawError, check_draws
from ...paradigms.identity import MAX_MASTER_SEED
from ...paradigms.language.diagnostics import show
from ...paradigms.paradigm import GENERATORS, Generator, Paradigm, load_paradigm
from ...paradigms.trials_file import GivenTrial, write_trials
from ..malformed import refused
from .fields import Fields, MalformedError
from .json_stream import read_lists
from .names import DATA_SETS, ORIGIN, SPLITS, TRIALS, DataSet, trial_name
from .registry import task_of
from .task import Reading, WormTask

#: malformed trials that are named one by one when they are skipped
_NAMED = 5

#: called with the name of every data set when it is begun
Tell = Callable[[str], None]


@dataclass(slots=True)
class Imported:
    """What became of one split of a data set.

    Parameters
    ----------
    data_set, split : in the benchmark
    file : name of the trials file
    trials : in it
    skipped : malformed trials that are not
    named : what is wrong with the first of them
    notes : what has to be said, with the number of times that it happened
    """

    data_set: DataSet
    split: str
    file: str
    trials: int = 0
    skipped: int = 0
    named: list[Problem] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)


def find_data_sets(folder: Path) -> list[tuple[DataSet, Path]]:
    """The data sets in a folder (or the one that it is), with their JSON files.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    by_name = {data_set.folder: data_set for data_set in DATA_SETS}
    if folder.name in by_name and (folder / TRIALS).is_file():
        return [(by_name[folder.name], folder / TRIALS)]
    found = [(data_set, folder / data_set.folder / TRIALS) for data_set in DATA_SETS if (folder / data_set.folder / TRIALS).is_file()]
    if not found:
        missing = "is no folder" if not folder.is_dir() else f"holds no data set of WorM: expected folders such as {DATA_SETS[1].folder} with a {TRIALS} inside"
        raise SpanLabError(f"{folder} {missing}")
    return found


def other_folders(folder: Path) -> list[str]:
    """Folders with trials that are none of the published data sets."""
    known = {data_set.folder for data_set in DATA_SETS}
    return sorted(path.parent.name for path in folder.glob(f"*/{TRIALS}") if path.parent.name not in known)


def import_worm(folder: Path, output: Path, skip_malformed: bool = False, seed: int = 1, tell: Tell | None = None) -> list[Imported]:
    """Bring in all data sets of a WorM data folder: one trials file for each split, all of them or none.

    Their generator is ``published``, unless SpanLab has written the folder and noted another one.

    Parameters
    ----------
    folder : with the folders of data sets, or one of these
    output : new folder for the trials files
    skip_malformed : leave out trials that cannot be read, instead of importing nothing
    seed : for what the files leave open
    tell : is told which data set is begun

    Raises
    ------
    SpanLabError
        when there is nothing to read, something cannot be read or written, or a trial is malformed; nothing is left behind then.
    """
    if not 0 <= seed <= MAX_MASTER_SEED:
        raise SpanLabError(f"the seed must be between 0 and {MAX_MASTER_SEED}; found {seed}")
    report: list[Imported] = []
    malformed: list[Problem] = []
    found = find_data_sets(folder)
    with whole_folder(output) as partial:
        for data_set, path in found:
            if tell is not None:
                tell(data_set.folder)
            report += _Import(data_set, path, None if skip_malformed else malformed, seed).write(partial)
        if malformed:
            raise refused(malformed)
    return report


def _origin(path: Path) -> dict[str, Any]:
    """What SpanLab has noted beside trials that it has written; nothing for those of others."""
    try:
        origin = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(origin, dict) or origin.get("generator") not in GENERATORS:
        raise SpanLabError(f"{path} does not say which generator the trials come from ({' or '.join(GENERATORS)}); remove it if they are not SpanLab's")
    return origin


class _Import:
    """The import of one data set. ``malformed`` gets what is wrong with trials, and is None when these are to be left out."""

    def __init__(self, data_set: DataSet, path: Path, malformed: list[Problem] | None, seed: int) -> None:
        self._data_set, self._path, self._malformed, self._seed = data_set, path, malformed, seed
        self._paradigm: Paradigm = load_paradigm(data_set.paradigm)
        self._task: WormTask = task_of(data_set)
        self._origin = _origin(path.with_name(ORIGIN))
        self._generator: Generator = self._origin.get("generator", "published")

    def write(self, output: Path) -> list[Imported]:
        """Write the trials files of all splits that have trials."""
        done: list[Imported] = []
        with closing(read_lists(self._path)) as objects:
            for split, group in groupby(objects, key=lambda entry: entry[0]):
                if split not in SPLITS:
                    raise SpanLabError(f"{self._path}: expected the splits {', '.join(SPLITS)}; found {show(split)}")
                imported = Imported(self._data_set, split, f"{self._data_set.stem}.{split}.jsonl")
                trials = self._trials(imported, ((number, data) for _, number, data in group if number >= 0))
                first = next(trials, None)
                if first is not None:
                    self._write_file(output / imported.file, imported, chain([first], trials))
                elif imported.skipped and self._malformed is None:
                    raise SpanLabError(f"{self._path}: none of the {imported.skipped} trials of {split} can be read; the first: {imported.named[0]}")
                else:
                    continue
                done.append(imported)
        if not done and not self._malformed:
            raise SpanLabError(f"{self._path} holds no trials")
        return done

    def _write_file(self, path: Path, imported: Imported, trials: Iterable[GivenTrial]) -> None:
        source: dict[str, Any] = {"benchmark": "WorM", "data_set": self._data_set.folder, "split": imported.split}
        if self._origin:
            source["written_by_spanlab"] = self._origin

        def valid_trials() -> Iterator[GivenTrial]:
            yield from trials
            # Known only when all have been read; the first line of the file is written last.
            source.update({"skipped": imported.skipped, "notes": list(imported.notes)})

        imported.trials = write_trials(path, self._paradigm, self._generator, source, valid_trials())

    def _trials(self, imported: Imported, objects: Iterable[tuple[int, Any]]) -> Iterator[GivenTrial]:
        names: set[str] = set()
        for number, data in objects:
            reading = Reading(self._seed, trial_name(imported.split, number))
            try:
                trial = self._trial(data, reading)
                if trial.name in names:
                    raise MalformedError("trial_id", f"a second trial called {trial.name}")
            except MalformedError as error:
                told = Problem(str(self._path), f"{self._data_set.folder} > {imported.split} > {number}", str(error))
                self._note(imported, told)
                continue
            names.add(trial.name)
            imported.notes.update(reading.notes)
            yield trial

    def _note(self, imported: Imported, told: Problem) -> None:
        imported.skipped += 1
        if self._malformed is None:
            imported.named += [told] if len(imported.named) < _NAMED else []
            return
        self._malformed.append(told)
        if len(self._malformed) == MAX_PROBLEMS - 1:
            raise refused([*self._malformed, Problem(str(self._path), "", "so many trials are malformed that the rest was not read")])

    def _trial(self, data: Any, reading: Reading) -> GivenTrial:
        fields = Fields(data)
        fields.pass_by("trial_type", *(key for key in data if key.endswith(("_fnames", "_fname")) or key == "stim_fnames"))
        if "trial_id" in fields:
            name = fields.any("trial_id")
            if not isinstance(name, str) or not 0 < len(name) <= 100 or not name.isprintable():
                raise fields.wrong("trial_id", f"expected a name such as {reading.trial}; found {show(name)}")
            reading.trial = name
        levels, draws = self._task.read(fields, reading)
        for name, level in levels.items():
            try:
                self._paradigm.level(name, level)
            except SpanLabError as error:
                raise MalformedError(self._task.keys.get(name, name), str(error)) from None
        levels = {**self._data_set.levels, **levels}
        try:
            check_draws(self._paradigm, levels, self._generator, draws)
        except GivenDrawError as error:
            raise MalformedError(self._task.keys[error.draw], error.why) from None
        except SpanLabError as error:
            raise MalformedError("", str(error)) from None
        for key in fields.unknown():
            reading.notes[f"the key {key!r} is not known here and was left out"] += 1
        return GivenTrial(reading.trial, levels, draws)
