"""The stimuli, one family a file. Importing this package registers them all."""

from . import (
    arrays,
    bars,
    blocks,
    boxes,
    figure,
    images,
    lettering,
    matrix,
    noise,
    oriented,
    plain,
    reporting,
    sounds,
    span,
    squares,
    switching,
    together,
    vocabulary,
)
from .plain import Tone
from .sounds import ShownSound

__all__ = [
    "ShownSound",
    "Tone",
    "arrays",
    "bars",
    "blocks",
    "boxes",
    "figure",
    "images",
    "lettering",
    "matrix",
    "noise",
    "oriented",
    "plain",
    "reporting",
    "sounds",
    "span",
    "squares",
    "switching",
    "together",
    "vocabulary",
]
