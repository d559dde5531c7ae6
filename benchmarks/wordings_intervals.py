"""Coverage of the interval over wordings, on simulated models whose wordings
differ by a known amount.

Run: ``python benchmarks/wordings_intervals.py [SETS]``. Answers are right or wrong: a logit
with normal effects of wording, wording of this model, trial, and trial of this model. Both models
take the same trials in the same wordings, and the true difference is the mean over further wordings
and trials. Beside it stands the analysis without wordings: the interval of paired trials, with all
sessions of a model as one. ``benchmarks/wordings.py`` counts the mixed model of ``spanlab stats``.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
from scipy.special import expit, stdtrit

from spanlab.analysis.means.contrasts import Apart, Contrast, contrast, over_both

#: Wordings, repeats, trials, and standard deviations (logits) of wordings for a model, trials, and
#: trials for a model.
CELLS = (
    (4, 2, 60, 0.6, 0.8, 0.4),
    (8, 2, 60, 0.6, 0.8, 0.4),
    (5, 1, 40, 0.0, 0.8, 0.4),
    (5, 3, 100, 0.3, 0.8, 0.4),
    (8, 1, 100, 1.0, 0.5, 0.0),
)
_BASE, _GAP = 0.5, 0.6
#: The same with few wordings, and two repeats.
FEW = tuple((wordings, 2, 60, sd_wording, 0.8, 0.4) for sd_wording in (0.0, 0.3, 0.6) for wordings in (2, 3, 5))


def means_of(base: float, spread: float, rng: np.random.Generator) -> float:
    """Return the mean share of right answers over wordings and trials, whose effects together have
    this standard deviation."""
    return float(expit(base + spread * rng.standard_normal(400_000)).mean())


def simulated(
    cell: tuple[int, int, int, float, float, float], gap: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of two models: wordings x repeats x trials."""
    wordings, repeats, trials, sd_wording, sd_trial, sd_own = cell
    common = sd_trial * rng.standard_normal(trials)
    both = []
    for base in (_BASE, _BASE + gap):
        logits = base + common + sd_own * rng.standard_normal(trials) + sd_wording * rng.standard_normal((wordings, 1))
        both.append((rng.random((wordings, repeats, trials)) < expit(logits)[:, None, :]).astype(float))
    return both[0], both[1]


def over_trials(away: np.ndarray) -> tuple[float, float]:
    """Return the interval of a mean difference over trials alone, with all wordings and repeats as
    one."""
    each = away.mean(axis=(0, 1))
    reach = float(stdtrit(len(each) - 1, 0.975)) * float(each.std(ddof=1)) / len(each) ** 0.5
    return float(each.mean()) - reach, float(each.mean()) + reach


def mean_in_core(scores: np.ndarray) -> Contrast:
    """Return the mean of a model as the core has it: repeats are averaged, and the variances over
    wordings and over trials are added."""
    cells = scores.mean(axis=1)
    over_wordings, over_each = (
        contrast([cells.mean(axis=axis)], [np.arange(cells.shape[1 - axis])], np.ones(1), share=True) for axis in (1, 0)
    )
    return replace(over_both(over_wordings, over_each), span=(0.0, 1.0))


def rates(cell: tuple[int, int, int, float, float, float], gap: float, sets: int, seed: int) -> dict[str, float]:
    """Return how often intervals hold the mean of a model and the difference of two (in the
    table of differences, and over trials alone), and as ``claims`` how often
    those of differences leave out 0."""
    rng = np.random.default_rng(seed)
    spread = float(np.sqrt(cell[3] ** 2 + cell[4] ** 2 + cell[5] ** 2))
    mean = means_of(_BASE, spread, rng)
    truth = means_of(_BASE + gap, spread, rng) - mean if gap else 0.0
    counts: Counter[str] = Counter()
    for _ in range(sets):
        first, second = simulated(cell, gap, rng)
        mine, theirs = mean_in_core(first), mean_in_core(second)
        differences = {"core": Apart(theirs, mine).ends(), "over_trials": over_trials(second - first)}
        counts["mean_in_core"] += mine.ends()[0] <= mean <= mine.ends()[1]
        for name, (low, high) in differences.items():
            counts[name] += low <= truth <= high
            counts[f"{name} claims"] += not low <= 0 <= high
    return {name: count / sets for name, count in counts.items()}


def main(sets: int) -> None:
    """Print a line for each design, in per cent: means held; then of differences how often they are
    held and claimed, without a difference and with it."""
    names = ("core", "over_trials")
    print("wordings repeats trials sd_wording | means held |", " | ".join(names), flush=True)
    for number, cell in enumerate((*CELLS, *FEW)):
        without, planted = rates(cell, 0.0, sets, 200 + number), rates(cell, _GAP, sets, 100 + number)
        shown = [
            [without.get(name, math.nan) for name in ("mean_in_core",)],
            *(
                [rate.get(key, math.nan) for rate in (without, planted) for key in (name, f"{name} claims")]
                for name in names
            ),
        ]
        texts = (", ".join(f"{100 * rate:.1f}" for rate in rates_of) for rates_of in shown)
        print(*cell[:4], "|", " | ".join(texts), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
