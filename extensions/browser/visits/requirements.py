"""What a study requires of the computer of a participant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spanlab.sessions.record import browser_of

from ..participant.screen import PageScreen

#: a measured refresh rate may be lower than that of the screen by this share
_RATE_SHARE = 0.02


class Required(Protocol):
    """The requirements, as a study file has them."""

    @property
    def hz(self) -> float | None: ...
    @property
    def width_px(self) -> int | None: ...
    @property
    def height_px(self) -> int | None: ...
    @property
    def browsers(self) -> Sequence[str] | None: ...
    @property
    def fullscreen(self) -> bool: ...


def lacking(required: Required, screen: PageScreen) -> list[tuple[str, str]]:
    """Return what the page lacks: for each requirement the key of its sentence, and the value for it.

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
