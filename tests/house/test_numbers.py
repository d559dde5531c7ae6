"""Numbers in documents are those of the software."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import statements

from spanlab.paradigms import list_paradigms

ROOT = Path(__file__).resolve().parents[2]
#: a document, the words around a number, and what is counted
COUNTED: list[tuple[str, str, Callable[[], int]]] = [
    ("README.md", r"ships with (\d+) paradigms", lambda: len(list_paradigms())),
]
#: statements that the core and the extensions may have: whoever adds takes something away
CORE, EXTENSIONS = 42_000, 14_000


@pytest.mark.parametrize(("document", "words", "count"), COUNTED)
def test_a_document_counts_rightly(document: str, words: str, count: Callable[[], int]) -> None:
    (said,) = re.findall(words, (ROOT / document).read_text(encoding="utf-8"))
    assert int(said.replace(",", "")) == count()


def test_the_house_grows_no_further() -> None:
    rooms = statements.by_room(ROOT)
    extensions = sum(count for room, count in rooms.items() if room.partition("/")[0] == statements.EXTENSIONS)
    assert extensions <= EXTENSIONS
    assert rooms.total() - extensions <= CORE
