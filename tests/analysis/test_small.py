"""A laboratory's first file: one person, one trial, one answer, four columns; every command gives
numbers and sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from command_line import Run, output_of
from report_page import read

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.data.style import same_trials
from spanlab.analysis.report import folder


def person(**options: Any) -> pd.DataFrame:
    return responses(
        lambda *_: 0.6,
        kind="participant",
        agent="participant",
        participant="P1",
        lengths=(3, 4),
        repetitions=5,
        **options,
    )


SMALL: dict[str, Callable[[], pd.DataFrame]] = {
    "one person": lambda: person(),
    "one trial": lambda: person().groupby("trial").get_group(1),
    "one answer": lambda: person().head(1),
    "four columns": lambda: person()[["participant", "agent", "paradigm", "correct"]],
    "four columns of a machine": (
        lambda: person().assign(agent_kind="network")[["agent_kind", "agent", "paradigm", "correct"]]
    ),
    "a person and a trial of a network": lambda: mixed(
        person(), responses(lambda *_: 0.6, agent="net", lengths=(3,), repetitions=1)
    ),
    "one question with two answers": lambda: (
        person(paradigm="cd", chance=0.5).head(1).assign(correct_answer='"same"', answer='"same"')
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", [pytest.param(".csv", marks=pytest.mark.slow), ".parquet"])
@pytest.mark.parametrize("name", SMALL)
def test_small_tables_are_compared(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(folder, "save", lambda *_: [])
    table, file = pd.DataFrame(SMALL[name]()), tmp_path / f"first{ending}"
    if ending == ".csv":
        table.to_csv(file, index=False)
    else:
        table.convert_dtypes().to_parquet(file, index=False)
    for words in (("compare", file, "-o", "out"), ("stats", file), ("scores", file)):
        assert "nan" not in output_of(*run(*words))
    text = read(tmp_path / "out" / "report.html").text
    assert "got" in text or "nothing to draw" in text, text[:500]


def test_people_with_other_trials_did_not_take_the_same() -> None:
    """Together two people took what a network took, but each only half of it, and half of that half
    together."""
    table = responses(lambda *_: 0.6, agent="net", lengths=(3,), repetitions=12)
    one, two = (person_of(table, name, first) for name, first in (("P1", 1), ("P2", 5)))
    same, said = same_trials(score_table(mixed(one, two, table)).items)
    assert same is False
    assert (
        said
        == "Not everybody took the same trials: net took 12 trials; participant took 8 trials each, 12 in all; 4 of"
        " them were taken by everybody."
    )
    assert same_trials(score_table(mixed(one, person_of(table, "P2", 1))).items)[0] is True
    assert same_trials(score_table(mixed(one, two)).items)[0] is False
    apart = same_trials(score_table(mixed(one, two.assign(trial_id="x" + two["trial_id"].astype(str)))).items)
    assert "16 in all; none of them" in apart[1]


def test_trials_of_two_versions_of_a_file_are_not_called_the_same() -> None:
    """An identity covers levels and seed, and not what the file does with them: a display may last
    longer in one version."""
    table = responses(lambda *_: 0.6, agent="net", lengths=(3,), repetitions=12)
    edited = table.assign(agent="other", session="other", paradigm_hash="q" * 8)
    assert same_trials(score_table(mixed(table, edited.assign(paradigm_hash="p" * 8))).items) == (
        True,
        "Everybody took exactly the same 12 trials.",
    )
    same, said = same_trials(score_table(mixed(table, edited)).items)
    assert same is None
    assert (
        said
        == "The same 12 trials come from 2 versions of the paradigm file, so it is unknown whether displays and times"
        " were the same."
    )


def person_of(table: pd.DataFrame, name: str, first: int) -> pd.DataFrame:
    own = table[(table["trial"] >= first) & (table["trial"] < first + 8)]
    return own.assign(agent="participant", agent_kind="participant", participant=name, session=name)
