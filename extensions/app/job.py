"""One command of the command line as a process of its own, which outlives the app: ``python -m
spanlab.extensions.app.job FOLDER``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

#: files of a job: what it is, what it printed, and how it ended
JOB, PRINTED, ENDED = "job.json", "printed.txt", "ended.json"


def main(folder: Path) -> int:
    """Run the command of a job, and write how it ended; Ctrl-C is left to the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
    with (folder / PRINTED).open("ab") as printed:
        child = subprocess.Popen(
            [sys.executable, "-m", "spanlab", *job["arguments"]],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "120"},
            preexec_fn=_heed_ctrl_c if os.name == "posix" else None,
        )
        code = child.wait()
    whole = folder / (ENDED + ".new")
    whole.write_text(json.dumps({"code": code}), encoding="utf-8")
    whole.replace(folder / ENDED)
    return code


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
