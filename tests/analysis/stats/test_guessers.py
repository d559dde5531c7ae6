"""People whom a mean does not describe: somebody at guessing among people near the ceiling, one person who
carries an effect, two groups; found, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.guessing import at_guessing
from spanlab.analysis.report.lab import spoilers
from spanlab.analysis.report.paradigm import numbers_of

MEAN = 2.944  # 95 % in log odds


def right(
    random: np.random.RandomState, people: int, guessers: int, spread: float = 0.5, trials: int = 48
) -> np.ndarray:
    share = expit(random.normal(MEAN, spread, people))
    share[:guessers] = 0.5
    return random.binomial(trials, share).astype(float)


@pytest.mark.parametrize("people", [8, 24])
def test_who_guesses_among_people_at_95_percent_is_named_and_others_are_not(people: int) -> None:
    random, asked = np.random.RandomState(people), np.full(people, 48.0)
    found = [at_guessing(right(random, people, 1), asked, 0.5) for _ in range(400)]
    assert np.mean([one[0] for one in found]) >= 0.8
    assert np.mean([one[1:].any() for one in found]) <= 0.05
    nobody = [at_guessing(right(random, people, 0), asked, 0.5).any() for _ in range(400)]
    assert np.mean(nobody) <= 0.05


def test_a_crowd_away_from_the_ceiling_or_of_guessers_names_nobody() -> None:
    random, asked = np.random.RandomState(1), np.full(12, 48.0)
    middling = [
        at_guessing(random.binomial(48, expit(random.normal(1, 0.5, 12))), asked, 0.5).any() for _ in range(200)
    ]
    assert np.mean(middling) <= 0.02
    assert not at_guessing(random.binomial(48, np.full(12, 0.5)).astype(float), asked, 0.5).any()
    assert not at_guessing(np.array([24.0, 48, 48]), np.full(3, 48.0), 0.5).any(), "three people tell too little"


def test_the_page_names_them_before_any_number() -> None:
    from analysis_tables import mixed, responses

    people = [
        responses(
            lambda *_, own=own: own,
            agent="p",
            kind="participant",
            participant=f"P{number}",
            seed=number,
            lengths=[4],
            repetitions=15,
            chance=0.25,
        )
        for number, own in enumerate([0.95] * 7 + [0.25])
    ]
    said = [line for line in spoilers([], score_table(mixed(*people)).items, None) if "may be guesses" in line]
    assert len(said) == 1
    assert said[0].startswith("P7 in vsr: ")
    assert not [line for line in spoilers([], score_table(mixed(*people[:7])).items, None) if "may be guesses" in line]


def page_of(shares: Sequence[Sequence[float]], tmp_path: Path) -> list[str]:
    """What a page says of people with these shares of right answers at two set sizes, of 50 answers each."""
    rows = [
        {"participant": f"P{who}", "paradigm": "recall", "trial": 50 * size + at, "set_size": 2 + 2 * size}
        | {"correct": at < round(50 * right), "chance": 0.25}
        for who, sizes in enumerate(shares)
        for size, right in enumerate(sizes)
        for at in range(50)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv", index=False)
    return numbers_of(load([tmp_path / "answers.csv"]), "recall").undescribed


def test_a_page_says_that_one_person_carries_an_effect(tmp_path: Path) -> None:
    others = [(0.8, 0.8), (0.72, 0.7), (0.9, 0.92), (0.78, 0.8), (0.84, 0.8), (0.76, 0.76), (0.86, 0.84)]
    (said,) = page_of([*others, (0.95, 0.3)], tmp_path)
    assert said == "1 of 8 in People (n = 8) carries the effect: −4 points with them, 0 without"
    assert page_of([*others, (0.8, 0.74)], tmp_path) == []


def test_a_page_says_that_people_are_two_groups(tmp_path: Path) -> None:
    low, high = [(0.26, 0.24), (0.3, 0.28), (0.24, 0.26)], [(0.94, 0.92), (0.9, 0.92), (0.96, 0.94), (0.92, 0.9)]
    (said,) = page_of([*low, *high], tmp_path)
    assert said == "People (n = 7) are two groups (3 at 26%, 4 at 92%) rather than spread around one mean"
    spread = [(0.5, 0.52), (0.6, 0.58), (0.7, 0.72), (0.66, 0.64), (0.78, 0.8), (0.58, 0.56), (0.86, 0.84)]
    assert page_of(spread, tmp_path) == []
