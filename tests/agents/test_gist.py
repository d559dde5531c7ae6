"""Observers of the gist: by hand, against what is known, and behind the wall."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spanlab import replay
from spanlab.agents.base import TrialContext
from spanlab.agents.gist import GISTS, Gist, GistObserver, alternatives, elements
from spanlab.agents.registry import make_agent
from spanlab.core.agent_kinds import OBSERVER
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.sessions import read_session
from spanlab.stimuli.kinds.arrays import Matrix, SideBySide
from spanlab.stimuli.kinds.lettering import Letter
from spanlab.stimuli.kinds.plain import Blank

ROOT = Path(__file__).resolve().parents[2]


def share_right(name: str, keeps: str, levels: dict[str, object], trials: int, phase: str = "probe") -> float:
    """The share of items that an observer has right."""
    paradigm, right = load_paradigm(name), []

    async def take(seed: int) -> None:
        trial = compile_trial(paradigm, levels, seed)
        episode = GistObserver(keeps).start(TrialContext(name, "", "en", "", (), seed=seed))
        for step in trial.steps:
            response = await episode.step(step.percept)
            if (
                response is not None
                and step.percept.ask is not None
                and step.percept.phase == phase
                and step.truth.answer is not None
            ):
                right.extend(
                    one.correct
                    for one in step.percept.ask.kind.score(response.value, step.truth.answer)
                    if one.correct_answer is not None
                )

    for seed in range(trials):
        asyncio.run(take(seed))
    return float(np.mean(right))


def test_what_each_keeps_by_hand() -> None:
    kept = {keeps: Gist(keeps) for keeps in GISTS}
    for gist in kept.values():
        for cells in ((1, 2), (), (2, 3, 4)):
            gist.take(cells)
    assert dict(kept["sum"].held) == {1: 1, 2: 2, 3: 1, 4: 1}
    assert dict(kept["first"].held) == {1: 1, 2: 1}
    assert dict(kept["last"].held) == {2: 1, 3: 1, 4: 1}
    assert not kept["filled"].held
    assert (kept["filled"].displays, kept["filled"].shown) == (2, 5)
    assert kept["sum"].familiarity((2, 3)) == 1.5
    assert kept["sum"].known((1, 4))
    assert not kept["last"].known((1,))
    assert kept["filled"].alike((7, 8, 9, 10, 11))
    assert not kept["filled"].alike((1, 2))


def test_elements_of_displays() -> None:
    assert elements(Matrix.model_validate({"filled": [3, 9]})) == (3, 9)
    assert elements(Letter.model_validate({"symbol": "w%#^*"})) == ("w",)
    assert elements(Blank.model_validate({})) == ()
    assert alternatives(SideBySide.model_validate({"left": [1], "right": [2, 3]})) == [(1,), (2, 3)]


@pytest.mark.slow
def test_a_list_length_effect_without_any_item() -> None:
    """A sum over all patterns recognises one of four more often than one of ten, as a calculation
    from the paradigm's trials alone has it."""
    short, long = (share_right("vir", "sum", {"list_length": length, "retention_steps": 0}, 400) for length in (4, 10))
    assert short == pytest.approx(0.86, abs=0.05)
    assert long == pytest.approx(0.73, abs=0.06)
    assert share_right("vir", "filled", {"list_length": 4, "retention_steps": 0}, 200) == pytest.approx(0.5, abs=0.12)


@pytest.mark.slow
def test_the_last_item_is_all_that_one_back_needs() -> None:
    levels = {"lures": "none", "grid": 3}
    assert share_right("nback_spatial", "last", {**levels, "n": 1}, 10) == 1.0
    assert share_right("nback_spatial", "last", {**levels, "n": 2}, 10) < 0.8
    assert share_right("nback_verbal", "sum", {"n": 2, "lures": "none"}, 10) < 0.9


@pytest.mark.slow
def test_order_is_not_in_the_gist() -> None:
    assert share_right("vsr", "sum", {"list_length": 5}, 100) == pytest.approx(1 / 5, abs=0.06)
    assert share_right("vsr", "first", {"list_length": 5}, 60) == pytest.approx(2 / 5, abs=0.08)
    assert share_right("sfr", "sum", {"list_length": 5}, 10) == 1.0, "free recall needs no order"


@pytest.mark.parametrize("name", list_paradigms())
def test_every_paradigm_can_be_taken_and_nothing_but_percepts_is_seen(name: str) -> None:
    trial = compile_trial(load_paradigm(name), load_paradigm(name).combinations()[0], 3)

    async def answers(keeps: str, seed: int) -> list[Any]:
        episode = GistObserver(keeps).start(TrialContext(name, "", "en", "", (), seed=seed))
        found = [await episode.step(step.percept) for step in trial.steps]
        return [response.value for response in found if response is not None]

    for keeps in GISTS:
        given = asyncio.run(answers(keeps, 5))
        assert given == asyncio.run(answers(keeps, 5)), "the same seed gives the same answers"
        asked = [step for step in trial.steps if step.percept.ask is not None]
        for step, value in zip(asked, given, strict=True):
            if step.percept.ask is not None and step.truth.answer is not None:
                step.percept.ask.kind.score(value, step.truth.answer)  # an allowed answer


def test_it_is_an_agent_like_others_and_no_oracle(tmp_path: Path) -> None:
    folder = replay("vir", "observer:sum", trials=12, data=tmp_path, say=lambda _: None).folder
    session = read_session(folder)
    assert (session["agent"], session["agent_kind"]) == ("observer:sum", "observer")
    assert not OBSERVER.oracle
    assert not pd.read_csv(folder / "responses.csv")["oracle"].any()
    with pytest.raises(SpanLabError, match=r"unknown observer 'sums', did you mean|unknown observer 'sums'"):
        make_agent("observer:sums")


def test_the_table_has_every_paradigm_and_every_observer() -> None:
    table = pd.read_csv(ROOT / "analysis" / "published" / "gist.csv", dtype={"level": str})
    assert set(table["paradigm"]) == set(list_paradigms())
    assert set(table["observer"]) == set(GISTS)
    assert table.groupby(["paradigm", "level"], dropna=False).size().eq(len(GISTS)).all()
    by_length = table[(table["paradigm"] == "vir") & (table["observer"] == "sum")].set_index("level")["right"]
    assert by_length["4"] > by_length["10"] + 0.05
