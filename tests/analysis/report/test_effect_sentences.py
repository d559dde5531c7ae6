"""The sentence on a paradigm's effect calls a planted effect one, and what is not there not
distinguishable from 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from analysis_tables import mixed, responses
from observed import change_detection, table, together

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.effects.conditions import conditions_effect
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.effect_figure import ComputedEffect, compute_effect
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.report.effect_sentences import effect_claims


def effect_sentence(effects: Sequence[ComputedEffect], scored: Scored) -> tuple[str, str]:
    """The sentence of a page with this paradigm alone."""
    claims = effect_claims(effects, scored)
    return claims.sentence if claims else ("", "")


def sentence(folder: Path, first: float, last: float) -> str:
    """What is said of twelve people who are right in 55 of 100 answers, and so much more often at
    the first and the last place of five."""
    people = [
        responses(
            lambda length, place: 0.55 + first * (place == 1) + last * (place == length),
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            lengths=(5,),
            repetitions=30,
            seed=100 + at,
        )
        for at in range(12)
    ]
    mixed(*people).to_csv(folder / "answers.csv", index=False)
    data = load([folder / "answers.csv"])
    name, text = effect_sentence([compute_effect(effect("serial_position"), data, Wish())], data.scored)
    assert name == "Primacy and recency in lists of 5"
    return text


def test_a_planted_effect_is_told_from_0(tmp_path: Path) -> None:
    assert "not distinguishable" not in sentence(tmp_path, 0.3, 0.2)


def test_where_nothing_was_planted_nothing_is_told_from_0(tmp_path: Path) -> None:
    assert sentence(tmp_path, 0.0, 0.0).count("not distinguishable from 0") == 2


@pytest.mark.slow
def test_one_effect_beside_none(tmp_path: Path) -> None:
    first, last = sentence(tmp_path, 0.3, 0.0).split("; the last item")
    assert "not distinguishable" not in first
    assert "not distinguishable from 0" in last


def test_a_slope_over_milliseconds_has_digits_enough_to_be_seen(tmp_path: Path) -> None:
    """From 1 s to 5 s people lose thirty points: .0075 points a millisecond."""
    parts = [
        responses(
            lambda *_, share=0.95 - 0.075 * second: share,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="mine",
            lengths=(1,),
            repetitions=30,
            seed=100 * at + second,
        ).assign(factor_delay_ms=1000 * second, trial=lambda table, second=second: table["trial"] + 100 * second)
        for at in range(12)
        for second in (1, 2, 3, 4, 5)
    ]
    mixed(*parts).to_csv(tmp_path / "answers.csv", index=False)
    data = load([tmp_path / "answers.csv"])
    name, text = effect_sentence(
        [compute_effect(conditions_effect(data.scored.parts["mine"], "mine"), data, Wish())], data.scored
    )
    assert name.startswith("Slope of ")
    (slope,) = re.findall(r"people \(n = 12\) −(0\.00\d+) points \(95% interval −0\.0\d+ to −0\.00\d+\)", text)
    assert 0.005 < float(slope) < 0.01


# items held ---------------------------------------------------------------------------------------


def held(
    folder: Path, capacities: Sequence[float], sizes: Sequence[int], trials: int = 60, kind: str = "participant"
) -> tuple[str, str]:
    """What is said of people (or sessions of one network) who hold so many items each."""
    tables = [
        table(
            change_detection(capacity, sizes=tuple(sizes)),
            trials * len(sizes) * 2,
            agent="participant" if kind == "participant" else "network:n",
            kind=kind,
            participant=f"P{at}" if kind == "participant" else "",
            paradigm="cd",
            seed=at,
        ).assign(session=f"s{at}")
        for at, capacity in enumerate(capacities)
    ]
    together(*tables).to_csv(folder / "answers.csv", index=False)
    data = load([folder / "answers.csv"])
    return effect_sentence([compute_effect(effect("capacity"), data, Wish())], data.scored)


def estimate_of(text: str) -> tuple[float, float, float]:
    found = re.search(r"(−?[\d.]+) \(95% interval (−?[\d.]+) to (−?[\d.]+)", text)
    assert found, text
    value, low, high = (float(one.replace("−", "-")) for one in found.groups())
    return value, low, high


def test_k_is_the_mean_over_the_set_sizes_that_tell_it(tmp_path: Path) -> None:
    """Of two items everybody holds two: that size says nothing of people who hold three, and is not
    in the mean."""
    name, text = held(tmp_path, [2.6, 2.8, 3.0, 3.2, 3.4, 3.0], (2, 4, 6, 8))
    assert name == "Items held (Pashler's K, mean over 4, 6 and 8 shown)"
    value, low, high = estimate_of(text)
    assert low < 3.0 < high
    assert value == pytest.approx(3.0, abs=0.4)
    assert high - low < 2


@pytest.mark.slow
def test_k_of_a_network_is_over_its_sessions_or_its_trials(tmp_path: Path) -> None:
    name, text = held(tmp_path, [2.6, 3.0, 3.4], (4, 6), kind="network")
    assert name == "Items held (Pashler's K, mean over 4 and 6 shown)"
    assert estimate_of(text)[1] < 3.0 < estimate_of(text)[2]
    _, alone = held(tmp_path, [3.0], (4, 6), trials=200, kind="network")
    assert estimate_of(alone)[1] < 3.0 < estimate_of(alone)[2]


@pytest.mark.slow
def test_who_holds_all_items_may_hold_more_and_who_guesses_holds_none(tmp_path: Path) -> None:
    name, text = held(tmp_path, [4.0] * 5, (2, 4))
    assert name == "Items held (Pashler's K, 4 shown)"
    assert "people (n = 5) may hold all 4, or more" in text
    name, text = held(tmp_path, [0.0] * 6, (2, 4, 6))
    assert name == "Items held (Pashler's K, mean over 2, 4 and 6 shown)"
    assert "not distinguishable from 0" in text
