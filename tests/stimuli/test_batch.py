"""Batches of frames are to the last bit what drawing and resizing each gives, whichever way a
stimulus goes and whatever was rendered before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import PrivateAttr
from stimuli_strategies import DIRECTIONS, any_stimulus, stimulus

from spanlab.stimuli import BACKGROUND, COLOURS, Ellipse, Line, Primitive, Rectangle, Scene, Stimulus
from spanlab.stimuli.render import frames
from spanlab.stimuli.render.frames import network_frames
from spanlab.stimuli.render.pixels import network_frame
from spanlab.stimuli.tiling import Family, Tiling

Random = np.random.RandomState
RELAXED = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def singly(stimuli: Iterable[Stimulus]) -> np.ndarray:
    return np.stack([network_frame(one.scene()) for one in stimuli])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are drawn for the first stimulus that could use them."""
    monkeypatch.setattr(frames, "_WORTH", 1)


def cells(random: Random, of: int, most: int | None = None) -> list[int]:
    return [int(cell) for cell in random.permutation(of)[: random.randint((most or of) + 1)]]


def places(random: Random, count: int, of: int) -> list[list[int] | None]:
    return [cells(random, of) if random.rand() < 0.7 else None for _ in range(count)]


def path(random: Random) -> list[list[int]]:
    points = [[2, 2]]
    for step in random.randint(-1, 2, size=(14, 2)):
        point = [int(np.clip(part + change, 0, 4)) for part, change in zip(points[-1], step, strict=True)]
        if point != points[-1]:
            points.append(point)
    return points if len(points) > 1 else [[2, 2], [2, 3]]


def loose_bars(random: Random) -> list[dict[str, Any]]:
    """Bars anywhere: at the edges, close to each other, on top of each other."""
    made = {}
    for _ in range(random.randint(1, 9)):
        length, upright = int(random.choice([9, 10, 15, 16])), bool(random.randint(2))
        x, y = (int(random.randint(96 - length * along)) for along in (not upright, upright))
        ends = (x, y, x, y + length) if upright else (x, y, x + length, y)
        gap = [x, y + 4, x, y + 7] if upright else [x + 4, y, x + 7, y]
        made[ends] = {
            "at": list(ends),
            "colour": ["red", "green", "gray"][random.randint(3)],
            "gap": gap if random.randint(2) else None,
        }
    return list(made.values())


#: Stimuli of every kind, of a few families each, as paradigms show them.
KINDS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "matrix": lambda r: {"filled": cells(r, 36)},
    "matrix 10": lambda r: {"grid": 10, "filled": cells(r, 100), "margin": 3, "radius": 2, "colour": "red"},
    "squares": lambda r: {"green": cells(r, 50), "red": [50 + cell for cell in cells(r, 50)]},
    "pattern_array": lambda r: {"cells": places(r, 9, 36)},
    "pattern_array 4": lambda r: {"grid": 4, "cells": places(r, 8, 16), "colour": "red"},
    "side_by_side": lambda r: {"left": cells(r, 36), "right": cells(r, 36)},
    "boxes markers": lambda r: {"count": 8, "markers": [int(cell) for cell in r.randint(9, size=8)]},
    "boxes arrow": lambda r: {"count": 3, "arrow": {"box": int(r.randint(3)), "direction": DIRECTIONS[r.randint(8)]}},
    "boxes probed": lambda r: {"count": 8, "probed": int(r.randint(8))},
    "figure": lambda r: {"lines": path(r)},
    "figure framed": lambda r: {"lines": path(r), "framed": True},
    "arrow_array": lambda r: {"directions": [DIRECTIONS[number] for number in r.randint(8, size=8)]},
    "bars": lambda r: {"bars": loose_bars(r)},
    "switch_boxes": lambda r: {"marker": int(r.randint(4))},
    "dot": lambda r: {"cell": int(r.randint(9))},
    "colour_field": lambda r: {"colour": ["#0437f2", "#880808"][r.randint(2)]},
    "blank": lambda r: {},
}


@lru_cache(maxsize=1)
def pool() -> tuple[list[Stimulus], np.ndarray]:
    """Twelve stimuli of each kind, and their frames, drawn singly."""
    random = Random(7)
    made = [stimulus(name.split()[0], make(random)) for _ in range(12) for name, make in KINDS.items()]
    return made, singly(made)


@pytest.mark.slow
@RELAXED
@given(st.data())
def test_frames_do_not_depend_on_the_batch_or_on_what_was_rendered_before(data: st.DataObject) -> None:
    """Any stimuli in any order, again and again, in batches of any size, before and after it was
    worth to draw pieces."""
    stimuli, expected = pool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "_WORTH", data.draw(st.sampled_from([1, 20, 10**9])))
        patch.setattr(frames, "_CHUNK", data.draw(st.sampled_from([1, 3, 256])))
        for _ in range(data.draw(st.integers(1, 3))):
            chosen = data.draw(st.lists(st.integers(0, len(stimuli) - 1), max_size=60))
            found = network_frames([stimuli[number] for number in chosen])
            assert found.dtype == np.uint8
            assert found.shape == (len(chosen), 32, 32, 3)
            np.testing.assert_array_equal(found, expected[chosen])


