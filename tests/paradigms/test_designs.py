"""Designs: which trials a session, practice and a data set have."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paradigm_texts import load, text

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import (
    Paradigm,
    PlannedTrial,
    load_paradigm,
    plan_dataset,
    plan_practice,
    plan_session,
    trial_seed,
)
from spanlab.paradigms.design import session_design
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions.plan import plan_trials

FACTORS = "a: [1, 2, 3]\nb: [x, y]\nc: {random: [7, 8]}"


def designed(folder: Path, *designs: str, more: str = "") -> Paradigm:
    return load(
        folder, text(factors=FACTORS, more="designs:\n" + "\n".join(f"  {design}" for design in designs) + f"\n{more}")
    )


def levels(plan: Sequence[PlannedTrial]) -> list[tuple[Any, ...]]:
    return [tuple(trial.levels.values()) for trial in plan]


def longest_run(values: Sequence[Any]) -> int:
    return max(sum(1 for _ in run) for _, run in itertools.groupby(values))


def test_every_combination_comes_as_often_as_the_design_says(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 4, blocks: 2}", "all: {repetitions: 3, order: fixed}")
    plan = plan_session(paradigm, 5, session_design(paradigm))
    assert Counter(levels(plan)) == dict.fromkeys(itertools.product([1, 2, 3], "xy"), 8)
    assert [trial.trial for trial in plan] == list(range(1, 49))
    for block in (1, 2):
        assert Counter(levels([trial for trial in plan if trial.block == block])) == dict.fromkeys(
            itertools.product([1, 2, 3], "xy"), 4
        )
    assert (
        levels(plan_session(paradigm, 5, session_design(paradigm, "all")))
        == list(itertools.product([1, 2, 3], "xy")) * 3
    )


def test_a_plan_follows_from_the_seed(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 4, interval: {uniform: [200, 900]}}")
    design = session_design(paradigm)
    assert plan_session(paradigm, 5, design) == plan_session(paradigm, 5, design)
    assert levels(plan_session(paradigm, 5, design)) != levels(plan_session(paradigm, 6, design))
    seeds = [trial.seed for seed in range(40) for trial in plan_session(paradigm, seed, design)]
    assert len(set(seeds)) == len(seeds)


def test_intervals_are_fixed_or_drawn(tmp_path: Path) -> None:
    paradigm = designed(
        tmp_path, "human: {repetitions: 40, interval: {uniform: [200, 900]}}", "short: {interval: 250}", "plain: {}"
    )
    drawn = [trial.interval_ms for trial in plan_session(paradigm, 1, session_design(paradigm))]
    assert min(drawn) < 220
    assert max(drawn) > 880
    assert all(200 <= ms <= 900 for ms in drawn)
    assert {trial.interval_ms for trial in plan_session(paradigm, 1, session_design(paradigm, "short"))} == {250}
    assert {trial.interval_ms for trial in plan_session(paradigm, 1, session_design(paradigm, "plain"))} == {1000}


def test_runs_are_limited(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 20, max_run: 2}")
    for seed in range(20):
        assert longest_run(levels(plan_session(paradigm, seed, session_design(paradigm)))) <= 2


@pytest.mark.slow
@given(seed=st.integers(0, 1000), repetitions=st.integers(1, 60), max_run=st.integers(1, 4), count=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_an_order_with_short_runs_is_always_found(seed: int, repetitions: int, max_run: int, count: int) -> None:
    paradigm = load_paradigm("vsr")
    chosen = list(range(2, 2 + count))
    plan = plan_session(
        paradigm, seed, SessionDesign(repetitions=repetitions, max_run=max_run), {"list_length": chosen}
    )
    assert Counter(levels(plan)) == {(length,): repetitions for length in chosen}
    if count > 1:
        assert longest_run(levels(plan)) <= max_run


@pytest.mark.slow
def test_long_sessions_and_sessions_of_one_level_find_an_order() -> None:
    paradigm = load_paradigm("vsr")
    long = plan_session(paradigm, 1, session_design(paradigm), trials=20_000)
    assert len(long) == 20_000
    assert longest_run(levels(long)) <= 3
    assert set(Counter(levels(long)).values()) == {2500}
    assert levels(plan_session(paradigm, 1, session_design(paradigm), {"list_length": 5})) == [(5,)] * 5


def test_blocks_hold_a_factor_and_come_in_shuffled_order(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 3, blocked_by: [a]}", "both: {blocked_by: [a, b]}")
    orders = set()
    for seed in range(30):
        plan = plan_session(paradigm, seed, session_design(paradigm))
        held = [{trial.levels["a"] for trial in plan if trial.block == block} for block in (1, 2, 3)]
        assert sorted(level for block in held for level in block) == [1, 2, 3]
        orders.add(tuple(level for block in held for level in block))
        assert Counter(levels(plan)) == dict.fromkeys(itertools.product([1, 2, 3], "xy"), 3)
    assert len(orders) == 6
    assert [trial.block for trial in plan_session(paradigm, 1, session_design(paradigm, "both"))] == [1, 2, 3, 4, 5, 6]


def test_levels_are_chosen_held_out_and_crossed(tmp_path: Path) -> None:
    paradigm = designed(
        tmp_path,
        "human: {factors: {a: [1, 3]}, hold_out: {b: [x]}}",
        "crossed: {factors: {c: [8, 7], a: [2]}, blocked_by: [c]}",
    )
    assert Counter(levels(plan_session(paradigm, 1, session_design(paradigm)))) == {(1, "y"): 1, (3, "y"): 1}
    assert Counter(levels(plan_session(paradigm, 1, session_design(paradigm), {"b": ["x"]}))) == {
        (1, "x"): 1,
        (3, "x"): 1,
    }
    assert Counter(levels(plan_session(paradigm, 1, session_design(paradigm), {"a": 2}))) == {(2, "y"): 1}
    crossed = plan_session(paradigm, 1, session_design(paradigm, "crossed"))
    assert sorted((trial.levels["b"], trial.levels["c"]) for trial in crossed) == [
        ("x", 7),
        ("x", 8),
        ("y", 7),
        ("y", 8),
    ]


@pytest.mark.parametrize("trials", [1, 5, 6, 7, 31])
def test_a_number_of_trials_is_shared_out_evenly(tmp_path: Path, trials: int) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 4, blocks: 3, order: fixed}")
    counts = Counter(levels(plan_session(paradigm, 1, session_design(paradigm), trials=trials)))
    assert sum(counts.values()) == trials
    assert max(counts.values()) - min(counts.get(one, 0) for one in itertools.product([1, 2, 3], "xy")) <= 1


def test_a_factor_that_is_drawn_for_each_trial_is_not_adapted(tmp_path: Path) -> None:
    paradigm = load(
        tmp_path, text(factors="a: [1]\nc: {random: [7, 8]}", more="designs: {span: {adaptive: {factor: c, start: 7}}}")
    )
    with pytest.raises(SpanLabError, match=r"one of the levels in use \(none\); found 7"):
        plan_session(paradigm, 1, "span")


def test_designs_by_name(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 2}", "published: {train: 10}", "short: {}")
    assert session_design(paradigm).repetitions == 2
    assert session_design(paradigm, "short").repetitions == 1
    with pytest.raises(SpanLabError, match="no design 'shrt'; did you mean 'short'"):
        session_design(paradigm, "shrt")
    with pytest.raises(SpanLabError, match="'published' of small is a data set for networks"):
        session_design(paradigm, "published")
    assert session_design(load(tmp_path, text())) == SessionDesign()
    with pytest.raises(SpanLabError, match="the design leaves no factor levels"):
        plan_session(paradigm, 1, SessionDesign(hold_out={"b": ["x", "y"]}))
    with pytest.raises(SpanLabError, match="a session of 600000000 trials; at most 1000000"):
        plan_session(paradigm, 1, SessionDesign(repetitions=100_000, blocks=1000))


PRACTICE = "practice: {trials: 4, factors: {a: 2}, feedback: false, pass: 0.75, at_most: 3}"


def test_practice_has_rounds_with_seeds_of_their_own(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {}", more=PRACTICE)
    assert paradigm.practice is not None
    assert (paradigm.practice.feedback, paradigm.practice.pass_, paradigm.practice.at_most) == (False, 0.75, 3)
    rounds = [plan_practice(paradigm, 9, number) for number in (1, 2, 3)]
    assert rounds == [plan_practice(paradigm, 9, number) for number in (1, 2, 3)]
    together = [trial for one in rounds for trial in one]
    assert [trial.trial for trial in together] == list(range(1, 13))
    assert all(trial.practice and trial.levels["a"] == 2 for trial in together)
    main = {trial.seed for trial in plan_session(paradigm, 9, session_design(paradigm))}
    assert len({trial.seed for trial in together} | main) == 12 + 6
    assert plan_practice(load(tmp_path, text()), 9) == []


def test_data_sets_are_balanced_and_their_splits_share_no_trial(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {}")
    plans = {split: list(plan_dataset(paradigm, 3, split, 600)) for split in ("train", "validation", "test")}
    for plan in plans.values():
        assert set(Counter(levels(plan)).values()) == {100}
    seeds = [trial.seed for plan in plans.values() for trial in plan] + [
        trial.seed for trial in plan_dataset(paradigm, 4, "train", 600)
    ]
    seeds += [trial.seed for trial in plan_session(paradigm, 3, SessionDesign(), trials=600)]
    assert len(set(seeds)) == len(seeds)
    assert list(plan_dataset(paradigm, 3, "train", 10, start=590)) == plans["train"][590:]
    assert Counter(levels(list(plan_dataset(paradigm, 3, "train", 90, {"a": [1, 2], "b": "x"})))) == {
        (1, "x"): 45,
        (2, "x"): 45,
    }


@given(
    st.sampled_from(["session", "practice", "train", "validation", "test", "check", "replacement", "example"]),
    st.integers(0, 2**20 - 1),
    st.integers(0, 2**30 - 1),
    st.sampled_from(["session", "practice", "train", "validation", "test", "check", "replacement", "example"]),
    st.integers(0, 2**20 - 1),
    st.integers(0, 2**30 - 1),
)
def test_seeds_never_meet(
    purpose: Any, master: int, index: int, other: Any, other_master: int, other_index: int
) -> None:
    same = (purpose, master, index) == (other, other_master, other_index)
    assert (trial_seed(purpose, master, index) == trial_seed(other, other_master, other_index)) == same
    assert 0 <= trial_seed(purpose, master, index) < 2**53


@pytest.mark.parametrize(("master", "index"), [(-1, 0), (2**20, 0), (0, -1), (0, 2**30)])
def test_seeds_out_of_range_are_refused(master: int, index: int) -> None:
    with pytest.raises(SpanLabError):
        trial_seed("train", master, index)


def test_without_a_design_a_session_is_planned_as_the_command_line_plans_it(tmp_path: Path) -> None:
    paradigm = designed(tmp_path, "human: {repetitions: 4, blocks: 2}", "all: {repetitions: 3, order: fixed}")
    assert (
        plan_session(paradigm, 5)
        == plan_session(paradigm, 5, "human")
        == plan_session(paradigm, 5, session_design(paradigm))
    )
    assert plan_session(paradigm, 5, "all") == plan_session(paradigm, 5, session_design(paradigm, "all"))
    assert plan_session(load_paradigm("vsr"), 1) == plan_trials("vsr").plan
    assert len(plan_session(load(tmp_path, text(factors=FACTORS)), 5)) == 6
    with pytest.raises(SpanLabError, match="no design 'al'; did you mean 'all'"):
        plan_session(paradigm, 5, "al")


KINDS = ("AX", "AY", "BX", "BY")
WEIGHTED = "kind: {AX: 70, AY: 10, BX: 10, BY: 10}\ndelay: {1: 2, 5: 2}"


def weighted(folder: Path, design: str, more: str = "") -> Paradigm:
    return load(folder, text(factors=WEIGHTED, more=f"designs: {{human: {design}}}\n{more}"))


def test_levels_with_weights_come_in_their_proportions_in_every_block(tmp_path: Path) -> None:
    plan = plan_session(weighted(tmp_path, "{repetitions: 2, blocks: 3}"), 3)
    assert len(plan) == 3 * 2 * 20
    for block in (1, 2, 3):
        cells = Counter((one.levels["kind"], one.levels["delay"]) for one in plan if one.block == block)
        assert cells == {
            (kind, delay): 14 if kind == "AX" else 2 for kind in ("AX", "AY", "BX", "BY") for delay in (1, 5)
        }
    by_delay = plan_session(weighted(tmp_path, "{blocked_by: [delay]}"), 3)
    assert [{one.levels["delay"] for one in by_delay if one.block == block} for block in (1, 2)] in (
        [{1}, {5}],
        [{5}, {1}],
    )
    for block in (1, 2):
        assert Counter(one.levels["kind"] for one in by_delay if one.block == block) == {
            "AX": 7,
            "AY": 1,
            "BX": 1,
            "BY": 1,
        }


@pytest.mark.parametrize("trials", [1, 3, 7, 10, 19, 24, 55])
def test_small_sessions_come_as_near_to_the_proportions_as_can_be(tmp_path: Path, trials: int) -> None:
    paradigm = weighted(tmp_path, "{}")
    for seed in range(5):
        plan = plan_session(paradigm, seed, trials=trials)
        counts = Counter((one.levels["kind"], one.levels["delay"]) for one in plan)
        assert len(plan) == trials
        for kind in KINDS:
            for delay in (1, 5):
                assert abs(counts[kind, delay] - trials * (7 if kind == "AX" else 1) / 20) < 1


def test_practice_keeps_to_the_proportions(tmp_path: Path) -> None:
    paradigm = weighted(tmp_path, "{}", "practice: {trials: 400}")
    assert 0.62 < Counter(one.levels["kind"] for one in plan_practice(paradigm, 1))["AX"] / 400 < 0.78


def test_a_level_that_occurs_twice_names_the_way(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=r"'AX' occurs twice; to have it more often .* \{AX: 2, \.\.\.\}"):
        load(tmp_path, text(factors="kind: [AX, AX, AY]"))
    with pytest.raises(SpanLabError, match="a number from 1"):
        load(tmp_path, text(factors="kind: {AX: 0, AY: 1}"))
    with pytest.raises(SpanLabError, match="is not a level of 'kind'"):
        weighted(tmp_path, "{factors: {kind: [AZ]}}")


def test_answers_are_balanced_where_levels_have_weights(tmp_path: Path) -> None:
    ask = "ask: {choice: {options: [L, R]}, answer: =side}"
    (file := tmp_path / "mine.yaml").write_text(
        "paradigm: mine\nversion: 1\ntitle: Mine\nfactors: {kind: {A: 3, B: 1}}\n"
        "draw: {side: {one_of: {of: [L, R]}}}\n"
        f"timeline:\n  - phase: probe\n    show: {{blank: {{}}}}\n    {ask}\ninstructions: {{en: x}}\n"
        "designs: {human: {repetitions: 8, balance: [answer]}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(file)
    trials = [one.compile(paradigm, "corrected") for one in plan_session(paradigm, 2)]
    counts = Counter((one.levels["kind"], one.steps[0].truth.answer) for one in trials)
    assert counts == {("A", "L"): 12, ("A", "R"): 12, ("B", "L"): 4, ("B", "R"): 4}
