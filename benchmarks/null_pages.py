"""How often a page claims something of data in which there is nothing, and how often it finds what is
there: pages of one, three and six paradigms with people and four machines, seeds fixed. Prints the tables of
docs/measurements.md: ``python benchmarks/null_pages.py [SHARE]`` of the pages.

Claims are those of the page's sentences, each among all of its kind; figures are not drawn.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from populations import log_odds
from scipy.special import expit

from spanlab.analysis.data.loading import Data, described
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.data.style import labelled, named
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.effect_figure import compute_effect
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.guessing import against_guessing
from spanlab.analysis.inference import Claim, of_family, sizes_of_families
from spanlab.analysis.model_vs_human.differences import from_people
from spanlab.analysis.report.paradigm import effect_claims
from spanlab.sessions.record.table import COLUMNS

PAGES = 500
PARADIGMS = (1, 3, 6)
SIZES, TRIALS = (2, 4, 6), 20
PEOPLE, SEEDS = 12, 5
KINDS = {"share": "above guessing", "rates": "above guessing", "difference": "from people", "effect": "effects"}
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


def page(
    random: np.random.RandomState, paradigms: int, share: float, spreads: Sequence[float], away: float = 0.0
) -> Data:
    """Twelve people, three machines of five seeds and one of one seed, who are as often right as each other
    with every set size.

    Parameters
    ----------
    share : of right answers, over people (and seeds)
    spreads : standard deviations over people, and over seeds, in log odds; with 0 everybody guesses
    away : how far the first machine is from people, in standard deviations of seeds
    """
    people, seeds = spreads
    middle = {spread: log_odds(share, spread) for spread in (people, seeds)}
    who = [("participant", "participant", f"P{number}", people, 0.0) for number in range(PEOPLE)]
    for machine in range(3):
        who += [("network", f"network:{machine}", "", seeds, -away * seeds * (not machine))] * SEEDS
    who += [("network", "network:3", "", 0.0, 0.0)]
    n, trials = len(who), len(SIZES) * TRIALS
    parts = []
    for number in range(paradigms):
        own = np.array(
            [middle.get(sd, np.log(share / (1 - share))) + random.normal(0, sd) + shift for *_, sd, shift in who]
        )
        right = random.random_sample((n, trials)) < expit(own)[:, None]
        code = np.repeat(np.arange(n), trials)
        parts.append(
            pd.DataFrame(
                {
                    **_BLANK,
                    "agent_kind": np.array([one[0] for one in who])[code],
                    "agent": np.array([one[1] for one in who])[code],
                    "participant": np.array([one[2] for one in who])[code],
                    "session": np.array([f"{number}-{at}" for at in range(n)])[code],
                    "paradigm": f"p{number}",
                    "trial": np.tile(np.arange(trials), n),
                    "trial_id": (np.arange(n * trials) + number * n * trials).astype(str),
                    "set_size": np.tile(np.repeat(SIZES, TRIALS), n),
                    "correct": right.ravel(),
                }
            )
        )
    scored = score_table(named(labelled(pd.concat(parts, ignore_index=True), ())))
    return described(scored, [f"p{number}" for number in range(paradigms)], ())


def claims_of(data: Data) -> list[Claim]:
    """The claims of a page's sentences, each among all of its kind."""
    shown, found = effect("set_size"), list[Claim]()
    for name, part in data.scored.parts.items():
        found += [one.claim for one in against_guessing(part)]
        found += [one.claim for one in from_people(data, name).values()]
        told = effect_claims([compute_effect(shown, data, Wish((name,)))], part)
        found += told.claims if told else ()
    sizes = sizes_of_families(found)
    return [of_family(claim, sizes) for claim in found]


def told(claim: Claim) -> bool:
    """Whether it is told from its null: its interval among all ends before (as :attr:`.Claim.told`, sooner)."""
    low, high = claim.interval_of_family
    return not math.isnan(low) and not low <= claim.null <= high


def null_pages(pages: int) -> Iterator[str]:
    """How many pages have a false claim, of each kind and of any."""
    yield (
        "| who | paradigms | pages | above guessing | from people | effects | any | claims on a page |\n"
        + "| --- " * 8
        + "|"
    )
    worlds = {
        "everybody guesses": (0.5, (0.0, 0.0), {"above guessing", "from people", "effects"}),
        "75 % right, people SD .8, seeds SD .5": (0.75, (0.8, 0.5), {"from people", "effects"}),
        "92 % right, people SD .8, seeds SD .5": (0.92, (0.8, 0.5), {"from people", "effects"}),
    }
    for words, (share, spreads, false) in worlds.items():
        for paradigms in PARADIGMS:
            random, many = np.random.RandomState(paradigms), 0
            wrong_pages = dict.fromkeys([*KINDS.values(), "any"], 0)
            for _ in range(pages):
                claims = claims_of(page(random, paradigms, share, spreads))
                wrong = {KINDS[claim.rule] for claim in claims if told(claim)} & false
                many = sum(KINDS[claim.rule] in false for claim in claims)
                for kind in wrong | ({"any"} if wrong else set()):
                    wrong_pages[kind] += 1
            cells = " | ".join(
                f"{wrong_pages[kind] / pages:.1%}" if kind in false | {"any"} else "–"
                for kind in dict.fromkeys([*KINDS.values(), "any"])
            )
            yield f"| {words} | {paradigms} | {pages} | {cells} | {many} |"


def found(pages: int) -> Iterator[str]:
    """How often a machine that is three standard deviations of seeds below people is told from them, on a page
    with five seeds of each machine: as one of all claims, and planned."""
    yield "| paradigms | pages | told, among all | told, planned |\n" + "| --- " * 4 + "|"
    for paradigms in PARADIGMS:
        random, among, alone = np.random.RandomState(100 + paradigms), 0, 0
        for _ in range(pages):
            claims = claims_of(page(random, paradigms, 0.85, (0.4, 0.4), away=3.0))
            one = next(claim for claim in claims if claim.rule == "difference" and claim.agent.startswith("network:0"))
            among, alone = among + told(one), alone + told(replace(one, family=1))
        yield f"| {paradigms} | {pages} | {among / pages:.0%} | {alone / pages:.0%} |"


def main() -> None:
    pages = max(10, round(PAGES * (float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)))
    for line in (*null_pages(pages), "", *found(pages)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
