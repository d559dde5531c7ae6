"""Training: from a config to a checkpoint, a log and a model card."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
