"""The loudspeaker of a window: sounds and tones that begin at a given time, by Psychtoolbox's sound
library, which is PsychoPy's own.

The library is loaded when the first sound is wanted, never before. One stream stays open and
running as long as the window, so that the start of a sound costs nothing but the buffers that are
under way.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import SpanLabError
from ..kinds.files import ShownSound
from ..kinds.plain import Tone
from ..own_files import samples_of

Audible = ShownSound | Tone
#: The sample rate that is asked for first; sounds of others are converted.
RATE_HZ = 48_000
_CHANNELS = 2
#: Psychtoolbox's classes of latency that are tried: all to itself, and beside other programs.
_LATENCY_CLASSES = (2, 1)
_PLAYBACK, _MASTER = 1, 8
#: A tone comes and goes within so many seconds, without a click.
_RAMP = 0.005
BACKEND = "Psychtoolbox PsychPortAudio"


def _not_loaded(*arguments: Any) -> Any:
    raise SpanLabError("the sound device is not open")


def seconds_of(sound: Audible) -> float:
    """Return the duration of a sound."""
    return sound.ms / 1000


@dataclass(slots=True)
class Playing:
    """One voice with one sound in it, which is going to be played, or is played."""

    handle: int
    speaker: Speaker

    @property
    def status(self) -> dict[str, float]:
        return self.speaker.call("GetStatus", self.handle)

    @property
    def onset(self) -> float | None:
        """The time at which the first sample leaves the device, in seconds on the window's clock,
        by the sound library; None before that is known."""
        status = self.status
        began = status["StartTime"] if status["State"] != 1 else 0.0  # 1: waits for its time
        return began - self.speaker.ahead() if began > 0 else None

    def move(self, at: float) -> None:
        """Begin at another time (s), where it has not begun."""
        if self.status["State"] == 1:
            self.speaker.call("RescheduleStart", self.handle, at + self.speaker.ahead())

    def stop(self) -> None:
        """Be silent at once."""
        self.speaker.call("Stop", self.handle, 0, 0)


class Speaker:
    """The sound device.

    Parameters
    ----------
    now : the window's clock
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        #: Psychtoolbox's PsychPortAudio, once it is loaded
        self._audio: Callable[..., Any] = _not_loaded
        self._clock: Callable[[], float] = now
        self._master = -1
        self._rate = 0
        self._class = 0
        self._tracks: dict[Audible, list[Playing]] = {}

    def call(self, what: str, *arguments: Any) -> Any:
        """Have the sound library do something."""
        return self._audio(what, *arguments)

    def ahead(self) -> float:
        """By how much (s) the sound library's clock is ahead of the window's; nothing where they
        are the same."""
        return self._clock() - self._now()

    def open(self) -> None:
        """Open the device, when it is not open yet.

        Raises
        ------
        SpanLabError
            when no sound can be played on this machine.
        """
        if self._master >= 0:
            return
        if no_sound_card():
            raise SpanLabError("this machine has no sound card")
        try:
            with _quiet():
                from psychtoolbox import GetSecs, PsychPortAudio

                library: Any = PsychPortAudio  # it declares no types
                library("Verbosity", 1)
                self._audio, self._clock = library, GetSecs
                self._open()
        except ImportError as error:
            raise SpanLabError(f"Psychtoolbox, which plays sounds, cannot be loaded ({error})") from None
        except Exception as error:  # the library raises plain Exception
            raise SpanLabError(_in_a_line(error)) from None

    def trouble(self) -> str | None:
        """Why no sound can be played; None when one can."""
        try:
            self.open()
        except SpanLabError as error:
            return str(error)
        return None

    def _open(self) -> None:
        last: Exception | None = None
        for latency_class in _LATENCY_CLASSES:
            for rate in (RATE_HZ, None):
                try:
                    self._master = int(self.call("Open", None, _PLAYBACK + _MASTER, latency_class, rate, _CHANNELS))
                except Exception as error:
                    last = error
                    continue
                self.call("Start", self._master, 0, 0, 1)
                self._rate, self._class = round(self._status()["SampleRate"]), latency_class
                return
        assert last is not None
        raise last

    def _status(self) -> dict[str, float]:
        return self.call("GetStatus", self._master)

    def load(self, sound: Audible) -> None:
        """Make a sound ready.

        Raises
        ------
        SpanLabError
            when no sound can be played, or its file has gone.
        """
        self.open()
        if sound not in self._tracks:
            # while one is played, the same sound may be waiting for its time
            self._tracks[sound] = [self._track(sound), self._track(sound)]

    def _track(self, sound: Audible) -> Playing:
        try:
            handle = int(self.call("OpenSlave", self._master, _PLAYBACK))
            self.call("FillBuffer", handle, waveform(sound, self._rate))
        except SpanLabError:
            raise
        except Exception as error:
            raise SpanLabError(_in_a_line(error)) from None
        return Playing(handle, self)

    def start(self, sound: Audible, at: float) -> Playing:
        """Begin a sound at a time.

        Raises
        ------
        SpanLabError
            when the device has gone.
        """
        self.load(sound)
        try:
            track = next((track for track in self._tracks[sound] if track.status["State"] == 0), None)
            if track is None:
                self._tracks[sound].append(track := self._track(sound))
            self.call("Start", track.handle, 1, at + self.ahead())
        except SpanLabError:
            raise
        except Exception as error:  # the device has gone
            raise SpanLabError(_in_a_line(error)) from None
        return track

    @property
    def latency_ms(self) -> float | None:
        return None if self._master < 0 else round(self._status()["PredictedLatency"] * 1000, 3)

    def facts(self) -> dict[str, Any]:
        """Describe the sound device, as JSON values; empty before the first sound."""
        if self._master < 0:
            return {}
        status = self._status()
        devices: Any = self.call("GetDevices", None, int(status["OutDeviceIndex"]))
        device: dict[str, Any] = devices[0] if isinstance(devices, list) else devices
        return {
            "backend": BACKEND,
            "version": str(self.call("Version").get("version", "")),
            "device": str(device.get("DeviceName", "")),
            "driver": str(device.get("HostAudioAPIName", "")),
            "rate_hz": self._rate,
            "channels": _CHANNELS,
            "latency_class": self._class,
            "buffer_frames": int(status["BufferSize"]),
            "declared_latency_ms": self.latency_ms,
            "underruns": int(status["XRuns"]),
        }

    def close(self) -> None:
        """Let go of the device."""
        if self._master >= 0:
            self._tracks.clear()
            with _quiet():
                self.call("Close")
            self._master = -1


