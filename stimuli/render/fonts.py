"""The typeface of everything drawn: Open Sans (Apache License 2.0, see ``fonts/LICENSE.txt``), cut
down to Latin, Greek and Cyrillic.

A typeface of our own makes text look the same on every machine, and has the letters that Pillow's
built-in one lacks (umlauts, accents, ×). A laboratory may add a font of its own (:func:`use_font`):
whatever the typeface can draw looks as before, and lines with other letters are drawn with that
font.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from PIL import ImageFont

from ...core.atomic_files import ordinary
from ...core.errors import SpanLabError

Weight = Literal["regular", "semibold"]

_FILES: dict[Weight, str] = {"regular": "OpenSans-Regular.ttf", "semibold": "OpenSans-SemiBold.ttf"}
#: Height of capital letters as a part of the font's size.
CAP_HEIGHT = 0.714


@lru_cache(maxsize=256)
def font(size: float, weight: Weight = "regular") -> ImageFont.FreeTypeFont:
    """The typeface at ``size`` pixels."""
    return ImageFont.truetype(
        str(Path(__file__).parent / "fonts" / _FILES[weight]), size, layout_engine=ImageFont.Layout.BASIC
    )


#: the font of one's own, when there is one
_own: list[Path] = []
#: Scripts whose letters join, stack or change places, or that have no spaces to break lines at
#: (South and Southeast Asia, Tibetan, Mongolian).
_JOINED = re.compile(
    "[\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u1aaf\u1b00-\u1c4f\ua800-\ua8ff\ua930-\uaaff\U00011000-\U000115ff]"
)
#: Signs of Chinese and Japanese, between which a line may be broken,
_UNSPACED = r"\u2e80-\u30ff\u31c0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
#: those that no line begins with, and those that no line ends with.
_NOT_FIRST, _NOT_LAST = (
    "、。，．・：；？！）］｝〕〉》」』】’”ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…",
    "（［｛〔〈《「『【‘“",
)
_PIECE = re.compile(f"[{_NOT_LAST}]*(?:[{_UNSPACED}]|[^{_UNSPACED}]+)[{_NOT_FIRST}]*")
_SIGN = re.compile(f"[{_UNSPACED}]")


def own_font() -> Path | None:
    """The file of the font of one's own, where there is one."""
    return next(iter(_own), None)


def use_font(path: Path | None) -> None:
    """Draw lines with letters that the typeface lacks with a font of one's own from now on, in this
    process; None: no longer.

    Raises
    ------
    ValueError
        when it cannot be read.
    """
    if path is not None:
        try:
            ImageFont.truetype(str(ordinary(path)), 20)
        except (OSError, SpanLabError) as error:
            raise ValueError(
                f"{path} cannot be read as a font ({error}); expected a TrueType or OpenType file"
            ) from None
    _own[:] = [] if path is None else [path]
    for cached in (undrawable, has, width, _own_face):
        cached.cache_clear()


@lru_cache(maxsize=256)
def _own_face(path: Path, size: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def face(text: str, size: float, weight: Weight = "regular") -> ImageFont.FreeTypeFont:
    """Return the font of a line of text: the typeface, or the user's font if the line has letters
    that the typeface lacks."""
    if _own and not all(_in_typeface(character) for character in text):
        return _own_face(_own[0], size)
    return font(size, weight)


@lru_cache(maxsize=16384)
def width(text: str, size: float, weight: Weight = "regular") -> float:
    """Width of one line of text, in the unit of ``size``; sizes of 16 and more are taken for
    pixels, to which letters are then aligned."""
    measure = size if size >= 16 else 200.0
    return face(text, measure, weight).getlength(text) * size / measure


_SPACES = re.compile(r"[^\S\u00a0]+")


def wrap(text: str, size: float, room: float, weight: Weight = "regular") -> list[str]:
    """Break text into lines no wider than ``room`` (in the unit of ``size``); a word that is too
    wide keeps a line of its own, and no-break spaces stay."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for spaced in _SPACES.split(paragraph.strip()):
            for number, word in enumerate(_pieces(spaced)):
                longer = f"{line}{'' if number or not line else ' '}{word}"
                if line and width(longer, size, weight) > room:
                    lines.append(line)
                    line = word
                else:
                    line = longer
        lines.append(line)
    return lines


def _pieces(word: str) -> list[str]:
    """Return the units between which a line may be broken: words, or the signs of a script without
    spaces."""
    return _PIECE.findall(word) if _SIGN.search(word) else [word]


def rejoined(lines: list[str]) -> str:
    """Lines of a paragraph as one text again: with spaces, but between signs of a script that has
    none."""
    text = next(iter(lines), "")
    for before, line in pairwise(lines):
        text += line if before and line and _SIGN.match(before[-1]) and _SIGN.match(line[0]) else f" {line}"
    return text


@lru_cache(maxsize=4096)
def undrawable(text: str) -> str:
    """The first letter of a text that cannot be drawn; empty when all can."""
    return next(
        (character for character in text if character != "\n" and not (character.isprintable() and has(character))), ""
    )


def unreadable(text: str) -> str:
    """Why a text cannot be drawn, by its first letter that cannot; empty when it can."""
    strange = undrawable(text)
    if not strange:
        return ""
    if _backwards(strange):
        return (
            f"{_named(strange)} is of a script that runs from right to left, which cannot be shown: lines are set from"
            " left to right"
        )
    if _JOINED.match(strange):
        return (
            f"{_named(strange)} is of a script whose letters join or stack, or whose words have no spaces, which cannot"
            " be shown: letters are set one by one"
        )
    also = (
        f", and {_own[0].name} does not have it either"
        if _own
        else "; others need a font of one's own (the key font of a study)"
    )
    return f"the typeface has no {_named(strange)}; it has Latin, Greek and Cyrillic letters{also}"


def _named(character: str) -> str:
    return f"'{character}' (U+{ord(character):04X})"


def _backwards(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL")


@lru_cache(maxsize=4096)
def has(character: str) -> bool:
    """Return whether a character can be drawn: by the typeface, or by the font of one's own, unless
    its script needs more than letters one after another."""
    return _in_typeface(character) or (
        bool(_own)
        and not _backwards(character)
        and not _JOINED.match(character)
        and _in_face(_own_face(_own[0], 32), character)
    )


@lru_cache(maxsize=4096)
def _in_typeface(character: str) -> bool:
    return character.isspace() or _in_face(font(32), character)


def _in_face(face: ImageFont.FreeTypeFont, character: str) -> bool:
    return bytes(face.getmask(character)) != bytes(face.getmask("\uffff"))
