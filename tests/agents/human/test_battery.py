"""A battery of six paradigms and a quiz, as a laboratory takes it: by keys and clicks, with a kill,
an unplugged keyboard, a pause and somebody who withdraws, and with the monitor running beside.

``SPANLAB_PICTURES=FOLDER pytest -m slow tests/agents/human/test_battery.py`` keeps pictures of
everything that was met.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import HANGS_S
from session_tools import command, ended_well, one_thread, spanlab
from x_server import x_server

from spanlab.sessions import find_sessions, read_responses, read_session
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.studies.study import load_study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")]
BATTERY = Path(__file__).resolve().parents[2] / "helpers" / "lab" / "lab_battery.py"
QUIZ = """
paradigm: understood
version: 1
title: {en: Before we begin, de: Bevor es losgeht}
timeline:
  - phase: rest
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "yes", prompt: {en: "May you rest between tasks? (answer yes)", de: Dürfen Sie zwischendurch ruhen?}}
  - phase: notes
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "no", prompt: {en: "May you write anything down? (answer no)", de: Dürfen Sie mitschreiben?}}
instructions:
  en: |
    You are going to do five short memory tasks. Between two tasks you may rest. Please write nothing down.

    Two questions about this follow.
  de: Es folgen fünf kurze Aufgaben. Dazwischen dürfen Sie ruhen. Bitte schreiben Sie nichts auf. Dazu kommen zwei Fragen.
translations: {de: {"yes": ja, "no": nein}}
quiz: {pass: 1, attempts: 3, otherwise: leave}
"""  # noqa: E501
QUESTIONS = """
paradigm: how_it_was
version: 1
title: {en: How it was, de: Wie es war}
timeline:
  - phase: effort
    show: {blank: {}}
    ask:
      rating: {from: 1, to: 7, labels: {1: not at all, 7: very much}}
      prompt: {en: Did you try hard to remember?, de: Haben Sie sich beim Merken angestrengt?}
  - phase: check
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "yes", prompt: {en: Please answer yes here., de: Bitte antworten Sie hier mit Ja.}}
  - phase: tired
    show: {blank: {}}
    ask: {rating: {from: 0, to: 100, labels: {0: wide awake, 100: falling asleep}}, prompt: {en: How tired are you now?, de: Wie müde sind Sie jetzt?}}
instructions: {en: Please answer some questions about the tasks., de: Bitte beantworten Sie einige Fragen zu den Aufgaben.}
translations: {de: {not at all: gar nicht, very much: sehr, "yes": ja, "no": nein, wide awake: hellwach, falling asleep: am Einschlafen}}
questionnaire: true
attention_checks: [check]
"""  # noqa: E501
STUDY = """
study: battery
title: Five tasks of memory
paradigms:
  - {paradigm: how_it_was.yaml, place: last}
  - {paradigm: vsr, set: {list_length: 3}, trials: 2}
  - {paradigm: nback_verbal, set: {n: 1, lures: none}, trials: 1, practice: false}
  - {paradigm: digit_span, set: {list_length: [2, 3], direction: forward}, trials: 2, practice: false}
  - {paradigm: continuous_colour, set: {set_size: 2}, trials: 3, practice: false}
  - {paradigm: cd, set: {feature: colour, set_size: 4}, trials: 3, practice: false}
  - {paradigm: understood.yaml, place: first}
order: latin_square
groups: [{name: long, people: 2, set: {vsr: {list_length: 4}}}, {name: short, people: 2}]
breaks: {text: {en: Take a rest. The next task begins when you like.}, seconds: 1}
consent:
  en: |
    You are going to take some tests of memory. It takes about ten minutes.

    Taking part is voluntary. You may stop at any time with the Escape key.
