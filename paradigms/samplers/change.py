"""Change detection: an array of bars, and the same array with or without a change in one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...stimuli import CANVAS
from .base import SAMPLERS, Sampler

Feature = Literal["colour", "orientation", "size", "gap"]
#: What can change in a bar.
FEATURES: tuple[Feature, ...] = ("colour", "orientation", "size", "gap")
_COLOURS = ("red", "green")
#: Distance between the ends of a small and of a large bar: both are inclusive, so they cover 10 and
#: 16 units.
_SMALL, _LARGE = 9, 15

# The benchmark's arrays (WorM): an array is given up after so many attempts at placing a bar.
_ATTEMPTS = 101
_CLEARANCE = 11

# Matched arrays. Every bar has a place of its own, wide enough for it whatever its attributes, and
# none reaches beyond the places.
_FIRST, _LAST = 10, 86
_APART = 20

_Bar = dict[str, Any]


@SAMPLERS.register
class ChangeArrays(Sampler):
    """An array of bars to remember and one to compare it with (WorM, change detection).

    Gives ``memory`` and ``probe`` (bars in the same order, each with ``at``, ``colour`` and ``gap``
    as the display of bars takes them), ``answer`` (same or different, a fair coin) and ``changed``
    (the feature that changed, or none). Which bar changes is uniform, and so is the feature in a
    conjunction.

    ``matched`` arrays: each bar draws its four features by fair coins and then a place, all places
    being at least 20 units apart in one direction. A place has room for a bar of any size and
    orientation, and a bar lies about the middle of its place. A change turns over one coin of one
    bar, so the second array has the same distribution with and without a change: without the first,
    it tells nothing.

    Otherwise as the benchmark draws them: a bar that comes too near to another is drawn again with
    all its features, so large bars become rare in large arrays; and a bar that changes its size
    becomes 16.5 or 10.5 units long, which no other bar is.
    """

    name: ClassVar[str] = "change_arrays"
    bars: Annotated[int, Field(ge=1, le=12)] = Field(description="number of bars")
    feature: Feature | Literal["conjunction"] = Field(description="what may change; conjunction: any of the four")
    matched: bool = Field(
        True,
        description="whether changed bars have the same distribution as unchanged ones; false: as in the benchmark",
    )

    def draw(self, random: np.random.RandomState) -> dict[str, Any]:
        answer = ("same", "different")[int(random.randint(2))]
        target = int(random.randint(self.bars))
        feature = FEATURES[int(random.randint(len(FEATURES)))] if self.feature == "conjunction" else self.feature
        memory, probe = (_matched if self.matched else _as_published)(self.bars, target, feature, random)
        different = answer == "different"
        return {
            "memory": memory,
            "probe": probe if different else memory,
            "answer": answer,
            "changed": feature if different else "none",
        }

    def check(self, value: Any) -> None:
        super().check(value)
        changed = sum(before != after for before, after in zip(value["memory"], value["probe"], strict=True))
        if changed != (value["answer"] == "different"):
            raise ValueError(f"the answer is {value['answer']}, but {changed} of {self.bars} bars changed")


def _matched(count: int, target: int, feature: Feature, random: np.random.RandomState) -> tuple[list[_Bar], list[_Bar]]:
    """Arrays in which a change leaves no trace."""
    coins = [dict(zip(FEATURES, map(int, row), strict=True)) for row in random.randint(2, size=(count, len(FEATURES)))]
    places = _places(count, random)
    memory = [_bar(place, **coin) for place, coin in zip(places, coins, strict=True)]
    probe = list(memory)
    probe[target] = _bar(places[target], **{**coins[target], feature: 1 - coins[target][feature]})
    return memory, probe


def _places(count: int, random: np.random.RandomState) -> list[tuple[int, int]]:
    """Places far enough from one another: each uniform among those that the ones before it leave.
    When these leave none, all are drawn again; twelve find room every second time, fewer nearly
    always."""
    side = _LAST - _FIRST + 1
    while True:
        free = np.ones((side, side), bool)
        places = []
        while len(places) < count:
            left = np.flatnonzero(free)
            if not len(left):
                break
            row, column = divmod(int(left[int(random.randint(len(left)))]), side)
            places.append((_FIRST + column, _FIRST + row))
            free[max(0, row - _APART + 1) : row + _APART, max(0, column - _APART + 1) : column + _APART] = False
        if len(places) == count:
            return places


def _bar(place: tuple[int, int], colour: int, orientation: int, size: int, gap: int) -> _Bar:
    """A bar and its gap about the same middle whatever their length: half a unit before the place,
    as all lengths are even."""
    length, point = (_SMALL, _LARGE)[size], (*place, *place)
    return {
        "at": _longer(point, bool(orientation), length // 2 + 1, length // 2),
        "colour": _COLOURS[colour],
        "gap": _longer(point, bool(orientation), 2, 1) if gap else None,
    }


def _as_published(
    count: int, target: int, feature: Feature, random: np.random.RandomState
) -> tuple[list[_Bar], list[_Bar]]:
    """Arrays as the benchmark draws them."""
    memory = None
    while memory is None:
        memory = _attempted(count, random)
    probe = list(memory)
    probe[target] = _CHANGES[feature](memory[target])
    return memory, probe


def _attempted(count: int, random: np.random.RandomState) -> list[_Bar] | None:
    """Bars whose starting points are far enough from those of all bars before; None when the
    attempts were too few."""
    coins = random.randint(2, size=(_ATTEMPTS, len(FEATURES)))
    sizes = np.where(coins[:, 2], _LARGE, _SMALL)
    first, last = sizes // 2 + 3, CANVAS - sizes - 3
    where = first + (random.random_sample((2, _ATTEMPTS)) * (last - first + 1)).astype(int)
    starts: list[tuple[int, int]] = []
    bars: list[_Bar] = []
    for (colour, upright, _, broken), size, x, y in zip(coins.tolist(), sizes.tolist(), *where.tolist(), strict=True):
        near = size + _CLEARANCE
        # A plain loop: twelve bars take some two hundred arrays of a hundred attempts.
        for other, another in starts:
            if -near < x - other < near and -near < y - another < near:
                break
        else:
            starts.append((x, y))
            at = _longer((x, y, x, y), upright, 0, size)
            bars.append({"at": at, "colour": _COLOURS[colour], "gap": _gap(at) if broken else None})
            if len(bars) == count:
                return bars
    return None


def _is_upright(ends: list[Any]) -> bool:
    return ends[0] == ends[2]


def _longer(ends: Sequence[Any], upright: bool, before: float, after: float) -> list[Any]:
    """Both ends, moved apart: up and down, or to the left and to the right."""
    x0, y0, x1, y1 = ends
    return [x0, y0 - before, x1, y1 + after] if upright else [x0 - before, y0, x1 + after, y1]


def _gap(at: list[Any]) -> list[float]:
    """The middle third of a small bar, the middle fifth of a large one: three units either way."""
    x0, y0, x1, y1 = at
    less = (max(x1 - x0, y1 - y0) - 3) / 2
    return _longer(at, _is_upright(at), -less, -less)


def _turned(ends: list[Any]) -> list[float]:
    """Turned by a right angle about its middle, which may lie between two units."""
    x0, y0, x1, y1 = ends
    half, upright = max(x1 - x0, y1 - y0) / 2, _is_upright(ends)
    return _longer(_longer(ends, upright, -half, -half), not upright, half, half)


def _resized(bar: _Bar) -> _Bar:
    """Both ends move by a quarter of the length that the bar should get, outward or inward: a small
    bar becomes 9 + 15 / 2 long, a large one 15 - 9 / 2."""
    x0, y0, x1, y1 = bar["at"]
    by = -_SMALL / 4 if (max(x1 - x0, y1 - y0) == _LARGE) else _LARGE / 4
    return {**bar, "at": _longer(bar["at"], _is_upright(bar["at"]), by, by)}


#: How a bar of the benchmark changes.
_CHANGES: dict[Feature, Callable[[_Bar], _Bar]] = {
    "colour": lambda bar: {**bar, "colour": _COLOURS[1 - _COLOURS.index(bar["colour"])]},
    "orientation": lambda bar: {**bar, "at": _turned(bar["at"]), "gap": bar["gap"] and _turned(bar["gap"])},
    "size": _resized,
    "gap": lambda bar: {**bar, "gap": _gap(bar["at"]) if bar["gap"] is None else None},
}
