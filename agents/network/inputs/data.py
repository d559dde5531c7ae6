"""Trials for networks: compiled, rendered to frames, and laid out in arrays, one block per
combination of factor levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from ....core.errors import SpanLabError
from ....paradigms import (
    Answer,
    Ask,
    Generator,
    Paradigm,
    PlannedTrial,
    Trial,
    compile_trial,
    plan_dataset,
)
from ....paradigms.identity import stream
from ....paradigms.network_view import Labels, Loss, NetworkArrays, NetworkView, labels_of, network_arrays
from .words import Store

Split = Literal["train", "validation", "test"]
Order = Literal["conditions", "shuffled"]

_RENDERED_TOGETHER = 200


@dataclass(slots=True)
class TrialBlock:
    """Trials of one combination of factor levels.

    Parameters
    ----------
    levels : the combination
    task : row of the task embedding
    frames : int64 (trials, steps): numbers of frames (or words) in the store; steps after the end
        of a trial repeat its last frame
    lengths : int64 (trials,): steps of each trial
    trained : bool (trials, steps): steps that enter the loss
    targets : int64 (trials, steps) classes, or bool (trials, steps, head) outputs
    phases : int64 (trials, steps): number of the phase whose question a step asks, from 1; 0 where
        none is asked
    questions : for each trial, (step, question, correct answer) of each question; only kept for
        validation and test
    """

    levels: dict[str, Any]
    task: str
    frames: np.ndarray
    lengths: np.ndarray
    trained: np.ndarray
    targets: np.ndarray
    phases: np.ndarray
    questions: list[tuple[tuple[int, Ask, Answer], ...]] = field(default_factory=list)


class Rows(NamedTuple):
    """Some trials of a pool, whatever their factor levels.

    Parameters
    ----------
    tasks : row of the task embedding of each
    frames, lengths, trained, targets, phases : as in :class:`TrialBlock`
    """

    tasks: list[str]
    frames: np.ndarray
    lengths: np.ndarray
    trained: np.ndarray
    targets: np.ndarray
    phases: np.ndarray


def phase_weights(trained: np.ndarray, phases: np.ndarray) -> np.ndarray:
    """Return the weight of each step if the loss is the mean over phases of their mean losses:
    float32 (trials, steps), with a sum of as many as are trained."""
    counts = np.bincount(phases[trained])
    there = np.flatnonzero(counts)
    each = np.zeros(max(1, int(phases.max(initial=0)) + 1), np.float32)
    each[there] = counts.sum() / (len(there) * counts[there])
    return np.where(trained, each[phases], np.float32(0))


@dataclass(slots=True)
class Pool:
    """All trials of one paradigm that belong to one split; the store has what they show."""

    paradigm: Paradigm
    view: NetworkView
    loss: Loss
    blocks: list[TrialBlock]
    store: Store

    @property
    def trials(self) -> int:
        return sum(len(block.frames) for block in self.blocks)

    def take(self, indices: np.ndarray) -> Rows:
        """Trials by their numbers: these go round the blocks."""
        places = [(self.blocks[index % len(self.blocks)], index // len(self.blocks)) for index in indices.tolist()]
        lengths = np.array([block.lengths[row] for block, row in places], np.int64)
        steps = int(lengths.max())
        example = self.blocks[0].targets
        frames = np.empty((len(places), steps), np.int64)
        trained = np.zeros((len(places), steps), bool)
        targets = np.zeros((len(places), steps, *example.shape[2:]), example.dtype)
        phases = np.zeros((len(places), steps), np.int64)
        for at, (block, row) in enumerate(places):
            own = min(steps, block.frames.shape[1])
            frames[at, :own], frames[at, own:] = block.frames[row, :own], block.frames[row, own - 1]
            trained[at, :own], targets[at, :own], phases[at, :own] = (
                block.trained[row, :own],
                block.targets[row, :own],
                block.phases[row, :own],
            )
        return Rows([block.task for block, _ in places], frames, lengths, trained, targets, phases)


def arrays_of(view: NetworkView, trials: Sequence[Trial]) -> NetworkArrays:
    """Return trials of one task as arrays with as many steps as the longest of them has."""
    return network_arrays(view, trials, max(sum(step.percept.model_step for step in trial.steps) for trial in trials))


def longest_trial(paradigm: Paradigm, factors: Mapping[str, Any], generator: Generator) -> int:
    """The most steps that machines see in a trial with these levels, found in one trial of each
    combination of them."""
    planned = plan_dataset(paradigm, 1, "train", len(paradigm.combinations(factors)), factors)
    trials = (one.compile(paradigm, generator) for one in planned)
    return max(sum(step.percept.model_step for step in trial.steps) for trial in trials)


class Compiled(NamedTuple):
    """One trial: its task, the numbers of what it shows, and its labels."""

    task: str
    frames: np.ndarray
    labels: Labels


def view_of(paradigm: Paradigm) -> NetworkView:
    """The paradigm's network section.

    Raises
    ------
    SpanLabError
        when it has none.
    """
    if paradigm.network is None:
        raise SpanLabError(
            f"networks cannot be trained on {paradigm.name}: it has no 'network' section that says its task and head;"
            " add one to the file"
        )
    return paradigm.network


def task_of(paradigm: Paradigm, levels: Mapping[str, Any]) -> str:
    """The row of the task embedding for trials with these levels."""
    view = paradigm.network_view(levels)
    assert view is not None
    return view.task


def make_pool(
    paradigm: Paradigm,
    store: Store,
    split: Split,
    seed: int,
    trials: int,
    factors: Mapping[str, Any],
    generator: Literal["corrected", "published"],
    advance: Callable[[int], None] = lambda count: None,
) -> Pool:
    """Compile and render ``trials`` trials of one split, an equal share of each combination of
    factor levels.

    Parameters
    ----------
    store : where the frames go; each different frame is kept once
    seed : of the training run; the splits' trial seeds cannot overlap
    factors : levels to use for some factors; all when empty
    advance : called with the number of trials that were just finished

    Raises
    ------
    SpanLabError
        when the paradigm has no network section, or asks what its head cannot answer.
    """
    return pool_of(
        paradigm,
        store,
        paradigm.combinations(factors),
        compile_all(paradigm, store, plan_dataset(paradigm, seed, split, trials, factors), generator, advance),
        keep=split != "train",
    )


def compile_all(
    paradigm: Paradigm,
    store: Store,
    planned: Iterable[PlannedTrial],
    generator: Literal["corrected", "published"],
    advance: Callable[[int], None] = lambda count: None,
) -> list[Compiled]:
    """Compile and render planned trials, and say what is wanted in them."""
    view = view_of(paradigm)
    found: list[Compiled] = []
    waiting: list[Trial] = []

    def render() -> None:
        stimuli = [
            [step.percept.for_machine.stimulus for step in trial.steps if step.percept.model_step] for trial in waiting
        ]
        index = store.add([stimulus for own in stimuli for stimulus in own])
        ends = np.cumsum([len(own) for own in stimuli])
        for trial, part in zip(waiting, np.split(index, ends[:-1]), strict=True):
            found.append(Compiled(task_of(paradigm, trial.levels), part, labels_of(trial, view)))
        advance(len(waiting))
        waiting.clear()

    for plan in planned:
        waiting.append(compile_trial(paradigm, plan.levels, plan.seed, generator))
        if len(waiting) == _RENDERED_TOGETHER:
            render()
    if waiting:
        render()
    return found


def rows_of(paradigm: Paradigm, compiled: Sequence[Compiled]) -> Rows:
    """Compiled trials, whatever their levels."""
    view = view_of(paradigm)
    loss = _loss(view, compiled)
    lengths = np.array([len(trial.frames) for trial in compiled], np.int64)
    steps = int(lengths.max())
    return Rows(
        [trial.task for trial in compiled],
        _frames(compiled, lengths),
        lengths,
        *_labels(compiled, steps, view, loss),
        _phases(compiled, steps, _phase_numbers(compiled)),
    )


def pool_of(
    paradigm: Paradigm, store: Store, combinations: Sequence[dict[str, Any]], compiled: Sequence[Compiled], keep: bool
) -> Pool:
    """Compiled trials, which go round the combinations, as a pool; questions are kept for scoring
    when ``keep``."""
    view = view_of(paradigm)
    loss = _loss(view, compiled[: len(combinations)])
    numbers = _phase_numbers(compiled)
    blocks = []
    for number, levels in enumerate(combinations):
        own = compiled[number :: len(combinations)]
        if not own:
            continue
        if any(trial.task != own[0].task for trial in own):
            raise SpanLabError(
                f"{paradigm.name}: the task of its network section depends on a factor that is drawn at random; give"
                " that factor's level"
            )
        lengths = np.array([len(trial.frames) for trial in own], np.int64)
        questions = [trial.labels.questions for trial in own] if keep else []
        steps = int(lengths.max())
        phases = _phases(own, steps, numbers)
        blocks.append(
            TrialBlock(
                levels, own[0].task, _frames(own, lengths), lengths, *_labels(own, steps, view, loss), phases, questions
            )
        )
    return Pool(paradigm, view, loss, blocks, store)


def _loss(view: NetworkView, compiled: Sequence[Compiled]) -> Loss:
    """Questions with one answer are classes, unless there is a single output; questions with
    several answers are outputs."""
    several = any(isinstance(target, tuple) for trial in compiled for target in trial.labels.targets)
    return "outputs" if several or view.head == 1 else "classes"


def _frames(trials: Sequence[Compiled], lengths: np.ndarray) -> np.ndarray:
    return np.stack([np.pad(trial.frames, (0, lengths.max() - len(trial.frames)), mode="edge") for trial in trials])


def _labels(trials: Sequence[Compiled], steps: int, view: NetworkView, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """Return which steps are trained, and their targets."""
    trained = np.zeros((len(trials), steps), bool)
    targets = (
        np.zeros((*trained.shape, view.head), bool)
        if loss == "outputs"
        else np.full(trained.shape, view.filler, np.int64)
    )
    for row, trial in enumerate(trials):
        labels = trial.labels
        trained[row, : len(labels.trained)] = labels.trained
        for step, target in enumerate(labels.targets):
            if loss == "classes":
                targets[row, step] = target
            elif labels.trained[step]:
                wanted = target if isinstance(target, tuple) else (target,)
                targets[row, step, wanted if view.head > 1 else 0] = True if view.head > 1 else wanted[0] == 1
    return trained, targets


def _phase_numbers(trials: Sequence[Compiled]) -> dict[str, int]:
    """The phases that ask questions, numbered from 1; 0 is for steps without a question."""
    return {
        phase: number
        for number, phase in enumerate(sorted({"", *(phase for trial in trials for phase in trial.labels.asked_in)}))
    }


def _phases(trials: Sequence[Compiled], steps: int, numbers: Mapping[str, int]) -> np.ndarray:
    found = np.zeros((len(trials), steps), np.int64)
    for row, trial in enumerate(trials):
        found[row, : len(trial.labels.asked_in)] = [numbers[phase] for phase in trial.labels.asked_in]
    return found


def indices_at(
    paradigm: str, seed: int, step: int, size: int, trials: int, combinations: int, order: Order
) -> np.ndarray:
    """The trials of one step of training, by their numbers, which go round the combinations.

    A pure function of the seed and the number of the step, so that a resumed run goes on with
    exactly the trials that were next. With ``conditions`` the trials of a step share one
    combination; combinations take turns in an order that is drawn anew in every round. All trials
    (of the combination) come once, in random order, before any comes again.
    """
    if order == "shuffled":
        return np.array(
            [
                _order(paradigm, seed, "all", at // trials, trials)[at % trials]
                for at in range(step * size, (step + 1) * size)
            ],
            np.int64,
        )
    turn, place = divmod(step, combinations)
    number = int(_order(paradigm, seed, "turn", turn, combinations)[place])
    rows = len(range(number, trials, combinations))
    chosen = [
        _order(paradigm, seed, f"rows:{number}", at // rows, rows)[at % rows]
        for at in range(turn * size, (turn + 1) * size)
    ]
    return np.array(chosen, np.int64) * combinations + number


@lru_cache(maxsize=512)
def _order(paradigm: str, seed: int, name: str, round_: int, count: int) -> np.ndarray:
    return stream(paradigm, seed, f"training:{name}:{round_}").permutation(count)
