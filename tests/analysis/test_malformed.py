"""Data that hold little, nothing or something odd, through every door of the analysis: a note or a
sentence, never a crash, and never a number from nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses
from observed import along, change_detection, recall, switching, table, together

from spanlab.analysis.data.exclusions import Rule, apply_exclusions
from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.style import name_agents
from spanlab.analysis.effects.curves import intrusions, overall
from spanlab.analysis.effects.effect import Effect, trends
from spanlab.analysis.effects.reaction_times import reaction_times
from spanlab.analysis.effects.registry import EFFECTS, effect
from spanlab.analysis.model_vs_human.comparison import ceilings, distances
from spanlab.analysis.model_vs_human.scores import scores
from spanlab.analysis.nback.cells import nback_cells
from spanlab.analysis.nback.measures import nback_blocks
from spanlab.analysis.stats.agreement import error_consistency
from spanlab.analysis.stats.mixed_contrasts import contrasts, terms
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.core.errors import SpanLabError

FEW = 10
COSTS = {"one task": 0.9, "repetition": 0.8, "switch": 0.6}
TIMES = {"one task": 400.0, "repetition": 450.0, "switch": 600.0}
SPAN = {"set_size": 2, "serial_position": 1, "list_length": 2}


def nback(trials: int = 4, agent: str = "chat:one", kind: str = "chat") -> pd.DataFrame:
    """Blocks of ten letters, of which three match."""

    def block(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, None]]:
        return [
            (
                {
                    "record_match": number in (3, 6, 8),
                    "record_n": 2,
                    "factor_n": 2,
                    "correct_answer": json.dumps("m" if number in (3, 6, 8) else "-"),
                },
                0.8,
                None,
            )
            for number in range(10)
        ]

    return table(block, trials, paradigm="nback_verbal", agent=agent, kind=kind)


def everything() -> pd.DataFrame:
    """A little of every paradigm, from a machine, another machine on the same trials, and two
    people."""
    people = [
        responses(
            lambda length, place: 0.7,
            agent="p",
            kind="participant",
            participant=f"P{n}",
            repetitions=3,
            lengths=(3, 4),
            seed=n,
        ).assign(rt_ms=500.0 + n)
        for n in range(2)
    ]
    loads = along(
        "record_cognitive_load",
        {0.0: 0.9, 0.5: 0.5},
        factor_storage="visual",
        factor_distractor_domain="spatial",
        factor_load=1,
        **SPAN,
    )
    figures = along("record_symmetry_offset", {0: 0.9, 2: 0.6, 4: 0.7}, list_length=10, set_size=10)
    tables = [
        responses(lambda length, place: 0.7, repetitions=4, lengths=(3, 4)),
        responses(lambda length, place: 0.4, repetitions=4, lengths=(3, 4), agent="network:other", seed=5),
        *people,
        *(recall([5, 6, 7][: 2 + n % 2], [5, 9][: 1 + n % 2], n + 1) for n in range(4)),
        table(change_detection(3.0, sizes=(2, 4)), 24, paradigm="cd"),
        table(switching(COSTS, TIMES), 5, paradigm="sts"),
        table(loads, 16, paradigm="cs"),
        table(figures, 16, paradigm="sc"),
        table(along("list_length", {2: 0.9, 4: 0.6}, factor_part_size=4, set_size=1), 12, paradigm="si"),
        table(along("retention_steps", {0: 0.9, 4: 0.6}, **SPAN), 12, paradigm="vir"),
        table(along("factor_pattern_distractor_difference", {2: 0.6, 6: 0.9}, **SPAN), 12, paradigm="vsrec"),
        nback(),
    ]
    return together(*tables).reset_index(drop=True)


WHOLE = everything()


def some(rows: slice | np.ndarray, **values: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A fault: other values in some rows."""

    def spoilt(data: pd.DataFrame) -> pd.DataFrame:
        data = data.copy()
        for name, value in values.items():
            data[name] = (
                data[name].astype(object) if name in data.columns else pd.Series(None, index=data.index, dtype=object)
            )
            data.loc[data.index[rows], name] = value
        return data

    return spoilt


