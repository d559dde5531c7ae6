"""Measures, for ``tables.md``, whether trials of different factor levels know of one
another.

What is measured is the mutual information between the answers of two cells of a design.

A pair of trials has the same seed and other levels of the factors. Where cells are independent, the
answer of one says as much about the answer of the other as answers that were shuffled among the
pairs; how probable as much is by chance follows from a gamma distribution with the mean and the
spread of shuffled pairs.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from spanlab.paradigms import Paradigm, compile_trial, list_paradigms, load_paradigm, trial_seed

#: seeds of sessions over which pairs are looked at
SEEDS = range(1, 21)
_SHUFFLES = 200
#: cells of a design, and trials for each seed and cell, in the table
_CELLS, _TRIALS = 6, 20


@dataclass(frozen=True)
class Pair:
    """What two cells have to do with one another.

    Parameters
    ----------
    what : ``answer``, or the name of a random factor
    cells : the levels of both
    bits : mutual information
    shuffled : its mean in shuffled pairs: that of chance
    p : probability of as much in shuffled pairs
    alike : share of pairs in which both are the same
    """

    what: str
    cells: tuple[dict[str, Any], dict[str, Any]]
    bits: float
    shuffled: float
    p: float
    alike: float


def some_cells(paradigm: Paradigm, most: int) -> list[dict[str, Any]]:
    """At most so many combinations of levels, from all over the design."""
    cells = paradigm.combinations()
    return cells if len(cells) <= most else [cells[int(n)] for n in np.linspace(0, len(cells) - 1, most).round()]


def pairs(paradigm: Paradigm, trials: int, cells: Sequence[dict[str, Any]]) -> list[Pair]:
    """Every pair of cells, for the answers and for every random factor.

    Parameters
    ----------
    trials : for each seed and cell
    """
    seeds = [trial_seed("session", master, index) for master in SEEDS for index in range(trials)]
    compiled = [[compile_trial(paradigm, levels, seed) for seed in seeds] for levels in cells]
    free = [name for name, factor in paradigm.factors.items() if factor.mode == "random"]
    seen = {"answer": [[_answer(trial) for trial in cell] for cell in compiled]}
    seen |= {name: [[trial.levels[name] for trial in cell] for cell in compiled] for name in free}
    random = np.random.RandomState(zlib.crc32(paradigm.name.encode()))
    return [
        _pair(what, (cells[one], cells[other]), values[one], values[other], random)
        for what, values in seen.items()
        for one, other in combinations(range(len(cells)), 2)
    ]


def _answer(trial: Any) -> Any:
    """The last answer of a trial; of several cells, the first."""
    answer = [step.truth.answer for step in trial.steps if step.percept.ask is not None][-1]
    return answer[0] if isinstance(answer, tuple) else answer


def _pair(
    what: str,
    cells: tuple[dict[str, Any], dict[str, Any]],
    one: Sequence[Any],
    other: Sequence[Any],
    random: np.random.RandomState,
) -> Pair:
    first, second = (np.unique([repr(value) for value in values], return_inverse=True)[1] for values in (one, other))
    bits = _bits(first, second)
    chance = np.array([_bits(first, random.permutation(second)) for _ in range(_SHUFFLES)])
    mean, spread = float(chance.mean()), float(chance.std())
    p = float(stats.gamma.sf(bits, (mean / spread) ** 2, scale=spread**2 / mean)) if spread else 1.0
    alike = float(np.mean([mine == theirs for mine, theirs in zip(one, other, strict=True)]))
    return Pair(what, cells, bits, mean, p, alike)


def _bits(first: np.ndarray, second: np.ndarray) -> float:
    """Mutual information of two columns of numbers, in bits."""
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1 / len(first))
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    there = table > 0
    return float((table[there] * np.log2(table[there] / expected[there])).sum())


def table() -> str:
    """Every paradigm with several cells: the worst of all pairs."""
    lines = ["| paradigm | pairs of cells | bits | by chance | smallest p x pairs |", "| --- | --- | --- | --- | --- |"]
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        cells = some_cells(paradigm, _CELLS)
        if len(cells) < 2:
            continue
        found = pairs(paradigm, _TRIALS, cells)
        worst = max(found, key=lambda pair: pair.bits - pair.shuffled)
        corrected = min(1.0, min(pair.p for pair in found) * len(found))
        lines.append(f"| `{name}` | {len(found)} | {worst.bits:.3f} | {worst.shuffled:.3f} | {corrected:.2f} |")
    return "\n".join(lines) + "\n"
