"""The draws of one trial: made from its random streams, or given (trials that come from elsewhere)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ParadigmError, SpanLabError
from ..core.registry import nearest
from .identity import lent_stream
from .language.diagnostics import listed
from .language.limits import LimitError, weigh
from .paradigm import Draw, Paradigm

#: Draws by name, as plain values.
Draws = Mapping[str, Any]

_NO_STREAM = np.random.RandomState(0)


class GivenDrawError(SpanLabError):
    """What is wrong with a draw that was given.

    Parameters
    ----------
    paradigm, draw : their names
    why : what was expected and found
    """

    def __init__(self, paradigm: str, draw: str, why: str) -> None:
        self.draw, self.why = draw, why
        super().__init__(f"{paradigm}: the draw '{draw}' that was given: {why}")


def is_random(draw: Draw) -> bool:
    """Whether a draw needs a stream; expressions, lists and arrangements follow from what was drawn before."""
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
            there = f"; there are {listed(names)}" if names else "; it draws nothing"
            raise SpanLabError(f"{paradigm.name} has no draw '{name}'{nearest(name, names) or there}")
    for name in needed:
        if name not in draws:
            raise SpanLabError(f"{paradigm.name}: the draw '{name}' is missing; draws are given together or not at all ({listed(needed)})")
    own: dict[str, Any] = {}
    for name, value in draws.items():
        try:
            weigh(value)
        except LimitError as error:
            raise GivenDrawError(paradigm.name, name, str(error)) from None
        own[name] = _copied(value)
    return own


def draw_all(paradigm: Paradigm, env: dict[str, Any], root: str, given: Draws | None = None) -> dict[str, Any]:
    """``env`` with all draws in it, in the order of the file.

    Parameters
    ----------
    env : generator and factor levels
    root : of the trial's streams (:func:`.identity.trial_root`)
    given : from :func:`given_draws`; None = everything is drawn

    Raises
    ------
    ParadigmError
        when the file asks for the impossible.
    GivenDrawError
        when a given value is none that could have been drawn.
    """
    reader = paradigm.reader
    for draw in paradigm.draws:
        path = ("draw", draw.name)
        if draw.sampler is None:
            assert draw.value is not None
            env[draw.name] = given[draw.name] if given and draw.name in given else reader.fill(draw.value, path, env)
            continue
        sampler = draw.sampler.build(env)
        if given is not None and draw.name in given:
            try:
                sampler.check(given[draw.name])
            except ValueError as error:
                raise GivenDrawError(paradigm.name, draw.name, str(error)) from None
            env[draw.name] = given[draw.name]
            continue
        try:
            if sampler.arranges:
                value = sampler.draw(_NO_STREAM)
            else:
                with lent_stream(root, draw.name) as random:
                    value = sampler.draw(random)
            weigh(value)
        except ValueError as error:
            raise ParadigmError([reader.document.problem(path, str(error))]) from None
        env[draw.name] = value
    return env


def _copied(value: Any) -> Any:
    """A plain value as JSON would give it back, shared with nobody."""
    if isinstance(value, (list, tuple)):
        return [_copied(part) for part in value]
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return value
