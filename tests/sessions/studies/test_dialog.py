"""The dialog before a session of a study, driven by real keys and clicks."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import HANGS_S
from lab_pages import ENGLISH
from session_tools import ended_well
from study_files import STUDY, study_in, take

from spanlab.sessions.studies.visit import VisitRequest, check_request

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")

#: what `spanlab run STUDY` does before anybody sits down
_ASKS = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from spanlab.api.studies import _asked
from spanlab.core.errors import SpanLabError
from spanlab.sessions.studies.visit import VisitRequest
from spanlab.sessions.studies.study import load_study
try:
    print(json.dumps(asdict(_asked(load_study("study.yaml"), Path("data"), VisitRequest(session="")))))
except SpanLabError as error:
    print(json.dumps(str(error)))
"""


class ShardWorker:
    """The dialog, and somebody in front of it."""

    def __init__(self, folder: Path, display: str) -> None:
        from dialog_typist import Typist

        self.process = subprocess.Popen(
            [sys.executable, "-c", _ASKS], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.typist = Typist(display)
        self.typist.focus(self.typist.wait_for(lambda: self.typist.window("SpanLab")))
        self.typist.wait_for(lambda: len(self.typist.picture().getcolors(100_000) or ()) > 20)

    def settle(self) -> None:
        """Until nothing changes on the screen any more."""
        before = b""

        def still() -> bool:
            nonlocal before
            before, last = self.typist.picture().tobytes(), before
            return before == last

        self.typist.wait_for(still)

    def type(self, text: str) -> None:
        self.typist.type(text)
        self.settle()

    def red(self) -> int:
        """How many pixels are in the colour of what is wrong."""
        return sum(
            many for many, colour in self.typist.picture().getcolors(1_000_000) or () if colour == (0xB0, 0x2A, 0x1A)
        )

    def answer(self) -> Any:
        """What the dialog gave when it had closed."""
        out, err = self.process.communicate(timeout=HANGS_S)
        assert self.process.returncode == 0, err
        return json.loads(out)

    def leave(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.typist.close()


@pytest.fixture
def desk(tmp_path: Path, screen: str) -> Iterator[Any]:
    consent = next(line for line in STUDY.splitlines(keepends=True) if line.startswith("consent"))
    (tmp_path / "study.yaml").write_text(
        STUDY.replace(consent, ""), encoding="utf-8"
    )  # with consent, questions about the participant come later
    desks: list[ShardWorker] = []

    def sit_down() -> ShardWorker:
        desks.append(ShardWorker(tmp_path, screen))
        return desks[-1]

    yield sit_down
    for one in desks:
        one.leave()


@pytest.mark.slow
def test_the_dialog_stays_open_until_everything_fits(desk: Any) -> None:
    one = desk()
    assert one.red() == 0
    # identifier with a blank, no session, age 300, nothing else; then return
    one.type("p 1\t\t\t\t300\n")
    assert one.process.poll() is None
    wrong = one.red()
    assert wrong > 1000, "what is wrong is marked"
    # the first wrong field has the focus: mend it, then session, age, sex and sleep
    for _ in range(3):
        one.typist.key("BackSpace")
    one.type("p01\t1\t\t\t")
    for _ in range(3):
        one.typist.key("BackSpace")
    one.type("30\n")
    assert one.process.poll() is None
    assert 0 < one.red() < wrong
    one.type("f\t25\n")
    assert one.process.poll() is None, "nobody sleeps for 25 hours"
    for _ in range(2):
        one.typist.key("BackSpace")
    one.typist.type("7,5\tall well\n")
    answer = one.answer()
    assert {name: answer[name] for name in ("participant", "session", "number", "language", "existing", "kind")} == {
        "participant": "p01",
        "session": "1",
        "number": "",
        "language": "en",
        "existing": "",
        "kind": "person",
    }
    assert answer["fields"] == {"age": "30", "sex": "f", "hours": "7,5", "note": "all well"}


@pytest.mark.slow
def test_who_has_data_is_asked_what_to_do(desk: Any, tmp_path: Path) -> None:
    take(study_in(tmp_path), tmp_path / "data", "p01")
    one = desk()
    # what is known of p01 need not be said again, save what is asked in each session
    one.type("p01\t1\t\t\t\t\t8\n")
    one.typist.wait_for(lambda: one.red() > 300)  # the question, with its reason; a busy machine takes its time
    assert one.process.poll() is None
    one.type("\n")
    assert one.process.poll() is None, "to stop is not a way to begin"
    one.typist.type("start\n")  # the choice that begins with this word: a new one
    assert one.answer()["existing"] == "new"


def test_what_is_wrong_is_told_in_the_language_of_the_dialog(tmp_path: Path) -> None:
    study, data = study_in(tmp_path), tmp_path / "data"
    take(study, data)
    seen: list[str] = []
    for wanted in (
        VisitRequest("", "", "x", "", {"age": "old", "hours": "25", "note": "a\nb"}),
        VisitRequest("p 1", "3", "1"),
        VisitRequest("P01"),
        VisitRequest("p01", "1", "7", kind="pilot"),
        VisitRequest("p01", "1", "7"),
        VisitRequest("p02", "1", "99999999"),
        VisitRequest("-"),
        VisitRequest("con"),
    ):
        english, german = (check_request(study, data, wanted, language) for language in ("en", "de"))
        assert english.keys() == german.keys() != set()
        assert english == check_request(study, data, wanted)
        for name in english:
            assert english[name] != german[name]
            assert not ENGLISH.findall(german[name].replace("--pilot", "")), german[name]
        seen += german.values()
    assert "nötig ist eine ganze Zahl von 1 bis 120; gefunden wurde 'old'" in seen
    assert any(told.startswith("von p01 gibt es schon Daten der Sitzung 1 (begonnen ") for told in seen)


@pytest.mark.slow
def test_cancelling_begins_nothing(desk: Any, tmp_path: Path) -> None:
    one = desk()
    one.typist.key("Escape")
    assert "no session was begun" in one.answer()
    assert not (tmp_path / "data").exists()


def _says(**environment: str) -> str:
    code = "from spanlab.agents.human.pages.dialog import ask\nfrom spanlab.core.errors import SpanLabError\ntry:\n    ask('x', [], lambda typed: {})\nexcept SpanLabError as error:\n    print(error)"
    clean = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = ended_well(
        subprocess.run(
            [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, timeout=HANGS_S
        )
    )
    return done


@pytest.mark.slow
def test_without_a_display_there_is_one_sentence() -> None:
    assert "DISPLAY is not set" in _says()
    assert "no window can be opened on the display ':4711'" in _says(DISPLAY=":4711")
