"""The base of every stimulus, the registry of those that a YAML file can show, and the parameter
types that they share.

Cells are numbered from 0, row by row, in parameters. In words, rows, columns and numbered positions
count from 1 at the top left, as in the response kinds.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator

from ..core.errors import SpanLabError
from ..core.registry import Component, Registry, nearest
from .own_files import Files
from .render.fast.tiling import Scatter, Tiling
from .scene import BACKGROUND, COLOURS, Colour, Primitive, Scene

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


#: A colour: one of the named ones, or '#rrggbb'. A hexadecimal colour that has a name becomes that
#: name.
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
        bounds = (
            (20, "red"),
            (45, "orange"),
            (70, "yellow"),
            (165, "green"),
            (195, "cyan"),
            (257, "blue"),
            (290, "purple"),
            (340, "pink"),
            (361, "red"),
        )
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
    return "\n".join(
        "".join("#" if row * grid + column in filled else "." for column in range(grid)) for row in range(grid)
    )


class Stimulus(Component):
    """A display in the terms of the experiment.

    A stimulus says what is where, in an order that depends on positions alone: two stimuli that
    look the same *are* equal (validators sort cells), so nothing about presentation order or role
    can be read off it.
    """

    def primitives(self) -> Iterable[Primitive]:
        """Return the primitives in drawing order, in canvas units."""
        raise NotImplementedError

    def tiling(self) -> Tiling | None:
        """The stimulus as a member of a family of tilings, when it is one; lets many be drawn at
        once."""
        return None

    def scatter(self) -> Scatter | None:
        """The stimulus as shapes at places, when it is that; lets many be drawn at once."""
        return None

    def words(self) -> str:
        """Describe the display for a reader without eyes, unambiguously and completely."""
        raise NotImplementedError

    @property
    def said_in_words(self) -> bool:
        """True if its words say all that is to be seen and heard; an image or a sound of a
        laboratory's own may have none."""
        return True

    def bound(self, files: Files) -> Stimulus:
        """The stimulus within its paradigm, whose images and sounds these are: itself, where it has
        none.

        Raises
        ------
        ValueError
            when a file is not among them.
        """
        return self

    def shown_words(self) -> tuple[str, ...]:
        """The words that it shows, in the order of their places, for networks that read the vectors
        of words; none when it shows anything else."""
        return ()

    def background(self) -> Colour:
        return BACKGROUND

    def scene(self) -> Scene:
        """The stimulus as a scene.

        Raises
        ------
        SpanLabError
            when what it says of itself cannot be drawn: a fault of the stimulus, which ``spanlab
            check`` finds before a session.
        """
        try:
            return Scene(tuple(self.primitives()), self.background())
        except Exception as error:  # whatever a stimulus of somebody's own raises
            why = str(error) if isinstance(error, SpanLabError) else f"{type(error).__name__}: {error}"
            raise SpanLabError(f"the stimulus '{self.name}' cannot be drawn ({why})") from error


class Tiled(Stimulus):
    """A stimulus that is put together from tiles: it gives its tiling, and what to draw follows."""

    def tiling(self) -> Tiling:
        raise NotImplementedError

    def primitives(self) -> Iterable[Primitive]:
        return self.tiling().primitives()

    def background(self) -> Colour:
        return self.tiling().family.background


class Scattered(Stimulus):
    """A stimulus that is shapes at places: it gives its scatter, and what to draw follows."""

    def scatter(self) -> Scatter:
        raise NotImplementedError

    def primitives(self) -> Iterable[Primitive]:
        return self.scatter().primitives()

    def background(self) -> Colour:
        return self.scatter().background


STIMULI: Registry[Stimulus] = Registry("stimulus", "spanlab.stimuli")
