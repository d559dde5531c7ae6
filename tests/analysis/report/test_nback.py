"""The report of N-back sessions: the published cells, printed values beside them, figures over N,
and what was left out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from nback_answers import write_published

from spanlab.agents.oracles import CapacityAgent, Chance
from spanlab.analysis.data.style import Look
from spanlab.analysis.nback.published import published_results
from spanlab.analysis.report import folder as report_folder
from spanlab.analysis.report.page import Options, compare
from spanlab.extensions.replication.nback.results import import_results
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin


def noted(spec: dict[str, Any], stem: Path, agents: Sequence[Look]) -> list[Path]:
    """In place of drawing a figure: an empty file of its name."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".svg").touch()
    return [stem.with_suffix(".svg")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models' published answers, and two simulated agents on letters and on grids."""
    folder = tmp_path_factory.mktemp("nback")
    import_results(write_published(folder), folder / "data")
    for name in ("nback_verbal", "nback_spatial"):
        paradigm = load_paradigm(name)
        plan = plan_session(
            paradigm, 2, SessionDesign(), levels={"grid": [3, 7]} if name == "nback_spatial" else None, trials=12
        )
        for agent in (CapacityAgent(), Chance()):
            Runner(begin(folder / "data", paradigm, agent, plan, Request(2)), agent).run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_folder, "save", noted)
        return compare([folder / "data"], folder / "report", Options(all_figures=True))


def table(report: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(report.parent / "tables" / f"{name}.csv")


def text(report: Path) -> str:
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", report.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", body))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "variant"), [("gpt-3.5-turbo", "verbal"), ("gpt-4", "verbal_other_models")])
def test_published_cells_come_out_beside_the_printed_ones(report: Path, model: str, variant: str) -> None:
    cells = table(report, "nback_verbal_nback_published").set_index(["agent", "measure", "n"])
    printed = published_results().set_index(["variant", "model", "n"])
    for n in (1, 2, 3):
        for measure, column, scale in (
            ("hit_rate", "hit_rate", 100),
            ("false_alarm_rate", "fa_rate", 100),
            ("accuracy", "accuracy", 100),
            ("dprime_abs", "dprime", 1),
        ):
            for statistic, ending in (("mean", "mean"), ("sem", "sem")):
                expected = float(printed[f"{column}_{ending}"][variant, model, n])
                for agent in (f"published:{model}", f"{model} (recomputed)"):
                    assert scale * cells[statistic][agent, measure, n] == pytest.approx(expected, abs=5.01e-5), (
                        agent,
                        measure,
                        n,
                        statistic,
                    )


def test_figures_run_over_n_and_not_over_positions(report: Path) -> None:
    names = {file.stem for file in (report.parent / "figures").iterdir()}
    figures = {"nback_models", "nback_lures", "nback_published", "nback_dprime"}
    drawn = {f"{paradigm}_{figure}" for paradigm in ("nback_verbal", "nback_spatial") for figure in figures}
    assert names == drawn - {"nback_spatial_nback_dprime"}  # a few blocks are no distribution
    assert re.search(r"nobody has more than \d blocks? at one N, and a distribution needs 10", text(report))
    assert not [name for name in names if name.endswith(("serial_position", "set_size"))]


def test_every_panel_holds_every_answerer_at_every_n(report: Path) -> None:
    found = re.search(
        r'<script type="application/json" id="figures">(.*?)</script>', report.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    spec = json.loads(found[1])["specs"]["nback_verbal_nback_models"]
    points = pd.DataFrame([row for row in spec["data"]["values"] if row["role"] == "curve"])
    agents = {"published:gpt-3.5-turbo", "published:gpt-4", "capacity (simulated)", "chance (guessing)"}
    for measure in ("hit_rate", "false_alarm_rate", "accuracy", "dprime_pooled"):
        part = points[points["measure"] == measure]
        assert set(part["agent"]) == agents
        assert (part.groupby("agent")["at"].nunique() == 3).all()
    cells = table(report, "nback_verbal_nback_models").set_index(["agent", "measure", "n"])
    for row in points.to_dict("records"):
        assert row["mean"] == pytest.approx(cells.loc[(row["agent"], row["measure"], row["at"]), "mean"])
    assert len(spec["concat"]) == 4


def test_the_page_says_how_answers_were_counted(report: Path) -> None:
    said = text(report)
    assert "540 answers that were never asked for" not in said, "those among the first N items are told with these"
    assert re.search(r"360 answers that were never asked for \(written in by the study\) left out", said)
    better = r"above guessing \(“[^”]+” \d+ points more often where it is right; p &lt; \.001\)"
    assert re.search(
        rf"published:gpt-4 got 91% right \(95% interval \d+–\d+%\), {better}; d′ 4\.9 at 1-back, 1\.9 at 3-back\.", said
    )
    assert "By the published rules, d′ is that of each block" in said
    assert "gpt-4 (recomputed)" in said
    assert "Primacy by list length" not in said


def test_a_block_is_a_row_of_the_table_of_blocks(report: Path) -> None:
    blocks = table(report, "nback_verbal_nback_blocks")
    assert blocks.groupby("agent").size().to_dict() == {
        "capacity (simulated)": 12,
        "chance (guessing)": 12,
        "published:gpt-3.5-turbo": 150,
        "published:gpt-4": 90,
    }
    assert (blocks["hits"] + blocks["misses"]).isin([8, 9, 10]).any()
