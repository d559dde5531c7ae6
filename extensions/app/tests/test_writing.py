"""A paradigm while it is written: its page says what the check says, and shows what sessions show."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import spanlab
from spanlab.api.starting import Kind
from spanlab.core import SpanLabError
from spanlab.paradigms import load_paradigm
from spanlab.sessions import same_trials, taken_trials
from spanlab.sessions.record import read_events
from spanlab.sessions.transcripts import Transcript

from ..server import Gate, application
from ..writing import Writing, words_of

CHAT = Path(__file__).resolve().parents[3] / "tests" / "golden" / "record" / "vsr-chat-scripted-s31"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return spanlab.new(Kind.PARADIGM, "my_letters", output=tmp_path).file


def test_faults_stand_beside_their_lines_as_the_check_tells_them(file: Path) -> None:
    writing = Writing(file)
    before = writing.state()
    assert writing.faults()["said"] == spanlab.check(file).lines
    file.write_text(file.read_text("utf-8").replace("title:", "titel:", 1), encoding="utf-8")
    assert writing.state() != before
    found = writing.faults()
    assert [one["text"] for one in found["faults"]] == "\n".join(spanlab.check(file).wrong).splitlines()
    assert any(found["lines"][one["line"] - 1].startswith("titel:") for one in found["faults"])
    with pytest.raises(SpanLabError, match="titel"):
        writing.trial({}, 1)
    file.unlink()
    assert writing.state() == ""


def test_the_trial_has_the_levels_that_are_asked_for_and_the_frames_of_networks(file: Path) -> None:
    shown = Writing(file).trial({"set_size": 6, "gone": 1}, 3)
    assert shown["levels"] == {"set_size": 6}
    trial = spanlab.compile_trial(load_paradigm(str(file)), {"set_size": 6}, 3)
    assert len(shown["frames"]) == len(spanlab.render(trial, 32))
    assert [one["words"] for one in shown["pictures"]] == [
        display.stimulus.words() for step in trial.steps for display in step.percept.displays
    ]
    assert Writing(file).trial({"set_size": 99}, 3)["levels"] == {"set_size": 4}, "a level that is gone"


def test_the_words_are_those_that_a_chat_model_got() -> None:
    session, read = same_trials(CHAT), Transcript(CHAT)
    (taken, *_) = taken_trials(session, read_events(CHAT))
    told = [text for role, text in words_of(session.paradigm, taken.trial) if role != "assistant"]
    sent = [
        "\n\n".join(part for part in message.parts if isinstance(part, str))
        for turn in read.talk(taken.key).turns
        for message in turn.sent
    ]
    assert told == sent


def test_only_an_app_with_a_file_has_its_page(file: Path, tmp_path: Path) -> None:
    for given, status in ((file, 200), (None, 404)):
        gate = Gate()
        client = TestClient(
            application(tmp_path, "de", gate, given), base_url="http://127.0.0.1:8760", client=("127.0.0.1", 50000)
        )
        assert client.get("/writing/faults").status_code == 403
        client.get(gate.link(""))
        for address in ("/writing", "/writing/faults", "/writing/state", "/writing/trial?set_size=2&number=1"):
            assert client.get(address).status_code == status, address
