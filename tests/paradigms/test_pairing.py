"""Variants with the same blocks (``--paired-with``): equal in items, matches and answers, while
what a variant adds is its own."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, command_line

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import (
    Paradigm,
    PlannedTrial,
    Trial,
    compile_trial,
    fingerprint,
    load_paradigm,
    plan_session,
)
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.pairing import paired_plan
from spanlab.sessions import read_responses, same_trials
from spanlab.sessions.record.reader import read_session

VERBAL = [f"nback_verbal{variant}" for variant in ("", "_noise", "_feedback", "_reasoning")]
SPATIAL = [f"nback_spatial{variant}" for variant in ("", "_noise", "_feedback", "_reasoning")]
FAMILIES: list[tuple[list[str], dict[str, Any]]] = [
    (VERBAL, {}),
    (SPATIAL, {"grid": [3]}),
    (["cd", "cd_noise"], {"set_size": [2], "feature": ["gap", "size"]}),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command_line(tmp_path, monkeypatch, capsys)


def planned(name: str, levels: dict[str, Any], trials: int, seed: int = 1) -> tuple[Paradigm, list[PlannedTrial]]:
    paradigm = load_paradigm(name)
    return paradigm, plan_session(paradigm, seed, SessionDesign(), levels=levels, trials=trials)


def items(trial: Trial) -> list[Any]:
    """What is to be remembered and judged, without what a variant puts around it."""
    found: list[Any] = []
    for step in trial.steps:
        shown = step.percept.for_machine.stimulus.model_dump(mode="json")
        if "bars" in shown:
            found.append(shown["bars"])
        elif step.percept.ask is not None:
            found.append(shown["at"] if "at" in shown else [sign for sign in shown["symbol"] if sign.isalpha()])
    return found


def truth(trial: Trial) -> list[Any]:
    return [(step.truth.answer, dict(step.truth.record)) for step in trial.steps if step.percept.ask is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "variant", "levels"),
    [(one, other, levels) for names, levels in FAMILIES for one, other in itertools.permutations(names, 2)],
)
def test_blocks_are_the_same_in_every_variant_and_differ_without_pairing(
    base: str, variant: str, levels: dict[str, Any]
) -> None:
    one, plan = planned(base, levels, 4)
    other, alone = planned(variant, levels, 4)
    found = paired_plan(other, one, plan, "corrected", 1)
    for before, after, apart in zip(plan, found.plan, alone, strict=True):
        theirs, ours, unpaired = (
            before.compile(one, "corrected"),
            after.compile(other, "corrected"),
            apart.compile(other, "corrected"),
        )
        assert (items(ours), truth(ours), dict(ours.levels)) == (items(theirs), truth(theirs), dict(theirs.levels))
        assert (after.paired, after.block, after.trial) == (theirs.trial_id, before.block, before.trial)
        assert items(unpaired) != items(theirs)


@pytest.mark.parametrize(
    ("base", "variant", "own"),
    [(VERBAL[0], VERBAL[1], "shown"), (SPATIAL[0], SPATIAL[1], "noise"), ("cd", "cd_noise", "noise")],
)
@pytest.mark.slow
def test_noise_comes_from_a_seed_of_its_own(base: str, variant: str, own: str) -> None:
    levels: dict[str, Any] = (
        {"grid": [3]} if "spatial" in base else {"retention_steps": [6], "set_size": [2]} if base == "cd" else {}
    )
    (one, plan), other = planned(base, levels, 3), load_paradigm(variant)
    first, again, second = (paired_plan(other, one, plan, "corrected", seed) for seed in (1, 1, 2))
    assert first == again
    assert first.fresh == (own,)
    for mine, theirs in zip(first.plan, second.plan, strict=True):
        assert mine.draws is not None
        assert theirs.draws is not None
        assert mine.draws[own] != theirs.draws[own]
        assert {name: mine.draws[name] for name in first.shared} == {name: theirs.draws[name] for name in first.shared}


@pytest.mark.parametrize(
    ("variant", "base", "levels", "message"),
    [
        ("vsr", "sts", {}, r"they share no draw \(vsr draws patterns, slots; sts draws sequence\)"),
        ("nback_spatial", "nback_verbal", {}, "has no factor 'grid'"),
        ("nback_verbal", "nback_spatial", {"grid": [3]}, "has no factor 'grid'"),
        (
            "nback_abstraction",
            "nback_spatial",
            {"grid": [3], "lures": ["high"]},
            "'items' is drawn in another way, or from other values",
        ),
        ("lsr_long", "lsr", {}, "'places' is drawn in another way"),
        (
            "nback_spatial_noise",
            "nback_spatial",
            {"grid": [5]},
            "no trials with grid = 5, as nback_spatial has: choose others with --set grid=3",
        ),
        ("sts_congruency", "sts", {}, "which has no factor 'congruent_share'"),
    ],
)
def test_what_is_no_variant_is_refused(variant: str, base: str, levels: dict[str, Any], message: str) -> None:
    one, plan = planned(base, levels, 2)
    with pytest.raises(SpanLabError, match=message):
        paired_plan(load_paradigm(variant), one, plan, "corrected", 1)


def test_the_same_patterns_with_another_question_are_no_variant(tmp_path: Path) -> None:
    """Draws that mean the same are not enough: the answers must follow from them."""
    text = "extends: vir\nparadigm: other\nversion: 1\ntitle: other\ndraw:\n  side: {one_of: 2}\ntimeline:\n"
    question = (
        "  - phase: probe\n    show: {blank: {}}\n    ask: {choice: {options: [left, right]}, answer: \"=['right',"
        " 'left'][side]\"}\n"
    )
    (tmp_path / "other.yaml").write_text(text + question, encoding="utf-8")
    one, plan = planned("vir", {}, 2)
    with pytest.raises(SpanLabError, match="they have other answers"):
        paired_plan(load_paradigm(tmp_path / "other.yaml"), one, plan, "corrected", 1)


@pytest.mark.slow
def test_the_record_says_with_what_it_is_paired(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "data"
    assert (
        run("replay", "nback_verbal", "--agent", "ideal", "--trials", 3, "--set", "lures=none,high", "--data", data)[0]
        == 0
    )
    base = data / "nback_verbal-ideal-s1"
    status, out, err = run("replay", "nback_verbal_noise", "--agent", "ideal", "--paired-with", base, "--data", data)
    assert (status, err.count("\n")) == (0, 1), "the result, and nothing else"
    variant = Path(out.strip())
    info = read_session(variant)
    wanted = {
        "paradigm": "nback_verbal",
        "session": "nback_verbal-ideal-s1",
        "seed": 1,
        "shared": ["items"],
        "own": ["shown"],
    }
    assert wanted.items() <= info["paired_with"].items()
    ours, theirs = read_responses(variant), read_responses(base)
    assert list(ours["paired_trial_id"]) == list(theirs["trial_id"])
    assert list(ours["correct_answer"]) == list(theirs["correct_answer"])
    assert set(theirs["paired_trial_id"]) == {""}
    joined = ours.merge(theirs, left_on=["paired_trial_id", "ask"], right_on=["trial_id", "ask"])
    assert len(joined) == len(ours)
    assert (joined["record_match_x"] == joined["record_match_y"]).all()
    # as a plan without a session, with the same seed
    status, out, _ = run(
        "replay",
        "nback_verbal_noise",
        "--agent",
        "ideal",
        "--trials",
        3,
        "--set",
        "lures=none,high",
        "--paired-with",
        "nback_verbal",
        "--data",
        data,
    )
    assert status == 0
    assert list(read_responses(Path(out.strip()))["trial_id"]) == list(ours["trial_id"])
    # and again for somebody else
    status, out, _ = run("replay", "--like", variant, "--agent", "chance", "--data", data)
    assert status == 0
    again = same_trials(Path(out.strip()))
    assert again.info["paired_with"] == info["paired_with"]
    prints = [
        [fingerprint(one.compile(each.paradigm, "corrected")) for one in each.plan]
        for each in (same_trials(variant), again)
    ]
    assert prints[0] == prints[1]
    assert list(read_responses(Path(out.strip()))["paired_trial_id"]) == list(theirs["trial_id"])


def test_some_trials_of_a_session(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "data"
    run(
        "replay",
        "nback_spatial",
        "--agent",
        "ideal",
        "--set",
        "n=1",
        "--set",
        "lures=none",
        "--set",
        "block_length=24",
        "--data",
        data,
    )
    base = data / "nback_spatial-ideal-s1"
    status, _, err = run("replay", "nback_spatial_noise", "--agent", "ideal", "--paired-with", base, "--data", data)
    assert status == 1
    assert "choose others with --set grid=3" in err
    status, out, _ = run(
        "replay",
        "nback_spatial_noise",
        "--agent",
        "ideal",
        "--paired-with",
        base,
        "--set",
        "grid=3",
        "--seed",
        7,
        "--data",
        data,
    )
    assert status == 0
    (one,) = same_trials(Path(out.strip())).plan
    assert (one.block, one.trial) == (1, 1)
    assert one.levels == {"n": 1, "lures": "none", "block_length": 24, "grid": 3}
    assert read_session(Path(out.strip()))["seed"] == 7


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--like", "data/x"), "--paired-with makes trials of its own: leave out --like and --trials-from"),
        (("--paired-with", "nosuch"), "--paired-with is given 2 times, and takes one value"),
        (("--design", "span"), "levels of an adaptive design follow from answers"),
    ],
)
def test_options_that_do_not_go_together(more: tuple[str, ...], message: str, tmp_path: Path, run: Run) -> None:
    paradigm, other = ("vsr", "vsr") if "span" in more else ("nback_verbal_noise", "nback_verbal")
    status, _, err = run("replay", paradigm, "--agent", "ideal", "--paired-with", other, *more, "--data", tmp_path)
    assert status == 1
    assert message in err


def test_a_person_is_told_which_seed_or_session_is_meant(tmp_path: Path, run: Run) -> None:
    """Everybody's sessions have seeds of their own, so the name of a paradigm alone does not say
    which blocks are meant."""
    status, _, err = run("run", "cd_noise", "--participant", "P1", "--paired-with", "cd", "--data", tmp_path)
    assert status == 1
    assert "which seed should the blocks of cd have? Give --seed, or name the session: --paired-with SESSION" in err


def test_a_paired_trial_is_another_trial_than_one_that_was_drawn() -> None:
    one, plan = planned("nback_verbal", {}, 1)
    other = load_paradigm("nback_verbal_reasoning")
    (paired,) = paired_plan(other, one, plan, "corrected", 1).plan
    drawn = compile_trial(other, paired.levels, paired.seed)
    assert paired.compile(other, "corrected").trial_id != drawn.trial_id
