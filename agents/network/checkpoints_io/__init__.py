"""Files of trained networks: SpanLab's own and those of the WorM benchmark, and the card that goes
with each."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
