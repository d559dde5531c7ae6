"""The sentence on a paradigm's effect calls a planted effect one, and what is not there not distinguishable from 0."""

from __future__ import annotations

from pathlib import Path

from analysis_tables import mixed, responses

from spanlab.analysis.data.loading import load
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.effect_figure import compute_effect
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.report.effect_sentences import effect_sentence


def sentence(folder: Path, first: float, last: float) -> str:
    """What is said of twelve people who are right in 55 of 100 answers, and so much more often at the first and the last place of five."""
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


def test_one_effect_beside_none(tmp_path: Path) -> None:
    first, last = sentence(tmp_path, 0.3, 0.0).split("; the last item")
    assert "not distinguishable" not in first
    assert "not distinguishable from 0" in last
