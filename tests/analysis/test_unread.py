"""Replies that could not be read are not wrong answers of a memory: they stand beside accuracy with bounds, and too many of them keep a cell out of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses

from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.unread import testable as those_tested
from spanlab.analysis.data.unread import unread_notes, unread_shares, withheld_notes
from spanlab.analysis.effects.curves import overall
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.effects.trends import trends
from spanlab.analysis.report.page import compare
from spanlab.analysis.report.text import headline
from spanlab.analysis.stats.against_guessing import against_guessing
from spanlab.analysis.stats.mixed_model import mixed_model


def chat(agent: str, unread: float, *, lengths: tuple[int, ...] = (3, 4, 5), only: int | None = None) -> pd.DataFrame:
    """Answers of a chat model of which a share (at one list length only) could not be read."""
    table = responses(lambda *_: 0.7, kind="chat", agent=agent, participant="", paradigm="vsr", lengths=lengths, repetitions=10)
    candidates = table.index if only is None else table.index[table["list_length"] == only]
    lost = candidates[np.floor(np.arange(1, len(candidates) + 1) * unread + 1e-9) > np.floor(np.arange(len(candidates)) * unread + 1e-9)]
    table.loc[lost, "outcome"] = "invalid"
    table.loc[lost, "correct"] = False
    return table


def scored(*tables: pd.DataFrame, **options: Any) -> Scored:
    made = score_table(pd.concat(tables, ignore_index=True))
    return Scored(made.items, made.intrusions, made.notes, made.cautions, **options)


def test_a_session_that_was_hardly_read_is_in_no_test() -> None:
    data = scored(chat("a", 0.5), chat("b", 0.0))
    assert set(against_guessing(data)["agent"]) == {"b"}
    assert set(mixed_model(data, "vsr").cells.table["agent"]) == {"b"}
    assert set(trends(effect("set_size"), data, "vsr")["agent"]) == {"b"}
    (note,) = withheld_notes(data)
    assert note.startswith("No test of a in vsr, and no comparison with it: 50% of its replies could not be read")
    accepted = scored(chat("a", 0.5), chat("b", 0.0), accept_unread=True)
    assert set(against_guessing(accepted)["agent"]) == {"a", "b"}
    assert set(trends(effect("set_size"), accepted, "vsr")["agent"]) == {"a", "b"}
    assert withheld_notes(accepted) == []


def test_a_fifth_of_unread_replies_is_still_tested() -> None:
    data = scored(chat("a", 0.2), chat("b", 0.0))
    assert set(against_guessing(data)["agent"]) == {"a", "b"}
    assert those_tested(data) is data
    assert withheld_notes(data) == []


@pytest.mark.slow
def test_a_cell_that_was_hardly_read_is_left_out_alone() -> None:
    data = scored(chat("a", 0.5, only=3, lengths=(3, 4, 5, 6)), chat("b", 0.0, lengths=(3, 4, 5, 6)))
    table = mixed_model(data, "vsr", "list_length").cells.table
    assert sorted(table.loc[table["agent"] == "a", "condition"]) == [4, 5, 6]
    assert sorted(table.loc[table["agent"] == "b", "condition"]) == [3, 4, 5, 6]
    assert "a at list_length 3" in withheld_notes(data, ("list_length",))[0]


def test_people_and_networks_are_never_withheld() -> None:
    table = chat("a", 0.5)
    data = scored(table.assign(agent_kind="network"))
    assert len(against_guessing(data))
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
    assert "10% of its replies could not be read:" in page
    assert "if they are guesses" in page
    assert "correct if unread" in page
    assert "Replies that could not be read count as wrong: a 10%" in page
    numbers = pd.read_csv(tmp_path / "page" / "tables" / "vsr_overall.csv")
    assert {"unread", "if_guessed"} <= {*numbers.columns}


def test_a_headline_without_unread_replies_says_nothing_of_them() -> None:
    total = overall(scored(chat("a", 0.0)))
    ((_, text), *_) = headline(total, total.iloc[:0], {}, against_guessing(scored(chat("a", 0.0))), float("nan"))
    assert "could not be read" not in text
