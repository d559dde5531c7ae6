"""The report of data that lack something: a clear note on the page, and neither a crash nor a
number that was never measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from report_page import read

from spanlab.analysis.figure_catalogue import FIGURES, Figures
from spanlab.analysis.report import folder as report_folder
from spanlab.analysis.report.page import compare
from spanlab.core.errors import SpanLabError

Change = Callable[[pd.DataFrame], pd.DataFrame]


def half(length: int, position: int) -> float:
    return 0.9 - 0.1 * position


def person(name: str, seed: int = 0, repetitions: int = 3) -> pd.DataFrame:
    table = responses(
        half,
        agent="participant",
        kind="participant",
        participant=name,
        repetitions=repetitions,
        lengths=(3, 4),
        seed=seed,
    )
    return table.assign(rt_ms=600 + 40.0 * np.arange(len(table)) % 700)


def network(**options: object) -> pd.DataFrame:
    return responses(half, repetitions=3, lengths=(3, 4), seed=9, **options)  # type: ignore[arg-type]


def both() -> pd.DataFrame:
    return mixed(person("A", 1), person("B", 2), person("C", 3), network())


pytestmark = pytest.mark.usefixtures("page_only")


def page_of(table: pd.DataFrame, folder: Path, ending: str = "csv") -> str:
    file = folder / f"answers.{ending}"
    plain = table.astype(object).where(table.notna(), None)
    if ending == "csv":
        plain.to_csv(file, index=False)
    else:
        table.to_parquet(file)
    return read(compare([file], folder / "out")).text


def test_a_figure_that_cannot_be_drawn_or_computed_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(spec: dict[str, Any], stem: Path, _: object) -> list[Path]:
        if stem.name.endswith("serial_position"):
            raise ValueError("no drawing came back")
        return []

    def unsolved(*_: object) -> NoReturn:
        raise np.linalg.LinAlgError("it did not converge")

    monkeypatch.setattr(report_folder, "save", fail)
    on_page = [
        replace(figure, compute=unsolved) if figure.name == "set_size" else figure for figure in FIGURES.on_page()
    ]
    monkeypatch.setattr(Figures, "on_page", lambda self: on_page)
    text = page_of(network(), tmp_path)
    assert "Primacy and recency" in text
    assert re.search(r"No figure “[^”]*osition”: it could not be drawn \(ValueError: no drawing came back\)", text)
    assert "Its numbers are in tables/vsr_serial_position.csv." in text
    assert re.search(r"No figure “[^”]*”: it could not be computed \(LinAlgError: it did not converge\)", text)


def everything(value: bool) -> Change:
    return lambda table: table.assign(correct=value)


CASES: dict[str, tuple[Change, str]] = {
    "no rows": (lambda table: table.iloc[:0], "The table has no rows."),
    "one answer": (lambda table: table.iloc[:1], "only overall numbers"),
    "one trial": (lambda table: table[(table["trial"] == 1) & (table["participant"] == "A")], "1 trial"),
    "one participant": (lambda table: table[table["participant"] == "A"], "Participant A"),
    "one agent, nobody else": (lambda table: table[table["agent_kind"] == "network"], "network:test"),
    "always right": (everything(True), "exact limit"),
    "always wrong": (everything(False), "exact limit"),
    "never answered": (lambda table: table.assign(correct=None, outcome="omitted", answer=None), "omitted"),
    "never scored": (lambda table: table.assign(correct=np.nan, outcome="answered"), "without a score left out"),
    "no chance level": (lambda table: table.assign(chance=np.nan), "has no chance level"),
    "no positions": (lambda table: table.assign(serial_position=np.nan), "serial_position"),
    "some positions": (
        lambda table: table.assign(serial_position=table["serial_position"].where(table["trial"] != 2)),
        "without a serial position",
    ),
    "no sizes": (lambda table: table.assign(set_size=np.nan, list_length=np.nan), "only overall numbers"),
    "no trial identifiers": (
        lambda table: table.assign(trial_id=""),
        "The record does not say which trials were taken",
    ),
    "other trials": (
        lambda table: table.assign(trial_id=table["agent"] + table["trial_id"]),
        "Not everybody took the same trials",
    ),
    "two versions of the file": (
        lambda table: table.assign(paradigm_hash=np.where(table["agent_kind"] == "network", "aaaa", "bbbb")),
        "2 different versions of the paradigm file",
    ),
    "two generators": (
        lambda table: table.assign(generator=np.where(table["agent_kind"] == "network", "published", "corrected")),
        "2 different trial generators (corrected and published)",
    ),
    "all practice": (lambda table: table.assign(practice=True), "practice rows left out"),
    "all pilot": (lambda table: table.assign(pilot=True), "pilot rows left out"),
    "everything twice": (lambda table: pd.concat([table, table], ignore_index=True), "duplicate rows counted once"),
    "endless times": (lambda table: table.assign(rt_ms=np.inf), "network:test"),
    "no names": (lambda table: table.assign(agent=None, agent_kind=None, participant=None), "1 agent"),
    "no name of a paradigm": (lambda table: table.assign(paradigm=None), "unnamed paradigm"),
}


#: The others run with the slow tests.
QUICK = ("no rows", "one trial", "always right", "two versions of the file")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_what_is_missing_is_said(name: str, tmp_path: Path) -> None:
    change, note = CASES[name]
    text = page_of(change(both()), tmp_path)
    assert note in text
    assert not re.search(r"\bnan\b|<NA>|\bNone\b", text)


def test_columns_without_which_there_is_nothing_are_asked_for(tmp_path: Path) -> None:
    for names, told in (("agent",), "who answered"), (("correct", "answer"), "which answers are right"):
        with pytest.raises(SpanLabError, match=f"nothing says {told}"):
            page_of(both().drop(columns=[*names]), tmp_path)
    assert "table" in page_of(both().drop(columns="paradigm"), tmp_path)


@pytest.mark.slow
def test_names_that_files_cannot_tell_apart(tmp_path: Path) -> None:
    table = mixed(network(paradigm="a-b"), network(paradigm="a_b"), network(paradigm="…"))
    page_of(table, tmp_path)
    assert {file.name for file in (tmp_path / "out" / "tables").glob("*_overall.csv")} == {
        "a_b_overall.csv",
        "a_b_2_overall.csv",
        "paradigm_overall.csv",
    }


@pytest.mark.slow
def test_people_are_counted_in_each_paradigm(tmp_path: Path) -> None:
    """Two people took one paradigm, and three others another: nothing may say that five took
    either."""
    first = [person(name, seed).assign(paradigm="short") for seed, name in enumerate("AB")]
    second = [person(name, seed).assign(paradigm="long") for seed, name in enumerate("CDE", 5)]
    page = page_of(mixed(*first, *second, network().assign(paradigm="short")), tmp_path)
    assert "People (n = 2 to 3)" in page
    assert "n = 5" not in page
    for count in (2, 3):
        assert f"{count} people took part in this paradigm." in page
