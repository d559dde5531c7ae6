"""Image files of a laboratory's own: what a file must be, and its pixels by the hash of its
content."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from ..core.errors import SpanLabError
from .own_files import FileFacts, content_of

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
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
