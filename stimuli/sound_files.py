"""Sound files of a laboratory's own: what a file must be, how long it lasts, and its samples by the
hash of its content."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from typing_extensions import override

from ..core.errors import SpanLabError
from .own_files import FileFacts, content_of

#: the longest sound (s)
MAX_SECONDS = 600
#: sample rates (Hz) that sound devices can play, or sounds can be converted from
RATES_HZ = (8_000, 192_000)
#: how samples may be kept; what others (ADPCM, MP3) give depends on who decodes them, or begins
#: with a silence of their own
_FORMATS = ("WAV", "WAVEX", "FLAC", "OGG")
_SAMPLES = ("PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "VORBIS")
#: the length of a RIFF file as its head says it, where the program that wrote it did not know
_UNKNOWN_LENGTHS = (0, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class SoundFacts(FileFacts):
    """The facts about a sound without its samples.

    Parameters
    ----------
    frames : samples of each channel
    rate_hz : samples a second
    channels : 1 or 2
    """

    noun: ClassVar[str] = "sound"
    nouns: ClassVar[str] = "sounds"
    suffixes: ClassVar[Sequence[str]] = (".wav", ".flac", ".ogg")
    instance: ClassVar[str] = "tones/01.wav"
    most_bytes: ClassVar[int] = 50_000_000

    frames: int
    rate_hz: int
    channels: int

    @property
    def ms(self) -> float:
        """The duration of the sound."""
        return self.frames * 1000 / self.rate_hz

    @staticmethod
    @override
    def measured(content: bytes) -> tuple[int, ...]:
        samples, rate_hz = _decoded(content)
        return samples.shape[0], rate_hz, samples.shape[1]


def _decoded(content: bytes) -> tuple[np.ndarray, int]:
    """The samples in a file, float32 (frames, channels) from -1 to 1, and their rate.

    Raises
    ------
    ValueError
        when it cannot be played as it is.
    """
    try:
        import soundfile
    except (ImportError, OSError):  # it brings the library that it loads, but not for every system
        raise ValueError(
            "sound files cannot be read on this computer, which lacks the library libsndfile: install it (Debian,"
            " Ubuntu: apt-get install libsndfile1)"
        ) from None

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            if file.format not in _FORMATS or file.subtype not in _SAMPLES:
                raise ValueError(
                    f"the sound is kept as {file.format} ({file.subtype}), which not every program plays alike: save it"
                    " as WAV with 16 bits"
                )
            if file.channels > 2:
                raise ValueError(f"the sound has {file.channels} channels; one (mono) or two (stereo) are possible")
            if not RATES_HZ[0] <= file.samplerate <= RATES_HZ[1]:
                raise ValueError(
                    f"the sound has {file.samplerate:,} samples a second; from {RATES_HZ[0]:,} to {RATES_HZ[1]:,} are"
                    " possible: save it at 48,000"
                )
            if file.frames > MAX_SECONDS * file.samplerate:
                raise ValueError(
                    f"the sound lasts {file.frames / file.samplerate:.0f} s; at most {MAX_SECONDS} s are possible:"
                    " cut it"
                )
            if (
                content[:4] == b"RIFF"
                and (said := int.from_bytes(content[4:8], "little")) not in _UNKNOWN_LENGTHS
                and said + 8 > len(content) + 1
            ):
                raise ValueError(
                    f"the sound is broken (the file should have {said + 8:,} bytes and has {len(content):,}): save it"
                    " again"
                )
            samples, rate_hz = file.read(dtype="float32", always_2d=True), int(file.samplerate)
            if not len(samples) or len(samples) < file.frames:
                raise ValueError(
                    "the sound is empty"
                    if not len(samples)
                    else "the sound is broken (its end is missing): save it again"
                )
    except soundfile.SoundFileError:
        raise ValueError("the file holds no sound that could be read (WAV, FLAC or Ogg Vorbis)") from None
    if not np.isfinite(samples).all() or (file.subtype != "VORBIS" and np.abs(samples).max() > 1):
        raise ValueError("the sound has samples beyond full scale, which would be cut off: save it less loud")
    return np.clip(samples, -1, 1), rate_hz


@lru_cache(maxsize=32)
def samples_of(sha256: str) -> tuple[np.ndarray, int]:
    """The samples of a sound, float32 (frames, channels) from -1 to 1, and their rate (Hz).

    Raises
    ------
    SpanLabError
        when its file has gone or changed.
    """
    try:
        samples, rate_hz = _decoded(content_of(sha256, noun="sound"))
    except ValueError as error:
        raise SpanLabError(f"a sound cannot be played: {error}") from None
    samples.flags.writeable = False
    return samples, rate_hz


@lru_cache(maxsize=64)
def wav_file(sha256: str, volume: float = 1.0) -> bytes:
    """A sound as a WAV file of 16 bits that holds its samples and nothing else: what programs write
    beside them (titles, names) is left out.

    Raises
    ------
    SpanLabError
        when its file has gone or changed.
    """
    samples, rate_hz = samples_of(sha256)
    return _wav(samples * np.float64(volume), rate_hz)


@lru_cache(maxsize=4)
def tone_file(frequency_hz: int, ms: int, rate_hz: int = 16_000) -> bytes:
    """A tone as a WAV file."""
    return _wav(0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(rate_hz * ms // 1000) / rate_hz)[:, None], rate_hz)


def _wav(samples: np.ndarray, rate_hz: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(samples.shape[1])
        wav.setsampwidth(2)
        wav.setframerate(rate_hz)
        wav.writeframes(np.clip(np.round(samples * 32768), -32768, 32767).astype("<i2").tobytes())
    return file.getvalue()
