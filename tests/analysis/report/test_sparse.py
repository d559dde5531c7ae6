"""Figures whose points are of few trials are folded on a page, and those of enough trials are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.loading import load
from spanlab.analysis.figures.effect_figure import ComputedEffect
from spanlab.analysis.report import folder
from spanlab.analysis.report.figures import FEWEST_TRIALS, sparse
from spanlab.analysis.report.page import compare
from spanlab.analysis.report.paradigm import numbers_of


def answers(place: Path, repetitions: int, lengths: tuple[int, ...] = (3, 4, 5)) -> Path:
    people = [
        responses(
            lambda length, _: 1.0 - 0.1 * length,
            agent="p",
            kind="participant",
            participant=f"P{at}",
            lengths=lengths,
            repetitions=repetitions,
            seed=at,
        )
        for at in range(2)
    ]
    network = responses(lambda length, _: 0.8, agent="network:n", lengths=lengths, repetitions=repetitions, seed=9)
    mixed(*people, network).to_csv(place / "answers.csv", index=False)
    return place / "answers.csv"


def folded(file: Path) -> dict[str, str]:
    data = load([file])
    return {
        name: sparse(figure)
        for name, figure in numbers_of(data, "vsr").figures.items()
        if isinstance(figure, ComputedEffect)
    }


@pytest.mark.slow
def test_points_of_eight_trials_are_enough_and_of_fewer_are_not(tmp_path: Path) -> None:
    assert not any(folded(answers(tmp_path, FEWEST_TRIALS)).values())
    few = folded(answers(tmp_path, 3))
    assert all(few.values())
    assert few["set_size"] == "6 of its 6 points are of fewer than 8 trials"
    assert (
        folded(answers(tmp_path, 4))["set_size"] == ""
    )  # eight trials of two people, and four of the network: as many as not


@pytest.mark.slow
def test_what_is_sparse_is_folded_but_for_the_first_where_all_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "save", lambda *_: [])
    few = compare([answers(tmp_path, 3)], tmp_path / "few").read_text(encoding="utf-8")
    figures = len(re.findall(r"<figure id=", few))
    assert few.count('<details class="fold sparse">') == figures - 1 > 0
    assert few.count("folded: ") == figures - 1
    assert re.search(r"\d+ of its \d+ points are of fewer than 8 trials\.", few)
    enough = compare([answers(tmp_path, 20)], tmp_path / "enough").read_text(encoding="utf-8")
    assert '<details class="fold sparse">' not in enough
