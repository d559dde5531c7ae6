"""A perfect reader of words: it gets the messages that a chat model gets, and nothing else, and writes the right answers.

That it is always right proves that the words suffice. It knows the wording of the displays, and the tasks from their instructions; it never sees a stimulus.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanlab.agents.chat.conversation import Message

_MOVES = {"up": -3, "down": 3, "left": -1, "right": 1}


def solve(messages: Sequence[Message]) -> str:
    """The reply to a conversation that ends with a question.

    Parameters
    ----------
    messages : with ``role`` and ``content``, as an OpenAI-compatible server is sent them
    """
    displays = [display for message in messages if message["role"] == "user" for display in message["content"].split("\n\n")]
    answered = sum(message["role"] == "assistant" for message in messages)
    if any(display.startswith("Nine positions") for display in displays):
        return _serial_recall(displays, answered)
    if any(display.startswith("Squares") for display in displays):
        return _free_recall(displays)
    if any("Each box is a 3 x 3 grid" in display for display in displays):
        return _updating(displays)
    raise AssertionError(f"no display that the reader knows in: {displays}")


def _serial_recall(displays: Sequence[str], answered: int) -> str:
    """Where the pattern is that was presented in the place of the list that is asked about: as many as were answered before it."""
    patterns = [display.split("\n", 1)[1] for display in displays if re.match(r"A \d+ x \d+ grid, row by row", display)]
    array = next(display for display in reversed(displays) if display.startswith("Nine positions"))
    places = dict(re.findall(r"^Position (\d):\n((?:[#.]+\n?)+)", array, re.MULTILINE))
    return next(place for place, pattern in places.items() if pattern.strip() == patterns[answered].strip())


def _free_recall(displays: Sequence[str]) -> str:
    """Every cell that was red."""
    return "; ".join(dict.fromkeys(cell for display in displays for cell in re.findall(r"\d+,\d+", "".join(re.findall(r"^Red: (.*)$", display, re.MULTILINE)))))


def _updating(displays: Sequence[str]) -> str:
    """Where the marker of the red box is after all arrows."""
    cells: dict[str, int] = {}
    probed = ""
    for display in displays:
        for box, says in re.findall(r"^Box (\d): (.*)$", display, re.MULTILINE):
            if marker := re.search(r"a red marker in cell (\d)", says):
                cells[box] = int(marker[1])
            elif arrow := re.search(r"an arrow that points (.*)$", says):
                cells[box] += sum(_MOVES[word] for word in arrow[1].split(" and "))
            elif says == "red":
                probed = box  # the last one that was red is the one that is asked about
    return str(cells[probed])
