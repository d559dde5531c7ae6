"""Replies that could not be read are not wrong answers of a memory: they stand beside accuracy with
bounds, and too many of them keep a cell out of tests."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses
from guessed import guessed

from spanlab.analysis.data.loading import described, load
from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.unread import testable as those_tested
from spanlab.analysis.data.unread import unread_notes, unread_shares, withheld_notes
from spanlab.analysis.effects.curves import overall
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.effects.reaction_times import reaction_times
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figure_catalogue import figure_named
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.guessing import against_guessing
from spanlab.analysis.model_vs_human.comparison import distances
from spanlab.analysis.model_vs_human.scores import scores
from spanlab.analysis.report.page import compare
from spanlab.analysis.report.text import headline
from spanlab.analysis.stats.mixed_model import mixed_model


def chat(agent: str, unread: float, *, lengths: tuple[int, ...] = (3, 4, 5), only: int | None = None) -> pd.DataFrame:
    """Answers of a chat model of which a share (at one list length only) could not be read."""
    table = responses(
        lambda *_: 0.7, kind="chat", agent=agent, participant="", paradigm="vsr", lengths=lengths, repetitions=10
    )
    candidates = table.index if only is None else table.index[table["list_length"] == only]
    lost = candidates[
        np.floor(np.arange(1, len(candidates) + 1) * unread + 1e-9)
        > np.floor(np.arange(len(candidates)) * unread + 1e-9)
    ]
    table.loc[lost, "outcome"] = "invalid"
    table.loc[lost, "correct"] = False
    return table


def scored(*tables: pd.DataFrame, **options: Any) -> Scored:
    made = score_table(pd.concat(tables, ignore_index=True))
    return Scored(made.items, made.intrusions, made.notes, made.cautions, **options)


def test_a_session_that_was_hardly_read_is_in_no_test() -> None:
    data = scored(chat("a", 0.5), chat("b", 0.0))
    assert set(guessed(data)["agent"]) == {"b"}
    assert set(mixed_model(data, "vsr").cells.table["agent"]) == {"b"}
    assert set(trends(effect("set_size"), data, "vsr")["agent"]) == {"b"}
    (note,) = withheld_notes(data)
    assert note.startswith("No test of a in vsr, and no comparison with it: 50% of its replies could not be read")
    accepted = scored(chat("a", 0.5), chat("b", 0.0), accept_unread=True)
    assert set(guessed(accepted)["agent"]) == {"a", "b"}
    assert set(trends(effect("set_size"), accepted, "vsr")["agent"]) == {"a", "b"}
    assert withheld_notes(accepted) == []


def test_a_fifth_of_unread_replies_is_still_tested() -> None:
    data = scored(chat("a", 0.2), chat("b", 0.0))
    assert set(guessed(data)["agent"]) == {"a", "b"}
    assert those_tested(data) is data
    assert withheld_notes(data) == []


def test_people_and_networks_are_never_withheld() -> None:
    data = scored(chat("a", 0.5).assign(agent_kind="network"))
    assert len(guessed(data))
    assert not len(unread_shares(data.items))


def test_bounds_are_all_wrong_and_all_guessed() -> None:
    table = chat("a", 0.25, lengths=(4,))
    (row,) = unread_shares(scored(table).items).to_dict("records")
    right = float(table["correct"].astype(float).mean())
    assert row["unread"] == pytest.approx(0.25)
    assert row["all_wrong"] == pytest.approx(right)
    assert row["if_guessed"] == pytest.approx(right + 0.25 * float(table["chance"].iloc[0]))


@pytest.mark.parametrize(("share", "said"), [(0.05, False), (0.1, True)])
def test_more_than_a_twentieth_is_said(share: float, said: bool) -> None:
    assert bool(unread_notes(scored(chat("a", share)))) == said


def test_sentences_and_tables_of_a_page_have_the_share_and_bounds(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    chat("a", 0.1).to_csv(file, index=False)
    page = compare([file], tmp_path / "page").read_text("utf-8")
    caption = re.search(r'<p class="remarks">Share of correct answers[^<]*', page)
    assert caption is not None, "the picture at a glance"
    bounds = r"10% of its replies could not be read: \d+% right if all of them are wrong, \d+% if they are guesses\."
    assert re.search(rf"count as wrong\. a in [^:]+: {bounds}", caption[0])
    for words in (
        "10% of its replies could not be read:",
        "if they are guesses",
        "correct if unread",
        "Replies that could not be read count as wrong: a 10%",
    ):
        assert words in page
    assert {"unread", "if_guessed"} <= {*pd.read_csv(tmp_path / "page" / "tables" / "vsr_overall.csv").columns}


def test_a_headline_without_unread_replies_says_nothing_of_them() -> None:
    total = overall(scored(chat("a", 0.0)))
    ((_, text), *_) = headline(total, total.iloc[:0], {}, against_guessing(scored(chat("a", 0.0))), float("nan"))
    assert "could not be read" not in text


# N-back, scores ----------------------------------------------------------------------------------


def blocks(
    agent: str, unread: dict[int, float], *, kind: str = "chat", session: str = "s1", number: int = 12, seed: int = 0
) -> pd.DataFrame:
    """N-back blocks of 24 items, of which a share at each N could not be read."""
    random, rows = np.random.RandomState(seed), []
    for n, share in unread.items():
        for block in range(number):
            for item in range(1, 25):
                match, lost = item > n and item % 3 == 0, random.rand() < share
                right = not lost and random.rand() < 0.8
                rows.append(
                    {
                        **{
                            "agent": agent,
                            "agent_kind": kind,
                            "session": session,
                            "paradigm": "nback_verbal",
                            "participant": "",
                            "oracle": False,
                        },
                        **{
                            "trial": 1000 * n + block,
                            "trial_id": f"{n}-{block}",
                            "step": item,
                            "ask": item,
                            "serial_position": item,
                            "set_size": n,
                        },
                        **{
                            "factor_n": n,
                            "record_match": match,
                            "chance": 0.5,
                            "correct": right,
                            "correct_answer": "m" if match else "-",
                        },
                        **{
                            "answer": None if lost else ("m" if match == right else "-"),
                            "outcome": "invalid" if lost else "answered",
                        },
                    }
                )
    return pd.DataFrame(rows)


def test_tables_of_nback_have_the_share_and_bounds() -> None:
    answers = scored(blocks("a", {1: 0.0, 2: 0.15}))
    cells = figure_named("nback_models").compute(described(answers, ["nback_verbal"], ()), Wish()).table
    second = answers.items[(answers.items["factor_n"] == 2) & (answers.items["serial_position"] > 2)]
    share, right = float(second["outcome"].eq("invalid").mean()), float(second["correct"].mean())
    accuracy = cells[cells["measure"] == "accuracy"]
    assert accuracy["unread"].tolist() == pytest.approx([0.0, share])
    assert accuracy["if_guessed"].tolist()[1] == pytest.approx(right + 0.5 * share)
    assert cells.loc[cells["measure"] == "dprime_pooled", "if_guessed"].isna().all(), "a guess has no d′ of its own"


@pytest.mark.parametrize("name", ["nback_models", "nback_bars", "nback_dprime", "nback_published"])
def test_figures_of_nback_say_how_much_could_not_be_read(name: str) -> None:
    answers = scored(blocks("a", {1: 0.1, 2: 0.3}))
    computed = figure_named(name).compute(described(answers, ["nback_verbal"], ()), Wish())
    share = float(answers.items["outcome"].eq("invalid").mean())
    assert f"Replies that could not be read count as wrong: a {share:.0%}" in computed.caption
    clean = figure_named(name).compute(described(scored(blocks("a", {1: 0.0, 2: 0.0})), ["nback_verbal"], ()), Wish())
    assert "could not be read" not in clean.caption


def people(many: int = 9) -> list[pd.DataFrame]:
    curve = {1: 0.95, 2: 0.6, 3: 0.4, 4: 0.4, 5: 0.6, 6: 0.95}
    return [
        responses(
            lambda _, position: curve[position],
            lengths=[6],
            agent="p",
            kind="participant",
            participant=f"P{number}",
            seed=number,
            repetitions=12,
        )
        for number in range(many)
    ]


def like_people(unread: float, **options: Any) -> pd.DataFrame:
    """A chat model with the curve of people, of which every so many replies could not be read."""
    curve = {1: 0.95, 2: 0.6, 3: 0.4, 4: 0.4, 5: 0.6, 6: 0.95}
    table = responses(
        lambda _, position: curve[position], lengths=[6], agent="a", kind="chat", seed=77, repetitions=60, **options
    )
    lost = np.random.RandomState(5).rand(len(table)) < unread
    table.loc[lost, "outcome"], table.loc[lost, "correct"] = "invalid", False
    return table


def test_scores_distances_and_guessing_have_the_share_and_bounds() -> None:
    answers = scored(*people(), like_people(0.1))
    for table in (distances(answers, against="p"), scores(answers), guessed(answers)):
        mine = table[table["agent"] == "a"]
        assert (mine["unread"] > 0.05).all()
        assert (mine["if_guessed"] > mine["all_wrong"]).all()
    for table in (distances(scored(*people(), like_people(0.4))), scores(scored(*people(), like_people(0.4)))):
        assert "a" not in set(table["agent"]), "no comparison with who was hardly read"


def test_cells_of_the_mixed_model_have_the_share_and_bounds() -> None:
    cells = mixed_model(scored(chat("a", 0.1), chat("b", 0.0)), "vsr", "list_length").cells.table
    mine = cells[cells["agent"] == "a"]
    assert mine["unread"].mean() == pytest.approx(0.1, abs=0.03)
    assert (mine["if_guessed"] >= mine["correct"]).all()
    assert "unread" not in mixed_model(scored(chat("b", 0.0)), "vsr", "list_length").cells.table.columns


def test_tables_of_reaction_times_are_of_people_whose_answers_are_never_unread() -> None:
    person = responses(lambda *_: 0.7, agent="p", kind="participant", participant="P1", repetitions=30).assign(
        rt_ms=700.0
    )
    assert set(reaction_times(scored(person, chat("a", 0.1).assign(rt_ms=900.0)))["agent_kind"]) == {"participant"}


def test_a_session_that_was_hardly_read_is_in_no_slope(tmp_path: Path) -> None:
    """Two sessions of one model: of all its replies a fifth could not be read, of one session's
    nearly half."""
    first, second = chat("a", 0.0).assign(session="s1"), chat("a", 0.35).assign(session="s2")
    pd.concat([first, second, chat("b", 0.0)], ignore_index=True).to_csv(tmp_path / "answers.csv", index=False)
    whole = load([tmp_path / "answers.csv"])
    kept, alone = (
        trends(effect("set_size"), answers, "vsr") for answers in (whole.scored, scored(first, chat("b", 0.0)))
    )
    pd.testing.assert_frame_equal(kept, alone)  # the session that was read stays
    accepted = replace(whole.scored, accept_unread=True)
    assert set(trends(effect("set_size"), accepted, "vsr")["agent"]) == {"a", "b"}
