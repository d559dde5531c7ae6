"""Frames of tilings by looking up, instead of drawing.

A pixel of the small frame depends on the states of a few tiles only, so its value for every
combination of those states fits into a table. The table is filled from frames that are drawn and
resized in the ordinary way; looking up and drawing therefore agree to the last bit. Pixels are not
looked up one by one, which would take long: rows of the frame are cut into pieces of several bytes,
and what a piece is for every combination of the states that *it* depends on is worked out from the
table of pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...scene import CANVAS, Colour, Primitive, Scene
from ..pixels import NETWORK, network_frame, render
from .tiling import Family, Tiling

#: Small pixels of a frame.
PIXELS = NETWORK * NETWORK
_REACH = (
    np.abs(np.arange(CANVAS)[None] + 0.5 - (np.arange(NETWORK)[:, None] + 0.5) * CANVAS / NETWORK) < CANVAS / NETWORK
).astype(np.float32)
#: Drawing on two backgrounds tells paint in the colour of the background from no paint.
_GROUNDS: tuple[Colour, ...] = ((1, 2, 3), (250, 251, 252))


def painted(alternatives: Sequence[tuple[Primitive, ...]]) -> np.ndarray:
    """Return the pixels of the canvas that differ between the alternatives, on whatever is below:
    bool (96, 96)."""
    different = np.zeros((CANVAS, CANVAS, 3), bool)
    for ground in _GROUNDS:
        drawn = [render(Scene(primitives, ground)) for primitives in alternatives]
        for other in drawn[1:]:
            different |= other != drawn[0]
    return np.logical_or.reduce(different, axis=-1)


def reached(alternatives: Sequence[tuple[Primitive, ...]]) -> np.ndarray:
    """Return the small pixels that can differ between the alternatives: bool (1024,)."""
    return ((_REACH @ painted(alternatives).astype(np.float32) @ _REACH.T) > 0).ravel()


#: A family with pixels that depend on more combinations of states than this has no table.
_MOST_COMBINATIONS = 2048
#: Bytes of a piece, the best first; three are a pixel.
_WIDTHS = (16, 8, 3)
#: A table of more pieces is made of smaller ones, so that it stays in the cache of a core, and
#: combinations are numbered with 16 bits.
_MOST_PIECES = 2**16
#: Frames that are looked up together.
_CHUNK = 256

#: What a pixel or piece depends on: for each group whose presence matters (-1: tiles that are free
#: of each other), its tiles whose states matter.
_Cause = tuple[tuple[int, tuple[int, ...]], ...]


class Table:
    """Every piece of the frame for every combination of the states that it depends on."""

    def __init__(self, pixels: _Pixels, width: int, causes: Sequence[_Cause], cause_of: np.ndarray) -> None:
        self._codes, self._cause_of = _Codes(pixels.codes.family, causes), cause_of
        counts = self._codes.counts[cause_of]
        self._offsets = np.cumsum(counts) - counts
        values = np.empty((int(counts.sum()), width), np.uint8)
        digits = [self._codes.digits(number) for number in range(len(causes))]
        for piece, (offset, count) in enumerate(zip(self._offsets, counts, strict=True)):
            inside = _inside(piece, width)
            begin = piece * width - inside[0] * 3
            values[offset : offset + count] = pixels.values(digits[cause_of[piece]], inside)[:, begin : begin + width]
        self._values = values.view(f"V{width}").ravel()

    @classmethod
    def of(cls, family: Family) -> Table | None:
        """The table of a family, or None when its pixels depend on too much."""
        pixels = _Pixels.of(family)
        if pixels is None:
            return None
        for width in _WIDTHS:
            numbers: dict[_Cause, int] = {}
            union = [_union(pixels.causes_at(_inside(piece, width))) for piece in range(PIXELS * 3 // width)]
            cause_of = np.array([numbers.setdefault(cause, len(numbers)) for cause in union])
            if width == 3 or sum(_combinations(family, cause) for cause in union) <= _MOST_PIECES:
                return cls(pixels, width, list(numbers), cause_of)
        return None

    def look_up(self, states: np.ndarray, into: np.ndarray) -> None:
        """Frames of members with the given states, uint8 (n, tiles), written into a contiguous
        uint8 (n, 32, 32, 3)."""
        pieces = into.reshape(len(into), -1).view(self._values.dtype)
        for start in range(0, len(states), _CHUNK):
            codes = self._codes.of(states[start : start + _CHUNK]).take(self._cause_of, axis=0)
            np.take(self._values, codes.T + self._offsets, out=pieces[start : start + _CHUNK], mode="clip")


class _Pixels:
    """Every pixel of the frame for every combination of the states that it depends on; at most one
    group matters to a pixel."""

    def __init__(self, family: Family, causes: Sequence[_Cause], cause_of: np.ndarray) -> None:
        self.codes, self._causes, self._cause_of = _Codes(family, causes), causes, cause_of
        counts = self.codes.counts[cause_of]
        self._offsets = np.cumsum(counts) - counts
        self._values = np.zeros((int(counts.sum()), 3), np.uint8)
        self._fill()

    @classmethod
    def of(cls, family: Family) -> _Pixels | None:
        if not family.tiles:
            return None
        grouped = int(family.group > 0)
        changes = np.stack([reached(states[grouped:]) for states in family.tiles])
        groups = np.zeros((1, PIXELS), bool)
        if grouped:
            groups = np.logical_or.reduce(
                np.stack([reached(states) for states in family.tiles]).reshape(-1, family.group, PIXELS), axis=1
            )
        if (groups.sum(0) > 1).any():
            return None
        numbers: dict[_Cause, int] = {}
        cause_of = np.empty(PIXELS, np.intp)
        for pixel in range(PIXELS):
            group = int(groups[:, pixel].argmax()) if groups[:, pixel].any() else -1
            tiles = tuple(np.flatnonzero(changes[:, pixel]).tolist())
            cause = ((group, tiles),) if tiles or group >= 0 else ()
            if _combinations(family, cause) > _MOST_COMBINATIONS:
                return None
            cause_of[pixel] = numbers.setdefault(cause, len(numbers))
        return cls(family, list(numbers), cause_of)

    def causes_at(self, pixels: range) -> list[_Cause]:
        return [self._causes[number] for number in self._cause_of[pixels.start : pixels.stop].tolist()]

    def values(self, digits: np.ndarray, pixels: range) -> np.ndarray:
        """The bytes of neighbouring pixels for members with the given digits: uint8 (n, 3 ×
        pixels)."""
        some = slice(pixels.start, pixels.stop)
        index = self.codes.of_digits(digits, self._cause_of[some]) + self._offsets[some, None]
        return self._values[index.T].reshape(digits.shape[1], -1)

    def _fill(self) -> None:
        """Draw frames in which many causes at once go through their combinations."""
        family, first = self.codes.family, int(self.codes.family.group > 0)
        pixels = [np.flatnonzero(self._cause_of == number) for number in range(len(self._causes))]
        if first:
            self._values[self._offsets] = self._draw(np.zeros(len(family.tiles), np.uint8))
        base = np.full(len(family.tiles), first, np.uint8)
        for together in self._apart():
            digits = {number: self.codes.digits(number) for number in together}
            for code in range(first, max(numbers.shape[1] for numbers in digits.values())):
                going = [number for number in together if code < digits[number].shape[1]]
                states = base.copy()
                for number in going:
                    for _, tiles in self._causes[number]:
                        states[list(tiles)] = digits[number][list(tiles), code] + first
                frame = self._draw(states)
                for number in going:
                    self._values[self._offsets[pixels[number]] + code] = frame[pixels[number]]

    def _apart(self) -> list[list[int]]:
        """The causes in classes that share no tile, so that one frame serves all causes of a class."""
        classes: list[tuple[set[int], list[int]]] = []
        for number in np.argsort(-self.codes.counts, kind="stable").tolist():
            tiles = {tile for _, tiles in self._causes[number] for tile in tiles}
            for tiles_of_class, together in classes:
                if tiles_of_class.isdisjoint(tiles):
                    tiles_of_class.update(tiles)
                    together.append(number)
                    break
            else:
                classes.append((tiles, [number]))
        return [together for _, together in classes]

    def _draw(self, states: np.ndarray) -> np.ndarray:
        family = self.codes.family
        return network_frame(Scene(tuple(Tiling(family, states.tobytes()).primitives()), family.background)).reshape(
            -1, 3
        )


class _Codes:
    """Numbers the combinations of states that matter to each cause.

    The number is a weighted sum of *digits*: one per tile (its state; in families with groups, its
    state less one) and one per group (whether it is there).
    """

    def __init__(self, family: Family, causes: Sequence[_Cause]) -> None:
        self.family, self._causes = family, causes
        self.counts = np.array([_combinations(family, cause) for cause in causes])
        terms = [list(self._terms(cause)) for cause in causes]
        depth = max(map(len, terms))
        padded = np.array([terms_of + [(0, 0)] * (depth - len(terms_of)) for terms_of in terms], np.uint16).reshape(
            len(causes), depth, 2
        )
        self._digits, self._weights = padded[:, :, 0].T.astype(np.intp), padded[:, :, 1].T[:, :, None].copy()

    def _terms(self, cause: _Cause) -> Iterable[tuple[int, int]]:
        """Digits and their weights."""
        weight = 1
        for group, tiles in cause:
            if group >= 0:
                yield len(self.family.tiles) + group, weight
            inner = weight
            for tile in tiles:
                yield tile, inner
                inner *= _size(self.family, tile)
            weight *= _combinations(self.family, ((group, tiles),))

    def digits(self, number: int) -> np.ndarray:
        """The digits, uint16 (digits, combinations), that give each combination of one cause;
        others are 0."""
        family = self.family
        rest = np.arange(self.counts[number])
        digits = np.zeros(
            (len(family.tiles) + (len(family.tiles) // family.group if family.group else 0), len(rest)), np.uint16
        )
        for group, tiles in self._causes[number]:
            rest, digit = np.divmod(rest, _combinations(family, ((group, tiles),)))
            if group >= 0:
                digits[len(family.tiles) + group] = digit > 0
                digit = np.maximum(digit, 1) - 1
            for tile in tiles:
                digit, digits[tile] = np.divmod(digit, _size(family, tile))
        return digits

    def of(self, states: np.ndarray) -> np.ndarray:
        """The combination of each cause, (causes, n), for members with the given states, uint8 (n,
        tiles)."""
        digits = np.ascontiguousarray(states.T, np.uint16)
        if self.family.group:
            digits = np.concatenate((np.maximum(digits, 1) - 1, digits[:: self.family.group] > 0), dtype=np.uint16)
        return self.of_digits(digits)

    def of_digits(self, digits: np.ndarray, causes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The same, of some causes, for members with the given digits, (digits, n)."""
        weights = self._weights[:, causes]
        codes = np.zeros((weights.shape[1], digits.shape[1]), np.uint16)
        for digit, weight in zip(self._digits[:, causes], weights, strict=True):
            codes += digits.take(digit, axis=0) * weight
        return codes


def _size(family: Family, tile: int) -> int:
    """Return the number of states of a tile that is present."""
    return len(family.tiles[tile]) - (family.group > 0)


def _combinations(family: Family, cause: _Cause) -> int:
    return math.prod((group >= 0) + math.prod(_size(family, tile) for tile in tiles) for group, tiles in cause)


def _union(causes: Iterable[_Cause]) -> _Cause:
    groups: dict[int, set[int]] = {}
    for group, tiles in (part for cause in causes for part in cause):
        groups.setdefault(group, set()).update(tiles)
    return tuple((group, tuple(sorted(tiles))) for group, tiles in sorted(groups.items()))


def _inside(piece: int, width: int) -> range:
    """The pixels that a piece of so many bytes takes part of."""
    return range(piece * width // 3, ((piece + 1) * width - 1) // 3 + 1)
