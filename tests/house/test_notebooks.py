"""The notebooks run from their first cell to their last, and show what is stored in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_shows_its_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 400_000
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)], "run once, from top to bottom"
    assert sum(bool(cell["outputs"]) for cell in code) >= 3
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
    assert notebook["cells"][0]["source"][0].startswith("# ")
    drawn = "".join(code[-1]["outputs"][-1]["data"]["image/svg+xml"])
    assert "Avons 1998 (people)" in drawn, "it ends in one's own agent's curve beside people"


def test_there_is_one_for_each_job() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare_agents", "own_network", "replay_machines", "run_a_person"]


def test_the_network_of_ones_own_takes_twenty_lines() -> None:
    notebook = json.loads((ROOT / "examples" / "own_network.ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    trained = next(text for text in code if "class Own" in text)
    lines = [line for line in f"{trained}\n{code[2]}".splitlines() if line.strip()]
    assert len(lines) <= 22, lines


def said(notebook: Any) -> list[str]:
    """What the cells of a notebook show, as text."""
    outputs = [output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]]
    return ["".join(output["data"].get("text/plain", "")) for output in outputs if "data" in output]


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    from notebooks import executed, stored

    before = json.loads(path.read_text(encoding="utf-8"))
    notebook = stored(executed(path, tmp_path))
    outputs: list[Any] = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "execute_result" for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    if path.stem != "run_a_person":  # reaction times are those of this run
        assert said(notebook) == said(before), "python scripts/notebooks.py stores what they show now"
    if path.stem == "run_a_person":
        assert any("image/png" in output.get("data", {}) for output in outputs), "the trial is drawn"
    if path.stem == "own_network":
        assert any("<svg" in str(output.get("data", {}).get("text/html", "")) for output in outputs), (
            "the session is drawn"
        )
