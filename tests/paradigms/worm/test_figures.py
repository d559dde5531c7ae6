"""Figures of spatial coordination and spatial integration: what is drawn, with which probabilities,
that answers are true, and that nothing else tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import loaded, many, sampler, trials, unrelated

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial
from spanlab.paradigms.paradigm import GENERATORS, Generator
from spanlab.paradigms.samplers.integration import whole
from spanlab.stimuli.kinds.arrays import Matrix
from spanlab.stimuli.kinds.figure import Figure

SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=40, deadline=None)

Point = tuple[int, int]


# spatial coordination -----------------------------------------------------------------------------


def is_symmetric(cells: Iterable[int], grid: int = 10) -> bool:
    """Whether a picture of the cells equals its mirror image."""
    picture = np.zeros((grid, grid), bool)
    picture.flat[list(cells)] = True
    return bool((picture == picture[:, ::-1]).all())


@given(SEEDS, st.integers(1, 8).map(lambda n: 2 * n), st.booleans(), st.data())
@QUICK
def test_figures_of_cells_are_what_they_are_said_to_be(
    seed: int, grid: int, repeats: bool, data: st.DataObject
) -> None:
    count = 2 * data.draw(st.integers(1, grid**2 // 4))
    offsets = data.draw(st.lists(st.integers(1, count // 2).map(lambda n: 2 * n), min_size=1, max_size=3))
    one = sampler("coordination_figure", count=count, offsets=offsets, grid=grid, repeats=repeats)
    figure = one.draw(np.random.RandomState(seed))
    cells = figure["cells"]
    assert len(cells) == count
    assert sum(cell % grid < grid // 2 for cell in cells) == count // 2, "as many on the left as on the right"
    assert is_symmetric(cells, grid) == (figure["answer"] == "symmetric")
    assert (figure["offset"] == 0) == (figure["answer"] == "symmetric")
    if not repeats:
        assert len(set(cells)) == count
        alone = [cell for cell in cells if cell // grid * grid + grid - 1 - cell % grid not in cells]
        assert len(alone) == figure["offset"]
    one.check(figure)


def test_numbers_of_cells_tell_nothing_as_corrected() -> None:
    """As published they do: what comes twice on the left but not on the right cannot be symmetric."""

    def numbers(figure: Mapping[str, Any]) -> str:
        left = {cell for cell in figure["cells"] if cell % 10 < 5}
        return f"{len(left)} {len(set(figure['cells']) - left)}"

    assert {numbers(figure) for figure in many("sc", "figure", "corrected", list_length=18)} == {"9 9"}
    assert (
        unrelated(
            (numbers(figure) in ("9 8", "8 9"), figure["answer"])
            for figure in many("sc", "figure", "published", list_length=18)
        )
        < 1e-9
    )


@pytest.mark.parametrize("generator", GENERATORS)
def test_coordination_shows_one_cell_at_a_time_and_asks_whether_all_are_symmetric(generator: Generator) -> None:
    for trial in trials("sc", generator, 20):
        shown = [cast(Matrix, step.percept.displays[0].stimulus).filled for step in trial.steps[:-1]]
        assert {len(filled) for filled in shown} == {1}
        assert (trial.steps[-1].truth.answer == "symmetric") == is_symmetric(cell for (cell,) in shown)


# spatial integration ------------------------------------------------------------------------------


def edges(path: Iterable[Iterable[int]]) -> set[frozenset[Point]]:
    return {frozenset((cast(Point, tuple(one)), cast(Point, tuple(other)))) for one, other in pairwise(path)}


@given(SEEDS, st.sampled_from([1, 2, 3, 4, 6, 12]), st.booleans())
@QUICK
def test_figures_of_lines_are_what_they_are_said_to_be(seed: int, size: int, balanced: bool) -> None:
    one = sampler("integration_figure", part_size=size, balanced=balanced)
    figure = one.draw(np.random.RandomState(seed))
    assert [len(part) for part in figure["parts"]] == [size + 1] * (12 // size)
    parts = [edges(part) for part in figure["parts"]]
    together, probe = set().union(*parts), edges(figure["probe"])
    assert sum(map(len, parts)) == len(together) == len(probe) == 12, "every segment is in one part"
    for path in (whole(figure["parts"]), figure["probe"]):
        assert len({tuple(point) for point in path}) == len(path) == 13, "no point is visited twice"
        assert all(0 <= part <= 4 for point in path for part in point)
        assert all(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in pairwise(path))
    assert (together == probe) == (figure["answer"] == "same")
    assert len(probe - together) == len(together - probe) == figure["changed"]
    one.check(figure)


@pytest.mark.parametrize("generator", GENERATORS)
def test_integration_asks_whether_the_framed_figure_is_that_of_the_parts(generator: Generator) -> None:
    for trial in trials("si", generator, 20):
        figures = [cast(Figure, step.percept.displays[0].stimulus) for step in trial.steps]
        assert [figure.framed for figure in figures] == [False] * (len(figures) - 1) + [True]
        assert {len(figure.lines) for figure in figures[:-1]} == {trial.levels["part_size"]}
        together = {line for figure in figures[:-1] for line in figure.lines}
        assert (together == set(figures[-1].lines)) == (trial.steps[-1].truth.answer == "same")
        assert len(together - set(figures[-1].lines)) == trial.steps[-1].truth.record["changed_segments"]


# drawn by others ----------------------------------------------------------------------------------


def sc_figure(**changes: Any) -> dict[str, Any]:
    return {"cells": [0, 9, 11, 18, 22, 27, 33, 36, 44, 45], "answer": "symmetric", "offset": 0} | changes


LINE = [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [1, 4], [1, 3], [1, 2], [1, 1], [1, 0], [2, 0], [2, 1], [2, 2]]
TURNED = [*LINE[:11], [3, 0], [3, 1]]


def si_figure(**changes: Any) -> dict[str, Any]:
    return {"parts": [LINE[6:], LINE[:7]], "probe": LINE, "answer": "same", "changed": 0} | changes


FOREIGN: list[tuple[str, dict[str, Any], Any, str]] = [
    ("sc", {"list_length": 10}, sc_figure(), ""),
    (
        "sc",
        {"list_length": 10},
        sc_figure(cells=[0, 9, 11, 18, 22, 27, 33, 36, 44, 55], answer="asymmetric", offset=2),
        "",
    ),
    (
        "sc",
        {"list_length": 10},
        sc_figure(answer="asymmetric", offset=2),
        "1 on the right without a mirror image",
    ),
    ("sc", {"list_length": 10}, sc_figure(cells=[0, 9, 11, 18, 22, 27, 33, 36, 44, 55]), "and 0 on the right without"),
    (
        "sc",
        {"list_length": 10},
        sc_figure(cells=[0, 1, 11, 18, 22, 27, 33, 36, 44, 45]),
        "expected half of them on each side",
    ),
    ("sc", {"list_length": 10}, sc_figure(cells=[0, 9, 0, 9, 22, 27, 33, 36, 44, 45]), "a cell occurs twice"),
    ("sc", {"list_length": 10}, sc_figure(cells=[0, 9, 11, 18, 22, 27, 33, 36, 44, 145]), "cells from 0 to 99"),
    ("sc", {"list_length": 10}, sc_figure(answer="yes"), "expected symmetric with offset 0"),
    ("sc", {"list_length": 10}, sc_figure(offset=2), "expected symmetric with offset 0"),
    ("si", {"part_size": 6}, si_figure(), ""),
    ("si", {"part_size": 6}, si_figure(probe=TURNED, answer="different", changed=2), ""),
    ("si", {"part_size": 6}, si_figure(probe=TURNED), "expected the figure of the parts"),
    ("si", {"part_size": 6}, si_figure(probe=TURNED, answer="different", changed=3), "its last 3 points others"),
    ("si", {"part_size": 6}, si_figure(answer="different", changed=1), "its last 1 points others"),
    ("si", {"part_size": 6}, si_figure(changed=1), "expected same with 0 changed"),
    ("si", {"part_size": 6}, si_figure(answer="equal"), "expected same with 0 changed"),
    ("si", {"part_size": 6}, si_figure(parts=[LINE[6:], LINE[6:]]), "do not make one path"),
    ("si", {"part_size": 6}, si_figure(parts=[LINE[6:], [*TURNED[:6], [4, 4]]]), "do not make one path"),
    ("si", {"part_size": 6}, si_figure(parts=[LINE[6:], [*LINE[:5], [4, 4], LINE[6]]]), "neighbouring points"),
    ("si", {"part_size": 6}, si_figure(probe=[*LINE[:12], [2, 5]]), "neighbouring points"),
    ("si", {"part_size": 6}, si_figure(probe=[*LINE[:12], [2, 0]]), "neighbouring points"),
    ("si", {"part_size": 6}, si_figure(parts=[LINE[7:], LINE[:8]]), "expected a list of 7; found one of 6"),
]


@pytest.mark.parametrize(("name", "levels", "figure", "message"), FOREIGN)
def test_figures_that_others_have_drawn_are_looked_at(
    name: str, levels: dict[str, Any], figure: dict[str, Any], message: str
) -> None:
    if not message:
        trial = compile_trial(loaded(name), levels, 0, "corrected", {"figure": figure})
        assert trial.steps[-1].truth.answer == figure["answer"]
        return
    with pytest.raises(SpanLabError, match=message):
        compile_trial(loaded(name), levels, 0, "corrected", {"figure": figure})


def test_repeated_cells_that_others_have_drawn_are_fine_as_published() -> None:
    figure = sc_figure(cells=[0, 9, 0, 9, 22, 27, 33, 36, 44, 55], answer="asymmetric", offset=2)
    assert compile_trial(loaded("sc"), {"list_length": 10}, 0, "published", {"figure": figure}).steps
