"""How often a page claims something of data in which there is nothing, and how often it finds what is
there: pages of one, three and six paradigms with people and four machines, seeds fixed. Prints the tables of
docs/measurements.md: ``python benchmarks/null_pages.py [SHARE]`` of the pages.

Claims are those of the page's sentences, each among all of its kind, made by the one inference from the
cells that the page would have; that they are the page's own is checked on the first page of each row.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from populations import log_odds
from scipy.special import expit
from scipy.stats import nct, t

from spanlab.analysis.data.loading import described
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.data.style import labelled, named
from spanlab.analysis.inference import Claim, claim_of, families_of, of_family
from spanlab.analysis.means.cell_means import Cells, UnitName
from spanlab.analysis.means.contrasts import Apart, Contrast, contrast_of
from spanlab.analysis.report.paradigm import numbers_of_all
from spanlab.sessions.record.table import COLUMNS

PAGES = 500
PARADIGMS = (1, 3, 6)
SIZES, TRIALS = (2, 4, 6), 20
PEOPLE, SEEDS = 12, 5
KINDS = ("share", "difference", "effect")
_BLANK = {column.name: np.nan for column in COLUMNS} | {
    "agent_settings_hash": "",
    "paradigm_version": 1,
    "paradigm_hash": "",
    "generator": "corrected",
    "block": 1,
    "step": 1,
    "ask": 1,
    "phase": "probe",
    "practice": False,
    "pilot": False,
    "oracle": False,
    "outcome": "answered",
    "chance": 0.5,
}


@dataclass(frozen=True)
class World:
    """Twelve people, three machines of five seeds and one of one seed, who are as often right as each other
    with every set size.

    Parameters
    ----------
    share : of right answers, over people (and seeds)
    people, seeds : standard deviations over people, and over seeds, in log odds; with 0 everybody is alike
    false : kinds of claims that are false in it
    away : how far the first machine is below people, in standard deviations of seeds
    """

    share: float
    people: float
    seeds: float
    false: frozenset[str] = frozenset()
    away: float = 0.0

    def right(self, random: np.random.RandomState) -> dict[str, np.ndarray]:
        """Of everybody in one paradigm by unit and set size which answers are right."""
        known = log_odds(self.share, self.people), log_odds(self.share, self.seeds), log_odds(self.share, 0.0)
        own = {"people": random.normal(known[0], self.people, PEOPLE)}
        for machine in range(3):
            below = self.away * self.seeds * (machine == 0)
            own[f"network:{machine}"] = random.normal(known[1] - below, self.seeds, SEEDS)
        own["network:3"] = np.full(1, known[2])
        return {
            name: random.random_sample((len(odds), len(SIZES), TRIALS)) < expit(odds)[:, None, None]
            for name, odds in own.items()
        }


def cells_of(right: np.ndarray, unit: UnitName) -> Cells:
    """The cells of one answerer, by set size."""
    places = len(SIZES)
    trials = unit == "trial"
    values = [right[0, at].astype(float) if trials else right[:, at].mean(axis=1) for at in range(places)]
    ids = [np.arange(len(one)) + at * len(one) * trials for at, one in enumerate(values)]
    asked = np.full(places, right.shape[0] * TRIALS)
    return Cells(
        pd.DataFrame({"set_size": SIZES}),
        values,
        ids,
        [np.ones(len(one), np.int64) for one in values],
        [np.full(len(one), 1 if trials else TRIALS) for one in values],
        np.full(places, 0.5),
        [unit] * places,
        np.ones(places, bool),
        {"n_trials": asked, "n_items": asked},
        np.zeros(places),
    )


def together(right: np.ndarray, unit: UnitName) -> Cells:
    """The cell of one answerer over all set sizes."""
    whole = cells_of(right.reshape(len(right), 1, -1).repeat(len(SIZES), axis=1), unit)
    asked = np.full(len(SIZES), right.size)
    many = [np.full(len(one), 1 if unit == "trial" else right[0].size) for one in whole.values]
    return replace(whole, trials=many, counts={"n_trials": asked, "n_items": asked})


def claims_of(worlds: Sequence[Mapping[str, np.ndarray]]) -> list[Claim]:
    """The claims of a page with so many paradigms, each among all of its kind."""
    found, slope = list[Claim](), np.array(SIZES, float) - np.mean(SIZES)
    for right in worlds:
        means = dict[str, Contrast]()
        for name, answers in right.items():
            unit: UnitName = "trial" if len(answers) == 1 else "participant" if name == "people" else "session"
            who, cells = {"agent": name}, cells_of(answers, unit)
            found.append(claim_of("share", together(answers, unit), [0], np.ones(1), who=who, null=0.5))
            found.append(claim_of("effect", cells, range(len(SIZES)), slope / (slope @ slope), who=who, null=0.0))
            means[name] = contrast_of(cells, range(len(SIZES)), np.full(len(SIZES), 1 / len(SIZES)), shares=True)
            if name != "people":
                apart = Apart(means[name], means["people"])
                found.append(Claim("difference", name, "network", apart, 0.0, unit, means[name].n))
    for claim in found:
        if claim.interval[0] <= claim.null <= claim.interval[1]:
            claim.__dict__["p"] = 1.0  # it is above .05, and nothing else of it matters
    families = families_of(found)
    return [of_family(claim, families) for claim in found]


def of_page(worlds: Sequence[Mapping[str, np.ndarray]]) -> list[Claim]:
    """The same claims as a page makes them of a table of these answers."""
    parts = []
    for number, right in enumerate(worlds):
        for name, answers in right.items():
            units, asked = len(answers), len(SIZES) * TRIALS
            people = name == "people"
            code = np.repeat(np.arange(units), asked)
            own = {
                "agent_kind": "participant" if people else "network",
                "agent": "participant" if people else name,
                "participant": [f"P{one}" if people else "" for one in code],
                "session": [f"{number}-{name}-{one}" for one in code],
                "paradigm": f"p{number}",
                "trial": np.tile(np.arange(asked), units),
                "trial_id": [f"{number}-{name}-{at}" for at in range(units * asked)],
                "set_size": np.tile(np.repeat(SIZES, TRIALS), units),
                "correct": answers.ravel(),
            }
            parts.append(pd.DataFrame({**_BLANK, **own}))
    scored = score_table(named(labelled(pd.concat(parts, ignore_index=True), ())))
    numbers = numbers_of_all(described(scored, sorted(scored.parts), ()), sorted(scored.parts))
    return [claim for one in numbers.values() for claim in one.claims]


def check(worlds: Sequence[Mapping[str, np.ndarray]]) -> None:
    """That claims made here are those of the page."""
    mine, theirs = (
        sorted(
            (claim.rule, len(claim.family), *claim.interval_of_family)
            for claim in claims
            if claim.interval[0] == claim.interval[0]
        )
        for claims in (claims_of(worlds), of_page(worlds))
    )
    assert [one[:2] for one in mine] == [one[:2] for one in theirs], (mine, theirs)
    np.testing.assert_allclose([one[2:] for one in mine], [one[2:] for one in theirs], atol=1e-9)


def told(claim: Claim) -> bool:
    """Whether it is told from its null: its interval among all ends before (as :attr:`.Claim.told`, sooner)."""
    low, high = claim.interval_of_family
    return not math.isnan(low) and not low <= claim.null <= high


def null_pages(pages: int) -> Iterator[str]:
    """How many pages have a false claim, of each kind and of any."""
    yield "| who | paradigms | above guessing | from people | effects | any | claims that would be false |"
    yield "| --- " * 7 + "|"
    every = frozenset(KINDS)
    worlds = {
        "everybody guesses": World(0.5, 0.0, 0.0, every),
        "75 % right": World(0.75, 0.8, 0.5, every - {"share"}),
        "92 % right": World(0.92, 0.8, 0.5, every - {"share"}),
    }
    for words, world in worlds.items():
        for paradigms in PARADIGMS:
            random, many, wrong = np.random.RandomState(paradigms), 0, Counter[str]()
            for number in range(pages):
                taken = [world.right(random) for _ in range(paradigms)]
                if not number:
                    check(taken)
                claims = [claim for claim in claims_of(taken) if claim.rule in world.false]
                kinds, many = {claim.rule for claim in claims if told(claim)}, len(claims)
                wrong.update(kinds)
                wrong["any"] += bool(kinds)
            cells = [f"{wrong[kind] / pages:.1%}" if kind in {*world.false, "any"} else "–" for kind in (*KINDS, "any")]
            yield f"| {words} | {paradigms} | {' | '.join(cells)} | {many} |"


def found(pages: int) -> Iterator[str]:
    """How often a machine that is three standard deviations of seeds below people is told from them, on a page
    with five seeds of each machine: as one of all claims, and planned."""
    yield "| paradigms | machines | told, among all | planned | exact test, corrected for all |\n" + "| --- " * 5 + "|"
    world = World(0.85, 0.4, 0.4, away=3.0)
    for paradigms, machines in ((1, 1), (1, 2), (1, 3), *((number, 4) for number in PARADIGMS)):
        names = ["people", *(f"network:{number}" for number in range(machines))]
        random = np.random.RandomState(100 + (paradigms if machines == 4 else machines))
        many = Counter[str]()
        for _ in range(pages):
            taken = [world.right(random) for _ in range(paradigms)]
            claims = claims_of([{name: right[name] for name in names} for right in taken])
            one = next(claim for claim in claims if claim.rule == "difference" and claim.agent == "network:0")
            many["all"] += told(one)
            many["planned"] += told(replace(one, family=()))
        shares = many["all"] / pages, many["planned"] / pages, exact(machines * paradigms)
        yield f"| {paradigms} | {machines} | {' | '.join(f'{one:.0%}' for one in shares)} |"


def exact(claims: int, away: float = 3.0, spread: float = 0.4, share: float = 0.63) -> float:
    """How often a t test of five seeds tells them from people who are known exactly, where 7 % of pages may
    have any false claim among so many."""
    noise = 1 / (len(SIZES) * TRIALS * share * (1 - share))
    beyond = t.isf(0.07 / claims / 2, SEEDS - 1)
    return float(nct.sf(beyond, SEEDS - 1, away * spread / math.sqrt((spread**2 + noise) / SEEDS)))


def main() -> None:
    pages = max(10, round(PAGES * (float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)))
    for table in (null_pages, found):
        for line in table(pages):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
