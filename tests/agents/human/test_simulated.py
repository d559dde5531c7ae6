"""The simulated participant: real keys and clicks through the window that people use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import HANGS_S
from processes import bench
from session_tools import ended_well, spanlab
from x_server import x_server

from spanlab.agents.human import SimulatedParticipant, moves
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")


def simulate(observer: str) -> dict[str, Any]:
    return bench("lab/lab_bench", f"simulated:{observer}")["simulated"]


def latest_ms(response: dict[str, Any]) -> float:
    """By how much a press is later than the hand had noted it, at most."""
    return max(
        press["rt_ms"] - noted
        for press, noted in zip(response["raw"]["presses"], response["notes"]["injected_ms"], strict=True)
    )


@linux
@pytest.mark.slow
def test_what_the_observer_decides_is_what_the_window_records() -> None:
    found = simulate("capacity:2")
    for _ in range(5):  # a busy machine makes the hand wait between its note and its press: then once more
        if max(latest_ms(answer["response"]) for answer in found["answers"]) < 20:
            break
        found = simulate("capacity:2")
    assert {answer["paradigm"] for answer in found["answers"]} == {"vsr", "sfr", "smu"}
    assert [answer["response"]["value"] for answer in found["answers"]] == [
        answer["intended"] for answer in found["answers"]
    ]
    assert any(answer["intended"] != answer["correct"] for answer in found["answers"])
    for answer in found["answers"]:
        response = answer["response"]
        assert response["outcome"] == "answered"
        assert "intended" not in response["notes"]
        # each press is there with the time at which the hand made it
        injected, recorded = response["notes"]["injected_ms"], [press["rt_ms"] for press in response["raw"]["presses"]]
        assert len(injected) == len(recorded)
        assert response["rt_ms"] == recorded[-1]
        # a busy machine makes the hand wait between its note and its press, never the other way
        # round; and no press has the time of another
        late = np.subtract.outer(np.array(recorded), np.array(injected))
        assert (np.diag(late) > -5).all()
        assert np.argmin(np.abs(late), axis=1).tolist() == list(range(len(injected)))
    assert (found["settings"]["observer"], found["settings"]["observer_places"], found["settings"]["speed"]) == (
        "capacity",
        2,
        4.0,
    )
    assert found["apparatus"]["tones"] == "ring" or found["apparatus"]["tones"].startswith("sound")


@linux
@pytest.mark.slow
def test_the_ideal_observer_makes_no_mistake_at_the_window() -> None:
    found = simulate("ideal")
    assert all(answer["response"]["value"] == answer["correct"] for answer in found["answers"])
    devices = {next(iter(press)) for answer in found["answers"] for press in answer["response"]["raw"]["presses"]}
    assert devices == {"key", "click"}


def test_settings_are_the_same_in_every_run_and_known_before_the_window_opens() -> None:
    one, other = (SimulatedParticipant("capacity:3", seed=2).settings() for _ in range(2))
    assert one == other
    assert json.loads(json.dumps(one)) == one
    assert one["reaction_times"]["answer_ms"] == [650.0, 90.0, 180.0]
    assert SimulatedParticipant("ideal").kind.oracle
    assert SimulatedParticipant("ideal").kind.name == "simulated"


def test_a_speed_of_nothing_is_refused() -> None:
    with pytest.raises(SpanLabError, match="speed"):
        SimulatedParticipant("ideal", speed=0)


def _says(*codes: str, **environment: str) -> list[str]:
    """The one sentence of the error that each code ends with, all run in one process."""
    wrapped = "from spanlab.core.errors import SpanLabError\n"
    for code in codes:
        wrapped += f"try:\n    {code}\nexcept SpanLabError as error:\n    print(error)\n"
    clean = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", wrapped], env={**clean, **environment}, capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(codes), done.stdout
    return said


@linux
@pytest.mark.slow
def test_without_a_display_or_xvfb_there_is_one_sentence() -> None:
    opened = "from spanlab.agents.human import Participant; Participant().open()"
    at = "import os; os.environ['DISPLAY'] = ':4711'; "
    virtual = "from spanlab.agents.human import virtual_screen; virtual_screen().__enter__()"
    unset, missing, no_server = _says(opened, at + opened, virtual, PATH="/nowhere")
    assert "DISPLAY is not set" in unset
    assert "xvfb-run" in unset
    assert ":4711" in missing
    assert "apt-get install xvfb" in no_server


@pytest.mark.slow
@linux
def test_a_canvas_that_does_not_fit_is_refused_with_the_size_that_does(screen: str) -> None:
    refused = "from spanlab.agents.human import Participant, WindowOptions; Participant(WindowOptions({})).open()"
    too_large, no_screen = _says(refused.format("width_cm=20, size_deg=30"), refused.format("screen=3"), DISPLAY=screen)
    assert "at most" in too_large
    assert "no screen 3: this display has 0 (1280 × 1024 at 0, 0); choose one of these with --screen" in no_screen


@pytest.mark.slow
@linux
def test_a_screen_that_is_not_there_is_told_before_anything_begins(screen: str, tmp_path: Path) -> None:
    ran = spanlab(
        "run",
        "vsr",
        "--simulate",
        "ideal",
        "--trials",
        "1",
        "--windowed",
        "--screen",
        "1",
        "--data",
        tmp_path / "data",
        timeout=300,
    )
    assert ran.returncode == 1
    assert "no screen 1: this display has 0 (1280 × 1024 at 0, 0)" in ran.stderr
    assert not (tmp_path / "data").exists()


@linux
@pytest.mark.slow
def test_the_window_opens_on_the_screen_that_was_asked_for(tmp_path: Path) -> None:
    """Two screens side by side, of different sizes."""
    says = (
        "from spanlab.agents.human import Participant, WindowOptions; one = Participant(WindowOptions(screen=%d));"
        " one.open()"
    )
    says += "; print(one.apparatus()['window_px'], flush=True)"
    with x_server("1024x768", "900x600") as server:
        for number, size in ((0, "[1024, 768]"), (1, "[900, 600]")):
            command = [sys.executable, "-c", says % number]
            done = subprocess.run(
                command,
                env={**os.environ, "DISPLAY": server.display},
                capture_output=True,
                text=True,
                timeout=HANGS_S,
                check=False,
            )
            assert done.stdout.strip() == size, done.stderr


_LEFT_DOWN = """
import json, time
from Xlib import X, XK, display
from Xlib.ext import xtest
from spanlab.agents.human import virtual_screen
from spanlab.agents.human.input.xtest import XTestInput

