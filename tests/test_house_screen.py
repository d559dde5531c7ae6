"""The fixtures of the test suite itself: a private home and a screen of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_home_is_private() -> None:
    assert Path.home() != Path(os.environ["REAL_HOME"])
    assert os.environ["PSYCHOPYNOPACKAGES"] == "1"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Xvfb is for Linux")
def test_no_display_unless_asked_for() -> None:
    assert "DISPLAY" not in os.environ


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Xvfb is for Linux")
def test_screen_can_be_drawn_on(screen: str) -> None:
    probe = "from Xlib.display import Display; s = Display().screen(); print(s.width_in_pixels, s.height_in_pixels)"
    out = subprocess.run([sys.executable, "-c", probe], env={**os.environ, "DISPLAY": screen}, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["1280", "1024"]
