"""Writing data folders as the WorM benchmark has them: trials in JSON and frames in PNG files, for
programs that read those."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from spanlab.core import SpanLabError, whole_folder
from spanlab.paradigms import (
    Generator,
    GivenTrial,
    Paradigm,
    Split,
    compile_trial,
    drawn_values,
    is_model_step,
    load_paradigm,
    plan_dataset,
    resolve_levels,
)
from spanlab.paradigms.language import DatasetDesign, listed
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render import render

from .names import DATA_SETS, ORIGIN, SPLITS, TRIALS, DataSet, trial_name
from .registry import task_of

#: trials in each data set when nobody says how many
TRAIN, TEST = 100, 20

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


def published_sizes(paradigm: Paradigm) -> tuple[int, int]:
    """Training (with validation, which the benchmark takes out of them) and test trials of the
    published data set."""
    design = paradigm.designs.get("published")
    if not isinstance(design, DatasetDesign):
        raise SpanLabError(f"{paradigm.name} has no design 'published' for a data set")
    return design.train + design.validation, design.test


def export_worm(
    name: str,
    output: Path,
    sizes: tuple[int, int] = (TRAIN, TEST),
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
                    shown = [step.percept.for_machine.stimulus for step in steps if is_model_step(step.percept)]
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
