"""The accuracy without memory or without looking: chance and the best blind guess, by condition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import SpanLabError
from ..core.json_values import grouped
from .compile import compile_trial
from .paradigm import GENERATORS, MAX_COMBINATIONS, Generator, Paradigm
from .trial import Step, Trial

#: Of each condition, so many trials are compiled: within a condition, they rarely differ in their
#: questions.
_TRIALS = 2


@dataclass(frozen=True, slots=True)
class ChanceRow:
    """Conditions of a paradigm in which guessing gets equally far.

    Parameters
    ----------
    phase : in which the questions are asked, as decisions between items and the items themselves
        are two things
    levels : for every factor the levels that these conditions have, every one with every other
    generators : that make these trials
    items : fewest and most scored items in this phase of a trial
    chance : expected share of correct items when every answer is a uniform guess
    blind : that of the best guess of somebody who knows the paradigm, the condition and which
        question it is, but has not looked
    all_right : lowest and highest probability that all of them are correct when every answer is a
        uniform guess
    varies : whether trials of the same condition differ in this, so that some may have more or
        fewer items than those that were looked at
    """

    phase: str
    levels: Mapping[str, tuple[Any, ...]]
    generators: tuple[Generator, ...]
    items: tuple[int, int]
    chance: float
    blind: float
    all_right: tuple[float, float]
    varies: bool


def chance_rows(paradigm: Paradigm) -> list[ChanceRow]:
    """Chance and the best blind guess in every condition of both generators, random factors
    included; conditions with the same numbers share a row.

    Raises
    ------
    SpanLabError
        when the paradigm has too many conditions.
    """
    axes: list[tuple[Any, ...]] = [GENERATORS, *(factor.levels for factor in paradigm.factors.values())]
    if math.prod(map(len, axes)) > MAX_COMBINATIONS:
        raise SpanLabError(
            f"{paradigm.name}: more than {MAX_COMBINATIONS} conditions, random factors included; too many to go through"
        )
    alike: dict[tuple[str, float, float], dict[tuple[int, ...], _Guessing]] = {}
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        generator, *levels = (axis[n] for axis, n in zip(axes, place, strict=True))
        trials = [
            compile_trial(paradigm, dict(zip(paradigm.factors, levels, strict=True)), seed, generator)
            for seed in range(_TRIALS)
        ]
        for phase, guessing in _guessing(trials).items():
            alike.setdefault((phase, round(guessing.chance, 9), round(guessing.blind, 9)), {})[place] = guessing
    rows = []
    for (phase, chance, blind), members in alike.items():
        for box in boxes(list(members)):
            guessing = [members[place] for place in itertools.product(*box)]
            items, odds = (
                [n for question in guessing for n in question.items],
                [odd for question in guessing for odd in question.all_right],
            )
            rows.append(
                ChanceRow(
                    phase=phase,
                    levels={
                        name: tuple(axis[n] for n in some)
                        for name, axis, some in zip(paradigm.factors, axes[1:], box[1:], strict=True)
                    },
                    generators=tuple(GENERATORS[n] for n in box[0]),
                    items=(min(items), max(items)),
                    chance=chance,
                    blind=blind,
                    all_right=(min(odds), max(odds)),
                    varies=any(len(set(question.items)) > 1 for question in guessing),
                )
            )
    return rows


@dataclass(frozen=True, slots=True)
class _Guessing:
    """Of one condition; ``items`` and ``all_right`` trial by trial."""

    items: list[int]
    chance: float
    blind: float
    all_right: list[float]


def _guessing(trials: Sequence[Trial]) -> dict[str, _Guessing]:
    """By phase, in the order of first questions that are scored."""
    questions = [[step for step in trial.steps if _scored(step)] for trial in trials]
    return {
        phase: _of_phase([[step for step in steps if step.percept.phase == phase] for steps in questions])
        for phase in dict.fromkeys(step.percept.phase for steps in questions for step in steps)
    }


def _scored(step: Step) -> bool:
    return step.percept.ask is not None and step.percept.ask.scored and step.truth.chance is not None


def _of_phase(questions: Sequence[Sequence[Step]]) -> _Guessing:
    items, all_right, right, blind = [], [], 0.0, 0.0
    for steps in questions:
        odds = [(guess_odds(step), step.truth.blind or 0) for step in steps]
        items.append(sum(len(chances) - 1 for chances, _ in odds))
        all_right.append(math.prod(chances[-1] for chances, _ in odds))
        right += sum(number * odd for chances, _ in odds for number, odd in enumerate(chances))
        blind += sum((len(chances) - 1) * share for chances, share in odds)
    return _Guessing(items, right / sum(items), blind / sum(items), all_right)


def guess_odds(step: Step) -> tuple[float, ...]:
    """The probability of 0, 1, 2 ... correct items when the answer to a step's question is a
    uniform guess.

    A file may know better than the response kind how likely an item is right (``chance``); that
    counts where the answer is one item.
    """
    assert step.percept.ask is not None
    odds, chance = step.percept.ask.kind.right_by_guessing(), step.truth.chance
    return (1 - chance, chance) if len(odds) == 2 and chance is not None else odds


def boxes(points: Sequence[tuple[Hashable, ...]]) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Points as products of sets: for each product, the coordinates along every axis, each with
    each of the others. Together they are the points, each once."""
    if not points or not points[0]:
        yield from [()] * bool(points)
        return
    slices = grouped((first, tuple(rest)) for first, *rest in points)
    for firsts in grouped((frozenset(rest), first) for first, rest in slices.items()).values():
        for box in boxes(slices[firsts[0]]):
            yield (tuple(firsts), *box)
