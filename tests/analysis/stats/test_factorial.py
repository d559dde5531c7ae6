"""Analyses of variance: eight designs as afex has them, and tables of people as they come."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Run, complaint

from spanlab.analysis.data.loading import load
from spanlab.analysis.stats.factorial import COLUMNS, anova, factorial

#: Made up; the tables are those of afex 1.2-1 (R), with type III sums of squares and the correction of Greenhouse
#: and Geisser: one, two and three factors within people, groups of unequal size, and both.
DESIGNS: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[2] / "golden" / "afex.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("design", DESIGNS, ids=[f"{[*one['within']]}-{[*one['between']]}" for one in DESIGNS])
def test_tables_are_those_of_afex(design: dict[str, Any]) -> None:
    groups = {name: np.array(codes) for name, codes in design["between"].items()}
    table = anova(np.array(design["cells"]), design["within"], groups).set_index("effect")
    assert {*table.index} == {row["effect"] for row in design["afex"]}
    for row in design["afex"]:
        for name in COLUMNS[1:]:
            if row[name] is not None:
                assert table.at[row["effect"], name] == pytest.approx(row[name], rel=1e-9, abs=1e-12), name


def people(effect: float, interaction: float = 0.0, groups: int = 2, persons: int = 16) -> pd.DataFrame:
    """Twenty trials of each condition; ``effect`` is of the load, ``interaction`` of load and group."""
    random = np.random.default_rng(5)
    rows = []
    for person, load_, cue in product(range(persons), (1, 2), ("no", "yes")):
        chance = 0.7 + random.normal(0, 0.04) - effect * (load_ == 2) - interaction * (load_ == 2) * (person % groups)
        for right in random.random(20) < chance:
            rows.append(
                (f"P{person:02d}", len(rows), f"g{person % groups}", load_, cue, int(right), 500.0 + 50 * load_)
            )
    return pd.DataFrame(rows, columns=["participant", "trial", "group", "many", "cue", "correct", "rt_ms"])


def analysed(table: pd.DataFrame, tmp_path: Path, **options: Any) -> Any:
    table.to_csv(tmp_path / "t.csv", index=False)
    return factorial(load([tmp_path / "t.csv"]).scored, ["many", "cue"], ["group"], **options)


def test_what_is_planted_is_found_and_nothing_else(tmp_path: Path) -> None:
    table = analysed(people(0.25), tmp_path).table.set_index("effect")
    assert table.loc["many", "p"] < 0.001
    assert (table.drop("many")["p"] > 0.01).all()
    table = analysed(people(0.1, interaction=0.5), tmp_path).table.set_index("effect")
    assert table.loc["group:many", "p"] < 0.001
    times = analysed(people(0.1), tmp_path, measure="log rt").table.set_index("effect")
    assert times.loc["many", "f"] > 1e6, "times differ by load alone"


def test_whoever_lacks_a_condition_is_left_out_and_counted(tmp_path: Path) -> None:
    table = people(0.2)
    holes = table[~((table["participant"] == "P03") & (table["many"] == 2) & (table["cue"] == "yes"))]
    found = analysed(holes, tmp_path)
    assert (found.people, found.left_out) == (15, 1)
    whole = analysed(table[table["participant"] != "P03"], tmp_path)
    pd.testing.assert_frame_equal(found.table, whole.table)


def test_the_command_takes_several_conditions_and_groups(run: Run, tmp_path: Path) -> None:
    people(0.25).to_csv(tmp_path / "t.csv", index=False)
    status, out, err = run("stats", "t.csv", "--by", "many", "--by", "cue", "--between", "group", "-o", "tables")
    assert status == 0, err
    assert "t: analysis of variance of accuracy, 16 people" in out
    assert "group:many:cue" in out
    assert pd.read_csv(tmp_path / "tables" / "stats_anova_t.csv")["effect"].nunique() == 7
    assert "has no column 'manny'; did you mean 'many'" in complaint(
        *run("stats", "t.csv", "--by", "manny", "--by", "cue")
    )
    four = [part for name in ("many", "cue", "group", "correct") for part in ("--by", name)]
    assert "one to 3 factors" in complaint(*run("stats", "t.csv", *four))
