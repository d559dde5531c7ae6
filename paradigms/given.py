"""Draws that somebody else has made: trials that come from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core.errors import SpanLabError
from ..core.registry import nearest
from .identity import canonical
from .language.diagnostics import listed
from .language.limits import LimitError, weigh
from .paradigm import Draw, Paradigm

#: Draws by name, as plain values.
Draws = Mapping[str, Any]


class GivenDrawError(SpanLabError):
    """Raised for a draw that was given and does not fit its paradigm.

    Parameters
    ----------
    paradigm, draw : their names
    why : what was expected and found
    """

    def __init__(self, paradigm: str, draw: str, why: str) -> None:
        self.draw, self.why = draw, why
        super().__init__(f"{paradigm}: the draw '{draw}' that was given: {why}")


def is_random(draw: Draw) -> bool:
    """Return whether a draw needs a stream; expressions, lists and arrangements follow from what
    was drawn before."""
    return draw.sampler is not None and not draw.sampler.cls.arranges


def given_draws(paradigm: Paradigm, draws: Draws) -> dict[str, Any]:
    """Draws that somebody else has made, as values of the compiler's own.

    Raises
    ------
    SpanLabError
        for an unknown name, or a value that is not plain.
    """
    names = [draw.name for draw in paradigm.draws]
    for name in draws:
        if name not in names:
            hint = f"; there are {listed(names)}" if names else "; it draws nothing"
            raise SpanLabError(f"{paradigm.name} has no draw '{name}'{nearest(name, names) or hint}")
    copies: dict[str, Any] = {}
    for name, value in draws.items():
        try:
            weigh(value)
        except LimitError as error:
            raise GivenDrawError(paradigm.name, name, str(error)) from None
        copies[name] = json.loads(canonical(value))
    return copies
