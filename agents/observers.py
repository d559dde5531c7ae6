"""Simulated observers by name, for agents and for the simulated participant."""

from __future__ import annotations

from ..core.errors import SpanLabError
from .oracles import Guessing, Ideal, Observer, capacity_observer
from .precision import precision_observer


def make_observer(name: str) -> Observer:
    """An observer by name: ``ideal``, ``chance``, ``capacity``, ``capacity:PLACES``, ``precision``
    or ``precision:SD``.

    Raises
    ------
    SpanLabError
        for an unknown one.
    """
    kind, _, detail = name.partition(":")
    if kind == "ideal" and not detail:
        return Ideal()
    if kind == "chance" and not detail:
        return Guessing()
    if kind == "capacity":
        return capacity_observer(detail)
    if kind == "precision":
        return precision_observer(detail)
    raise SpanLabError(
        f"unknown observer '{name}'; there are ideal, chance, capacity:PLACES (such as capacity:4) and precision:SD"
        " (such as precision:15)"
    )
