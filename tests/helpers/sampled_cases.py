"""The cases of a test that the quick part tries: a sample by a fixed seed, in which every value of
every parameter comes before any comes twice.

``@pytest.mark.sampled(12)`` on a test with 165 cases leaves twelve in the quick part; the others
are slow; ``@pytest.mark.soaked(12)`` on a slow test leaves twelve in the whole suite, and the others
are long soaks. A case that is asked for by its name is always run.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest


def parameters(item: pytest.Item) -> set[tuple[str, int]]:
    """The values of a case: the name of each parameter, and which object is its value."""
    return (
        {(name, id(value)) for name, value in item.callspec.params.items()}
        if isinstance(item, pytest.Function)
        else set()
    )


def sample(cases: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
    """The same ``count`` cases each time, those with values that none has had yet first."""
    drawn = random.Random(cases[0].nodeid.partition("[")[0]).sample(cases, len(cases))
    chosen: list[pytest.Item] = []
    tried: set[tuple[str, int]] = set()
    while drawn and len(chosen) < count:
        case = max(drawn, key=lambda case: len(parameters(case) - tried))
        drawn.remove(case)
        chosen.append(case)
        tried |= parameters(case)
    return chosen


def mark_others(items: Iterable[pytest.Item]) -> None:
    """The cases of sampled tests that are not in the sample become slow, and those of soaked ones long soaks."""
    for name, others in (("sampled", pytest.mark.slow), ("soaked", pytest.mark.soak)):
        tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            if item.get_closest_marker(name) is not None:
                tests[item.nodeid.partition("[")[0]].append(item)
        for cases in tests.values():
            marker = cases[0].get_closest_marker(name)
            assert marker is not None
            chosen = set(sample(cases, marker.args[0]))
            for case in cases:
                if case not in chosen:
                    case.add_marker(others)
