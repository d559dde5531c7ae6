"""Sounds at the window: each is scheduled ahead for the very refresh at which its display comes on,
and what the sound library reports of it is noted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...core.errors import SpanLabError
from ...paradigms.trial import Display
from ...stimuli import Stimulus
from ...stimuli.kinds.files import ShownSound
from ...stimuli.kinds.plain import Tone
from ...stimuli.render.speaker import Audible, Playing, Speaker, no_sound, seconds_of
from .stage import Stage

#: Seconds before its display at which a sound is scheduled at the earliest.
AHEAD = 0.25
#: Seconds for which the first display of a trial waits for its sound.
FIRST_AHEAD = 0.15
#: Seconds of a sound that may follow its display, where it has come late; more of it is cut off.
_TAIL = 0.1


@dataclass(slots=True)
class _Scheduled:
    """A sound that was scheduled.

    Parameters
    ----------
    display : with which it comes
    at : for when it was scheduled, and ``onset`` of its display once that is there; both in seconds
        on the window's clock
    note : what is known of it, for the record; completed in place
    """

    display: Display
    sound: Audible
    playing: Playing
    at: float
    note: dict[str, Any]
    onset: float | None = None


class Sounding:
    """The sounds of one trial at an open window."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._speaker, self._now = stage, stage.speaker, stage.window.now
        self._coming: _Scheduled | None = None
        self._there: _Scheduled | None = None

    def _sound_of(self, display: Display) -> Audible | None:
        """The stimulus of a display, where it is heard: tones that cannot be played are shown as
        rings."""
        heard = ShownSound if self._stage.renderer.rings else ShownSound | Tone
        return display.stimulus if isinstance(display.stimulus, heard) else None

    def to_schedule(self, display: Display) -> bool:
        """Return whether a display has a sound that has not been scheduled."""
        return self._sound_of(display) is not None and (self._coming is None or self._coming.display is not display)

    def foresee(self, display: Display, at: float) -> None:
        """A display is going to come on at a time (s), where nobody answers before."""
        if at - self._now() <= AHEAD and self.to_schedule(display):
            self._schedule(display, at)

    def due(self, display: Display, at: float, near: float) -> None:
        """A display is drawn, and comes on at a time (s). What was scheduled for it moves there,
        where it would be more than ``near`` s off."""
        if self._sound_of(display) is None:
            self._drop()
            return
        coming = self._coming
        if coming is None or coming.display is not display:
            self._drop()
            self._schedule(display, at)
        elif abs(coming.at - at) > near:
            coming.playing.move(at)
            coming.at = at
            coming.note["moved"] = True

    def came(self, at: float) -> dict[str, Any] | None:
        """The display has come on at a time (s): the note of its sound, if it has one. Whatever was
        played before has had its time."""
        self.over()
        self._there, self._coming = self._coming, None
        there = self._there
        if there is None:
            return None
        there.onset = at
        there.note["scheduled_ms"] = round((there.at - at) * 1000, 3)
        self.look()
        return there.note

    def look(self) -> None:
        """See whether the sound of the display on the screen has begun."""
        there = self._there
        if there is None or there.onset is None or there.note["onset_ms"] is not None:
            return
        onset = there.playing.onset
        if onset is not None:
            there.note |= {
                "onset_ms": round(self._stage.clock.ms(onset), 3),
                "after_display_ms": round((onset - there.onset) * 1000, 3),
            }

    def over(self) -> None:
        """The display is not on the screen any more: its sound ends, unless that is about to."""
        self.look()
        there, self._there = self._there, None
        if there is None:
            return
        begun = there.playing.onset
        end = (there.at if begun is None else begun) + seconds_of(there.sound)
        if end - self._now() > _TAIL:
            there.playing.stop()
            there.note["stopped_after_ms"] = 0.0 if begun is None else round((self._now() - begun) * 1000, 1)

    def silence(self) -> None:
        """Nothing of the trial is heard any more."""
        self._drop()
        self.over()

    def _drop(self) -> None:
        coming, self._coming = self._coming, None
        if coming is not None:
            coming.playing.stop()

    def _schedule(self, display: Display, at: float) -> None:
        sound = self._sound_of(display)
        assert sound is not None
        self._drop()
        note: dict[str, Any] = {
            "onset_ms": None,
            "after_display_ms": None,
            "declared_latency_ms": self._speaker.latency_ms,
        }
        try:
            self._coming = _Scheduled(display, sound, self._speaker.start(sound, at), at, note)
        except SpanLabError as error:
            if isinstance(sound, ShownSound):
                raise SpanLabError(
                    f"a sound could not be played ({error}): the session stops here, and can be resumed with a sound"
                    " device"
                ) from None
            self._stage.renderer.no_sound(error)


def check_sounds(stimuli: Iterable[Stimulus], speaker: Speaker | None = None) -> None:
    """Make sure, before a session, that sounds of one's own can be played, where there are any.

    Parameters
    ----------
    speaker : the one that is going to play them, where there is one already

    Raises
    ------
    SpanLabError
        when no sound can be played on this machine: a session that has to be heard is never silent.
    """
    if (
        any(isinstance(stimulus, ShownSound) for stimulus in stimuli)
        and (why := no_sound() if speaker is None else speaker.trouble()) is not None
    ):
        raise SpanLabError(
            f"the paradigm plays sounds, and none can be played here ({why}): connect headphones or loudspeakers, make"
            " them the system's sound output, and make sure that no other program blocks them"
        )