def test_a_large_batch_of_everything(eager: None) -> None:
    stimuli, expected = pool()
    order = Random(1).randint(len(stimuli), size=3000)
    np.testing.assert_array_equal(network_frames([stimuli[number] for number in order]), expected[order])


@RELAXED
@given(stimuli=st.lists(any_stimulus(), max_size=6))
def test_a_batch_of_anything_equals_single_frames(stimuli: list[Stimulus]) -> None:
    for frame, one in zip(network_frames(stimuli), stimuli, strict=True):
        np.testing.assert_array_equal(frame, network_frame(one.scene()))


def test_no_stimuli_have_no_frames() -> None:
    assert network_frames([]).shape == (0, 32, 32, 3)


@pytest.mark.slow
def test_several_threads_may_render(eager: None) -> None:
    stimuli, expected = pool()
    with ThreadPoolExecutor(4) as threads:
        for seed, found in enumerate(
            threads.map(
                lambda seed: network_frames([stimuli[n] for n in Random(seed).permutation(len(stimuli))]), range(8)
            )
        ):
            np.testing.assert_array_equal(found, expected[Random(seed).permutation(len(stimuli))])


# --- tilings of any kind --------------------------------------------------------------------------

colours = st.sampled_from([COLOURS["red"], COLOURS["black"], BACKGROUND, (9, 200, 77)])


@st.composite
def shapes(draw: st.DrawFn, low: int = -3, high: int = 98, most: int = 40) -> Primitive:
    x, y = draw(st.integers(low, high)), draw(st.integers(low, high))
    width, height = draw(st.integers(0, most)), draw(st.integers(0, most))
    match draw(st.integers(0, 2)):
        case 0:
            return Rectangle(
                x, y, x + width, y + height, draw(colours), draw(st.none() | colours), draw(st.integers(1, 3))
            )
        case 1:
            return Line(x, y, x + width, y + height, draw(colours), draw(st.integers(1, 4)))
    return Ellipse(x, y, x + width + 1, y + height + 1, draw(colours))


def some_tiles(
    count: st.SearchStrategy[int], shape: st.SearchStrategy[Primitive]
) -> st.SearchStrategy[tuple[tuple[tuple[Primitive, ...], ...], ...]]:
    state = st.lists(shape, max_size=2).map(tuple)
    tile = st.lists(state, min_size=2, max_size=3).map(tuple)
    return count.flatmap(lambda number: st.lists(tile, min_size=number, max_size=number).map(tuple))


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Tiles that lie anywhere, also on each other."""
    below = tuple(draw(st.lists(shapes(), max_size=2)))
    return Family(draw(some_tiles(st.integers(1, 6), shapes())), below, background=draw(colours))


def members(family: Family, random: Random) -> np.ndarray:
    states = np.stack([random.randint(len(tile), size=30) for tile in family.tiles], axis=1).astype(np.uint8)
    return states


@RELAXED
@given(family=families(), seed=st.integers(0, 99))
@pytest.mark.slow
def test_members_of_any_family_equal_drawing(family: Family, seed: int) -> None:
    states = members(family, Random(seed))
    for frame, own in zip(frames._put_together(family, states), states, strict=True):
        np.testing.assert_array_equal(
            frame, network_frame(Scene(tuple(Tiling(family, own.tobytes()).primitives()), family.background))
        )


def test_what_is_painted_last_and_in_the_colour_of_the_background_is_seen() -> None:
    family = Family(
        (
            ((), (Rectangle(40, 40, 60, 60, COLOURS["red"]),)),
            ((), (Rectangle(50, 50, 70, 70, BACKGROUND),)),
            ((), (Ellipse(45, 45, 55, 55, frames._GROUNDS[0]),)),
        )
    )
    states = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], np.uint8)
    for frame, own in zip(frames._put_together(family, states), states, strict=True):
        np.testing.assert_array_equal(
            frame, network_frame(Scene(tuple(Tiling(family, own.tobytes()).primitives()), family.background))
        )


# --- stimuli of others ----------------------------------------------------------------------------


class Stripe(Stimulus):
    """A stimulus from elsewhere that says nothing of how it is put together."""

    name: ClassVar[str] = "stripe"

    x: int
    y: int = 5

    def primitives(self) -> Iterable[Primitive]:
        return (Rectangle(self.x, self.y, self.x + 10, self.y + 30, COLOURS["red"]),)


class Moody(Stripe):
    """One whose look depends on more than its parameters."""

    name: ClassVar[str] = "moody"
    _shift: int = PrivateAttr(0)

    def primitives(self) -> Iterable[Primitive]:
        return (Rectangle(self.x + self._shift, 5, self.x + 10, 30, COLOURS["red"]),)


def test_stimuli_of_other_packages_need_to_say_nothing_of_tiles() -> None:
    stimuli: list[Stimulus] = [Stripe(x=5, y=60), Stripe(x=60, y=5), Stripe(x=5, y=60), Stripe(x=5)]
    for shift in (3, 8):
        moody = Moody(x=5)
        object.__setattr__(moody, "__pydantic_private__", {"_shift": shift})
        stimuli.append(moody)
    np.testing.assert_array_equal(network_frames(stimuli), singly(stimuli))
