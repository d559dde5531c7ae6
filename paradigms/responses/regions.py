"""Clickable areas of the canvas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from ...core.registry import as_tuple
from ...stimuli import CANVAS


def _numbers(value: Any) -> Any:
    return (
        tuple(float(v) for v in value)
        if isinstance(value, list) and all(type(v) in (int, float) for v in value)
        else value
    )


def _on_the_canvas(area: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = area
    if not (0 <= x0 < x1 <= CANVAS and 0 <= y0 < y1 <= CANVAS):
        raise ValueError(
            f"an area is [x0, y0, x1, y1], from its top left to its bottom right corner, within 0 to {CANVAS}; found"
            f" {list(area)}"
        )
    return area


#: A part of the canvas as [x0, y0, x1, y1], in canvas units.
Area = Annotated[tuple[float, float, float, float], BeforeValidator(_numbers), AfterValidator(_on_the_canvas)]
#: Several such parts.
Areas = Annotated[tuple[Area, ...], BeforeValidator(as_tuple)]
WHOLE_CANVAS = (0.0, 0.0, float(CANVAS), float(CANVAS))


@dataclass(frozen=True, slots=True)
class Region:
    """A clickable area of the canvas, in canvas units, and the value that a click in it stands for."""

    value: int | str
    x0: float
    y0: float
    x1: float
    y1: float


def row_regions(
    values: Sequence[int | str | None], rows: Sequence[int], area: tuple[float, float, float, float]
) -> tuple[Region, ...]:
    """One region per value: rows of so many regions of the same size, which fill ``area``; shorter
    rows are centred. None leaves its place empty."""
    x0, y0, x1, y1 = area
    width, height = (x1 - x0) / max(rows), (y1 - y0) / len(rows)
    places = [(column + (max(rows) - many) / 2, row) for row, many in enumerate(rows) for column in range(many)]
    return tuple(
        Region(value, x0 + width * column, y0 + height * row, x0 + width * (column + 1), y0 + height * (row + 1))
        for value, (column, row) in zip(values, places, strict=False)
        if value is not None
    )
