"""Observers who lack one thing, and how far they get: what ``fidelity_lacking.py`` measures with.

An observer says of every question of a compiled trial what it has to go by without the thing that
it lacks, and what is right in these terms. Which answer goes best with what it has is learned from
half of the trials and scored on the other half, and the other way round: no trial is scored with
what was learned from it. Where reasoning alone tells the answer, the observer gives it, and only
whether it is right is counted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from spanlab.paradigms import Generator, Paradigm, Step, Trial, compile_trial, load_paradigm

#: What is usual counts as so many answers beside those that were seen.
_PRIOR = 8


@dataclass(frozen=True)
class Known:
    """Of one answer: what there is to go by, and what is right in these terms."""

    by: Hashable
    right: Hashable


#: Of each scored answer what is known, or whether reasoning from what is left gives the right one.
Found = Sequence[Known | bool]


@dataclass(frozen=True)
class Observer:
    """Somebody who lacks one thing, in some conditions.

    Parameters
    ----------
    paradigms : whose trials are looked at in turn
    condition : in words; empty for all
    lacks : the thing, in words
    uses : what the answers are then found by, in words
    guess : what it makes of a trial
    levels : of some factors; the others have all their levels in turn
    phase : of the questions that it answers
    trials : how many are looked at
    """

    paradigms: tuple[str, ...]
    condition: str
    lacks: str
    uses: str
    guess: Callable[[Trial], Found]
    levels: Mapping[str, Any] = field(default_factory=dict)
    phase: str = "probe"
    trials: int = 2_000


@dataclass(frozen=True)
class Share:
    """How many answers were right.

    Parameters
    ----------
    right, error : the share, and its standard error from trial to trial
    chance : that of a uniform guess among the allowed answers
    """

    right: float
    error: float
    chance: float


@cache
def loaded(name: str) -> Paradigm:
    return load_paradigm(name)


def measured(observer: Observer, generator: Generator, trials: int, first: int = 1) -> Share:
    """How far an observer gets in so many trials, with seeds from ``first`` on."""
    conditions = [
        (name, levels) for name in observer.paradigms for levels in loaded(name).combinations(observer.levels)
    ]
    folds: list[list[Found]] = [[], []]
    chance: list[float] = []
    for number in range(trials):
        name, levels = conditions[number % len(conditions)]
        trial = compile_trial(loaded(name), levels, first + number, generator)
        folds[number // len(conditions) % 2].append(observer.guess(trial))
        chance += [step.truth.chance or 0.0 for step in asked(trial, observer.phase)]
    scores = [score for learned, tested in (folds, folds[::-1]) for score in _scored(_learned(learned), tested)]
    sizes, sums = (
        np.array([len(trial_scores) for trial_scores in scores]),
        np.array([sum(trial_scores) for trial_scores in scores]),
    )
    share = sums.sum() / sizes.sum()
    error = math.sqrt(((sums - share * sizes) ** 2).sum()) / sizes.sum()
    return Share(float(share), float(error), float(np.mean(chance)))


def _learned(trials: Sequence[Found]) -> Callable[[Hashable], Hashable]:
    """The answer that is right most often, by what there is to go by. What was rarely seen counts
    for little beside what is usual altogether; of equally good answers the first in a fixed order
    is given."""
    counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    usual: Counter[Hashable] = Counter()
    for guess in itertools.chain.from_iterable(trials):
        if isinstance(guess, Known):
            counts[guess.by][guess.right] += 1
            usual[guess.right] += 1
    every = usual.total()
    order = sorted(usual, key=repr)

    @cache
    def best(by: Hashable) -> Hashable:
        here = counts.get(by, Counter())
        return max(here or order, key=lambda answer: here[answer] + _PRIOR * usual[answer] / every) if order else None

    return best


def _scored(best: Callable[[Hashable], Hashable], trials: Sequence[Found]) -> list[list[bool]]:
    return [
        [guess if isinstance(guess, bool) else best(guess.by) == guess.right for guess in found] for found in trials
    ]


# what is in a trial -------------------------------------------------------------------------------


def shown(trial: Trial, phase: str) -> list[Any]:
    """The stimuli of a phase, in order."""
    return [stimulus_of(step) for step in trial.steps if step.percept.phase == phase]


def stimulus_of(step: Step) -> Any:
    """What machines see in a step."""
    return step.percept.for_machine.stimulus


def asked(trial: Trial, phase: str = "probe") -> list[Step]:
    """The steps of a phase that ask something."""
    return [step for step in trial.steps if step.percept.phase == phase and step.percept.ask is not None]


def answers(trial: Trial, phase: str = "probe") -> list[Any]:
    """What is right in each of them."""
    return [step.truth.answer for step in asked(trial, phase)]


def nothing(phase: str = "probe") -> Callable[[Trial], Found]:
    """Somebody who has nothing to go by but the number of the question."""
    return lambda trial: [Known(number, answer) for number, answer in enumerate(answers(trial, phase))]


def among(candidates: Sequence[Any], right: Any) -> Known:
    """A guess among things of which nothing is known but how many there are."""
    return Known(len(candidates), candidates.index(right))
