"""Stimuli in a PsychoPy window: drawn once, at the very size at which they are shown, and kept on
the graphics card.

PsychoPy is imported when the first picture is uploaded, never before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ...core.errors import SpanLabError
from ..kinds.files import ShownSound
from ..kinds.plain import Tone
from ..scene import CANVAS, COLOURS, Ellipse, Scene
from ..stimulus import Stimulus
from .palette import PALETTES, PaletteName, recoloured
from .pixels import picture
from .speaker import BACKEND, Speaker


class WindowRenderer:
    """Draws stimuli in the middle of a window, sharp at any size: one pixel of the picture is one
    pixel of the screen.

    Pictures stay uploaded across trials; when there are too many, those that were not used for
    longest go, never those of the last :meth:`prepare`.

    Parameters
    ----------
    win : the PsychoPy window
    size_px : width and height of the canvas in pixels of the screen
    speaker : plays sounds and tones
    say : told, in a sentence, when a tone cannot be played (a ring is then drawn in its place)
    room : bytes of pictures to keep, of earlier trials too; few come again, so that more would only
        let the memory of long sessions grow
    palette : colours for people (:data:`.palette.PALETTES`)
    """

    def __init__(
        self,
        win: Any,
        size_px: int,
        speaker: Speaker,
        say: Callable[[str], None],
        room: int = 16 * 2**20,
        palette: PaletteName = "published",
    ) -> None:
        self._palette = PALETTES[palette]
        self.win = win
        self.size_px = size_px
        self.speaker = speaker
        self._say = say
        self._room = room
        self._kept: OrderedDict[Stimulus, Any] = OrderedDict()
        #: how tones are given: ``sound`` with the library that plays them, ``ring`` where no sound
        #: works, None as long as no tone was asked for
        self.tones: str | None = None
        self.uploads = 0

    def prepare(self, stimuli: Iterable[Stimulus]) -> int:
        """Upload every stimulus that is not there yet, and return how many were uploaded."""
        before = self.uploads
        distinct = list(dict.fromkeys(stimuli))
        for stimulus in distinct:
            if stimulus in self._kept:
                self._kept.move_to_end(stimulus)
            else:
                self._kept[stimulus] = self._upload(stimulus)
        self._make_room(len(distinct))
        return self.uploads - before

    def look(self, scene: Scene) -> Scene:
        """A scene in the colours of this window."""
        return recoloured(scene, self._palette)

    def draw(self, stimulus: Stimulus) -> None:
        """Draw a stimulus to the frame that is shown next. One that was not prepared is uploaded
        now, which may cost a frame."""
        if stimulus not in self._kept:
            self._kept[stimulus] = self._upload(stimulus)
        self._kept[stimulus].draw()

    @property
    def rings(self) -> bool:
        """True if a ring is drawn in the place of each tone."""
        return self.tones == "ring"

    def no_sound(self, error: Exception) -> None:
        """No tone can be played (any more): each is a ring from now on."""
        self.tones = "ring"
        self._say(
            f"No sound can be played ({error}): a black ring is shown for each tone instead. Connect a sound device to"
            " hear it."
        )
        for stimulus in [stimulus for stimulus in self._kept if isinstance(stimulus, Tone)]:
            del self._kept[stimulus]

    def _upload(self, stimulus: Stimulus) -> Any:
        from psychopy import visual

        self._load(stimulus)
        drawn = (
            ring(self.size_px)
            if isinstance(stimulus, Tone) and self.rings
            else picture(self.look(stimulus.scene()), self.size_px)
        )
        image = visual.ImageStim(
            self.win, image=drawn, units="pix", size=(self.size_px, self.size_px), interpolate=False, autoLog=False
        )
        # Graphics drivers may put an upload off until the first use: use it now, on a frame that is
        # never shown.
        image.draw()
        self.win.clearBuffer()
        self.uploads += 1
        return image

    def _make_room(self, in_use: int) -> None:
        while len(self._kept) > max(in_use, self._room // (self.size_px**2 * 4)):
            _, oldest = self._kept.popitem(last=False)
            oldest.clearTextures()

    def _load(self, stimulus: Stimulus) -> None:
        """Make ready what is heard of a stimulus.

        Raises
        ------
        SpanLabError
            when a sound of one's own cannot be played; for a tone there is a ring.
        """
        if isinstance(stimulus, ShownSound):
            self.speaker.load(stimulus)
        elif isinstance(stimulus, Tone) and not self.rings:
            try:
                self.speaker.load(stimulus)
            except SpanLabError as error:
                self.no_sound(error)
            else:
                self.tones = f"sound ({BACKEND})"


def ring(size_px: int) -> Any:
    """Return the ring that replaces a tone that cannot be played: black, in the middle of the
    canvas."""
    middle = CANVAS / 2
    return picture(
        Scene((Ellipse(middle - 8, middle - 8, middle + 7, middle + 7, None, COLOURS["black"], 2),)), size_px
    )
