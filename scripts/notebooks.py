"""Run the notebooks of examples/ from their first cell to their last, and store what they show.

python scripts/notebooks.py            all of them
python scripts/notebooks.py NAME...    some of them
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def executed(path: Path, folder: Path) -> Any:
    """A notebook after it was run in a folder, by the Python that runs this, whatever kernels are
    installed for whom."""
    kernel = AsyncKernelManager()
    kernel._kernel_spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="here",
        language="python",
    )
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, km=kernel, timeout=900, resources={"metadata": {"path": str(folder)}}, record_timing=False
    ).execute()
    return notebook


def stored(notebook: Any) -> Any:
    """A notebook as it is stored: what cells show, without what differs from run to run or says
    nothing (progress, warnings of libraries)."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
    return notebook


if __name__ == "__main__":
    from spanlab.agents.human import virtual_screen

    chosen = sys.argv[1:] or sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
    with virtual_screen():
        for name in chosen:
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(stored(executed(EXAMPLES / f"{name}.ipynb", Path(folder))), EXAMPLES / f"{name}.ipynb")
            print(name, flush=True)
