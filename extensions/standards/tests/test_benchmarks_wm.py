"""The field's own collection of raw data: files of the same form with made-up answers."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from command_line import Run, complaint

from spanlab.analysis.data.loading import load
from spanlab.extensions.standards.benchmarks_wm import studies
from spanlab.human_data import of_persons, persons


def test_raw_files_become_response_tables(run: Run, tmp_path: Path) -> None:
    (raw := tmp_path / "raw" / "somewhere").mkdir(parents=True)
    (raw / "Adam.ChangeDet.dat").write_text("1 2 0 1 \n1 2 1 1 \n1 4 1 0 \n2 4 0 1 \n", encoding="utf-8")
    (raw / "oberauer.kliegl.mu1.dat").write_text(
        "1 0 1 6000 5993 4 0  5 4 0 8736 \n1 2 2 6000 5993 4 100  3 3 1 900 4 5 0 700 \n"
        "51 4 1 6000 5993 4 100  9 9 1 1407 7 7 1 598 1 1 1 1103 2 8 0 500 \n",
        encoding="utf-8",
    )
    (raw / "Farrell.Lewandowsky.2004.Exp2.dat").write_text(
        " 1  0  1  1  2  4  3  5 -9 3418 1612 2125 1917 313 13 \n", encoding="utf-8"
    )
    (raw / "GEW.2012.E1.num.txt").write_text(
        "1 1 1 1 3 1 2\n1 1 1 1 3 2 -1\n1 1 1 1 3 3 1\n1 1 1 1 2 1 1\n1 1 1 1 2 2 2\n", encoding="utf-8"
    )
    status, out, err = run("import", "benchmarks-wm", "raw", "-o", "tables")
    assert status == 0, err
    assert "tables/adam2015.csv: 4 answers of 2 participants (Adam et al. 2015)" in out
    assert "vandenberg2012 is not there" in err
    changes = load([tmp_path / "tables" / "adam2015.csv"]).scored.items
    assert changes[["participant", "set_size", "correct"]].to_numpy().tolist() == [
        ["1", 2, 1],
        ["1", 2, 1],
        ["1", 4, 0],
        ["2", 4, 1],
    ]
    updating = load([tmp_path / "tables" / "oberauer_kliegl2006_1.csv"]).scored.items
    assert updating[["group", "set_size", "ask", "correct", "rt_ms"]].to_numpy().tolist() == [
        ["younger", 2, 1, 1, 900],
        ["younger", 2, 2, 0, 700],
        ["older", 4, 1, 1, 1407],
        ["older", 4, 2, 1, 598],
        ["older", 4, 3, 1, 1103],
        ["older", 4, 4, 0, 500],
    ]
    series = load([tmp_path / "tables" / "farrell_lewandowsky2004.csv"]).scored.items
    assert series["correct"].tolist() == [1, 1, 0, 0, 1, 0]
    assert series["outcome"].tolist()[-1] == "omitted"
    recall = load([tmp_path / "tables" / "grenfell_essam_ward2012.csv"]).scored.items
    assert recall["correct"].tolist() == [1, 0, 1, 1, 1]
    assert recall["unit_trial"].tolist() == [0, 0, 0, 1, 1], "the numbers of lists in the file are not unique"
    assert "is there already" in complaint(*run("import", "benchmarks-wm", "raw", "-o", "tables"))
    assert "is not a folder" in complaint(*run("import", "benchmarks-wm", "nowhere", "-o", "other"))


def test_every_study_has_people_whose_numbers_are_shares() -> None:
    assert {study.name for study in studies()} < {*persons()}
    for name, facts in persons().items():
        table = of_persons(name)
        if "span" in table.columns:
            assert table["span"].between(0, 9).all()
        else:
            assert table["accuracy"].between(0, 1).all()
        assert not table.duplicated(["participant", *(one.removeprefix("factor_") for one in facts["by"])]).any()
        assert re.search(r"\. doi:10\.\d{4}/\S+[^\s.]$", facts["source"]), name
        assert facts["differs"]


def test_people_of_adam_et_al_are_those_of_the_paper() -> None:
    """Forty people, 60 trials at each set size, and a mean that falls from 96 % at two items."""
    table = of_persons("adam2015")
    assert table.groupby("set_size")["n_trials"].agg(["size", "min", "max"]).to_numpy().tolist() == [[40, 60, 60]] * 5
    means = table.groupby("set_size")["accuracy"].mean()
    pd.testing.assert_series_equal(means, means.sort_values(ascending=False))
    assert round(float(means[2]), 3) == 0.958
