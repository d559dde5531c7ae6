"""A dry run: no port at all."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....core.errors import SpanLabError
from .port import PortLost


class DryPort:
    """Takes every code and sends none; with a file, every byte that would have gone out is a line of it, with its time."""

    pulses = True
    heard = True

    def __init__(self, file: str = "") -> None:
        self.name = f"dry run{f' ({file})' if file else ''}"
        self._began = time.perf_counter()
        self._written: list[tuple[float, int]] = []
        self._path = file
        try:
            self.check()
        except PortLost as error:
            raise SpanLabError(f"a dry run cannot write what it would have sent ({error}); choose another file") from None

    def write(self, code: int) -> None:
        if self._path:
            self._written.append((time.perf_counter() - self._began, code))

    def check(self) -> None:
        """Writes to the file what has gathered."""
        written, self._written = self._written, []
        try:
            if self._path:
                with Path(self._path).open("a", encoding="ascii") as file:
                    file.writelines(f"{at * 1000:.3f}\t{code}\n" for at, code in written)
        except OSError as error:
            raise PortLost(f"{self._path}: {error.strerror or error}") from None

    def facts(self) -> dict[str, Any]:
        return {"file": self._path} if self._path else {}

    def close(self) -> None:
        with suppress(PortLost):
            self.check()
