"""A laboratory's first file: one person, one trial, one answer, four columns; every command gives numbers and sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from command_line import command_line
from report_page import read

from spanlab.analysis import report_folder


def person(**options: Any) -> pd.DataFrame:
    return responses(lambda *_: 0.6, kind="participant", agent="participant", participant="P1", lengths=(3, 4), repetitions=5, **options)


SMALL: dict[str, Callable[[], pd.DataFrame]] = {
    "one person": lambda: person(),
    "one trial": lambda: person().groupby("trial").get_group(1),
    "one answer": lambda: person().head(1),
    "four columns": lambda: person()[["participant", "agent", "paradigm", "correct"]],
    "three columns": lambda: person()[["agent", "paradigm", "correct"]],
    "a person and a trial of a network": lambda: mixed(person(), responses(lambda *_: 0.6, agent="net", lengths=(3,), repetitions=1)),
    "one question with two answers": lambda: person(paradigm="cd", chance=0.5).head(1).assign(correct_answer='"same"', answer='"same"'),
}


@pytest.mark.parametrize("ending", [pytest.param(".csv", marks=pytest.mark.slow), ".parquet"])
@pytest.mark.parametrize("name", SMALL)
def test_small_tables_are_compared(name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(report_folder, "save", lambda *_: [])
    run = command_line(tmp_path, monkeypatch, capsys)
    table, file = pd.DataFrame(SMALL[name]()), tmp_path / f"first{ending}"
    if ending == ".csv":
        table.to_csv(file, index=False)
    else:
        table.convert_dtypes().to_parquet(file, index=False)
    for words in (("compare", file, "-o", "out", "--models"), ("stats", file), ("scores", file)):
        status, said, err = run(*words)
        assert status == 0, err
        assert "nan" not in said
    text = read(tmp_path / "out" / "report.html").text
    assert "got" in text or "nothing to draw" in text, text[:500]
