"""The stimuli, one family a file. Importing this package registers them all."""

from . import arrays, boxes, lettering, matrix, plain, span, squares, switching

__all__ = ["arrays", "boxes", "lettering", "matrix", "plain", "span", "squares", "switching"]
