"""Verifying a card: every number is computed again from the sessions, and each session's table from
its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanlab.core import SpanLabError
from spanlab.sessions.record import read_events, read_session, read_table, response_rows

from .card import card_of, differences, published_cards, sessions_of
from .suite import Suite

#: differences that are listed
_MOST = 12


def problems_of(card: Mapping[str, Any], suite: Suite, data: str, people: Path | None = None) -> list[str]:
    """Find what a card says otherwise than its record; empty where nothing is.

    Raises
    ------
    SpanLabError
        when there is nothing to compute it from.
    """
    if card["suite"] != {"name": suite.suite, "version": suite.version, "sha256": suite.sha256}:
        of = card["suite"]
        return [
            f"the card is of suite {of['name']} {of['version']} ({of['sha256'][:12]}), and this one is {suite.called}"
            f" ({suite.sha256[:12]}); give it as --suite"
        ]
    if data == "published":
        again = next((one for one in published_cards(suite) if one["agent"]["name"] == card["agent"]["name"]), None)
        if again is None:
            raise SpanLabError(f"there are no published answers of {card['agent']['name']}")
        return _cut([*differences(dict(card), again)])
    if card["people"] is not None and people is None:
        raise SpanLabError(
            f"the card compares with people of its own ({card['people']['name']}): give their data with --people"
        )
    again = card_of(suite, Path(data), people, card["not_taken"], bool(card.get("accept_unread")))
    tables = [problem for folder, _ in sessions_of(suite, Path(data)) for problem in table_problems(folder)]
    return _cut([*tables, *differences({**card, "spanlab": ""}, {**again, "spanlab": ""})])


def table_problems(folder: Path) -> Iterator[str]:
    """Find where the table of a session says otherwise than its events; large sessions have a table
    alone."""
    if not (folder / "events.jsonl").exists() or (folder / "parts").exists():
        return
    names = ["trial", "answer", "correct", "outcome"]
    events = response_rows(read_session(folder), read_events(folder))
    table = read_table(folder, names).to_pylist()
    if len(events) != len(table):
        yield f"{folder.name}: its table has {len(table)} rows, and its events give {len(events)}"
        return
    for number, (row, kept) in enumerate(zip(events, table, strict=True), 1):
        wrong = [name for name in ("correct", "outcome") if row.get(name) != kept.get(name)]
        if wrong:
            yield (
                f"{folder.name}: row {number} of its table has {wrong[0]} {kept.get(wrong[0])!r}, and its events say"
                f" {row.get(wrong[0])!r}"
            )
            return


def _cut(problems: list[str]) -> list[str]:
    return problems if len(problems) <= _MOST else [*problems[:_MOST], f"and {len(problems) - _MOST} more"]
