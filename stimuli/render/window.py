"""Stimuli in a PsychoPy window: drawn once, at the very size at which they are shown, and kept on the graphics card.

PsychoPy is imported when the first picture is uploaded, never before.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..kinds.plain import Tone
from ..scene import CANVAS, COLOURS, Ellipse, Scene
from ..stimulus import Stimulus
from .palette import PALETTES, PaletteName, recoloured
from .pixels import picture


@dataclass(slots=True)
class _Prepared:
    image: Any
    sound: Any | None
    bytes: int


class WindowRenderer:
    """Draws stimuli in the middle of a window, sharp at any size: one pixel of the picture is one pixel of the screen.

    Pictures stay uploaded across trials; when there are too many, those that were not used for longest go, never those of the last :meth:`prepare`.

    Parameters
    ----------
    win : the PsychoPy window
    size_px : width and height of the canvas in pixels of the screen
    say : told, in a sentence, when a tone cannot be played (a ring is then drawn in its place)
    room : bytes of pictures to keep, of earlier trials too; few come again, so that more would only let the memory of long sessions grow
    palette : colours for people (:data:`.palette.PALETTES`)
    """

    def __init__(self, win: Any, size_px: int, say: Callable[[str], None], room: int = 16 * 2**20, palette: PaletteName = "published") -> None:
        self._palette = PALETTES[palette]
        self.win = win
        self.size_px = size_px
        self._say = say
        self._room = room
        self._kept: OrderedDict[Stimulus, _Prepared] = OrderedDict()
        #: how tones are given: ``sound`` with the library that plays them, ``ring`` where no sound works, None as long as no tone was asked for
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
        """Draw a stimulus to the frame that is shown next. One that was not prepared is uploaded now, which may cost a frame."""
        if stimulus not in self._kept:
            self._kept[stimulus] = self._upload(stimulus)
        self._kept[stimulus].image.draw()

    def play_on_flip(self, stimulus: Stimulus) -> None:
        """Let a tone begin with the next flip; nothing for stimuli without sound."""
        prepared = self._kept.get(stimulus)
        if prepared is not None and prepared.sound is not None:
            self.win.callOnFlip(self._play, prepared.sound)

    def _play(self, sound: Any) -> None:
        try:
            sound.play()
        except Exception as error:  # the device has gone; each sound library raises its own kinds
            self._no_sound(error)
            for stimulus in [stimulus for stimulus, prepared in self._kept.items() if prepared.sound is not None]:
                del self._kept[stimulus]  # drawn as a ring from now on

    def _no_sound(self, error: Exception) -> None:
        self.tones = "ring"
        self._say(f"No sound can be played ({error}): a black ring is shown for each tone instead. Connect a sound device to hear it.")

    def _upload(self, stimulus: Stimulus) -> _Prepared:
        from psychopy import visual

        sound = self._sound(stimulus) if isinstance(stimulus, Tone) else None
        drawn = ring(self.size_px) if isinstance(stimulus, Tone) and sound is None else picture(self.look(stimulus.scene()), self.size_px)
        image = visual.ImageStim(self.win, image=drawn, units="pix", size=(self.size_px, self.size_px), interpolate=False, autoLog=False)
        # Graphics drivers may put an upload off until the first use: use it now, on a frame that is never shown.
        image.draw()
        self.win.clearBuffer()
        self.uploads += 1
        return _Prepared(image, sound, self.size_px**2 * 4)

    def _make_room(self, in_use: int) -> None:
        total = sum(prepared.bytes for prepared in self._kept.values())
        while total > self._room and len(self._kept) > in_use:
            _, oldest = self._kept.popitem(last=False)
            oldest.image.clearTextures()
            total -= oldest.bytes

    def _sound(self, tone: Tone) -> Any | None:
        if self.tones == "ring":
            return None
        try:
            if _no_sound_card():
                raise RuntimeError("this machine has no sound card")
            with _quiet():
                from psychopy import sound

                prepared = sound.Sound(tone.frequency_hz, secs=tone.ms / 1000, stereo=True)
        except Exception as error:  # each sound library raises its own kinds, plain Exception among them
            self._no_sound(error)
            return None
        self.tones = f"sound ({getattr(sound, 'audioLib', 'unknown library')})"
        return prepared


def _no_sound_card() -> bool:
    """Whether Linux knows of no sound card and no sound server; Psychtoolbox's sound library, once loaded in vain, complains at the end of the process."""
    if not sys.platform.startswith("linux"):
        return False
    cards, runtime = Path("/proc/asound/cards"), Path(os.environ.get("XDG_RUNTIME_DIR") or "/run/user/none")
    served = "PULSE_SERVER" in os.environ or (runtime / "pulse" / "native").exists() or (runtime / "pipewire-0").exists()
    return not served and (not cards.exists() or "no soundcards" in cards.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what sound libraries print straight to the terminal out of it; what matters is said in one sentence."""
    sys.stdout.flush()
    sys.stderr.flush()
    copies = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, copy in zip((1, 2), copies, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)


def ring(size_px: int) -> Any:
    """What stands for a tone where none can be played: a black ring in the middle of the canvas."""
    middle = CANVAS / 2
    return picture(Scene((Ellipse(middle - 8, middle - 8, middle + 7, middle + 7, None, COLOURS["black"], 2),)), size_px)
