"""The notebooks run from their first cell to their last, and are stored without outputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_holds_no_outputs(path: Path) -> None:
    """Outputs that are stored would hide that a cell does not run any more."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 20_000
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook["cells"][0]["source"][0].startswith("# ")


def test_there_is_one_for_each_job() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare_agents", "replay_machines", "run_a_person"]


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    # the Python of these tests, whatever kernels are installed for whom
    kernel = AsyncKernelManager()
    kernel._kernel_spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name="here", language="python")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, km=kernel, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs: list[Any] = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "execute_result" for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    if path.stem == "compare_agents":
        assert any({"image/png", "image/svg+xml"} & set(output.get("data", {})) for output in outputs), "the figure is drawn"
    if path.stem == "run_a_person":
        assert any("image/png" in output.get("data", {}) for output in outputs), "the trial is drawn"
