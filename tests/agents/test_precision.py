"""The observer with limited precision: its errors are as large as it says, and staircases and
continuous reports can be rehearsed with it."""

from __future__ import annotations

from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest

import spanlab
from spanlab.agents.observers import LimitedPrecision, make_observer
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Ask, Percept, Truth
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.trial import Display
from spanlab.stimuli.kinds.plain import Blank


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> spanlab.SessionResult:
    return spanlab.replay(
        "continuous_colour",
        agent="precision:12",
        trials=600,
        data=tmp_path_factory.mktemp("data"),
        say=lambda text: None,
    )


@pytest.mark.slow
def test_errors_of_continuous_reports_grow_with_the_root_of_set_size(report: spanlab.SessionResult) -> None:
    responses = report.responses
    assert (responses["agent_kind"].iloc[0], bool(responses["oracle"].iloc[0])) == ("precision", True)
    sizes = responses["set_size"].astype(int)
    assert sizes.nunique() > 1
    for size in map(int, sizes.unique()):
        errors = responses.loc[sizes == size, "error"].to_numpy(float)
        assert np.sqrt((errors**2).mean()) == pytest.approx(12 * sqrt(size), rel=4 / sqrt(2 * len(errors)))


@pytest.mark.slow
def test_lists_are_recognised_item_by_item(tmp_path: Path) -> None:
    result = spanlab.replay(
        "digit_span",
        agent="precision",
        trials=300,
        levels={"list_length": [4], "direction": "forward"},
        data=tmp_path,
        say=lambda text: None,
    )
    rows, known = result.responses, erf(45 / (15 * sqrt(4) * sqrt(2)))
    wanted = known + (1 - known) / 10
    assert float(rows["correct"].astype(float).mean()) == pytest.approx(
        wanted, abs=4 * sqrt(wanted * (1 - wanted) / len(rows))
    )


def test_a_staircase_reverses_and_ends(tmp_path: Path) -> None:
    result = spanlab.replay("vsr", agent="precision:15", design="span", data=tmp_path, say=lambda text: None)
    assert result.span is not None
    assert len(result.span["reversals"]) >= 4
    assert 3 <= result.span["span"] <= 9


@pytest.mark.parametrize("name", ["precision:0", "precision:120", "precision:few", "precision:nan"])
def test_what_is_no_precision_is_refused(name: str) -> None:
    with pytest.raises(SpanLabError, match="standard deviation"):
        make_observer(name)


def test_repeated_symbols_are_guessed_without_end_and_right_ones_kept() -> None:
    from spanlab.paradigms.responses import RESPONSES

    kind = RESPONSES.get("sequence").model_validate({"options": 3, "take": 3, "repeats": False, "unknown": False})
    memory = LimitedPrecision(60).fresh(1)
    for _ in range(50):
        given = memory._recognised(kind, (2, 0, 1), 0.5)
        assert isinstance(given, tuple)
        assert set(given) == {0, 1, 2}


@pytest.mark.parametrize(("difference", "sd", "expected"), [(1, 10, 0.54), (10, 10, 0.841), (30, 10, 0.9987)])
def test_two_alternatives_are_told_apart_by_how_much_they_differ(difference: int, sd: float, expected: float) -> None:
    """Of two answers the right one comes with the probability Φ(difference / sd)."""
    kind = Choice.model_validate({"options": ["left", "right"]})
    percept = Percept("probe", (Display(Blank.model_validate({})),), Ask(kind))
    truth = Truth("left", record={"difference_degrees": difference}, chance=0.5, levels={"set_size": 1})
    memory = LimitedPrecision(sd).fresh(3)
    assert abs(np.mean([memory.choose(percept, truth) == "left" for _ in range(20_000)]) - expected) < 0.012
