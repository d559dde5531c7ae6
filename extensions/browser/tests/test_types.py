"""The types that the page declares are those of what goes over the line, in both directions."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import BaseModel

from spanlab.extensions.browser.participant.messages import words
from spanlab.extensions.browser.participant.reports import (
    Absence,
    DisplayReport,
    EndReport,
    PressReport,
    ScreenChange,
    StepReport,
)
from spanlab.extensions.browser.participant.screen import ScreenReport
from spanlab.extensions.browser.visits.messages import Event

PAGE = Path(str(files("spanlab.extensions.browser.participant") / "page"))
DECLARED = (PAGE / "messages.d.ts").read_text(encoding="utf-8")


def test_the_page_says_itself_what_it_is_given() -> None:
    listed = DECLARED[DECLARED.index("export type WordName") :]
    assert set(re.findall(r'"(\w+)"', listed[: listed.index(";")])) == set(words("en"))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Press", PressReport),
        ("Shown", DisplayReport),
        ("Absence", Absence),
        ("ScreenChange", ScreenChange),
        ("StepReport", StepReport),
        ("EndReport", EndReport),
        ("ScreenReport", ScreenReport),
        ("PageEvent", Event),
    ],
)
def test_what_the_page_says_is_what_the_server_reads(name: str, model: type[BaseModel]) -> None:
    block = DECLARED[DECLARED.index(f"export interface {name} {{") :]
    fields = set(re.findall(r"^  (\w+)\??:", block[: block.index("\n}")], flags=re.MULTILINE))
    assert fields == set(model.model_fields) - {"type"}
