"""The programs beside this file whose last line is what they found, as JSON: windows, keys and sounds, each in a
process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def bench(program: str, *arguments: object, seconds: float = 3600, **environment: str) -> Any:
    """Run one, such as ``lab/window_bench``, to its end; what it found."""
    words = [sys.executable, str(HERE / f"{program}.py"), *map(str, arguments)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=seconds, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
