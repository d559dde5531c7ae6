"""A thousand presses through the real window, made by another process: none lost, none in the wrong
step, and dated as the X server dates them."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from processes import bench

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")


def thousand(presses: int) -> dict[str, Any]:
    return bench("lab/answers_bench", "thousand", PRESSES=str(presses))["thousand"]


def errors(facts: dict[str, Any]) -> dict[str, np.ndarray]:
    """How far the recorded time of every press lies (ms) from when it was handed to the X server,
    and from when the server says that it happened.

    Every press is found exactly once, in the step during which it was recorded to have happened.
    """
    touches, injected, onsets = facts["touches"], facts["injected"], facts["onsets"]
    told: dict[str, list[tuple[float, int]]] = {}
    for step, key, at in facts["told"]:
        told.setdefault(key, []).append((at, step))
        following = onsets[step + 1] if step + 1 < len(onsets) else float("inf")
        # A question takes answers until its window closes, also on a frame that came a little
        # early.
        open_until = onsets[step] + facts["window_ms"] / 1000 if facts["asked"][step] else 0.0
        assert onsets[step] <= at < max(following, open_until + 1e-6)
    assert sum(map(len, told.values())) == len(touches)
    by_key: dict[str, list[int]] = {}
    for number in sorted(range(len(touches)), key=lambda number: injected[number][0]):
        by_key.setdefault(str(touches[number][1] + 1), []).append(number)
    found: dict[str, list[float]] = {"handed over": [], "server": [], "taken": []}
    for key, numbers in by_key.items():
        assert len(told[key]) == len(numbers)
        for (at, step), number in zip(sorted(told[key]), numbers, strict=True):
            before, after, server = injected[number]
            found["handed over"].append((at - before) * 1000)
            found["taken"].append((after - before) * 1000)
            found["server"].append(at * 1000 - server)
            # The server dates to a whole millisecond: what it says to have happened before a step
            # came on is not in that step, but for the delay of a press.
            assert server + 1 > onsets[step] * 1000 - 1 or (at * 1000 - server) > 1
    return {name: np.array(values) for name, values in found.items()}


def two_at_once(facts: dict[str, Any]) -> int:
    return sum(one[0] == other[0] for one, other in itertools.pairwise(facts["touches"]))


@pytest.mark.slow
def test_presses_are_all_there_and_in_their_steps() -> None:
    facts = thousand(80)
    found = errors(facts)
    assert len(found["server"]) == 80
    assert two_at_once(facts) > 5
    assert abs(facts["drift_ms"]) < 5
    assert -0.5 < np.median(found["server"]) < 3
    assert found["handed over"].min() > -0.5  # nothing is dated before it happened


@pytest.mark.soak
@pytest.mark.slow
def test_a_thousand_presses_are_dated_to_two_milliseconds() -> None:
    """The delay of the injector is taken off by comparing with the server's own time of each press
    (whole ms, which adds up to 1 ms of error)."""
    facts = thousand(1000)
    found = errors(facts)
    print(
        {name: [round(float(np.percentile(values, q)), 3) for q in (50, 95, 99, 100)] for name, values in found.items()}
    )
    assert len(found["server"]) == 1000
    assert two_at_once(facts) > 100
    holds = [held for _, _, held in facts["touches"]]
    assert min(holds) < 0.01
    assert max(holds) > 0.39
    assert np.percentile(np.abs(found["server"]), 99) < 2
