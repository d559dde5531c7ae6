"""Rules of exclusion: whom they leave out, on what value, how often; and that nothing else goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from pydantic import ValidationError

from spanlab.analysis.data.exclusions import Exclusions, OfSessions, Rule, apply_exclusions
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.guessing import against_guessing
from spanlab.api import read_rules
from spanlab.core.errors import ParadigmError, SpanLabError


def person(name: str, share: float, **options: object) -> pd.DataFrame:
    return responses(
        lambda *_: share,
        agent="participant",
        kind="participant",
        participant=name,
        seed=len(name),
        **options,  # type: ignore[arg-type]
    )


def rule(leave_out: str, where: str, **more: object) -> Rule:
    return Rule.model_validate({"leave_out": leave_out, "where": where, **more})


def data() -> pd.DataFrame:
    return mixed(person("good", 1.0), person("bad", 0.0), responses(lambda *_: 0.0, agent="net"))


def left(table: pd.DataFrame, *rules: Rule, **options: object) -> tuple[pd.DataFrame, Exclusions]:
    return apply_exclusions(table, rules, **options)  # type: ignore[arg-type]


def test_participants_below_an_accuracy_go_with_all_of_their_rows() -> None:
    table = mixed(data(), person("bad", 1.0).assign(practice=True))
    before = table.copy()
    kept, report = left(table, rule("participants", "accuracy", below=0.5, whose="people", reason="guessing"))
    assert set(kept["participant"].fillna("")) == {"good", ""}
    assert (
        report.units.to_dict("records")[0] | {"participant": "bad", "value": 0.0, "rule": 1, "reason": "guessing"}
        == report.units.to_dict("records")[0]
    )
    (row,) = report.rules.to_dict("records")
    assert (row["judged"], row["left_out"], row["answers_left_out"], row["rows_left_out"]) == (2, 1, 120, 240)
    assert "guessing" in report.notes[0]
    assert "bad (0)" in report.notes[0]
    pd.testing.assert_frame_equal(table, before)


def test_machines_are_judged_only_when_they_are_meant() -> None:
    for whose, gone in (("everybody", {"bad", "net"}), ("people", {"bad"}), ("machines", {"net"})):
        _, report = left(data(), rule("participants", "accuracy", below=0.5, whose=whose))
        assert {one["participant"] or one["agent"] for one in report.units.to_dict("records")} == gone


def test_trials_and_answers_by_reaction_time() -> None:
    table = person("a", 1.0, lengths=(2,), repetitions=20).assign(rt_ms=500.0)
    table.loc[table["trial"] == 3, "rt_ms"] = [90.0, 500.0]
    table.loc[table["trial"] == 4, "rt_ms"] = np.nan
    kept, report = left(table, rule("answers", "rt_ms", below=100))
    assert len(kept) == len(table) - 1
    assert report.rules.iloc[0]["unknown"] == 2
    assert "not known" in report.notes[0]
    kept, report = left(table, rule("trials", "rt_ms", below=300))
    assert set(report.units["trial"]) == {3}
    assert len(kept) == len(table) - 2


def test_deviation_of_reaction_times_is_robust_and_of_each_participant() -> None:
    random = np.random.RandomState(1)
    fast, slow = (person(name, 1.0, lengths=(2,), repetitions=50) for name in ("fast", "slower"))
    fast["rt_ms"], slow["rt_ms"] = 400 + 20 * random.randn(100), 4000 + 200 * random.randn(100)
    fast.loc[7, "rt_ms"] = 4000.0  # usual for the other
    _, report = left(mixed(fast, slow), rule("answers", "rt_deviation", above=8))
    assert list(report.units["participant"]) == ["fast"]
    off = (fast["rt_ms"] - fast["rt_ms"].median()).abs()
    assert report.units["value"].iloc[0] == pytest.approx(off[7] / (1.4826 * off.median()))


@pytest.mark.slow
def test_omissions_frames_attempts_and_numbers_of_trials() -> None:
    table = mixed(person("a", 1.0, lengths=(2,)), person("bb", 1.0, lengths=(2,), repetitions=4))
    table.loc[((table["participant"] == "bb") & (table["trial"] <= 2)), ["outcome", "correct"]] = ["omitted", False]
    table["planned_frames"], table["shown_frames"], table["dropped_frames"], table["attempts"] = 60, 60, 0, 1
    table.loc[5, ["shown_frames", "dropped_frames", "attempts"]] = [63, 3, 4]
    for one, who, value in (
        (rule("participants", "omitted", above=0.4), "bb", 0.5),
        (rule("sessions", "trials", below=5), "bb", 4),
        (rule("trials", "late_frames", above=2), "a", 3),
        (rule("trials", "frames_off", above=2), "a", 3),
        (rule("answers", "attempts", above=3), "a", 4),
        (rule("participants", "answers", below=10), "bb", 8),
        (rule("participants", "above_chance", below=0.5), "bb", 0.5 - 1 / 9),
    ):
        _, report = left(table, one)
        (row,) = report.units.to_dict("records")
        assert (row["participant"] or row["session"].split("-")[-1], row["value"]) == (who, pytest.approx(value)), one


def test_timing_verdicts_come_from_outside() -> None:
    table = mixed(person("a", 1.0, session="s1"), person("bb", 1.0, session="s2"), person("ccc", 1.0, session="s3"))
    kept, report = left(table, rule("sessions", "timing", above=0), sessions=OfSessions({"s1": 0, "s2": 2}, {}))
    assert set(kept["session"]) == {"s1", "s3"}
    assert report.rules.iloc[0]["unknown"] == 1
    with pytest.raises(SpanLabError, match="a rule leaves sessions out by 'timing', which is not known here"):
        left(table, rule("sessions", "timing", above=0))


def test_rules_are_applied_in_turn_and_by_paradigm() -> None:
    table = mixed(person("a", 0.0), person("a", 1.0, paradigm="sfr"), person("bb", 1.0))
    kept, _ = left(table, rule("participants", "accuracy", below=0.5))
    assert set(zip(kept["participant"], kept["paradigm"], strict=True)) == {("a", "sfr"), ("bb", "vsr")}
    kept, report = left(table, rule("participants", "accuracy", below=0.5, everywhere=True))
    assert set(kept["participant"]) == {"bb"}
    assert report.rules.iloc[0]["rows_left_out"] == 240
    kept, _ = left(table, rule("participants", "accuracy", below=0.5, paradigms=["sfr"]))
    assert len(kept) == len(table)
    # The second rule sees what the first has left.
    _, report = left(table, rule("participants", "accuracy", below=0.5), rule("participants", "accuracy", below=0.5))
    assert list(report.rules["left_out"]) == [1, 0]
    assert list(report.rules["answers_before"]) == [360, 240]


def test_a_participant_of_two_paradigms_is_counted_once_and_goes_everywhere_whatever_the_settings() -> None:
    """Three people in two paradigms were "6 participants", and somebody who had other settings in
    the second paradigm stayed there."""
    paradigms = {"vsr": "one", "sfr": "two"}
    people = [
        person(name, share, paradigm=paradigm).assign(agent_settings_hash=settings)
        for name, share in (("a", 0.0), ("bb", 1.0), ("ccc", 1.0))
        for paradigm, settings in paradigms.items()
    ]
    _, report = left(mixed(*people), rule("participants", "accuracy", below=0.5))
    assert (report.rules.iloc[0]["judged"], report.rules.iloc[0]["left_out"]) == (3, 1)
    told = "1 of 3 participants left out, 240 of 720 answers (sfr: 1 of 3, vsr: 1 of 3): a in vsr (0) and a in sfr (0)."
    assert told in report.notes[0].replace("a in sfr (0) and a in vsr (0)", "a in vsr (0) and a in sfr (0)")
    kept, _ = left(
        mixed(people[0], people[1].assign(correct=True), *people[2:]),
        rule("participants", "accuracy", below=0.5, everywhere=True),
    )
    assert set(kept["participant"]) == {"bb", "ccc"}


def test_people_are_counted_in_each_paradigm_not_with_those_of_others() -> None:
    table = mixed(person("a", 0.0), person("bb", 1.0), *(person(f"p{n}", 1.0, paradigm="sfr") for n in range(5)))
    _, report = left(table, rule("participants", "accuracy", below=0.5))
    assert "1 of 7 participants left out, 120 of 840 answers (sfr: 0 of 5, vsr: 1 of 2): a (0)" in report.notes[0]
    _, report = left(table, rule("participants", "accuracy", below=0.5, paradigms=["vsr"]))
    assert "1 of 2 participants left out, 120 of 240 answers: a (0)" in report.notes[0]


def test_duplicate_rows_do_not_bring_an_answer_back() -> None:
    table = person("a", 1.0, lengths=(2,), repetitions=3).assign(rt_ms=500.0)
    table.loc[0, "rt_ms"] = 10.0
    kept, _ = left(mixed(table, table), rule("answers", "rt_ms", below=100))
    assert len(kept) == 2 * len(table) - 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "exclude:\n  - {leave_out: answers, where: accuracy, below: 0.5}\n",
            "r.yaml:2 exclude item 1: accuracy is a measure of trials, sessions and participants",
        ),
        ("exclude:\n  - {leave_out: trials, where: accuracy}\n", "'below' or 'above' is missing"),
        ("exclude:\n  - {leave_out: trials, where: acuracy, below: 1}\n", "found 'acuracy'"),
        ("exclude:\n  - {leave_out: trials, where: accuracy, bellow: 1}\n", "did you mean 'below'"),
        ("exclude:\n  - {leave_out: trials, where: accuracy, below: .nan}\n", "r.yaml:2"),
        ("exclude:\n  - {leave_out: trials, where: accuracy, below: half}\n", "expected a number; found 'half'"),
        ("exclude: []\n", "at least 1"),
        ("rules: []\n", "unknown key 'rules'"),
        ("- 1\n", "r.yaml"),
        ("", "empty"),
    ],
)
def test_files_of_rules_that_are_wrong(text: str, complaint: str, tmp_path: Path) -> None:
    (file := tmp_path / "r.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParadigmError) as found:
        read_rules(file)
    assert complaint in str(found.value)


def test_a_file_of_rules(tmp_path: Path) -> None:
    (file := tmp_path / "r.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: accuracy, below: 0.5, whose: people, paradigms: [vsr, sfr],"
        " reason: guessing}\n",
        encoding="utf-8",
    )
    (one,) = read_rules(file)
    assert one == rule(
        "participants", "accuracy", below=0.5, whose="people", paradigms=("vsr", "sfr"), reason="guessing"
    )
    assert str(one) == "participants (people only) whose accuracy is below 0.5 in vsr and sfr"
    with pytest.raises(SpanLabError, match="cannot read"):
        read_rules(tmp_path / "none.yaml")


def test_a_person_at_two_screens_is_judged_once() -> None:
    """Right in 70% over two sessions of other settings: half of a person is not below 65%."""
    halves = [
        person("twice", 1.0, lengths=(1,), repetitions=20, session=f"s{at}").assign(
            agent_settings_hash=f"{at}" * 8, correct=[number < right for number in range(20)]
        )
        for at, right in enumerate((18, 10))
    ]
    table = mixed(*halves, person("other", 1.0, lengths=(1,), repetitions=40))
    for judged in (rule("participants", "accuracy", below=0.65), rule("participants", "trials", below=30)):
        _, report = left(table, judged)
        assert report.rules.iloc[0][["judged", "left_out"]].tolist() == [2, 0]
    _, report = left(table, rule("participants", "accuracy", below=0.75))
    assert report.units["value"].tolist() == [pytest.approx(0.7)]
    net = mixed(*(half.assign(participant="", agent_kind="network", agent="net") for half in halves))
    _, report = left(net, rule("participants", "accuracy", below=0.65))
    assert report.rules.iloc[0]["judged"] == 2, "a machine with other settings is another one"


def test_whoever_is_at_the_limit_stays() -> None:
    people = [
        person(name, 1.0, lengths=(1,), repetitions=20, chance=0.5).assign(
            correct=[number < right for number in range(20)]
        )
        for name, right in (("at", 12), ("below", 11))
    ]
    _, report = left(mixed(*people), rule("participants", "above_chance", below=0.1))
    assert report.units["participant"].tolist() == ["below"]


@pytest.mark.parametrize(
    ("where", "limit", "said"),
    [
        ("omitted", {"above": 20}, "omitted lies between 0 and 1, and 20 does not; 20% is 0.2"),
        ("accuracy", {"below": 60}, "60% is 0.6"),
        ("above_chance", {"below": -2}, "above_chance lies between -1 and 1"),
    ],
)
def test_limits_that_no_value_can_pass_are_refused(where: str, limit: dict[str, float], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        rule("participants", where, **limit)
    assert rule("participants", "trials", below=60)


def test_guessers_who_were_chosen_by_their_answers_are_not_tested_against_guessing() -> None:
    """Of sixteen guessers those above 55% are left: their share is above chance by choice. A network
    beside them, and people chosen by their times, are tested."""
    random = np.random.RandomState(4)
    people = [
        person(f"P{at}", 0.5, lengths=(1,), repetitions=40, chance=0.5).assign(correct=random.rand(40) < 0.5, rt_ms=500)
        for at in range(16)
    ]
    net = responses(lambda *_: 0.9, agent="net", lengths=(1,), repetitions=40, chance=0.5)
    for judged, tested in (
        (rule("participants", "above_chance", below=0.05, whose="people"), False),
        (rule("trials", "accuracy", below=0.5, whose="people"), False),
        (rule("answers", "rt_ms", above=499, whose="machines"), True),
        (rule("participants", "accuracy", below=0, whose="people"), True),
    ):
        kept, _ = left(mixed(*people, net), judged)
        found = {one.share.agent: one for one in against_guessing(score_table(kept))}
        assert found["participant"].where == ("not told apart" if tested else "not tested"), judged
        assert found["participant"].sentence.startswith(
            ", not distinguishable" if tested else ", not tested against guessing"
        )
        assert found["net"].where == "above"
    named = mixed(*people).assign(
        agent=lambda table: table["participant"]
    )  # a table that calls everybody something else
    kept, _ = left(named, rule("participants", "accuracy", below=0.6))
    assert {one.where for one in against_guessing(score_table(kept))} == {"not tested"}


def test_people_who_were_chosen_by_a_score_of_any_table_are_not_tested_against_guessing(tmp_path: Path) -> None:
    """What a table calls a score may be right answers, whatever its name."""
    random = np.random.RandomState(4)
    people = [
        person(f"P{at}", 0.5, lengths=(1,), repetitions=40, chance=0.5).assign(correct=random.rand(40) < 0.5)
        for at in range(16)
    ]
    own = pd.DataFrame(
        {"participant": [f"P{at}" for at in range(16)], "sum": [part["correct"].mean() for part in people]}
    )
    own.to_csv(tmp_path / "scores.csv", index=False)
    by_score = rule("participants", "score", below=0.55, table=str(tmp_path / "scores.csv"), column="sum")
    kept, _ = left(mixed(*people), by_score)
    (one,) = against_guessing(score_table(kept))
    assert (one.where, one.share.n < 16) == ("not tested", True)


def test_rules_that_make_no_sense() -> None:
    for wrong in ({"above": 0.2, "below": 0.5}, {"below": 0.5, "leave_out": "trials", "everywhere": True}):
        with pytest.raises(ValidationError):
            Rule.model_validate({"leave_out": "participants", "where": "accuracy", **wrong})


def test_who_always_says_the_likelier_word_is_above_chance_and_not_above_the_best_blind_guess() -> None:
    table = person("same", 0.58).assign(chance=0.5, blind=2 / 3)
    assert len(left(table, rule("participants", "above_chance", below=0.0))[0]) == len(table)
    assert not len(left(table, rule("participants", "above_blind", below=0.0))[0])
    kept, report = left(table.drop(columns="blind"), rule("participants", "above_blind", below=0.0))
    assert len(kept) == len(table)
    assert report.rules["unknown"].tolist() == [1], "older records do not tell"


def test_sessions_with_many_trials_that_could_not_be_had_are_left_out() -> None:
    table = mixed(person("a", 1.0).assign(session="s1"), person("b", 1.0).assign(session="s2"))
    kept, report = left(table, rule("sessions", "failed", above=0.05), sessions=OfSessions({}, {"s1": 0.04, "s2": 0.1}))
    assert kept["session"].unique().tolist() == ["s1"]
    assert report.units["value"].tolist() == [0.1]
