"""Data folders of the WorM benchmark, with trials in JSON and frames in PNG files: read into trials files,
and written for programs that read those."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from PIL import Image

from spanlab.core import STRICT_JSON, SpanLabError, whole_folder
from spanlab.core.errors import Problem
from spanlab.exchange import ImportedSet, TrialSet, import_sets
from spanlab.paradigms import (
    MAX_MASTER_SEED,
    Generator,
    Paradigm,
    Split,
    compile_trial,
    load_paradigm,
    plan_dataset,
    resolve_levels,
)
from spanlab.paradigms.compile import drawn_names, drawn_values
from spanlab.paradigms.language import listed, show
from spanlab.paradigms.paradigm import GivenDrawError
from spanlab.paradigms.trials_file import GivenTrial
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render import render

from .fields import Fields, MalformedError
from .names import DATA_SETS, ORIGIN, SPLITS, TRIALS, DataSet, trial_name
from .task import Reading, WormTask
from .tasks import task_of

Trials = Mapping[str, Iterable[GivenTrial]]


@dataclass(frozen=True, slots=True)
class Exported:
    """A data set that was written.

    Parameters
    ----------
    folder : where
    trials : how many, by split
    frames : how many PNG files
    """

    folder: Path
    trials: Mapping[str, int]
    frames: int


def data_sets_of(paradigm: str) -> list[DataSet]:
    """The data sets of a paradigm in the benchmark.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    data_sets = [data_set for data_set in DATA_SETS if data_set.paradigm == paradigm]
    if not data_sets:
        raise SpanLabError(
            f"WorM has no data set of '{paradigm}'; it has"
            f" {listed(dict.fromkeys(data_set.paradigm for data_set in DATA_SETS))}"
        )
    return data_sets


