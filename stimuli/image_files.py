"""Image files of a laboratory's own: what a file must be, and its pixels by the hash of its
content."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from ..core.errors import SpanLabError
from .own_files import HASH, FileFacts, content_of, read_content, remember

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
#: the largest file, in bytes, and the longest side of an image, in pixels
MAX_BYTES, MAX_SIDE = 20_000_000, 4096
#: how pixels may be kept in a file; others (CMYK, 16 bits) would be turned into other colours
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
#: hashes of contents that were looked at
_LOOKED_AT: dict[str, ImageFacts] = {}


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

    width: int
    height: int

    @override
    def to_record(self) -> dict[str, Any]:
        """As a paradigm keeps it."""
        return asdict(self)

    @classmethod
    @override
    def recorded(cls, value: Any) -> ImageFacts | None:
        """The facts that a record holds; None when it holds something else."""
        if not isinstance(value, Mapping) or set(value) != {"sha256", "width", "height"}:
            return None
        sides = value["width"], value["height"]
        if not all(
            isinstance(side, int) and not isinstance(side, bool) and 1 <= side <= MAX_SIDE for side in sides
        ) or not HASH.fullmatch(str(value["sha256"])):
            return None
        return cls(str(value["sha256"]), *sides)

    @classmethod
    @override
    def read(cls, path: Path) -> ImageFacts:
        """Look at an image file, and remember where it lies.

        Raises
        ------
        ValueError
            when it cannot be shown as it is: missing, broken, too large, moving, or of colours that
            would change.
        """
        content = read_content(path, cls, MAX_BYTES)
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in _LOOKED_AT:
            opened = _opened(content)
            _LOOKED_AT[sha256] = cls(sha256, *opened.size)
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
