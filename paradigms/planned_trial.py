"""A trial that is going to happen: what a design plans, and what a session compiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .compile import compile_trial
from .draws import Draws
from .paradigm import Generator, Paradigm
from .trial import Trial

#: ms between trials, for people, when a design says nothing (ours)
DEFAULT_INTERVAL_MS = 1000.0


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial that is going to happen.

    Parameters
    ----------
    block, trial : from 1; practice trials are numbered by themselves
    levels : of all crossed factors (random ones are drawn when the trial is compiled, unless given)
    seed : of the trial
    practice : whether it is practice
    interval_ms : blank time before the trial, for people
    draws : of a trial that comes from elsewhere, by name (:func:`.compile.compile_trial`); None = drawn from the seed
    name : of a trial that comes from elsewhere, such as ``train_000012``
    paired : of a trial that has what was drawn for a trial of another paradigm (:mod:`.pairing`), the ``trial_id`` of that one
    varies : in an adaptive design, the factor whose level is decided when the trials before are finished; ``levels`` has the first trial's
    """

    block: int
    trial: int
    levels: Mapping[str, Any]
    seed: int
    practice: bool = False
    interval_ms: float = DEFAULT_INTERVAL_MS
    draws: Draws | None = None
    name: str = ""
    varies: str = ""
    paired: str = ""

    def compile(self, paradigm: Paradigm, generator: Generator) -> Trial:
        """The trial itself; one that was compiled a while ago is not compiled again."""
        key = (repr(dict(self.levels)), self.seed, generator)
        return paradigm.compiled.get(key, self.draws, lambda: compile_trial(paradigm, self.levels, self.seed, generator, self.draws))


def one_of_each(plan: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    """The first trial of each combination of levels, and all whose draws are given."""
    seen: list[Mapping[str, Any]] = []
    found: list[PlannedTrial] = []
    known: set[int] = set()  # trials of one plan mostly share their levels
    for planned in plan:
        if planned.draws is None and (id(planned.levels) in known or planned.levels in seen):
            known.add(id(planned.levels))
            continue
        known.add(id(planned.levels))
        seen.append(planned.levels)
        found.append(planned)
    return found
