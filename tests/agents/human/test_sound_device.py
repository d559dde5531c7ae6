"""Sounds in a real window, played by a real sound library to a sound server without a loudspeaker, and recorded there."""

from __future__ import annotations

import ctypes.util
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "helpers" / "sounds" / "sound_bench.py"
lacking = [name for name in ("jackd", "Xvfb") if shutil.which(name) is None]
lacking += [name for name in ("psychtoolbox", "psychopy") if importlib.util.find_spec(name) is None]
lacking += [] if ctypes.util.find_library("jack") else ["libjack"]


@pytest.mark.slow
@pytest.mark.skipif(bool(lacking) or not sys.platform.startswith("linux"), reason=f"needs a JACK sound server and a window: {', '.join(lacking) or 'Linux'}")
def test_what_is_heard_is_the_file_at_the_time_that_is_recorded() -> None:
    """How late sounds are on this machine is measured, and not judged: others are busy on it. What is recorded must agree with what was heard."""
    found = json.loads(subprocess.run([sys.executable, str(BENCH), "12"], stdout=subprocess.PIPE, check=True, timeout=200).stdout)
    assert found["facts"]["backend"] == "Psychtoolbox PsychPortAudio"
    assert found["facts"]["declared_latency_ms"] > 0
    assert statistics.median(found["alike"]) > 0.999, "the samples of the file, and nothing else"
    assert abs(statistics.median(found["lag_ms"])) < 50, "heard when the record says; the clock of a server that was kept waiting takes seconds to settle"
    assert len(found["after_display_ms"]) == 12
