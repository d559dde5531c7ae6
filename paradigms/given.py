"""Draws that somebody else has made: trials that come from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import SpanLabError
from ..core.registry import nearest
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
        for an unknown name, a random draw that is missing, or a value that is not plain.
    """
    names = [draw.name for draw in paradigm.draws]
    needed = [draw.name for draw in paradigm.draws if is_random(draw)]
    for name in draws:
        if name not in names:
            hint = f"; there are {listed(names)}" if names else "; it draws nothing"
            raise SpanLabError(f"{paradigm.name} has no draw '{name}'{nearest(name, names) or hint}")
    for name in needed:
        if name not in draws:
            raise SpanLabError(
                f"{paradigm.name}: the draw '{name}' is missing; draws are given together or not at all"
                f" ({listed(needed)})"
            )
    copies: dict[str, Any] = {}
    for name, value in draws.items():
        try:
            weigh(value)
        except LimitError as error:
            raise GivenDrawError(paradigm.name, name, str(error)) from None
        copies[name] = _copied(value)
    return copies


def _copied(value: Any) -> Any:
    """A plain value as JSON would give it back, shared with nobody."""
    if isinstance(value, (list, tuple)):
        return [_copied(part) for part in value]
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return value
