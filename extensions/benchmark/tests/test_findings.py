"""The field's findings as a benchmark: planted effects are found, in both directions, and observers
differ where they must."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_line import Run, output_of

import spanlab
from spanlab.analysis.data import Scored, score_table
from spanlab.analysis.data.coding import Declared
from spanlab.core import SpanLabError
from spanlab.extensions.benchmark import findings
from spanlab.extensions.benchmark.findings import (
    MEASURES,
    PARTS,
    Interval,
    interval,
    parts_of,
    read_findings,
    values_of,
    verdict,
)
from spanlab.human_data import of_persons

SUITE = read_findings()
BY_NAME = {one.finding: one for one in SUITE.findings}


def scored(**columns: object) -> Scored:
    table = pd.DataFrame({"agent": "a", "agent_kind": "participant", "participant": "p", "paradigm": "x", **columns})
    return score_table(table)


def serial(answers: list[list[int]]) -> Scored:
    """Lists in serial recall, whose answers are positions."""
    rows = [
        {"trial": trial, "serial_position": at, "ask": at, "correct_answer": at, "answer": given}
        for trial, given_list in enumerate(answers, 1)
        for at, given in enumerate(given_list, 1)
    ]
    table = pd.DataFrame(rows)
    return scored(
        **table, list_length=len(answers[0]), correct=table["answer"] == table["correct_answer"], outcome="answered"
    )


def test_sessions_of_nothing_of_a_suite_are_not_judged_by_it(tmp_path: Path) -> None:
    spanlab.replay("cd", agent="chance", trials=4, data=tmp_path, say=lambda text: None)
    with pytest.raises(SpanLabError, match="no session of the suite"):
        findings.compared(SUITE, tmp_path)


@pytest.mark.parametrize(("accepted", "said"), [(False, "not resolved"), (True, "same direction")])
def test_replies_that_cannot_be_read_are_no_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, accepted: bool, said: str
) -> None:
    lost = np.arange(200) % 5 < 3
    table = {
        "trial": range(400),
        "set_size": [2] * 200 + [6] * 200,
        "outcome": ["answered"] * 200 + [*np.where(lost, "invalid", "answered")],
    }
    answers = scored(**table, agent_kind="chat", participant="", paradigm="cd", correct=[True] * 200 + [*~lost])
    monkeypatch.setattr(findings, "sessions_of", lambda *_: [])
    monkeypatch.setattr(
        findings, "load", lambda _, accept_unread: SimpleNamespace(scored=replace(answers, accept_unread=accept_unread))
    )
    rows = {row["finding"]: row["verdict"] for row in findings.compared(SUITE, tmp_path, accepted)}
    assert rows["set size"] == said


def test_each_finding_has_people_who_show_it() -> None:
    table = of_persons("findings")
    assert {*table["finding"]} == {*BY_NAME}
    for one in SUITE.findings:
        people = interval([*table.loc[table["finding"] == one.finding, "value"]])
        assert people is not None
        assert people.low > 0, one.finding
        assert one.measure in MEASURES


def test_a_difference_between_conditions_is_signed() -> None:
    size, right = [1, 1, 1, 1, 4, 4, 4, 4], [1, 1, 1, 0, 1, 0, 0, 0]
    easy = scored(trial=range(8), set_size=size, correct=right, rt_ms=[500.0] * 4 + [800.0] * 4)
    assert findings.fall(easy, "set_size") == pytest.approx(0.5)
    assert findings.slowing(easy, "set_size") == pytest.approx(100.0)
    hard = scored(trial=range(8), set_size=size, correct=right[::-1], error=[10.0] * 4 + [40.0] * 4)
    assert findings.fall(hard, "set_size") == pytest.approx(-0.5)
    assert findings.widening(hard, "set_size") == pytest.approx(30.0)


def test_positions_places_and_their_order() -> None:
    swapped = serial([[1, 3, 2, 4, 5, 6]] * 3)
    assert findings.primacy(swapped, "") == pytest.approx(0.5)
    assert findings.recency(swapped, "") == pytest.approx(0.0)
    assert findings.locality(swapped, "") > 0
    assert findings.locality(serial([[6, 2, 3, 4, 5, 1]] * 3), "") < 0
    assert findings.fill_in(swapped, "") == 1.0, "after 3, 2 comes next"
    assert findings.fill_in(serial([[1, 3, 4, 5, 6, 2]] * 3), "") == -1.0, "after 3, the list goes on"
    assert np.isnan(findings.fill_in(serial([[1, 2, 3, 4, 5, 6]] * 3), ""))


def free(orders: list[list[int]], length: int = 6, **more: object) -> Scored:
    """Lists in free recall, in which these positions were recalled in this order."""
    rows = [
        {"serial_position": at, "output_position": order.index(at) + 1 if at in order else None, "correct": at in order}
        for order in orders
        for at in range(1, length + 1)
    ]
    number = np.repeat(np.arange(len(orders)), length)
    known = dict.fromkeys(more.get("known", ()), number)  # type: ignore[attr-defined]
    return scored(**pd.DataFrame(rows), list_length=length, chance=0.1, **known)


@pytest.mark.parametrize("known", [("trial",), ()])
def test_lists_without_a_trial_number_are_lists_of_their_own(known: tuple[str, ...]) -> None:
    """Each list of a table without trial numbers has a first recall and transitions of its own."""
    forward = free([[1, 2, 3, 4], [6, 5, 4]] * 4, known=known)
    assert findings.first_recall(forward, "") == pytest.approx(0.5)
    assert findings.contiguity(forward, "") > 0.3
    leaping = free([[3, 6, 1, 4], [4, 1, 5, 2]] * 4, known=known)
    assert findings.first_recall(leaping, "") < 0
    assert findings.contiguity(leaping, "") < 0


def test_verdicts_go_both_ways_and_need_the_margin() -> None:
    people = Interval(-0.2, -0.3, -0.1, 20)
    assert verdict(people, Interval(-0.1, -0.15, -0.05, 10), 0.03) == "same direction"
    assert verdict(people, Interval(0.1, 0.05, 0.15, 10), 0.03) == "opposite"
    assert verdict(people, Interval(-0.1, -0.15, -0.02, 10), 0.03) == "not resolved"
    assert verdict(people, None, 0.03) == "not resolved"


def test_parts_have_all_conditions_and_give_an_interval() -> None:
    size = [2, 6] * 100
    part = scored(trial=range(200), set_size=size, correct=[int(s == 2 or n % 4 < 2) for n, s in enumerate(size)])
    unit = parts_of(part.items, "set_size")
    assert {*unit} == {*range(PARTS)}
    assert all(part.items.loc[unit == one, "set_size"].nunique() == 2 for one in range(PARTS))
    found = interval([*values_of(BY_NAME["set size"], part, unit, "set_size").values()])
    assert found is not None
    assert found.mean == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "same"),
    [("ideal", set()), ("chance", set()), ("capacity:2", {"set size", "set size in updating", "error distributions"})],
)
def test_observers_differ_where_they_must(tmp_path: Path, run: Run, agent: str, same: set[str]) -> None:
    out = output_of(*run("benchmark", agent, "--suite", "findings", "--data", "found"))
    rows = json.loads((tmp_path / "found" / "findings.json").read_text(encoding="utf-8"))["findings"]
    assert {row["finding"] for row in rows if row["verdict"] == "same direction"} >= same
    assert not [row["finding"] for row in rows if row["verdict"] == "opposite"]
    if not same:
        assert "same direction" not in out


OWN = """paradigm: far
version: 1
title: Far
factors: {distance: [0, 4]}
timeline:
  - {phase: probe, show: {blank: {}}, ask: {choice: {options: [a, b]}, answer: a}}
