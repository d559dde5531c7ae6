"""The script for R fits the same model: estimates and standard errors of lme4 are SpanLab's, where
neither has priors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from observed import along, table, together
from session_tools import ended_well

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.stats.laplace import Laplace, fit
from spanlab.analysis.stats.mixed_model import sort_cells
from spanlab.analysis.stats.r_export import write_r
from spanlab.core.errors import SpanLabError

ROOT = Path(__file__).resolve().parents[3]


def crowd() -> pd.DataFrame:
    """Eight people who differ, and a network, on the same trials."""
    random, parts = np.random.RandomState(5), []
    for at in range(8):
        own = float(random.normal(0, 0.12))
        right = along("set_size", {size: float(np.clip(p + own, 0.05, 0.95)) for size, p in {2: 0.8, 6: 0.6}.items()})
        parts.append(table(right, 60, agent="participant", kind="participant", participant=f"P{at}", seed=at))
    return together(*parts, table(along("set_size", {2: 0.75, 6: 0.7}), 120, seed=50))


def test_data_and_script_are_written(tmp_path: Path) -> None:
    cells = sort_cells(score_table(crowd()), "vsr", "set_size")
    data, script = write_r(cells, tmp_path / "r")
    written = pd.read_csv(data)
    assert len(written) == len(cells.items)
    assert written.groupby("cell")["correct"].sum().to_numpy() == pytest.approx(cells.table["right"].to_numpy(float))
    text = script.read_text()
    assert "glmer(correct ~ 0 + cell" in text
    assert "(0 + has_participant | participant)" in text
    (tmp_path / "file").write_text("")
    with pytest.raises(SpanLabError, match="cannot write"):
        write_r(cells, tmp_path / "file" / "r")


def written_rows() -> list[list[str]]:
    text = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    rows = (
        text.split("<!-- measured by scripts/fidelity/lme4.py -->")[1]
        .split("<!-- end of what lme4 has -->")[0]
        .strip()
        .splitlines()[2:]
    )
    return [[cell.strip() for cell in row.strip("|").replace("\\|", "¦").split("|")] for row in rows]


def test_the_document_compares_ten_data_sets_or_more_with_lme4() -> None:
    rows = written_rows()
    assert len(rows) >= 10
    for row in rows:
        assert float(row[4]) < 0.02, row
        assert float(row[5]) < 3, row


@pytest.mark.slow
def test_what_lme4_has_is_what_the_document_says() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    import lme4

    if not lme4.able():
        pytest.skip("no R with lme4 here: nothing was compared (apt install r-base-core r-cran-lme4)")
    found = [*lme4.compare()]
    assert [one.name for one in found] == [row[0] for row in written_rows()]
    for one, row in zip(found, written_rows(), strict=True):
        assert abs(one.estimates).max() < 0.02, one.name
        assert abs(one.estimates).max() == pytest.approx(float(row[4]), abs=0.003)
        assert abs(one.errors - 1).max() < 0.03, one.name


@pytest.mark.slow
@pytest.mark.parametrize("by", ["set_size", ""])
def test_lme4_has_the_same_estimates(tmp_path: Path, by: str) -> None:
    if (
        shutil.which("Rscript") is None
        or subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no R with lme4 here: nothing was compared (apt install r-base-core r-cran-lme4)")
    answers = crowd()
    answers = answers if by else answers[answers["agent"] == "participant"]  # one cell
    cells = sort_cells(score_table(answers), "vsr", by)
    _, script = write_r(cells, tmp_path)
    ended_well(subprocess.run(["Rscript", str(script)], capture_output=True, text=True, check=False))
    theirs = pd.read_csv(tmp_path / "vsr_cells.csv").set_index("cell")
    rows = cells.items.groupby(["cell", *cells.components])["correct"].agg(["sum", "size"]).reset_index()
    levels = [rows[name].to_numpy() for name in cells.components]
    model = Laplace(
        rows["sum"].to_numpy(float),
        rows["size"].to_numpy(float),
        np.eye(len(cells.table))[rows["cell"].to_numpy()],
        levels,
    )
    found = fit(model, restricted=False, penalised=False)
    for at, cell in enumerate(cells.table.to_dict("records")):
        other = theirs.loc[f"{cell['agent']} | {cell['condition']}" if by else str(cell["agent"])]
        assert abs(found.fixed[at] - other["estimate"]) < 0.02 * other["se"]
        assert np.sqrt(found.covariance[at, at]) == pytest.approx(other["se"], rel=0.03)