debrief: {en: You have seen how many things can be held in mind at once. Thank you for your help!}
fields: [age]
"""
TASKS = ("vsr", "nback_verbal", "digit_span", "continuous_colour", "cd")
ALL = {"understood", *TASKS, "how_it_was"}


@pytest.fixture
def display() -> Iterator[str]:
    """A screen of a small monitor."""
    with x_server("1024x768") as server:
        yield server.display


class Laboratory:
    """The commands of an assistant, with a participant who does at the window what is wanted there."""

    def __init__(self, folder: Path, display: str) -> None:
        self.folder = folder
        self.environment = {**one_thread(), "DISPLAY": display}
        self.legs = 0
        self.latest = folder
        for name, text in (("understood", QUIZ), ("how_it_was", QUESTIONS), ("study", STUDY)):
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    def pictures(self) -> Path:
        self.legs += 1
        kept = os.environ.get("SPANLAB_PICTURES")
        folder = (Path(kept) if kept else self.folder / "pictures") / f"leg-{self.legs}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.latest = folder
        return folder

    def begins(self, incident: str, stage: str, *arguments: str) -> subprocess.Popen[str]:
        words = [
            sys.executable,
            str(BATTERY),
            str(self.pictures()),
            incident,
            stage,
            *arguments,
        ]
        return subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment
        )

    def ends(self, process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
        """Status of the program, what was met, and what the assistant was told."""
        out, err = process.communicate(timeout=10 * HANGS_S)
        assert "Traceback" not in err, err
        told: dict[str, Any] = (
            json.loads(out.splitlines()[-1]) if process.returncode == 0 else {"stages": [], "status": None}
        )
        return process.returncode, told, err

    def takes(self, incident: str, stage: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        return self.ends(self.begins(incident, stage, "run", "study.yaml", "--data", "data", *arguments))

    def says(self, *arguments: str) -> str:
        return ended_well(spanlab(*arguments, cwd=self.folder, env=self.environment))


def question_of(task: str) -> str:
    return f"{task} probe"


def test_a_battery_with_a_kill_an_unplugged_keyboard_and_somebody_who_withdraws(tmp_path: Path, display: str) -> None:
    lab = Laboratory(tmp_path, display)
    assert "battery is fine (7 paradigms, 1 session, 2 groups)" in lab.says("check", "study.yaml")
    order = [one.name for one in load_study(tmp_path / "study.yaml").order_for(1, 1)]
    assert (order[0], order[-1], {*order[1:-1]}) == ("understood", "how_it_was", {*TASKS})

    # The first participant: the program is killed within the second task,
    person = ("--participant", "P01", "--session", "1")
    status, _, _ = lab.takes("kill", question_of(order[2]), *person, "--field", "age=27")
    assert status == -9
    assert f"{order[1]}" in lab.says("study", "status", "study.yaml", "--data", "data").splitlines()[0]
    # a keyboard is unplugged within the fourth,
    status, _, said = lab.takes("unplug", question_of(order[4]), *person, "--existing", "resume")
    assert status == 1
    *_, what, how = said.strip().splitlines()
    assert "a keyboard was unplugged or switched off (Lab XTEST keyboard)" in what
    assert how.startswith("The finished trials are safe. Continue with: spanlab resume ")
    seen = {picture.stem for picture in lab.latest.iterdir()}
    assert question_of(order[2]).replace(" ", "-") in seen
    assert not seen & {"consent", "before-we-begin", "visual-serial-recall"}, "what is finished is not asked again"
    # and the rest is taken while somebody looks at the monitor.
    process = lab.begins("pause", "how_it_was check", *shlex.split(how.split(": spanlab ")[1]))
    looks = list(_looks(lab, process))
    status, met, said = lab.ends(process)
    assert (status, met["status"]) == (0, 0)
    assert any(" running " in look for look in looks)
    assert met["stages"][-1] == "Thank you"
    assert met["stages"][met["stages"].index("pause") :][:2] == [
        "pause",
        "how_it_was check",
    ], "a pause cuts no questionnaire off"

    # The second one leaves at the last questions, and withdraws.
    status, met, said = lab.takes(
        "leave", "how_it_was effort", "--participant", "P02", "--session", "1", "--field", "age=33"
    )
    assert (status, met["status"]) == (0, 1)
    assert "Practice" in met["stages"]
    assert met["stages"].index("Before we begin") < met["stages"].index("Visual Serial Recall")
    assert "group" in said
    assert "groups: long 1 of 2, short 1 of 2" in lab.says("study", "status", "study.yaml", "--data", "data")
    assert "1 sessions" not in lab.says("study", "withdraw", "study.yaml", "P02", "--data", "data", "--yes")
    # The third one, who is simulated, takes no place of people.
    ended_well(
        subprocess.run(
            command("run", "study.yaml", "--data", "data", "--simulate", "ideal@20"),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=lab.environment,
            timeout=10 * HANGS_S,
            check=False,
        )
    )

    table = lab.says("study", "status", "study.yaml", "--data", "data")
    first = next(line for line in table.splitlines() if "P01" in line)
    assert "2/2" in first
    assert "1/1" in first.split("yes")[0], "checks"
    assert "understood: quiz passed (2 of 2 right in attempt 1)" in first
    assert "withdrew" in table
    assert "battery: 2 participants, 1 through with every session, 1 withdrawn, 1 simulated" in table
    folders = find_sessions([tmp_path / "data"])
    assert {read_session(folder)["participant"] for folder in folders} == {"P01", "simulated-1"}
    responses = read_responses(folders)
    responses = responses[~responses["practice"]]
    for who, of_person in responses.groupby("participant"):
        trials = of_person.groupby("paradigm")["trial"].nunique().to_dict()
        assert trials == {
            "understood": 1,
            "vsr": 2,
            "nback_verbal": 1,
            "digit_span": 2,
            "continuous_colour": 3,
            "cd": 3,
            "how_it_was": 1,
        }, who
        assert set(of_person[of_person["paradigm"] != "nback_verbal"]["outcome"]) == {"answered"}
    events = [event["event"] for folder in folders for event in read_events(folder)]
    assert "trial_cut" not in events
    assert events.count("interrupted") == 1, "the kill could not say anything, the keyboard did"
    assert events.count("resumed") == 2
    assert events.count("session_end") == 14


def _looks(lab: Laboratory, process: subprocess.Popen[str]) -> Iterator[str]:
    """What the monitor shows until it has shown the session twice; each look is a program that
    takes the processor from the session."""
    running = 0
    while process.poll() is None and running < 2:
        yield (look := lab.says("study", "monitor", "study.yaml", "--data", "data", "--once"))
        running += " running " in look
        time.sleep(2)
