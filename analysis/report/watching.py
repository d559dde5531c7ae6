"""Run something again whenever the data behind it change: this polls their folders, so it works on
every disk and over networks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...core.errors import SpanLabError

#: Files that say that something happened; others (pictures, locks) come and go.
_ENDINGS = (".json", ".jsonl", ".parquet", ".csv", ".yaml")
#: What a poll sees: each file with its size and its time of change.
Seen = frozenset[tuple[str, int, int]]


def seen(paths: Sequence[str | Path], but: Path | None = None) -> Seen:
    """Every file of the data with its size and time of change, those in the folder ``but`` left
    out. Files that disappear meanwhile are left out."""
    return frozenset(state for path in paths for state in _files(Path(path), but))


def _files(path: Path, but: Path | None) -> Iterator[tuple[str, int, int]]:
    left_out = None if but is None else os.path.realpath(but)
    folders = (
        (folder, names) for folder, _, names in os.walk(path) if left_out is None or not _inside(folder, left_out)
    )
    inside = (
        (os.path.join(folder, name) for folder, names in folders for name in names) if path.is_dir() else [str(path)]
    )
    for file in inside:
        if not file.endswith(_ENDINGS):
            continue
        try:
            state = os.stat(file)
        except OSError:
            continue
        yield file, state.st_size, state.st_mtime_ns


def _inside(folder: str, other: str) -> bool:
    real = os.path.realpath(folder)
    return real == other or real.startswith(other + os.sep)


def watch(
    make: Callable[[], object],
    paths: Sequence[str | Path],
    *,
    every_s: float,
    sleep: Callable[[float], None],
    say: Callable[[str], None],
    but: Path | None = None,
) -> int:
    """Run something now and whenever its data have changed, until interrupted (Ctrl-C).

    Data that cannot be used yet (no session has begun) are reported once, and read again when they
    change.

    Parameters
    ----------
    make : makes it; may raise SpanLabError
    paths : the data
    every_s : seconds between two looks
    sleep : waits for some seconds
    say : tells the user
    but : a folder among the data that is none of them: where the result goes

    Returns
    -------
    int
        how many times it was made
    """
    made, before = 0, None
    try:
        while True:
            now = seen(paths, but)
            if now != before:
                before = now
                try:
                    make()
                except SpanLabError as error:
                    say(f"not yet: {error}")
                else:
                    made += 1
                    say(f"made {made} time{'' if made == 1 else 's'}; looking again every {every_s:g} s (Ctrl-C ends)")
            sleep(every_s)
    except KeyboardInterrupt:
        return made
