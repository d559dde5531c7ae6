"""Trials of different factor levels are independent, whatever the seed."""

from __future__ import annotations

from typing import Any

import fidelity_independence as independence
import numpy as np
import pytest

from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.compile import drawn_values

#: Less probable by chance than any of the pairs that are looked at here ought to be.
NEVER = 1e-7


def _told(pair: Any) -> str:
    return f"{pair.what} of {pair.cells}: {pair.bits:.3f} bits, {pair.shuffled:.3f} by chance, p = {pair.p:.1e}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("cd", [{"feature": feature, "set_size": 4} for feature in ("colour", "gap", "size")]),
        ("vsr", [{"list_length": length} for length in (3, 4, 8)]),
    ],
)
def test_cells_of_a_design_know_nothing_of_one_another(name: str, cells: list[dict[str, Any]]) -> None:
    paradigm = load_paradigm(name)
    cells = [{key: level for key, level in cell.items() if key in paradigm.factors} for cell in cells]
    assert [_told(pair) for pair in independence.pairs(paradigm, 20, cells) if pair.p < NEVER] == []
    shared = [number % 7 for number in range(400)]
    alike = independence._pair("answer", (cells[0], cells[1]), shared, shared, np.random.RandomState(1))
    assert alike.p < NEVER, "the measure would see it"


@pytest.mark.slow
@pytest.mark.soaked(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_cells_of_every_paradigm_know_nothing_of_one_another(name: str) -> None:
    paradigm = load_paradigm(name)
    cells = independence.some_cells(paradigm, 6)
    assert [_told(pair) for pair in independence.pairs(paradigm, 20, cells) if pair.p < NEVER] == []


def test_no_identifier_names_two_trials() -> None:
    paradigm = load_paradigm("vsr")
    given = drawn_values(paradigm, {"list_length": 4}, 7)
    drawn, copied = (compile_trial(paradigm, {"list_length": 4}, 7, draws=draws) for draws in (None, given))
    assert drawn.steps == copied.steps
    assert drawn.trial_id != copied.trial_id


def test_a_random_factor_that_is_given_makes_the_trial_in_which_it_was_drawn() -> None:
    paradigm = load_paradigm("cd")
    crossed = {name: factor.levels[0] for name, factor in paradigm.factors.items() if factor.mode == "crossed"}
    for seed in range(20):
        drawn = compile_trial(paradigm, crossed, seed)
        assert compile_trial(paradigm, drawn.levels, seed) == drawn
