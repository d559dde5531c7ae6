"""A paradigm for networks: its task, the width of its head, and the target classes at each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from ..core.errors import SpanLabError
from ..core.registry import StrictModel
from .responses import Answer
from .trial import Ask, Trial
from .word_vectors import DIMENSIONS, WordVectors, random_vectors

#: The fourteen tasks of the WorM benchmark in its order: the number of a task is the row of the
#: published networks' task embedding.
WORM_TASKS = (
    "sc",
    "sfr",
    "si",
    "smu",
    "sts",
    "vir",
    "vsr",
    "vsrec",
    "cd_color",
    "cd_orientation",
    "cd_size",
    "cd_gap",
    "cd_conj",
    "cs",
)

#: Classes exclude one another (cross entropy), or each output is a yes or no of its own (binary
#: cross entropy).
Loss = Literal["classes", "outputs"]


class NetworkView(StrictModel):
    """The ``network`` part of a paradigm."""

    task: str = Field(
        min_length=1, description="row of the task embedding, by name; may be an expression over the factors"
    )
    head: int = Field(ge=1, description="number of outputs of the task's head")
    head_name: str | None = Field(
        None, min_length=1, description="name of the head, if several tasks share one; the task if not given"
    )
    filler: int = Field(0, description="label of steps that are not trained, and of those beyond the end of the trial")
    silent: int | None = Field(
        None,
        ge=0,
        description="class that is trained at steps without a question; if not given, these steps are not trained",
    )
    readout: Literal["allowed", "all_classes"] = Field(
        "allowed", description="whether the answer is the best of the allowed classes or of all classes of the head"
    )
    input: Literal["frames", "vectors"] = Field(
        "frames", description="whether a step is a frame or the vectors of its words"
    )
    words: int = Field(
        1, ge=1, le=100, description="words that a step holds side by side (input: vectors); one with more shows none"
    )

    @property
    def shared_head(self) -> str:
        """The name of the head."""
        return self.head_name or self.task


def classes_of(ask: Ask, answer: Answer) -> int | tuple[int, ...]:
    """The class in the head that an answer stands for; several for answers with several values."""
    target = ask.kind.target(answer)
    if ask.classes is None:
        return target
    return tuple(ask.classes[number] for number in target) if isinstance(target, tuple) else ask.classes[target]


@dataclass(frozen=True, slots=True)
class Labels:
    """The training targets of one trial.

    Parameters
    ----------
    trained : for each step, whether it enters the loss
    targets : for each step the class (:attr:`NetworkView.filler` where none is wanted), or the
        outputs that are wanted
    questions : (step, ask, correct answer) of each question
    asked_in : for each step the phase of its question; empty where none is asked
    """

    trained: tuple[bool, ...]
    targets: tuple[int | tuple[int, ...], ...]
    questions: tuple[tuple[int, Ask, Answer], ...]
    asked_in: tuple[str, ...]


def labels_of(trial: Trial, view: NetworkView) -> Labels:
    """The labels of a trial.

    Raises
    ------
    SpanLabError
        when it asks for a class that the head does not have, and for a head that torch cannot name.
    """
    if "." in view.shared_head:
        raise SpanLabError(f"the task or head '{view.shared_head}' has a dot in its name, which no checkpoint can hold")
    if view.silent is not None and view.silent >= max(view.head, 2):
        raise SpanLabError(
            f"{trial.paradigm} has a silent class {view.silent} and a head with {view.head} outputs; make 'head' in its"
            " network section larger"
        )
    trained: list[bool] = []
    targets: list[int | tuple[int, ...]] = []
    questions: list[tuple[int, Ask, Answer]] = []
    asked_in: list[str] = []
    for step in (one for one in trial.steps if one.percept.model_step):
        ask, answer = step.percept.ask, step.truth.answer
        asked_in.append("" if ask is None or answer is None else step.percept.phase)
        if ask is None or answer is None:
            trained.append(view.silent is not None)
            targets.append(view.filler if view.silent is None else view.silent)
            continue
        target = classes_of(ask, answer)
        highest = max(target, default=0) if isinstance(target, tuple) else target
        if highest >= max(view.head, 2) or (isinstance(target, tuple) and highest >= view.head):
            raise SpanLabError(
                f"{trial.paradigm} asks for class {highest} of a head with {view.head} outputs; make 'head' in its"
                " network section larger"
            )
        questions.append((len(targets), ask, answer))
        trained.append(True)
        targets.append(target)
    return Labels(tuple(trained), tuple(targets), tuple(questions), tuple(asked_in))


@dataclass(frozen=True, slots=True)
class NetworkArrays:
    """Trials as the WorM benchmark hands them to networks.

    Parameters
    ----------
    frames : uint8 (trials, steps, 32, 32, 3): RGB; after the end of a trial black. Where words are
        read: float32 (trials, steps, 300 × words), the vectors of the words that a step shows, and
        zeros
    lengths : int64 (trials,): steps of each trial
    labels : int64 (trials, steps): the class wanted at each step, the filler where none is; for
        questions with several answers (trials, head), 1 where wanted
    trained : bool (trials, steps): the steps that enter the loss
    """

    frames: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    trained: np.ndarray


def network_arrays(
    view: NetworkView, trials: Sequence[Trial], steps: int = 20, vectors: WordVectors | None = None
) -> NetworkArrays:
    """Trials of one task as arrays, laid out as in the WorM benchmark (its data sets have 20
    steps).

    Parameters
    ----------
    view : of this task
    trials : compiled
    steps : of the arrays; long lists of words need 32
    vectors : of words, where these are read; random unit vectors when not given

    Raises
    ------
    SpanLabError
        when a trial is longer than ``steps``, asks for a class that the head does not have, or
        shows a word without a vector.
    """
    from ..stimuli.render.fast.batch import network_frames
    from ..stimuli.render.pixels import NETWORK

    labels = [labels_of(trial, view) for trial in trials]
    lengths = np.array([len(trial_labels.targets) for trial_labels in labels], np.int64)
    if len(lengths) and lengths.max() > steps:
        raise SpanLabError(
            f"a trial of {trials[int(lengths.argmax())].paradigm} has {lengths.max()} steps; {steps} are too few"
        )
    trained = np.zeros((len(trials), steps), bool)
    several = any(isinstance(target, tuple) for trial_labels in labels for target in trial_labels.targets)
    targets = (
        np.zeros((len(trials), view.head), np.int64)
        if several
        else np.full((len(trials), steps), view.filler, np.int64)
    )
    for row, trial_labels in enumerate(labels):
        trained[row, : len(trial_labels.trained)] = trial_labels.trained
        if not several:
            targets[row, : len(trial_labels.targets)] = trial_labels.targets
            continue
        for target in trial_labels.targets:
            if isinstance(target, tuple):
                targets[row, list(target)] = 1
    stimuli = [step.percept.for_machine.stimulus for trial in trials for step in trial.steps if step.percept.model_step]
    if view.input == "vectors":
        frames = np.zeros((len(trials), steps, DIMENSIONS * view.words), np.float32)
        frames[np.arange(steps) < lengths[:, None]] = (vectors or random_vectors()).shown(stimuli, view.words)
    else:
        frames = np.zeros((len(trials), steps, NETWORK, NETWORK, 3), np.uint8)
        frames[np.arange(steps) < lengths[:, None]] = network_frames(stimuli)
    return NetworkArrays(frames, lengths, targets, trained)
