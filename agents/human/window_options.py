"""The options of somebody at a window: screen, canvas, colours, keyboard, ports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.errors import SpanLabError
from ...stimuli.render.palette import PaletteName, checked_palette
from .display.file import DisplayFile
from .display.window import Screen
from .input.keyboard import Backend
from .stage import CanvasSize

#: Width of the canvas where the screen was measured, and nobody says otherwise.
USUAL_DEG = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions(Screen):
    """Options of a window for a person or the simulated participant, place and size among them.

    Parameters
    ----------
    size_deg : width and height of the canvas, in degrees of visual angle, or ``largest``: as large
        as the window allows; when not given, 10 where the screen was measured, and else ``largest``
    keyboard : ``ptb`` (Psychtoolbox, precise to about a millisecond) or ``event`` (PsychoPy's event
        module, precise to one frame)
    guard_ms : how long before a refresh the next frame is drawn
    display : the display that was measured (:func:`.file.read_display`): its width, distance and
        screen hold, and a participant is told when another is found
    patch : a square for a photodiode, such as ``upper-left:2`` (:func:`.patch.read_patch`); none
        when empty
    palette : colours of the stimuli: ``published``, or ``safe`` for people who cannot tell red from
        green (recorded: it changes what is seen)
    font : file of a font for letters that the shipped typeface has not; none when empty
    triggers : port for trigger codes, such as ``serial:/dev/ttyUSB0@115200``; none when empty.
        Which codes are sent is a matter of the session
    buttons : a button box, such as ``keys:1+2`` or ``serial:COM3@115200`` (:mod:`.buttons`); none
        when empty
    scanner : what sends the pulses of a scanner (:func:`.buttons.read_pulse`); none when empty
    focus : ``needed``, or ``any`` where keys count that are pressed while another window has the
        focus

    Raises
    ------
    SpanLabError
        for sizes that are not above 0, and for an unknown palette.
    """

    size_deg: CanvasSize | None = None
    keyboard: Backend = "ptb"
    guard_ms: float = 3.0
    display: DisplayFile | None = None
    patch: str = ""
    palette: PaletteName = "published"
    font: str = ""
    triggers: str = ""
    buttons: str = ""
    scanner: str = ""
    focus: str = "needed"

    def __post_init__(self) -> None:
        sizes = (self.size_deg, self.distance_cm, self.paced_hz, self.width_cm)
        if any(isinstance(size, int | float) and size <= 0 for size in sizes):
            raise SpanLabError(
                "the size of the canvas, the width of the screen, the distance and the rate must be above 0"
            )
        checked_palette(self.palette)

    @property
    def place(self) -> Screen:
        """The screen and the size of the window; a measured display decides about the screen."""
        place = Screen(self.fullscreen, self.screen, self.size_px, self.width_cm, self.distance_cm, self.paced_hz)
        if self.display is None:
            return place
        measured = self.display.screen
        return replace(place, screen=measured.number, width_cm=measured.width_cm, distance_cm=measured.distance_cm)

    @property
    def canvas(self) -> CanvasSize:
        """The size of the canvas: as large as the window allows where nobody has said how wide the
        screen is, since degrees mean nothing there."""
        if self.size_deg is not None:
            return self.size_deg
        return "largest" if self.place.width_cm is None else USUAL_DEG


#: Full screen, nothing measured, nothing attached.
USUAL_WINDOW = WindowOptions()
