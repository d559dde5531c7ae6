"""Open questions at a real window: what somebody writes is on record to the character."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("psychopy", reason="needs the extra 'lab': pip install 'spanlab[lab]'")

BENCH = Path(__file__).parents[2] / "helpers" / "lab" / "writing_bench.py"


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ('I said the letters aloud! It was a 2-back (hard). Why? *a* **b** "c": ~', "keys"),
        pytest.param("two\nlines - and = more", "mouse", marks=pytest.mark.slow),
        pytest.param("?", "keys", marks=pytest.mark.slow),
    ],
)
def test_what_is_typed_at_the_window_is_recorded_to_the_character(tmp_path: Path, text: str, by: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), str(tmp_path), text, by], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    step = json.loads(done.stdout)
    assert (step["outcome"], step["value"]) == ("answered", text)
    keys = {press.get("key") for press in step["raw"]["presses"]}
    assert keys <= {None, "tab", "return"}, "the text is on record, its keys are not"
