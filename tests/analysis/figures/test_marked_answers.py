"""Every mark of a figure, point or bar, knows the answers that it is computed from: as many as its
numbers say, and no others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from marks import ROLES, marks, mean_of_trials, unequal
from nback_answers import block_rows
from observed import change_detection, switching, table
from planted_errors import planted_table
from planted_groups import planted_groups
from planted_ratings import planted_ratings

from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.figure_catalogue import figure_named
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.report.figures import compute_figures


def lists() -> pd.DataFrame:
    people = [
        responses(lambda _, k: 0.9 - 0.1 * k, agent="people", kind="participant", participant=name, repetitions=4)
        for name in ("anna", "ben")
    ]
    return mixed(*people, responses(lambda n, _: 0.2 * (5 - n) + 0.3, repetitions=5, session="s1"))


def switches() -> pd.DataFrame:
    trial = switching(
        {"one task": 0.95, "repetition": 0.85, "switch": 0.7},
        {"one task": 500, "repetition": 600, "switch": 750},
        (0.05, -40),
    )
    return pd.concat(
        [
            table(trial, 12, agent="people", kind="participant", participant=name, paradigm="sts", seed=seed)
            for seed, name in enumerate("abc")
        ]
    )


def detections() -> pd.DataFrame:
    return table(change_detection(3.0), 60, paradigm="cd")


def blocks() -> pd.DataFrame:
    random, rows = np.random.RandomState(4), []
    for trial in range(1, 37):
        labels = "".join(random.choice(["m", "-"], 16, p=[0.3, 0.7]))
        answers = [label if random.rand() < 0.8 else "m" for label in labels]
        rows.append(
            block_rows(
                labels, answers, n=1 + trial % 2, trial=trial, agent=("network:test", "capacity")[trial % 3 == 0]
            )
        )
    return pd.concat(rows, ignore_index=True)


MADE: dict[str, tuple[Callable[[], pd.DataFrame], set[str]]] = {
    "lists": (lists, {"serial_position", "set_size", "primacy_recency"}),
    "switches": (switches, {"task_switching", "switching_time", "congruency", "reaction_time"}),
    "detections": (detections, {"set_size", "capacity", "sensitivity"}),
    "blocks": (blocks, {"nback_models", "nback_dprime", "nback_published"}),
    "errors": (
        partial(planted_table, {"anna": (0.8, 0.2), "ben": (0.6, 0.4)}, {1: 12.0, 3: 20.0}, trials=60),
        {"error_distribution"},
    ),
    "ratings": (partial(planted_ratings, {"anna": (1.2, 0.8), "ben": (0.8, 1.0)}), {"roc", "calibration"}),
    "groups": (
        lambda: planted_groups({"old": (4, 0.3), "young": (4, 1.4)}, np.random.RandomState(2)),
        {"groups", "set_size"},
    ),
}


def read(folder: Path, made: pd.DataFrame) -> Data:
    file = folder / "answers.csv"
    made.to_csv(file, index=False)
    return load([file])


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_as_many_answers_are_behind_a_mark_as_its_numbers_say(name: str, tmp_path: Path) -> None:
    made, expected = MADE[name]
    data = read(tmp_path, made())
    (paradigm,) = data.scored.parts
    computed, _, failed = compute_figures(data, paradigm)
    assert failed == []
    assert expected <= computed.keys(), computed.keys()
    there = set(data.scored.items["agent"].astype(str))
    for figure in (one.draw() for one in computed.values()):
        assert unequal(figure) == []
        rows = [row for row in figure.spec["data"]["values"] if row.get("role") in ROLES]
        mine = [row for row in rows if "agent" not in row or {row["agent"], row.get("panel")} & there]
        assert len(marks(figure)) >= len(mine) > 0, f"{figure.title}: marks without answers"


def test_the_answers_behind_a_point_have_its_mean(tmp_path: Path) -> None:
    figure = figure_named("serial_position").compute(read(tmp_path, lists()), Wish(("vsr",))).draw()
    points = [row for row in marks(figure) if row["agent"] == "network:test"]
    assert len(points) == 3 + 4 + 5
    for row in points:
        behind = figure.answers(row)
        assert behind is not None
        answers = behind.find()
        assert mean_of_trials(answers) == pytest.approx(row["mean"])
        assert set(answers["agent"]) == {"network:test"}
        assert set(answers["serial_position"]) == {row["at"]}


def test_lines_chance_and_published_people_have_no_answers(tmp_path: Path) -> None:
    figure = figure_named("serial_position").compute(read(tmp_path, lists()), Wish(("vsr",))).draw()
    others = [row for row in figure.spec["data"]["values"] if row not in marks(figure)]
    assert {row["role"] for row in others} >= {"chance", "curve"}
    assert {row["agent"] for row in others if row["role"] == "curve"}.isdisjoint(
        {"network:test", "people", "Participants"}
    )


def test_a_bar_has_its_lower_edge_and_the_last_one_both(tmp_path: Path) -> None:
    made = planted_table({"anna": (1.0, 0.0)}, {1: 12.0}, trials=60).assign(
        error=lambda rows: [*(180.0, -180.0, 0.0, -15.0), *rows["error"][4:]]
    )
    figure = figure_named("error_distribution").compute(read(tmp_path, made), Wish()).draw()
    assert unequal(figure) == []
    ends = {row["x"]: row["count"] for row in marks(figure)}
    assert ends[-180.0] == ends[165.0] == 1
