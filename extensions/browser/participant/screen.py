"""The screen of a page, as the page tells it."""

# pyright: strict
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from spanlab.sessions.record import browser_of
from spanlab.sessions.studies.schema import Requirements

from .calibration import Calibration

#: The canvas has at least so many pixels, and at most so many: larger pictures would take too long
#: to draw and to send.
LEAST_PX, MOST_PX = 96, 2400
_Px = Annotated[int, Field(ge=1, le=20_000)]


@dataclass(frozen=True, slots=True)
class PageScreen:
    """The screen of a page.

    Parameters
    ----------
    canvas_px : width and height of the canvas in pixels of the screen
    column_px : width of a column of text in pixels of the screen
    high_px : height of the page in pixels of the screen
    letter_px : height of letters in pixels of the screen
    small : whether it is the screen of a phone: touched, and narrower than 600 CSS pixels on its
        shorter side
    facts : for the record
    """

    canvas_px: int
    column_px: int
    high_px: int
    letter_px: int
    small: bool
    facts: Mapping[str, Any]

    def calibrated(self, calibration: Calibration) -> PageScreen:
        """The screen, with what was measured of it, and a canvas of the wished size."""
        canvas_px = calibration.canvas_px(self.canvas_px) // 2 * 2
        return replace(self, canvas_px=canvas_px, facts={**self.facts, **calibration.facts(canvas_px)})

    @property
    def period_ms(self) -> float:
        """From one refresh to the next, as the page has measured it."""
        return 1000.0 / float(self.facts["hz"])


class ScreenReport(BaseModel):
    """Report of a page on its screen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    canvas_px: Annotated[int, Field(ge=LEAST_PX, le=20_000)]
    column_px: _Px
    high_px: _Px
    letter_px: Annotated[int, Field(ge=8, le=200)]
    window_px: tuple[_Px, _Px]
    screen_px: tuple[_Px, _Px]
    pixel_ratio: Annotated[float, Field(gt=0, le=20, allow_inf_nan=False)]
    hz: Annotated[float, Field(ge=5, le=1000, allow_inf_nan=False)]
    measured: bool
    touch: bool
    fullscreen: bool
    isolated: bool
    browser: Annotated[str, Field(max_length=300)]

    def screen(self) -> PageScreen:
        """The screen as the agent uses it."""
        facts: dict[str, Any] = {
            "window": "browser",
            "browser": self.browser,
            "screen_px": list(self.screen_px),
            "window_px": list(self.window_px),
            "pixel_ratio": self.pixel_ratio,
            "fullscreen": self.fullscreen,
            "hz": round(self.hz, 3),
            "measured_hz": round(self.hz, 3) if self.measured else None,
            "frames_by": "screen",
            "touch": self.touch,
            "clock_isolated": self.isolated,
        }
        small = self.touch and min(self.screen_px) / self.pixel_ratio < 600
        return PageScreen(
            min(self.canvas_px, MOST_PX) // 2 * 2, self.column_px, self.high_px, self.letter_px, small, facts
        )


#: a measured refresh rate may be lower than that of the screen by this share
_RATE_SHARE = 0.02


def lacking(required: Requirements, screen: PageScreen) -> list[tuple[str, str]]:
    """Return what the page lacks: for each requirement the key of its sentence, and the value for
    it.

    A refresh rate that the page could not measure is no reason to refuse anybody.
    """
    facts = screen.facts
    wide, high = (pixels / float(facts["pixel_ratio"]) for pixels in facts["window_px"])
    browser = browser_of({"apparatus": facts})
    name = "" if browser is None else browser.name.split(" ")[0].lower()
    missing: list[tuple[str, str]] = []
    measured = facts["measured_hz"]
    if required.hz is not None and measured is not None and measured < required.hz * (1 - _RATE_SHARE):
        missing.append(("hz", f"{required.hz:g}"))
    if required.width_px is not None and wide < required.width_px:
        missing.append(("width", str(required.width_px)))
    if required.height_px is not None and high < required.height_px:
        missing.append(("height", str(required.height_px)))
    if required.browsers is not None and name not in required.browsers:
        missing.append(("browser", ", ".join(one.capitalize() for one in required.browsers)))
    if required.fullscreen and not facts["fullscreen"]:
        missing.append(("fullscreen", ""))
    return missing
