"""Networks without some of their units: these are silenced for the read-out, while the memory goes
on as it was.

The WorM benchmark (Sikarwar & Zhang, 2023) sets to zero the weights that lead from these units to
the classifiers, which comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...paradigms import Answer, Ask, NetworkView, Step, Trial, is_model_step
from .inputs.frames import NetworkFrames
from .inputs.words import WordStore
from .training.evaluation import scored

if TYPE_CHECKING:
    from ...paradigms import WordVectors
    from .models import Network, Seen


def accuracy_without(network: Network, observed: Observed, units: Sequence[int] = ()) -> np.ndarray:
    """The share of items that is right in each trial, float (trials,), with these units at zero in
    the hidden state that is read out.

    Trials without a question have nan.
    """
    import torch

    questions, view = observed.questions, observed.view
    held = observed.hidden[[question.trial for question in questions], [question.step for question in questions]].copy()
    held[:, list(units)] = 0
    with torch.inference_mode():
        logits = network.answer(torch.from_numpy(held), observed.seen, view.task).numpy()
    right, items = np.zeros(len(observed.steps)), np.zeros(len(observed.steps))
    everywhere = view.readout == "all_classes"
    for question, outputs in zip(questions, logits, strict=True):
        kind = question.ask.kind
        found = scored(kind, kind.from_logits(outputs, question.ask.classes, all_classes=everywhere), question.answer)
        right[question.trial] += sum(found)
        items[question.trial] += len(found)
    return np.divide(right, items, out=np.full(len(items), np.nan), where=items > 0)


#: Trials that go through the network together.
_BATCH = 64
#: The phase in which what was held is asked for, in all paradigms that ship.
_PROBE = "probe"


@dataclass(frozen=True, slots=True)
class ProbedQuestion:
    """One question.

    Parameters
    ----------
    trial, step : where, from 0
    ask, answer : what is asked, and the correct answer
    """

    trial: int
    step: int
    ask: Ask
    answer: Answer


@dataclass(frozen=True, slots=True)
class Observed:
    """Trials of one task, as they went through a network.

    Parameters
    ----------
    view : what the network sees of this task
    trials : as compiled
    steps : of each trial, those that machines get
    hidden : float32 (trials, steps, units); zeros after the end of a trial
    questions : those that probe what was held; all of them in paradigms without such a phase
    seen : what the read-out has before it at these questions, beside the hidden state
    """

    view: NetworkView
    trials: tuple[Trial, ...]
    steps: tuple[tuple[Step, ...], ...]
    hidden: np.ndarray
    questions: tuple[ProbedQuestion, ...]
    seen: Seen


def observe(network: Network, vectors: WordVectors | None, view: NetworkView, trials: Sequence[Trial]) -> Observed:
    """Take trials of one task through a network, in batches.

    Parameters
    ----------
    vectors : of words, for tasks in which these are read
    """
    import torch

    steps_of = tuple(tuple(step for step in trial.steps if is_model_step(step.percept)) for trial in trials)
    store = WordStore(vectors) if view.input == "vectors" else NetworkFrames()
    numbers = store.add([step.percept.for_machine.stimulus for steps in steps_of for step in steps])
    lengths = np.array([len(steps) for steps in steps_of], int)
    index = np.zeros((len(steps_of), int(lengths.max(initial=0))), np.int64)
    inside = np.arange(index.shape[1]) < lengths[:, None]
    index[inside] = numbers
    questions = _questions(steps_of)
    with torch.inference_mode():
        seen = network.see(torch.from_numpy(store.frames()))
        hidden = [
            network.remember(seen.at(torch.from_numpy(index[start : start + _BATCH])), view.task)[0]
            .float()
            .cpu()
            .numpy()
            for start in range(0, len(steps_of), _BATCH)
        ]
        asked = seen.at(
            torch.from_numpy(
                index[[question.trial for question in questions], [question.step for question in questions]]
            )
        )
    return Observed(
        view,
        tuple(trials),
        steps_of,
        np.where(inside[..., None], np.concatenate(hidden), np.float32(0)),
        questions,
        asked,
    )


def _questions(trials: Sequence[Sequence[Step]]) -> tuple[ProbedQuestion, ...]:
    found = [
        (step.percept.phase, ProbedQuestion(row, place, step.percept.ask, step.truth.answer))
        for row, steps in enumerate(trials)
        for place, step in enumerate(steps)
        if step.percept.ask is not None and step.truth.answer is not None
    ]
    probes = [question for phase, question in found if phase == _PROBE]
    return tuple(probes or [question for _, question in found])


def before_the_probe(observed: Observed) -> tuple[np.ndarray, bool]:
    """The steps of each trial before what was held is asked for, bool (trials, steps), and whether
    these are not all.

    Where something else follows a probe in any of the trials (task switching), or there is nothing
    before it (N-back), questions run through the trial, and all steps are meant.
    """
    inside = np.zeros(observed.hidden.shape[:2], bool)
    probe = np.zeros(observed.hidden.shape[:2], bool)
    through = False
    for row, steps in enumerate(observed.steps):
        phases = [step.percept.phase == _PROBE for step in steps]
        inside[row, : len(steps)] = True
        probe[row, : len(steps)] = phases
        through |= all(phases) or any(now and not after for now, after in pairwise(phases))
    return (inside, False) if through else (inside & ~probe, bool(probe.any()))
