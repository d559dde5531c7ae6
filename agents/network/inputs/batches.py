"""Joint batches: the trials of all tasks of one step of training, with each different frame once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Generic, TypeVar

import numpy as np

from ..speedups.patches import Patches, take_apart
from .data import Rows, phase_weights

#: Trials whose lengths are in the same range of so many steps go through the memory together.
_LENGTHS = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """The steps of one part of a batch that enter the loss, of one task.

    Parameters
    ----------
    task : whose head answers
    places : int64 (n,): rows among the hidden states, which are flat, group after group
    targets : int64 (n,) classes, or bool (n, head) outputs
    weights : float32 (n,): what each step counts, with a mean of 1 over the part; None where all
        count the same
    """

    task: str
    places: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class BatchPart:
    """The trials of one paradigm in a batch.

    Parameters
    ----------
    number : of the paradigm in the config
    trials : how many
    count : steps that enter the loss, by which the sum is divided
    wanted : what is wanted, by task
    """

    number: int
    trials: int
    count: int
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """Trials of several tasks, sorted by length, the longest first.

    Parameters
    ----------
    frames : uint8 (n, 32, 32, 3): each different one
    patches : the same, taken apart; None where the network looks at whole frames
    words : float32 (m, 300): vectors; their numbers come after those of the frames
    numbers : int64 (trials, steps): what is shown; after the end of a trial its last frame again
    tasks : of each trial
    groups : (first trial, last trial + 1, steps): trials that go through the memory together,
        without padding to the longest of all
    parts : what is wanted, by paradigm
    """

    frames: np.ndarray
    patches: Patches | None
    words: np.ndarray
    numbers: np.ndarray
    tasks: list[str]
    groups: list[tuple[int, int, int]]
    parts: list[BatchPart]


def assemble(
    chosen: Sequence[tuple[int, Rows, np.ndarray]],
    patches: bool = False,
    grouped: bool = True,
    gradients: bool = True,
    by_phase: Collection[int] = (),
) -> TrainingBatch:
    """Put trials together.

    Parameters
    ----------
    chosen : for each paradigm its number in the config, the trials, and all that it may show
        (frames, uint8, or vectors, float32)
    patches : whether to take the frames apart
    grouped : whether trials of about one length go through the memory together; all together if not
    gradients : whether something is learned from them
    by_phase : numbers of the paradigms whose loss is the mean over phases of their means
    """
    tasks: list[str] = []
    frames, words, lengths, numbers = _Distinct(), _Distinct(), [], []
    spans: list[tuple[int, int, Rows]] = []
    for number, rows, shown in chosen:
        spans.append((number, len(tasks), rows))
        tasks += rows.tasks
        lengths.append(rows.lengths)
        kind = frames if shown.dtype == np.uint8 else words
        numbers.append((kind, kind.add(rows.frames, shown)))
    length = np.concatenate(lengths)
    steps = int(length.max(initial=1))
    table = np.zeros((len(length), steps), np.int64)
    seen = frames.different()
    offset = {id(frames): 0, id(words): len(seen)}
    for (_, start, rows), (kind, local) in zip(spans, numbers, strict=True):
        width = min(steps, local.shape[1])
        table[start : start + len(rows.tasks), :width] = local[:, :width] + offset[id(kind)]
        table[start : start + len(rows.tasks), width:] = table[start : start + len(rows.tasks), width - 1 : width]
    order = np.argsort(-length, kind="stable")
    groups = _groups(length[order], grouped)
    place, at = np.empty((len(order), steps), np.int64), 0  # of each trial and step among the flat hidden states
    for begin, end, many in groups:
        place[order[begin:end], :many] = at + np.arange((end - begin) * many).reshape(-1, many)
        at += (end - begin) * many
    parts = []
    for number, start, rows in spans:
        wanted = []
        weights = phase_weights(rows.trained, rows.phases) if number in by_phase else None
        for task in dict.fromkeys(rows.tasks):
            trial, step = np.nonzero(np.array([name == task for name in rows.tasks])[:, None] & rows.trained)
            each = None if weights is None else weights[trial, step]
            wanted.append(Wanted(task, place[start + trial, step], rows.targets[trial, step], each))
        parts.append(BatchPart(number, len(rows.tasks), int(rows.trained.sum()), tuple(wanted)))
    apart = take_apart(seen, gradients) if patches and len(seen) else None
    return TrainingBatch(
        seen, apart, words.different(), table[order], [tasks[row] for row in order.tolist()], groups, parts
    )


class _Distinct:
    """Things that some trials show, each different one once, numbered in the order in which they
    show it."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[np.ndarray, dict[int, int]]] = {}
        self._found: list[np.ndarray] = []

    def add(self, numbers: np.ndarray, table: np.ndarray) -> np.ndarray:
        known = self._tables.setdefault(table.__array_interface__["data"][0], (table, {}))[1]
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
        mine = np.empty(len(first), np.int64)
        for at in np.argsort(
            first
        ):  # in the order in which they come, whatever their numbers, so that the same trials always make the same batch  # noqa: E501
            number = int(numbers.flat[first[at]])
            if number not in known:
                known[number] = len(self._found)
                self._found.append(table[number])
            mine[at] = known[number]
        return mine[places.reshape(numbers.shape)]

    def different(self) -> np.ndarray:
        return np.stack(self._found) if self._found else np.zeros((0, 0), np.float32)


def _groups(lengths: np.ndarray, grouped: bool) -> list[tuple[int, int, int]]:
    """Trials from the longest to the shortest, in groups of about one length."""
    if not len(lengths):
        return []
    kinds = -(-lengths // _LENGTHS) if grouped else np.zeros(len(lengths))
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(lengths)]
    return [(begin, end, int(lengths[begin])) for begin, end in itertools.pairwise(edges)]


Made = TypeVar("Made")


class Ahead(Generic[Made]):
    """Makes what the next steps need while the present one is worked on, in a thread, or in
    processes.

    Parameters
    ----------
    make : a function of the number of a step, and of nothing else that changes
    processes : how many; 0 makes it in a thread of this process
    prepare : what a process does first (a function that can be sent to it); it also says that Ctrl-C,
        which goes to all processes of a program, is not for it: a helper that it ended while it waits
        for work would keep the lock of the queue, and this process would wait for it for ever
    arguments : of ``prepare``
    """

    def __init__(
        self,
        make: Callable[[int], Made],
        processes: int = 0,
        prepare: Callable[..., None] | None = None,
        arguments: tuple[Any, ...] = (),
    ) -> None:
        self._make = make
        self._ahead = max(1, processes) + 1
        self._pool: Executor = ThreadPoolExecutor(1, thread_name_prefix="batches")
        if processes:
            self._pool = ProcessPoolExecutor(
                processes, mp_context=get_context("spawn"), initializer=prepare, initargs=arguments
            )
        self._waiting: dict[int, Future[Made]] = {}

    def get(self, step: int, end: int) -> Made:
        """Return what a step needs; that of the steps after it, up to ``end``, is begun."""
        for later in range(step, min(step + self._ahead, end)):
            if later not in self._waiting:
                self._waiting[later] = self._pool.submit(self._make, later)
        return self._waiting.pop(step).result()

    def __enter__(self) -> Ahead[Made]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
