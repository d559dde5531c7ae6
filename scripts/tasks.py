"""The Makefile's work without make, bash or apt, such as on Windows: python scripts/tasks.py TASK [ARGUMENT ...]

setup         a virtual environment in .venv, with the packages in their tested versions
demo          the demonstration (its window needs a screen)
test          style, types and the quick tests; test-all: also the slow ones, and types for every system
test-servers  tiny chat models (compiles, the first time)
style         style and types; lint: the same, and types for Windows and macOS
docs          the site, build/site/index.html, from documents and code
bench         speed, measured here
measure       coverage and size of intervals and tests, anew (hours)
clean         remove what these made, except data
help          this list

Further arguments go to the program that does the work, as make's ARGS does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / ".venv" / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(PROGRAMS / "python")

STYLE = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("pyright",),
    ("python", "scripts/page_tools.py", "check"),
)
LINT = (
    *STYLE,
    *(("pyright", "-p", "scripts/platform_types.json", "--pythonplatform", system) for system in ("Windows", "Darwin")),
)
PYTEST = ("python", "-m", "pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
#: what each task runs, in this order; a name alone is a program of the environment
TASKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "setup": (
        ("python", "-m", "pip", "install", "-c", "constraints.txt", "-e", ".[dev]"),
        ("python", "scripts/page_tools.py", "install"),
    ),
    "demo": (("spanlab", "demo"),),
    "test": (*STYLE, PYTEST),
    "test-all": (*LINT, (*PYTEST, "--hypothesis-profile=others", "-m", "not servers and not soak")),
    "test-servers": (
        ("python", "tests/servers/install.py"),
        ("python", "-m", "pytest", "-m", "servers", "tests/servers"),
    ),
    "style": STYLE,
    "lint": LINT,
    "docs": (
        ("python", "scripts/docs.py"),
        ("python", "scripts/paradigm_pages.py"),
        ("spanlab", "reproduce", "worm", "-o", "docs/reproduction/worm", "--data", "runs/reproduction"),
        ("spanlab", "reproduce", "nback", "-o", "docs/reproduction/nback", "--data", "runs/reproduction"),
        ("mkdocs", "build", "--strict"),
    ),
    "bench": (("python", "benchmarks/run.py"),),
    "measure": (
        ("python", "-m", "pytest", "-m", "soak"),
        ("python", "benchmarks/wordings.py"),
        ("python", "benchmarks/wordings_intervals.py"),
        ("python", "benchmarks/populations.py"),
        ("python", "benchmarks/null_pages.py"),
        ("python", "benchmarks/coverage.py"),
    ),
    "clean": (),
}
#: what clean removes
MADE = (".venv", "build", "dist", "*.egg-info", ".ruff_cache", ".hypothesis", "**/__pycache__")


def clean() -> None:
    for made in [path for pattern in MADE for path in ROOT.glob(pattern)]:
        shutil.rmtree(made, ignore_errors=True)


def main() -> int:
    name, *arguments = sys.argv[1:] or ["help"]
    if name not in TASKS:
        print(__doc__)
        return 0 if name in ("-h", "--help", "help") else 2
    if name == "clean":
        clean()
        return 0
    if not PROGRAMS.exists():
        venv.create(ROOT / ".venv", with_pip=True)
        if name != "setup":
            (_, *packages), (_, *tools) = TASKS["setup"]
            subprocess.run([PYTHON, *packages], cwd=ROOT, check=True)
            subprocess.run([PYTHON, *tools], cwd=ROOT, check=False)  # without them the page in browsers is not checked
    *before, last = TASKS[name]
    for program, *words in (*before, (*last, *arguments)):
        code = subprocess.run([str(PROGRAMS / program), *words], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
