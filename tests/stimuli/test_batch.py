"""Batches of frames are to the last bit what drawing and resizing each gives, whichever way a
stimulus goes and whatever was rendered before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import PrivateAttr
from stimuli_strategies import DIRECTIONS, any_stimulus, stimulus

from spanlab.stimuli import BACKGROUND, COLOURS, Colour, Ellipse, Line, Primitive, Rectangle, Scene, Stimulus
from spanlab.stimuli.render.fast import batch, tables
from spanlab.stimuli.render.fast.batch import Sprites, network_frames
from spanlab.stimuli.render.fast.tables import Table
from spanlab.stimuli.render.fast.tiling import Family, Scatter
from spanlab.stimuli.render.pixels import network_frame

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
    """Tables and small pictures are made for the first stimulus that could use them."""
    monkeypatch.setattr(batch, "_WORTH", 1)


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
    worth to make tables."""
    stimuli, frames = pool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_WORTH", data.draw(st.sampled_from([1, 20, 10**9])))
        for module in (batch, tables):
            patch.setattr(module, "_CHUNK", data.draw(st.sampled_from([1, 3, 256])))
        for _ in range(data.draw(st.integers(1, 3))):
            chosen = data.draw(st.lists(st.integers(0, len(stimuli) - 1), max_size=60))
            found = network_frames([stimuli[number] for number in chosen])
            assert found.dtype == np.uint8
            assert found.shape == (len(chosen), 32, 32, 3)
            np.testing.assert_array_equal(found, frames[chosen])


@pytest.mark.slow
def test_a_large_batch_of_everything(eager: None) -> None:
    stimuli, frames = pool()
    order = Random(1).randint(len(stimuli), size=3000)
    np.testing.assert_array_equal(network_frames([stimuli[number] for number in order]), frames[order])


@RELAXED
@given(stimuli=st.lists(any_stimulus(), max_size=6))
def test_a_batch_of_anything_equals_single_frames(stimuli: list[Stimulus]) -> None:
    frames = network_frames(stimuli)
    for frame, one in zip(frames, stimuli, strict=True):
        np.testing.assert_array_equal(frame, network_frame(one.scene()))


def test_no_stimuli_have_no_frames() -> None:
    assert network_frames([]).shape == (0, 32, 32, 3)


# --- tilings of any kind --------------------------------------------------------------------------

colours = st.sampled_from([COLOURS["red"], COLOURS["black"], BACKGROUND, (9, 200, 77)])


def test_what_depends_on_too_much_has_no_table_and_is_drawn() -> None:
    square = Rectangle(40, 40, 44, 44, COLOURS["red"])
    assert Table.of(Family(tuple(((), (square,)) for _ in range(12)))) is None
    assert Table.of(Family(())) is None
    apart = tuple(((), (Rectangle(x, x, x + 4, x + 4, COLOURS["red"]),)) for x in (10, 14))
    assert Table.of(Family(apart, group=1)) is None


# --- scattered shapes of any kind -----------------------------------------------------------------


def paint(shape: tuple[str, int, int, Colour], x: float, y: float) -> Iterator[Primitive]:
    kind, width, height, colour = shape
    if kind == "box":
        yield Rectangle(x, y, x + width, y + height, colour)
    elif kind == "line":
        yield Line(x, y, x + width, y + height, colour, 3)
        yield Line(x, y, x, y + height, COLOURS["black"])
    elif kind == "disc":
        yield Ellipse(x - width, y - height, x + width, y + height, colour)


shape_parameters = st.tuples(
    st.sampled_from(["box", "line", "disc", "nothing"]), st.integers(1, 30), st.integers(1, 30), colours
)


@st.composite
def scatters(draw: st.DrawFn) -> Scatter:
    chosen = draw(st.lists(st.tuples(shape_parameters, st.integers(0, 95), st.integers(0, 95)), max_size=4))
    return Scatter(
        paint, [shape for shape, _, _ in chosen], [part for _, x, y in chosen for part in (x, y)], BACKGROUND
    )


def pasted(known: Sprites, some: list[Scatter], background: Colour) -> int:
    """Paste, and compare with drawing what need not be drawn; returns how many must be drawn."""
    found = np.empty((len(some), 32, 32, 3), np.uint8)
    close = known.paste(some, found)
    for number, (frame, scatter) in enumerate(zip(found, some, strict=True)):
        if number not in close:
            np.testing.assert_array_equal(frame, network_frame(Scene(tuple(scatter.primitives()), background)))
    return len(close)


@RELAXED
@given(batches=st.lists(st.lists(scatters(), min_size=1, max_size=6), min_size=1, max_size=4), background=colours)
@pytest.mark.slow
def test_small_pictures_of_any_shapes_equal_drawing(batches: list[list[Scatter]], background: Colour) -> None:
    known = Sprites(paint, background)
    for some in batches:
        pasted(known, some, background)


@pytest.mark.slow
def test_shapes_at_every_place_are_pasted() -> None:
    """Next to the edges and away from them; and one shape alone is never drawn."""
    shape = ("line", 6, 0, COLOURS["red"])
    row = [Scatter(paint, [shape], [x, y]) for x in range(96) for y in (0, 1, 2, 3, 40, 41, 42, 92, 93, 94, 95)]
    column = [Scatter(paint, [shape], [x, y]) for y in range(96) for x in (0, 2, 5, 50, 89, 90, 95)]
    assert pasted(Sprites(paint, BACKGROUND), row + column, BACKGROUND) == 0


def test_shapes_that_come_too_close_are_drawn() -> None:
    shape = ("box", 5, 5, COLOURS["red"])
    some = [Scatter(paint, [shape, shape], [20, 20, 20 + distance, 20]) for distance in range(1, 20)]
    assert 5 <= pasted(Sprites(paint, BACKGROUND), some, BACKGROUND) <= 11


def test_corners_off_the_canvas_are_refused() -> None:
    known = Sprites(paint, BACKGROUND)
    for corner in ([-1, 5], [5, 96]):
        with pytest.raises(ValueError, match="on the canvas, from 0 to 95"):
            known.paste([Scatter(paint, [("box", 2, 2, COLOURS["red"])], corner)], np.empty((1, 32, 32, 3), np.uint8))


# --- what is kept stays small ---------------------------------------------------------------------


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
