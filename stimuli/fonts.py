"""The typeface of everything drawn: Open Sans (Apache License 2.0, see ``fonts/LICENSE.txt``), cut down to Latin, Greek and Cyrillic.

A typeface of our own makes text look the same on every machine, and has the letters that Pillow's built-in one lacks (umlauts, accents, ×).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

from PIL import ImageFont

Weight = Literal["regular", "semibold"]

_FILES: dict[Weight, str] = {"regular": "OpenSans-Regular.ttf", "semibold": "OpenSans-SemiBold.ttf"}
#: Height of capital letters as a part of the font's size.
CAP_HEIGHT = 0.714


@lru_cache(maxsize=256)
def font(size: float, weight: Weight = "regular") -> ImageFont.FreeTypeFont:
    """The typeface at ``size`` pixels."""
    return ImageFont.truetype(str(Path(__file__).parent / "fonts" / _FILES[weight]), size, layout_engine=ImageFont.Layout.BASIC)


def width(text: str, size: float, weight: Weight = "regular") -> float:
    """Width of one line of text, in the unit of ``size``; sizes of 16 and more are taken for pixels, to which letters are then aligned."""
    measure = size if size >= 16 else 200.0
    return font(measure, weight).getlength(text) * size / measure


def wrap(text: str, size: float, room: float, weight: Weight = "regular") -> list[str]:
    """Break text into lines no wider than ``room`` (in the unit of ``size``); a word that is too wide alone keeps a line of its own."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if line and width(longer, size, weight) > room:
                lines.append(line)
                line = word
            else:
                line = longer
        lines.append(line)
    return lines


@lru_cache(maxsize=4096)
def undrawable(text: str) -> str:
    """The first letter of a text that the typeface does not have; empty when it has all."""
    return next((character for character in text if character != "\n" and not (character.isprintable() and has(character))), "")


@lru_cache(maxsize=4096)
def has(character: str) -> bool:
    """Whether the typeface can draw a character."""
    if character.isspace():
        return True
    face = font(32)
    return bytes(face.getmask(character)) != bytes(face.getmask("\uffff"))
