"""Image files of a laboratory's own: what a file must be, and its pixels by the hash of its content.

A display names an image by the SHA-256 of its file and by nothing else, so that neither the name of a file nor its folder reaches anybody who answers. Where a
file with this content lies is known here, for as long as the program runs.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..core.errors import SpanLabError

if TYPE_CHECKING:
    from PIL import Image

#: how the names of image files end
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
#: the largest file, in bytes, and the longest side of an image, in pixels
MAX_BYTES, MAX_SIDE = 20_000_000, 4096
#: how pixels may be kept in a file; others (CMYK, 16 bits) would be turned into other colours
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of an image without its pixels.

    Parameters
    ----------
    sha256 : of the file's content
    width, height : in pixels, as it is meant to be seen
    """

    sha256: str
    width: int
    height: int

    def to_record(self) -> dict[str, Any]:
        """As a paradigm keeps it."""
        return asdict(self)

    @classmethod
    def recorded(cls, value: Any) -> ImageFacts | None:
        """The facts that a record holds; None when it holds something else."""
        if not isinstance(value, Mapping) or set(value) != {"sha256", "width", "height"}:
            return None
        sides = value["width"], value["height"]
        if not all(isinstance(side, int) and not isinstance(side, bool) and 1 <= side <= MAX_SIDE for side in sides) or not _HASH.fullmatch(
            str(value["sha256"])
        ):
            return None
        return cls(str(value["sha256"]), *sides)


def name_problem(name: str) -> str:
    """Why a text cannot be the name of an image file of a paradigm; empty when it can."""
    path = PurePosixPath(name)
    if "\\" in name:
        return "write folders with /, as in faces/01.png"
    if path.is_absolute() or re.match(r"[A-Za-z]:", name) or ".." in path.parts:
        return "images lie in the folder of the paradigm, or in folders below it: write the path from there, as in faces/01.png; copy the file there if need be"
    if path.suffix.lower() not in SUFFIXES:
        return f"an image file ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
    return ""


#: by the hash of a content: the files in which it was seen
_PLACES: dict[str, dict[Path, None]] = {}
#: hashes of contents that were looked at
_LOOKED_AT: dict[str, ImageFacts] = {}


def remember(sha256: str, path: Path) -> None:
    """Note that a file should have the content with this hash; it is looked at when its pixels are needed."""
    _PLACES.setdefault(sha256, {})[path] = None


def read_facts(path: Path) -> ImageFacts:
    """Look at an image file, and remember where it lies.

    Raises
    ------
    ValueError
        when it cannot be shown as it is: missing, broken, too large, moving, or of colours that would change.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"the file has {path.stat().st_size / 1e6:.1f} MB; images have at most {MAX_BYTES // 1_000_000} MB: save it smaller")
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror or error}") from None
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 not in _LOOKED_AT:
        opened = _opened(content)
        _LOOKED_AT[sha256] = ImageFacts(sha256, *opened.size)
    remember(sha256, path)
    return _LOOKED_AT[sha256]


def _opened(content: bytes) -> Image.Image:
    """The image in a file, turned as its camera says.

    Raises
    ------
    ValueError
        when it cannot be shown as it is.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(content), formats=_FORMATS)
        if max(image.size) > MAX_SIDE:
            raise ValueError(f"the image has {image.width} x {image.height} pixels; at most {MAX_SIDE} on each side are possible: save it smaller")
        if getattr(image, "n_frames", 1) > 1:
            raise ValueError("the image is animated; a display stands still: save one of its frames, or show one display after another")
        if image.mode not in _MODES:
            raise ValueError(f"the image's colours are kept as {image.mode}, which would change on the screen: save it as RGB with 8 bits, such as a PNG")
        image.load()
        turned = ImageOps.exif_transpose(image)
    except UnidentifiedImageError:
        raise ValueError("the file holds no image that could be read (PNG, JPEG, BMP, GIF or WebP)") from None
    except Image.DecompressionBombError:
        raise ValueError(f"the image is far too large; at most {MAX_SIDE} pixels on each side are possible: save it smaller") from None
    except (OSError, SyntaxError, EOFError) as error:
        raise ValueError(f"the image is broken ({error}): save it again") from None
    return turned


def content_of(sha256: str, name: str = "") -> bytes:
    """The content with a hash, from one of the files in which it was seen.

    Parameters
    ----------
    name : of the image, for a message

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
    which = f"the image {name}" if name else "an image"
    changed = [str(path) for path in places if path.exists()]
    if changed:
        raise SpanLabError(f"{which} has changed: {changed[0]} does not have the recorded content (SHA-256 {sha256[:16]}...); restore the original file")
    where = f"; it was at {', '.join(map(str, places))}" if places else ""
    raise SpanLabError(f"{which} is missing: no file with its content is known (SHA-256 {sha256[:16]}...){where}. Put it back")


def suffix_of(sha256: str) -> str:
    """How the name of a file with this content ends."""
    return next((path.suffix.lower() for path in _PLACES.get(sha256, {})), "")


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
    # colours of see-through pixels must not shine through at edges: they count as much as they are seen
    return image.convert("RGBa").resize((width, height), Image.Resampling.LANCZOS).convert("RGBA")
