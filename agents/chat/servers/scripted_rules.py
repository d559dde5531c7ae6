"""What the scripted server answers in the demonstration: simple rules over the words that it is sent, so that every curve of it can be foretold.

* Spatial free recall: the last red square, which it reads from the end of the message, and fixed other cells. Right at a list length of 1, mostly wrong at 18.
* Visual serial recall: the occupied positions, one after the other in reading order: right once in as many times as there are patterns.
* Spatial memory updating: always the middle cell, which is the most frequent answer (.217 in the long run).

The first rule whose conditions hold counts. ``messages_contain`` is about the whole conversation, ``previous_message_contains`` about the last message but one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....paradigms.responses import Cells, Choice
from ....stimuli import STIMULI

_GRID = 10
#: All published list lengths of spatial free recall.
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18)


def demonstration_rules(lengths: Sequence[int] = _LENGTHS) -> list[dict[str, Any]]:
    """The rules for ``vsr``, ``sfr`` and ``smu``; ``lengths`` are the list lengths that spatial free recall may have."""
    return [*_serial_recall(), *_updating(), *_free_recall(lengths)]


def _rule(name: str, content: str, **when: str) -> dict[str, Any]:
    return {"name": name, "when": when, "respond": {"content": content}}


def _serial_recall() -> Iterator[dict[str, Any]]:
    """The occupied position after the one that was answered last; the first one to begin with."""
    choice = Choice.model_validate({"options": 9})
    # an occupied position is followed by its pattern in a new line, an empty one by the word
    occupied = [f"Position {place}:\n" for place in range(1, 10)]
    for last in range(8):
        for place in range(last + 1, 9):
            conditions = {"previous_message_role": "assistant", "previous_message_contains": choice.write(last), "messages_contain": occupied[place]}
            yield _rule(f"position {place + 1} after {last + 1}", choice.write(place), **conditions)
    for place in range(9):
        yield _rule(f"position {place + 1} first", choice.write(place), messages_contain=occupied[place])


def _updating() -> Iterator[dict[str, Any]]:
    stimulus = STIMULI.get("boxes").model_validate({"count": 1})
    yield _rule("middle cell", Choice.model_validate({"options": 9}).write(4), messages_contain=stimulus.words().splitlines()[1])


def _free_recall(lengths: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The end of the last list display and all that follows it tell the last red square and how many are wanted."""
    squares, blank = STIMULI.get("squares"), STIMULI.get("blank")()
    others = [37 * n % _GRID**2 for n in range(_GRID**2)]  # spread over the grid
    for take in lengths:
        cells = Cells.model_validate({"grid": _GRID, "take": take})
        for last in range(_GRID**2):
            end = squares.model_validate({"grid": _GRID, "red": [last]}).words().splitlines()[-1]
            answer = (last, *(cell for cell in others if cell != last))[:take]
            yield _rule(f"{take} cells, last {last}", cells.write(answer), messages_contain=f"{end}\n\n{blank.words()}\n\n{cells.question()}")
