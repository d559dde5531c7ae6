"""Colours of the window around the canvas, and of marks on it.

The window is as gray as the canvas, whose edge is then not seen: as in the benchmark. Text stands
out from its ground by a contrast of 4.5 at least, also for people with colour-blindness (which a
test holds).
"""

from __future__ import annotations

from ....stimuli.scene import BACKGROUND as BACKGROUND
from ....stimuli.scene import Colour

#: What is read; and what is read less often (legends, footers).
TEXT: Colour = (26, 29, 34)
MUTED: Colour = (72, 77, 84)
#: What can be pressed, what is under the pointer, and text on these.
ACCENT: Colour = (22, 78, 150)
ACCENT_STRONG: Colour = (13, 55, 112)
ON_ACCENT: Colour = (255, 255, 255)
#: Lines, and what cannot be pressed.
PALE: Colour = (176, 179, 184)

#: All of them, by the names that pages in a browser give them.
COLOURS: dict[str, Colour] = {
    "background": BACKGROUND,
    "text": TEXT,
    "muted": MUTED,
    "accent": ACCENT,
    "accent_strong": ACCENT_STRONG,
    "on_accent": ON_ACCENT,
    "pale": PALE,
}
