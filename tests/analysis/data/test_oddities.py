"""A laboratory's own table that would silently give wrong numbers: refused in a sentence that says
what to write, or noted; and its like that is fine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from any_tables import written
from command_line import command_line
from report_page import read

from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.report import folder
from spanlab.core.errors import SpanLabError

Spoil = Callable[[pd.DataFrame], pd.DataFrame]
ENDINGS = [".csv", ".parquet"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Four people with the same trials, and a network."""
    persons = [
        responses(
            lambda *_: 0.6,
            kind="participant",
            agent="participant",
            participant=f"P0{n}",
            session=f"s{n}",
            lengths=(3, 4),
            repetitions=3,
            seed=n,
        )
        for n in range(4)
    ]
    machine = responses(lambda *_: 0.4, agent="net", lengths=(3, 4), repetitions=3, seed=9, session="net")
    return mixed(*(person.assign(rt_ms=700.0 + person["trial"]) for person in persons), machine).dropna(
        axis="columns", how="all"
    )


def with_values(rows: Callable[[pd.DataFrame], pd.Series], **values: Any) -> Spoil:
    def spoil(table: pd.DataFrame) -> pd.DataFrame:
        table = table.copy()
        chosen = rows(table)
        for name, value in values.items():
            new: Any = value(table.loc[chosen, name]) if callable(value) else value
            table.loc[chosen, name] = new
        return table

    return spoil


def of(person: str) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda table: table["participant"] == person


def counted(data: Data) -> dict[str, int]:
    """People and machines, by the number of units that means are over."""
    units = data.scored.items.groupby("agent", observed=True)["participant"].nunique()
    return {str(agent): int(count) for agent, count in units.items()}


