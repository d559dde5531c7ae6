"""How often the interval over wordings holds what it says, on simulated models whose wordings differ by a known amount.

Run: ``python -m spanlab.extensions.wordings.proof [SETS]``. Answers are right or wrong: a logit with normal effects of wording, wording of this model, trial,
and trial of this model. Both models take the same trials in the same wordings, and the true difference is the mean over further wordings and trials. Beside
it stands the analysis without wordings: every answer in the mixed model of ``spanlab stats`` would need hours, so it is the interval of paired trials, with
all sessions of a model as one.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit, stdtrit

from .model import pooled

#: Wordings, repeats, trials, and standard deviations (logits) of wordings for a model, trials, and trials for a model.
CELLS = (
    (4, 2, 60, 0.6, 0.8, 0.4),
    (8, 2, 60, 0.6, 0.8, 0.4),
    (5, 1, 40, 0.0, 0.8, 0.4),
    (5, 3, 100, 0.3, 0.8, 0.4),
    (8, 1, 100, 1.0, 0.5, 0.0),
)
_BASE, _GAP = 0.5, 0.6


def means_of(base: float, spread: float, rng: np.random.Generator) -> float:
    """Return the mean share of right answers over wordings and trials, whose effects together have this standard deviation."""
    return float(expit(base + spread * rng.standard_normal(400_000)).mean())


def simulated(cell: tuple[int, int, int, float, float, float], gap: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of two models: wordings x repeats x trials."""
    wordings, repeats, trials, sd_wording, sd_trial, sd_own = cell
    common = sd_trial * rng.standard_normal(trials)
    both = []
    for base in (_BASE, _BASE + gap):
        logits = base + common + sd_own * rng.standard_normal(trials) + sd_wording * rng.standard_normal((wordings, 1))
        both.append((rng.random((wordings, repeats, trials)) < expit(logits)[:, None, :]).astype(float))
    return both[0], both[1]


def over_trials(away: np.ndarray) -> tuple[float, float]:
    """Return the interval of a mean difference over trials alone, with all wordings and repeats as one."""
    each = away.mean(axis=(0, 1))
    reach = float(stdtrit(len(each) - 1, 0.975)) * float(each.std(ddof=1)) / len(each) ** 0.5
    return float(each.mean()) - reach, float(each.mean()) + reach


def rates(cell: tuple[int, int, int, float, float, float], gap: float, sets: int, seed: int) -> dict[str, float]:
    """Return how often the two intervals hold the true difference."""
    rng = np.random.default_rng(seed)
    spread = float(np.sqrt(cell[3] ** 2 + cell[4] ** 2 + cell[5] ** 2))
    truth = means_of(_BASE + gap, spread, rng) - means_of(_BASE, spread, rng) if gap else 0.0
    held = without = 0
    for _ in range(sets):
        first, second = simulated(cell, gap, rng)
        value = pooled(second - first, [0] * cell[2])
        low, high = over_trials(second - first)
        held += value is not None and value.low <= truth <= value.high
        without += low <= truth <= high
    return {"pooled": held / sets, "over_trials": without / sets}


def main(sets: int) -> None:
    """Print a line for each cell: coverage with a difference, and size without one."""
    print("wordings repeats trials sd_wording | coverage, size over wordings | coverage, size over trials alone")
    for number, cell in enumerate(CELLS):
        with_gap, without = rates(cell, _GAP, sets, 100 + number), rates(cell, 0.0, sets, 200 + number)
        print(
            f"{cell[0]:8} {cell[1]:7} {cell[2]:6} {cell[3]:10.1f} | {with_gap['pooled']:.1%}, {1 - without['pooled']:.1%}"
            f" | {with_gap['over_trials']:.1%}, {1 - without['over_trials']:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
