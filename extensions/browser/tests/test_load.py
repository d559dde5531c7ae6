"""Many visits at once, over real lines to a real server: nothing is lost, and nothing is counted
twice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="a part of a bare installation")

SERVE = Path(__file__).parents[3] / "benchmarks" / "serve.py"


@pytest.mark.slow
def test_of_twenty_visits_at_once_every_answer_is_recorded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("serve_benchmark", SERVE)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, benchmark)  # where dataclasses look for their names
    spec.loader.exec_module(benchmark)
    _, _, of_one = benchmark.measure(1, 2, tmp_path / "one")  # it loads what all need
    pages, looks, costs = benchmark.measure(
        20, 2, tmp_path / "data"
    )  # raises where an answer is lost, or counted twice
    assert all(len(page.waits) == 2 and page.answers for page in pages)
    assert looks, "the assistant's page was open meanwhile"
    assert costs.first_pages_s < 20 * 0.1, "a first page costs less than a tenth of a second of processor time"
    assert (costs.most - costs.before.memory) - (of_one.most - of_one.before.memory) < 19 * 4e6
