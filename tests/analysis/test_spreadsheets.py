"""Tables that a spreadsheet has written: every form gives the means of the original, or one
sentence."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from command_line import command_line
from nback_answers import block_rows

from spanlab.analysis.data.coding import decoded
from spanlab.analysis.data.loading import load
from spanlab.analysis.effects.curves import overall
from spanlab.analysis.nback.measures import nback_blocks
from spanlab.core.errors import SpanLabError


@pytest.fixture(scope="module")
def original() -> pd.DataFrame:
    people = [
        responses(
            lambda *_: 0.7,
            kind="participant",
            agent="participant",
            participant=f"Zoë {n}",
            repetitions=3,
            seed=n,
            session=f"s{n}",
        )
        for n in range(3)
    ]
    table = mixed(*people, responses(lambda *_: 0.4, agent="net", repetitions=3, seed=9, session="net"))
    table["factor_load"] = np.where(table["trial"] % 2 == 0, "0.5", "1.25")
    table["practice"] = table["trial"] == 1
    table["rt_ms"] = 500.5 + table["trial"].astype(float)
    return table.dropna(axis="columns", how="all")


def localised(table: pd.DataFrame, yes: str, no: str) -> pd.DataFrame:
    found = table.copy()
    for name in found.columns:
        if name in ("correct", "practice", "pilot", "oracle"):
            found[name] = [yes if one else no for one in table[name]]
    return found


def comma(table: pd.DataFrame) -> pd.DataFrame:
    found = table.astype(str)
    for name in ("chance", "rt_ms", "factor_load"):
        found[name] = found[name].str.replace(".", ",")
    return found


def text(table: pd.DataFrame, separator: str = ",") -> str:
    return table.to_csv(index=False, sep=separator)


FORMS: dict[str, tuple[str, Callable[[pd.DataFrame], bytes]]] = {
    "as recorded": (".csv", lambda table: text(table).encode()),
    "a byte order mark": (".csv", lambda table: text(table).encode("utf-8-sig")),
    "a mark and the session first": (
        ".csv",
        lambda table: text(table[["participant", *table.columns.drop("participant")]]).encode("utf-8-sig"),
    ),
    "German": (".csv", lambda table: text(comma(localised(table, "WAHR", "FALSCH")), ";").encode("utf-8-sig")),
    "French": (
        ".csv",
        lambda table: text(comma(localised(table, "VRAI", "FAUX")), ";").encode("utf-8-sig").replace(b"\n", b"\r\n"),
    ),
    "0 and 1": (".csv", lambda table: text(localised(table, "1", "0")).encode()),
    "UTF-16, tabs": (".csv", lambda table: text(comma(localised(table, "WAHR", "FALSCH")), "\t").encode("utf-16")),
    "UTF-16 without a mark": (".csv", lambda table: text(table).encode("utf-16-le")),
    "UTF-16, big end first": (".csv", lambda table: b"\xfe\xff" + text(table, "\t").encode("utf-16-be")),
    "tabs": (".tsv", lambda table: text(table, "\t").encode()),
    "a hint before the header": (".csv", lambda table: ("sep=;\n" + text(comma(table), ";")).encode("utf-8-sig")),
    "empty rows at the end": (
        ".csv",
        lambda table: (text(comma(table), ";") + (";" * (table.shape[1] - 1) + "\n") * 5).encode(),
    ),
    "semicolons and points": (".csv", lambda table: text(table, ";").encode()),
    "blanks in the header": (".csv", lambda table: text(table.rename(columns=lambda name: f" {name}")).encode()),
}


def means(file: Path) -> pd.DataFrame:
    data = load([file])
    found = overall(data.scored)[["agent", "agent_kind", "unit", "n_units", "n_items", "mean", "low", "chance"]]
    by = (
        data.scored.items.groupby(["agent", data.scored.items["factor_load"].astype(float)], observed=True)["correct"]
        .mean()
        .reset_index()
    )
    return found.merge(by, on="agent", suffixes=("", "_by_load"))


@pytest.fixture(scope="module")
def expected(original: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    file = tmp_path_factory.mktemp("original") / "responses.parquet"
    original.convert_dtypes().to_parquet(file)
    found = means(file)
    assert set(found["agent"]) == {"People (n = 3)", "net"}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_numbers(
    form: str, original: pd.DataFrame, expected: pd.DataFrame, tmp_path: Path
) -> None:
    ending, written = FORMS[form]
    (file := tmp_path / f"responses{ending}").write_bytes(written(original))
    pd.testing.assert_frame_equal(means(file), expected, check_dtype=False)


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("TRUE", "FALSE"), ("WAHR", "FALSCH"), ("True", "False")])
def test_what_was_recorded_as_true_or_false_stays_so(yes: str, no: str, tmp_path: Path) -> None:
    """Whether an item is a match, without which there are no blocks of N-back."""
    rows = block_rows("--m" * 8, ["m"] * 12 + ["-"] * 12)
    rows["record_match"] = [yes if json.loads(str(one)) else no for one in rows["record_match"]]
    rows["record_note"] = '"TRUE"'  # a text is a text
    rows.to_csv(tmp_path / "blocks.csv", index=False)
    scored = load([tmp_path / "blocks.csv"]).scored
    assert nback_blocks(scored)[["hits", "misses", "false_alarms"]].to_numpy().tolist() == [[4, 4, 6]]
    assert set(decoded(scored.items["record_note"])) == {"TRUE"}


@pytest.mark.slow
def test_a_workbook_gives_the_same_numbers(original: pd.DataFrame, expected: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "responses.xlsx"
    with pd.ExcelWriter(file) as book:
        pd.DataFrame({"notes": ["of the laboratory"]}).to_excel(book, sheet_name="Notes", index=False)
        original.to_excel(book, sheet_name="Antworten", index=False)
    pd.testing.assert_frame_equal(means(file), expected, check_dtype=False)


def test_points_of_thousands_beside_decimal_commas_are_no_decimals(original: pd.DataFrame, tmp_path: Path) -> None:
    times = ["812,5", "1.204", "1.034,25"] * (len(original) // 3)
    (file := tmp_path / "responses.csv").write_bytes(text(comma(original).assign(rt_ms=times), ";").encode())
    assert {*load([file]).scored.items["rt_ms"]} == {812.5, 1204.0, 1034.25}


REFUSED: dict[str, tuple[str, Callable[[pd.DataFrame], bytes], str]] = {
    "an old encoding": (
        ".csv",
        lambda table: text(table, ";").encode("cp1252") + b"\x81",
        "not text in UTF-8 or Windows-1252. Save it again as 'CSV UTF-8'",
    ),
    "scores in words": (
        ".csv",
        lambda table: text(localised(table, "ja", "nein")).encode(),
        "'nein', which is neither true nor false",
    ),
    "points": (
        ".csv",
        lambda table: text(table.assign(correct=3)).encode(),
        "column correct holds '3', which is neither",
    ),
    "practice in words": (
        ".csv",
        lambda table: text(table.assign(practice="vielleicht")).encode(),
        "column practice holds 'vielleicht'",
    ),
    "whole thousands": (
        ".csv",
        lambda table: text(table.assign(rt_ms="1,204")).encode(),
        "numbers with commas (1,204 in column rt_ms and",
    ),
    "identifiers as numbers": (
        ".csv",
        lambda table: text(table.assign(trial_id="1.23457E+15")).encode(),
        "turned identifiers of trials into numbers",
    ),
    "two of a column": (
        ".csv",
        lambda table: (text(table).replace("chance", "correct", 1)).encode(),
        "several columns called correct",
    ),
    "an old workbook": (".xls", lambda table: b"\xd0\xcf\x11\xe0", "only .xlsx and .csv can be read"),
    "no workbook": (".xlsx", lambda table: b"PK\x03\x04 no archive", "it is no workbook: File is not a zip file"),
    "a picture": (".csv", lambda table: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "cannot be read"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_undone_is_refused_in_a_sentence(
    fault: str,
    original: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ending, written, said = REFUSED[fault]
    (file := tmp_path / f"responses{ending}").write_bytes(written(original))
    status, _, err = command_line(tmp_path, monkeypatch, capsys)("stats", file)
    assert status == 1
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
def test_workbooks_with_dates_or_two_tables_are_refused(original: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "responses.xlsx"
    original.assign(answer=datetime.date(2025, 1, 2)).to_excel(file, index=False)
    with pytest.raises(SpanLabError, match="holds dates"):
        load([file])
    with pd.ExcelWriter(file) as book:
        original.to_excel(book, sheet_name="one", index=False)
        original.to_excel(book, sheet_name="two", index=False)
    with pytest.raises(SpanLabError, match="several sheets that may be the table \\(one, two\\)"):
        load([file])
    pd.DataFrame({"a": [1]}).to_excel(file, index=False)
    with pytest.raises(SpanLabError, match="no sheet is a table"):
        load([file])
