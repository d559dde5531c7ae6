"""Sessions of one chat model in several wordings and repeats are one agent: its units are wordings,
and repeats are averaged before anything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses
from scipy.special import expit

from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.sessions import SessionFacts
from spanlab.analysis.data.style import LABEL, labelled, name_agents, pooled
from spanlab.analysis.effects.curves import overall
from spanlab.analysis.guessing import against_guessing
from spanlab.analysis.means.cell_means import unit_means
from spanlab.analysis.means.contrasts import contrast_of
from spanlab.analysis.nback.cells import nback_cells
from spanlab.analysis.nback.measures import nback_blocks
from spanlab.analysis.stats.likeness import likeness
from spanlab.analysis.stats.mixed_contrasts import contrasts
from spanlab.analysis.stats.mixed_model import mixed_model


def session(
    name: str, wording: str, repeat: int = 1, *, agent: str = "chat:m", label: str = "", settings: str = ""
) -> SessionFacts:
    texts: dict[str, Any] = dict.fromkeys(("participant", "paradigm", "title", "instructions", "human", "started"), "")
    said = label or ", ".join(filter(None, (settings, wording, f"repeat {repeat}")))
    return SessionFacts(
        folder=None,  # type: ignore[arg-type]
        name=name,
        kind="chat",
        agent=agent,
        label=said,
        oracle=False,
        pilot=False,
        trials=10,
        planned=10,
        finished=True,
        timing=None,
        model=f"set {settings} {agent}",
        wording=wording,
        repeat=repeat,
        **texts,
    )


def table(
    agent: str = "chat:m",
    wordings: int = 3,
    repeats: int = 2,
    *,
    sd: float = 0.5,
    seed: int = 0,
    same: bool = False,
    trials: int = 40,
) -> pd.DataFrame:
    """Answers of a model to the same trials in several wordings; ``same`` makes all repeats of a
    wording identical."""
    random, parts = np.random.RandomState(seed), []
    of_trial = random.normal(size=trials) * 0.8
    for wording in range(wordings):
        likely = expit(0.5 + random.normal() * sd + of_trial)
        drawn = [random.rand(trials) < likely for _ in range(1 if same else repeats)]
        for repeat in range(repeats):
            right = drawn[0 if same else repeat]
            part = responses(
                lambda *_: 0.5,
                lengths=(1,),
                repetitions=trials,
                agent=agent,
                kind="chat",
                session=f"{agent} w{wording} r{repeat}",
            )
            parts.append(
                part.assign(
                    correct=right,
                    agent_settings_hash=f"{wording}{repeat}",
                    serial_position=1,
                    set_size=4,
                    list_length=None,
                )
            )
    return pd.concat(parts, ignore_index=True)


def named(*tables: pd.DataFrame) -> Scored:
    """The answers, with agents named as a set file with wordings makes them."""
    whole = pd.concat(tables, ignore_index=True)
    facts = [
        session(name, f"w{name.split(' w')[1][0]}", int(name[-1]) + 1, agent=name.split(" w")[0])
        for name in dict.fromkeys(whole["session"])
    ]
    return score_table(name_agents(whole, facts))


def test_sessions_of_one_model_are_one_agent() -> None:
    items = named(table("chat:a"), table("chat:b", seed=1)).items
    assert sorted(set(items["agent"])) == ["chat:a", "chat:b"]
    assert items.groupby("agent")["unit_session"].nunique().tolist() == [3, 3]
    assert items.groupby("agent")["same_trial"].nunique().tolist() == [40, 40]
    assert items.groupby("agent")["session"].nunique().tolist() == [6, 6], "as recorded"


def test_settings_stay_apart_and_keep_their_names() -> None:
    facts = [session(f"{name}{word}", word, settings=name) for name in ("cold", "hot") for word in ("plain", "formal")]
    pools = pooled(facts)
    assert {pool.label for pool in pools.values()} == {"cold", "hot"}
    assert len({pool.settings_hash for pool in pools.values()}) == 2
    assert len({pool.unit for pool in pools.values()}) == 4


def test_a_single_session_of_a_set_file_stays_as_it_is() -> None:
    assert pooled([session("a", ""), session("b", "", agent="chat:other")]) == {}
    assert pooled([session("a", "plain"), session("b", "plain", agent="chat:other")]) == {}


def test_repeats_alone_are_one_agent_whose_units_are_trials() -> None:
    row = overall(named(table(wordings=1, repeats=4))).iloc[0]
    assert (row["unit"], row["n_units"]) == ("trial", 40)


def of(scored: Scored) -> dict[str, Any]:
    """Everything that has an interval or a p value."""
    row, cells = overall(scored).iloc[0], unit_means(scored, ())
    mean = contrast_of(cells, [0], np.ones(1), shares=True)
    (guess,) = against_guessing(scored)
    other = named(table("chat:z", 3, 1, seed=9))
    both = Scored(
        pd.concat(
            [
                scored.items.assign(same_trial=scored.items["same_trial"]),
                other.items.assign(
                    same_trial=other.items["same_trial"] + 5000, unit_trial=other.items["unit_trial"] + 5000
                ),
            ],
            ignore_index=True,
        ),
        scored.intrusions,
        (),
    )
    model = contrasts(mixed_model(both, "vsr", ""))
    (apart,) = model[model["kind"] == "agents"].to_dict("records")
    (like,) = likeness(both, "vsr", "").to_dict("records")
    return {
        **{f"mean {name}": row[name] for name in ("mean", "low", "high", "sem")},
        **{
            "se": mean.se,
            "df": mean.df,
            "p of the share": guess.share.p,
            "like low": like["low"],
            "like high": like["high"],
            "like p": like["p"],
        },
        **{f"model {name}": apart[name] for name in ("estimate", "low", "high", "df", "p")},
    }


@pytest.mark.slow
@pytest.mark.parametrize("wordings", [1, 2, 4])
def test_identical_repeats_leave_every_interval_and_p_as_it_is(wordings: int) -> None:
    once, often = (
        (of(named(table(wordings=wordings, repeats=repeats, same=True))) for repeats in (1, 5))
        if wordings > 1
        else (of(named(table(wordings=1, repeats=repeats, same=True))) for repeats in (2, 6))
    )
    for name, value in once.items():
        assert often[name] == pytest.approx(value, rel=1e-6, nan_ok=True), name
    assert once["mean high"] - once["mean low"] > 0.1


def test_wordings_that_differ_more_make_intervals_longer() -> None:
    even, apart = (overall(named(table(wordings=6, sd=sd, seed=3))).iloc[0] for sd in (0.0, 1.5))
    assert (even["unit"], even["n_units"]) == ("wording", 6)
    assert apart["high"] - apart["low"] > 1.5 * (even["high"] - even["low"])


def test_wordings_alike_do_not_make_few_trials_many() -> None:
    """All wordings have the same trials: nothing is known of others but what these tell."""
    few = overall(named(table(wordings=8, repeats=1, sd=0.0, trials=12, seed=4))).iloc[0]
    assert (
        few["sem"] > 0.35 * overall(score_table(table(wordings=1, repeats=1, sd=0.0, trials=12, seed=4))).iloc[0]["sem"]
    )


def test_a_wording_is_a_random_effect_of_the_mixed_model() -> None:
    model = mixed_model(named(table("chat:a", 5), table("chat:b", 5, seed=1)), "vsr", "")
    assert "wording" in model.cells.components
    assert any("5 wordings of the task, which are a random effect" in note for note in model.notes)
    assert len(model.cells.items) == 2 * 5 * 40, "repeats are averaged first"
    assert "(1 | wording:agent)" in model.cells.formula


def nback(wordings: int, repeats: int) -> pd.DataFrame:
    random, rows = np.random.RandomState(1), []
    said = random.rand(wordings, 6, 25) < 0.8
    for wording in range(wordings):
        for repeat in range(repeats):
            for block in range(6):
                for item in range(1, 25):
                    match, right = item > 2 and item % 3 == 0, bool(said[wording, block, item])
                    rows.append(
                        {
                            **{
                                "agent": "chat:m",
                                "agent_kind": "chat",
                                "session": f"chat:m w{wording} r{repeat}",
                                "paradigm": "nback_verbal",
                            },
                            **{
                                "participant": "",
                                "oracle": False,
                                "agent_settings_hash": f"{wording}{repeat}",
                                "block": 1,
                                "practice": False,
                            },
                            **{
                                "trial": block,
                                "trial_id": f"b{block}",
                                "step": item,
                                "ask": item,
                                "serial_position": item,
                                "set_size": 2,
                            },
                            **{
                                "factor_n": 2,
                                "record_match": match,
                                "chance": 0.5,
                                "correct": right,
                                "correct_answer": "m" if match else "-",
                            },
                            **{"answer": "m" if match == right else "-", "outcome": "answered"},
                        }
                    )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("wordings", "unit"), [(1, "block"), (3, "wording")])
def test_identical_repeats_of_nback_leave_intervals_as_they_are(wordings: int, unit: str) -> None:
    few, many = (nback_cells(nback_blocks(named(nback(wordings, repeats)))) for repeats in (2, 6))
    assert set(few["unit"]) == {unit}
    for name in ("mean", "sem", "low", "high"):
        assert many[name].astype(float).tolist() == pytest.approx(few[name].astype(float).tolist(), nan_ok=True), name


def test_two_hundred_settings_have_a_name_each() -> None:
    sessions = [session(f"s{at}", "", settings=f"temperature {at}", label=f"at {at}") for at in range(200)]
    table = pd.DataFrame({"session": [facts.name for facts in sessions], "agent": "chat:m", "agent_kind": "chat"})
    assert list(labelled(table, sessions)[LABEL]) == [f"at {at}" for at in range(200)]
