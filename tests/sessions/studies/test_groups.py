"""Groups of a study: balanced over who has come, the same for one person always, and in every
record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Run, output_of
from study_files import study_in, take

from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.reader import find_sessions
from spanlab.sessions.studies.participants import Assigner, Person, people
from spanlab.sessions.studies.schema import Group
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import VisitRequest, assigner, check_request, foresee, sit_down
from spanlab.sessions.studies.visit_files import read_head

TWO = """
study: trained
title: Training
paradigms:
  - {paradigm: vsr, set: {list_length: [2, 3]}, trials: 2, practice: false}
  - {paradigm: sfr, as: cells, set: {list_length: 1}, trials: 1, practice: false}
  - {paradigm: sfr, as: more_cells, set: {list_length: 3}, trials: 1, practice: false}
order: latin_square
sessions: 2
groups:
  - {name: training, paradigms: [vsr, cells], set: {vsr: {list_length: 3}}}
  - {name: control, paradigms: [vsr, more_cells]}
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_in(tmp_path, TWO)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


# -- assignment ------------------------------------------------------------------------------------


class Arrivals:
    """People who come and withdraw, without a disk."""

    def __init__(self, groups: list[Group], seed: int = 1) -> None:
        self.assign = Assigner(groups, "s", seed)
        self.there: list[Person] = []

    def come(self, number: int | None = None, kind: Any = "person") -> Person:
        number = number or 1 + max((person.number for person in self.there if person.kind == kind), default=0)
        group, place = self.assign(self.there, kind, number)
        self.there.append(Person(f"{kind}{number}", number, kind, "", group=group, place=place))
        return self.there[-1]

    def withdraws(self, at: int) -> None:
        one = self.there[at]
        self.there[at] = Person(one.name, one.number, one.kind, "", "then", 1, one.group, one.place)

    @property
    def counts(self) -> Counter[str]:
        return Counter(person.group for person in self.there if person.kind == "person" and not person.withdrawn)


def equal(many: int) -> list[Group]:
    return [Group(name=f"g{n}") for n in range(many)]


@pytest.mark.parametrize("many", [2, 3, 5])
@pytest.mark.slow
def test_groups_differ_by_one_person_at_most_whenever_somebody_looks(many: int) -> None:
    """Whatever numbers are given, and although pilots and rehearsals come between."""
    for seed in range(20):
        random, arrivals = np.random.RandomState(seed), Arrivals(equal(many), seed)
        numbers = iter(random.permutation(500) + 1)
        for _ in range(60):
            arrivals.come(int(next(numbers)) if random.randint(3) == 0 else None)
            if random.randint(4) == 0:
                arrivals.come(kind="pilot")
            counts = arrivals.counts
            assert max(counts.values()) - min(counts[f"g{n}"] for n in range(many)) <= 1
        for group in arrivals.counts:
            places = sorted(
                person.place for person in arrivals.there if person.kind == "person" and person.group == group
            )
            assert places == list(range(1, len(places) + 1)), (
                "orders and keys go by places, so every group has all of them alike"
            )


def test_who_withdraws_is_replaced_in_the_group_and_in_the_place() -> None:
    for seed in range(20):
        random, arrivals = np.random.RandomState(seed), Arrivals(equal(3), seed)
        for _ in range(30):
            arrivals.come()
        gone = [int(at) for at in random.permutation(30)[:6]]
        for at in gone:
            arrivals.withdraws(at)
        left = {(arrivals.there[at].group, arrivals.there[at].place) for at in gone}
        found = {(person.group, person.place) for person in (arrivals.come() for _ in gone)}
        assert found == left
        assert set(arrivals.counts.values()) == {10}


def test_groups_of_declared_sizes_fill_up_together_and_nobody_comes_in_afterwards() -> None:
    arrivals = Arrivals([Group(name="few", people=10), Group(name="many", people=30)])
    for number in range(1, 41):
        arrivals.come()
        assert abs(arrivals.counts["few"] - number / 4) <= 1
    assert arrivals.counts == {"few": 10, "many": 30}
    with pytest.raises(SpanLabError, match=r"every group of s is full \(few: 10 of 10, many: 30 of 30\)"):
        arrivals.come()
    assert arrivals.come(kind="pilot").group in ("few", "many"), "pilots fill nobody's place, and are not kept out"
    arrivals.withdraws(3)
    assert arrivals.come().place == arrivals.there[3].place


