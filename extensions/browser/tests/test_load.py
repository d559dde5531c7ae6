"""Many visits at once, over real lines to a real server: nothing is lost, and nothing is counted twice."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'web': pip install 'spanlab[web]'")

SERVE = Path(__file__).parents[3] / "benchmarks" / "serve.py"


@pytest.mark.slow
def test_of_twenty_visits_at_once_every_answer_is_recorded_once(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("serve_benchmark", SERVE)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    pages, looks = benchmark.measure(20, 2, tmp_path)  # raises where an answer is lost, or counted twice
    assert all(len(page.waits) == 2 and page.answers for page in pages)
    assert looks, "the assistant's page was open meanwhile"
