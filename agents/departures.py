"""Fate of the requests of an agent that pays for replies, by the lines of its :class:`.Journal`,
all parts of a session together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InVain:
    """Departures without a reply that was kept, and without a refusal.

    Parameters
    ----------
    count : how many: all of those may have been paid for in vain
    in_doubt : of these, how many may or may not have reached the server: the program was killed
        while they left, or a connection was closed under them
    """

    count: int
    in_doubt: int


def in_vain(lines: Iterable[Mapping[str, Any]]) -> InVain:
    """Return how many times a request left without its reply being kept or refused."""
    under_way: dict[tuple[Any, ...], list[bool]] = {}  # whether each of them is gone
    lost = in_doubt = 0
    for line in lines:
        departures = under_way.setdefault(_which(line), [])
        if line.get("begun") is True:
            departures.append(False)
        elif not departures:
            continue
        elif line.get("gone") is True:
            departures[-1] = True
        elif line.get("lost") is True:
            departures.pop()
            lost += 1
            in_doubt += line.get("in_doubt") is True
        elif ("reply" in line and not line["reply"].get("cached")) or _is_refusal(line):
            departures.pop()
    in_flight = [has_left for departures in under_way.values() for has_left in departures]
    return InVain(lost + len(in_flight), in_doubt + in_flight.count(False))


def refused(lines: Iterable[Mapping[str, Any]]) -> int:
    """Return how many requests the server refused."""
    return sum(map(_is_refusal, lines))


def taken_in_vain(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tokens that the server counted for requests that came to nothing, where it told them."""
    return [line["taken"] for line in lines if line.get("lost") is True and isinstance(line.get("taken"), dict)]


def faults(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the faults on the way to replies, by the word for each."""
    return Counter(str(line["fault"]) for line in lines if "fault" in line)


def _which(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["trial"], line["attempt"], line["ask"], line["request"]


def _is_refusal(line: Mapping[str, Any]) -> bool:
    return line.get("refused") is True
