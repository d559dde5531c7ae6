"""Observers of the gist: by hand, against what is known, and behind the wall."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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
