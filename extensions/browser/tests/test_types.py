"""The types that the page declares are those of what goes over the line, in both directions."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import page_tools
import pytest

pytest.importorskip("starlette", reason="a part of a bare installation")

from pydantic import BaseModel
from scripted_page import SCREEN, ScriptedPage
from session_tools import GO_NOGO
from starlette.testclient import TestClient, WebSocketTestSession

from spanlab.agents.human.input.steps import USUAL
from spanlab.extensions.browser.participant.agent import BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.participant.messages import trial_message, words
from spanlab.extensions.browser.participant.reports import (
    Absence,
    DisplayReport,
    EndReport,
    PressReport,
    ScreenChange,
    StepReport,
)
from spanlab.extensions.browser.participant.screen import ScreenReport
from spanlab.extensions.browser.visits.messages import Event
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.server import make_app
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.paradigms import Percept, Surface, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.trial import Display
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.studies.study import load_study

HERE = {"origin": "http://testserver", "host": "testserver"}
PAGE = Path(str(files("spanlab.extensions.browser.participant") / "page"))
DECLARED = (PAGE / "messages.d.ts").read_text(encoding="utf-8")

STUDY = """
study: typed
title: Types
languages: [en, de]
paradigms: [{paradigm: vsr, trials: 1, practice: false}]
consent: {en: You take part of your own free will., de: Sie nehmen freiwillig teil.}
fields: [age, handedness]
"""

RATED = """
paradigm: rated
version: 1
title: Rated
timeline:
  - phase: rating
    show: {blank: {}}
    ask: {rating: {from: 0, to: 100, labels: {0: nothing}}}
  - phase: text
    show: {tone: {frequency_hz: 440, ms: 200}, ms: 300}
    ask: {text: {more: äß, most: 4}, answer: "='ab'"}
  - phase: marks
    show: {blank: {}}
    ask: {cells: {grid: 3, take: 2}, answer: "=[1, 2]"}
