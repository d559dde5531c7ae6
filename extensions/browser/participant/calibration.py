"""Size of a screen, by a bank card held against it, and how far away the eyes are, by the
blind spot.

The card has the width of ISO/IEC 7810 ID-1. The centre of the blind spot lies 13.5 degrees from
where an eye looks: Li, Q., Joo, S. J., Yeatman, J. D., & Reinecke, K. (2020). Controlling for
participants' viewing distance in large-scale, psychophysical online experiments using a virtual
chinrest. Scientific Reports, 10, 904.
"""

# pyright: strict
from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spanlab.core import SpanLabError
from spanlab.core.locale import sentence

#: width of a bank card (cm), and the angle between the point looked at and the blind spot (degrees)
CARD_CM, BLIND_SPOT_DEG = 8.56, 13.5
_Px = Annotated[float, Field(gt=0, le=20_000, allow_inf_nan=False)]
_WORDS = ("card", "card_size", "card_done", "distance", "distance_start", "distance_gone", "distance_skip")


class CalibrationReport(BaseModel):
    """Report of a page: lengths in CSS pixels.

    Parameters
    ----------
    card_px : of the longer side of the card
    travels_px : of the dot from the mark to where it was no longer seen, each time
    pixel_ratio : pixels of the screen for each CSS pixel
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    card_px: _Px
    travels_px: Annotated[list[_Px], Field(max_length=20)] = []
    pixel_ratio: Annotated[float, Field(gt=0, le=20, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The size of a screen, and the distance of the eyes.

    Parameters
    ----------
    px_per_cm : pixels of the screen
    distance_cm : None where it was not measured
    travels_cm : of each measurement of the distance
    canvas_deg : the wished width of the canvas in degrees of visual angle; None for as large as
        possible
    """

    px_per_cm: float
    distance_cm: float | None
    travels_cm: tuple[float, ...]
    canvas_deg: float | None = None

    def canvas_px(self, largest: int) -> int:
        """The width of the canvas in pixels of the screen: as wished, if there is room."""
        if self.canvas_deg is None or self.distance_cm is None:
            return largest
        wide_cm = 2 * self.distance_cm * math.tan(math.radians(self.canvas_deg) / 2)
        return min(largest, max(96, round(wide_cm * self.px_per_cm)))

    def facts(self, canvas_px: int) -> dict[str, Any]:
        """Return what was measured, for the record, with the visual angle of a canvas of so many
        pixels."""
        measured: dict[str, Any] = {
            "px_per_cm": round(self.px_per_cm, 2),
            "distance_cm": None if self.distance_cm is None else round(self.distance_cm, 1),
        }
        if self.travels_cm:
            measured["blind_spot_cm"] = [round(travel, 2) for travel in self.travels_cm]
        if self.distance_cm is not None:
            measured["canvas_deg"] = round(
                math.degrees(2 * math.atan(canvas_px / self.px_per_cm / 2 / self.distance_cm)), 2
            )
        return measured


def read_calibration(body: Mapping[str, Any], canvas_deg: float | None = None) -> Calibration:
    """Read what a page reports.

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    try:
        report = CalibrationReport.model_validate(body)
    except ValidationError as error:
        raise SpanLabError(
            f"the page reported the size of its screen in a way that cannot be read ({error.errors()[0]['msg']})"
        ) from None
    css_per_cm = report.card_px / CARD_CM
    travels = tuple(travel / css_per_cm for travel in report.travels_px)
    distance = statistics.median(travels) / math.tan(math.radians(BLIND_SPOT_DEG)) if travels else None
    return Calibration(css_per_cm * report.pixel_ratio, distance, travels, canvas_deg)


def calibration_words(language: str) -> dict[str, str]:
    """The sentences that the page needs to measure the screen."""
    return {
        **{name: sentence(f"calibration.{name}", language) for name in _WORDS},
        "distance_again": sentence("calibration.distance_again", language, n="{n}"),
    }
