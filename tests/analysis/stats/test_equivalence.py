"""Equivalence and reliability: published values, independent implementations, size
by simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from observed import along, switching, table, together

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.inference import (
    Margin,
    equivalence_test,
    judged,
    read_margins,
    verdict_in_words,
)
from spanlab.analysis.means.contrasts import Contrast, contrast
from spanlab.analysis.stats.likeness import likeness
from spanlab.analysis.stats.reliability import reliability, spearman_brown
from spanlab.core.errors import SpanLabError


def of(values: np.ndarray) -> Contrast:
    return contrast([values], [np.arange(len(values))], np.ones(1))


def test_equivalence_is_two_one_sided_tests() -> None:
    values = np.random.RandomState(2).normal(0.01, 0.1, 30)
    found = equivalence_test(of(values), 0.06)
    low = scipy.stats.t.sf((values.mean() + 0.06) / scipy.stats.sem(values), 29)
    high = scipy.stats.t.cdf((values.mean() - 0.06) / scipy.stats.sem(values), 29)
    assert found.p == pytest.approx(max(low, high))
    assert (found.verdict == "within the margin") == (found.low > -0.06 and found.high < 0.06)
    assert equivalence_test(Contrast(0.5, 0.05, 20, 21), 0.1).verdict == "beyond the margin"
    assert equivalence_test(Contrast(0.05, 0.1, 20, 21), 0.1).verdict == "undecided"
    for value, apart, from_0 in (
        (0.0, "alike within 6 points", "within 6 points of 0"),
        (0.05, "undecided whether alike within 6 points", "undecided whether within 6 points of 0"),
        (0.2, "further apart than 6 points", "further than 6 points from 0"),
    ):
        judged = equivalence_test(Contrast(value, 0.02, 29, 30), 0.06)
        assert (
            verdict_in_words(judged, Margin(6, "points")),
            verdict_in_words(judged, Margin(6, "points"), from_0=True),
        ) == (apart, from_0)
    with pytest.raises(SpanLabError, match="without one there is no verdict"):
        equivalence_test(Contrast(0.0, 0.1, 20, 21), 0.0)


def test_reliability_of_people_who_differ_and_of_people_who_do_not() -> None:
    def crowd(spread: float, sessions: int = 1) -> float:
        random, parts = np.random.RandomState(1), []
        for at in range(30):
            right = float(np.clip(0.6 + random.normal(0, spread), 0.02, 0.98))
            for number in range(sessions):
                one = table(
                    along("set_size", {2: right, 4: right}),
                    40,
                    agent="participant",
                    kind="participant",
                    participant=f"P{at}",
                    seed=10 * at + number,
                )
                parts.append(one.assign(session=f"P{at}-{number}"))
        found = reliability(score_table(together(*parts))).set_index("kind")
        assert found["low"].iloc[0] < found["whole"].iloc[0] < found["high"].iloc[0]
        return float(found["whole" if sessions == 1 else "r"].loc["split half" if sessions == 1 else "retest"])

    assert crowd(0.2) == pytest.approx(0.04 / (0.04 + 0.2 / 40), abs=0.12)
    assert abs(crowd(0.0)) < 0.5
    assert crowd(0.2, 2) > 0.7
    assert spearman_brown(0.5) == pytest.approx(2 / 3)


def test_a_second_session_gives_the_retest_of_what_is_read_from_a_file(tmp_path: Path) -> None:
    parts = [
        table(
            along("set_size", {2: 0.4 + at / 10, 4: 0.4 + at / 10}),
            20,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            seed=10 * at + number,
        ).assign(session=f"P{at}-{number}")
        for at in range(5)
        for number in range(2)
    ]
    together(*parts).to_csv(tmp_path / "answers.csv", index=False)
    (read,) = load([tmp_path / "answers.csv"]).scored.parts.values()
    found, wanted = (reliability(scored).set_index("kind") for scored in (read, score_table(together(*parts))))
    assert found.loc["retest", "n_people"] == 5
    assert found.loc["retest", "r"] == pytest.approx(wanted.loc["retest", "r"])


def switchers(net: float) -> pd.DataFrame:
    """Ten people who switch at no cost in accuracy, and a network."""
    names = ("one task", "repetition", "switch")
    parts = []
    for at in range(10):
        trial = switching(
            dict.fromkeys(names, float(np.random.RandomState(at).normal(0.85, 0.03))),
            dict(zip(names, (500, 560, 640), strict=True)),
        )
        parts.append(
            table(trial, 200, agent="participant", kind="participant", participant=f"P{at}", seed=at, paradigm="sts")
        )
    return together(
        *parts,
        table(
            switching(dict.fromkeys(names, net), dict.fromkeys(names, 500)), 600, agent="net", seed=99, paradigm="sts"
        ),
    )


def test_margins_are_declared_with_their_unit() -> None:
    assert [one.words for one in read_margins(["5points", "0.3d'", "20 ms"]).values()] == [
        "5 points",
        "0.3 d′",
        "20 ms",
    ]
    assert read_margins(["0,3dprime"]) == {"d′": Margin(0.3, "d′")}
    assert read_margins([Margin(2.5, "points").typed]) == {"points": Margin(2.5, "points")}
    for wrong, why in (
        ("5", "number with its unit"),
        ("0points", "above 0"),
        ("-3points", "number with its unit"),
        ("5 apples", "number with its unit"),
    ):
        with pytest.raises(SpanLabError, match=why):
            read_margins([wrong])
    with pytest.raises(SpanLabError, match="twice"):
        read_margins(["5points", "6points"])


def test_differences_are_judged_by_the_margin_and_only_by_one_that_was_declared() -> None:
    part = score_table(switchers(0.85)).parts["sts"]
    assert "alike" not in likeness(part, "sts", "record_transition").columns
    found = likeness(part, "sts", "record_transition", read_margins(["6points"]))
    assert set(found["measure"]) == {"correct"}  # one word answers two tasks: no d'
    first = found[found["kind"] == "answerers"].iloc[0]
    assert first["contrast"] == "People (n = 10) minus net" or first["contrast"].endswith("minus net")
    assert first["alike"] == "alike within 6 points"
    assert first["low"] < first["low_alike"] < first["value"] < first["high_alike"] < first["high"]
    assert (first["p"] < 0.05) == (not first["low"] <= 0 <= first["high"])
    assert first["p_alike"] < 0.05
    own = found[
        (found["kind"] == "conditions") & found["contrast"].str.startswith(first["contrast"].partition(" minus")[0])
    ]
    assert (own["n_units"] == 10).all()
    far = likeness(
        score_table(switchers(0.6)).parts["sts"], "sts", "record_transition", read_margins(["6points"])
    ).iloc[0]
    assert far["alike"] == "further apart than 6 points"


def test_a_difference_that_nobody_has_is_no_row() -> None:
    """Two people of whom each was asked the other word at each of two set sizes: nobody has a d′
    anywhere, and everybody a share of right answers."""
    rows = [
        {"participant": who, "session": who, "trial": trial, "ask": 1, "set_size": size, "correct_answer": right}
        for who, right_words in (("a", ("same", "different")), ("b", ("different", "same")))
        for trial, (size, right) in enumerate(zip((2, 6), right_words, strict=True), 1)
    ]
    answers = pd.DataFrame(rows).assign(
        agent="participant", agent_kind="participant", paradigm="cd", practice=False, outcome="answered"
    )
    answers["answer"] = answers["correct_answer"].where(answers["participant"] == "a", "different")
    answers["correct"] = answers["answer"] == answers["correct_answer"]
    found = likeness(score_table(answers).parts["cd"], "cd", "set_size")
    assert set(found["measure"]) == {"correct"}
    assert found["value"].notna().all()


def test_groups_near_the_ceiling_are_judged_as_strictly_as_everything_there() -> None:
    alike = {"value": 0.015, "se": 0.0131, "df": 46}
    rows = [{**alike, "mean_first": first, "mean_second": first - 0.015} for first in (0.96, 0.6)]
    found = judged(pd.DataFrame(rows), Margin(4, "points")).iloc[:, -1].tolist()
    assert ["undecided" in one for one in found] == [True, False]
