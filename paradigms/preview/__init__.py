"""What a trial looks like before anybody takes it: its timeline as a picture, worked examples, and how long its phases last."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
