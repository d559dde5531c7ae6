"""Training data: the trials of all paradigms and splits, with the frames and the words that they
show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import SpanLabError
from ....paradigms import Paradigm, load_paradigm, plan_dataset, random_vectors, read_vectors
from ..settings import Task, heads_of, reading, task_seen_in
from ..training.config import TaskConfig, TrainingConfig
from .batches import TrainingBatch, assemble, process_pool
from .data import Compiled, Pool, Split, compile_all, indices_at, pool_of, rows_of, task_of, view_of
from .frames import NetworkFrames
from .words import Store, WordStore

#: Trials that a process compiles before it hands them over.
_CHUNK = 400
#: Trials of each combination that are compiled before the first step when the others are compiled
#: meanwhile: answers and pixels are counted on them.
_SAMPLE = 20


class TrainingData:
    """The trials of a training run.

    Parameters
    ----------
    config : of the run

    Attributes
    ----------
    paradigms : those of the config, in its order
    tested : those that are tested, with the factor levels to use
    tasks : what a network needs to know of each task
    reading : the tasks in which vectors of words are read
    frames, words : everything that is shown
    pools : trials of each split, one pool per paradigm; empty until they are prepared

    Raises
    ------
    SpanLabError
        for an unknown paradigm, paradigms that do not agree about a task, or vectors that are
        missing or not needed.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self.paradigms = [load_paradigm(task.paradigm) for task in config.tasks]
        self.factors = [
            levels_kept(paradigm, task) for paradigm, task in zip(self.paradigms, config.tasks, strict=True)
        ]
        self.tasks: dict[str, Task] = {}
        for paradigm, task in zip(self.paradigms, config.tasks, strict=True):
            seen = task_seen_in(view_of(paradigm))
            for name in dict.fromkeys(task_of(paradigm, levels) for levels in paradigm.combinations(task.factors)):
                known = self.tasks.setdefault(name, seen)
                if known.outputs != seen.outputs:
                    raise SpanLabError(
                        f"{paradigm.name} wants {seen.outputs} outputs for the task '{name}', another paradigm"
                        f" {known.outputs}; make them agree"
                    )
                if known.reads != seen.reads:
                    given = ["vectors" if side.reads else "frames" for side in (seen, known)]
                    raise SpanLabError(
                        f"{paradigm.name} gives {given[0]} in the task '{name}', another paradigm {given[1]}; make them"
                        " agree"
                    )
                if known.head != seen.head:
                    raise SpanLabError(
                        f"{paradigm.name} has the head '{seen.head}' for the task '{name}', another paradigm"
                        f" '{known.head}'; make them agree"
                    )
        self.tested = self._tested()
        heads_of(self.tasks)
        self.reading = set(reading(self.tasks))
        self.frames, self.words = NetworkFrames(), WordStore()
        self.pools: dict[Split, list[Pool]] = {}
        self._check_vectors()

    def _check_vectors(self) -> None:
        """A file of vectors is there, and is there for something."""
        source = self.config.vectors
        if source != 0 and not self.reading:
            raise SpanLabError(
                "the config names vectors of words, and none of its paradigms has words for networks; leave out"
                " 'vectors'"
            )
        if isinstance(source, str) and not Path(source).is_file():
            raise SpanLabError(
                f"there is no file of word vectors at {source}; give a word2vec or GloVe file, or leave out 'vectors'"
                " for random ones"
            )

    def _tested(self) -> list[tuple[Paradigm, Mapping[str, Any]]]:
        """Return the paradigms to be tested: those that the config names for it, or else those that
        are trained, with the levels that were held out."""
        if not self.config.test:
            return [
                (paradigm, levels_tested(paradigm, task))
                for paradigm, task in zip(self.paradigms, self.config.tasks, strict=True)
            ]
        found: list[tuple[Paradigm, Mapping[str, Any]]] = []
        for entry in self.config.test:
            paradigm = load_paradigm(entry.paradigm)
            for name in dict.fromkeys(task_of(paradigm, levels) for levels in paradigm.combinations(entry.factors)):
                if name not in self.tasks:
                    raise SpanLabError(
                        f"test: {paradigm.name} is the task '{name}', which is not trained (there are"
                        f" {', '.join(self.tasks)}); train it, too"
                    )
                if self.tasks[name] != task_seen_in(view_of(paradigm)):
                    raise SpanLabError(
                        f"test: {paradigm.name} has another head or input for the task '{name}' than the paradigm that"
                        " is trained on it"
                    )
            found.append((paradigm, entry.factors))
        return found

    def held_out(self, paradigm: Paradigm, levels: Mapping[str, Any]) -> bool:
        """Return whether a paradigm was not trained with these levels."""
        trained = [
            task for other, task in zip(self.paradigms, self.config.tasks, strict=True) if other.name == paradigm.name
        ]
        return bool(trained) and all(
            any(name in levels and levels[name] in as_list(held) for name, held in task.hold_out.items())
            or any(name in levels and levels[name] not in as_list(chosen) for name, chosen in task.factors.items())
            for task in trained
        )

    @property
    def train_trials(self) -> list[int]:
        """Number of different trials of each paradigm that are trained on."""
        return [self.config.train_trials or task.train_trials for task in self.config.tasks]

    @property
    def sizes(self) -> dict[Split, list[int]]:
        """Number of trials of each paradigm in each split, of those that are compiled before the
        first step."""
        check = self.config.check
        combinations = [
            len(paradigm.combinations(factors)) for paradigm, factors in zip(self.paradigms, self.factors, strict=True)
        ]
        tested = [len(paradigm.combinations(factors)) for paradigm, factors in self.tested]
        each = check.share == "combination"
        train = self.train_trials
        if self.config.compile == "meanwhile":
            train = [min(trials, _SAMPLE * count) for trials, count in zip(train, combinations, strict=True)]
        return {
            "train": train,
            "validation": [check.trials * (count if each else 1) for count in combinations],
            "test": [check.test_trials * (count if each else 1) for count in tested],
        }

    def label(self, number: int) -> str:
        """A paradigm of the config by its name, or by the task of its trials where the config names
        it several times; once trials are prepared."""
        names = [paradigm.name for paradigm in self.paradigms]
        return names[number] if names.count(names[number]) == 1 else self.pools["train"][number].blocks[0].task

    def levels(self) -> dict[str, dict[str, list[Any]]]:
        """The factor levels of each paradigm that are trained."""
        found: dict[str, dict[str, list[Any]]] = {}
        for paradigm, factors in zip(self.paradigms, self.factors, strict=True):
            own = found.setdefault(paradigm.name, {name: [] for name in paradigm.factors})
            for levels in paradigm.combinations(factors):
                for name, level in levels.items():
                    if level not in own[name]:
                        own[name].append(level)
        return found

    def counted(self) -> dict[Split, dict[str, int]]:
        """Trials that were prepared, by split and paradigm."""
        return {
            split: {
                name: sum(pool.trials for pool in pools if pool.paradigm.name == name)
                for name in dict.fromkeys(pool.paradigm.name for pool in pools)
            }
            for split, pools in self.pools.items()
        }

    def prepare(self, advance: Callable[[int], None]) -> None:
        """Compile and render the trials of the three splits; the frames of test trials come from
        the same store, their seeds from another stream."""
        kinds: list[tuple[Paradigm, Mapping[str, Any]]] = [
            (paradigm, factors) for paradigm, factors in zip(self.paradigms, self.factors, strict=True)
        ]
        wanted: dict[Split, list[tuple[Paradigm, Mapping[str, Any]]]] = {
            "train": kinds,
            "validation": kinds,
            "test": self.tested,
        }
        work: list[tuple[Split, int, Paradigm, Mapping[str, Any], int]] = [
            (split, number, paradigm, factors, size)
            for split, sizes in self.sizes.items()
            for number, ((paradigm, factors), size) in enumerate(zip(wanted[split], sizes, strict=True))
        ]
        self.pools = {split: [] for split in wanted}
        for (split, _, paradigm, factors, _), compiled in zip(work, self._compiled(work, advance), strict=True):
            self.pools[split].append(
                pool_of(
                    paradigm, self._store(paradigm), paradigm.combinations(factors), compiled, keep=split != "train"
                )
            )
        if self.reading:
            self._read_vectors()

    def _compiled(
        self, work: list[tuple[Split, int, Paradigm, Mapping[str, Any], int]], advance: Callable[[int], None]
    ) -> Iterator[list[Compiled]]:
        """The trials of each piece of work, in this process or in several; the same in both."""
        config = self.config
        if not config.workers:
            for split, _, paradigm, factors, size in work:
                yield compile_all(
                    paradigm,
                    self._store(paradigm),
                    plan_dataset(paradigm, config.seed, split, size, factors),
                    config.generator,
                    advance,
                )
            return
        with process_pool(config.workers, begin_process, (config,)) as processes:
            pieces = [
                [
                    processes.submit(compile_piece, split, number, start, min(_CHUNK, size - start))
                    for start in range(0, size, _CHUNK)
                ]
                for split, number, _, _, size in work
            ]
            for own, (_, _, paradigm, _, _) in zip(pieces, work, strict=True):
                found: list[Compiled] = []
                for piece in own:
                    compiled, shown = piece.result()
                    numbers = self._store(paradigm).take_in(shown)
                    found += [trial._replace(frames=numbers[trial.frames]) for trial in compiled]
                    advance(len(compiled))
                yield found

    def batch(self, step: int, share: tuple[int, int], patches: bool, grouped: bool) -> TrainingBatch:
        """The trials of one step of training: a function of the config and the number of the step."""
        config, chosen = self.config, []
        fresh = NetworkFrames(), WordStore(self.words.vectors)
        for number, (paradigm, task, trials) in enumerate(
            zip(self.paradigms, config.tasks, self.train_trials, strict=True)
        ):
            if step < task.from_step:
                continue
            combinations = paradigm.combinations(self.factors[number])
            at = indices_at(
                paradigm.name, config.seed, step - task.from_step, task.batch, trials, len(combinations), config.order
            )
            if config.compile == "ahead":
                rows, store = self.pools["train"][number].take(at), self._store(paradigm)
            else:
                store = fresh[view_of(paradigm).input == "vectors"]
                planned = [
                    planned_trial
                    for index in at.tolist()
                    for planned_trial in plan_dataset(
                        paradigm, config.seed, "train", 1, self.factors[number], start=index
                    )
                ]
                rows = rows_of(paradigm, compile_all(paradigm, store, planned, config.generator))
            chosen.append((number, rows, store))
        by_phase = [number for number, task in enumerate(config.tasks) if task.loss_over == "phases"]
        return assemble(
            [(number, rows, store.frames()) for number, rows, store in chosen],
            share,
            patches,
            grouped,
            by_phase=by_phase,
        )

    def _store(self, paradigm: Paradigm) -> Store:
        return self.words if view_of(paradigm).input == "vectors" else self.frames

    def _read_vectors(self) -> None:
        """The vectors of all words that were shown, or may be in other trials."""
        for paradigm in self.paradigms:
            if view_of(paradigm).input == "vectors":
                self.words.keep(
                    word
                    for draw in paradigm.draws
                    if draw.sampler is not None
                    for word in draw.sampler.cls.vocabulary()
                )
        source = self.config.vectors
        self.words.vectors = (
            random_vectors(source) if isinstance(source, int) else read_vectors(source, self.words.words)
        )


