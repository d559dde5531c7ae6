"""How lists are recalled: against examples worked out by hand, another program's numbers, and
planted ones."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from observed import recall, rows_by, together

from spanlab.analysis.effects.recall import clustering, lag_counts, transitions
from spanlab.analysis.effects.registry import effect

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "recall_by_quail.json").read_text())


def people(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(agent_kind="participant", agent="participant", participant="P1")


def crp(answers: list[int], length: int) -> list[float]:
    taken, possible = lag_counts(answers, length)
    return [float("nan") if not many else one / many for one, many in zip(taken, possible, strict=True)]


def test_transitions_by_hand() -> None:
    # 3, 4, 1 of five: from 3 to 4 (lag 1) with 1, 2, 4, 5 left; from 4 to 1 (lag -3) with 1, 2, 5
    # left
    assert transitions([3, 4, 1], 5) == [(1, [-2, -1, 1, 2]), (-3, [-3, -2, 1])]
    # an intrusion parts two items, and what came before it is possible no more
    assert transitions([3, 0, 4, 1], 5) == [(-3, [-3, -2, 1])]
    assert transitions([2, 2, 3], 3) == [(1, [-1, 1])]
    # lags -4 to 4: +1 was taken once and possible twice, -3 taken once and possible once
    assert crp([3, 4, 1], 5) == pytest.approx(
        [float("nan"), 1, 0, 0, float("nan"), 0.5, 0, float("nan"), float("nan")], nan_ok=True
    )


@pytest.mark.parametrize("without", [(), ("correct_answer", "answer")])
def test_transitions_are_pooled_over_the_lists_of_a_person(without: tuple[str, ...]) -> None:
    """Kahana (1996): how often somebody took a lag in all lists, of how often it was possible; the same where
    a table does not say which answers were right."""
    lists = {"P1": [[1, 2, 3, 4], [1, 3, 2], [2, 9, 3, 4]], "P2": [[4, 3], [2, 1, 4], [3, 4, 1, 2]]}
    data = together(
        *(
            recall([1, 2, 3, 4], one, number).assign(agent_kind="participant", agent="participant", participant=person)
            for person, every in lists.items()
            for number, one in enumerate(every, start=1)
        )
    ).drop(columns=[*without])
    found = rows_by(effect("lag_crp").table(data, "sfr"), "lag")
    for lag, row in found.items():
        shares = []
        for every in lists.values():
            taken = possible = 0
            for one in every:
                for at, (here, there) in enumerate(pairwise(one)):
                    if here <= 4 and there <= 4:
                        taken += there - here == lag
                        possible += here + lag in {1, 2, 3, 4} - {*one[: at + 1]}
            shares += [taken / possible] if possible else []
        assert row["mean"] == pytest.approx(np.mean(shares)), lag


def test_clustering_by_hand() -> None:
    assert clustering([1, 2, 3, 4], 4) == 1
    assert clustering([1, 4, 2, 3], 4) == pytest.approx((0.0 + 0.0) / 2)
    # from 2 of four, 1 and 3 are as near: rank (1 + 1/2) / 2; from 3, 4 is nearer than 1: rank 1
    assert clustering([2, 3, 4, 1], 4) == pytest.approx((0.75 + 1) / 2)
    assert np.isnan(clustering([2, 0, 3], 4))


def test_first_recalls_and_lags_are_those_of_quail() -> None:
    """Whole lists: of lists that were not recalled whole, quail takes the last answer for one from
    which something else could follow."""
    lists = GOLDEN["recalled"]
    data = together(
        *(people(recall(list(range(1, len(one) + 1)), one, number)) for number, one in enumerate(lists, start=1))
    )
    first = rows_by(effect("first_recall").table(data, "sfr"), "serial_position")
    assert [first[place]["mean"] for place in sorted(first)] == pytest.approx(GOLDEN["first_recall"])
    for one, wanted in zip(lists, GOLDEN["lag_crp"], strict=True):
        mine = dict(zip(range(1 - len(one), len(one)), np.nan_to_num(crp(one, len(one))), strict=True))
        assert mine == pytest.approx({int(lag): value for lag, value in wanted.items()})


def test_networks_have_no_order_of_answers() -> None:
    data = together(*(recall([1, 2, 3], [3, 2, 1], number) for number in range(1, 6)))
    for name in ("first_recall", "lag_crp", "temporal_clustering"):
        assert effect(name).missing(data, "sfr")
        assert not effect(name).missing(people(data), "sfr")


def serial(answers: list[list[Any]], length: int = 4) -> pd.DataFrame:
    """Serial recall of places 0 to 8, of which the list has the first ones; None: nothing was
    answered."""
    rows = []
    for number, given in enumerate(answers, start=1):
        for place, answer in enumerate(given, start=1):
            rows.append(
                {
                    **{
                        "session": "s",
                        "participant": "",
                        "agent_kind": "network",
                        "agent": "n",
                        "paradigm": "vsr",
                        "block": 1,
                        "practice": False,
                        "pilot": False,
                    },
                    **{
                        "trial": number,
                        "practice": False,
                        "trial_id": f"t{number}",
                        "step": length + place,
                        "ask": place,
                        "set_size": length,
                        "list_length": length,
                    },
                    **{
                        "serial_position": place,
                        "output_position": None,
                        "chance": 1 / 9,
                        "oracle": False,
                        "correct_answer": str(place - 1),
                    },
                    **{
                        "answer": None if answer is None else str(answer),
                        "outcome": "omitted" if answer is None else "answered",
                        "correct": answer == place - 1,
                    },
                }
            )
    return pd.DataFrame(rows)


def test_transpositions_and_errors_by_hand() -> None:
    # places 0 1 2 3: two neighbours swapped, one item two too early, one that was in no list,
    # nothing once
    data = serial([[1, 0, 2, 3], [2, 1, 8, None]])
    moved = rows_by(effect("transpositions").table(data, "vsr"), "distance")
    # distance 1: 6 of 8 items have... first and last one neighbour, the others two; two swapped: (1
    # + 1/2) of 8 items
    assert moved[1]["mean"] == pytest.approx(1.5 / 8)
    assert moved[2]["mean"] == pytest.approx(1 / 8)
    assert moved[3]["mean"] == 0
    assert moved[1]["chance"] == pytest.approx(1 / 9)
    kinds = rows_by(
        effect("recall_errors").table(together(data, serial([[0, 1]], 2).assign(session="t")), "vsr"),
        "error",
        "list_length",
    )
    assert {kind: kinds[kind, 4]["mean"] for kind in ("transposition", "intrusion", "omission")} == {
        "transposition": 3 / 8,
        "intrusion": 1 / 8,
        "omission": 1 / 8,
    }
    assert kinds["intrusion", 4]["chance"] == pytest.approx(5 / 9)


def test_answers_that_name_no_items_are_no_transpositions() -> None:
    """Each probe with alternatives of its own: the same place may be right twice."""
    assert "nothing to compare" in effect("transpositions").missing(
        serial([[0, 0], [0, 1]], 2).assign(correct_answer="0"), "vsr"
    )
