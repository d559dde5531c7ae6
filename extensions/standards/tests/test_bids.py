"""BIDS: what is shown and answered, in seconds, in a layout that its validator takes."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint

from spanlab.sessions import read_responses
from spanlab.sessions.record import read_events

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "sessions"
ALL = [GOLDEN / part for part in ("finished", "half", "studies")]
VALIDATOR = shutil.which(
    "bids-validator-deno", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)
#: recommended by BIDS, and not to be known here, or not there
UNKNOWN = {
    "HEDVersion",
    "SourceDatasets",
    "CogAtlasID",
    "CogPOID",
    "InstitutionName",
    "InstitutionAddress",
    "InstitutionalDepartmentName",
}


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    return {path.name: table(path) for path in sorted(folder.rglob("sub-*_*.tsv"))}


def described(folder: Path, name: str) -> dict[str, Any]:
    task, suffix = re.findall(r"task-\w+?(?=_)|events|beh", name)
    (beside,) = folder.rglob(name.replace(".tsv", ".json"))
    return {
        **json.loads((folder / f"{task}_{suffix}.json").read_text(encoding="utf-8")),
        **json.loads(beside.read_text(encoding="utf-8")),
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions of every kind as one data set."""
    folder = tmp_path_factory.mktemp("bids") / "set"
    from spanlab.exchange import FORMATS, Report
    from spanlab.extensions.standards.sharing import Sharing

    quiet = Report(done=lambda _: None, note=lambda _: None)
    FORMATS.get("bids")().write(
        [str(one) for one in ALL], folder, Sharing(authors="A. One; B. Two", license="CC0", fields="age"), quiet
    )
    return folder


@pytest.mark.slow
def test_every_answer_is_there_and_every_column_is_described(shared: Path) -> None:
    found = tables(shared)
    answers = [row for rows in found.values() for row in rows if row.get("event_type", "answer") == "answer"]
    given = read_responses(ALL)
    assert len(answers) == len(given)
    assert sum(row["correct"] == "true" for row in answers) == given["correct"].sum()
    times = [float(row["response_time"]) for row in answers if row["response_time"] != "n/a"]
    assert sum(times) == pytest.approx(given["rt_ms"].sum() / 1000)
    assert sorted(row["answer"] for row in answers if row["answer"] != "n/a") == sorted(
        str(json.loads(one)) for one in given["answer"].dropna()
    )
    for name, rows in found.items():
        assert re.fullmatch(r"sub-[A-Za-z0-9]+(_ses-[0-9]+)?_task-[A-Za-z0-9]+_run-[0-9]+_(events|beh)\.tsv", name)
        assert list(rows[0])[:2] == (
            ["onset", "duration"] if name.endswith("_events.tsv") else ["trial_type", "response_time"]
        )
        about = described(shared, name)
        assert not {column for column in rows[0] if not about.get(column, {}).get("Description")}
        assert about["TaskName"]
        assert not any(value == "" for row in rows for value in row.values())
    who = {row["participant_id"]: row for row in table(shared / "participants.tsv")}
    assert set(who) == {name.partition("_")[0] for name in found} == {path.name for path in shared.glob("sub-*")}
    assert {(row["participant_type"], row["species"]) for row in who.values()} == {
        ("person", "homo sapiens"),
        ("machine", "n/a"),
    }
    assert sorted(row["age"] for row in who.values() if row["participant_type"] == "person") == [
        "27",
        "31",
        "n/a",
        "n/a",
    ]
    assert who["sub-chatScripted"]["caution"] == "scripted server, not a model"


def test_displays_and_answers_stand_where_they_were_in_time(tmp_path: Path, run: Run) -> None:
    session = GOLDEN / "finished" / "signs-p02-s4"
    assert run("export", "bids", session, "set")[0] == 0
    ((name, rows),) = tables(tmp_path / "set").items()
    onsets = [float(row["onset"]) for row in rows]
    assert onsets == sorted(onsets)
    shown = [
        one
        for line in (session / "events.jsonl").read_text(encoding="utf-8").splitlines()
        for one in json.loads(line).get("shown", ())
    ]
    displays = [row for row in rows if row["event_type"] == "display"]
    assert [(float(row["onset"]), float(row["duration"])) for row in displays] == [
        pytest.approx((one["onset_ms"] / 1000, one["shown_ms"] / 1000)) for one in shown
    ]
    answers = {(row["practice"], row["trial"], row["step"]): row for row in rows if row["event_type"] == "answer"}
    for row in read_responses(session).to_dict("records"):
        found = answers[str(row["practice"]).lower(), str(row["trial"]), str(row["step"])]
        assert float(found["onset"]) == pytest.approx(row["onset_ms"] / 1000)
        assert float(found["response_time"]) == pytest.approx(row["rt_ms"] / 1000)
    # the first question has two displays
    first = next(event for event in read_events(session) if event["event"] == "step" and event["step"] == 2)
    assert len(first["shown"]) == 2
    lasted = sum(one["shown_ms"] or 0 for one in first["shown"]) / 1000
    assert float(answers["true", "1", "2"]["duration"]) == pytest.approx(lasted)
    presented = described(tmp_path / "set", name)["StimulusPresentation"]
    assert presented == {
        "OperatingSystem": "Linux",
        "ScreenDistance": 0.57,
        "ScreenRefreshRate": 60.0,
        "ScreenResolution": [1280, 1024],
        "ScreenSize": [0.34, 0.272],
        "SoftwareName": "PsychoPy",
        "SoftwareRRID": "RRID:SCR_006571",
        "SoftwareVersion": "2026.2.5",
    }
    assert not re.search(
        r"p02|2026-",
        "".join(path.read_text(encoding="utf-8") + str(path) for path in (tmp_path / "set").rglob("*.*sv")),
    )


