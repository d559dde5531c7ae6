"""Make what the documentation shows of the benchmark: the cards of agents that ship and of
published models, and how often verdicts are right.

python scripts/benchmark_cards.py rates            simulated people, models like them, and guessers: how often each verdict is given
python scripts/benchmark_cards.py published DIR    the cards of the published N-back models
"""  # noqa: E501

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from spanlab.analysis.means import Apart, Contrast, contrast
from spanlab.extensions.benchmark.card import judge, published_cards
from spanlab.extensions.benchmark.drawing import gallery, write_card, write_page
from spanlab.extensions.benchmark.measures import Answerer, Place, of_published_people, value_of
from spanlab.extensions.benchmark.suite import NBACK, Effect, Suite, read_suite

PEOPLE = 24
#: standard deviation over people of the log odds of a right answer: in all conditions, and in each
#: by itself
SPREAD, OWN_SPREAD = 0.5, 0.15
CHANCE = {"vsr": 1 / 9, "vsrec": 1 / 2, "vir": 1 / 2, "smu": 1 / 9, "cd": 1 / 2}
#: how many people guess in a population that is skewed
GUESSING = {"normal": 0.0, "a tenth guess": 0.1}
#: how many trials of the suite each condition has, and how many answers a trial gives there
TRIALS = {"vsr": (60, 1), "vsrec": (40, 1), "vir": (62, 1), "smu": (40, 2), "cd": (40, 1)}
#: columns whose levels share no trial; the others are positions within a trial
APART = {
    "vsr": ("list_length",),
    "vsrec": ("factor_pattern_distractor_difference",),
    "vir": ("serial_position", "retention_steps"),
}


def means_of(paradigm: str) -> tuple[tuple[str, ...], dict[Place, float]]:
    """The share of right answers of people in each condition."""
    people = of_published_people(paradigm)
    if people is None:
        raise ValueError(f"{paradigm} has no published people")
    return people.by, dict(people.means)


def drawn(
    paradigm: str,
    by: Sequence[str],
    means: Mapping[Place, float],
    random: np.random.RandomState,
    people: int = 0,
    guessing: float = 0.0,
) -> Answerer:
    """Simulated answers to the suite: of one model, trial by trial, or of people, a mean for each
    person and condition."""
    trials, answers = TRIALS[paradigm]
    odds = {place: float(logit(np.clip(mean, 0.005, 0.995))) for place, mean in means.items()}
    values: dict[Place, np.ndarray] = {}
    ids: dict[Place, np.ndarray] = {}
    shift = random.normal(0, SPREAD, people)
    guesses = random.random_sample(people) < guessing if guessing else np.zeros(people, bool)
    for place, centre in odds.items():
        if people:
            share = expit(centre + shift + random.normal(0, OWN_SPREAD, people))
            share[guesses] = CHANCE[paradigm]
            values[place], ids[place] = random.binomial(trials * answers, share) / (trials * answers), np.arange(people)
        else:
            values[place] = random.binomial(answers, means[place], trials) / answers
            apart = tuple(place[by.index(name)] for name in APART.get(paradigm, by))
            ids[place] = np.array([f"{apart} {trial}" for trial in range(trials)])

    def weighted(places: Sequence[Place], weight: np.ndarray) -> Contrast:
        return contrast([values[place] for place in places], [ids[place] for place in places], weight)

    return Answerer("", tuple(by), weighted, {place: float(value.mean()) for place, value in values.items()})


