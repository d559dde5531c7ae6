"""Runs every program in this folder and prints what it measured as one table.

    python benchmarks/run.py [NAME ...]                     only these, such as: compile record
    python benchmarks/run.py --against CHECKOUT [TURNS]     this checkout and another one in turns, as ratios

A benchmark is a program of its own. Every line that it prints as ``measure <tab> value <tab> unit``
is a row of the table; its other lines are notes.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> int:
    if names[:1] == ["--against"]:
        return subprocess.run([sys.executable, HERE / "_against.py", *names[1:]]).returncode
    programs = {
        path.stem: path
        for path in sorted(HERE.glob("*.py"))
        if path != Path(__file__).resolve() and not path.stem.startswith("_")
    }
    unknown = set(names) - set(programs)
    if unknown:
        print(f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(programs)}", file=sys.stderr)
        return 2
    print(
        f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {_load()}\n",
        flush=True,
    )
    failed = []
    for name in names or programs:
        began = time.monotonic()
        done = subprocess.run([sys.executable, programs[name]], stdout=subprocess.PIPE, text=True)
        print(f"{name}  ({time.monotonic() - began:.0f} s)")
        for line in done.stdout.splitlines():
            cells = line.split("\t")
            print(f"  {cells[0]:<64}{_number(cells[1]):>14}  {cells[2]}" if len(cells) == 3 else f"  {line}")
        print(flush=True)
        failed += [name] if done.returncode else []
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _number(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
