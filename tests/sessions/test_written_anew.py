"""What is written does not change by a byte: sessions of every kind of agent, against those that are
stored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_line import command_line
from measured import file_without_measured
from session_tools import command, ended_well, one_thread
from written_anew import ALL, CHATS, FILES, MACHINES, PEOPLE, SIMULATED, STORED, prepare

from spanlab.extensions.demonstration.scripted import ScriptedServer
from spanlab.sessions import read_session
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.record.table import write_responses

#: parts of a paradigm in which no words are that it says to people
_NO_WORDS = ("paradigm", "version", "factors", "draw", "set_size", "list_length", "network", "practice", "designs")


def _without_words(file: str, folder: Path, hashes: Sequence[str]) -> str:
    """A file of a session without the whole paradigm, its hash (now, or then), and the instructions and
    sentences of the screen."""
    text = (folder / file).read_text(encoding="utf-8").replace(hashes[0], "hash").replace(hashes[1], "hash")
    if file != "session.json":
        return text
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    record = json.loads(text)
    said = {name: "" for name in ("sentences", "instructions") if name in record}
    return json.dumps({**record, "paradigm_data": {}, **said}, indent=1, ensure_ascii=False) + "\n"


def assert_same_bytes(session: Path, name: str) -> None:
    """All files of a session are those that are stored, but for what was measured, and for the
    words of a paradigm, which do not make its trials."""
    stored = STORED / name
    now, then = read_session(session), read_session(stored)
    assert {key: now["paradigm_data"].get(key) for key in _NO_WORDS} == {
        key: then["paradigm_data"].get(key) for key in _NO_WORDS
    }
    assert {file for file in FILES if (session / file).exists()} == {file for file in FILES if (stored / file).exists()}
    for file in FILES:
        if (stored / file).exists():
            found, wanted = (
                _without_words(file, folder, (now["paradigm_hash"], then["paradigm_hash"]))
                for folder in (session, stored)
            )
            assert file_without_measured(file, found) == file_without_measured(file, wanted), file


def test_every_kind_is_there() -> None:
    kinds = {read_session(STORED / name)["agent_kind"] for name in ALL}
    assert kinds == {
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


@pytest.mark.parametrize("name", list(ALL))
def test_tables_are_made_again(tmp_path: Path, name: str) -> None:
    """From the events, measured values included."""
    copy = Path(shutil.copytree(STORED / name, tmp_path / name))
    write_responses(copy)
    found, wanted = ((folder / "responses.csv").read_bytes().decode() for folder in (copy, STORED / name))
    assert found == wanted


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the arguments name."""
    (folder := tmp_path_factory.mktemp("anew") / "here").mkdir()
    prepare(folder)
    return folder


@pytest.mark.parametrize("name", list(MACHINES))
def test_machines(
    material: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    status, _, err = command_line(material, monkeypatch, capsys)(*MACHINES[name])
    assert status == 0, err
    assert_same_bytes(next(material.rglob(name)), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CHATS))
def test_chat_models(
    material: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    run = command_line(material, monkeypatch, capsys)
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.endpoint.url)
        status, _, err = run(*CHATS[name])
    assert status == 0, err
    assert_same_bytes(material / name, name)


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("name", [*SIMULATED, *PEOPLE])
def test_people(tmp_path: Path, name: str) -> None:
    """At a real window, by real keys; everything but the times is as it was."""
    prepare(tmp_path / "here")
    words = (
        command(*SIMULATED[name])
        if name in SIMULATED
        else [
            sys.executable,
            str(Path(__file__).resolve().parents[1] / "helpers" / "lab" / "golden_person.py"),
            "0",
            *PEOPLE[name],
        ]
    )
    environment = {
        **one_thread(),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH")))
        ),
    }
    ended_well(
        subprocess.run(
            words, cwd=tmp_path / "here", env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    )
    assert_same_bytes(tmp_path / "here" / name, name)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("events.jsonl", '"correct":true', '"correct":false'),
        ("events.jsonl", '"outcome":"answered"', '"outcome":"omitted"'),
        ("events.jsonl", '"trial":"1","attempt":1', '"attempt":1,"trial":"1"'),
        ("events.jsonl", '"chance":0.5,', '"chance":0.50,'),
        ("session.json", '"seed": 12', '"seed": 13'),
        ("responses.csv", "cd-capacity-2-s12", "cd-capacity-2-s13"),
    ],
)
def test_that_would_be_noticed(tmp_path: Path, file: str, old: str, new: str) -> None:
    """A byte that differs where nothing is measured, an order that differs, a number that is
    written otherwise."""
    name = "cd-capacity-2-s12"
    copy = Path(shutil.copytree(STORED / name, tmp_path / name))
    text = (copy / file).read_text(encoding="utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    read_events(copy)
    with pytest.raises(AssertionError):
        assert_same_bytes(copy, name)


def test_what_was_measured_may_differ(tmp_path: Path) -> None:
    name = "cd-capacity-2-s12"
    copy = Path(shutil.copytree(STORED / name, tmp_path / name))
    change: Callable[[str], str] = lambda text: text.replace("2026-", "2031-")  # noqa: E731
    for file in ("session.json", "events.jsonl", "responses.csv"):
        text = (copy / file).read_text(encoding="utf-8")
        assert change(text) != text
        (copy / file).write_text(change(text), encoding="utf-8")
    assert_same_bytes(copy, name)