THIRD = slice(None, None, 3)
ALL = slice(None)
#: What may be wrong with data.
FAULTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "nothing": lambda data: data,
    "no rows": lambda data: data.iloc[:0],
    "no columns": lambda data: pd.DataFrame(),
    "one row of each paradigm": lambda data: data.drop_duplicates("paradigm"),
    "one trial of each paradigm": lambda data: data[data["trial"] == 1],
    "one participant": lambda data: data[data["participant"] == "P0"],
    "all missing": some(ALL, correct=None),
    "some missing": some(THIRD, correct=None),
    "all right": some(ALL, correct=True),
    "all wrong": some(ALL, correct=False),
    "scores that are none": some(THIRD, correct="perhaps"),
    "infinite times": some(THIRD, rt_ms=math.inf),
    "times below all": some(THIRD, rt_ms=-math.inf),
    "no times": some(ALL, rt_ms=math.nan),
    "times in words": some(THIRD, rt_ms="quick"),
    "no list": some(THIRD, list_length=None, serial_position=None, set_size=None),
    "infinite lists": some(THIRD, list_length=math.inf, set_size=math.inf, serial_position=math.inf),
    "lists of nothing": some(THIRD, list_length=0, serial_position=0, set_size=-1),
    "half a place": some(THIRD, serial_position=1.5, list_length=2.5, set_size=2.5, retention_steps=0.5),
    "lists in words": some(THIRD, list_length="three", serial_position="first"),
    "chance above all": some(THIRD, chance=7.0),
    "chance of nothing": some(ALL, chance=0.0),
    "chance that is certain": some(ALL, chance=1.0),
    "infinite chance": some(THIRD, chance=math.inf, blind=math.inf),
    "no chance": some(ALL, chance=None),
    "unknown kinds of agents": some(THIRD, agent_kind="oracle of Delphi"),
    "nobody": some(THIRD, agent=None, agent_kind=None),
    "no session": some(ALL, session=None),
    "trials without numbers": some(THIRD, trial=None, trial_id=None),
    "trials in words": some(THIRD, trial="first"),
    "endless trials": some(THIRD, trial=math.inf),
    "every row twice": lambda data: pd.concat([data, data], ignore_index=True),
    "two versions of a paradigm": some(THIRD, paradigm_version=2, paradigm_hash="other", trial_id="of the other"),
    "two generators": some(THIRD, generator="published"),
    "records of two versions": lambda data: pd.concat(
        [data.iloc[::2].drop(columns=["chance", "practice", "oracle", "output_position", "outcome"]), data.iloc[1::2]],
        ignore_index=True,
    ),
    "factors of mixed kinds": some(
        THIRD, factor_load='"many"', factor_feature="3", record_symmetry_offset='"none"', factor_part_size="null"
    ),
    "broken factors": some(
        THIRD, factor_load="{", factor_feature="[1, 2]", record_cognitive_load='{"a": 1}', record_transition="nul"
    ),
    "endless factors": some(
        THIRD, factor_load="Infinity", record_cognitive_load="NaN", record_symmetry_offset="-Infinity"
    ),
    "no paradigm": some(THIRD, paradigm=None),
    "all omitted": some(ALL, outcome="omitted", correct=None),
    "outcomes of another kind": some(THIRD, outcome="asleep"),
    "practice only": some(ALL, practice=True),
    "odd truth": some(THIRD, correct_answer="null", answer=None),
    "odd matches": some(THIRD, record_match='"maybe"', record_n="-1"),
}


def finite(found: pd.DataFrame, *names: str) -> None:
    """Numbers are numbers, or missing; none is endless."""
    for name in names:
        values = pd.to_numeric(found[name], errors="raise").astype(float).to_numpy()
        assert not np.isinf(values).any(), f"{name} is endless"


def through_effects(scored: Scored, effects: Iterable[Effect] = EFFECTS) -> None:
    there = [*scored.parts] or ["vsr"]
    for one in effects:
        for paradigm in there:
            found = one.table(scored, paradigm)
            notes = one.notes(scored, paradigm, found)
            assert len(found) or notes, "an empty table without a word"
            own = found[found["agent_kind"] != "group means"]
            finite(own, "mean", "sem", "low", "high", "chance")
            assert own["mean"].notna().all() or (own.loc[own["mean"].isna(), "note"] != "").all()
            assert (own.loc[own["low"].isna(), "note"] != "").all(), "a bare point without a word"
            slopes = trends(one, scored, paradigm)
            finite(slopes, "value", "low", "high", "p")
            assert (slopes["low"].notna() | (slopes["note"] != "")).all()


