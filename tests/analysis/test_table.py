"""From the response table to scored items: what is left out, and that it is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.curves import accuracy, intrusions, overall, primacy_recency
from spanlab.core.errors import SpanLabError

ALWAYS = lambda length, position: 1.0  # noqa: E731
HALF = lambda length, position: 0.5  # noqa: E731


def changed(table: pd.DataFrame, rows: slice, **values: Any) -> pd.DataFrame:
    table = table.astype(object)
    for name, value in values.items():
        table.loc[table.index[rows], name] = value
    return table


def test_practice_and_pilot_rows_are_left_out_and_counted() -> None:
    table = changed(responses(ALWAYS), slice(0, 3), practice=True, correct=False)
    table = changed(table, slice(3, 5), pilot=True, correct=False)
    scored = score_table(table)
    assert len(scored.items) == len(table) - 5
    assert overall(scored)["mean"].item() == 1
    assert scored.notes == ("3 practice rows left out.", "2 pilot rows left out.")
    everything = score_table(table, include_practice=True, include_pilot=True)
    assert len(everything.items) == len(table)
    assert everything.notes == ("3 practice rows included on request.", "2 pilot rows included on request.")


def test_warm_up_rows_are_left_out_always_and_counted() -> None:
    table = changed(responses(ALWAYS), slice(0, 4), warm_up=True, correct=False)
    scored = score_table(table, include_practice=True, include_pilot=True)
    assert len(scored.items) == len(table) - 4
    assert overall(scored)["mean"].item() == 1
    assert scored.notes == (
        "4 warm-up rows left out: questions asked before those that count, in the same conversation.",
    )


def test_practice_as_text_from_a_csv_file_is_understood() -> None:
    table = changed(responses(ALWAYS), slice(0, 3), practice="True")
    table["correct"] = table["correct"].map(lambda one: "true" if one else "false")
    scored = score_table(table)
    assert len(scored.items) == len(table) - 3
    assert overall(scored)["mean"].item() == 1


@pytest.mark.parametrize("outcome", ["omitted", "invalid"])
def test_omitted_and_invalid_answers_are_wrong_and_counted(outcome: str) -> None:
    table = changed(
        responses(ALWAYS, lengths=[4], repetitions=5), slice(0, 4), outcome=outcome, correct=None, answer=None
    )
    row = overall(table).iloc[0]
    assert row["mean"] == pytest.approx(0.8)
    assert row[f"n_{outcome}"] == 4
    assert row["n_items"] == 20


def test_rows_without_a_score_are_left_out_not_wrong() -> None:
    scored = score_table(changed(responses(ALWAYS, lengths=[4], repetitions=5), slice(0, 4), correct=None))
    assert overall(scored)["mean"].item() == 1
    assert scored.notes == ("4 rows without a score left out.",)


def test_duplicates_count_once() -> None:
    table = responses(HALF, seed=3)
    scored = score_table(mixed(table, table.iloc[:7]))
    assert scored.notes == ("7 duplicate rows counted once.",)
    pd.testing.assert_frame_equal(overall(scored), overall(table))


def test_a_second_different_answer_to_the_same_item_is_refused() -> None:
    table = responses(ALWAYS)
    with pytest.raises(SpanLabError, match="has answer 3 in one row and 7 in another"):
        score_table(mixed(table, changed(table.iloc[:1], slice(0, 1), answer="7", correct=False)))


def recall(**columns: Any) -> pd.DataFrame:
    """A free-recall trial of three items: two recalled, one intrusion."""
    items = responses(ALWAYS, paradigm="sfr", lengths=[3], repetitions=1)
    items = changed(items, slice(2, 3), correct=False, answer=None)
    intruder = changed(
        items.iloc[:1],
        slice(0, 1),
        correct=False,
        correct_answer=None,
        answer="55",
        serial_position=None,
        output_position=2,
    )
    return mixed(items, intruder).assign(**columns)


def test_intrusions_are_no_items_and_are_counted_per_trial() -> None:
    clean = responses(ALWAYS, paradigm="sfr", lengths=[3], repetitions=3, session="other").assign(
        trial=lambda t: t["trial"] + 10
    )
    scored = score_table(mixed(recall(), clean))
    assert len(scored.items) == 12
    assert len(scored.intrusions) == 1
    assert accuracy(scored, ("list_length", "serial_position"))["mean"].tolist() == [
        1.0,
        1.0,
        0.5,
    ]  # two sessions of a machine, each with the same weight
    row = intrusions(scored).iloc[0]
    assert (row["n_trials"], row["n_intrusions"], row["per_trial"]) == (4, 1, 0.25)
    assert not len(intrusions(responses(ALWAYS)))


def test_intrusions_are_known_by_json_null_too() -> None:
    table = recall()
    table["correct_answer"] = table["correct_answer"].map(lambda one: one if isinstance(one, str) else "null")
    assert len(score_table(table).intrusions) == 1


def test_an_empty_table_gives_notes_and_empty_curves() -> None:
    for empty in (pd.DataFrame(), responses(ALWAYS).iloc[0:0]):
        scored = score_table(empty)
        assert scored.notes == ("The table has no rows.",)
        for curve in (
            overall(scored),
            accuracy(scored, ("list_length", "serial_position")),
            accuracy(scored, ("set_size",)),
            primacy_recency(scored),
            intrusions(scored),
        ):
            assert len(curve) == 0
            assert "agent" in curve.columns


@pytest.mark.parametrize("column", ["agent", "paradigm", "correct"])
def test_a_missing_needed_column_is_said(column: str) -> None:
    scored = score_table(responses(ALWAYS).drop(columns=column))
    assert scored.notes == (f"The table has no column {column}: nothing can be scored.",)
    assert len(overall(scored)) == 0


def test_missing_useful_columns_are_said_and_leave_curves_empty() -> None:
    scored = score_table(responses(ALWAYS).drop(columns=["serial_position", "chance", "practice", "oracle"]))
    assert scored.notes == ()
    assert len(accuracy(scored, ("list_length", "serial_position"))) == 0
    row = overall(scored).iloc[0]
    assert row["mean"] == 1
    assert np.isnan(row["chance"])


def test_items_without_a_position_are_in_no_cell() -> None:
    table = changed(responses(ALWAYS, lengths=[3], repetitions=2), slice(0, 1), serial_position=None)
    assert accuracy(table, ("list_length", "serial_position"))["n_items"].sum() == 5


def test_without_trial_numbers_a_trial_begins_where_its_questions_begin_again() -> None:
    whole, bare = responses(HALF), responses(HALF).drop(columns=["trial", "trial_id"])
    scored = score_table(bare)
    assert scored.cautions == ("No trial numbers: a trial begins where ask begins again.",)
    pd.testing.assert_frame_equal(overall(scored), overall(whole))
    alone = score_table(bare.assign(ask=None, serial_position=None))
    assert alone.cautions == ("No trial numbers: each row is taken as a trial.",)
    assert overall(alone)["n_trials"].tolist() == [len(whole)]


def test_positions_in_the_order_of_recall_tell_trials_apart_too() -> None:
    table = responses(HALF, lengths=[3], repetitions=2).drop(columns=["trial", "trial_id", "ask"])
    table = table.iloc[[2, 0, 1, 4, 3, 5]]
    assert score_table(table).items["unit_trial"].tolist() == [0, 0, 0, 1, 1, 1]


def test_a_table_never_depends_on_who_answered_or_on_the_order_of_rows() -> None:
    table = responses(HALF, seed=5)
    renamed = table.assign(agent="chat:x", agent_kind="chat")
    shuffled = table.sample(frac=1, random_state=np.random.RandomState(1))
    first, second, third = (accuracy(one, ("list_length", "serial_position")) for one in (table, renamed, shuffled))
    pd.testing.assert_frame_equal(first, third)
    pd.testing.assert_frame_equal(
        first.drop(columns=["agent", "agent_kind"]), second.drop(columns=["agent", "agent_kind"])
    )
