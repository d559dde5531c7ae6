"""Counts the files on the way from ``vsr.yaml`` to a figure of serial positions: those whose
functions are called, and how often it goes from one to another.

python scripts/way.py [--files]        with --files: which ones, in the order in which the way meets them

The way is walked twice, and counted the second time: what is only imported, or only made ready once,
is not part of it.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: folders that are not part of the package
_NOT_OURS = {"tests", "scripts", "benchmarks", ".venv"}


class Way:
    """Which files of ours are met, in order, and how often the file changes."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = f"{root}/"
        self._known: dict[str, str] = {}
        self._last = ""
        self.files: dict[str, int] = {}
        self.changes = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """A profile function."""
        if event != "call":
            return
        code = frame.f_code
        name = self._known.get(code.co_filename)
        if name is None:
            below = code.co_filename.removeprefix(self._root)
            name = self._known[code.co_filename] = (
                below if below != code.co_filename and below.split("/")[0] not in _NOT_OURS else "-"
            )
        if name == "-":
            return
        self.files[name] = self.files.get(name, 0) + 1
        self.changes += name != self._last
        self._last = name


def go(data: Path) -> None:
    """From the file of a paradigm to a figure, as the command line and a notebook do it."""
    import spanlab

    result = spanlab.replay("vsr", agent="capacity", trials=12, seed=1, data=data)
    spanlab.figure("serial_position", result.folder).save(data / "serial_position.svg")


def count() -> Way:
    """The way, gone and counted."""
    way = Way()
    with tempfile.TemporaryDirectory() as folder:
        go(Path(folder) / "first")
        threading.setprofile(way)
        sys.setprofile(way)
        try:
            go(Path(folder) / "second")
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # pyright: ignore[reportArgumentType] (as its documentation says)
    return way


def main() -> int:
    """Print the count."""
    way = count()
    if "--files" in sys.argv[1:]:
        for name, calls in way.files.items():
            print(f"{calls:7,}  {name}")
    print(f"{len(way.files)} files, {way.changes:,} changes of file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
