"""Verifying a card: every number is computed again from the sessions, and each session's table from
its events."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanlab.core import SpanLabError
from spanlab.paradigms import digest
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
    record = [
        problem
        for folder, _ in sessions_of(suite, Path(data))
        for problem in (*agent_problems(folder), *table_problems(folder))
    ]
    return _cut([*record, *differences({**card, "spanlab": ""}, {**again, "spanlab": ""})])


def agent_problems(folder: Path) -> Iterator[str]:
    """Find where the agent and the settings of a session are not those of their hash."""
    info = read_session(folder)
    kind, name = info["agent_kind"], info["agent"]
    if digest([kind, name, info["agent_settings"]]) != info["agent_settings_hash"]:
        yield f"{folder.name}: its agent_settings_hash is not that of {name} with the settings that it names"


def table_problems(folder: Path) -> Iterator[str]:
    """Find where the tables of a session say otherwise than its events."""
    if not (folder / "events.jsonl").exists():
        return
    events, stored = response_rows(read_session(folder), read_events(folder)), read_table(folder)
    yield from _first_difference(f"{folder.name}: its table", events, stored.to_pylist(), stored.column_names)
    if (copy := folder / "responses.csv").exists():
        with copy.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            rows, names = list(reader), list(reader.fieldnames or ())
        yield from _first_difference(f"{folder.name}: its {copy.name}", events, rows, names)


def _first_difference(
    table: str, events: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[str]:
    """Find the first cell of a table that its events give otherwise; older tables lack columns."""
    if len(events) != len(rows):
        yield f"{table} has {len(rows)} rows, and its events give {len(events)}"
        return
    for number, (given, kept) in enumerate(zip(events, rows, strict=True), 1):
        for name in names:
            if not _same(given.get(name), kept[name]):
                yield f"{table} has in row {number} {name} {kept[name]!r}, and its events say {given.get(name)!r}"
                return


def _same(given: Any, kept: Any) -> bool:
    """Return whether a cell is what events give: as it is, as JSON, or as a CSV file has it, all of
    whose cells are texts."""
    if given == kept or (given != given and kept != kept):
        return True
    if not isinstance(kept, str):
        return False
    if given is None:
        return kept == ""
    if isinstance(given, int | float) and not isinstance(given, bool):
        with suppress(ValueError):
            return float(kept) == given
    return kept == json.dumps(given)


def _cut(problems: list[str]) -> list[str]:
    return problems if len(problems) <= _MOST else [*problems[:_MOST], f"and {len(problems) - _MOST} more"]
