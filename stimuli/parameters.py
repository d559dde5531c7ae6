"""Parameter types that stimuli share, with messages that help, and the wording of positions.

Cells are numbered from 0, row by row, in parameters; in words, rows, columns and numbered positions count from 1 at the top left, as in the response kinds.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator

from ..core.registry import nearest
from .scene import COLOURS, Colour

_HEX = re.compile(r"#[0-9a-f]{6}")


def _colour_name(value: str) -> str:
    name = value.strip().lower()
    name = {"grey": "gray"}.get(name, name)
    if name in COLOURS:
        return name
    if _HEX.fullmatch(name):
        return next((standard for standard, rgb in COLOURS.items() if rgb == _from_hex(name)), name)
    raise ValueError(f"unknown colour '{value}'{nearest(name, COLOURS)} (one of {', '.join(COLOURS)}, or '#rrggbb')")


def _from_hex(name: str) -> Colour:
    return int(name[1:3], 16), int(name[3:5], 16), int(name[5:7], 16)


#: A colour: one of the named ones, or '#rrggbb'. A hexadecimal colour that has a name becomes that name.
ColourName = Annotated[str, AfterValidator(_colour_name)]


def rgb(name: str) -> Colour:
    """The colour of a valid name."""
    return COLOURS[name] if name in COLOURS else _from_hex(name)


def colour_words(name: str) -> str:
    """A colour for a reader: its name, or the nearest everyday name with the exact value."""
    if name in COLOURS:
        return {"ink": "dark gray", "gray": "light gray"}.get(name, name)
    red, green, blue = _from_hex(name)
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if value < 0.15:
        everyday = "black"
    elif saturation < 0.15:
        everyday = "white" if value > 0.9 else "gray"
    else:
        bounds = ((20, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (195, "cyan"), (257, "blue"), (290, "purple"), (340, "pink"), (361, "red"))
        everyday = next(word for bound, word in bounds if hue * 360 < bound)
    return f"{everyday} ({name})"


def check_cells(cells: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """Sorted cells, each within 0 .. count - 1 and given once.

    Raises
    ------
    ValueError
        which names the first cell that is wrong
    """
    ordered = tuple(sorted(cells))
    if len(set(ordered)) < len(ordered) or (ordered and not 0 <= ordered[0] <= ordered[-1] < count):
        raise ValueError(_first_wrong(cells, count, what))
    return ordered


def _first_wrong(cells: Sequence[int], count: int, what: str) -> str:
    for n, cell in enumerate(cells):
        if not 0 <= cell < count:
            return f"cell {cell} is outside {what}: cells are 0 to {count - 1}, row by row"
        if cell in cells[:n]:
            return f"cell {cell} is given twice"
    raise AssertionError("all cells are right")


def row_column(cell: int, columns: int) -> str:
    """``row,column`` of a cell, from 1,1."""
    return f"{cell // columns + 1},{cell % columns + 1}"


def cell_list(cells: Sequence[int], columns: int) -> str:
    """``1,2; 3,4`` or ``none``."""
    return "; ".join(row_column(cell, columns) for cell in cells) or "none"


def rows_of(cells: Iterable[int], grid: int) -> str:
    """A grid as rows of ``#`` (filled) and ``.`` (not)."""
    filled = set(cells)
    return "\n".join("".join("#" if row * grid + column in filled else "." for column in range(grid)) for row in range(grid))
