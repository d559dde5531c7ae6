"""For tests of what is drawn at random: many values from the samplers of a paradigm, and whether
they have the probabilities that they should have."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from conditions import some_conditions
from scipy import stats

from spanlab.paradigms import SAMPLERS, Generator, Paradigm, Sampler, Trial, compile_trial, load_paradigm

#: A test of what is true fails with this probability; seeds are fixed, so one that passes once
#: always does.
RARE = 0.001


def sampler(name: str, /, **parameters: Any) -> Sampler:
    """A sampler with its parameters."""
    return SAMPLERS.get(name).model_validate(parameters)


@functools.cache
def loaded(name: str) -> Paradigm:
    """A paradigm of the library."""
    return load_paradigm(name)


@functools.cache
def many(paradigm: str, draw: str, generator: Generator, times: int = 10_000, **known: Any) -> list[Any]:
    """Values of one draw, from its sampler as the paradigm's file sets it up; ``known`` are the
    factor levels and draws that it refers to."""
    found = next(one for one in loaded(paradigm).draws if one.name == draw)
    assert found.sampler is not None
    one, random = found.sampler.build({"generator": generator, **known}), np.random.RandomState(5)
    return [one.draw(random) for _ in range(times)]


def trials(paradigm: str, generator: Generator, each: int = 3) -> list[Trial]:
    """Some trials of conditions that stand for all."""
    return [
        compile_trial(loaded(paradigm), levels, seed, generator)
        for levels in some_conditions(loaded(paradigm))
        for seed in range(each)
    ]


def fits(counts: Iterable[int], shares: Iterable[float] | None = None) -> bool:
    """Whether counts agree with these probabilities (equal ones when not given), by chi-square."""
    observed = np.array(list(counts))
    wanted = np.full(len(observed), 1 / len(observed)) if shares is None else np.array(list(shares))
    assert abs(wanted.sum() - 1) < 1e-6
    return float(cast(Any, stats.chisquare(observed, wanted / wanted.sum() * observed.sum())).pvalue) > RARE


def unrelated(pairs: Iterable[tuple[Any, Any]]) -> float:
    """The p of chi-square that two things have nothing to do with each other."""
    counts = Counter(pairs)
    rows, columns = sorted({one for one, _ in counts}), sorted({other for _, other in counts})
    return float(
        cast(Any, stats.chi2_contingency([[counts[row, column] for column in columns] for row in rows])).pvalue
    )
