"""The Makefile's work without make, bash or apt, such as on Windows: python scripts/tasks.py TASK [ARGUMENT ...]

setup      a virtual environment in .venv, with the packages in their tested versions
demo       the demonstration (its window needs a screen: give --me, or --browser for Chromium)
test       the quick tests; test-all: the slow ones, too
lint       style and types
docs       the site, build/site/index.html
bench      speed, measured here
measure    coverage and size of intervals and tests, anew (hours)

Further arguments go to the program that does the work, as make's ARGS does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / ".venv" / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(PROGRAMS / "python")

#: what each task runs, in this order; a name alone is a program of the environment
TASKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "setup": (("python", "-m", "pip", "install", "-c", "constraints.txt", "-e", ".[dev]"),),
    "demo": (("spanlab", "demo"),),
    "test": (("python", "-m", "pytest", "-n", "3", "--dist", "loadfile"),),
    "test-all": (("python", "-m", "pytest", "-n", "3", "--dist", "loadfile", "-m", "not servers"),),
    "lint": (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("pyright",)),
    "docs": (("python", "scripts/docs.py"), ("python", "scripts/paradigm_pages.py"), ("mkdocs", "build", "--strict")),
    "bench": (("python", "benchmarks/run.py"),),
    "measure": (
        ("python", "benchmarks/wordings.py"),
        ("python", "benchmarks/wordings_intervals.py"),
        ("python", "benchmarks/populations.py"),
        ("python", "benchmarks/coverage.py"),
    ),
}


def main() -> int:
    name, *arguments = sys.argv[1:] or ["--help"]
    if name not in TASKS:
        print(__doc__)
        return 0 if name in ("-h", "--help") else 2
    if not PROGRAMS.exists():
        venv.create(ROOT / ".venv", with_pip=True)
        if name != "setup":
            subprocess.run([PYTHON, *TASKS["setup"][0][1:]], cwd=ROOT, check=True)
    *before, last = TASKS[name]
    for program, *words in (*before, (*last, *arguments)):
        code = subprocess.run([str(PROGRAMS / program), *words], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