def test_orders_and_keys_are_balanced_within_each_group(study: Study) -> None:
    arrivals = Arrivals(list(study.groups))
    orders: dict[str, list[Any]] = {"training": [], "control": []}
    for _ in range(48):
        person = arrivals.come()
        of_group = study.of_group(person.group)
        orders[person.group].append(tuple(one.name for one in of_group.order_for(person.turn, 1)))
    for group, second in (("training", "cells"), ("control", "more_cells")):
        assert Counter(orders[group]) == {("vsr", second): 12, (second, "vsr"): 12}


# -- sessions --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_group_takes_its_paradigms_with_its_levels_and_the_table_says_which_it_is(
    study: Study, data: Path, run: Run
) -> None:
    for name in ("p01", "p02", "p03", "p04"):
        for session in (1, 2):
            visit = take(study, data, name, session, fields={})
            group = visit.person.group
            assert read_head(visit.folder)["group"] == group
            assert {one.name for one in visit.order} == (
                {"vsr", "cells"} if group == "training" else {"vsr", "more_cells"}
            )
    table = read_responses(data)
    assert table.groupby("participant")["group"].nunique().eq(1).all()
    assert Counter(table.groupby("participant")["group"].first()) == {"training": 2, "control": 2}
    vsr = table[table["paradigm"] == "vsr"]
    assert set(vsr[vsr["group"] == "training"]["list_length"]) == {3}
    assert set(vsr[vsr["group"] == "control"]["list_length"]) <= {2, 3}
    infos = [read_session(folder) for folder in find_sessions([data])]
    assert all(info["group"] == info["study"]["group"] for info in infos)
    assert run("study", "status", "study.yaml")[1].count("training") >= 3
    printed = output_of(*run("study", "status", "study.yaml"))
    assert "group" in printed.splitlines()[0]
    assert "groups: training 2, control 2" in printed
    output_of(
        *run("figure", "--along", "serial_position", "--by", "group", "data", "--paradigm", "vsr", "-o", "groups.csv")
    )
    assert set(pd.read_csv("groups.csv")["group"]) == {"training", "control"}
    printed = output_of(*run("stats", "data", "--paradigm", "vsr", "--by", "group"))
    assert "training" in printed


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("[a]", "at least 2"),
        ("[a, a]", "the group 'a' occurs twice"),
        ("[a, B]", "a group's name has small letters"),
        ("[a, {name: b, paradigms: [vrs]}]", "the study has no paradigm 'vrs'; did you mean 'vsr'"),
        ("[a, {name: b, set: {vsr: {list_lenght: 3}}}]", "list_lenght"),
        ("[a, {name: b, set: {vsr: {list_length: 30}}}]", "30"),
        ("[a, {name: b, paradigms: [vsr], set: {cells: {list_length: 2}}}]", "the group does not take 'cells'"),
        ("[a, {name: b, paradigms: [vsr]}]", "the group 'b' has no paradigm in session 2"),
        ("[{name: a, paradigms: [vsr, cells]}, {name: b, paradigms: [vsr, cells]}]", "no group takes 'more_cells'"),
        ("[a, {name: b, persons: 3}]", "unknown key 'persons'"),
        (
            "[a, b]\nfields: [{name: group, label: {en: Group}}]",
            "the study has groups, to which participants are assigned",
        ),
    ],
)
def test_mistakes_in_groups_are_told(tmp_path: Path, groups: str, message: str) -> None:
    sessions = "sessions: [[vsr, more_cells], [cells]]\n"
    with pytest.raises(ParadigmError, match=message.replace("'", ".")):
        study_in(tmp_path, TWO[: TWO.index("sessions:")] + sessions + f"groups: {groups}\n")


def test_a_full_study_says_so_before_anybody_sits_down(data: Path, tmp_path: Path) -> None:
    study = study_in(tmp_path, TWO[: TWO.index("groups:")] + "groups: [{name: a, people: 1}, {name: b, people: 1}]\n")
    assert assigner(study, data)([], "person", 1)[0] in "ab"
    for name in ("p01", "p02"):
        sit_down(study, data, VisitRequest(name, "1"))
    with pytest.raises(SpanLabError, match=r"participant: every group is full \(a 1 of 1, b 1 of 1\)"):
        foresee(study, data, VisitRequest("p03", "1"))
    assert check_request(study, data, VisitRequest("p03", "1"), "de")["participant"].startswith(
        "Alle Gruppen sind voll (a 1 of 1"
    )
    assert sit_down(study, data, VisitRequest("p02", "2"))[0].person.group, "who has a place keeps it"
    assert len(people(data / "trained")) == 2
