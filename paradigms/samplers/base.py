"""Samplers: what may be drawn at random once per trial. Each is one small class with declared parameters and its own random stream."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...components import Component, Registry


class Sampler(Component):
    """The base of every sampler; one that only ``arranges`` what was drawn before needs no stream of its own."""

    arranges: ClassVar[bool] = False

    def draw(self, random: np.random.RandomState) -> Any:
        """The drawn value: plain lists, dicts with names for fields, numbers and words.

        Raises
        ------
        ValueError
            when the parameters ask for the impossible; the message says what.
        """
        raise NotImplementedError


SAMPLERS: Registry[Sampler] = Registry("sampler", "spanlab.samplers")


def ints(values: np.ndarray) -> list[int]:
    """A numpy array of whole numbers as plain ints, fit for JSON and for hashing."""
    return [int(value) for value in values]
