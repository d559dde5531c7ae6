"""What may happen to the apparatus while a session runs: the server of the display ends, the
display or a keyboard is unplugged, somebody leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from effort import HANGS_S
from keyboards import Keyboards
from paradigm_texts import short
from session_tools import command, ended_well, one_thread, spanlab
from x_server import XServer, x_server

from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
TRIALS = 5
#: each trial takes about a second
SHORT = short(200, 100)


@pytest.fixture
def server() -> Iterator[XServer]:
    """An X server of the test's own, to be maltreated."""
    with x_server("1280x1024") as server:
        yield server


def struck(data: Path, display: str, strike: Callable[[], object]) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A session with the simulated participant that something happens to in its third trial."""
    (file := data / "short.yaml").write_text(SHORT, encoding="utf-8")
    how = (
        "--simulate",
        "ideal@100",
        "--set",
        "list_length=2",
        "--trials",
        str(TRIALS),
        "--no-practice",
        "--seed",
        "1",
    )
    environment = {**one_thread(), "DISPLAY": display}
    process = subprocess.Popen(
        command("run", file, *how, "--data", data),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    events, end = data / "short-simulated-ideal-s1" / "events.jsonl", time.monotonic() + HANGS_S
    while not (events.exists() and events.read_bytes().count(b'"trial_end"') >= 2):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.5)
    strike()
    out, err = process.communicate(timeout=HANGS_S)
    return events.parent, subprocess.CompletedProcess(process.args, process.returncode, out, err)


def assert_told(folder: Path, done: subprocess.CompletedProcess[str], what: str, screen: str) -> None:
    """One sentence of what has happened, one of how to go on; finished trials are there, and the
    session goes on."""
    assert done.returncode == 1
    assert done.stdout == ""
    *_, first, second = done.stderr.strip().splitlines()
    assert what in first
    assert second == f"The finished trials are safe. Continue with: spanlab resume {folder}"
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
    events = read_events(folder)
    assert events[-1]["event"] == "interrupted"
    assert what in events[-1]["why"]
    before = read_responses(folder)
    assert before["trial"].nunique() >= 2
    ended_well(spanlab("resume", folder, env={**one_thread(), "DISPLAY": screen}))
    after = read_responses(folder)
    assert after["trial"].nunique() == TRIALS
    assert after[after["trial"].isin(before["trial"])].equals(before)


@pytest.mark.slow
def test_the_server_of_the_display_ends(tmp_path: Path, server: XServer, screen: str) -> None:
    folder, done = struck(tmp_path, server.display, server.process.kill)
    assert_told(folder, done, "the display is gone: its X server has ended", screen)


@pytest.mark.slow
def test_the_display_is_switched_off(tmp_path: Path, server: XServer, screen: str) -> None:
    """As a desktop does when the cable is pulled."""
    from Xlib import display

    def unplug() -> None:
        connection = display.Display(server.display)
        resources = connection.screen().root.xrandr_get_screen_resources()
        connection.xrandr_set_crtc_config(resources.crtcs[0], resources.config_timestamp, 0, 0, 0, 1, [])
        connection.close()

    folder, done = struck(tmp_path, server.display, unplug)
    assert_told(folder, done, "the display was unplugged, switched off or set to another mode (screen)", screen)


@pytest.mark.slow
def test_a_keyboard_is_unplugged(tmp_path: Path, server: XServer, screen: str) -> None:
    folder, done = struck(tmp_path, server.display, Keyboards(server.display).unplug)
    assert_told(folder, done, "a keyboard was unplugged or switched off (Lab XTEST keyboard)", screen)
