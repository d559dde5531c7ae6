"""Any valid parameters of every stimulus, as a paradigm file would give them (hypothesis
strategies)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spanlab.stimuli import STIMULI, Stimulus

Parameters = dict[str, Any]
DIRECTIONS = ("up", "down", "left", "right", "up_left", "up_right", "down_left", "down_right")
colours = st.sampled_from(["red", "green", "black", "gray", "ink", "#0437f2", "#880808", "#FFD700"])
letters = st.characters(codec="ascii", exclude_characters=" _|`", exclude_categories=("Cc", "Cs"))
words = st.text(letters, min_size=1, max_size=24)


def cells(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, count - 1), unique=True, max_size=count)


def two_sets(count: int) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    return st.permutations(range(count)).flatmap(
        lambda order: st.tuples(st.integers(0, count), st.integers(0, count)).map(
            lambda cut: (order[: min(cut)], order[min(cut) : max(cut)])
        )
    )


@st.composite
def boxes(draw: st.DrawFn) -> Parameters:
    count = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["markers", "arrow", "probed", "none"]))
    if kind == "markers":
        return {
            "count": count,
            "markers": draw(st.lists(st.none() | st.integers(0, 8), min_size=count, max_size=count)),
        }
    if kind == "arrow":
        return {
            "count": count,
            "arrow": {"box": draw(st.integers(0, count - 1)), "direction": draw(st.sampled_from(DIRECTIONS))},
        }
    return {"count": count, "probed": draw(st.integers(0, count - 1))} if kind == "probed" else {"count": count}


@st.composite
def bars(draw: st.DrawFn) -> Parameters:
    made = []
    for place in draw(st.lists(st.integers(0, 15), unique=True, min_size=1, max_size=12)):
        x, y = 24 * (place % 4) + draw(st.integers(2, 6)), 24 * (place // 4) + draw(st.integers(2, 6))
        size, upright = draw(st.sampled_from([9, 15])), draw(st.booleans())
        ends = [x, y, x, y + size] if upright else [x, y, x + size, y]
        third = size // 3
        gap = [x, y + third, x, y + third + 3] if upright else [x + third, y, x + third + 3, y]
        made.append(
            {"at": ends, "colour": draw(st.sampled_from(["red", "green"])), "gap": gap if draw(st.booleans()) else None}
        )
    return {"bars": made}


@st.composite
def figures(draw: st.DrawFn) -> Parameters:
    row, column = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    path = [[row, column]]
    for dy, dx in draw(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=14)):
        row, column = path[-1][0] + dy, path[-1][1] + dx
        if (dy or dx) and 0 <= row <= 4 and 0 <= column <= 4:
            path.append([row, column])
    if len(path) == 1:
        path.append([path[0][0], (path[0][1] + 1) % 5 if path[0][1] < 4 else 3])
    return {"lines": path, "framed": draw(st.booleans())}


def _grid_of(
    field: str, grids: st.SearchStrategy[int], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Parameters]:
    return grids.flatmap(lambda grid: st.fixed_dictionaries({"grid": st.just(grid), field: cells(grid * grid), **more}))


@st.composite
def letter_grids(draw: st.DrawFn) -> Parameters:
    grid = draw(st.integers(2, 7))
    places = draw(st.lists(st.integers(0, grid * grid - 1), unique=True, min_size=1, max_size=4))
    return {"grid": grid, "at": places[0], "noise": {place: draw(st.sampled_from("#$%&*@^~")) for place in places[1:]}}


def some_of_eight(values: st.SearchStrategy[int]) -> st.SearchStrategy[list[int | None]]:
    return st.lists(st.none() | values, min_size=8, max_size=8).filter(
        lambda places: any(place is not None for place in places)
    )


@st.composite
def report_wheels(draw: st.DrawFn) -> Parameters:
    filled = draw(st.lists(st.integers(0, 7), unique=True))
    wheel = draw(st.sampled_from([{"wheel": "plain"}, {"wheel": "colours", "turned": 20 * draw(st.integers(0, 17))}]))
    probed = draw(st.sampled_from([None, *filled]))
    return {
        **wheel,
        "filled": filled,
        "probed": probed,
        "outline": draw(st.sampled_from(["square", "circle"])),
        "size": 12,
    }


PLACED: list[Parameters] = [
    {"show": {"letter": {"symbol": "A"}}, "x": 20.0, "y": 48.0, "size": 0.4},
    {"show": {"oriented_bar": {"angle": 30.0}}, "x": 70.0, "y": 48.0, "size": 0.5},
    {"show": {"matrix": {"grid": 4, "filled": [1, 5]}}, "x": 48.0, "y": 80.0, "size": 0.3},
    {"show": {"switch_boxes": {"cue": "up_down"}}},
]


#: Angles that pixels can tell apart.
degrees = st.integers(-20, 40).map(lambda number: 10 * number)


#: Stimulus name to a strategy for its parameters.
PARAMETERS: dict[str, st.SearchStrategy[Parameters]] = {
    "arrow_array": st.fixed_dictionaries({"directions": st.lists(st.sampled_from(DIRECTIONS), min_size=8, max_size=8)}),
    "bar_patches": st.fixed_dictionaries(
        {"angles": some_of_eight(degrees), "colour": st.sampled_from(["black", "red"]), "width": st.integers(2, 4)}
    ),
    "bars": bars(),
    "blank": st.fixed_dictionaries({"colour": colours}),
    "boxes": boxes(),
    "colour_field": st.fixed_dictionaries({"colour": colours}),
    "colour_patches": st.fixed_dictionaries(
        {"colours": some_of_eight(st.integers(0, 17).map(lambda number: 20 * number)), "size": st.sampled_from([6, 10])}
    ),
    "dot": st.fixed_dictionaries({"cell": st.integers(0, 8)}),
    "figure": figures(),
    "fixation": st.fixed_dictionaries(
        {"colour": colours.filter(lambda colour: colour != "gray"), "arm": st.integers(1, 40)}
    ),
    "letter": st.fixed_dictionaries(
        {"symbol": st.text(letters, min_size=1, max_size=4), "colour": st.sampled_from(["black", "red"])}
    ),
    "letter_grid": letter_grids(),
    "matrix": _grid_of("filled", st.integers(2, 10), colour=st.sampled_from(["red", "green", "#0437f2"])),
    "noise": st.fixed_dictionaries({"seed": st.integers(0, 2**32 - 1)}),
    "pixel_noise": st.fixed_dictionaries({"seed": st.integers(0, 2**32 - 1)}),
    "grating": st.fixed_dictionaries(
        {
            "angle": degrees,
            "cycles": st.integers(1, 8),
            "contrast": st.sampled_from([0.1, 0.3, 1.0]),
            "phase": st.sampled_from([0, 90, 180]),
        }
    ),
    "oriented_bar": st.fixed_dictionaries(
        {
            "angle": degrees,
            "length": st.sampled_from([20, 30, 60]),
            "width": st.integers(2, 9),
            "colour": st.sampled_from(["black", "red", "green"]),
        }
    ),
    "pattern_array": st.sampled_from([4, 6]).flatmap(
        lambda grid: st.fixed_dictionaries(
            {
                "grid": st.just(grid),
                "cells": st.sampled_from([8, 9]).flatmap(
                    lambda n: st.lists(st.none() | cells(grid * grid), min_size=n, max_size=n)
                ),
            }
        )
    ),
    "report_wheel": report_wheels(),
    "side_by_side": st.fixed_dictionaries(
        {"left": cells(36), "right": cells(36), "colour": st.sampled_from(["red", "green"])}
    ),
    "blocks": st.fixed_dictionaries(
        {"areas": st.just([[6, 10, 20, 24], [38, 6, 52, 20], [66, 74, 80, 88]])},
        optional={"lit": st.one_of(st.none(), st.integers(0, 2))},
    ),
    "squares": st.integers(2, 10).flatmap(
        lambda grid: two_sets(grid * grid).map(lambda sets: {"grid": grid, "green": sets[0], "red": sets[1]})
    ),
    "switch_boxes": st.sampled_from(
        [{}, {"cue": "up_down"}, {"cue": "left_right"}, *({"marker": place} for place in range(4))]
    ),
    "text": st.fixed_dictionaries({"text": st.text(letters, min_size=1, max_size=80), "size": st.integers(4, 20)}),
    "together": st.lists(
        st.sampled_from(PLACED), min_size=1, max_size=3, unique_by=lambda part: (part.get("x"), part.get("y"))
    ).map(lambda parts: {"parts": parts}),
    "word": st.fixed_dictionaries({"word": words}),
    "word_array": st.sampled_from([4, 9, 16]).flatmap(
        lambda n: st.fixed_dictionaries({"places": st.lists(st.none() | words, min_size=n, max_size=n)})
    ),
    "tone": st.fixed_dictionaries({"frequency_hz": st.integers(20, 20000), "ms": st.integers(1, 1000)}),
}


def stimulus(name: str, parameters: Parameters) -> Stimulus:
    return STIMULI.get(name)(**parameters)


def any_stimulus(*names: str) -> st.SearchStrategy[Stimulus]:
    """Any stimulus, or any of the named ones."""
    return st.sampled_from(names or sorted(PARAMETERS)).flatmap(
        lambda name: PARAMETERS[name].map(lambda parameters: stimulus(name, parameters))
    )
