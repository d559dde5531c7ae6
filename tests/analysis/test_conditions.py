"""Whatever was measured along any column: planted numbers come back, and what cannot be is told in
a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from observed import rows_by, table, together

import spanlab
from spanlab import SpanLabError
from spanlab.analysis.data.loading import load
from spanlab.analysis.report.figures import compute_figures


def search(ms: float = 40.0, spread: float = 60.0, right: float = 0.9) -> Any:
    """Sternberg's search: every item takes so many ms, an absent one 20 more."""

    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, float]]:
        size, present = int(random.choice([2, 4, 6])), bool(random.rand() < 0.5)
        time = 400 + ms * size + 20 * (not present) + random.normal(0, spread)
        columns = {
            "set_size": size,
            "factor_present": present,
            "correct_answer": json.dumps("present" if present else "absent"),
        }
        return [(columns, right, time)]

    return trial


def people(many: int = 5, trials: int = 120, **options: Any) -> pd.DataFrame:
    parts = [
        table(
            search(**options),
            trials,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="search",
            seed=at,
        )
        for at in range(many)
    ]
    return together(*parts)


def saved(folder: Path, data: pd.DataFrame) -> Path:
    file = folder / "answers.parquet"
    data.astype({"factor_present": "str"} if "factor_present" in data else {}).to_parquet(file)
    return file


def test_reaction_times_by_set_size_and_presence_come_back_with_their_slopes(tmp_path: Path) -> None:
    data = people(spread=20)
    drawing = spanlab.figure("conditions", saved(tmp_path, data), along="set_size", by="present", value="rt_ms").drawing
    found = rows_by(drawing.table, "factor_present", "set_size")
    for (present, size), row in found.items():
        assert row["mean"] == pytest.approx(400 + 40 * size + 20 * (present == "no"), abs=10)
        assert row["unit"] == "participant"
        assert row["low"] < row["mean"] < row["high"]
    slopes = rows_by(drawing.further[0][1], "factor_present")
    assert slopes["yes"]["value"] == pytest.approx(40, abs=3)
    assert slopes["yes"]["p"] < 0.001
    between = rows_by(drawing.further[1][1], "contrast")
    assert between["mean, no minus yes"]["value"] == pytest.approx(20, abs=12)
    assert between["slope, no minus yes"]["p"] > 0.01
    assert f"{int((~data['correct'].astype(bool)).sum())} answered wrongly are left out" in drawing.caption
    assert drawing.caption.startswith("Mean reaction time")


def test_panels_of_two_columns_show_single_people_as_lines(tmp_path: Path) -> None:
    data = people(4, 60)
    data = data.assign(group=np.where(data["participant"].isin(["P0", "P1"]), "old", "young"))
    drawing = spanlab.figure(
        "conditions", saved(tmp_path, data), along="set_size", by="present,group", points=True
    ).drawing
    rows = [row for row in drawing.spec["data"]["values"] if row["role"] == "person"]
    assert {row["panel"] for row in rows} == {
        f"present: {a}, group: {b}" for a in ("no", "yes") for b in ("old", "young")
    }
    assert len({(row["panel"], row["person"]): row["x"] for row in rows}) == 8, (
        "two people in every panel, each with one name at all set sizes"
    )


def test_times_of_wrong_answers_and_of_machines_are_in_no_mean(tmp_path: Path) -> None:
    data = people()
    wild = data.assign(rt_ms=data["rt_ms"].where(data["correct"].astype(bool), 1e6))
    drawing = spanlab.figure(
        "conditions", saved(tmp_path, together(wild, table(search(0, 0), 40, paradigm="search"))), value="rt_ms"
    ).drawing
    assert drawing.table["mean"].max() < 1000
    assert set(drawing.table["agent_kind"]) == {"participant"}


@pytest.mark.slow
def test_a_page_asks_for_factors_that_no_effect_shows(tmp_path: Path) -> None:
    found, _, _ = compute_figures(load([saved(tmp_path, people(4, 60))]), "search")
    asked = {name: one.asked for name, one in found.items() if one.asked}
    assert asked == {
        "conditions_correct": ("--along", "set_size", "--by", "factor_present", "--value", "correct"),
        "conditions_rt_ms": ("--along", "set_size", "--by", "factor_present", "--value", "rt_ms"),
    }
    plain = table(lambda random: [({"set_size": int(random.choice([2, 4]))}, 0.7, None)], 40, paradigm="own")
    assert "conditions_correct" not in compute_figures(load([saved(tmp_path, plain)]), "own")[0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"along": "sett_size"}, "no column 'sett_size'; did you mean 'set_size'.*set_size, present"),
        ({"along": "set_size", "by": "present,set_size"}, "'set_size' is named twice"),
        ({"value": "speed"}, "value is correct, rt_ms, rt_median or d_prime"),
        ({"along": "present", "value": "d_prime"}, "questions of one right answer only"),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, asked: dict[str, str], said: str) -> None:
    with pytest.raises(SpanLabError, match=said):
        spanlab.figure("conditions", saved(tmp_path, people(2, 20)), **asked)  # type: ignore[arg-type]
    with pytest.raises(SpanLabError, match="is for conditions"):
        spanlab.figure("set_size", saved(tmp_path, people(2, 20)), along="present")