with virtual_screen(640, 480):
    killed = display.Display()
    code = killed.keysym_to_keycode(XK.string_to_keysym("space"))
    for what, detail in ((X.KeyPress, code), (X.ButtonPress, 1)):
        xtest.fake_input(killed, what, detail)
    killed.sync()

    def down():
        keys, pointer = killed.query_keymap(), killed.screen().root.query_pointer()
        return bool(keys[code // 8] >> code % 8 & 1), bool(pointer.mask & X.Button1Mask)

    before = down()
    hands = XTestInput(time.perf_counter, (640, 480), lambda: (0, 0))
    print(json.dumps([before, down()]))
    hands.close()
"""


def test_what_a_killed_program_left_pressed_is_released() -> None:
    """The X server takes no press of a key that is down already: whoever presses it next waits for
    ever."""
    done = ended_well(
        subprocess.run([sys.executable, "-c", _LEFT_DOWN], capture_output=True, text=True, timeout=HANGS_S)
    )
    assert json.loads(done.splitlines()[-1]) == [[True, True], [False, False]]


@pytest.mark.parametrize("by_mouse", [False, True])
@pytest.mark.parametrize("name", list_paradigms())
def test_moves_give_the_answer_for_which_they_were_chosen(name: str, by_mouse: bool) -> None:
    """In every paradigm, by keys and by mouse, without a window."""
    paradigm, random = load_paradigm(name), np.random.RandomState(1)
    for step in compile_trial(paradigm, paradigm.combinations()[-1], seed=3).steps:
        if (ask := step.percept.ask) is None:
            continue
        value, sheet, at = ask.kind.guess(random), AnswerSheet(ask, 0.0), 0.0
        for move in moves(ask, value, lambda keys: keys[-1]):
            at += 0.01
            if move.keys and not (by_mouse and (move.place or move.button)):
                presses = [Press("key", at, key=key) for key in move.keys]
            elif move.place is not None:
                presses = [Press("click", at, x=move.place[0], y=move.place[1])]
            else:
                presses = [Press("click", at, x=-1, y=-1, button=move.button)]
            for press in presses:
                sheet.take(press)
        assert sheet.response({}).value == value
