"""Golden sessions: what was recorded once is read, rebuilt, scored, replayed and gone on with as it
was, whatever the code has become since.

They were written by :mod:`golden_sessions`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run, output_of
from golden_sessions import GOES_ON, table_of
from golden_tables import FOLDER, assert_same, read_table, stored
from session_tools import ended_well, one_thread

from spanlab.agents.base import Response
from spanlab.extensions.demonstration.scripted import ScriptedServer
from spanlab.paradigms import Trial
from spanlab.sessions import Session, find_sessions, read_session, same_trials
from spanlab.sessions.record.events import TrialStart
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.record.table import response_rows, response_table
from spanlab.sessions.session import complete
from spanlab.sessions.trial_log import judge

SESSIONS = [path.relative_to(FOLDER).as_posix() for path in find_sessions([FOLDER])]
HALF = [name for name in SESSIONS if not complete(FOLDER / name)]
KINDS = {name: read_session(FOLDER / name)["agent_kind"] for name in SESSIONS}
PEOPLE = [name for name in HALF if KINDS[name] in ("participant", "simulated")]
#: one of a study, of a person, adaptive, of a network, and of trials from elsewhere; replays of the others
#: are slow in all
OF_ALL_SORTS = {
    "studies/golden/p02/session-1/vsr-p02-s996806",
    "half/cd-p03-s5",
    "half/vsr-capacity-3-s25",
    "finished/vsr-network-laptop-s27",
    "finished/nback_verbal-ideal-s17",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy to work in: the golden sessions themselves stay as they are."""
    return Path(shutil.copytree(FOLDER, tmp_path / "golden"))


def test_every_kind_is_there() -> None:
    assert set(SESSIONS) >= OF_ALL_SORTS
    finished = {KINDS[name] for name in SESSIONS if name not in HALF}
    assert finished == {
        "participant",
        "simulated",
        "chat",
        "network",
        "chance",
        "ideal",
        "capacity",
        "recorded",
        "published",
    }
    assert {KINDS[name] for name in HALF} == finished - {"published"}, (
        "published answers are brought in whole or not at all"
    )
    for names in (HALF, sorted(set(SESSIONS) - set(HALF))):
        infos = [read_session(FOLDER / name) for name in names]
        for part in ("adaptive", "study"):
            assert any(part in info for info in infos), part


def test_no_file_has_changed() -> None:
    lines = [line.split("  ") for line in (FOLDER / "sha256.txt").read_text(encoding="utf-8").splitlines()]
    sums = {name: digest for digest, name in lines}
    found = {
        path.relative_to(FOLDER).as_posix(): path
        for path in FOLDER.rglob("*")
        if path.is_file() and path.name not in (".lock", "sha256.txt")
    }
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()} == sums


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", SESSIONS)
def test_it_is_read_as_it_was(name: str) -> None:
    folder, wanted = FOLDER / name, stored("tables", name)
    assert_same(read_table(table_of(folder)), wanted)
    info = read_session(folder)
    if not complete(folder):
        return
    # from its events; the stored file says the same to a reader of its own
    derived = response_table(response_rows(info, read_events(folder))).to_pandas()
    parquet = pd.read_parquet(folder / "responses.parquet")
    assert set(parquet.columns) <= set(derived.columns)
    pd.testing.assert_frame_equal(derived[list(parquet.columns)], parquet)


def compiled(session: Session, start: TrialStart) -> Trial:
    """A trial again, from the record alone."""
    key = str(start["trial"])
    planned = next((one for one in session.plan if not start["practice"] and one.trial == int(key)), session.plan[0])
    return replace(planned, levels=start["levels"], seed=start["seed"], varies="").compile(
        session.paradigm, session.info["generator"]
    )


@pytest.mark.parametrize("name", SESSIONS)
def test_its_trials_are_rebuilt_and_its_answers_scored_anew(name: str) -> None:
    session, judged = same_trials(FOLDER / name), 0
    trials: dict[str, Trial] = {}  # of a chat model, several are under way at once
    for event in read_events(FOLDER / name):
        if event["event"] == "trial_start":
            trials[event["trial"]] = trial = compiled(session, event)
            assert (trial.trial_id, trial.set_size, trial.list_length) == (
                event["trial_id"],
                event["set_size"],
                event["list_length"],
            )
            assert dict(trial.levels) == event["levels"]
        elif event["event"] == "step":
            step = trials[event["trial"]].steps[event["step"] - 1]
            shown = step.shown_after(event.get("feedback", "missed"))
            assert (shown.phase, shown.displays[0].ms) == (event["phase"], event["planned_ms"])
            if "ask" not in event:
                continue
            assert step.percept.ask is not None
            value = tuple(event["value"]) if isinstance(event["value"], list) else event["value"]
            one = judge(
                step.percept.ask,
                step.truth,
                Response(value, event["rt_ms"], event["raw"], event["outcome"], event["notes"]),
            )
            assert json.loads(json.dumps(one.scores)) == event["scores"]
            assert json.loads(json.dumps(one.response.value)) == event["value"]
            assert (step.truth.chance, step.truth.blind) == (event["chance"], event["blind"])
            assert json.loads(json.dumps(dict(step.truth.record))) == event["record"]
            judged += 1
    assert judged


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in HALF if name not in PEOPLE and KINDS[name] != "chat"])
def test_a_machine_goes_on_to_the_end_of_then(copy: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(copy)
    output_of(*run("resume", name))
    assert complete(name)
    assert_same(read_table(table_of(Path(name))), stored("resumed", name))


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [name for name in HALF if KINDS[name] == "chat"])
def test_a_chat_model_goes_on_to_the_end_of_then(
    copy: Path, run: Run, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer, name: str
) -> None:
    monkeypatch.chdir(copy)
    monkeypatch.setenv("OPENAI_BASE_URL", server.endpoint.url)
    before = (copy / name / "transcripts.jsonl").read_bytes()
    output_of(*run("resume", name))
    assert complete(name)
    assert_same(read_table(table_of(Path(name))), stored("resumed", name))
    after = (copy / name / "transcripts.jsonl").read_bytes()
    assert after.startswith(before[: before.rfind(b"\n") + 1])
    kept = [json.loads(line) for line in after.splitlines() if b'"reply"' in line]
    assert len(kept) == len({(line["trial"], line["ask"]) for line in kept}), "what was kept is not asked for again"


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_goes_on_with_the_trials_of_then(copy: Path, name: str) -> None:
    """Real keys in a real window; the trial that was left is replaced as it would have been then."""
    if KINDS[name] == "simulated":
        words = [sys.executable, "-m", "spanlab.cli", "resume", name]
    else:
        arguments = GOES_ON if name.startswith("studies/") else ("resume", name)
        words = [
            sys.executable,
            str(Path(__file__).resolve().parents[1] / "helpers" / "lab" / "golden_person.py"),
            "0",
            *arguments,
        ]
    environment = {
        **one_thread(),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).resolve().parents[1] / "helpers"), os.environ.get("PYTHONPATH")))
        ),
    }
    ended_well(
        subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True, timeout=300, check=False)
    )
    assert complete(copy / name)
    found, wanted = read_table(table_of(copy / name)), stored("resumed", name)
    done_before = stored("tables", name)
    assert_same(found.head(len(done_before)), done_before)
    trials = [
        "trial",
        "trial_id",
        "seed",
        "block",
        "practice",
        "set_size",
        "list_length",
        *(one for one in wanted.columns if one.startswith("factor_")),
    ]
    assert_same(found[trials].drop_duplicates(ignore_index=True), wanted[trials].drop_duplicates(ignore_index=True))
