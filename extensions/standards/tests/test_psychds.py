"""Psych-DS: its rules, and what is shared of whom."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint, output_of

from spanlab.exchange.format import Report
from spanlab.extensions.standards.sharing import Sharing, gather
from spanlab.sessions import read_responses

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "sessions"
#: what a file may be called, by the schema 1.5
FILE = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")
OFFICIAL = {"study", "site", "subject", "session", "task", "condition", "trial", "stimulus", "description"}


def broken_rules(folder: Path) -> list[str]:
    """The rules of Psych-DS that a data set breaks."""
    described = json.loads((folder / "dataset_description.json").read_text(encoding="utf-8"))
    found = [
        f"no {key}"
        for key in ("@context", "@type", "name", "description", "variableMeasured")
        if not described.get(key)
    ]
    if (described.get("@context"), described.get("@type")) != ("https://schema.org/", "Dataset"):
        found.append("no schema.org Dataset")
    variables = [one if isinstance(one, str) else one["name"] for one in described["variableMeasured"]]
    files = list((folder / "data").rglob("*_data.csv"))
    columns: set[str] = set()
    for path in files:
        keys = [part.partition("-")[0] for part in path.name.split("_")[:-1]]
        if not FILE.fullmatch(path.name) or set(keys) - OFFICIAL or len(set(keys)) < len(keys):
            found.append(f"{path.name}: name")
        header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        columns |= set(header)
        if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
            found.append(f"{path.name}: rows")
    return (
        found
        + [f"{name}: not in both" for name in columns ^ set(variables)]
        + ["no data"] * (not files)
        + ["twice"] * (len(set(variables)) < len(variables))
    )


def cells(folder: Path) -> dict[str, list[dict[str, str]]]:
    return {
        path.name: list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        for path in (folder / "data").iterdir()
    }


def everything(folder: Path) -> str:
    return "\n".join(
        [str(path) + path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()]
    )


def test_sessions_of_every_kind_keep_the_rules_and_their_answers(tmp_path: Path, run: Run) -> None:
    status, out, err = run(
        "export",
        "psychds",
        *(GOLDEN / part for part in ("finished", "half", "studies")),
        "-o",
        "set",
        "--authors",
        "A. One; B. Two",
    )
    assert status == 0, err
    assert "13 sessions are not finished" in err
    assert "pseudonyms were drawn at random" in err
    assert not broken_rules(tmp_path / "set")
    assert (
        json.loads((tmp_path / "set" / "dataset_description.json").read_text(encoding="utf-8"))["author"][1]["name"]
        == "B. Two"
    )
    table = read_responses([GOLDEN / part for part in ("finished", "half", "studies")])
    shared = [row for rows in cells(tmp_path / "set").values() for row in rows]
    assert out == f"set: 34 sessions of 18 participants, {len(table)} rows\n"
    assert len(shared) == len(table)
    assert sum(row["correct"] == "true" for row in shared) == table["correct"].sum()
    assert sum(float(row["rt_ms"] or 0) for row in shared) == pytest.approx(table["rt_ms"].sum())
    given = sorted(str(json.loads(one)) for one in table["answer"].dropna())
    assert sorted(row["answer"] for row in shared if row["answer"]) == given
    # people and machines are marked, and what must be said of them is said
    assert {row["participant_type"] for row in shared if row["agent_kind"] == "participant"} == {"person"}
    assert {row["caution"] for row in shared if row["agent"] == "chat:scripted"} == {"scripted server, not a model"}
    assert {row["caution"] for row in shared if row["agent_kind"] == "ideal"} == {
        "was given the correct answers (an oracle)"
    }


def test_nothing_tells_who_or_when_unless_it_is_asked_for(tmp_path: Path, run: Run) -> None:
    sources = (
        GOLDEN / "finished" / "vsr-p01-s3",
        GOLDEN / "finished" / "vsr-recorded-finished-vsr-p01-s3-s3",
        GOLDEN / "studies",
    )
    key = tmp_path / "who.csv"
    assert run("export", "psychds", *sources, "-o", "set", "--key-file", "who.csv")[0] == 0
    assert not re.search(r"p0[0-9]|2026-|started_at|golden|\bage\b", everything(tmp_path / "set"))
    people = dict(csv.reader(key.read_text(encoding="utf-8").splitlines()[1:]))
    assert (set(people), set(people.values())) == ({"p01", "p02"}, {"001", "002"})
    # the same people are called the same in the next data set, which has more of them
    before = dict(people)
    assert (
        run(
            "export",
            "psychds",
            *sources,
            GOLDEN / "half" / "cd-p03-s5",
            "-o",
            "next",
            "--key-file",
            "who.csv",
            "--fields",
            "age",
            "--dates",
            "--no-seeds",
        )[0]
        == 0
    )
    people = dict(csv.reader(key.read_text(encoding="utf-8").splitlines()[1:]))
    assert people == {**before, "p03": "003"}
    rows = [row for name, one in cells(tmp_path / "next").items() for row in one if f"subject-{people['p01']}" in name]
    assert {row["age"] for row in rows} == {"31"}
    assert all(row["started_at"].startswith("2026-") for row in rows)
    assert not {"seed", "trial_id"} & rows[0].keys()
    assert not broken_rules(tmp_path / "next")
    assert run("export", "psychds", GOLDEN / "studies", "-o", "named", "--real-ids")[0] == 0
    assert {row["participant_id"] for one in cells(tmp_path / "named").values() for row in one} == {
        "sub-p01",
        "sub-p02",
    }


def test_wishes_that_cannot_be_met_are_told_and_leave_nothing(tmp_path: Path, run: Run) -> None:
    export = ("export", "psychds", GOLDEN / "studies", "-o", "set")
    assert "no session has 'sex'; what was asked: age" in complaint(*run(*export, "--fields", "sex"))
    assert "keep the table of pseudonyms outside" in complaint(*run(*export, "--key-file", "set/who.csv"))
    assert "leave out one of the two" in complaint(*run(*export, "--key-file", "who.csv", "--real-ids"))
    (tmp_path / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "is not a table of pseudonyms" in complaint(*run(*export, "--key-file", "table.csv"))
    (tmp_path / "empty.csv").touch()
    assert "table of pseudonyms" in complaint(*run(*export, "--key-file", "empty.csv"))
    assert "there is no session here" in complaint(*run("export", "psychds", "nowhere", "-o", "set"))
    assert "where to? Name it with -o" in complaint(*run("export", "psychds", GOLDEN / "studies"))
    assert "No such command 'psychds'" in complaint(*run("import", "psychds", "set", "-o", "back"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty.csv", "table.csv"]


def test_words_of_ones_own_are_left_out_where_a_question_is_not_known(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    shutil.copytree(GOLDEN / "finished" / "signs-p02-s4", folder)
    (folder / "responses.parquet").unlink()
    session: dict[str, Any] = json.loads((folder / "session.json").read_text(encoding="utf-8"))
    text = json.dumps(session["paradigm_data"]).replace('"choice":', '"typed":')
    assert '"typed":' in text
    (folder / "session.json").write_text(json.dumps({**session, "paradigm_data": json.loads(text)}), encoding="utf-8")
    notes: list[str] = []
    report = Report(note=notes.append)
    for options, told in ((Sharing(), 1), (Sharing(free_text=True), 0)):
        notes.clear()
        data = gather([str(folder)], options, report, tmp_path / "set")
        rows = list(data.rows(data.sessions[0]))
        assert sum("may be free text" in note for note in notes) == told
        assert all(row["answer"] == ("(other)" if told and not row["correct"] else row["answer"]) for row in rows)
        assert any(row["answer"] == "(other)" for row in rows) == bool(told and not all(row["correct"] for row in rows))


def test_formats_are_listed(run: Run) -> None:
    out = output_of(*run("list", "--formats"))
    assert ["psychds", "export", "sessions"] in [line.split()[:3] for line in out.splitlines()[1:]]
    assert run("export", "worm", "vsr", "-o", "trials", "--train", "1", "--test", "1", "--no-frames")[0] == 0
    assert "did you mean 'psychds'" in complaint(*run("export", "psychs", "vsr", "-o", "set")).lower()
