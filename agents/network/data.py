"""Trials for networks: compiled, rendered to frames, and laid out in arrays, one block per combination of factor levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ...errors import SpanLabError
from ...paradigms import Answer, Ask, NetworkView, Paradigm, Trial, compile_trial, plan_dataset
from ...paradigms.identity import stream
from ...paradigms.network_view import Loss, is_model_step, labels_of, loss_of
from .words import Store

Split = Literal["train", "validation", "test"]

_RENDERED_TOGETHER = 200


@dataclass(slots=True)
class Block:
    """Trials of one combination of factor levels.

    Parameters
    ----------
    levels : the combination
    task : row of the task embedding
    frames : int64 (trials, steps): numbers of frames (or words) in the store; steps after the end of a trial repeat its last frame
    trained : bool (trials, steps): steps that enter the loss
    targets : int64 (trials, steps) classes, or bool (trials, steps, head) outputs
    questions : for each trial, (step, question, correct answer) of each question; only kept for validation and test
    """

    levels: dict[str, Any]
    task: str
    frames: np.ndarray
    trained: np.ndarray
    targets: np.ndarray
    questions: list[tuple[tuple[int, Ask, Answer], ...]] = field(default_factory=list)


@dataclass(slots=True)
class Pool:
    """All trials of one paradigm that belong to one split; the store has what they show."""

    paradigm: Paradigm
    view: NetworkView
    loss: Loss
    blocks: list[Block]
    store: Store

    @property
    def trials(self) -> int:
        return sum(len(block.frames) for block in self.blocks)


def view_of(paradigm: Paradigm) -> NetworkView:
    """The paradigm's network section.

    Raises
    ------
    SpanLabError
        when it has none.
    """
    if paradigm.network is None:
        raise SpanLabError(f"networks cannot be trained on {paradigm.name}: it has no 'network' section that says its task and head; add one to the file")
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
    """Compile and render ``trials`` trials of one split, an equal share of each combination of factor levels.

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
    view = view_of(paradigm)
    combinations = paradigm.combinations(factors)
    compiled: dict[int, list[Trial]] = {number: [] for number in range(len(combinations))}
    numbers: dict[int, list[np.ndarray]] = {number: [] for number in range(len(combinations))}
    waiting: list[tuple[int, Trial]] = []

    def render() -> None:
        stimuli = [[step.percept.for_machine.stimulus for step in trial.steps if is_model_step(step.percept)] for _, trial in waiting]
        index = store.add([stimulus for own in stimuli for stimulus in own])
        ends = np.cumsum([len(own) for own in stimuli])
        for (combination, trial), part in zip(waiting, np.split(index, ends[:-1]), strict=True):
            compiled[combination].append(trial)
            numbers[combination].append(part)
        advance(len(waiting))
        waiting.clear()

    for planned in plan_dataset(paradigm, seed, split, trials, factors):
        trial = compile_trial(paradigm, planned.levels, planned.seed, generator)
        waiting.append(((planned.trial - 1) % len(combinations), trial))
        if len(waiting) == _RENDERED_TOGETHER:
            render()
    if waiting:
        render()
    loss = loss_of(view, [trial for own in compiled.values() for trial in own[:1]])
    blocks = [
        _block(paradigm, levels, compiled[number], numbers[number], view, loss, keep=split != "train")
        for number, levels in enumerate(combinations)
        if compiled[number]
    ]
    return Pool(paradigm, view, loss, blocks, store)


def _block(
    paradigm: Paradigm, levels: dict[str, Any], trials: Sequence[Trial], numbers: Sequence[np.ndarray], view: NetworkView, loss: Loss, keep: bool
) -> Block:
    longest = max(len(part) for part in numbers)
    frames = np.stack([np.pad(part, (0, longest - len(part)), mode="edge") for part in numbers])
    trained = np.zeros(frames.shape, bool)
    targets = np.zeros((*frames.shape, view.head), bool) if loss == "outputs" else np.full(frames.shape, view.filler, np.int64)
    task = task_of(paradigm, trials[0].levels)
    if any(task_of(paradigm, trial.levels) != task for trial in trials):
        raise SpanLabError(f"{paradigm.name}: the task of its network section depends on a factor that is drawn at random; give that factor's level")
    block = Block(levels, task, frames, trained, targets)
    for row, trial in enumerate(trials):
        labels = labels_of(trial, view)
        trained[row, : len(labels.trained)] = labels.trained
        for step, target in enumerate(labels.targets):
            if loss == "classes":
                targets[row, step] = target
            elif labels.trained[step]:
                wanted = target if isinstance(target, tuple) else (target,)
                targets[row, step, wanted if view.head > 1 else 0] = True if view.head > 1 else wanted[0] == 1
        if keep:
            block.questions.append(labels.questions)
    return block


def batch_at(pool: Pool, seed: int, step: int, size: int) -> tuple[Block, np.ndarray]:
    """The trials of one step of training: a block, and the rows in it.

    A pure function of the seed and the number of the step, so that a resumed run goes on with exactly the trials that were next. Combinations take turns in an
    order that is drawn anew in every round; within one, all trials come once, in random order, before any comes again.
    """
    count = len(pool.blocks)
    turn, place = divmod(step, count)
    number = _order(pool.paradigm.name, seed, "turn", turn, count)[place]
    block = pool.blocks[number]
    rows = len(block.frames)
    chosen = [_order(pool.paradigm.name, seed, f"rows:{number}", at // rows, rows)[at % rows] for at in range(turn * size, (turn + 1) * size)]
    return block, np.array(chosen, np.int64)


@lru_cache(maxsize=512)
def _order(paradigm: str, seed: int, name: str, round_: int, count: int) -> np.ndarray:
    return stream(paradigm, seed, f"training:{name}:{round_}").permutation(count)
