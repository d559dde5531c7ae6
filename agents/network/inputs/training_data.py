"""Training data: the trials of all paradigms and splits, with the frames and the words that they
show."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ....core.errors import SpanLabError
from ....core.json_values import in_a_list
from ....paradigms import Paradigm, load_paradigm, plan_dataset, random_vectors, read_vectors
from ..settings import Task, heads_of, most_words, reading, task_seen_in
from ..training.config import TrainingConfig
from .batches import TrainingBatch, assemble
from .data import Pool, Split, compile_all, indices_at, make_pool, rows_of, task_of, view_of
from .frames import NetworkFrames
from .words import Store, WordStore

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
        self.factors = [task.factors for task in config.tasks]
        self.tasks: dict[str, Task] = {}
        for paradigm, task in zip(self.paradigms, config.tasks, strict=True):
            seen = task_seen_in(view_of(paradigm))
            for name in dict.fromkeys(task_of(paradigm, levels) for levels in paradigm.combinations(task.factors)):
                known = self.tasks.setdefault(name, seen)
                if known != seen:
                    raise SpanLabError(
                        f"{paradigm.name} has {seen.told} for the task '{name}', another paradigm {known.told}; make"
                        " them agree"
                    )
        self.tested = self._tested()
        heads_of(self.tasks)
        if len({task.reads for task in self.tasks.values() if task.reads}) > 1:
            raise SpanLabError("its paradigms read different numbers of words a step; train a network on each")
        self.reading = set(reading(self.tasks))
        self.frames, self.words = NetworkFrames(), WordStore(most=most_words(self.tasks))
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
        are trained."""
        if not self.config.test:
            return list(zip(self.paradigms, self.factors, strict=True))
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
            any(name in levels and levels[name] not in in_a_list(chosen) for name, chosen in task.factors.items())
            for task in trained
        )

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
        train = [task.train_trials for task in self.config.tasks]
        if self.config.compile == "meanwhile":
            train = [min(trials, _SAMPLE * count) for trials, count in zip(train, combinations, strict=True)]
        return {
            "train": train,
            "validation": [check.trials * (count if each else 1) for count in combinations],
            "test": [check.test_trials * (count if each else 1) for count in tested],
        }

    def label(self, number: int) -> str:
        """A paradigm of the config by its name, or by the task of its trials where the config names
        it several times, with a number where that is no other; once trials are prepared."""
        names = [paradigm.name for paradigm in self.paradigms]
        if names.count(names[number]) == 1:
            return names[number]
        tasks = [pool.blocks[0].task for pool in self.pools["train"]]
        return tasks[number] if tasks.count(tasks[number]) == 1 else f"{tasks[number]} {number + 1}"

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
        kinds: list[tuple[Paradigm, Mapping[str, Any]]] = list(zip(self.paradigms, self.factors, strict=True))
        wanted: dict[Split, list[tuple[Paradigm, Mapping[str, Any]]]] = {
            "train": kinds,
            "validation": kinds,
            "test": self.tested,
        }
        config = self.config
        self.pools = {
            split: [
                make_pool(paradigm, self._store(paradigm), split, config.seed, size, factors, config.generator, advance)
                for (paradigm, factors), size in zip(wanted[split], sizes, strict=True)
            ]
            for split, sizes in self.sizes.items()
        }
        if self.reading:
            self._read_vectors()

    def batch(self, step: int, patches: bool, grouped: bool) -> TrainingBatch:
        """The trials of one step of training: a function of the config and the number of the step."""
        config, chosen = self.config, []
        fresh = NetworkFrames(), WordStore(self.words.vectors, self.words.most)
        for number, (paradigm, task) in enumerate(zip(self.paradigms, config.tasks, strict=True)):
            combinations = paradigm.combinations(self.factors[number])
            at = indices_at(
                paradigm.name, config.seed, step, task.batch, task.train_trials, len(combinations), config.order
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
        return assemble(
            [(number, rows, store.frames()) for number, rows, store in chosen],
            patches,
            grouped,
            by_phase=[number for number, task in enumerate(config.tasks) if task.loss_over == "phases"],
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


_HERE: list[TrainingData] = []


def begin_process(config: TrainingConfig) -> None:
    """Prepare a process that compiles trials, and leave Ctrl-C to the one that trains."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _HERE[:] = [TrainingData(config)]
    if _HERE[0].reading:
        _HERE[0]._read_vectors()


def batch_in_process(step: int, patches: bool, grouped: bool) -> TrainingBatch:
    """The trials of one step, compiled in another process."""
    return _HERE[0].batch(step, patches, grouped)
