"""A stand-in for a button box of PsychoPy's device layer. Importing it imports PsychoPy."""

from __future__ import annotations

from typing import Any, ClassVar

from psychopy.hardware.button import BaseButtonGroup, ButtonResponse


class StandingBox(BaseButtonGroup):
    """Its buttons are pressed by appending their numbers to ``pressed``."""

    pressed: ClassVar[list[int]] = []

    def dispatchMessages(self) -> None:  # noqa: N802 - PsychoPy's name
        while self.pressed:
            channel = self.pressed.pop(0) - 1
            for down in (True, False):
                self.receiveMessage(ButtonResponse(t=0.0, value=down, channel=channel))

    def isSameDevice(self, other: Any) -> bool:  # noqa: N802 - PsychoPy's name
        return other is self
