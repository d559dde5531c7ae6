"""What processes of their own do: programs of the helpers that say what they found, and with studies. The latter are
spawned, as on every system: a fork would inherit locks and threads, and there is none on Windows."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from effort import HANGS_S
from session_tools import ended_well
from study_files import Guest, take

from spanlab.sessions.studies.study import load_study

_HELPERS = Path(__file__).resolve().parents[1]
_SPAWN = multiprocessing.get_context("spawn")


def bench(program: str, *arguments: object, seconds: float = 3600, **environment: str) -> Any:
    """What a program of the helpers, such as ``lab/lab_bench``, prints in its last line, as JSON."""
    words = [sys.executable, str(_HELPERS / f"{program}.py"), *map(str, arguments)]
    done = ended_well(
        subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, check=False, env={**os.environ, **environment}
        )
    )
    return json.loads(done.splitlines()[-1])


def spawned(work: Callable[..., None], *arguments: Any) -> int | None:
    """Do something in a process; its exit status."""
    process = _SPAWN.Process(target=work, args=arguments)
    process.start()
    process.join(HANGS_S)
    return process.exitcode


def killed_at(study: Path, data: Path, existing: str, n: int) -> None:
    """Take a session until the ``n``-th thing happens, and end there without a word."""
    left = [n]

    def leaves(what: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)

    take(load_study(study), data, existing=existing, guest=Guest(leaves))