def export_worm(
    name: str,
    output: Path,
    sizes: tuple[int, int] = (100, 20),
    seed: int = 1,
    generator: Generator = "corrected",
    levels: Mapping[str, Sequence[Any]] | None = None,
    frames: bool = True,
) -> list[Exported]:
    """Write new trials of a paradigm as a data folder of the benchmark; five data sets for change
    detection. All of them appear, or none.

    Parameters
    ----------
    name : of the paradigm
    output : folder to which the folders of data sets are added
    sizes : training and test trials of each data set, sorted by condition as in the benchmark
    seed : of the data
    generator : corrected or published
    levels : levels to use for some factors
    frames : whether to draw the frames, too

    Raises
    ------
    SpanLabError
        when the benchmark has no such task, a data set is there already, or something cannot be
        written.
    """
    chosen = data_sets_of(name)
    paradigm = load_paradigm(name)
    wanted = {factor: [paradigm.level(factor, level) for level in some] for factor, some in (levels or {}).items()}
    fitting = [
        data_set
        for data_set in chosen
        if all(level in wanted.get(factor, [level]) for factor, level in data_set.levels.items())
    ]
    if not fitting:
        fixed = ", ".join(f"{factor} = {level}" for factor, level in chosen[0].levels.items())
        raise SpanLabError(f"WorM has no data set of {name} with these levels (its trials have {fixed})")
    with ExitStack() as stack:
        folders = [stack.enter_context(whole_folder(output / data_set.folder)) for data_set in fitting]
        written = []
        for data_set, folder in zip(fitting, folders, strict=True):
            restrict = {**wanted, **data_set.levels}
            splits: tuple[tuple[Split, int], ...] = (("train", sizes[0]), ("test", sizes[1]))
            trials = {split: _new_trials(paradigm, split, many, seed, generator, restrict) for split, many in splits}
            origin = {"paradigm": name, "paradigm_version": paradigm.version, "generator": generator, "seed": seed}
            (folder / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
            written.append(write_data_set(data_set, folder, paradigm, generator, trials, frames))
    return [
        Exported(output / data_set.folder, count.trials, count.frames)
        for data_set, count in zip(fitting, written, strict=True)
    ]


def _new_trials(
    paradigm: Paradigm, split: Split, many: int, seed: int, generator: Generator, restrict: Mapping[str, Any]
) -> Iterator[GivenTrial]:
    conditions = len(paradigm.combinations(restrict))
    planned = sorted(
        plan_dataset(paradigm, seed, split, many, restrict), key=lambda one: ((one.trial - 1) % conditions, one.trial)
    )
    for number, planned_trial in enumerate(planned):
        levels = resolve_levels(paradigm, planned_trial.levels, planned_trial.seed)
        yield GivenTrial(
            trial_name(split, number), levels, drawn_values(paradigm, levels, planned_trial.seed, generator)
        )


def write_data_set(
    data_set: DataSet, folder: Path, paradigm: Paradigm, generator: Generator, trials: Trials, frames: bool = True
) -> Exported:
    """Write the trials of each split into the folder of a data set, which exists."""
    task = task_of(data_set)
    counts: dict[str, int] = dict.fromkeys(SPLITS, 0)
    drawn = 0
    for split in SPLITS:
        (folder / split).mkdir()
    if frames:
        drawn += _save(folder, task.shared())
    with (folder / TRIALS).open("w", encoding="utf-8", newline="\n") as file:
        for k, split in enumerate(SPLITS):
            file.write(f"{',' if k else '{'}\n{json.dumps(split)}: [")
            for trial in trials.get(split, ()):
                content = task.write(dict(trial.levels), dict(trial.draws))
                content |= {"trial_type": split, "trial_id": trial.name, **task.files(trial.name, content)}
                file.write(f"{',' if counts[split] else ''}\n{json.dumps(content, allow_nan=False)}")
                counts[split] += 1
                if frames:
                    steps = compile_trial(paradigm, trial.levels, 0, generator, trial.draws).steps
                    shown = [step.percept.for_machine.stimulus for step in steps if step.percept.model_step]
                    by_file = {
                        file: stimulus
                        for file, stimulus in zip(task.steps(content), shown, strict=True)
                        if file not in task.shared()
                    }
                    drawn += _save(folder / split, by_file | task.extra(trial.name, dict(trial.draws)))
            file.write("]")
        file.write("}\n")
    return Exported(folder, counts, drawn)


def _save(folder: Path, frames: Mapping[str, Stimulus]) -> int:
    for name, stimulus in frames.items():
        Image.fromarray(render(stimulus.scene())).save(folder / name, format="PNG")
    return len(frames)


#: malformed trials that are named one by one when they are skipped
_NAMED = 5

#: called with the name of every data set when it is begun
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WormSet(TrialSet):
    """One split of a data set.

    Parameters
    ----------
    data_set, split : in the benchmark
    notes : what has to be said, with the number of times that it happened; whole when all trials
        have been read
    """

    data_set: DataSet = DATA_SETS[0]
    split: str = ""
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
    data_sets = [
        (data_set, folder / data_set.folder / TRIALS)
        for data_set in DATA_SETS
        if (folder / data_set.folder / TRIALS).is_file()
    ]
    if not data_sets:
        missing = (
            "is not a folder"
            if not folder.is_dir()
            else f"holds no data set of WorM: expected folders such as {DATA_SETS[1].folder} with a {TRIALS} inside"
        )
        raise SpanLabError(f"{folder} {missing}")
    return data_sets


def other_folders(folder: Path) -> list[str]:
    """Folders with trials that are none of the published data sets."""
    known = {data_set.folder for data_set in DATA_SETS}
    return sorted(path.parent.name for path in folder.glob(f"*/{TRIALS}") if path.parent.name not in known)


def import_worm(
    folder: Path, output: Path, skip_malformed: bool = False, seed: int = 1, tell: Tell | None = None
) -> list[ImportedSet[WormSet]]:
    """Import all data sets of a WorM data folder: one trials file for each split, all of them or
    none.

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
        when there is nothing to read, something cannot be read or written, or a trial is malformed;
        nothing is left behind then.
    """
    if not 0 <= seed <= MAX_MASTER_SEED:
        raise SpanLabError(f"the seed must be between 0 and {MAX_MASTER_SEED}; found {seed}")
    data_sets = find_data_sets(folder)

    def sets() -> Iterator[WormSet]:
        for data_set, path in data_sets:
            if tell is not None:
                tell(data_set.folder)
            yield from _DataSetFile(data_set, path, skip_malformed, seed).sets()

    return import_sets(folder, output, sets(), skip_malformed, most_named=_NAMED)


def _origin(path: Path) -> dict[str, Any]:
    """Read what SpanLab has noted beside trials that it has written; nothing for those of others."""
    try:
        origin = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(origin, dict) or origin.get("generator") not in get_args(Generator):
        raise SpanLabError(
            f"{path} does not say which generator the trials come from ({' or '.join(get_args(Generator))}); remove it"
            " if they are not SpanLab's"
        )
    return origin


def _lists(path: Path) -> dict[str, list[Any]]:
    """The trials of each split."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), **STRICT_JSON)
    except UnicodeDecodeError:
        raise SpanLabError(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise SpanLabError(f"{path} cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise SpanLabError(f"{path} is not JSON of lists of trials (nested too deep)") from None
    except ValueError as error:
        raise SpanLabError(f"{path} is not JSON of lists of trials ({error})") from None
    if not isinstance(content, dict) or not all(isinstance(trials, list) for trials in content.values()):
        raise SpanLabError(f"{path} is not JSON of lists of trials: expected the splits {', '.join(SPLITS)}")
    return content


class _DataSetFile:
    """The trials of one data set, as they are read."""

    def __init__(self, data_set: DataSet, path: Path, skip_malformed: bool, seed: int) -> None:
        self._data_set, self._path, self._skip, self._seed = data_set, path, skip_malformed, seed
        self._paradigm: Paradigm = load_paradigm(data_set.paradigm)
        self._task: WormTask = task_of(data_set)
        self._origin = _origin(path.with_name(ORIGIN))
        self._generator: Generator = self._origin.get("generator", "published")
        self._seen = 0

    def sets(self) -> Iterator[WormSet]:
        """One for each split that has trials; each is to be gone through before the next."""
        for split, objects in _lists(self._path).items():
            if split not in SPLITS:
                raise SpanLabError(f"{self._path}: expected the splits {', '.join(SPLITS)}; found {show(split)}")
            source: dict[str, Any] = {"benchmark": "WorM", "data_set": self._data_set.folder, "split": split}
            if self._origin:
                source["written_by_spanlab"] = self._origin
            notes: Counter[str] = Counter()
            yield WormSet(
                self._paradigm,
                self._trials(split, objects, source, notes),
                self._generator,
                source,
                f"{self._data_set.stem}.{split}",
                self._data_set,
                split,
                notes,
            )
        if not self._seen:
            raise SpanLabError(f"{self._path} holds no trials")

    def _trials(
        self, split: str, objects: Sequence[Any], source: dict[str, Any], notes: Counter[str]
    ) -> Iterator[GivenTrial | Problem]:
        names: set[str] = set()
        skipped, first = 0, None
        for number, data in enumerate(objects):
            self._seen += 1
            reading = Reading(self._seed, trial_name(split, number))
            try:
                trial = self._trial(data, reading)
                if trial.name in names:
                    raise MalformedError("trial_id", f"a second trial called {trial.name}")
            except MalformedError as error:
                problem = Problem(str(self._path), f"{self._data_set.folder} > {split} > {number}", str(error))
                skipped, first = skipped + 1, first or problem
                yield problem
                continue
            names.add(trial.name)
            notes.update(reading.notes)
            yield trial
        if skipped and not names and self._skip:
            raise SpanLabError(f"{self._path}: none of the {skipped} trials of {split} can be read; the first: {first}")
        source.update({"skipped": skipped, "notes": list(notes)})

    def _trial(self, data: Any, reading: Reading) -> GivenTrial:
        fields = Fields(data)
        fields.pass_by(
            "trial_type", *(key for key in data if key.endswith(("_fnames", "_fname")) or key == "stim_fnames")
        )
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
            drawn_names(self._paradigm, levels, 0, self._generator, draws)
        except GivenDrawError as error:
            raise MalformedError(self._task.keys[error.draw], error.why) from None
        except SpanLabError as error:
            raise MalformedError("", str(error)) from None
        for key in fields.unknown():
            reading.notes[f"the key {key!r} is not known here and was left out"] += 1
        return GivenTrial(reading.trial, levels, draws)
