"""Yardsticks compete with nobody, and whoever guesses is not told from guessing: planted people,
guessers and habits, by hand and by simulation."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from guessed import guessed

from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.guessing import against_guessing
from spanlab.analysis.stats.mixed_contrasts import contrasts, terms
from spanlab.analysis.stats.mixed_model import Mixed, mixed_model

FALL = {3: 0.94, 5: 0.75, 7: 0.40}


def falling(many: int = 8, repetitions: int = 6) -> list[pd.DataFrame]:
    return [
        responses(
            lambda length, _: FALL[length],
            kind="participant",
            agent="participant",
            participant=f"P{n}",
            lengths=FALL,
            repetitions=repetitions,
            seed=n,
        )
        for n in range(many)
    ]


def yardsticks() -> list[pd.DataFrame]:
    lengths, repetitions = tuple(FALL), 6
    return [
        responses(lambda *_: 1.0, agent="ideal", kind="ideal", lengths=lengths, repetitions=repetitions),
        responses(
            lambda length, _: min(1, 4 / length),
            agent="capacity",
            kind="capacity",
            lengths=lengths,
            repetitions=repetitions,
            seed=50,
        ),
        responses(lambda *_: 1 / 9, agent="chance", kind="chance", lengths=lengths, repetitions=repetitions, seed=51),
    ]


def model(*tables: pd.DataFrame) -> Mixed:
    return mixed_model(score_table(mixed(*tables)), "vsr")


# yardsticks ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone() -> Mixed:
    return model(*falling())


@pytest.mark.slow
def test_yardsticks_change_no_test_and_are_in_none(alone: Mixed) -> None:
    """Eight people fall from 94 % to 40 %; with observers beside them who were handed the answers,
    tables are the same to the last bit."""
    beside = model(*falling(), *yardsticks())
    assert terms(alone).set_index("term")["p"]["condition"] < 1e-4
    pd.testing.assert_frame_equal(terms(alone), terms(beside))
    pd.testing.assert_frame_equal(contrasts(alone), contrasts(beside))
    assert set(beside.cells.table["agent"]) == set(alone.cells.table["agent"])
    (said,) = [note for note in beside.notes if "yardstick" in note]
    assert "ideal" in said
    assert "%" not in said  # shares stand in the table of everybody, averaged in another way


def test_only_yardsticks_are_a_sentence() -> None:
    found = model(*yardsticks())
    assert found.fit is None
    assert found.problem == "Only yardsticks answered vsr: nothing can be compared."
    assert not len(terms(found))


# against guessing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [16, pytest.param(40, marks=pytest.mark.slow)])
def test_interval_and_test_of_a_share_never_contradict_each_other(samples: int) -> None:
    """Whoever is told from guessing has an interval that does not hold it, over the same units: people,
    sessions of a machine that differ, trials of several questions and of one."""
    random = np.random.RandomState(3)

    def several(share: float, seed: int) -> pd.DataFrame:
        def of(right: float, at: int, **whose: Any) -> pd.DataFrame:
            return responses(lambda *_: right, seed=1000 * seed + at, **whose)

        people = [
            of(share, n, agent="participant", kind="participant", participant=f"P{n}", repetitions=4)
            for n in range(int(random.randint(2, 6)))
        ]
        seeds = [of(share + 0.15 * n, 10 + n, agent="net", session=f"s{n}", repetitions=5) for n in range(3)]
        once = of(share, 20, agent="once", lengths=(1,), repetitions=int(random.randint(4, 30)))
        return mixed(*people, *seeds, once)

    told = set()
    for sample in range(samples):
        for one in against_guessing(score_table(several(random.uniform(0.05, 0.5), sample))):
            low, high = one.share.interval
            assert one.share.told == (not low <= one.share.null <= high)
            told.add((one.share.unit, one.share.told))
    assert told == {(unit, known) for unit in ("participant", "session", "trial") for known in (True, False)}


def test_sessions_that_differ_are_units_of_interval_and_test() -> None:
    """A machine that collapsed in one of three sessions: 60 % of its pooled answers are right, which
    says little about another session."""
    seeds = [
        responses(lambda *_, p=p: p, agent="net", session=f"s{p}", lengths=(4,), repetitions=30, seed=round(100 * p))
        for p in (0.1, 0.8, 0.9)
    ]
    (one,) = against_guessing(score_table(mixed(*seeds)))
    assert (one.share.unit, one.share.n) == ("session", 3)
    assert one.share.interval[0] < 1 / 9 < one.share.value
    assert one.where == "not told apart"
    (alike,) = against_guessing(
        score_table(mixed(*(part.assign(correct=seeds[2]["correct"]) for part in seeds[:2]), seeds[2]))
    )
    assert alike.where == "above" or math.isnan(alike.claim.p)


def yes_no(
    says: float,
    sensitivity: float = 0.0,
    *,
    seed: int,
    trials: int = 60,
    matches: float = 1 / 3,
    person: str = "",
    agent: str = "net",
) -> pd.DataFrame:
    """Somebody who says ``match`` so often, and by ``sensitivity`` more where there is one."""
    random = np.random.RandomState(seed)
    kind = "participant" if person else "network"
    table = responses(
        lambda *_: 0.5,
        agent=agent,
        kind=kind,
        participant=person,
        paradigm="cd",
        lengths=(1,),
        repetitions=trials,
        chance=0.5,
        seed=seed,
    )
    truth = random.rand(trials) < matches
    said = random.rand(trials) < says + sensitivity * (truth - matches)
    answers = np.array(['"no match"', '"match"'])
    return table.assign(
        correct_answer=answers[truth.astype(int)],
        answer=answers[said.astype(int)],
        correct=said == truth,
        blind=1 - matches,
    )


def test_a_habit_is_not_knowledge() -> None:
    """Somebody who says 'no match' 97 % of the time is right in about two of three, and knows
    nothing."""
    crowd = [yes_no(0.03, seed=n, person=f"P{n}", agent="participant") for n in range(8)]
    (one,) = against_guessing(score_table(mixed(*crowd)))
    assert one.share.value > 0.6
    assert one.chance == 0.5
    assert one.claim is one.rates
    assert one.where == "not told apart"
    (always,) = against_guessing(score_table(yes_no(0.0, seed=1)))
    assert always.claim is always.share
    assert always.sentence.startswith(", not distinguishable from the best blind guess (67%; p = ")
    (knows,) = against_guessing(score_table(yes_no(0.2, 0.5, seed=2)))
    assert knows.where == "above"
    assert knows.rates is not None
    assert knows.rates.value > 0.3


def test_where_one_answer_is_right_in_all_questions_a_habit_is_no_knowledge() -> None:
    """Everybody says "match", and nothing else is ever right; somebody who also says the other word
    is below that habit."""
    crowd = [yes_no(1.0, seed=n, person=f"P{n}", agent="participant", matches=1.0) for n in range(5)]
    (one,) = against_guessing(score_table(mixed(*(part.assign(blind=0.5) for part in crowd))))
    assert (one.share.value, one.chance, one.share.null) == (1.0, 0.5, 1.0)
    assert one.sentence == ", not distinguishable from the best blind guess (100%; p = 1.000)"
    (careless,) = against_guessing(score_table(yes_no(0.7, seed=1, matches=1.0).assign(blind=0.5)))
    assert careless.where == "below"


def test_sensitivity_of_people_without_mistakes_has_no_interval() -> None:
    """Their spread would be that of their numbers of questions alone."""

    def crowd(errors: float) -> Scored:
        people = [
            yes_no(0.5, 1 - errors, seed=n, person=f"P{n}", agent="participant", matches=0.5).assign(
                set_size=[4, 8] * 30
            )
            for n in range(8)
        ]
        words = {'"match"': '"different"', '"no match"': '"same"'}
        answers = mixed(*people).replace({"answer": words, "correct_answer": words})
        return score_table(answers.assign(set_size=[4, 8] * (len(answers) // 2)))

    assert [one.where for errors in (0.0, 0.4) for one in against_guessing(crowd(errors))] == ["above"] * 2
    for errors, interval in ((0.0, "none"), (0.4, "t")):
        table = effect("sensitivity").table(crowd(errors), "cd", human="")
        rows = table[table["measure"] == "d′"].to_dict("records")
        assert [row["interval"] for row in rows] == [interval] * 2
        assert [row["note"] == "8 of 8 participants have a rate of 0% or 100%: no interval" for row in rows] == [
            not errors
        ] * 2


def test_the_level_to_beat_is_the_best_blind_guess() -> None:
    table = responses(lambda *_: 0.25, agent="net", lengths=(4,), repetitions=60, seed=4)
    (plain,) = against_guessing(score_table(table))
    assert plain.sentence.startswith(", above chance (11%; p < .001")
    (blind,) = against_guessing(score_table(table.assign(blind=0.24)))
    assert blind.sentence.startswith(", not distinguishable from the best blind guess (24%; p = ")
    assert guessed(score_table(table.assign(blind=0.5))).iloc[0]["verdict"] == "below"


# size ---------------------------------------------------------------------------------------------


def test_the_table_of_coverage_is_whole_and_says_what_it_should() -> None:
    """Every case of the benchmark has a row; no interval holds too little, and no test cries wolf
    too often, beyond the error of so many samples."""
    root = Path(__file__).resolve().parents[2]
    with (root / "benchmarks" / "coverage.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))[1:]
    program = (root / "benchmarks" / "coverage.py").read_text(encoding="utf-8")
    cases = re.findall(r'^    \(\s*"(.*?)",\s*"(.*?)",\s*(?:HOLDS|SIZE|BETWEEN|ABOUT),', program, re.MULTILINE)
    assert [(what, whose) for what, whose, *_ in cells] == cases
    for what, whose, counted, percent, error, _ in cells:
        assert counted != "interval holds" or float(percent) + float(error) >= 93.5, (what, whose, percent)
        assert counted != "test rejects" or float(percent) - float(error) <= 6.5, (counted, percent)
