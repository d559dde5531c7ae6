"""A laboratory's own names of columns: read as the user says, and suggested where they look like
ours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from command_line import Run, command_line, complaint

import spanlab
from spanlab.analysis.data.column_map import ColumnMap, looks_like, read_map
from spanlab.analysis.data.loading import load
from spanlab.analysis.report import folder
from spanlab.core.errors import SpanLabError

THEIRS = {"participant": "subject", "correct": "accuracy", "rt_ms": "RT", "set_size": "n_items"}
MAP = "subject=participant,accuracy=correct,RT=rt_ms,n_items=set_size"


@pytest.fixture(scope="module")
def ours() -> pd.DataFrame:
    people = [
        responses(
            lambda *_: 0.6,
            kind="participant",
            agent="participant",
            participant=f"P{n}",
            session=f"s{n}",
            lengths=(3, 4),
            repetitions=3,
            seed=n,
        )
        for n in range(3)
    ]
    return mixed(*people).assign(rt_ms=650.0).dropna(axis="columns", how="all")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(folder, "save", lambda *_: [])
    return command_line(tmp_path, monkeypatch, capsys)


def written(table: pd.DataFrame, path: Path, ending: str, name: str = "table") -> Path:
    file = path / f"{name}{ending}"
    if ending == ".csv":
        table.to_csv(file, index=False)
    elif ending == ".xlsx":
        table.to_excel(file, index=False)
    else:
        table.convert_dtypes().to_parquet(file, index=False)
    return file


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
@pytest.mark.slow
def test_columns_of_other_names_give_the_same_numbers(ours: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ending)
    found, wanted = load([file], columns=read_map([MAP])), load([written(ours, tmp_path, ending, "ours")])
    names = ["participant", "agent", "correct", "rt_ms", "set_size", "trial", "chance"]
    pd.testing.assert_frame_equal(
        found.scored.items[names], wanted.scored.items[names], check_dtype=False, check_categorical=False
    )
    assert found.cautions == wanted.cautions == ()


def test_columns_that_are_missing_may_have_one_value(ours: pd.DataFrame, tmp_path: Path) -> None:
    file = written(
        ours.drop(columns=["agent", "agent_kind", "paradigm"]).rename(columns={"participant": "subject"}),
        tmp_path,
        ".csv",
    )
    data = load(
        [file], columns=read_map(["subject=participant", "agent:participant,agent_kind:participant,paradigm:stroop"])
    )
    assert set(data.scored.items["agent"]) == {"People (n = 3)"}
    assert set(data.scored.items["paradigm"]) == {"stroop"}


def test_tables_that_have_our_names_already_are_read_beside_others(ours: pd.DataFrame, tmp_path: Path) -> None:
    machine = responses(lambda *_: 0.4, agent="net", lengths=(3, 4), repetitions=3)
    files = [written(ours.rename(columns=THEIRS), tmp_path, ".csv"), written(machine, tmp_path, ".parquet", "net")]
    assert set(load(files, columns=read_map([MAP])).scored.items["agent"]) == {"People (n = 3)", "net"}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_what_looks_like_a_column_that_is_missing_is_suggested(ours: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ending)
    with pytest.raises(
        SpanLabError,
        match=r"'subject' looks like participant and 'accuracy' like correct|'accuracy' looks like correct",
    ) as error:
        load([file])
    suggested = str(error.value).rpartition("--map ")[2]
    with_less = load([file], columns=read_map([suggested]))
    assert set(with_less.scored.items["agent"]) == {"People (n = 3)"}
    assert with_less.cautions == (
        (
            f"{file} has columns that look like those of a response table and are not read: 'RT' (rt_ms), 'n_items'"
            " (set_size). --map RT=rt_ms,n_items=set_size reads them."
        ),
    )
    assert (
        load([written(ours.rename(columns={"rt_ms": "RT"}), tmp_path, ".csv", "rt")])
        .cautions[0]
        .endswith("not read: 'RT' (rt_ms). --map RT=rt_ms reads them.")
    )


def test_what_a_whole_table_lacks_is_suggested_with_the_values_that_people_have(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Subject_ID,Task,ACC\n1,stroop,1\n", encoding="utf-8")
    with pytest.raises(SpanLabError) as error:
        load([tmp_path / "t.csv"])
    assert str(error.value).endswith(
        ". 'Subject_ID' looks like participant and 'ACC' looks like correct and 'Task' looks like paradigm: "
        "--map Subject_ID=participant,ACC=correct,Task=paradigm,agent:participant,agent_kind:participant"
    )
    suggested = str(error.value).rpartition("--map ")[2]
    assert set(load([tmp_path / "t.csv"], columns=read_map([suggested])).scored.items["agent"]) == {"Participant 1"}


def test_what_is_called_otherwise_altogether_is_not_suggested() -> None:
    assert looks_like(["subject", "accuracy", "RT"]) == {"participant": "subject", "correct": "accuracy", "rt_ms": "RT"}
    assert looks_like(["subjective_rating", "inaccuracy", "start", "colour", "identity"]) == {}
    assert looks_like(["participant", "subject", "correct", "acc"]) == {}, "nothing is missing"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            "subject",
            r"--map takes THEIRS=OURS, such as subject=participant,accuracy=correct, and OURS:VALUE .*found 'subject'",
        ),
        ("subject=particpant", r"the response table has no column 'particpant'; did you mean 'participant'\?"),
        (
            "subject=xyzzy",
            (
                r"the response table has no column 'xyzzy' \(see 'The record' in the documentation; a condition is"
                r" factor_NAME\)"
            ),
        ),
        ("a=correct,b=correct", "each column is named once"),
        ("a=correct,a=rt_ms", "each column is named once"),
        ("a=correct,correct:1", "each column is named once"),
        ("=correct", "each column is named once"),
        ("paradigm:", "OURS:VALUE"),
        ("", "found ''"),
    ],
)
def test_a_map_that_is_none_is_refused(typed: str, told: str) -> None:
    with pytest.raises(SpanLabError, match=told):
        read_map([typed])


def test_a_map_is_typed_as_it_is_read() -> None:
    columns = read_map(["subject=participant", "load=factor_load,agent:people"])
    assert columns == ColumnMap((("subject", "participant"), ("load", "factor_load")), (("agent", "people"),))
    assert read_map([columns.typed]) == columns
    assert not read_map([])


def test_a_column_that_the_file_lacks_or_has_twice_is_refused(ours: pd.DataFrame, tmp_path: Path) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ".csv")
    with pytest.raises(
        SpanLabError, match=r"--map subjekt=participant: .* has no column 'subjekt'; did you mean 'subject'\?"
    ):
        load([file], columns=read_map(["subjekt=participant"]))
    with pytest.raises(SpanLabError, match="has a column 'correct', too, and it is unclear which one counts"):
        load([written(ours.assign(accuracy=True), tmp_path, ".csv")], columns=read_map(["accuracy=correct"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("figure", "serial_position"), ("stats",), ("scores",), ("compare", "-o", "out", "--no-models")],
    ids=lambda words: words[0],
)
def test_commands_take_a_map(run: Run, ours: pd.DataFrame, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ".csv")
    status, out, err = run(*words, file)
    assert "--map" in complaint(status, out, err)
    status, out, err = run(*words, file, "--map", MAP)
    assert status == 0, err
    assert err == ""
    if words[0] == "compare":
        assert f"spanlab compare {file} -o out --map {MAP}" in (tmp_path / "out" / "report.html").read_text(
            encoding="utf-8"
        )


def test_python_takes_a_map_and_calls_it_columns(ours: pd.DataFrame, tmp_path: Path) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ".csv")
    assert set(spanlab.figure("serial_position", file, columns=MAP).table["agent"]) >= {"People (n = 3)"}
    with pytest.raises(SpanLabError, match="columns subject=participant,accuracy=correct"):
        spanlab.figure("serial_position", file)
