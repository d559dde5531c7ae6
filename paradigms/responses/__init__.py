"""Response kinds. Each is loaded when it is first used."""

from ...core.doors import door
from .base import RESPONSES

RESPONSES.declare(
    __name__,
    {
        "cells": ("cells",),
        "choice": ("choice",),
        "continuous": ("continuous",),
        "rating": ("rating",),
        "sequence": ("sequence",),
        "text": ("text", "open_text"),
    },
)

__getattr__, __dir__, __all__ = door(__name__, __file__)
