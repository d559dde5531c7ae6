"""Adaptive designs: a staircase over the levels of one factor. What a session plans ahead is all but that level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import SpanLabError
from .language.diagnostics import listed, show
from .language.schema import Adaptive


def stairs_of(combinations: Sequence[Mapping[str, Any]], adaptive: Adaptive, name: str) -> tuple[dict[str, Any], list[int | float]]:
    """What stays the same in all trials, and the levels in use, the lowest first.

    Parameters
    ----------
    combinations : of factor levels that the design leaves
    name : of the paradigm

    Raises
    ------
    SpanLabError
        when another factor has several levels, a level is no number, or the first trial's is not in use.
    """
    factor = adaptive.factor
    several = [other for other in combinations[0] if other != factor and any(one[other] != combinations[0][other] for one in combinations)]
    if several:
        raise SpanLabError(
            f"{name}: an adaptive design moves one factor ({factor}), so {listed(several)} must have one level: give it in the design, or by --set"
        )
    levels = {one[factor] for one in combinations}
    if any(isinstance(level, bool) or not isinstance(level, (int, float)) for level in levels):
        raise SpanLabError(f"{name}: the levels of an adaptive factor are numbers; those of {factor} are {listed(sorted(map(str, levels)))}")
    low, high = adaptive.least, adaptive.most
    stairs = sorted(level for level in levels if (low is None or level >= low) and (high is None or level <= high))
    if adaptive.start not in stairs:
        raise SpanLabError(f"{name}: an adaptive design begins at one of the levels in use ({listed(stairs) or 'none'}); found {show(adaptive.start)}")
    return {key: value for key, value in combinations[0].items() if key != factor}, stairs