# -- refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_of_people_without_participants_is_refused(people: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    """Four people would be one, and trials the units."""
    for table in (people, people.drop(columns="agent_kind")):
        with pytest.raises(
            SpanLabError,
            match=(
                r"has no column participant: several people would count as one\. Add it, with an identifier for each"
                r" person"
            ),
        ):
            load([written(table.drop(columns="participant"), tmp_path, ending)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_of_machines_needs_no_participants(people: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    assert counted(
        load([written(people[people["agent_kind"] == "network"].drop(columns="participant"), tmp_path, ending)])
    ) == {"net": 1}
    assert counted(load([written(people, tmp_path, ending)])) == {"People (n = 4)": 4, "net": 1}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("word", ["NA", "null", "None", "n/a", "NaN", " ", "", "?"])
def test_ids_that_are_words_for_nothing_are_refused(
    people: pd.DataFrame, tmp_path: Path, word: str, ending: str
) -> None:
    table = with_values(of("P01"), participant=word)(people)
    with pytest.raises(
        SpanLabError,
        match=r": 21 rows name nobody: participant is empty, or a word that means missing.*Write an identifier",
    ):
        load([written(table, tmp_path, ending)])
    with pytest.raises(SpanLabError, match="name nobody"):
        load([written(table.drop(columns="agent_kind"), tmp_path, ending)])


@pytest.mark.parametrize("name", ["Nan", "Nana", "N.A.", "0", "none2", "Noneill"])
def test_ids_that_are_nearly_such_words_are_ids(people: pd.DataFrame, tmp_path: Path, name: str) -> None:
    table = with_values(of("P01"), participant=f"{name}1" if name == "Nan" else name)(people)
    assert counted(load([written(table, tmp_path)]))["People (n = 4)"] == 4


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "another answer": ({"answer": '"other"'}, "has answer . in one row and .* in another"),
    "the same answer, scored otherwise": (
        {"correct": lambda old: ~old.astype(bool)},
        r"has correct [01] in one row and [01] in another",
    ),
    "another time": ({"rt_ms": 12.5}, r"has rt_ms 701 in one row and 12\.5 in another"),
    "another outcome": ({"outcome": "omitted"}, "has outcome answered in one row and omitted in another"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_rows_that_contradict_each_other_are_refused(
    people: pd.DataFrame, tmp_path: Path, name: str, ending: str
) -> None:
    values, told = CONTRADICTIONS[name]
    again = with_values(lambda table: table["trial"] > 0, **values)(
        people[(people["participant"] == "P02") & (people["trial"] == 1)]
    )
    with pytest.raises(SpanLabError, match="two rows of the same item contradict each other") as error:
        load([written(pd.concat([people, again]), tmp_path, ending)])
    assert re.search(f": paradigm vsr, participant P02, session s2, trial 1, step 4, ask 1 {told}", str(error.value))
    assert "and 2 further rows contradict earlier ones" in str(error.value)
    assert "Delete the wrong rows; where both are right, tell them apart by the numbers in trial, step or ask" in str(
        error.value
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_rows_twice_count_once(people: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    data = load([written(pd.concat([people, people.head(5)]), tmp_path, ending)])
    assert data.notes == ("5 duplicate rows counted once.",)
    assert len(data.scored.items) == len(people)


# -- noted -----------------------------------------------------------------------------------------

PEOPLE = of("P00")
#: a fault, what is said of it, and a table that is nearly so and fine
NOTED: dict[str, tuple[Spoil, str, Spoil]] = {
    "near ids": (
        with_values(lambda table: PEOPLE(table) & (table["trial"] > 3), participant=" p00 "),
        (
            "Identifiers of participants are nearly alike and count as different people: ' p00 ' and 'P00'. Write each"
            " person's identifier in one way."
        ),
        with_values(lambda table: PEOPLE(table) & (table["trial"] > 3), participant="P10"),
    ),
    "times in seconds": (
        with_values(lambda table: table["rt_ms"].notna(), rt_ms=lambda old: old / 1000),
        (
            "Reaction times (rt_ms) of P00, P01, P02, P03 are below 10 ms, as if they were in seconds. They are used as"
            " they are: write milliseconds."
        ),
        with_values(lambda table: table["trial"] == 1, rt_ms=9.0),
    ),
    "times of one person in seconds": (
        with_values(of("P02"), rt_ms=lambda old: old / 1000),
        "Reaction times (rt_ms) of P02 are below 10 ms",
        with_values(of("P02"), rt_ms=150.0),
    ),
    "some kinds missing": (
        with_values(of("P03"), agent_kind=None),
        (
            "21 of 105 rows do not say what kind of agent answered (agent_kind): these answers count as those of a"
            " machine."
        ),
        with_values(of("P03"), agent_kind="participant"),
    ),
    "all kinds missing": (
        lambda table: table[table["agent_kind"] == "participant"].drop(columns="agent_kind"),
        "No row says what kind of agent answered (agent_kind): these answers count as those of a machine.",
        lambda table: table,
    ),
    "omitted and correct": (
        with_values(lambda table: table["trial"] == 2, outcome="omitted", correct=True),
        "15 rows are marked as omitted or invalid and yet as correct: they count as wrong.",
        with_values(lambda table: table["trial"] == 2, outcome="omitted", correct=False),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", NOTED)
def test_what_looks_like_a_mistake_is_noted_and_what_is_nearly_so_is_not(
    people: pd.DataFrame, tmp_path: Path, name: str, ending: str
) -> None:
    spoil, told, fine = NOTED[name]
    (caution,) = load([written(spoil(people), tmp_path, ending)]).cautions
    assert caution.startswith(told)
    assert load([written(fine(people), tmp_path, ending)]).cautions == ()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["compare", "figure", "stats", "scores"])
def test_notes_are_on_the_error_stream_and_on_the_page(
    people: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.setattr(folder, "save", lambda *_: [])
    file = written(NOTED["times in seconds"][0](people), tmp_path)
    words = {
        "compare": ("compare", file, "-o", "out"),
        "figure": ("figure", "serial_position", file),
    }.get(command, (command, file))
    status, _, err = command_line(tmp_path, monkeypatch, capsys)(*words)
    assert status == 0, err
    assert "NOTE Reaction times (rt_ms) of P00, P01, P02, P03 are below 10 ms" in err
    if command == "compare":
        page = read(tmp_path / "out" / "report.html").text
        assert page.index("are below 10 ms, as if they were in seconds") < page.index(
            "At a glance", page.index("Before you read on")
        )
