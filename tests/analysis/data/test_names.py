"""A laboratory's own names of columns: read as the recipe says, or as they say themselves."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from any_tables import written
from command_line import Run, complaint

import spanlab
from spanlab.analysis.data.loading import load
from spanlab.analysis.data.recipe import Recipe, read_inline
from spanlab.core.errors import SpanLabError

THEIRS = {"participant": "subject", "correct": "accuracy", "rt_ms": "RT", "set_size": "n_items"}
pytestmark = pytest.mark.usefixtures("page_only")
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


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
@pytest.mark.slow
def test_columns_of_other_names_give_the_same_numbers(ours: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ending)
    found, wanted = load([file], recipe=read_inline([MAP])), load([written(ours, tmp_path, ending, "ours")])
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
        [file], recipe=read_inline(["subject=participant", "agent:participant,agent_kind:participant,paradigm:stroop"])
    )
    assert set(data.scored.items["agent"]) == {"People (n = 3)"}
    assert set(data.scored.items["paradigm"]) == {"stroop"}


def test_tables_that_have_our_names_already_are_read_beside_others(ours: pd.DataFrame, tmp_path: Path) -> None:
    machine = responses(lambda *_: 0.4, agent="net", lengths=(3, 4), repetitions=3)
    files = [written(ours.rename(columns=THEIRS), tmp_path, ".csv"), written(machine, tmp_path, ".parquet", "net")]
    assert set(load(files, recipe=read_inline([MAP])).scored.items["agent"]) == {"People (n = 3)", "net"}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_columns_whose_names_say_what_they_are_are_read_and_it_is_said(
    ours: pd.DataFrame, tmp_path: Path, ending: str
) -> None:
    data = load([written(ours.rename(columns=THEIRS), tmp_path, ending)])
    wanted = load([written(ours, tmp_path, ending, "ours")])
    names = ["participant", "agent", "correct", "rt_ms", "set_size"]
    pd.testing.assert_frame_equal(
        data.scored.items[names], wanted.scored.items[names], check_dtype=False, check_categorical=False
    )
    (said,) = data.cautions
    for ours_, theirs in THEIRS.items():
        assert f"'{theirs}' as {ours_}" in said


def test_a_table_without_agents_is_of_people(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Subject_ID,Task,ACC\n1,stroop,1\n", encoding="utf-8")
    data = load([tmp_path / "t.csv"])
    assert set(data.scored.items["agent"]) == {"Participant 1"}
    assert data.cautions == (
        "t.csv: 'Subject_ID' as participant, 'ACC' as correct, 'Task' as paradigm.",
        "t.csv: answers are taken as those of people.",
        "t.csv: No trial numbers: each row is taken as a trial.",
    )


def test_a_column_that_cannot_be_what_its_name_says_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("subject,accuracy,acc\n1,d,1\n1,s,0\n", encoding="utf-8")
    assert load([tmp_path / "t.csv"]).scored.items["correct"].tolist() == [1.0, 0.0]
    (tmp_path / "u.csv").write_text("subject,accuracy\n1,d\n1,s\n", encoding="utf-8")
    with pytest.raises(SpanLabError, match=r"nothing says which answers are right.*THEIRS=correct"):
        load([tmp_path / "u.csv"])


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            "subject",
            r"--recipe takes a file, or THEIRS=OURS, such as subject=participant,.*and OURS:VALUE .*found 'subject'",
        ),
        ("subject=particpant", r"the response table has no column 'particpant'; did you mean 'participant'\?"),
        ("subject=xyzzy", r"the response table has no column 'xyzzy' \(a condition is listed under conditions\)"),
        ("a=correct,b=correct", "each column is named once"),
        ("a=correct,a=rt_ms", "each column is named once"),
        ("a=correct,correct:1", "each column is named once"),
        ("paradigm:", "OURS:VALUE"),
        ("", "found ''"),
        ("=correct", "found '=correct'"),
    ],
)
def test_a_recipe_that_is_none_is_refused(typed: str, told: str) -> None:
    with pytest.raises(SpanLabError, match=told):
        read_inline([typed])


def test_a_column_that_the_file_lacks_or_has_twice_is_refused(ours: pd.DataFrame, tmp_path: Path) -> None:
    file = written(ours.rename(columns=THEIRS), tmp_path, ".csv")
    with pytest.raises(SpanLabError, match=r"--recipe: .* has no column 'subjekt'; did you mean 'subject'\?"):
        load([file], recipe=read_inline(["subjekt=participant"]))


def test_words_where_numbers_are_meant_are_told_and_can_be_conditions(tmp_path: Path) -> None:
    rows = [(f"p{at % 3}", ("small", "large")[at % 2], at % 5 > 1, "late" if at == 7 else 400 + at) for at in range(60)]
    table = pd.DataFrame(rows, columns=["participant", "set_size", "correct", "rt"])
    table.to_csv(tmp_path / "t.csv", index=False)
    told = load([tmp_path / "t.csv"]).read_as
    assert any("'late' in 'rt' is no number, and counts as missing." in one for one in told)
    assert any(
        "'large', 'small' in 'set_size' are no numbers" in one and "set_size=factor_OTHER" in one for one in told
    )
    read = load([tmp_path / "t.csv"], recipe=Recipe(conditions=("set_size",)))
    assert read.scored.items["factor_set_size"].nunique() == 2
    assert not any("in 'set_size'" in one for one in read.read_as)
    table.assign(set_size=2, rt=500).to_csv(tmp_path / "t.csv", index=False)
    assert "no number" not in str(load([tmp_path / "t.csv"], recipe=Recipe(conditions=("set_size",))).read_as)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("figure", "serial_position"), ("stats",), ("scores",), ("compare", "-o", "out")],
    ids=lambda words: words[0],
)
def test_commands_take_a_recipe(run: Run, ours: pd.DataFrame, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = written(ours.rename(columns={"correct": "ok"}).drop(columns="answer"), tmp_path, ".csv")
    status, out, err = run(*words, file)
    assert "--recipe" in complaint(status, out, err)
    status, out, err = run(*words, file, "--recipe", "ok=correct")
    assert status == 0, err
    assert err == ""
    if words[0] == "compare":
        assert f"spanlab compare {file} -o out --recipe ok=correct" in (tmp_path / "out" / "report.html").read_text(
            encoding="utf-8"
        )


def test_python_takes_a_recipe(ours: pd.DataFrame, tmp_path: Path) -> None:
    file = written(ours.rename(columns={"correct": "ok"}).drop(columns="answer"), tmp_path, ".csv")
    assert set(spanlab.figure("serial_position", file, recipe="ok=correct").table["agent"]) >= {"People (n = 3)"}
    with pytest.raises(SpanLabError, match="nothing says which answers are right"):
        spanlab.figure("serial_position", file)
