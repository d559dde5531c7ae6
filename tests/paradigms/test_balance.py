"""Designs that balance answers and random factors: counts, runs, seeds, what cannot be had, and
that nobody can foresee what comes."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paradigm_texts import load, text

from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Generator, Paradigm, PlannedTrial, compile_trial, load_paradigm, plan_session
from spanlab.paradigms.balance import BalanceError, answers_of
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.compile import resolve_levels
from spanlab.paradigms.design import replacement, session_design
from spanlab.paradigms.language.schema import MaxRun, SessionDesign

PROBE = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: [left, right]}, answer: =side}}"
FACTORS = "a: [1, 2, 3]\nb: [x, y]\nc: {random: [7, 8, 9]}"


def coin(
    folder: Path,
    design: str = "",
    *,
    timeline: str = PROBE,
    draw: str = "side: {several: {of: [left, right], count: 1}}",
    factors: str = FACTORS,
) -> Paradigm:
    """A paradigm with one question, whose answer is a coin."""
    drawn = draw.replace(
        "side: {several: {of: [left, right], count: 1}}",
        "coins: {several: {of: [left, right], count: 1}}\nside: '=coins[0]'",
    )
    return load(
        folder, text(timeline, factors=factors, draw=drawn, more=f"designs:\n  human: {design}\n" if design else "")
    )


def uneven(values: Sequence[Any], kinds: Sequence[Any]) -> int:
    """By how much the kind that comes most often comes more often than the one that comes least
    often."""
    counts = Counter(values)
    return max(counts[kind] for kind in kinds) - min(counts[kind] for kind in kinds)


def runs(values: Sequence[Any]) -> int:
    return max(sum(1 for _ in run) for _, run in itertools.groupby(values))


def answered(
    paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Generator = "corrected"
) -> list[tuple[Any, ...]]:
    """The correct answers of each trial, from the trials themselves."""
    trials = [trial.compile(paradigm, generator) for trial in plan]
    return [tuple(step.truth.answer for step in trial.steps if step.percept.ask is not None) for trial in trials]


def by_cell(plan: Sequence[PlannedTrial], values: Sequence[Any]) -> Mapping[tuple[Any, ...], list[Any]]:
    cells: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for trial, value in zip(plan, values, strict=True):
        cells[tuple(trial.levels.values())].append(value)
    return cells


def holds(
    paradigm: Paradigm,
    plan: Sequence[PlannedTrial],
    answers: Sequence[tuple[Any, ...]],
    options: Sequence[Any],
    most: int = 4,
) -> None:
    """Answers are even in each cell and over the session, and runs are short."""
    given = [answer for of_trial in answers for answer in of_trial]
    assert uneven(given, options) <= 1
    assert runs(given) <= most
    for of_cell in by_cell(plan, answers).values():
        assert uneven([answer for of_trial in of_cell for answer in of_trial], options) <= 1
    assert len({trial.seed for trial in plan}) == len(plan)
    assert {trial.seed >> 50 for trial in plan} == {0}, "seeds of the purpose session"


# -- the library -----------------------------------------------------------------------------------


def test_retention_is_balanced_within_each_answer() -> None:
    cd = load_paradigm("cd")
    plan = plan_session(cd, 3, session_design(cd), {"feature": "colour"})
    assert all("retention_steps" not in trial.levels for trial in plan), "levels of random factors follow from the seed"
    trials = [compile_trial(cd, trial.levels, trial.seed) for trial in plan]
    both = [
        (trial.levels["retention_steps"], next(step.truth.answer for step in trial.steps if step.percept.ask))
        for trial in trials
    ]
    for cell in by_cell(plan, both).values():
        assert Counter(steps for steps, _ in cell) == dict.fromkeys((0, 6, 12, 18), 3)
        assert uneven(cell, list(itertools.product((0, 6, 12, 18), ("same", "different")))) == 1


def test_what_people_do_not_take_is_as_it_was() -> None:
    for name in ("vsr", "sfr", "smu", "cs", "lsr", "nback_verbal", "nback_spatial"):
        for design in load_paradigm(name).designs.values():
            assert not getattr(design, "chooses", False)
    vsr = load_paradigm("vsr")
    assert [trial.seed & (2**30 - 1) for trial in plan_session(vsr, 1, session_design(vsr))] == list(range(40))


def test_answers_follow_the_generator_of_the_session() -> None:
    si = load_paradigm("si")
    for generator in ("corrected", "published"):
        plan = plan_session(si, 5, session_design(si), generator=generator)
        holds(si, plan, answered(si, plan, generator), ["same", "different"])


# -- designs of one's own --------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    repetitions=st.integers(1, 9),
    blocks=st.integers(1, 3),
    blocked=st.booleans(),
    fixed=st.booleans(),
    trials=st.none() | st.integers(1, 70),
    chosen=st.sampled_from([{}, {"a": [2]}, {"a": 1, "b": "x"}, {"c": 8}, {"c": [7, 9]}]),
)
def test_any_session_is_as_even_as_possible(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    repetitions: int,
    blocks: int,
    blocked: bool,
    fixed: bool,
    trials: int | None,
    chosen: dict[str, Any],
) -> None:
    paradigm = coin(tmp_path_factory.mktemp("coin"))
    design = SessionDesign(
        repetitions=repetitions,
        blocks=blocks,
        blocked_by=["b"] if blocked else [],
        order="fixed" if fixed else "shuffled",
        balance=["answer", "c"],
        max_run=MaxRun(answer=4),
        hold_out={"a": [3]},
    )
    plan = plan_session(paradigm, seed, design, chosen, trials)
    assert plan_session(paradigm, seed, design, chosen, trials) == plan
    answers = [answers_of(paradigm, trial.levels, trial.seed, "corrected") for trial in plan]
    holds(paradigm, plan, answers, ["left", "right"])
    levels = [resolve_levels(paradigm, trial.levels, trial.seed)["c"] for trial in plan]
    there = [7, 8, 9] if "c" not in chosen else chosen["c"] if isinstance(chosen["c"], list) else [chosen["c"]]
    assert uneven(levels, there) <= 1 if "c" not in chosen or trials is None else True
    for n, cell in by_cell(plan, list(zip(levels, answers, strict=True))).items():
        assert "c" in chosen or uneven([level for level, _ in cell], there) <= 1, n
    for block in {trial.block for trial in plan}:
        inside = [trial for trial in plan if trial.block == block]
        of_block = [answer for trial, answer in zip(plan, answers, strict=True) if trial.block == block]
        assert all(
            uneven([one[0] for one in cell], ["left", "right"]) <= 1 for cell in by_cell(inside, of_block).values()
        )


@pytest.mark.parametrize("seed", [101, 830])
def test_answers_are_dealt_anew_where_no_order_of_them_is_allowed(tmp_path: Path, seed: int) -> None:
    design = SessionDesign(blocks=3, balance=["answer", "c"], max_run=MaxRun(answer=4), hold_out={"a": [3]})
    plan = plan_session(paradigm := coin(tmp_path), seed, design, {}, None)
    answers = [answers_of(paradigm, trial.levels, trial.seed, "corrected") for trial in plan]
    holds(paradigm, plan, answers, ["left", "right"])


def test_three_answers_and_trials_of_several_questions(tmp_path: Path) -> None:
    three = load(
        tmp_path,
        text(
            "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 3}, answer: =n}}",
            factors="a: [1, 2]",
            draw="n: {one_of: 3}",
        ),
    )
    plan = plan_session(three, 4, SessionDesign(repetitions=10, balance=["answer"], max_run=MaxRun(answer=2)))
    holds(three, plan, answered(three, plan), [0, 1, 2], 2)
    several = (
        "- {for: side in sides, phase: probe, show: {blank: {}}, ask: {choice: {options: [left, right]}, answer:"
        " =side}}"
    )
    for many, most in ((4, 3), (30, 5)):  # few enough for every place by itself; and many
        lists = load(
            tmp_path,
            text(several, factors="a: [1, 2]", draw=f"sides: {{several: {{of: [left, right], count: {many}}}}}"),
        )
        plan = plan_session(lists, 4, SessionDesign(repetitions=5, balance=["answer"], max_run=MaxRun(answer=most)))
        holds(lists, plan, answered(lists, plan), ["left", "right"], most)


def test_short_runs_alone(tmp_path: Path) -> None:
    paradigm = coin(tmp_path)
    plan = plan_session(paradigm, 4, SessionDesign(repetitions=30, max_run=MaxRun(answer=3, levels=2)))
    assert runs([answer for (answer,) in answered(paradigm, plan)]) == 3
    assert runs([tuple(trial.levels.values()) for trial in plan]) == 2
    plain = plan_session(paradigm, 4, SessionDesign(repetitions=30, max_run=2))
    assert [trial.levels for trial in plan] == [trial.levels for trial in plain]
    assert runs([answer for (answer,) in answered(paradigm, plain)]) > 3


def test_only_random_factors(tmp_path: Path) -> None:
    paradigm = coin(tmp_path)
    plan = plan_session(paradigm, 4, SessionDesign(repetitions=6, balance=["c"]))
    for cell in by_cell(plan, [resolve_levels(paradigm, trial.levels, trial.seed)["c"] for trial in plan]).values():
        assert Counter(cell) == {7: 2, 8: 2, 9: 2}


# -- nobody can foresee what comes -----------------------------------------------------------------


# -- replacements ----------------------------------------------------------------------------------


def test_replacements_keep_answers_and_random_levels() -> None:
    for name, trials in (("cd", 12), ("vsrec", 9), ("sc", 10)):
        paradigm = load_paradigm(name)
        design = session_design(paradigm)
        plan = plan_session(paradigm, 7, design, trials=trials)
        seeds = {one.seed for one in plan}
        for planned in plan:
            first = planned.compile(paradigm, "corrected")
            for attempt in (2, 3):
                again = replacement(paradigm, planned, 7, attempt, design)
                trial = again.compile(paradigm, "corrected")
                assert again == replacement(paradigm, planned, 7, attempt, design)
                assert trial.levels == first.levels
                assert trial.trial_id != first.trial_id
                assert [step.truth.answer for step in trial.steps] == [step.truth.answer for step in first.steps]
                assert again.seed not in seeds
                seeds.add(again.seed)
    vsr = load_paradigm("vsr")
    planned = plan_session(vsr, 7, session_design(vsr))[0]
    assert replacement(vsr, planned, 7, 2, session_design(vsr)) == replacement(vsr, planned, 7, 2), (
        "as ever where nothing is balanced"
    )


# -- what cannot be had ----------------------------------------------------------------------------


def refused(folder: Path, design: str, **more: str) -> str:
    (folder / "small.yaml").write_text(
        text(
            more.pop("timeline", PROBE),
            factors=FACTORS,
            draw="side: {one_of: 2}",
            more=f"designs:\n  human: {design}\n",
        )
    )
    with pytest.raises(ParadigmError) as error:
        check_paradigm(folder / "small.yaml")
    return str(error.value)


ANSWERED = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 2}, answer: =side}}"


def test_what_cannot_be_balanced_is_told_with_its_line(tmp_path: Path) -> None:
    def message(design: str, timeline: str = ANSWERED) -> str:
        return refused(tmp_path, design, timeline=timeline)

    assert (
        "small.yaml:14 designs > human > balance item 1: 'anwser' is neither 'answer' nor a factor; did you mean"
        " 'answer'?" in message("{balance: [anwser]}")
    )
    assert "'c' occurs twice" in message("{balance: [c, c]}")
    adaptive = message("{balance: [answer], adaptive: {factor: a, start: 1}}")
    assert "designs > human: an adaptive design decides trial by trial: leave out balance" in adaptive
    assert "max_run" in message("{max_run: {answer: 4}, adaptive: {factor: a, start: 1}}")
    two = ANSWERED + "\n- {phase: second, show: {blank: {}}, ask: {choice: {options: 2}, answer: =1 - side}}"
    several = message("{balance: [answer]}", two)
    assert (
        "designs > human > balance: trials ask in several phases (probe, second): say which is meant, such as question:"
        " second" in several
    )
    assert "designs > human > max_run: trials ask in several phases" in message("{max_run: {answer: 4}}", two)
    assert "no step of the phase 'secnd' asks; did you mean 'second'?" in message(
        "{balance: [answer], question: secnd}", two
    )
    assert "'question' says which answers balance and max_run refer to" in message("{question: probe}", two)
    constant = message("{balance: [answer], repetitions: 2}", ANSWERED.replace("=side", "0"))
    assert "designs > human > balance: among" in constant
    assert "there was none with the answer 1, so it cannot come as often as others" in constant
    changing = ANSWERED.replace("options: 2", "options: \"=[['u', 'v'], ['w', 'v']][side]\"").replace("=side", "v")
    assert "the answers that are allowed change from trial to trial" in message(
        "{balance: [answer], repetitions: 9}", changing
    )
    cells = "- {phase: probe, show: {blank: {}}, ask: {cells: {grid: 6, take: 3}, answer: [0, 1, 2]}}"
    assert "the answers of 'cells' are too many to come equally often" in message("{balance: [answer]}", cells)
    assert "designs > human > max_run > answer" in message("{max_run: {answer: 0}}")
    assert "unknown key 'answers'; did you mean 'answer'?" in message("{max_run: {answers: 3}}")


def test_runs_that_are_too_short_are_refused(tmp_path: Path) -> None:
    paradigm = coin(tmp_path, factors="a: [1, 2]\nb: {random: [1, 2]}")
    with pytest.raises(BalanceError, match="no order with at most 1 of the same answer in a row was found") as error:
        plan_session(paradigm, 1, SessionDesign(repetitions=3, blocks=2, balance=["answer"], max_run=MaxRun(answer=1)))
    assert error.value.key == "max_run"
    always = load(tmp_path, text(ANSWERED.replace("=side", "0")))
    with pytest.raises(
        SpanLabError, match="there was none that gives at most 2 of the same answer in a row; wish for less"
    ):
        plan_session(always, 1, SessionDesign(repetitions=3, max_run=MaxRun(answer=2)))


def test_one_of_several_questions(tmp_path: Path) -> None:
    timeline = ANSWERED + "\n- {phase: second, show: {blank: {}}, ask: {choice: {options: 2}, answer: =other}}"
    paradigm = load(tmp_path, text(timeline, factors="a: [1, 2]", draw="side: {one_of: 2}\nother: {one_of: 2}"))
    plan = plan_session(
        paradigm, 2, SessionDesign(repetitions=20, balance=["answer"], question="second", max_run=MaxRun(answer=3))
    )
    answers = answered(paradigm, plan)
    holds(paradigm, plan, [one[1:] for one in answers], [0, 1], 3)
    assert runs([one[0] for one in answers]) > 3