def everybody(means: Mapping[Place, float]) -> dict[Place, float]:
    """The mean share of many people in each condition, which is what a model like people has, by
    Gauss-Hermite quadrature."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(40)
    shift = math.hypot(SPREAD, OWN_SPREAD) * nodes
    return {
        place: float(expit(logit(min(mean, 0.995)) + shift) @ weight / weight.sum()) for place, mean in means.items()
    }


def verdicts(
    effect: Effect, model: str, samples: int, seed: int = 1, people: int = PEOPLE, guessing: float = 0.0
) -> Counter[str]:
    """How often each verdict is given of simulated people, of whom some may be ``guessing``, and ``other
    people``, a ``machine`` like them, a ``guesser``, or a model ``at the margin``."""
    random = np.random.RandomState(seed)
    by, means = means_of(effect.paradigm)
    places, chance = sorted(means, key=str), CHANCE[effect.paradigm]
    centre = {place: (1 - guessing) * mean + guessing * chance for place, mean in everybody(means).items()}
    if model == "guesser":
        centre = dict.fromkeys(means, chance)
    elif model == "at the margin":
        centre = at_margin(effect, by, centre)
    counts: Counter[str] = Counter()
    for _ in range(samples):
        if model == "other people":
            other = drawn(effect.paradigm, by, means, random, people, guessing)
        else:
            other = drawn(effect.paradigm, by, centre, random)
        mine = value_of(effect, other, places)
        theirs = value_of(effect, drawn(effect.paradigm, by, means, random, people, guessing), places)
        assert isinstance(mine, Contrast)
        assert isinstance(theirs, Contrast)
        if not counts:
            assert judge(effect, mine, theirs) == verdict(effect, mine, theirs)
        counts[verdict(effect, mine, theirs)] += 1
    return counts


def verdict(effect: Effect, mine: Contrast, theirs: Contrast) -> str:
    """What :func:`judge` says, sooner: of the 90 % interval, without p."""
    low, high = Apart(mine, theirs).ends(0.9)
    margin = effect.margin / effect.scale
    if low > -margin and high < margin:
        return "same"
    return "differs" if low > margin or high < -margin else "undecided"


def at_margin(effect: Effect, by: Sequence[str], centre: Mapping[Place, float]) -> dict[Place, float]:
    """Means that differ from others by exactly the margin of an effect: moved along its weights, as
    far as takes, in the direction in which shares have room for it."""
    from spanlab.extensions.benchmark.measures import weights

    places = sorted(centre, key=str)
    weight = weights(effect, by, places)

    def moved(step: float) -> dict[Place, float]:
        return {
            place: float(np.clip(centre[place] + step * one, 0.001, 0.999))
            for place, one in zip(places, weight, strict=True)
        }

    def beyond(step: float) -> float:
        return abs(true_difference(effect, moved(step), centre, by)) - effect.margin

    farthest = 1 / float(np.abs(weight[weight != 0]).min())
    direction = next((sign for sign in (-farthest, farthest) if beyond(sign) > 0), None)
    if direction is None:
        raise ValueError(f"no shares differ by {effect.margin:g} in {effect.name}")
    step: Any = brentq(beyond, 0, direction)
    return moved(step)


def true_difference(
    effect: Effect, centre: Mapping[Place, float], other: Mapping[Place, float], by: Sequence[str]
) -> float:
    """The difference of an effect between two sets of means, in its unit."""
    from spanlab.extensions.benchmark.measures import weights

    places = sorted(centre, key=str)
    weight = weights(effect, by, places)
    return effect.scale * float(weight @ np.array([centre[place] - other[place] for place in places]))


def rates(suite: Suite, samples: int = 400) -> str:
    """A Markdown table of how often verdicts are given, and what the suite's file says of them."""
    whose = ("other people", "machine", "guesser")
    lines = [
        "| effect | margin | guesser's distance | other people | machine | guesser | at the margin |",
        "| --- " * 7 + "|",
    ]
    of_file = list[str]()
    for effect in suite.effects:
        if effect.paradigm in NBACK:
            continue
        by, means = means_of(effect.paradigm)
        apart = true_difference(effect, dict.fromkeys(means, CHANCE[effect.paradigm]), everybody(means), by)
        chances = dict[str, dict[str, list[int]]]()
        for called, guessing in GUESSING.items():
            every = {who: verdicts(effect, who, samples, guessing=guessing) for who in (*whose, "at the margin")}
            pairs = {
                who: [round(100 * counts[word] / samples) for word in ("same", "differs")]
                for who, counts in every.items()
            }
            chances[called] = pairs
        cells = [", ".join("/".join(map(str, pairs[who])) for pairs in chances.values()) for who in whose]
        edges = ", ".join(str(pairs.pop("at the margin")[0]) for pairs in chances.values())
        row = (effect.name, f"{effect.margin:g}", f"{apart:+.1f}", *cells, edges)
        lines.append(f"| {' | '.join(row)} |".replace("-", "−"))
        of_file.append(f"{effect.name}: chances: {chances}".replace("'", ""))
    return "\n".join([*(line.replace("−−−", "---") for line in lines), "", *of_file])


def published(folder: Path) -> list[Path]:
    """Write the cards of the published models, and a page of them."""
    cards = [*published_cards(read_suite())]
    for card in cards:
        write_card(card, folder / re.sub(r"[^a-z0-9.]+", "-", card["agent"]["name"].lower()))
    return [write_page(folder / "published.html", gallery(cards))]


if __name__ == "__main__":
    print(rates(read_suite()) if sys.argv[1] == "rates" else published(Path(sys.argv[2])))
