"""What a network is trained on: the trials of all paradigms and splits, with the frames and the words that they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...errors import SpanLabError
from ...paradigms import Paradigm, load_paradigm, random_vectors, read_vectors
from .config import TrainingConfig
from .data import Pool, Split, make_pool, task_of, view_of
from .frames import FrameStore
from .settings import Task, heads_of, reading, task_seen_in
from .words import Store, WordStore


class Material:
    """The trials of a training run.

    Parameters
    ----------
    config : of the run

    Attributes
    ----------
    paradigms : those of the config, in its order
    tasks : what a network needs to know of each task
    reading : the tasks in which vectors of words are read
    frames, words : everything that is shown
    pools : trials of each split, one pool per paradigm; empty until they are prepared

    Raises
    ------
    SpanLabError
        for an unknown paradigm, paradigms that do not agree about a task, or vectors that are missing or not needed.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self.paradigms = [load_paradigm(task.paradigm) for task in config.tasks]
        self.tasks: dict[str, Task] = {}
        for paradigm, task in zip(self.paradigms, config.tasks, strict=True):
            seen = task_seen_in(view_of(paradigm))
            for name in dict.fromkeys(task_of(paradigm, levels) for levels in paradigm.combinations(task.factors)):
                known = self.tasks.setdefault(name, seen)
                if known.outputs != seen.outputs:
                    raise SpanLabError(f"{paradigm.name} wants {seen.outputs} outputs for the task '{name}', another paradigm {known.outputs}; make them agree")
                if known.reads != seen.reads:
                    given = ["vectors" if one.reads else "frames" for one in (seen, known)]
                    raise SpanLabError(f"{paradigm.name} gives {given[0]} in the task '{name}', another paradigm {given[1]}; make them agree")
                if known.head != seen.head:
                    raise SpanLabError(f"{paradigm.name} has the head '{seen.head}' for the task '{name}', another paradigm '{known.head}'; make them agree")
        heads_of(self.tasks)
        self.reading = set(reading(self.tasks))
        self.frames, self.words = FrameStore(), WordStore()
        self.pools: dict[Split, list[Pool]] = {}
        self._check_vectors()

    def _check_vectors(self) -> None:
        """A file of vectors is there, and is there for something."""
        source = self.config.vectors
        if source != 0 and not self.reading:
            raise SpanLabError("the config names vectors of words, and none of its paradigms has words for networks; leave out 'vectors'")
        if isinstance(source, str) and not Path(source).is_file():
            raise SpanLabError(f"there is no file of word vectors at {source}; give a word2vec or GloVe file, or leave out 'vectors' for random ones")

    @property
    def sizes(self) -> dict[Split, list[int]]:
        """How many trials of each paradigm each split has."""
        check = self.config.check
        counts = [len(paradigm.combinations(task.factors)) for paradigm, task in zip(self.paradigms, self.config.tasks, strict=True)]
        return {
            "train": [task.pool for task in self.config.tasks],
            "validation": [check.trials * count for count in counts],
            "test": [check.test_trials * count for count in counts],
        }

    def prepare(self, advance: Callable[[int], None]) -> None:
        """Compile and render the trials of the three splits; the frames of test trials come from the same store, their seeds from another stream."""
        config = self.config
        for split, sizes in self.sizes.items():
            self.pools[split] = [
                make_pool(paradigm, self._store(paradigm), split, config.seed, size, task.factors, config.generator, advance)
                for paradigm, task, size in zip(self.paradigms, config.tasks, sizes, strict=True)
            ]
        if self.reading:
            self._read_vectors()

    def _store(self, paradigm: Paradigm) -> Store:
        return self.words if view_of(paradigm).input == "vectors" else self.frames

    def _read_vectors(self) -> None:
        """The vectors of all words that were shown, or may be in other trials."""
        for paradigm in self.paradigms:
            if view_of(paradigm).input == "vectors":
                self.words.keep(word for draw in paradigm.draws if draw.sampler is not None for word in draw.sampler.cls.vocabulary())
        source = self.config.vectors
        self.words.vectors = random_vectors(source) if isinstance(source, int) else read_vectors(source, self.words.words)
