"""The sentence on a paradigm's effect calls a planted effect one, and what is not there not
distinguishable from 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.effects.conditions import conditions_effect
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.effect_figure import ComputedEffect, compute_effect
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.report.paradigm import effect_claims


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
