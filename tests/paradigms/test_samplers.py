"""What is drawn at random: constraints always hold, values are plain, the same seed gives the same
value, and nothing is favoured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from spanlab.core.json_values import weigh
from spanlab.paradigms import SAMPLERS, Sampler
from spanlab.paradigms.identity import stream
from spanlab.stimuli.scene import STEPS

SCALARS = st.one_of(st.integers(-99, 99), st.text(max_size=4), st.booleans(), st.none())
POOLS = st.one_of(
    st.integers(1, 40),
    st.lists(SCALARS, min_size=1, max_size=20),
    st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=9),
)
SEEDS = st.integers(0, 2**53)
QUICK = settings(max_examples=40, deadline=None)


def sampler(name: str, /, **parameters: Any) -> Sampler:
    return SAMPLERS.get(name).model_validate(parameters)


def draw(name: str, seed: int = 1, **parameters: Any) -> Any:
    """A drawn value, after checking what holds for all of them: plain, and the same for the same
    seed."""
    value = sampler(name, **parameters).draw(stream("p", seed, "d"))
    assert value == sampler(name, **parameters).draw(stream("p", seed, "d"))
    assert json.loads(json.dumps(value)) == value, "values stay the same as JSON"
    weigh(value)
    return value


def many(name: str, times: int = 5000, **parameters: Any) -> list[Any]:
    """Values for the seeds 0, 1, 2 and so on."""
    return [sampler(name, **parameters).draw(stream("p", seed, "d")) for seed in range(times)]


def members(of: Any) -> list[Any]:
    return list(range(of)) if isinstance(of, int) else of


def chi_square(counts: Iterable[int], expected: float) -> float:
    return sum((count - expected) ** 2 / expected for count in counts)


#: the 99.9 % points of chi-square by degrees of freedom; seeds are fixed, so a test beyond them is
#: a fault
BEYOND = {1: 10.83, 2: 13.82, 3: 16.27, 5: 20.52, 7: 24.32, 8: 26.12, 9: 27.88, 11: 31.26, 14: 36.12, 35: 66.62}


# general ------------------------------------------------------------------------------------------


@given(POOLS, SEEDS, st.data())
@QUICK
def test_permutation(of: Any, seed: int, data: st.DataObject) -> None:
    take = data.draw(st.one_of(st.none(), st.integers(0, len(members(of)))))
    drawn = draw("permutation", seed, of=of, take=take)
    assert len(drawn) == (len(members(of)) if take is None else take)
    rest = list(members(of))
    for one in drawn:
        rest.remove(one)  # fails when something is drawn more often than it is there


@given(POOLS, SEEDS)
@QUICK
def test_one_of(of: Any, seed: int) -> None:
    assert draw("one_of", seed, of=of) in members(of)


@given(POOLS, SEEDS, st.integers(0, 50))
@QUICK
def test_several(of: Any, seed: int, count: int) -> None:
    drawn = draw("several", seed, of=of, count=count)
    assert len(drawn) == count
    assert all(one in members(of) for one in drawn)


@given(st.lists(SCALARS, max_size=9), SEEDS, st.data())
@QUICK
def test_place(items: list[Any], seed: int, data: st.DataObject) -> None:
    places = data.draw(st.integers(max(1, len(items)), 20))
    at = data.draw(st.permutations(range(places)))[: len(items)]
    placed = draw("place", seed, items=items, at=at, of=places)
    assert len(placed) == places
    assert [placed[place] for place in at] == items
    assert all(placed[place] is None for place in range(places) if place not in at)


def test_permutations_favour_nothing() -> None:
    orders = Counter(map(tuple, many("permutation", of=3)))
    assert chi_square((orders[order] for order in orders), 5000 / 6) < BEYOND[5]
    assert len(orders) == 6
    first = Counter(drawn[3] for drawn in many("permutation", of=9, take=4))
    assert chi_square((first[n] for n in range(9)), 5000 / 9) < BEYOND[8]


def test_several_draw_every_member_equally_often() -> None:
    counts = Counter(drawn for one in many("several", 300, of=list("abcd"), count=20) for drawn in one)
    assert set(counts) == set("abcd"), "the last one, too"
    assert chi_square(counts.values(), 1500) < 16.3  # p < .001 with 3 degrees of freedom


def test_choices_favour_nothing() -> None:
    one = Counter(many("one_of", of=["a", "b", "c", "d"]))
    assert chi_square((one[letter] for letter in "abcd"), 1250) < BEYOND[3]
    pairs = Counter(map(tuple, many("several", of=3, count=2)))
    assert chi_square((pairs[a, b] for a in range(3) for b in range(3)), 5000 / 9) < BEYOND[8]


# patterns -----------------------------------------------------------------------------------------


@given(SEEDS, st.integers(2, 8), st.integers(1, 9), st.data())
@QUICK
def test_matrix_patterns(seed: int, grid: int, count: int, data: st.DataObject) -> None:
    filled = data.draw(st.integers(1, grid**2))
    if count**2 > comb(grid**2, filled):
        with pytest.raises(ValidationError, match="too many different patterns"):
            sampler("matrix_patterns", count=count, grid=grid, filled=filled)
        return
    drawn = draw("matrix_patterns", seed, count=count, grid=grid, filled=filled)
    assert len(drawn) == len({tuple(pattern) for pattern in drawn}) == count
    for pattern in drawn:
        assert len(pattern) == len(set(pattern)) == filled
        assert pattern == sorted(pattern)
        assert all(0 <= cell < grid**2 for cell in pattern)


def test_every_cell_is_filled_equally_often() -> None:
    """Cells within a pattern exclude one another, so the statistic is scaled to chi-square with one
    degree of freedom less than there are cells."""
    cells = Counter(cell for drawn in many("matrix_patterns", count=1, grid=6, filled=18) for cell in drawn[0])
    assert chi_square((cells[cell] for cell in range(36)), 2500) * 35 / 36 / 0.5 < BEYOND[35]


# updating -----------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 8), st.integers(0, 30), st.integers(2, 3))
@QUICK
def test_marker_walk(seed: int, boxes: int, updates: int, grid: int) -> None:
    walk = draw("marker_walk", seed, boxes=boxes, updates=updates, grid=grid)
    assert set(walk) == {"start", "updates", "final"}
    cells = [divmod(cell, grid) for cell in walk["start"]]
    assert len(cells) == boxes
    assert [update["box"] for update in walk["updates"]] == [n % boxes for n in range(updates)]
    for update in walk["updates"]:
        right, down = STEPS[update["direction"]]
        row, column = cells[update["box"]]
        cells[update["box"]] = (row + down, column + right)
        assert all(0 <= value < grid for value in cells[update["box"]]), "no marker leaves its box"
    assert [row * grid + column for row, column in cells] == walk["final"]


def test_markers_start_anywhere_and_go_anywhere() -> None:
    walks = many("marker_walk", boxes=1, updates=1)
    starts = Counter(walk["start"][0] for walk in walks)
    assert chi_square((starts[cell] for cell in range(9)), 5000 / 9) < BEYOND[8]
    centre = Counter(walk["updates"][0]["direction"] for walk in walks if walk["start"] == [4])
    assert chi_square((centre[direction] for direction in STEPS), sum(centre.values()) / 8) < BEYOND[7]
    corner = Counter(walk["updates"][0]["direction"] for walk in walks if walk["start"] == [0])
    assert set(corner) == {"right", "down", "down_right"}
    assert chi_square(corner.values(), sum(corner.values()) / 3) < BEYOND[2]


@given(st.integers(1, 8))
@QUICK
def test_box_areas(boxes: int) -> None:
    areas = draw("box_areas", boxes=boxes)
    assert len(areas) == boxes
    assert all(0 <= x0 < x1 <= 96 and 0 <= y0 < y1 <= 96 and x1 - x0 == y1 - y0 == 15 for x0, y0, x1, y1 in areas)


# n-back -------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 6), st.integers(2, 40), st.integers(2, 20), st.data())
@QUICK
def test_nback_block(seed: int, n: int, length: int, symbols: int, data: st.DataObject) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"[:symbols]
    matches = data.draw(st.integers(0, max(0, length - n)))
    if n >= length:
        return
    items = draw(
        "nback_block", seed, symbols=list(letters), n=n, length=length, matches=matches, match="yes", other="no"
    )
    assert len(items) == length
    assert sum(item["label"] == "yes" for item in items) == matches
    for position, item in enumerate(items):
        assert item["symbol"] in letters
        same = position >= n and item["symbol"] == items[position - n]["symbol"]
        assert same == (item["label"] == "yes"), "labels are right, and there is no match without one"


def test_matches_and_symbols_of_a_block_favour_nothing() -> None:
    blocks = many("nback_block", symbols=list("abcd"), n=2, length=14, matches=3)
    where = Counter(position for block in blocks for position, item in enumerate(block) if item["label"] == "m")
    assert chi_square((where[position] for position in range(2, 14)), 1250) * 11 / 12 / 0.75 < BEYOND[11]
    first = Counter(block[0]["symbol"] for block in blocks)
    assert chi_square((first[letter] for letter in "abcd"), 1250) < BEYOND[3]


# switching ----------------------------------------------------------------------------------------


@given(SEEDS, st.integers(2, 60), st.floats(0, 1))
@QUICK
def test_task_sequence(seed: int, length: int, switch: float) -> None:
    sequence = draw("task_sequence", seed, length=length, switch=switch)
    assert len(sequence) == length
    assert sequence[0]["cue"] is True
    assert sequence[-1]["cue"] is False
    for entry in sequence:
        assert entry["task"] in ("up_down", "left_right")
        if entry["cue"]:
            assert entry["marker"] is entry["answer"] is None
        else:
            row, column = divmod(entry["marker"], 2)
            assert entry["answer"] == (row if entry["task"] == "up_down" else column)
    for before, entry in pairwise(sequence):
        assert (entry["task"] != before["task"]) == entry["cue"], "tasks change at cues, and only there"
        assert not (before["cue"] and entry["cue"])


def test_tasks_switch_as_often_as_they_should() -> None:
    sequences = many("task_sequence", 2000, length=20, switch=0.2)
    early = [(sequence[1]["cue"], sequence[2]["cue"]) for sequence in sequences]
    assert not any(first for first, _ in early)
    assert (
        chi_square([sum(second for _, second in early)], 400)
        + chi_square([sum(not second for _, second in early)], 1600)
        < BEYOND[1]
    )
    assert chi_square(Counter(sequence[0]["task"] for sequence in sequences).values(), 1000) < BEYOND[1]
    markers = Counter(entry["marker"] for sequence in sequences for entry in sequence[:2] if not entry["cue"])
    assert chi_square((markers[box] for box in range(4)), 500) < BEYOND[3]


# what is impossible -------------------------------------------------------------------------------

IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    ("permutation", {"of": 3, "take": 4}, "cannot take 4 different ones of 3"),
    ("permutation", {"of": []}, ""),
    ("one_of", {"of": []}, "cannot draw from an empty list"),
    ("one_of", {"of": 0}, "greater than or equal to 1"),
    ("several", {"of": [], "count": 1}, "cannot draw from an empty list"),
    ("several", {"of": 3, "count": -1}, "greater than or equal to 0"),
    ("place", {"items": [1], "at": [0, 1], "of": 3}, "1 items for 2 places"),
    ("place", {"items": [1, 2], "at": [1, 1], "of": 3}, "two items at the same place"),
    ("place", {"items": [1], "at": [3], "of": 3}, "place 3 of 3"),
    ("matrix_patterns", {"count": 2, "grid": 2, "filled": 5}, "cannot fill 5 of 4 cells"),
    ("matrix_patterns", {"count": 2, "grid": 2, "filled": 4}, "only 1 possible"),
    ("marker_walk", {"boxes": 9, "updates": 1}, "less than or equal to 8"),
    ("nback_block", {"symbols": ["a", "a"], "n": 1}, "two different symbols"),
    (
        "nback_block",
        {"symbols": ["a", "b"], "n": 2, "length": 5, "matches": 4},
        "cannot place 4 matches among the 3 items",
    ),
    ("nback_block", {"symbols": ["a", "b"], "n": 9, "length": 5, "matches": 0}, "no item has one 9 back among 5"),
    ("task_sequence", {"length": 1}, "greater than or equal to 2"),
    ("task_sequence", {"switch": 1.5}, "less than or equal to 1"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), IMPOSSIBLE)
def test_the_impossible_is_refused_before_anything_is_drawn(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    if not message:
        assert draw(name, **parameters) == []
        return
    with pytest.raises(ValidationError, match=message):
        sampler(name, **parameters)


@given(
    st.sampled_from(sorted(SAMPLERS)),
    st.dictionaries(st.text(max_size=8), st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=4),
)
@settings(max_examples=60)
@example("box_areas", {"name": None})
def test_unknown_parameters_are_refused(name: str, parameters: dict[str, Any]) -> None:
    declared = set(SAMPLERS.get(name).model_fields)
    if set(parameters) - declared:
        with pytest.raises(ValidationError):
            sampler(name, **parameters)


def test_streams_are_their_own() -> None:
    draws = [stream("p", 1, "a"), stream("p", 1, "b"), stream("p", 2, "a"), stream("q", 1, "a")]
    assert len({tuple(random.randint(2**31, size=4)) for random in draws}) == 4
    assert isinstance(draws[0], np.random.RandomState)
