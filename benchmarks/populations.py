"""How often a page names people whom a mean does not describe (somebody who guesses near the ceiling, people
who carry an effect, two groups), and how often two one-sided tests say "within" exactly at the margin, in
populations with known truth; seeds fixed. Prints the tables of docs/measurements.md:
``python benchmarks/populations.py [SHARE]`` of the sets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from spanlab.analysis.guessing import at_guessing
from spanlab.analysis.inference import Margin
from spanlab.analysis.means.contrasts import Apart, contrast
from spanlab.analysis.means.over_people import two_groups, without_carriers

SETS = 500
PEOPLE, TRIALS = (8, 24), (24, 48, 96)
#: populations: standard deviation in log odds, mean of those who know, and what a guesser gets right
KNOWING = ((0.5, 0.95, 0.5), (0.5, 0.95, 0.25), (1.0, 0.95, 0.25), (1.0, 0.95, 0.5), (0.5, 0.9, 0.5))
#: the higher of two shares, and the margin in points between them
EDGES = ((0.75, 5), (0.9, 5), (0.95, 5), (0.98, 3), (0.99, 3), (0.99, 5))


def log_odds(mean: float, spread: float) -> float:
    """The log odds in the middle of people who differ so much and are right so often on average."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    return float(brentq(lambda middle: float(weights @ expit(middle + spread * nodes)) - mean, -12, 12))  # type: ignore[arg-type]


def named(people: int, trials: int, spread: float, mean: float, guess: float, sets: int) -> tuple[float, float]:
    """Shares of samples in which a guesser who is in them (a tenth of people are) is named, and of samples
    without any in which somebody is."""
    random, asked = np.random.RandomState(people + trials), np.full(people, float(trials))
    middle = float(np.log(mean / (1 - mean)))
    found = kept = 0
    while kept < sets:
        guessing = random.random_sample(people) < 0.1
        share = expit(random.normal(middle, spread, people))
        if not guessing.any() or guessing.all():
            continue
        kept += 1
        found += at_guessing(random.binomial(trials, np.where(guessing, guess, share)), asked, guess)[guessing].any()
    random = np.random.RandomState(people + trials + 1)
    clean = [
        at_guessing(random.binomial(trials, expit(random.normal(middle, spread, people))), asked, guess).any()
        for _ in range(sets)
    ]
    return found / sets, float(np.mean(clean))


def carried(people: int, trials: int, size: float, sets: int) -> float:
    """The share of samples in which people carry an effect: it is so large (in log odds) in a tenth of people,
    at least one and not all, and 0 in the others, on average."""
    random, found, kept = np.random.RandomState(people + trials), 0, 0
    while kept < sets:
        carriers = random.random_sample(people) < 0.1
        if carriers.any() and not carriers.all():
            found += _carried(random, people, trials, random.normal(0, 0.2, people) + size * carriers)
            kept += 1
    return found / sets


def normally_carried(people: int, trials: int, mean: float, spread: float, sets: int) -> float:
    """The same where the effect is normal over people."""
    random = np.random.RandomState(people + trials + 1)
    return sum(_carried(random, people, trials, random.normal(mean, spread, people)) for _ in range(sets)) / sets


def _carried(random: np.random.RandomState, people: int, trials: int, own: np.ndarray) -> bool:
    level = random.normal(1.1, 0.8, people)
    better, worse = (random.binomial(trials, expit(level + half)) / trials for half in (own / 2, -own / 2))
    noise = sum(one.mean() * (1 - one.mean()) / trials for one in (better, worse)) ** 0.5
    return without_carriers(better - worse, noise)[0] > 0


def grouped(people: int, trials: int, shares: tuple[float, float], sets: int) -> float:
    """The share of samples that are two groups, of people who are of one or the other with even chances."""
    random, found, kept = np.random.RandomState(people + trials + 2), 0, 0
    middle = np.log(np.array(shares) / (1 - np.array(shares)))
    while kept < sets:
        of = (random.random_sample(people) < 0.5).astype(int)
        if 0 < of.sum() < people:
            right = random.binomial(trials, expit(middle[of] + random.normal(0, 0.4, people))) / trials
            found += two_groups(right, trials) is not None
            kept += 1
    return found / sets


