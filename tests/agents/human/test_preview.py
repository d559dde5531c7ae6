"""Stepping through a trial in the window: which displays there are, and keys that go on, back, show
the answer and leave."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command_line import Run
from effort import HANGS_S
from session_tools import GO_NOGO, one_thread

from spanlab.agents.human.preview import views
from spanlab.paradigms import compile_trial, load_paradigm

_STEPPING = """
import json
from spanlab.agents.human import Participant, WindowOptions, virtual_screen
from spanlab.agents.human.input.xtest import XTestInput, InputEvent
from spanlab.agents.human.preview import Preview
from spanlab.paradigms import compile_trial, load_paradigm

KEYS = ["space", "space", "left", "right", "a", "space", "a", "a", "left", "escape"]


class Watcher:
    def waits(self, for_what, onset):
        seen.append([preview.number, preview.caption(), preview.answer() if preview.answer_shown else ""])
        hands.at(onset + 0.15, InputEvent(KEYS.pop(0), hold=0.02))


with virtual_screen(1024, 768):
    agent = Participant(WindowOptions(width_cm=34.0), say=lambda sentence: None)
    stage = agent.open()
    hands = XTestInput(stage.window.now, stage.window.size, stage.window.corner)
    preview = Preview(stage, compile_trial(load_paradigm("vsr"), {"list_length": 2}, seed=1))
    seen = []
    stage.attendant = Watcher()
    preview.run()
    hands.close()
    agent.close()
print(json.dumps([seen, KEYS]))
"""


def test_every_display_and_all_feedback_that_may_come(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("p") / "gonogo.yaml"
    file.write_text(GO_NOGO, encoding="utf-8")
    trial = compile_trial(load_paradigm(str(file)), {"hand": "left"}, seed=1)
    phases = [view.phase for view in views(trial)]
    assert phases == ["fixation", *["probe", "probe", "feedback: right", "feedback: wrong", "feedback: missed"] * 3]
    assert [view.number for view in views(trial)] == [
        0,
        *(n for number in (1, 2, 3) for n in (number, number, 0, 0, 0)),
    ]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
def test_on_back_answer_and_leave() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STEPPING], capture_output=True, text=True, timeout=HANGS_S, env=one_thread()
    )
    assert done.returncode == 0, done.stderr
    seen, left = json.loads(done.stdout.splitlines()[-1])
    trial = compile_trial(load_paradigm("vsr"), {"list_length": 2}, seed=1)
    first, second = (
        f"correct: {step.percept.ask.kind.write(step.truth.answer)}"
        for step in trial.steps
        if step.percept.ask and step.truth.answer is not None
    )
    # A shows the answer to a question, takes it away again, and does nothing where nothing is
    # asked.
    assert [(number, answer) for number, _, answer in seen] == [
        (0, ""),
        (1, ""),
        (2, ""),
        (1, ""),
        (2, ""),
        (2, first),
        (3, ""),
        (3, second),
        (3, ""),
        (2, ""),
    ]
    assert seen[0][1] == f"1 / 4 · present · {trial.steps[0].percept.displays[0].ms:g} ms"
    assert seen[2][1] == "3 / 4 · probe · until the answer"
    assert not left


def test_without_a_display(run: Run) -> None:
    status, _, complaint = run("preview", "vsr")
    assert status == 1
    assert "there is no display" in complaint