@lru_cache(maxsize=1)
def _tried() -> None:
    speaker = Speaker(time.monotonic)
    speaker.open()
    speaker.close()


def no_sound() -> str | None:
    """Why no sound can be played on this machine; None when one can. The device is opened and
    closed once for each process."""
    try:
        _tried()
    except SpanLabError as error:
        return str(error)
    return None


def waveform(sound: Audible, rate_hz: int) -> np.ndarray:
    """The samples of a sound at the rate of the device, float32 (samples, 2)."""
    if isinstance(sound, Tone):
        return np.repeat(_sine(sound, rate_hz)[:, None], _CHANNELS, axis=1)
    samples, rate = samples_of(sound.sha256)
    if rate != rate_hz:
        from scipy.signal import resample_poly

        common = gcd(rate, rate_hz)
        samples = np.clip(resample_poly(samples, rate_hz // common, rate // common, axis=0), -1, 1)
    both = samples if samples.shape[1] == _CHANNELS else np.repeat(samples, _CHANNELS, axis=1)
    return np.ascontiguousarray(both * sound.volume, dtype=np.float32)


def _sine(tone: Tone, rate_hz: int) -> np.ndarray:
    count = max(1, round(tone.ms * rate_hz / 1000))
    wave = np.sin(2 * np.pi * tone.frequency_hz * np.arange(count) / rate_hz)
    ramp = min(count // 2, round(_RAMP * rate_hz))
    rising = 0.5 - 0.5 * np.cos(np.pi * np.arange(ramp) / max(1, ramp))
    wave[:ramp] *= rising
    wave[count - ramp :] *= rising[::-1]
    return wave.astype(np.float32)


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def no_sound_card() -> bool:
    """Return whether Linux knows of no sound card and no sound server; Psychtoolbox's sound
    library, once loaded in vain, complains at the end of the process."""
    if not sys.platform.startswith("linux"):
        return False
    cards, runtime = Path("/proc/asound/cards"), Path(os.environ.get("XDG_RUNTIME_DIR") or "/run/user/none")
    named = any(name in os.environ for name in ("PULSE_SERVER", "JACK_DEFAULT_SERVER"))
    served = named or (runtime / "pulse" / "native").exists() or (runtime / "pipewire-0").exists()
    return not served and (not cards.exists() or "no soundcards" in cards.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what sound libraries print straight to the terminal out of it; what matters is said in
    one sentence."""
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