def through_scores(scored: Scored) -> None:
    finite(scores(scored), "m", "h", "low", "high", "p")
    finite(distances(scored), "r", "rmse")
    finite(ceilings(scored), "r_low", "r_high", "rmse_low", "rmse_high")
    finite(error_consistency(scored, resamples=FEW), "kappa", "low", "high")


def through_the_rest(scored: Scored) -> None:
    finite(overall(scored), "mean", "chance")
    finite(intrusions(scored), "per_trial")
    finite(nback_cells(nback_blocks(scored), resamples=FEW), "mean", "low", "high")
    finite(reaction_times(scored), "mean", "mu")


def through_models(scored: Scored) -> None:
    for paradigm in [*scored.parts][:3] or ["vsr"]:
        try:
            model = mixed_model(scored, paradigm)
        except SpanLabError:
            continue
        assert model.problem or model.notes
        table = contrasts(model)
        finite(table, "estimate", "se")
        for low, high, note in zip(table["low"].astype(float), table["high"].astype(float), table["note"], strict=True):
            assert not (np.isinf(low) and np.isinf(high)), "an interval that says nothing"
            assert "%" in str(note) or not (np.isinf(low) or np.isinf(high)), "an open end without a word"
        finite(terms(model), "f", "p")


def through_rules(data: pd.DataFrame) -> None:
    rules = [
        Rule(leave_out="participants", where="accuracy", below=0.3),
        Rule(leave_out="sessions", where="above_chance", below=0.0),
        Rule(leave_out="trials", where="rt_ms", above=5000.0),
        Rule(leave_out="answers", where="rt_deviation", above=3.0),
    ]
    kept, report = apply_exclusions(data, rules)
    assert len(report.rules) == len(rules)
    assert len(report.notes) >= len(rules)
    assert len(kept) <= len(data)


DOORS: dict[str, Callable[[Scored], None]] = {
    "effects": through_effects,
    "scores": through_scores,
    "the rest": through_the_rest,
    "models": through_models,
}


@pytest.mark.slow
@pytest.mark.soaked(80)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", DOORS)
def test_odd_data_through_every_door(door: str, fault: str) -> None:
    DOORS[door](score_table(name_agents(FAULTS[fault](WHOLE))))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_rules_of_exclusion_take_odd_data(fault: str) -> None:
    through_rules(FAULTS[fault](WHOLE))


#: A few answers of three kinds, for a look at every fault.
LITTLE = pd.concat(
    [WHOLE[WHOLE["paradigm"] == name].head(many) for name, many in (("vsr", 40), ("cs", 8), ("cd", 8))],
    ignore_index=True,
)
LOOKED_AT = [effect("serial_position"), effect("cognitive_load")]


#: Faults that are looked at whenever tests run; the others with the slow ones.
OFTEN = (
    *(
        "no rows",
        "no columns",
        "one row of each paradigm",
        "all right",
        "times in words",
        "infinite lists",
        "half a place",
        "infinite chance",
        "nobody",
    ),
    *("trials without numbers", "every row twice", "records of two versions", "broken factors", "endless factors"),
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "fault", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]
)
def test_odd_data_get_a_note_and_never_an_error(fault: str) -> None:
    scored = score_table(name_agents(FAULTS[fault](LITTLE)))
    assert len(scored.items) or scored.notes
    through_effects(scored, LOOKED_AT)
    finite(overall(scored), "mean", "chance")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("infinite times", "values of rt_ms that cannot be"),
        ("half a place", "values of serial_position that cannot be"),
        ("lists in words", "values of list_length that cannot be"),
        ("chance above all", "values of chance that cannot be"),
        ("endless trials", "values of trial that cannot be"),
        ("scores that are none", "rows without a score left out"),
        ("every row twice", "duplicate rows counted once"),
    ],
)
def test_what_is_odd_is_counted_and_said(fault: str, said: str) -> None:
    notes = score_table(FAULTS[fault](LITTLE)).notes
    assert any(said in note for note in notes), notes


def test_words_have_no_place_along_an_axis_of_numbers() -> None:
    one = effect("cognitive_load")
    scored = score_table(FAULTS["broken factors"](LITTLE))
    found = one.table(scored, "cs")
    assert set(found.loc[found["agent_kind"] != "group means", "record_cognitive_load"]) == {0.0, 0.5}
    assert any("without cognitive load left out" in note for note in one.notes(scored, "cs", found))
