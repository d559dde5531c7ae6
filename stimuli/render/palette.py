"""Other colours for people who cannot tell red from green. For windows alone: what machines see is
as published, whatever people see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Literal, cast

from ...core.errors import SpanLabError
from ..scene import COLOURS, Colour, Primitive, Scene

PaletteName = Literal["published", "safe"]

#: What is drawn instead of which colour. ``safe``: a red that is nearly orange and a green that is
#: nearly blue; both keep their names, so instructions stay true.
PALETTES: dict[str, Mapping[Colour, Colour]] = {
    "published": {},
    "safe": {COLOURS["red"]: (213, 62, 0), COLOURS["green"]: (0, 168, 140)},
}


def checked_palette(name: str) -> PaletteName:
    """The name of a palette.

    Raises
    ------
    SpanLabError
        when there is none of this name.
    """
    if name not in PALETTES:
        raise SpanLabError(f"palettes are {', '.join(PALETTES)}; found '{name}'")
    return cast(PaletteName, name)


def recoloured(scene: Scene, palette: Mapping[Colour, Colour]) -> Scene:
    """A scene in other colours; its background and raw pixels stay."""
    return (
        replace(scene, primitives=tuple(_primitive(primitive, palette) for primitive in scene.primitives))
        if palette
        else scene
    )


def _primitive(primitive: Primitive, palette: Mapping[Colour, Colour]) -> Primitive:
    changed = {
        field.name: palette[value]
        for field in fields(primitive)
        if field.name in ("fill", "outline", "colour")
        and isinstance(value := getattr(primitive, field.name), tuple)
        and value in palette
    }
    return replace(primitive, **changed) if changed else primitive
