"""Data of which each part is ordinary, and the parts together were read wrongly: made-up rows, counted by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import spanlab
from spanlab.analysis.data.exclusions import Rule
from spanlab.analysis.data.loading import load
from spanlab.analysis.data.recipe import Long, Recipe


def read(folder: Path, *tables: str, **options: Any) -> pd.DataFrame:
    """The scored items of tables in files, each a text with a line for each row."""
    files = [folder / f"{number}.csv" for number in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        file.write_text("\n".join([*table.split(), ""]), encoding="utf-8")
    return load(files, **options).scored.items


def rule(leave_out: str, where: str, below: float) -> Rule:
    return Rule.model_validate({"leave_out": leave_out, "where": where, "below": below})


@pytest.mark.parametrize("nothing", ["", "0"])
def test_a_list_of_which_nothing_was_recalled_is_one(tmp_path: Path, nothing: str) -> None:
    recipe = Recipe(
        values={"paradigm": "free", "list_length": 4},
        long=Long(number="output_position", columns={"serial_position": "o{}"}),
    )
    table = f"participant,trial,o1,o2,o3,o4 1,1,3,2,{nothing},{nothing} 1,2,{','.join([nothing] * 4)}"
    items = read(tmp_path, table, recipe=recipe)
    assert (items["correct"].tolist().count(1.0), len(items), items["unit_trial"].nunique()) == (2, 8, 2)


def test_sessions_of_different_people_that_are_called_alike_are_judged_apart(tmp_path: Path) -> None:
    rows = [f"{who},1,{trial},{int(who == 'A' or trial == 1)}" for who in "AB" for trial in (1, 2, 3)]
    data = read(
        tmp_path, "participant,session,trial,correct " + " ".join(rows), rules=[rule("sessions", "accuracy", 0.5)]
    )
    assert {*data["participant"]} == {"A"}


def test_answers_that_were_not_given_are_wrong_beside_any_other_table(tmp_path: Path) -> None:
    people = "participant,paradigm,trial,response,correct a,vsr,1,x,1 a,vsr,2,y,0 a,vsr,3,, a,vsr,4,z,1"
    machine = "agent_kind,agent,paradigm,trial,correct_answer,answer,correct network,net,vsr,1,3,3,1"
    for tables in ([people], [people, machine]):
        items = read(tmp_path, *tables)
        assert items.loc[items["participant"] == "a", "correct"].tolist() == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("text", ["side == 'left'", 'side == "left"'])
def test_words_in_a_calculation_may_be_names_of_columns(tmp_path: Path, text: str) -> None:
    table = "participant,trial,side,left 1,1,left,cat 1,2,right,dog 1,3,left,cow"
    assert read(tmp_path, table, recipe=Recipe(columns={"correct": text}))["correct"].tolist() == [1.0, 0.0, 1.0]


def test_pilots_and_practice_are_no_decisions_by_which_people_are_left_out_or_scored(tmp_path: Path) -> None:
    """As text tables have them: of 20 decisions that count 19 are right, of pilots and practice half."""
    head = "participant,session,paradigm,trial,practice,pilot,phase,step,set_size,correct_answer,answer,correct"
    rows = [
        f"{who},{marks[0]}{marks[1]},ospan,{trial},{marks[0]},{marks[1]},{phase},{size + 1},{size},1,1,{right}"
        for who, marks, trial in product("ABC", (("false", "false"), ("true", "false"), ("false", "true")), range(20))
        for phase, size, right in (
            ("decide", 0, "true" if trial % (20 if marks == ("false", "false") else 2) else "false"),
            ("recall", 3, "true"),
        )
    ]
    table = " ".join([head, *rows])
    assert {*read(tmp_path, table, rules=[rule("participants", "processing_accuracy", 0.85)])["participant"]} == {
        *"ABC"
    }
    assert spanlab.scores_by_person(tmp_path / "0.csv").to_frame()["ospan_processing_accuracy"].tolist() == [0.95] * 3


def test_rows_without_trial_numbers_are_other_trials_in_another_file(tmp_path: Path) -> None:
    head = "participant,paradigm,correct,rt_ms "
    data = read(tmp_path, head + "a,vsr,1,5 a,vsr,0,6 a,vsr,0,7 a,vsr,1,8", head + "a,vsr,1,9 a,vsr,1,4")
    assert data["unit_trial"].nunique() == 6


def test_people_who_took_only_pilots_are_counted_with_pilots_alone(tmp_path: Path) -> None:
    table = "participant,paradigm,trial,correct,pilot a,vsr,1,1,false b,vsr,1,0,false c,vsr,1,1,true"
    for pilots, name in ((False, "People (n = 2)"), (True, "People (n = 3)")):
        assert {*read(tmp_path, table, include_pilot=pilots)["agent"]} == {name}
