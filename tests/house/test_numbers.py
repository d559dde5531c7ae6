"""Numbers in documents are those of the software."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from spanlab.paradigms import list_paradigms

ROOT = Path(__file__).resolve().parents[2]
#: a document, the words around a number, and what is counted
COUNTED: list[tuple[str, str, Callable[[], int]]] = [
    ("README.md", r"ships with (\d+) paradigms", lambda: len(list_paradigms())),
]


@pytest.mark.parametrize(("document", "words", "count"), COUNTED)
def test_a_document_counts_rightly(document: str, words: str, count: Callable[[], int]) -> None:
    (said,) = re.findall(words, (ROOT / document).read_text(encoding="utf-8"))
    assert int(said.replace(",", "")) == count()
