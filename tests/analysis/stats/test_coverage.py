"""Every row of the tables of coverage and size can be made: what the page says of one set of each
design."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
#: ways of making samples that take seconds to prepare
_LONG = {"of_model", "of_probit", "free_recall", "along", "serial_recall", "forced_choice"}


@pytest.fixture(scope="module")
def coverage() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import coverage as rows  # pyright: ignore[reportMissingImports]

        yield rows
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in ("coverage", "_few", "_samples", "_samples_of_figures"):
            sys.modules.pop(name, None)


def made(coverage: ModuleType, long: bool) -> list[str]:
    """Rows without an answer in the first sets, where there is one in nearly all sets."""
    missing = []
    for alike in coverage.made_alike(range(len(coverage.CASES))):
        if (coverage.CASES[alike[0]][4].__name__ in _LONG) == long:
            answers = coverage.run(alike, 3)
            missing += [f"{coverage.CASES[case][:3]}" for case, (_, many) in answers.items() if not many]
    return missing


@pytest.mark.slow
def test_rows_of_one_measure_are_made(coverage: ModuleType) -> None:
    assert Path(str(coverage.__file__)).parent == BENCHMARKS
    assert made(coverage, long=False) == []


@pytest.mark.slow
def test_rows_of_whole_figures_and_models_are_made(coverage: ModuleType) -> None:
    assert [row for row in made(coverage, long=True) if "near 100%" not in row] == []


@pytest.mark.slow
def test_rows_of_few_people_and_sessions_are_made(coverage: ModuleType) -> None:
    few = coverage._few
    for at, design in enumerate(few.DESIGNS):
        once, truth = design.make(design.sizes[-1])
        random, ends = few.Random(at), [once(few.Random(at)) for _ in range(2)]
        assert math.isfinite(truth), design
        assert all(len(limits) == 2 for limits in ends), design
        assert any(np.isfinite(once(random)).all() for _ in range(20)), design
    assert {size for design in few.DESIGNS for size in design.sizes} == {2, 3, 4, 5, 6, 8, 9, 12, 20, 24}
    assert all(design.sets >= 2000 for design in few.DESIGNS)
