"""The stimuli, one family a file. Importing this package registers them all."""

from . import arrays, bars, blocks, boxes, figure, images, lettering, matrix, noise, oriented, plain, reporting, sounds, span, squares, switching, together, vocabulary

__all__ = [
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
