"""The fixtures of the test suite itself: a private home and a screen of its own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from effort import at_most

from spanlab.sessions.record.reader import find_sessions


def test_home_is_private() -> None:
    assert Path.home() != Path(os.environ["REAL_HOME"])
    assert os.environ["PSYCHOPYNOPACKAGES"] == "1"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Xvfb is for Linux")
def test_no_display_unless_asked_for() -> None:
    assert "DISPLAY" not in os.environ


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Xvfb is for Linux")
def test_screen_can_be_drawn_on(screen: str) -> None:
    probe = "from Xlib.display import Display; s = Display().screen(); print(s.width_in_pixels, s.height_in_pixels)"
    out = subprocess.run(
        [sys.executable, "-c", probe], env={**os.environ, "DISPLAY": screen}, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["1280", "1024"]


@pytest.mark.parametrize("folder", [os.path.sep, tempfile.gettempdir(), os.environ["REAL_HOME"]])
def test_no_test_reads_what_is_not_its_own(folder: str) -> None:
    with pytest.raises(AssertionError, match="others have their things"):
        list(Path(folder).iterdir())
    with pytest.raises(AssertionError, match="others have their things"):
        find_sessions([folder])
    assert not list(Path().iterdir())  # the current folder is one of the tests' own


def test_work_is_told_by_a_ratio() -> None:
    with at_most(100):
        sum(range(1000))
    with pytest.raises(AssertionError, match="times the work of a million additions"), at_most(0.01):
        sum(number * number for number in range(300_000))