def normally_grouped(people: int, trials: int, mean: float, spread: float, sets: int) -> float:
    """The same where people are normal in log odds."""
    random, middle = np.random.RandomState(people + trials + 3), float(np.log(mean / (1 - mean)))
    shares = (random.binomial(trials, expit(random.normal(middle, spread, people))) / trials for _ in range(sets))
    return sum(two_groups(one, trials) is not None for one in shares) / sets


def within(people: int, trials: int, spread: float, top: float, points: float, sets: int) -> tuple[float, float]:
    """Shares of samples in which two conditions of the same people, and of two groups of people, are within
    the margin that lies between them."""
    random, margin = np.random.RandomState(people), Margin(points, "points")
    middle = [log_odds(mean, spread) for mean in (top, top - points / 100)]
    alike = [0, 0]
    for _ in range(sets):
        own = random.normal(0, spread, (2, people))
        first, second, other = (
            random.binomial(trials, expit(middle[at] + own[who])) / trials for at, who in ((0, 0), (1, 0), (1, 1))
        )
        ids, answers = [np.arange(people)] * 2, np.full(2, float(people * trials))
        paired = contrast([first, second], ids, np.array([1.0, -1.0]), answers=answers)
        groups = Apart(*(contrast([one], ids[:1], np.ones(1), share=True) for one in (first, other)))
        for at, difference in enumerate((paired, groups)):
            judged = margin.judge(difference)
            alike[at] += judged is not None and judged.verdict == "within the margin"
    return alike[0] / sets, alike[1] / sets


def tables(share: float) -> Iterator[str]:
    sets = max(20, round(share * SETS))
    yield "| people | trials | SD | mean | guess | named | named without any |\n" + "| --- " * 7 + "|"
    for people in PEOPLE:
        for trials in TRIALS:
            for spread, mean, guess in KNOWING:
                found, wrong = named(people, trials, spread, mean, guess, sets)
                yield f"| {people} | {trials} | {spread} | {mean:.0%} | {guess:.0%} | {found:.0%} | {wrong:.1%} |"
    yield "\n| people | trials | 1.5 | 2.5 | 4 | normal, mean 0 | normal, mean .5 |\n" + "| --- " * 7 + "|"
    for people in PEOPLE:
        for trials in TRIALS:
            hits = [f"{carried(people, trials, size, sets):.0%}" for size in (1.5, 2.5, 4.0)]
            wrong = [
                f"{max(normally_carried(people, trials, mean, spread, sets) for spread in (0.3, 0.6)):.1%}"
                for mean in (0.0, 0.5)
            ]
            yield f"| {people} | {trials} | {' | '.join([*hits, *wrong])} |"
    yield (
        "\n| people | trials | 50 and 95% | 30 and 90% | 25 and 95% | normal, SD .5 | normal, SD 1.0 |\n"
        + "| --- " * 7
        + "|"
    )
    for people in PEOPLE:
        for trials in TRIALS:
            pairs = ((0.5, 0.95), (0.3, 0.9), (0.25, 0.95))
            hits = [f"{grouped(people, trials, pair, sets):.0%}" for pair in pairs]
            wrong = [
                f"{max(normally_grouped(people, trials, mean, spread, sets) for mean in (0.5, 0.75, 0.9)):.1%}"
                for spread in (0.5, 1.0)
            ]
            yield f"| {people} | {trials} | {' | '.join([*hits, *wrong])} |"
    yield "\n| people | SD | higher share | margin | same people | two groups |\n" + "| --- " * 6 + "|"
    for people in PEOPLE:
        for spread in (0.5, 1.0):
            for top, points in EDGES:
                paired, groups = within(people, 60, spread, top, points, sets)
                yield f"| {people} | {spread} | {top:.0%} | {points} points | {paired:.1%} | {groups:.1%} |"


def main() -> None:
    for line in tables(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(line, flush=True)


if __name__ == "__main__":
    main()
