"""How far guessing gets: what the record tells, what was measured for records that tell less, and
what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_tables import responses

from spanlab.agents.oracles import Chance
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.curves import Guessing
from spanlab.analysis.effects.registry import effect
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, read_responses


def test_the_record_tells_it_of_every_question(tmp_path: Path) -> None:
    paradigm = load_paradigm("smu")
    session = begin(
        tmp_path,
        paradigm,
        Chance(),
        plan_session(paradigm, 1, SessionDesign(), trials=8, levels={"set_size": [2, 8]}),
        Request(seed=1),
    )
    Runner(session, Chance()).run()
    table = read_responses(session.folder)
    assert sorted(table["blind"].round(3).unique()) == pytest.approx([0.197, 0.237], abs=0.02)
    assert (table["chance"].round(4) == 0.1111).all()
    scored = score_table(table)
    guess = Guessing.of(scored.items)
    assert guess.blind == pytest.approx(table["blind"].mean())
    notes = effect("set_size").notes(scored, "smu", effect("set_size").table(scored, "smu"))
    assert guess.sentence in notes


def test_chance_alone_needs_no_words() -> None:
    items = score_table(responses(lambda *_: 0.5, chance=0.25).assign(blind=0.25)).items
    assert Guessing.of(items).sentence == ""
    assert Guessing.of(items.drop(columns="blind")).sentence == ""
