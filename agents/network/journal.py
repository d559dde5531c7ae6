"""The log of a training run, and what is shown meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ...errors import SpanLabError


class Journal:
    """``NAME.log.jsonl``: one JSON object a line, each with its ``event`` and ``step``.

    With ``keep_until`` an earlier log goes on after that step: later lines, written before an interruption, are dropped, since they come again.
    """

    def __init__(self, path: Path, keep_until: int | None = None) -> None:
        kept = _lines_until(path, keep_until) if keep_until is not None and path.exists() else []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise SpanLabError(f"cannot write {path} ({error.strerror or error}); choose another folder") from None
        self._file.writelines(line + "\n" for line in kept)
        self._file.flush()

    def write(self, event: str, **values: Any) -> None:
        """Add a line; it is in the file when this returns."""
        self._file.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _lines_until(path: Path, step: int) -> list[str]:
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            break  # the last line of a killed run may be cut off
        if entry.get("step", 0) <= step and entry.get("event") not in ("test", "end"):
            kept.append(line)
    return kept


class Progress:
    """Progress bars on the terminal, or nothing."""

    def __init__(self, shown: bool) -> None:
        columns = (
            TextColumn("{task.description:<17}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[said]}"),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), disable=not shown)
        self._current: Any = None

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    @contextmanager
    def stage(self, name: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
        """One bar; gives the function that advances it."""
        task = self._bar.add_task(name, total=total, completed=done, said="")
        self._current = task
        yield lambda count: self._bar.advance(task, count)

    def tell(self, text: str) -> None:
        """Show a few words beside the current bar."""
        if self._current is not None:
            self._bar.update(self._current, said=text)
