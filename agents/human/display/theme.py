"""Themes for everything around the canvas: background, text and accents. The canvas itself, and
with it all that machines see, is the same in every theme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....stimuli.scene import BACKGROUND, Colour

ThemeName = Literal["standard", "dark", "light"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours around the canvas. Text stands out from its ground by a contrast of 4.5 at least,
    also for people with colour-blindness (which a test holds).

    Parameters
    ----------
    background : of the window
    text, muted : what is read; and what is read less often (legends, footers)
    accent, accent_strong : what can be pressed, and what is under the pointer
    on_accent : text on these
    pale : lines, and what cannot be pressed
    """

    name: ThemeName
    background: Colour
    text: Colour
    muted: Colour
    accent: Colour
    accent_strong: Colour
    on_accent: Colour
    pale: Colour


#: The window is as gray as the canvas, whose edge is then not seen: as in the benchmark.
STANDARD = Theme(
    "standard", BACKGROUND, (26, 29, 34), (72, 77, 84), (22, 78, 150), (13, 55, 112), (255, 255, 255), (176, 179, 184)
)
DARK = Theme(
    "dark", (34, 37, 42), (236, 238, 241), (178, 184, 191), (122, 180, 245), (176, 212, 252), (16, 24, 34), (82, 88, 96)
)
LIGHT = Theme(
    "light", (250, 250, 250), (26, 29, 34), (84, 89, 97), (22, 82, 156), (13, 55, 112), (255, 255, 255), (196, 199, 203)
)

THEMES: dict[str, Theme] = {theme.name: theme for theme in (STANDARD, DARK, LIGHT)}
