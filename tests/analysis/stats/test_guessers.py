"""Somebody at guessing among people near the ceiling: found, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.guessing import at_guessing
from spanlab.analysis.report.lab import spoilers

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
