"""The keyboard: Psychtoolbox's queue, which stamps every press when it happens, or, with a warning,
something less precise.

Two things in PsychoPy's ``Keyboard`` are worked around. Its back end falls back in silence, so it
is asked which one it is and whether it listens to any device. And its ``getKeys`` forgets presses
that were released before the poll, so the responses are read from the device itself, and each press
is taken once, when it is first seen.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from .answering import Press
from .keymap import Keymap

Backend = Literal["ptb", "event"]

#: Seconds within which a key that is kept down repeats itself, on systems where it does.
_REPEATS_WITHIN = 1.0

#: The event module names the keys of a keypad by what they do when Num Lock is off; Psychtoolbox,
#: and we, by where they lie.
_KEYPAD = {
    "num_home": "num_7",
    "num_up": "num_8",
    "num_page_up": "num_9",
    "num_prior": "num_9",
    "num_left": "num_4",
    "num_begin": "num_5",
    "num_right": "num_6",
    "num_end": "num_1",
    "num_down": "num_2",
    "num_page_down": "num_3",
    "num_next": "num_3",
    "num_insert": "num_0",
}


class Keyboard:
    """The keys of the participant. Needs an open window.

    Parameters
    ----------
    preferred : ``ptb``, or ``event`` to do without Psychtoolbox
    say : told, in a sentence, when the precise back end cannot be had
    """

    def __init__(self, preferred: Backend, say: Callable[[str], None]) -> None:
        self.devices = 0
        self.backend: Backend = "event"
        self._device: Any = None
        self.keymap = Keymap()
        self._seen: deque[tuple[int, float]] = deque(maxlen=500)
        #: keys that are down, and when they were last told to be
        self._down: dict[int, float] = {}
        if preferred == "ptb":
            problem = self._open_ptb()
            if problem:
                say(
                    f"The keyboard is read through PsychoPy's event module, because {problem}: reaction times of keys"
                    " are precise to one frame only, not to a millisecond. Installing psychtoolbox fixes this; the"
                    " session records which one was used."
                )
        if self.backend == "event":
            from psychopy import event

            self._event: Any = event

    def _open_ptb(self) -> str:
        """Open Psychtoolbox's queue; return what is wrong, or nothing."""
        from psychopy.hardware import keyboard

        if not keyboard.havePTB:
            return "psychtoolbox cannot be loaded"
        try:
            opened = keyboard.Keyboard(deviceName="spanlab", backend="ptb")
            opened.start()  # PsychoPy gives the same device again when a window was closed before, and leaves it stopped  # noqa: E501
        except Exception as error:  # PsychHID raises bare exceptions of several sorts
            return f"psychtoolbox found no usable keyboard ({error})"
        if opened.getBackend() != "ptb":
            return f"PsychoPy chose its back end '{opened.getBackend()}'"
        device: Any = opened.device
        self.devices = len(device._buffers)
        if not self.devices:
            return "psychtoolbox sees no keyboard"
        self._device = device
        self.backend = "ptb"
        self.poll()
        return ""

    @property
    def precision_ms(self) -> float | None:
        """Precision of the times of presses: about a millisecond, or None where it is a frame."""
        return 1.0 if self.backend == "ptb" else None

    @property
    def key_names(self) -> str:
        """The way in which keys are named, for the record."""
        if self.backend == "event" or self.keymap.signs:
            return f"by sign ({self.keymap.layout})" if self.keymap.layout else "by sign"
        return "by place on a US keyboard" if sys.platform != "win32" else "as Windows tells Psychtoolbox"

    def poll(self) -> list[Press]:
        """Every press since the last poll, however short, in the order of their times."""
        if self.backend == "event":
            return self._poll_event()
        from psychopy import logging

        zero = logging.defaultClock.getLastResetTime()
        self._device.dispatchMessages()
        responses, presses = list(self._device.responses), []
        self._device.responses.clear()
        for response in responses:  # the same object comes again when the key is released
            mark = (response.code, response.tDown)
            released = response.duration is not None
            if mark in self._seen:
                if released:
                    self._down.pop(response.code, None)
                continue
            self._seen.append(mark)
            # A key whose release was never told is taken for released once it has been silent for a
            # second.
            held = response.tDown - self._down.get(response.code, -math.inf) < _REPEATS_WITHIN
            if released:
                self._down.pop(response.code, None)
            else:
                self._down[response.code] = response.tDown
            presses.append(
                Press("key", response.tDown + zero, key=self.keymap.name(response.code, response.name), held=held)
            )
        return sorted(presses, key=lambda press: press.time)

    def _poll_event(self) -> list[Press]:
        from psychopy import core

        keys = self._event.getKeys(timeStamped=core.monotonicClock) or []
        zero = core.monotonicClock.getLastResetTime()
        return [Press("key", time + zero, key=_KEYPAD.get(str(key), str(key))) for key, time in keys]

    def close(self) -> None:
        """Stop listening."""
        if self._device is not None:
            self._device.stop()
