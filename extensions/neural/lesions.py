"""Networks without some of their units: these are silenced for the read-out, while the memory goes
on as it was.

The WorM benchmark (Sikarwar & Zhang, 2023) sets to zero the weights that lead from these units to
the classifiers, which comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spanlab.agents.network import NetworkFrames, WordStore, scored
from spanlab.analysis.data import mean_or_nan
from spanlab.paradigms import Ask, Step, Trial
from spanlab.paradigms.network_view import NetworkView
from spanlab.paradigms.responses import Answer

if TYPE_CHECKING:
    from spanlab.agents.network import ModuleAgent
    from spanlab.agents.network.models import Network
    from spanlab.paradigms.word_vectors import WordVectors


#: For units that are silenced (numbers from 0), the share of items that is right in each trial of
#: each task.
Silencing = Callable[[Sequence[int]], Mapping[str, np.ndarray]]


def accuracy_without(observed: Observed, units: Sequence[int] = ()) -> np.ndarray:
    """The share of items that is right in each trial, float (trials,), with these units at zero in
    the hidden state that is read out.

    Trials without a question have nan.
    """
    right, items = np.zeros(len(observed.steps)), np.zeros(len(observed.steps))
    everywhere = observed.view.readout == "all_classes"
    held = observed.hidden[_places(observed.questions)]
    for question, outputs in zip(observed.questions, observed.read(held, units), strict=True):
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
    read : logits at these questions, (questions, outputs), from the hidden states there, with some
        units at zero for the read-out
    """

    view: NetworkView
    trials: tuple[Trial, ...]
    steps: tuple[tuple[Step, ...], ...]
    hidden: np.ndarray
    questions: tuple[ProbedQuestion, ...]
    read: Callable[[np.ndarray, Sequence[int]], np.ndarray]


def observe(network: Network, vectors: WordVectors | None, view: NetworkView, trials: Sequence[Trial]) -> Observed:
    """Take trials of one task through a network, in batches.

    Parameters
    ----------
    vectors : of words, for tasks in which these are read
    """
    import torch

    steps_of = tuple(tuple(step for step in trial.steps if step.percept.model_step) for trial in trials)
    store = WordStore(vectors, view.words) if view.input == "vectors" else NetworkFrames()
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
        asked = seen.at(torch.from_numpy(index[_places(questions)]))
    states = np.where(inside[..., None], np.concatenate(hidden), np.float32(0))

    def read(held: np.ndarray, units: Sequence[int]) -> np.ndarray:
        left = held.copy()
        left[:, list(units)] = 0
        with torch.inference_mode():
            return network.answer(torch.from_numpy(left), asked, view.task).numpy()

    return Observed(view, tuple(trials), steps_of, states, questions, read)


def observe_module(agent: ModuleAgent, view: NetworkView, trials: Sequence[Trial]) -> Observed:
    """Take trials of one task through a torch module, in batches. Its units are those of the
    submodule whose output is the hidden state; without some of them the trials are taken again."""
    steps_of = tuple(tuple(step for step in trial.steps if step.percept.model_step) for trial in trials)
    frames = agent.frames_of([[step.percept for step in steps] for steps in steps_of])
    inside = np.arange(frames.shape[1]) < np.array([len(steps) for steps in steps_of])[:, None]
    questions = _questions(steps_of)

    def passed(units: Sequence[int], hidden: bool) -> list[Any]:
        return [agent.outputs(frames[start : start + _BATCH], hidden, units) for start in range(0, len(frames), _BATCH)]

    def read(held: np.ndarray, units: Sequence[int]) -> np.ndarray:
        logits = np.concatenate([one.logits for one in passed(units, False)])
        return logits[_places(questions)][:, agent.interface.logits]

    held = np.concatenate([one.hidden for one in passed((), True) if one.hidden is not None])
    return Observed(view, tuple(trials), steps_of, np.where(inside[..., None], held, np.float32(0)), questions, read)


def _questions(trials: Sequence[Sequence[Step]]) -> tuple[ProbedQuestion, ...]:
    found = [
        (step.percept.phase, ProbedQuestion(row, place, step.percept.ask, step.truth.answer))
        for row, steps in enumerate(trials)
        for place, step in enumerate(steps)
        if step.percept.ask is not None and step.truth.answer is not None
    ]
    probes = [question for phase, question in found if phase == _PROBE]
    return tuple(probes or [question for _, question in found])


def _places(questions: Sequence[ProbedQuestion]) -> tuple[list[int], list[int]]:
    return [question.trial for question in questions], [question.step for question in questions]


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


#: Draws of as many units at random, for comparison.
DRAWS = 50


SEED = 7


def lesion_table(
    units: np.ndarray, labels: np.ndarray, silenced: Silencing, draws: int = DRAWS, seed: int = SEED
) -> pd.DataFrame:
    """The accuracy in each task without each of the clusters.

    Parameters
    ----------
    units : int (n,): the units, numbered from 0
    labels : int (n,): the cluster of each, from 1
    silenced : does the trials without some units

    Returns
    -------
    DataFrame
        ``cluster``, ``units``, ``task``, ``trials``, ``intact`` and ``lesioned`` (accuracy: mean
        over trials), ``drop`` (intact minus lesioned), ``drop_sem`` (of the differences in the same
        trials); ``random_drop`` and ``random_sd`` (mean and standard deviation over draws of as
        many of these units), ``beyond`` (drop minus random drop) and ``p`` (one-sided: the share of
        draws, this cluster among them, that cost at least as much). These are nan where all units
        are in the cluster
    """
    intact = silenced([])
    random = np.random.RandomState(seed)
    rows = []
    for cluster in range(1, int(labels.max(initial=0)) + 1):
        members = units[labels == cluster]
        without = silenced(members.tolist())
        others = (
            [silenced(np.sort(random.choice(units, len(members), replace=False)).tolist()) for _ in range(draws)]
            if len(members) < len(units)
            else []
        )
        for task, whole in intact.items():
            scored = np.isfinite(whole)
            differences = (whole - without[task])[scored]
            count = len(differences)
            drop = mean_or_nan(differences)
            drawn = np.array([mean_or_nan((whole - other[task])[scored]) for other in others])
            there = len(drawn) > 0 and count > 0
            rows.append(
                {
                    "cluster": cluster,
                    "units": len(members),
                    "task": task,
                    "trials": count,
                    "intact": mean_or_nan(whole[scored]),
                    "lesioned": mean_or_nan(without[task][scored]),
                    "drop": drop,
                    "drop_sem": float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"),
                    "random_drop": mean_or_nan(drawn),
                    "random_sd": float(drawn.std(ddof=1)) if len(drawn) > 1 else float("nan"),
                    "beyond": drop - mean_or_nan(drawn),
                    "p": float((1 + (drawn >= drop - 1e-12).sum()) / (1 + len(drawn))) if there else float("nan"),
                }
            )
    names = [
        "cluster",
        "units",
        "task",
        "trials",
        "intact",
        "lesioned",
        "drop",
        "drop_sem",
        "random_drop",
        "random_sd",
        "beyond",
        "p",
    ]
    return pd.DataFrame(rows, columns=names)
