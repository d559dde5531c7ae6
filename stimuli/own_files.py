"""Files of a laboratory's own (images, sounds): their names, and their content by its hash.

A display names a file by the SHA-256 of its content and by nothing else, so that neither the name
of a file nor its folder reaches anybody who answers. Where a file with this content lies is known
here, for as long as the program runs. What an image or a sound must be is here, too.
"""

from __future__ import annotations

import hashlib
import io
import re
import wave
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from typing_extensions import override

from ..core.errors import SpanLabError
from ..core.registry import nearest

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about a file without its content.

    Parameters
    ----------
    sha256 : of the file's content
    """

    #: what one is called, and what several are: the key of a paradigm that lists them, and the
    #: folder of their copies in a session
    noun: ClassVar[str]
    nouns: ClassVar[str]
    #: how the names of such files end, and one of them as an example
    suffixes: ClassVar[Sequence[str]]
    instance: ClassVar[str]
    #: the largest file, in bytes
    most_bytes: ClassVar[int]

    sha256: str

    def to_record(self) -> dict[str, Any]:
        """As a paradigm keeps it."""
        return asdict(self)

    @classmethod
    def recorded(cls, value: Any) -> Self | None:
        """The facts that a paradigm keeps; None where somebody has written something else."""
        names = {field.name for field in fields(cls)}
        return cls(**value) if isinstance(value, Mapping) and set(cast("Mapping[str, Any]", value)) == names else None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Look at a file, and remember where it lies.

        Raises
        ------
        ValueError
            when it cannot be used as it is.
        """
        content = _read_content(path, cls)
        sha256 = hashlib.sha256(content).hexdigest()
        if (cls, sha256) not in _LOOKED_AT:
            _LOOKED_AT[cls, sha256] = cls(sha256, *cls.measured(content))
        remember(sha256, path)
        return cast(Self, _LOOKED_AT[cls, sha256])

    @staticmethod
    def measured(content: bytes) -> tuple[int, ...]:
        """The facts besides the hash.

        Raises
        ------
        ValueError
            when a file with this content cannot be used as it is.
        """
        raise NotImplementedError


#: contents that were looked at, by their hash
_LOOKED_AT: dict[tuple[type[FileFacts], str], FileFacts] = {}
_Facts = TypeVar("_Facts", bound=FileFacts)
#: The files of a paradigm, by name.
Files = Mapping[str, FileFacts]


def name_problem(name: str, kind: type[FileFacts]) -> str:
    """Why a text cannot be the name of a file of a paradigm; empty when it can."""
    path = PurePosixPath(name)
    if "\\" in name:
        return f"write folders with /, as in {kind.instance}"
    if path.is_absolute() or re.match(r"[A-Za-z]:", name) or ".." in path.parts:
        return (
            f"{kind.nouns} lie in the folder of the paradigm, or in folders below it: write the path from there, as in"
            f" {kind.instance}; copy the file there if need be"
        )
    if path.suffix.lower() not in kind.suffixes:
        return f"{with_article(kind.noun)} file ends in {', '.join(kind.suffixes[:-1])} or {kind.suffixes[-1]}"
    return ""


