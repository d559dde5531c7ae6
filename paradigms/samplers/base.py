"""Samplers: what may be drawn at random once per trial. Each is one small class with declared
parameters and its own random stream."""

from __future__ import annotations

import json
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np

from ...core.errors import shortened
from ...core.registry import Component, Registry, nearest


class Sampler(Component):
    """The base of every sampler; one that only ``arranges`` what was drawn before needs no stream
    of its own."""

    arranges: ClassVar[bool] = False

    def draw(self, random: np.random.RandomState) -> Any:
        """The drawn value: plain lists, dicts with names for fields, numbers and words.

        Raises
        ------
        ValueError
            when the parameters ask for the impossible; the message says what.
        """
        raise NotImplementedError

    @classmethod
    def vocabulary(cls) -> tuple[str, ...]:
        """The words from which it always draws; a network that reads vectors is given those of all
        of them."""
        return ()

    def check(self, value: Any) -> None:
        """Look at a value that somebody else has drawn (an imported trial): here, whether it has
        the form of one that is drawn. Who knows more says more.

        Parameters
        ----------
        value : a plain value

        Raises
        ------
        ValueError
            when it cannot have been drawn; the message says why.
        """
        try:
            like = _form(cast(Hashable, self))
        except TypeError:  # lists among the parameters: nothing that could be remembered
            like = self.draw(np.random.RandomState(0))
        problem = misfit(value, like)
        if problem is not None:
            raise ValueError(problem)


SAMPLERS: Registry[Sampler] = Registry("sampler", "spanlab.samplers")


@lru_cache(maxsize=256)
def _form(sampler: Any) -> Any:
    """A value of the form that a sampler draws. Some draw for long; checking thousands of trials
    needs it once."""
    return sampler.draw(np.random.RandomState(0))


def misfit(value: Any, like: Any, path: str = "") -> str | None:
    """Describe how the form of a plain value differs from that of another (lengths of lists, names
    of fields, numbers or words); None if it does not.

    A field that may be null may be anything; members of a list may come in another order.
    """
    at = path and f"{path}: "
    if like is None or (value is None and path):
        return None
    if type(like) is dict:
        if type(value) is not dict:
            return f"{at}expected the fields {', '.join(like)}; found {_brief(value)}"
        missing, unknown = (
            next((name for name in like if name not in value), None),
            next((name for name in value if name not in like), None),
        )
        if missing is not None or unknown is not None:
            return f"{at}{f'the field {missing!r} is missing' if missing is not None else f'unknown field {unknown!r}{nearest(unknown, like)}'}"  # noqa: E501
        return next(
            filter(None, (misfit(value[name], like[name], f"{path} > {name}" if path else name) for name in like)), None
        )
    if type(like) is list:
        if type(value) is not list or len(value) != len(like):
            return (
                f"{at}expected a list of {len(like)}; found"
                f" {f'one of {len(value)}' if type(value) is list else _brief(value)}"
            )
        for n, part in enumerate(value):
            problem = misfit(part, like[n], place := f"{path} > {n + 1}" if path else f"{n + 1}")
            if problem is not None and not any(misfit(part, other, place) is None for other in like):
                return problem
        return None
    for types, word in (((bool,), "true or false"), ((int, float), "a number"), ((str,), "a word")):
        if type(like) in types:
            return None if type(value) in types else f"{at}expected {word}; found {_brief(value)}"
    return None


def _brief(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))
