"""Scores of participants through each door: Python, the report, the command line, and ``spanlab
export scores``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from command_line import Run, output_of
from session_tools import AtTheWindow, Guessing, Rehearsing, take
from study_files import FIELDS, study_in
from study_files import take as take_session

import spanlab
from spanlab.extensions.battery.files import gathered
from spanlab.extensions.battery.score_table import ScoreTable

PEOPLE = ("p01", "p02", "p03", "p04")


@pytest.fixture(scope="module")
def battery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people who guess in two tasks."""
    data = tmp_path_factory.mktemp("battery")
    for number, person in enumerate(PEOPLE):
        for name, trials, levels in (("operation_span", 4, {"list_length": [3]}), ("cd", 8, None)):
            paradigm, guess = spanlab.load_paradigm(name), Guessing()
            guess.random.seed(number)
            take(
                data,
                paradigm,
                AtTheWindow(guess),
                trials,
                seed=number,
                levels=levels,
                participant=person,
                practice=False,
            )
    return data


def rehearse(data: Path, participant: str) -> None:
    """A simulated participant guesses in one task."""
    take(data, spanlab.load_paradigm("cd"), Rehearsing(Guessing()), 8, seed=9, participant=participant, practice=False)


@pytest.fixture(scope="module")
def scores(battery: Path) -> ScoreTable:
    return gathered([battery])[0]


@pytest.mark.slow
def test_python_gives_the_table_that_the_command_writes(
    battery: Path, scores: ScoreTable, run: Run, tmp_path: Path
) -> None:
    said = output_of(*run("scores-by-person", battery, "-o", tmp_path / "scores"))
    assert "4 participants" in said
    written = pd.read_csv(tmp_path / "scores" / "scores.csv")
    assert written["participant"].tolist() == list(PEOPLE)
    for column in ("operation_span_pcu", "operation_span_processing_accuracy", "cd_d_prime", "cd_accuracy_se"):
        assert written[column].tolist() == pytest.approx(scores.table()[column].tolist(), nan_ok=True)
    assert {path.name for path in (tmp_path / "scores").iterdir()} == {
        "scores.csv",
        "codebook.csv",
        "correlations.csv",
        "correlation_table.csv",
    }


@pytest.mark.slow
def test_the_report_has_a_section_with_the_same_scores(battery: Path, scores: ScoreTable, tmp_path: Path) -> None:
    rehearse(tmp_path / "rehearsal", "p01")
    page = spanlab.compare([battery, tmp_path / "rehearsal"], tmp_path / "report").file
    assert "Scores of each participant" in (text := page.read_text(encoding="utf-8"))
    assert "Left out: 1 session of simulated participants." in text
    written = pd.read_csv(tmp_path / "report" / "tables" / "scores_by_person.csv")
    assert written["operation_span_pcl"].tolist() == pytest.approx(scores.table()["operation_span_pcl"].tolist())


@pytest.mark.slow
def test_a_report_of_machines_has_no_such_section(tmp_path: Path) -> None:
    result = spanlab.replay("vsr", agent="chance", trials=4, data=tmp_path, say=lambda text: None)
    assert "Scores of each participant" not in spanlab.compare(result.folder, tmp_path / "report").file.read_text(
        encoding="utf-8"
    )


def test_what_is_exported_tells_nobody_and_has_the_same_scores(
    battery: Path, scores: ScoreTable, run: Run, tmp_path: Path
) -> None:
    run("export", "scores", battery, tmp_path / "shared")
    shared = pd.read_csv(tmp_path / "shared" / "scores.csv")
    assert set(shared["participant"]) == {"sub-1", "sub-2", "sub-3", "sub-4"}
    assert sorted(shared["cd_accuracy"]) == pytest.approx(sorted(scores.table()["cd_accuracy"]))
    assert not any(
        person in file.read_text(encoding="utf-8") for person in PEOPLE for file in (tmp_path / "shared").iterdir()
    )
    run("export", "scores", battery, tmp_path / "named", "--real-ids")
    assert pd.read_csv(tmp_path / "named" / "scores.csv")["participant"].tolist() == list(PEOPLE)


def test_a_table_in_place_of_a_folder_is_refused(battery: Path, run: Run, tmp_path: Path) -> None:
    status, _, err = run("scores-by-person", str(battery), "-o", str(tmp_path / "scores.csv"))
    assert (status, list(tmp_path.iterdir())) == (1, [])
    assert f"name their folder, such as -o {tmp_path / 'scores'}" in err


def test_a_rehearsal_under_somebodys_name_changes_no_score(
    battery: Path, scores: ScoreTable, run: Run, tmp_path: Path
) -> None:
    rehearse(tmp_path / "rehearsal", "p01")
    rehearse(tmp_path / "rehearsal", "nobody")
    _, said, _ = run("scores-by-person", battery, tmp_path / "rehearsal", "-o", "scores")
    assert said.startswith("Left out: 2 sessions of simulated participants. The table is of people.\n")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "scores" / "scores.csv"), scores.table(), check_dtype=False)
    _, _, noted = run("export", "scores", battery, tmp_path / "rehearsal", "shared")
    assert "2 sessions of simulated participants" in noted
    assert len(pd.read_csv(tmp_path / "shared" / "scores.csv")) == len(PEOPLE)


def test_simulated_participants_alone_have_scores_and_are_called_simulated(run: Run, tmp_path: Path) -> None:
    rehearse(tmp_path / "rehearsal", "p01")
    _, said, _ = run("scores-by-person", "rehearsal", "-o", "scores")
    assert said.startswith("These are scores of simulated participants: no person took part.\n")
    assert "1 participant, " in said
    assert pd.read_csv(tmp_path / "scores" / "codebook.csv")["says"].str.startswith("Simulated participants: ").all()


def test_a_field_of_every_session_has_a_column_for_each(run: Run, tmp_path: Path) -> None:
    study = study_in(tmp_path)
    for session, hours in ((1, "6"), (2, "2")):
        take_session(study, tmp_path / "data", session=session, fields=FIELDS | {"hours": hours})
    run("scores-by-person", "data", "-o", "scores")
    (row,) = pd.read_csv(tmp_path / "scores" / "scores.csv").to_dict("records")
    assert (row["age"], row["hours_1"], row["hours_2"]) == (23, 6, 2)
    assert "hours" not in row
    codebook = pd.read_csv(tmp_path / "scores" / "codebook.csv").set_index("column")
    assert str(codebook.loc["hours_2", "says"]).endswith("in this field of the study in session 2.")
    run("export", "scores", "data", "shared", "--fields", "hours_2")
    assert {"age", "hours_1", "hours_2"} & {*pd.read_csv(tmp_path / "shared" / "scores.csv").columns} == {"hours_2"}
