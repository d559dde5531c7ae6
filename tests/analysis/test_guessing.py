"""How far guessing gets: what the record tells, what was measured for records that tell less, and
what is said of it."""

from __future__ import annotations

import csv
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import responses

from spanlab.agents.oracles import Chance
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.evidence import Tally, blind, guesses, guessing_notes, tally
from spanlab.analysis.effects.registry import effect
from spanlab.api.listing import condition_of
from spanlab.paradigms import compile_trial, load_paradigm, plan_session
from spanlab.paradigms.chance import chance_rows
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, read_responses

TABLE = [
    *csv.DictReader((files("spanlab.analysis") / "published" / "guessing.csv").read_text(encoding="utf-8").splitlines())
]


@pytest.mark.parametrize("name", ["si", "sts", "vsr"])
def test_the_table_is_what_paradigms_say(name: str) -> None:
    paradigm = load_paradigm(name)
    expected = {
        (
            row.generators[0] if len(row.generators) == 1 else "",
            row.phase,
            condition_of(paradigm, row),
            f"{row.chance:.6g}",
            f"{row.blind:.6g}",
        )
        for row in chance_rows(paradigm)
    }
    there = {
        (row["generator"], row["phase"], row["condition"], row["chance"], row["right"])
        for row in TABLE
        if row["paradigm"] == name and row["guesser"] != "ignored the cues"
    }
    assert expected == {row for row in there if "list_length" not in row[2] or name != "vsr"}


@pytest.mark.slow
def test_the_whole_table_is_up_to_date(repository: Path) -> None:
    assert (
        subprocess.run(
            [sys.executable, repository / "scripts" / "fidelity" / "guessing.py", "--check"], check=False
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("name", "levels"),
    [("sts", {}), ("sts_congruency", {"congruent_share": 0.25}), ("sts_congruency", {"congruent_share": 0.75})],
)
@pytest.mark.slow
def test_who_ignores_cues_gets_as_far_as_the_table_says(name: str, levels: dict[str, float]) -> None:
    """Counted in trials: the answer to congruent markers can be told from their place, that to
    others is a coin's."""
    condition = f"congruent_share {levels['congruent_share']}" if levels else "all"
    (told,) = (
        float(row["right"])
        for row in TABLE
        if (row["paradigm"], row["guesser"], row["condition"]) == (name, "ignored the cues", condition)
    )
    paradigm = load_paradigm(name)
    trials = [compile_trial(paradigm, {**levels, "switch_probability": 0.2}, seed) for seed in range(150)]
    asked = [step for trial in trials for step in trial.steps if step.percept.ask is not None]
    markers = [step.percept.for_machine.stimulus.model_dump()["marker"] for step in asked]
    right = [
        {3: "bottom/right"}.get(marker, "top/left") == step.truth.answer
        for marker, step in zip(markers, asked, strict=True)
    ]
    assert np.mean(right) == pytest.approx(told, abs=4.5 * np.sqrt(told * (1 - told) / len(right)))


def test_what_is_known_without_a_record() -> None:
    published = blind("si", "published")
    assert published is not None
    assert (published.chance, published.blind) == pytest.approx((0.5, 0.593597))
    corrected = blind("si")
    assert corrected is not None
    assert not corrected.sentence
    assert blind("mine") is None
    assert guessing_notes(Tally(), "mine") == []
    (said,) = guessing_notes(Tally(), "smu")
    assert "(11%)" in said
    assert "18% to 24%" in said
    (places,) = guessing_notes(Tally(), "vsr")
    assert "50% at list length 2 and 11% at list length 9" in places
    (cues,) = guessing_notes(Tally(), "sts")
    assert "is right in 75% of answers: always where both tasks have the same answer" in cues
    (cues,) = guessing_notes(Tally(), "sts_congruency")
    assert "50% at congruent share 0 and 88% at congruent share 0.75" in cues
    both = guesses(Tally(generators=frozenset({"corrected", "published"})), "si")
    assert [round(one.blind, 2) for one in both] == [0.5, 0.59]


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
    (guess,) = guesses(tally(scored.items), "smu")
    assert guess.blind == pytest.approx(table["blind"].mean())
    notes = effect("set_size").notes(scored, "smu", effect("set_size").table(scored, "smu"))
    assert guess.sentence in notes
    older = score_table(table.drop(columns="blind"))
    assert any(
        "18% to 24%" in note for note in effect("set_size").notes(older, "smu", effect("set_size").table(older, "smu"))
    )


def test_what_is_said_of_guessing_is_of_conditions_that_the_data_have() -> None:
    def places(*lengths: int) -> str:
        items = pd.DataFrame({"list_length": [*map(float, lengths), np.nan]})
        (said,) = guessing_notes(tally(items), "vsr")
        return said

    assert places(6).endswith("is right in 17% at list length 6.")
    assert places(3, 4, 6).endswith("is right in 33% at list length 3 and 17% at list length 6.")
    assert guessing_notes(tally(pd.DataFrame({"list_length": [40]})), "vsr") == []  # of such lists nothing is known
    (cues,) = guessing_notes(
        tally(pd.DataFrame({"factor_congruent_share": ["0.5"], "list_length": [None]})), "sts_congruency"
    )
    assert "is right in 75% at congruent share 0.5: always" in cues


def test_chance_alone_needs_no_words() -> None:
    items = score_table(responses(lambda *_: 0.5, chance=0.25).assign(blind=0.25)).items
    assert guessing_notes(tally(items), "mine") == []
