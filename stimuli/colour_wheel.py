"""The wheel of colours for continuous reports: equal steps on a circle of the CIELAB space, all of
which an sRGB screen can show.

Nothing here knows the screen: on one that was not calibrated, steps are as equal as its sRGB is
true.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, radians, sin

from .scene import Colour

#: Lightness, and the middle of the circle in a* and b* (illuminant D65); near the one with the
#: largest circle within sRGB.
LIGHTNESS, MIDDLE, RADIUS = 60.0, (14.0, 12.0), 50.0
#: Colours are numbered in degrees round the circle.
STEPS = 360
#: Reference white of D65, and from XYZ to linear sRGB (IEC 61966-2-1).
_WHITE = (0.95047, 1.0, 1.08883)
_LINEAR = ((3.2404542, -1.5371385, -0.4985314), (-0.9692660, 1.8760108, 0.0415560), (0.0556434, -0.2040259, 1.0572252))
_BEND = 6 / 29


def lab_of(number: float) -> tuple[float, float, float]:
    """A colour of the wheel in CIELAB."""
    angle = radians(number)
    return LIGHTNESS, MIDDLE[0] + RADIUS * cos(angle), MIDDLE[1] + RADIUS * sin(angle)


def linear_rgb(lightness: float, a: float, b: float) -> tuple[float, ...]:
    """A CIELAB colour in linear sRGB; outside 0 to 1 where no sRGB screen can show it."""
    y = (lightness + 16) / 116
    x, z = y + a / 500, y - b / 200
    xyz = [
        white * (t**3 if t > _BEND else 3 * _BEND**2 * (t - 4 / 29)) for white, t in zip(_WHITE, (x, y, z), strict=True)
    ]
    return tuple(sum(weight * value for weight, value in zip(row, xyz, strict=True)) for row in _LINEAR)


@lru_cache(maxsize=2 * STEPS)
def wheel_colour(number: int) -> Colour:
    """A colour of the wheel in sRGB, by its number; 0 follows on 359."""
    red, green, blue = (
        round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
        for value in linear_rgb(*lab_of(number % STEPS))
    )
    return red, green, blue