def with_article(noun: str) -> str:
    """``an image``, ``a sound``."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def checked_name(kind: type[FileFacts]) -> Callable[[str], str]:
    """Return a validator that refuses a text that cannot be the name of a file of this kind, with a
    ValueError."""

    def check(name: str) -> str:
        if problem := name_problem(name, kind):
            raise ValueError(problem)
        return name

    return check


def facts_named(files: Files, name: str, kind: type[_Facts]) -> _Facts:
    """Return the facts about a file of a paradigm.

    Raises
    ------
    ValueError
        when the paradigm has no such file; the message names the nearest.
    """
    facts = files.get(name)
    if isinstance(facts, kind):
        return facts
    near = nearest(name, [other for other, one in files.items() if isinstance(one, kind)])
    raise ValueError(
        f"'{name}' is not among the {kind.nouns} of this paradigm{near}: there is no such file beside it, or an"
        " expression puts the name together; then name its folder at the top, such as"
        f" {kind.nouns}: [{PurePosixPath(kind.instance).parent}]"
    )


def without_paradigm(name: str, kind: type[FileFacts]) -> SpanLabError:
    """The error of a display that asks for a file by its name and belongs to no paradigm."""
    return SpanLabError(f"the {kind.noun} '{name}' belongs to a paradigm, and is looked for in its folder")


#: by the hash of a content: the files in which it was seen
_PLACES: dict[str, dict[Path, None]] = {}


def remember(sha256: str, path: Path) -> None:
    """Note that a file should have the content with this hash; it is looked at when it is needed."""
    _PLACES.setdefault(sha256, {})[path] = None


def places() -> list[tuple[str, Path]]:
    """The hashes of all contents, each with a file in which it was seen: another process has seen none of them."""
    return [(sha256, path) for sha256, paths in [*_PLACES.items()] for path in [*paths]]


def _read_content(path: Path, kind: type[FileFacts]) -> bytes:
    """The content of a file.

    Raises
    ------
    ValueError
        when it is missing, or too large.
    """
    try:
        if (size := path.stat().st_size) > kind.most_bytes:
            raise ValueError(
                f"the file has {size / 1e6:.1f} MB; {kind.nouns} have at most {kind.most_bytes // 1_000_000} MB: save"
                " it smaller"
            )
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror or error}") from None


def content_of(sha256: str, name: str = "", noun: str = "image") -> bytes:
    """The content with a hash, from one of the files in which it was seen.

    Parameters
    ----------
    name : of the file, for a message
    noun : what it is, for a message

    Raises
    ------
    SpanLabError
        when none of them has it any more.
    """
    places = _PLACES.get(sha256, {})
    for path in places:
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    which = f"the {noun} {name}" if name else with_article(noun)
    changed = [str(path) for path in places if path.exists()]
    if changed:
        raise SpanLabError(
            f"{which} has changed: {changed[0]} does not have the recorded content (SHA-256 {sha256[:16]}...); restore"
            " the original file"
        )
    where = f"; it was at {', '.join(map(str, places))}" if places else ""
    raise SpanLabError(
        f"{which} is missing: no file with its content is known (SHA-256 {sha256[:16]}...){where}. Put it back"
    )


def suffix_of(sha256: str) -> str:
    """Return the suffix of the file with this content."""
    return next((path.suffix.lower() for path in _PLACES.get(sha256, {})), "")


_PICTURES = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
#: the longest side of an image, in pixels
MAX_SIDE = 4096
#: how pixels may be kept in a file; others (CMYK, 16 bits) would be turned into other colours
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")


@dataclass(frozen=True, slots=True)
class ImageFacts(FileFacts):
    """The facts about an image without its pixels.

    Parameters
    ----------
    width, height : in pixels, as it is meant to be seen
    """

    noun: ClassVar[str] = "image"
    nouns: ClassVar[str] = "images"
    suffixes: ClassVar[Sequence[str]] = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
    instance: ClassVar[str] = "faces/01.png"
    most_bytes: ClassVar[int] = 20_000_000

    width: int
    height: int

    @staticmethod
    @override
    def measured(content: bytes) -> tuple[int, ...]:
        return _opened(content).size


def _opened(content: bytes) -> Image.Image:
    """The image in a file, turned as its camera says.

    Raises
    ------
    ValueError
        when it cannot be shown as it is.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(content), formats=_PICTURES)
        if max(image.size) > MAX_SIDE:
            raise ValueError(
                f"the image has {image.width} x {image.height} pixels; at most {MAX_SIDE} on each side are possible:"
                " save it smaller"
            )
        if getattr(image, "n_frames", 1) > 1:
            raise ValueError(
                "the image is animated; a display stands still: save one of its frames, or show one display after"
                " another"
            )
        if image.mode not in _MODES:
            raise ValueError(
                f"the image's colours are kept as {image.mode}, which would change on the screen: save it as RGB with 8"
                " bits, such as a PNG"
            )
        image.load()
        turned = ImageOps.exif_transpose(image)
    except UnidentifiedImageError:
        raise ValueError("the file holds no image that could be read (PNG, JPEG, BMP, GIF or WebP)") from None
    except Image.DecompressionBombError:
        raise ValueError(
            f"the image is far too large; at most {MAX_SIDE} pixels on each side are possible: save it smaller"
        ) from None
    except (OSError, SyntaxError, EOFError) as error:
        raise ValueError(f"the image is broken ({error}): save it again") from None
    return turned


@lru_cache(maxsize=64)
def _pixels(sha256: str) -> Image.Image:
    try:
        return _opened(content_of(sha256)).convert("RGBA")
    except ValueError as error:
        raise SpanLabError(f"an image cannot be drawn: {error}") from None


@lru_cache(maxsize=256)
def pixels_at(sha256: str, width: int, height: int) -> Image.Image:
    """An image at a size in pixels, see-through where its file is.

    Raises
    ------
    SpanLabError
        when its file has gone or changed.
    """
    from PIL import Image

    image = _pixels(sha256)
    if image.size == (width, height):
        return image
    if image.getchannel("A").getextrema()[0] == 255:
        return image.resize((width, height), Image.Resampling.LANCZOS)
    # colours of see-through pixels must not shine through at edges: they count as much as they are
    # seen
    return image.convert("RGBa").resize((width, height), Image.Resampling.LANCZOS).convert("RGBA")


#: the longest sound (s)
MAX_SECONDS = 600
#: sample rates (Hz) that sound devices can play, or sounds can be converted from
RATES_HZ = (8_000, 192_000)
#: how samples may be kept; what others (ADPCM, MP3) give depends on who decodes them, or begins
#: with a silence of their own
_SOUNDS = ("WAV", "WAVEX", "FLAC", "OGG")
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
            if file.format not in _SOUNDS or file.subtype not in _SAMPLES:
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