instructions: {en: Answer.}
example: {show: false}
"""


class Named:
    """Pictures that are not drawn."""

    def frame(self, display: Display) -> dict[str, Any]:
        stimulus = display.stimulus
        name = type(stimulus).name
        return {"frame": name, **({"tone": {"hz": 440, "ms": 200, "ring": "ring"}} if name == "tone" else {})}

    def overlay(self, surface: Surface) -> str | None:
        return None if surface.scale is None else "scale"


def trials(tmp_path: Path) -> list[dict[str, Any]]:
    """A trial of every paradigm of the library, and of kinds that it does not have."""
    (file := tmp_path / "rated.yaml").write_text(RATED, encoding="utf-8")
    said: list[dict[str, Any]] = []
    for name in [*list_paradigms(), str(file)]:
        paradigm = load_paradigm(name)
        trial = plan_session(paradigm, 1, design=SessionDesign(), trials=1)[0].compile(paradigm, "corrected")
        steps = dict.fromkeys(json.dumps(one) for one in _messages([step.percept for step in trial.steps]))
        said.append({"type": "do", "c": 1, "what": "trial", "canvas_px": 96, **json.loads(next(iter(steps)))})
        for step in steps:
            said[-1]["steps"] += json.loads(step)["steps"]
    return said


def _messages(percepts: list[Percept]) -> list[dict[str, Any]]:
    return [trial_message([[percept]], Named(), "en", 500.0, USUAL) for percept in percepts]


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    """Everything that a page is told in a session with practice and feedback, and at the desk of a
    study."""
    (file := tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    paradigm = load_paradigm(file)
    plan = plan_session(paradigm, seed=4, trials=1, design=SessionDesign())
    channel = Channel("e" * 24, lambda event: None)
    page = ScriptedPage(channel)
    agent = BrowserParticipant(channel, FrameStore(), ScreenReport.model_validate(SCREEN).screen)
    Runner(
        begin(tmp_path, paradigm, agent, plan, Request(seed=4, participant="P01", source=str(file), practice=True)),
        agent,
    ).run()
    page.close()
    said = [json.loads(line) for line in page.lines]
    (file := tmp_path / "typed.yaml").write_text(STUDY, encoding="utf-8")
    desk = VisitDesk(StudyOffer.checked(load_study(file), tmp_path), print)
    client = TestClient(make_app(desk))

    def asked(socket: WebSocketTestSession, what: str) -> dict[str, Any]:
        said.append({})
        while said[-1].get("what", said[-1].get("type")) != what:
            said.append(socket.receive_json())
        return said[-1]

    with client.websocket_connect("/visit", headers=HERE) as socket:
        hello = {
            "type": "hello",
            "participant": "P01",
            "session": "",
            "instance": "a" * 24,
            "epoch": "",
            "last": 0,
            "screen": SCREEN,
        }
        socket.send_text(json.dumps(hello))
        epoch = asked(socket, "welcome")["epoch"]
        answers = (
            ("form", {"typed": {"language": "en"}}),
            ("choose", {"name": "agree"}),
            ("form", {"typed": {"age": "x"}}),
        )
        for number, (what, body) in enumerate(answers):
            c, kind = asked(socket, what)["c"], "choice" if what == "choose" else what
            name = {"type": "event", "id": f"{'a' * 24}:{number}", "epoch": epoch, "c": c, "kind": kind, "place": -1}
            socket.send_text(json.dumps({**name, "body": body}))
        assert asked(socket, "form")["wrong"].keys() == {"age", "handedness"}
    desk.close()
    with client.websocket_connect("/visit", headers=HERE) as socket:
        socket.send_text("nonsense")
        asked(socket, "refused")
    return [line for line in said if line]


def test_what_the_server_says_is_what_the_page_declares(tmp_path: Path) -> None:
    if page_tools.tool("typescript") is None:
        pytest.skip("needs TypeScript: .venv/bin/python scripts/page_tools.py install")
    said = [*trials(tmp_path), *lines(tmp_path)]
    whats = {line.get("what", line["type"]) for line in said}
    assert whats >= {"trial", "page", "choose", "form", "begin", "verdict", "welcome", "refused", "ack"}
    declared = {"extends": str(page_tools.PROJECT), "include": [], "files": ["said.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(declared))
    head = f"import type {{ Told }} from {json.dumps(str(PAGE / 'messages'))};\n"

    def faults(messages: list[dict[str, Any]]) -> str:
        literals = (f"export const told{number}: Told = {json.dumps(one)};" for number, one in enumerate(messages))
        (tmp_path / "said.ts").write_text(head + "\n".join(literals), encoding="utf-8")
        done = page_tools.typescript(tmp_path / "tsconfig.json")
        assert done is not None
        return done.stdout + done.stderr

    assert faults(said) == ""
    other = json.loads(json.dumps(said[0]))
    other["steps"][0][0]["displays"][0]["ms"] = "soon"
    found = faults([other, {**said[0], "more": 1}])
    assert "told0" not in found
    assert len(re.findall(r"said\.ts\(\d+,\d+\): error", found)) == 2, found


def test_the_page_says_itself_what_it_is_given() -> None:
    listed = DECLARED[DECLARED.index("export type WordName") :]
    names = set(re.findall(r'"(\w+)"', listed[: listed.index(";")]))
    assert names == set(words("en"))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Press", PressReport),
        ("Shown", DisplayReport),
        ("Absence", Absence),
        ("ScreenChange", ScreenChange),
        ("StepReport", StepReport),
        ("EndReport", EndReport),
        ("ScreenReport", ScreenReport),
        ("PageEvent", Event),
    ],
)
def test_what_the_page_says_is_what_the_server_reads(name: str, model: type[BaseModel]) -> None:
    block = DECLARED[DECLARED.index(f"export interface {name} {{") :]
    fields = set(re.findall(r"^  (\w+)\??:", block[: block.index("\n}")], flags=re.MULTILINE))
    assert fields == set(model.model_fields) - {"type"}
