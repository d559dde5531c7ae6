"""A few combinations of factor levels that stand for all: every level of every factor occurs among
them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spanlab.paradigms import Paradigm, compile_trial


def some_conditions(paradigm: Paradigm, most: int = 12) -> list[dict[str, Any]]:
    """All combinations when there are few; else enough that every level occurs, and further ones at
    random (always the same) up to ``most``."""
    combinations = paradigm.combinations()
    if len(combinations) <= most:
        return combinations
    order = [combinations[n] for n in np.random.RandomState(7).permutation(len(combinations))]
    chosen: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    for combination in order:
        levels = {(name, repr(level)) for name, level in combination.items()}
        if not levels <= seen:
            chosen.append(combination)
            seen |= levels
    return chosen + [combination for combination in order if combination not in chosen][: max(0, most - len(chosen))]


def trials_for(paradigm: Paradigm, questions: int) -> int:
    """How many trials have about so many questions."""
    conditions = some_conditions(paradigm)
    asks = sum(compile_trial(paradigm, levels, 1).asks for levels in conditions) / len(conditions)
    return math.ceil(questions / asks)