def as_list(levels: Any) -> list[Any]:
    """One level, or a list of them."""
    return list(levels) if isinstance(levels, list | tuple) else [levels]


def levels_kept(paradigm: Paradigm, task: TaskConfig) -> dict[str, Any]:
    """The factor levels that are trained: those of the task without those that are held out.

    Raises
    ------
    SpanLabError
        for an unknown factor or level, or when nothing is left.
    """
    kept = dict(task.factors)
    for name, held in task.hold_out.items():
        paradigm.combinations({name: held})  # refuses what it does not have
        chosen = as_list(kept[name]) if name in kept else list(paradigm.factors[name].levels)
        kept[name] = [level for level in chosen if level not in as_list(held)]
        if not kept[name]:
            raise SpanLabError(f"hold_out leaves no level of {name} to train {paradigm.name} on; hold out fewer")
    return kept


def levels_tested(paradigm: Paradigm, task: TaskConfig) -> dict[str, Any]:
    """The factor levels that are tested: those of the task, with the ones that are held out from
    training."""
    tested = dict(task.factors)
    for name, held in task.hold_out.items():
        chosen = as_list(tested[name]) if name in tested else list(paradigm.factors[name].levels)
        tested[name] = chosen + [level for level in as_list(held) if level not in chosen]
    return tested


_HERE: list[TrainingData] = []


def begin_process(config: TrainingConfig) -> None:
    """Prepare a process that compiles trials."""
    _HERE[:] = [TrainingData(config)]
    if config.compile == "meanwhile" and _HERE[0].reading:
        _HERE[0]._read_vectors()


def compile_piece(split: Split, number: int, start: int, count: int) -> tuple[list[Compiled], np.ndarray | list[str]]:
    """Some trials of a split, compiled in another process, and all that they show."""
    training_data = _HERE[0]
    paradigm, factors = (
        training_data.tested[number]
        if split == "test"
        else (training_data.paradigms[number], training_data.factors[number])
    )
    words = view_of(paradigm).input == "vectors"
    store = WordStore() if words else NetworkFrames()
    planned = plan_dataset(paradigm, training_data.config.seed, split, count, factors, start=start)
    compiled = compile_all(paradigm, store, planned, training_data.config.generator)
    return compiled, store.words if isinstance(store, WordStore) else store.frames()


def batch_in_process(step: int, share: tuple[int, int], patches: bool, grouped: bool) -> TrainingBatch:
    """The trials of one step, compiled in another process."""
    return _HERE[0].batch(step, share, patches, grouped)
