"""Large JSON files of the form ``{"name": [object, object, ...], ...}``, read one object at a time."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from spanlab.core import STRICT_JSON, SpanLabError

_CHUNK = 1 << 20
#: no single object is longer
_LONGEST = 1 << 24
_SPACE = " \t\r\n"
_OF_NUMBERS = "0123456789+-.eE"


def read_lists(path: Path) -> Generator[tuple[str, int, Any], None, None]:
    """Name of the list, number of the object in it (from 0), and the object; the number is -1, and
    the object None, once for each list when it begins.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or is not JSON of this form.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from _Stream(path, file).lists()
    except UnicodeDecodeError:
        raise SpanLabError(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise SpanLabError(f"{path} cannot be read: {error.strerror or error}") from None


class _Stream:
    """A text of which only a part is in memory."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path, self._file = path, file
        self._text, self._at, self._before, self._ended = "", 0, 0, False
        self._decoder = json.JSONDecoder(**STRICT_JSON)
        self._place = ""

    def lists(self) -> Iterator[tuple[str, int, Any]]:
        self._take("{")
        names: set[str] = set()
        while self._peek() != "}":
            name = self._value()
            if not isinstance(name, str) or name in names:
                self._fail("expected the name of a list, each once")
            names.add(name)
            self._place = f"in {name}, "
            self._take(":")
            self._take("[")
            yield name, -1, None
            number = 0
            while self._peek() != "]":
                self._place = f"trial {number} of {name}, "
                yield name, number, self._value()
                number += 1
                if self._peek() != "]":
                    self._take(",")
            self._take("]")
            if self._peek() != "}":
                self._take(",")
        self._take("}")
        if self._peek() != "":
            self._fail("expected nothing more")

    def _more(self, size: int = 0) -> None:
        """Read on, and forget what has been used."""
        size = max(size, _CHUNK)
        read = self._file.read(size)
        self._ended = len(read) < size
        self._before += self._at
        self._text, self._at = self._text[self._at :] + read, 0

    def _peek(self) -> str:
        """The next sign that is not a space; nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._more()

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            self._fail(f"expected {sign}")
        self._at += 1

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                # What ends with the text in memory may go on in the file; of a number, "1" with "."
                # or "e-" after it, too.
                if self._ended or self._text[end : end + 3].strip(_OF_NUMBERS):
                    self._at = end
                    return value
            except RecursionError:
                self._fail("nested too deep")
            except ValueError as error:
                if self._ended:
                    self._fail(getattr(error, "msg", str(error)))
            if len(self._text) - self._at > _LONGEST:
                self._fail(f"what begins here is not JSON, or longer than {_LONGEST} letters")
            self._more(len(self._text) - self._at)

    def _fail(self, why: str) -> NoReturn:
        raise SpanLabError(
            f"{self._path} is not JSON of lists of trials ({why}; {self._place}character {self._before + self._at + 1})"
        )
