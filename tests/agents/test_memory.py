"""What simulated observers with a limited memory remember: the first and the last items of a list, and
more with more places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spanlab.agents.oracles import CapacityAgent, LimitedCapacity
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.sessions import Request, Runner, begin, read_responses

TIMES = 1500


def kept(observer: LimitedCapacity, size: int) -> np.ndarray:
    """How often each item of a list is in memory when the list is over."""
    counts = np.zeros(size)
    for seed in range(TIMES):
        for item in observer.fresh(seed)._fill(size):  # type: ignore[attr-defined]
            counts[item - 1] += 1
    return counts / TIMES


def test_the_first_item_is_remembered_better_than_the_next_and_the_last_best() -> None:
    shares = kept(LimitedCapacity(places=3), 8)
    assert shares[0] > shares[1] + 0.15, "primacy"
    assert shares[-1] == 1.0
    assert all(np.diff(shares[3:]) > 0), "recency"


def test_without_primacy_the_first_item_is_as_the_next() -> None:
    shares = kept(LimitedCapacity(places=3, primacy=1.0), 8)
    assert shares[0] == pytest.approx(shares[1], abs=0.04)


@pytest.mark.parametrize("places", [1, 2, 4, 8])
def test_as_many_items_are_kept_as_there_are_places(places: int) -> None:
    assert kept(LimitedCapacity(places=places), 8).sum() == pytest.approx(places)


def test_questions_let_items_go(tmp_path: Path) -> None:
    """With room for all items, the first question is answered best and the last one worst."""
    paradigm = load_paradigm("vsr")
    plan = plan_session(paradigm, 1, levels={"list_length": [6]}, trials=60)
    agent = CapacityAgent(LimitedCapacity(places=6, decay=0.2))
    session = begin(tmp_path, paradigm, agent, plan, Request(source="vsr"))
    Runner(session, agent).run()
    right = read_responses(session.folder).groupby("step")["correct"].mean()
    assert right.iloc[0] == 1.0
    assert right.iloc[-1] < 0.7


@pytest.mark.parametrize("values", [{"places": 0}, {"primacy": 0.0}, {"decay": 1.0}, {"decay": -0.1}])
def test_a_memory_that_cannot_be_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(SpanLabError, match="needs at least 1 place, primacy above 0 and decay from 0 to below 1"):
        LimitedCapacity(**values)  # type: ignore[arg-type]
