"""Verdicts on scores of networks: the same, another, or not resolved; each can fail."""

from __future__ import annotations

import csv
import math
from functools import cache
from importlib.resources import files

import pandas as pd

from .entries import Verdict

#: Probability with which a network that guesses blindly would be taken for one that does not.
LEVEL = 0.001
#: More trials than this are not asked for.
_MOST = 1_000_000


@cache
def margins() -> dict[tuple[str, str], float]:
    """Return how far a score may be from the printed one and still be the same, by task and score;
    from a file that no run changes."""
    with (files("spanlab.analysis") / "published" / "worm_margins.csv").open(encoding="utf-8") as file:
        return {(row["task"], row["score"]): float(row["margin"]) for row in csv.DictReader(file)}


def judged(value: float, low: float, high: float, printed: float, margin: float, trials: int) -> tuple[Verdict, str]:
    """The verdict on a score, and why.

    It is the same when its whole 95% interval is within the margin of the printed value (two
    one-sided tests at 2.5%), and differs when the whole interval is outside. Otherwise there are
    too few trials, and how many would be enough follows from the width of the interval, which goes
    with the root of their number.

    Examples
    --------
    >>> judged(0.50, 0.48, 0.52, printed=0.51, margin=0.05, trials=400)
    ('same', 'the 95% interval is within 0.05 of it')
    >>> judged(0.50, 0.48, 0.52, printed=0.70, margin=0.05, trials=400)
    ('differs', 'by 0.200')
    >>> judged(0.50, 0.10, 0.90, printed=0.51, margin=0.05, trials=400)
    ('not resolved', 'some 40,000 trials would resolve it')
    """
    if any(math.isnan(one) for one in (value, low, high)):
        return "not resolved", "it has no interval"
    if printed - margin <= low and high <= printed + margin:
        return "same", f"the 95% interval is within {margin:g} of it"
    if high < printed - margin or low > printed + margin:
        return "differs", f"by {abs(value - printed):.3f}"
    room = abs(margin - abs(value - printed))
    return "not resolved", enough(trials * ((high - low) / 2 / room) ** 2 if room else math.inf)


def enough(trials: float) -> str:
    """Say how many trials would resolve something, in two digits."""
    if not trials <= _MOST:
        return f"more than {_MOST:,} trials would be needed to resolve it"
    unit = 10 ** max(0, math.floor(math.log10(max(1.0, trials))) - 1)
    return f"some {math.ceil(trials / unit) * unit:,} trials would resolve it"


def above_blind(items: pd.DataFrame) -> tuple[bool, str]:
    """Test whether somebody's answers are right more often than the best blind guess is, at
    :data:`LEVEL`, and say what they were.

    The test is a one-sided t-test over trials. Where all trials have the same share of right
    answers (all are right, as a rule), there is no spread to go by, and p is the probability that a
    guess is as good in every trial.

    The best blind guess knows the paradigm, the condition and which question it is. In serial
    recall it also knows at which places there was something.

    Parameters
    ----------
    items : scored items of one answerer in one paradigm
    """
    import numpy as np
    from scipy import stats

    blind = items["blind"].fillna(items["chance"]).astype(float)
    if "list_length" in items.columns and (items["paradigm"] == "vsr").all():
        blind = np.maximum(blind, 1 / items["list_length"].astype(float))
    trials = (
        pd.DataFrame({"right": items["correct"].astype(float), "blind": blind})
        .groupby([items["session"], items["unit_trial"]])
        .mean()
    )
    gain, n = (trials["right"] - trials["blind"]).to_numpy(), len(trials)
    right, guess = float(items["correct"].astype(float).mean()), float(blind.mean())
    said = f"it is right in {right:.3f} of {len(items):,} answers, the best blind guess in {guess:.3f}"
    mean, error = float(gain.mean()), float(gain.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    if mean <= 0:
        return False, f"{said}; more trials would not change that"
    if min(np.ptp(trials["right"]), np.ptp(gain)) < 1e-9:  # trials without a spread have no t-test
        # a share of right answers as high as this one has a probability of at most blind / right
        # under guessing (Markov)
        log_p = float(np.log(np.clip(trials["blind"] / trials["right"], 1e-300, 1)).sum())
        p, needed = math.exp(log_p), n * math.log(LEVEL) / log_p
    else:
        p, needed = float(stats.t.sf(mean / error, n - 1)), n * (float(stats.norm.isf(LEVEL)) * error / mean) ** 2
    return p < LEVEL, said if p < LEVEL else f"{said}; {enough(needed)}"
