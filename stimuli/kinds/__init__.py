"""The stimuli, one family a file. Importing this package registers them all."""

from . import arrays, bars, boxes, figure, lettering, matrix, noise, plain, span, squares, switching, vocabulary

__all__ = ["arrays", "bars", "boxes", "figure", "lettering", "matrix", "noise", "plain", "span", "squares", "switching", "vocabulary"]