effects: {distant: {of: distance, contrast: {4: 0}}, signal: {of: distance, contrast: {4: 0}, value: d_prime}}
instructions: {en: Do it.}
"""
MINE = """suite: mine
version: 1
title: Mine
seed: 5
parts: {all: {about: mine, paradigms: {far.yaml: {trials: 60}}}}
findings: [{finding: distance, paradigm: far, measure: effect, column: distant, margin: 0.05, says: far is worse}]
"""


def test_a_suite_of_ones_own_measures_effects_that_its_paradigms_declare(tmp_path: Path, run: Run) -> None:
    (tmp_path / "far.yaml").write_text(OWN, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    output_of(*run("benchmark", "ideal", "--suite", "mine.yaml", "--data", "found", "-o", "new"))
    (row,) = json.loads((tmp_path / "new" / "findings.json").read_text(encoding="utf-8"))["findings"]
    assert (row["people"], row["agent"]["mean"], row["verdict"]) == (None, 0, "not resolved")
    part = scored(factor_distance=[0, 4] * 30, correct=[True, False] * 30, trial=[*range(60)], outcome="answered")
    content = {"factors": {"distance": [0, 4]}, "effects": {"distant": {"of": "distance", "contrast": {"4": 0}}}}
    part = replace(part, declared={"x": Declared.read(content)})
    assert MEASURES["effect"](part, "distant") == -1
    for name, says in (
        ("distent", "did you mean 'distant'"),
        ("signal", "no effect 'signal' of right answers or times"),
    ):
        with pytest.raises(SpanLabError, match=says):
            MEASURES["effect"](part, name)
    (tmp_path / "mine.yaml").write_text(MINE.replace("measure: effect", "measure: efect"), encoding="utf-8")
    assert "no measure 'efect'; did you mean 'effect'?" in run("benchmark", "ideal", "--suite", "mine.yaml")[2]
