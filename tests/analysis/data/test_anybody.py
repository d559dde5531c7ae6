"""Tables that SpanLab did not record: what used to be wrong without a word, with made-up numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses
from command_line import Run, complaint

from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.nback.measures import nback_blocks
from spanlab.analysis.report.lab import spoilers
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.core.errors import SpanLabError

WHO = {"agent": "people", "agent_kind": "participant"}


def opened(table: pd.DataFrame, path: Path) -> Data:
    table.to_csv(path / "table.csv", index=False)
    return load([path / "table.csv"])


def changes(sizes: tuple[int, ...] = (2, 4, 6), people: int = 8) -> pd.DataFrame:
    """Change detection, worse with more items; numbered trials."""
    random, rows = np.random.RandomState(5), []
    for person in range(people):
        for trial in range(60):
            size, changed = sizes[trial % len(sizes)], trial % 2 == 0
            right = random.rand() < 0.95 - 0.06 * sizes.index(size) - 0.01 * person
            said = changed if right else not changed
            words = {True: '"different"', False: '"same"'}
            rows.append(
                {
                    **WHO,
                    "participant": f"P{person}",
                    "paradigm": "memo",
                    "trial": trial,
                    "set_size": size,
                    "correct_answer": words[changed],
                    "answer": words[said],
                    "outcome": "answered",
                    "correct": right,
                    "chance": 0.5,
                    "rt_ms": 600.0 + trial,
                }
            )
    return pd.DataFrame(rows)


def test_without_trial_numbers_everything_is_as_with_them(tmp_path: Path) -> None:
    whole = changes()
    bare = opened(whole.drop(columns="trial"), tmp_path)
    assert bare.cautions == ("table.csv: No trial numbers: each row is taken as a trial.",)
    for name in ("set_size", "sensitivity", "capacity"):
        without, with_ = (
            effect(name).table(one, "memo") for one in (bare.scored, load([_numbered(whole, tmp_path)]).scored)
        )
        pd.testing.assert_frame_equal(without, with_)
    assert trends(effect("set_size"), bare.scored, "memo")["p"].notna().all()


def _numbered(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path / "numbered.csv", index=False)
    return path / "numbered.csv"


def test_zero_is_a_set_size(tmp_path: Path) -> None:
    data = opened(changes((0, 2, 4)), tmp_path)
    assert effect("set_size").table(data.scored, "memo")["set_size"].tolist() == [0, 2, 4]


def test_decisions_between_items_are_left_out_where_the_paradigm_says_so() -> None:
    span = responses(lambda *_: 0.7, lengths=(3,), repetitions=4)
    decisions = span.assign(set_size=0, phase="decision", step=span["step"] - 3, serial_position=None)
    scored = score_table(pd.concat([span, decisions], ignore_index=True))
    assert len(scored.items) == len(span)
    assert "12 decisions that needed no memory (set size 0) left out." in scored.notes


def test_differences_within_people_need_no_chance_level(tmp_path: Path) -> None:
    both = opened(changes(), tmp_path), opened(changes().drop(columns="chance"), tmp_path)
    with_chance, without = (trends(effect("set_size"), one.scored, "memo") for one in both)
    pd.testing.assert_frame_equal(with_chance.drop(columns="guessing"), without.drop(columns="guessing"))
    assert without["p"].notna().all()


def test_stats_of_many_answers_cut_nothing() -> None:
    """An effect that comes late in a session."""
    random = np.random.RandomState(4)
    rows = [
        {
            **WHO,
            "participant": f"P{person}",
            "paradigm": "long",
            "trial": trial,
            "factor_kind": '"new"' if trial % 2 else '"old"',
            "correct": bool(random.rand() < (0.4 if trial > 700 and trial % 2 else 0.9)),
            "chance": 0.5,
        }
        for person in range(24)
        for trial in range(1, 1001)
    ]
    found = mixed_model(score_table(pd.DataFrame(rows)), "long", by="kind")
    assert found.cells.table["n"].tolist() == [12_000, 12_000]
    assert found.fit is not None
    new, old = found.fit.fixed[:2]
    assert old - new > 0.9


def blocks(position: str | None) -> pd.DataFrame:
    """Two people, a block of 2-back each: false alarms at both first items, none later."""
    rows = []
    for person in ("P1", "P2"):
        for place in range(1, 11):
            match = place in (4, 7)
            said = place < 3 or match
            rows.append(
                {
                    **WHO,
                    "participant": person,
                    "paradigm": "nb",
                    "trial": 1,
                    "factor_n": 2,
                    "record_match": match,
                    "correct_answer": '"m"' if match else '"-"',
                    "answer": '"m"' if said else '"-"',
                    "outcome": "answered",
                    "correct": said == match,
                    **({position: place} if position else {}),
                }
            )
    return pd.DataFrame(rows)


def test_items_of_a_block_are_counted_by_whatever_numbers_them() -> None:
    by_position, by_ask = (nback_blocks(score_table(blocks(name))) for name in ("serial_position", "ask"))
    assert by_position["false_alarms"].tolist() == by_ask["false_alarms"].tolist() == [0, 0]
    assert by_ask["n_first_left_out"].tolist() == [2, 2]


def test_blocks_without_numbers_are_runs_of_rows() -> None:
    """Of a block that nothing numbers, the first items cannot be hits."""
    numbered, bare = score_table(blocks(None)), score_table(blocks(None).drop(columns="trial"))
    assert numbered.cautions == ("Items of a block are numbered in the order of the rows.",)
    assert "rows of one N that follow one another are taken as a block" in bare.cautions[0]
    for scored in (numbered, bare):
        assert nback_blocks(scored)[["false_alarms", "n_first_left_out"]].to_numpy().tolist() == [[0, 2], [0, 2]]


def lists(**more: Any) -> pd.DataFrame:
    """Lists of four: 2 and 3 are exchanged in every second list."""
    rows = []
    for person in ("P1", "P2", "P3"):
        for trial in range(8):
            given = [1, 3, 2, 4] if trial % 2 else [1, 2, 3, 4]
            rows += [
                {
                    **WHO,
                    "participant": person,
                    "paradigm": "letters",
                    "trial": trial,
                    "ask": place,
                    "list_length": 4,
                    "serial_position": place,
                    "correct_answer": place,
                    "answer": given[place - 1],
                    "outcome": "answered",
                    "correct": given[place - 1] == place,
                }
                for place in (1, 2, 3, 4)
            ]
    return pd.DataFrame(rows).assign(**more)


def test_items_that_are_asked_for_one_by_one_are_serial_recall(tmp_path: Path) -> None:
    plain = effect("transpositions").table(score_table(lists()), "letters")
    placed = effect("transpositions").table(score_table(lists().assign(output_position=lists()["ask"])), "letters")
    pd.testing.assert_frame_equal(plain, placed)
    assert plain["mean"].max() > 0
    bare = lists().drop(columns=["ask", "list_length"])
    data = opened(bare.assign(output_position=bare["serial_position"]), tmp_path)
    pd.testing.assert_frame_equal(
        effect("transpositions").table(data.scored, "letters").drop(columns="agent"), plain.drop(columns="agent")
    )


def test_words_in_capitals_differences_of_radians_and_intrusions_are_understood(tmp_path: Path) -> None:
    words = pd.DataFrame({"participant": "P1", "trial": range(4), "set_size": 4})
    words = words.assign(correct_answer=["Different", "Same"] * 2, answer=["Different", "Same", "Same", "Different"])
    right = opened(words, tmp_path).scored.items.astype({"correct_answer": str}).groupby("correct_answer")["correct"]
    assert right.agg(list).to_dict() == {"different": [1.0, 0.0], "same": [1.0, 0.0]}
    turned = pd.DataFrame({"participant": "P1", "trial": range(3), "error": [0.5, -6.0, 3.5]})
    errors = np.radians(opened(turned, tmp_path).scored.items["error"].to_numpy(float))
    assert errors == pytest.approx([0.5, 2 * np.pi - 6, 3.5 - 2 * np.pi])
    free = pd.DataFrame([(1, 2), (2, None), (3, 1), (None, 3)], columns=["serial_position", "output_position"])
    found = opened(free.assign(participant="P1", trial=1, correct=free["output_position"] < 3), tmp_path).scored
    assert found.items["list_length"].tolist() == [3.0] * 3
    assert found.intrusions["output_position"].tolist() == [3.0]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(
    ("half", "begins", "answers_begin", "spread"),
    [(np.pi, -np.pi, 0, 0.3), (np.pi, 0, 0, 0.3), (180, -180, 0, 20), (180, 0, 0, 20), (90, 0, 0, 8)],
)
def test_differences_of_angles_are_wrapped_in_their_unit(
    half: float, begins: float, answers_begin: float, spread: float, both: bool, tmp_path: Path
) -> None:
    random = np.random.RandomState(3)
    right = random.uniform(begins, begins + 2 * half, 400)
    answer = (right + random.normal(0, spread, 400) - answers_begin) % (2 * half) + answers_begin
    sides = {"answer": answer, "correct_answer": right} if both else {"error": answer - right}
    found = opened(pd.DataFrame({"participant": "P1", "trial": range(400), **sides}), tmp_path).scored.items["error"]
    expected = (answer - right + half) % (2 * half) - half
    assert found.to_numpy(float) == pytest.approx(np.degrees(expected) if half == np.pi else expected, abs=1e-6)


def test_whether_small_errors_are_degrees_is_asked(tmp_path: Path) -> None:
    errors = pd.DataFrame(
        {"participant": "P1", "trial": range(300), "error": np.random.RandomState(1).normal(0, 3, 300)}
    )
    with pytest.raises(SpanLabError, match=r"unclear whether errors up to 8.4 are degrees or radians"):
        opened(errors, tmp_path)
    assert opened(errors.assign(period=360), tmp_path).scored.items["error"].std() == pytest.approx(3, abs=0.3)


def test_a_column_is_named_as_its_owner_calls_it(run: Run, tmp_path: Path) -> None:
    """Numbers called load are set sizes here; names that libraries use are names like others."""
    changes().rename(columns={"set_size": "load"}).assign(index=changes()["trial"] % 2).to_csv("t.csv", index=False)
    assert "correct ~ agent * set_size" in run("stats", "t.csv", "--by", "load")[1]
    assert run("figure", "--along", "load", "--by", "index", "t.csv")[0] == 0


def test_presses_of_one_key_are_answers_of_nback_whose_items_have_trial_numbers(tmp_path: Path) -> None:
    random = np.random.RandomState(11)
    rows = [(f"P{person}", n, item) for person in range(3) for n in (1, 2) for item in range(1, 25)]
    table = pd.DataFrame(rows, columns=["participant", "n", "trial"])
    match = (table["trial"] > table["n"]) & (random.rand(len(table)) < 0.4)
    pressed = random.rand(len(table)) < np.where(match, 0.8, 0.2)
    table = table.assign(task=[f"{n}-back" for n in table["n"]], block=table["n"])
    table = table.assign(type=np.where(match, "target", "nontarget"), key=np.where(pressed, "space", ""))
    blocks = nback_blocks(opened(table.drop(columns="n"), tmp_path).scored).set_index(["participant", "n"])
    counted = table["trial"] > table["n"]
    for person, n, rate in blocks["false_alarm_rate"].reset_index().itertuples(index=False):
        own = counted & ~match & table["participant"].eq(person) & table["n"].eq(n)
        assert rate == pytest.approx(pressed[own].mean())
    assert len(blocks) == 6


def test_truth_in_the_words_of_the_answers_and_minus_one_for_none(tmp_path: Path) -> None:
    table = changes().assign(Truth=np.where(changes()["trial"] % 2, "rot", "blau"))
    right = table["correct"].astype(bool)
    table = table.assign(answer=table["Truth"].where(right, table["Truth"].map({"rot": "blau", "blau": "rot"})))
    found = opened(table.drop(columns=["correct", "correct_answer"], errors="ignore"), tmp_path).scored.items
    assert found["correct"].tolist() == right.astype(float).tolist()
    with pytest.raises(SpanLabError, match=r"which answers are right. 'cue' has the words .*cue=correct_answer"):
        opened(
            table.drop(columns=["correct", "correct_answer"], errors="ignore").rename(columns={"Truth": "cue"}),
            tmp_path,
        )
    none = table["trial"] == 1
    scores = table.drop(columns=["answer", "Truth"]).assign(correct=right.astype(int).mask(none, -1))
    found = opened(scores.rename(columns={"correct": "acc"}), tmp_path).scored.items
    assert found["outcome"].eq("omitted").tolist() == none.tolist()
    assert found["correct"].sum() == (right & ~none).sum()


def test_levels_stand_in_the_order_that_people_expect(run: Run, tmp_path: Path) -> None:
    table = changes().assign(factor_load=[f'"{size} items"' for size in changes()["set_size"].replace(6, 10)])
    table.drop(columns="set_size").to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run("figure", "--along", "load", "t.csv")
    assert out.index("  2 items") < out.index("  4 items") < out.index("  10 items")
    quoted = changes().assign(factor_load=[json.dumps(str(size)) for size in changes()["set_size"]])
    quoted.drop(columns="set_size").to_csv(tmp_path / "q.csv", index=False)
    assert "slope" in run("figure", "--along", "load", "q.csv")[1]


def test_pilots_that_are_not_analysed_decide_no_exclusion(run: Run, tmp_path: Path) -> None:
    good = changes()
    bad = good.assign(correct=False, pilot=True, session="pilot", trial=good["trial"] + 100)
    pd.concat([good.assign(session="one", pilot=False), bad]).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "r.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: accuracy, below: 0.6, whose: people}\n", encoding="utf-8"
    )
    assert "0 of 8 participants left out" in run("figure", "set_size", "t.csv", "--exclude", "r.yaml")[1]
    assert "8 of 8 participants left out" in run("stats", "t.csv", "--exclude", "r.yaml", "--pilot")[1]


def test_rules_apply_to_tables_with_settings(run: Run, tmp_path: Path) -> None:
    table = changes().assign(agent_settings_hash="h")
    table.loc[table["participant"] == "P7", ["participant", "agent_kind", "agent"]] = [None, "network", "net"]
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "r.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: accuracy, below: 0.1}\n", encoding="utf-8"
    )
    assert run("figure", "set_size", "t.csv", "--exclude", "r.yaml")[0] == 0


def test_a_table_of_people_as_a_spreadsheet_writes_it(run: Run, tmp_path: Path) -> None:
    changes(people=3).assign(participant=lambda t: t["participant"].str.replace("P", "00")).to_csv(
        tmp_path / "t.csv", index=False
    )
    rule = "exclude:\n  - {{leave_out: participants, where: score, table: {0}, column: iq, below: 0.8}}\n"
    (tmp_path / "semi.csv").write_text("participant;iq\n000;0,5\n001;1,5\n002;0,9\n", encoding="utf-8")
    (tmp_path / "zero.csv").write_text("participant,iq\n0,0.5\n1,1.5\n2,0.9\n", encoding="utf-8")
    for name in ("semi", "zero"):
        (tmp_path / f"{name}.yaml").write_text(rule.format(f"{name}.csv"), encoding="utf-8")
    assert "1 of 3 participants left out" in run("figure", "set_size", "t.csv", "--exclude", "semi.yaml")[1]
    _, _, err = run("figure", "set_size", "t.csv", "--exclude", "zero.yaml")
    assert "3 of 3 participants are not in this table. Nearly alike: 0 and 000, 1 and 001, 2 and 002." in err


def test_guessers_are_looked_for_in_a_table_whose_texts_are_kept_once(tmp_path: Path) -> None:
    people = changes(people=3).assign(agent="participant", agent_kind="participant")
    machine = changes(people=1).assign(agent="net", agent_kind="network", participant=None)
    both = pd.concat([people, machine], ignore_index=True)
    both["session"] = "of " + both["participant"].fillna("net").astype(str)
    assert not [text for text in spoilers((), opened(both, tmp_path).scored.items, None) if "guess" in text]


def test_trial_numbers_that_begin_again_begin_a_session(tmp_path: Path) -> None:
    table = pd.concat([changes(people=2), changes(people=2).assign(correct=True)]).sort_values(
        "participant", kind="stable"
    )
    data = opened(table, tmp_path)
    assert data.cautions == ("table.csv: trial numbers begin again 2 times: each run is a session.",)
    assert data.scored.items.groupby(["participant", "session"], observed=True).size().tolist() == [60] * 4


def test_one_set_size_has_k_and_d_prime() -> None:
    scored = score_table(changes((4,)))
    assert effect("capacity").table(scored, "memo")["set_size"].tolist() == [4, 4]
    assert effect("sensitivity").table(scored, "memo")["mean"].notna().all()


def test_d_prime_of_people_without_an_error_says_what_it_rests_on() -> None:
    table = changes()
    table.loc[table["participant"] == "P0", "correct"] = True
    assert (
        effect("sensitivity")
        .table(score_table(table), "memo")["note"]
        .str.contains("rests on the correction of rates")
        .any()
    )


def test_a_second_by_never_replaces_the_first_without_a_word(run: Run, tmp_path: Path) -> None:
    changes().to_csv(tmp_path / "t.csv", index=False)
    assert "no analysis of variance: memo has no column 'block'" in complaint(
        *run("stats", "t.csv", "--by", "set_size", "--by", "block")
    )
    assert "--by is given 2 times" in complaint(*run("methods", "t.csv", "--by", "set_size", "--by", "trial"))
    assert "--practice is given 2 times" in complaint(
        *run("import", "table", "t.csv", *("--practice", "a", "--practice", "b"))
    )
    assert "--output is given 2 times" in complaint(*run("methods", "t.csv", "-o", "a.md", "--output", "b.md"))
