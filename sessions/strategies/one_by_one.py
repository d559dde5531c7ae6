"""Trials one by one: each is over before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...paradigms import PlannedTrial
from ..record.staircase import Staircase
from .taker import TrialTaker

#: takes a finished trial and the scores of its items
After = Callable[[PlannedTrial, Sequence[Mapping[str, Any]]], None]


async def one_by_one(
    taker: TrialTaker,
    trials: Iterable[PlannedTrial],
    tell: Callable[[], None],
    before: Callable[[PlannedTrial], None] = lambda planned: None,
    after: Sequence[After] = (),
) -> None:
    """Take trials in their order.

    Parameters
    ----------
    tell : called after each trial, failed ones too
    before : called before each trial
    after : called after each trial that did not fail
    """
    for planned in trials:
        taker.agent.ready()
        before(planned)
        judged = await taker.take_or_fail(planned, planned.interval_ms)
        if judged is not None:
            scores = [score for verdict in judged for score in verdict.scores]
            for follow in after:
                follow(planned, scores)
        tell()


def at_levels(staircase: Staircase | None, trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
    """The trials of a session; those of an adaptive one have the level that the answers before ask
    for, and end with the staircase."""
    for planned in trials:
        if staircase is None:
            yield planned
        elif staircase.over:
            return
        else:
            yield replace(planned, levels={**planned.levels, planned.varies: staircase.level})