def test_each_sitting_has_a_clock_of_its_own(tmp_path: Path, run: Run) -> None:
    """A session that went on: the second sitting begins at 0 again, and a trial of the first was
    cut off."""
    folder = tmp_path / "went-on"
    shutil.copytree(GOLDEN / "finished" / "signs-p02-s4", folder)
    (folder / "responses.parquet").unlink()
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    starts = [place for place, line in enumerate(lines) if json.loads(line)["event"] == "trial_start"]
    last = lines[starts[-1] :]
    again = [line.replace('"attempt":1', '"attempt":2') for line in last]
    first_onset = next(one["onset_ms"] for line in last for one in json.loads(line).get("shown", ()))
    for place, line in enumerate(again):
        event = json.loads(line)
        for one in event.get("shown", ()):
            one["onset_ms"] = round(one["onset_ms"] - first_onset + 100, 3)
        again[place] = json.dumps(event)
    between = ['{"event":"interrupted"}', '{"event":"resumed"}']
    (folder / "events.jsonl").write_text(
        "\n".join([*lines[: starts[-1]], *last[:6], *between, *again]) + "\n", encoding="utf-8"
    )
    assert run("export", "bids", folder, "set")[0] == 0
    first, second = tables(tmp_path / "set").values()
    assert [
        json.loads(path.read_text(encoding="utf-8"))["SpanLab"]["Sitting"]
        for path in sorted((tmp_path / "set").rglob("sub-*.json"))
    ] == [1, 2]
    assert float(second[0]["onset"]) == pytest.approx(0.1)
    assert {row["trial_counts"] for row in second} == {"true"}
    cut = [row for row in first if row["trial_counts"] == "false"]
    assert cut
    assert {row["event_type"] for row in cut} == {"display"}
    assert float(cut[0]["onset"]) == pytest.approx(first_onset / 1000)


def test_sessions_without_a_finished_trial_are_left_out_and_named(tmp_path: Path, run: Run) -> None:
    shutil.copytree(GOLDEN / "finished" / "vsr-p01-s3", tmp_path / "data" / "begun")
    for name in ("responses.parquet", "responses.csv"):
        (tmp_path / "data" / "begun" / name).unlink()
    (tmp_path / "data" / "begun" / "events.jsonl").write_text(
        '{"event":"session_start","at":"2026-11-22T11:22:13.412+00:00"}\n', encoding="utf-8"
    )
    assert "no session has a finished trial" in complaint(*run("export", "bids", "data", "set"))
    shutil.copytree(GOLDEN / "finished" / "vsr-ideal-s11", tmp_path / "data" / "ideal")
    status, out, err = run("export", "bids", "data", "set")
    assert (status, out) == (0, "set: 1 session of 0 people and 1 machine; 1 table of answers\n")
    assert "a session of vsr has no finished trial, and is left out" in err
    assert "set exists; name a new folder" in complaint(*run("export", "bids", "data", "set"))


NEEDS_VALIDATOR = pytest.mark.skipif(
    VALIDATOR is None,
    reason="the BIDS validator is not here, so its verdict is not known: pip install bids-validator-deno (130 MB)",
)


def validated(folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """What the validator says of a data set: its exit status, and the issues."""
    done = subprocess.run(
        [str(VALIDATOR), str(folder), "--format", "json", "--max-rows", "-1"], capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["issues"]["issues"]


@pytest.fixture
def copied(shared: Path) -> Iterator[Path]:
    """A copy of the data set where the validator reads it: it reads nothing below /dev, where
    temporary folders may be."""
    with tempfile.TemporaryDirectory(dir="/tmp" if shared.is_relative_to("/dev") else shared.parent) as folder:
        yield shutil.copytree(shared, Path(folder) / "set")


@NEEDS_VALIDATOR
def test_the_validator_finds_no_error_and_no_warning_that_could_be_avoided(copied: Path) -> None:
    status, issues = validated(copied)
    assert status == 0, issues
    assert not [one for one in issues if one["severity"] == "error" or one.get("subCode") not in UNKNOWN]


@NEEDS_VALIDATOR
def test_the_validator_finds_a_column_that_has_another_name(copied: Path) -> None:
    events = next(copied.rglob("*_events.tsv"))
    events.write_text(events.read_text(encoding="utf-8").replace("onset", "start", 1), encoding="utf-8")
    status, issues = validated(copied)
    assert status != 0
    assert [one["code"] for one in issues if one["severity"] == "error"] == ["TSV_COLUMN_MISSING"]
