"""Known trials against fresh ones: fresh trials are new, models that know the published ones are
found, and others are not accused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Run, command_line

import spanlab as package
from spanlab.analysis.stats import Margin, holm
from spanlab.core import SpanLabError
from spanlab.sessions import read_session, same_trials

from ..comparing import ALIKE, BETTER, NO_DIFFERENCE, WORSE, compared, stratified_difference, verdict_on

POINTS = Margin(10.0, "points")


@pytest.fixture
def spanlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command_line(tmp_path, monkeypatch, capsys)


def scores(shares: tuple[float, float], trials: int, seed: int) -> dict[str, np.ndarray]:
    """Blocks of 24 answers at two levels."""
    draw = np.random.default_rng(seed)
    return {str(n): draw.binomial(24, share, trials) / 24 for n, share in enumerate(shares)}


def judged(known: tuple[float, float], fresh: tuple[float, float], margin: Margin | None = None) -> str:
    difference = stratified_difference(scores(known, 30, 1), scores(fresh, 30, 2))
    assert difference is not None
    return verdict_on(difference, difference.p, margin)


def test_a_model_that_knows_the_published_trials_is_found() -> None:
    assert judged((0.95, 0.85), (0.85, 0.7)) == BETTER
    assert judged((0.95, 0.85), (0.85, 0.7), POINTS) == BETTER
    assert judged((0.85, 0.7), (0.95, 0.85)) == WORSE


def test_a_model_that_is_as_good_on_fresh_trials_is_not_accused() -> None:
    assert judged((0.9, 0.7), (0.9, 0.7)) == NO_DIFFERENCE
    assert judged((0.9, 0.7), (0.9, 0.7), POINTS) == ALIKE.format("10 points")
    assert judged((0.9, 0.7), (0.9, 0.7), Margin(1.0, "points")) == NO_DIFFERENCE, (
        "too few trials to say that they are alike within so little"
    )


def test_levels_are_no_difference() -> None:
    """Fresh trials that are mostly of the harder level are compared within levels."""
    known = {
        "easy": np.full(20, 0.95) + np.tile([-0.02, 0.02], 10),
        "hard": np.full(5, 0.5) + np.tile([-0.02, 0.02], 3)[:5],
    }
    fresh = {
        "easy": np.full(5, 0.95) + np.tile([-0.02, 0.02], 3)[:5],
        "hard": np.full(20, 0.5) + np.tile([-0.02, 0.02], 10),
    }
    difference = stratified_difference(known, fresh)
    assert difference is not None
    assert abs(difference.value) < 0.01
    assert verdict_on(difference, difference.p, None) == NO_DIFFERENCE


def test_nothing_is_said_of_few_trials_and_of_scores_that_do_not_vary() -> None:
    assert stratified_difference({"1": np.ones(20)}, {"1": np.ones(20)}) is None
    assert stratified_difference({"1": np.array([0.0, 1.0])}, {"1": np.array([0.0, 1.0, 1.0])}) is None
    assert stratified_difference({"1": np.arange(9) / 9}, {"2": np.arange(9) / 9}) is None


@pytest.mark.parametrize(
    ("share", "known_trials", "fresh_trials", "answers"),
    [
        (0.5, 20, 20, 1),
        (0.8, 40, 40, 1),
        (0.9, 30, 30, 24),
        (0.7, 12, 12, 3),
        (0.95, 60, 12, 1),
        (0.9, 5, 20, 1),
        (0.5, 5, 5, 1),
    ],
)
@pytest.mark.slow
def test_the_test_has_its_size_and_the_interval_its_level(
    share: float, known_trials: int, fresh_trials: int, answers: int
) -> None:
    """Also where a few trials that are nearly always right are held against many: they often do not
    vary at all."""
    draw = np.random.default_rng(3)
    rejected = held = tested = 0
    for _ in range(2000):
        known, fresh = (
            {"1": draw.binomial(answers, share, trials) / answers} for trials in (known_trials, fresh_trials)
        )
        difference = stratified_difference(known, fresh)
        if difference is None:
            continue
        tested += 1
        rejected += difference.p < 0.05
        low, high = difference.interval(0.95)
        held += low <= 0 <= high
    assert tested > 1800
    assert rejected / tested <= 0.065
    assert held / tested >= 0.93


def test_many_models_are_not_accused_one_by_one() -> None:
    """One of twenty honest models is significant by itself; of twenty that are tested together it
    is not."""
    difference = stratified_difference(scores((0.75, 0.65), 30, 1), scores((0.71, 0.61), 30, 2))
    assert difference is not None
    assert 0.0025 < difference.p < 0.05
    assert verdict_on(difference, difference.p, None) == BETTER
    assert verdict_on(difference, float(holm([difference.p, *[0.5] * 19])[0]), None) == NO_DIFFERENCE


def test_fresh_trials_have_the_levels_of_known_ones_and_none_of_their_lists(tmp_path: Path) -> None:
    from spanlab.sessions.request import list_of

    known = package.replay("nback_verbal", agent="chance", trials=6, levels={"n": [1, 2]}, data=tmp_path)
    fresh = package.replay(agent="chance", like=known.folder, fresh=True, data=tmp_path)
    first, second = same_trials(known.folder), same_trials(fresh.folder)
    assert [planned.levels for planned in first.plan] == [planned.levels for planned in second.plan]
    lists = [
        {list_of(planned.compile(session.paradigm, "corrected")) for planned in session.plan}
        for session in (first, second)
    ]
    assert lists[0].isdisjoint(lists[1])
    info = read_session(fresh.folder)
    assert (info["fresh_of"], info["like"]) == ({"session": first.name}, "")
    with pytest.raises(SpanLabError, match="name these with"):
        package.replay("nback_verbal", agent="chance", fresh=True, data=tmp_path)


@pytest.mark.slow
def test_models_of_one_command_are_tested_together(spanlab: Run, tmp_path: Path) -> None:
    known = package.replay("nback_verbal", agent="chance", trials=12, levels={"n": [1, 2]}, data=tmp_path / "data")
    package.replay(agent="capacity:1", like=known.folder, data=tmp_path / "data")
    for agent in ("chance", "capacity:1"):
        package.replay(agent=agent, like=known.folder, fresh=True, data=tmp_path / "data")
    rows, _ = compared([tmp_path / "data"])
    alone = [row.difference.p for row in rows if row.difference is not None]
    assert len(alone) == 2
    assert [row.p for row in rows] == pytest.approx(holm(alone))
    assert sorted(alone) != pytest.approx(sorted(row.p for row in rows))
    assert spanlab("contamination", "data")[1].count("(Holm, 2 tests)") == 2


def test_the_command_tells_both_kinds_apart(spanlab: Run, tmp_path: Path) -> None:
    known = package.replay("nback_verbal", agent="chance", trials=12, levels={"n": [1, 2]}, data=tmp_path / "data")
    package.replay(agent="chance", like=known.folder, fresh=True, data=tmp_path / "data")
    status, printed, _ = spanlab("contamination", "data")
    assert status == 0
    assert printed.startswith("nback_verbal, chance (guessing): ")
    assert "in 12 known trials" in printed
    assert "in 12 fresh ones" in printed
    assert printed.strip().endswith((NO_DIFFERENCE, WORSE, BETTER))
    # an agent that has the known trials by heart
    folder = known.folder
    table = pd.read_parquet(folder / "responses.parquet")
    table["correct"] = table["correct"].map(lambda value: True)
    table.to_parquet(folder / "responses.parquet")
    assert spanlab("contamination", "data")[1].strip().endswith(BETTER)
    alone = spanlab("contamination", folder)
    assert alone[0] != 0
    assert "no agent took known trials" in alone[2]
    assert "in points here" in spanlab("contamination", "data", "--margin", "20ms")[2]
    info = json.loads((folder / "session.json").read_text(encoding="utf-8"))
    assert "fresh_of" not in info
