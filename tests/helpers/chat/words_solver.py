"""A perfect reader of words: it gets the messages that a chat model gets, and nothing else, and
writes the right answers.

That it is always right proves that the words suffice. It knows the wording of the displays, and the
tasks from their instructions; it never sees a stimulus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MOVES = {"up": -3, "down": 3, "left": -1, "right": 1}


def solve(messages: Sequence[Mapping[str, Any]]) -> str:
    """The reply to a conversation that ends with a question.

    Parameters
    ----------
    messages : with ``role`` and ``content``, as an OpenAI-compatible server is sent them
    """
    displays = [
        display
        for message in messages
        if message["role"] != "assistant"
        for display in message["content"].split("\n\n")
    ]
    answered = sum(message["role"] == "assistant" for message in messages)
    for wording, reader in READERS:
        if any(re.match(wording, display) for display in displays):
            return reader(displays, answered)
    raise AssertionError(f"no display that the reader knows in: {displays}")


def _reported(displays: Sequence[str], answered: int) -> str:
    """The colour or the angle at the place whose outline is thick."""
    place = next(
        re.findall(r"outline at (\d) is thick", display)[0] for display in reversed(displays) if "is thick" in display
    )
    shown = next(display for display in displays if re.match("Eight places round a circle", display))
    return next(
        value for at, value in re.findall(r"^Place (\d): (?:colour )?(\d+)", shown, re.MULTILINE) if at == place
    )


def _patterns(displays: Sequence[str]) -> list[str]:
    """The rows of every display of a single grid, in order."""
    return [
        display.split("\n", 1)[1].strip() for display in displays if re.match(r"A \d+ x \d+ grid, row by row", display)
    ]


def _places(array: str) -> dict[str, str]:
    """The pattern at each position of an array."""
    return {
        place: pattern.strip()
        for place, pattern in re.findall(r"^Position (\d):\n((?:[#.]+\n?)+)", array, re.MULTILINE)
    }


def _serial_recall(displays: Sequence[str], answered: int) -> str:
    """Where the pattern is that was presented in the place of the list that is asked about: as many
    as were answered before it."""
    array = next(display for display in reversed(displays) if display.startswith("Nine positions"))
    return next(place for place, pattern in _places(array).items() if pattern == _patterns(displays)[answered])


def _words_in_order(displays: Sequence[str], answered: int) -> str:
    """The word that was presented in the place of the list that is asked about; it is in the array."""
    array = next(display for display in reversed(displays) if "Each holds one word" in display)
    listed = [display for display in displays if re.fullmatch(r"\S+", display)]
    assert sorted(listed) == sorted(re.findall(r"^Position \d+: (\S+)$", array, re.MULTILINE))
    return listed[answered]


def _free_recall(displays: Sequence[str], answered: int) -> str:
    """Every cell that was red."""
    return "; ".join(
        dict.fromkeys(
            cell
            for display in displays
            for cell in re.findall(r"\d+,\d+", "".join(re.findall(r"^Red: (.*)$", display, re.MULTILINE)))
        )
    )


def _updating(displays: Sequence[str], answered: int) -> str:
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


def _recognition(displays: Sequence[str], answered: int) -> str:
    """The side of the pattern that was among those presented."""
    pair = next(display for display in reversed(displays) if display.startswith("Two "))
    sides = re.findall(r"^(Left|Right):\n((?:[#.]+\n?)+)", pair, re.MULTILINE)
    (side,) = (side for side, pattern in sides if pattern.strip() in _patterns(displays))
    return side.lower()


def _symmetry(displays: Sequence[str], answered: int) -> str:
    """Whether all filled cells together look the same in a mirror."""
    overlaid = [
        "".join("#" if "#" in cells else "." for cells in zip(*rows, strict=True))
        for rows in zip(*map(str.split, _patterns(displays)), strict=True)
    ]
    return "symmetric" if all(row == row[::-1] for row in overlaid) else "asymmetric"


def _change(displays: Sequence[str], answered: int) -> str:
    """Whether the first and the last array hold the same bars."""
    arrays = [
        set(re.findall(r"^Bar \d+: (.*)$", display, re.MULTILINE))
        for display in displays
        if re.match(r"\d+ bars? on a canvas", display)
    ]
    return "same" if arrays[0] == arrays[-1] else "different"


def _span(displays: Sequence[str], answered: int) -> str:
    """The decision about the last display, or the place of the first or second item among eight."""
    shown = [display for display in displays if re.match(r"A large square|A 10 x 10 grid|Eight positions", display)]
    if colour := re.match(r"A large square filled with one colour: (\w+)", shown[-1]):
        return colour[1]
    if not shown[-1].startswith("Eight"):
        return _symmetry([shown[-1]], answered)
    item = sum(display.startswith("Eight") for display in shown) - 1
    dots = [
        tuple(map(int, cell))
        for display in displays
        for cell in re.findall(r"^A red dot in a green frame, at row,column (\d),(\d)", display)
    ]
    if not dots:
        pattern = _patterns([display for display in displays if display.startswith("A 4 x 4 grid")])[3 * item]
        return next(place for place, other in _places(shown[-1]).items() if other == pattern)
    (top, left), _, (bottom, right) = dots[3 * item : 3 * item + 3]
    words = [
        *["down"] * (bottom > top),
        *["up"] * (bottom < top),
        *["left"] * (right < left),
        *["right"] * (right > left),
    ]
    return re.findall(rf"^Position (\d): {' and '.join(words)}$", shown[-1], re.MULTILINE)[0]


def _switching(displays: Sequence[str], answered: int) -> str:
    """Where the marker is, in the row or in the column, as the last cue says."""
    cue = [display for display in displays if "A cue:" in display][-1]
    row, column = re.findall(r"A red marker in box (\d),(\d)", "\n".join(displays))[-1]
    return ("top/left", "bottom/right")[int(row if "above" in cue else column) - 1]


def _integration(displays: Sequence[str], answered: int) -> str:
    """Whether the lines in the red frame are those of all parts together."""
    parts: set[str] = set()
    probe: set[str] = set()
    for display in displays:
        if lines := re.search(r"^Lines: (.*)$", display, re.MULTILINE):
            (probe if "in a red frame" in display else parts).update(lines[1].split("; "))
    return "same" if parts == probe else "different"


def _nback(displays: Sequence[str], answered: int) -> str:
    """Whether the last item matches the one n before it, in the way that the instructions say."""
    told = next(display for display in displays if re.match(r"This is a \d+-back task", display))
    n = int(re.findall(r"\d+", told)[0])
    grids = [display.strip("` ") for display in displays if display.startswith("``` |")]
    if not grids:
        letters = [
            re.sub(r"[#$%&*@^~]", "", display)
            for display in displays
            if re.fullmatch(r"[#$%&*@^~]*[a-z][#$%&*@^~]*", display)
        ]
        return "m" if len(letters) > n and letters[-1] == letters[-1 - n] else "-"
    if len(grids) <= n:
        return "-"
    now, then = (
        next((row, line.split("|").index("X")) for row, line in enumerate(grid.split(" ")) if "X" in line)
        for grid in (grids[-1], grids[-1 - n])
    )
    if "same row" not in told:
        return "m" if now == then else "-"
    near = now[0] == then[0] or now[1] == then[1]
    return "m" if near and (now != then or "counts as well" in told) else "-"


def _listed(displays: Sequence[str]) -> list[str]:
    """The digits or letters that were shown alone, in order."""
    return [display for display in displays if re.fullmatch(r"[0-9A-Z]", display)]


def _item_recognition(displays: Sequence[str], answered: int) -> str:
    """Whether the digit in blue is one of those before it."""
    probe = next(display[0] for display in reversed(displays) if re.match(r"\d \(in blue", display))
    return "yes" if probe in _listed(displays) else "no"


def _digit_span(displays: Sequence[str], answered: int) -> str:
    """All digits, as they came or backwards, as the instructions say."""
    digits = _listed(displays)
    return " ".join(digits[::-1] if any("in the opposite order" in display for display in displays) else digits)


def _blocks(displays: Sequence[str], answered: int) -> str:
    """All blocks that were lit, as they came or backwards, as the instructions say."""
    lit = [place for display in displays for place in re.findall(r"^\d+ blocks; block (\d+) is lit", display)]
    return " ".join(lit[::-1] if any("in the opposite order" in display for display in displays) else lit)


def _equations_and_letters(displays: Sequence[str], answered: int) -> str:
    """Whether the last equation is true, or the letters in order."""
    equations = [display for display in displays if " = " in display]
    if answered < len(equations):
        first, second, sign, third, result = re.findall(r"^\((\d+) × (\d+)\) ([+−]) (\d+) = (\d+)$", equations[-1])[0]
        return str(int(first) * int(second) + int(sign.replace("−", "-") + third) == int(result)).lower()
    return " ".join(_listed(displays))


def _figures_and_squares(displays: Sequence[str], answered: int) -> str:
    """Whether the last figure is symmetric, or the numbers of the red squares in order."""
    figures = [display for display in displays if display.startswith("A 10 x 10 grid")]
    if answered < len(figures):
        return _symmetry(figures[-1:], answered)
    squares = _patterns([display for display in displays if display.startswith("A 4 x 4 grid, row")])
    return " ".join(str(square.replace("\n", "").index("#") + 1) for square in squares)


def _last_letters(displays: Sequence[str], answered: int) -> str:
    """The last letters, as many as the instructions say."""
    many = next(int(found[1]) for display in displays if (found := re.search(r"Remember the last (\d+)", display)))
    return " ".join(_listed(displays)[-many:])


def _together(display: str) -> list[str]:
    """The displays of several that are shown together, in words."""
    return re.split(r"^Display \d+, at [^\n]*:\n", display, flags=re.MULTILINE)[1:]


def _after_an_a(displays: Sequence[str], answered: int) -> str:
    """Whether the last letter is a blue X behind a black A."""
    letters = [display for display in displays if re.fullmatch(r"[A-Z]( \(in blue.*\))?", display)]
    return "target" if letters[-1].startswith("X (in blue") and letters[-2:-1] == ["A"] else "other"


def _middle_arrow(displays: Sequence[str], answered: int) -> str:
    """Where the arrow in the middle points."""
    row = next(display for display in reversed(displays) if re.fullmatch(r"[<>]{5}|--[<>]--|\W\W[<>]\W\W", display))
    return "left" if row[2] == "<" else "right"


def _last_of_its_kind(displays: Sequence[str], answered: int) -> str:
    """The place of the word that was shown last, of those to choose from."""
    words = [_together(display)[0].strip() for display in displays if "displays together" in display]
    array = next(display for display in reversed(displays) if "Each holds one word" in display)
    places = {word: place for place, word in re.findall(r"^Position (\d): (\S+)$", array, re.MULTILINE)}
    return places[next(word for word in reversed(words) if word in places)]


def _same_colour(displays: Sequence[str], answered: int) -> str:
    """Whether the one patch of the last display has the colour of its place in the first."""
    patches = [
        dict(re.findall(r"^Place (\d): colour (\d+)", display, re.MULTILINE))
        for display in displays
        if "Eight places round a circle" in display
    ]
    ((place, colour),) = patches[-1].items()
    return "same" if patches[0][place] == colour else "different"


def _judged(displays: Sequence[str], answered: int) -> str:
    """The judgement on the last digit that its word asks for."""
    rule, digit = (
        part.strip() for part in _together(next(one for one in reversed(displays) if "displays together" in one))
    )
    left = int(digit) < 5 if rule == "size" else int(digit) % 2 == 1
    return "left" if left else "right"


def _in_the_list_that_counts(displays: Sequence[str], answered: int) -> str:
    """Whether the last word is in the list of the colour that counts."""
    colour = next(found[1] for display in displays if (found := re.search(r"one colour: (\w+)", display)))
    lists = {
        found[2]: found[1].split()
        for display in displays
        for part in _together(display)
        if (found := re.fullmatch(r"(.*) \(in (\w+).*\)", part.strip()))
    }
    probe = next(display for display in reversed(displays) if re.fullmatch(r"\w+ \(in \w+.*\)", display))
    return "yes" if probe.split()[0] in lists[colour] else "no"


#: how a display (or the instructions) of only one kind of task begins, and the reader of that task;
#: the first that fits
READERS: tuple[tuple[str, Callable[[Sequence[str], int], str]], ...] = (
    (r"Letters come in pairs: first a black one", _after_an_a),
    (r"A cross appears, and then five signs in a row", _middle_arrow),
    (r"First you will see the names of some categories", _last_of_its_kind),
    (r"You will see some coloured squares for a moment", _same_colour),
    (r"(?s).*parity: is the digit odd or even", _judged),
    (r"You will see two lists of words", _in_the_list_that_counts),
    (r"You will see from one to six digits", _item_recognition),
    (r"You will see digits, one after another", _digit_span),
    (r"You will see nine blocks", _blocks),
    (r"You will see equations and letters by turns", _equations_and_letters),
    (r"You will see figures and red squares by turns", _figures_and_squares),
    (r"Before each list you are told how many letters you will have to give: \d+\.", _last_letters),
    (r"\w+ positions[^\n]+\nEach holds one word", _words_in_order),
    (r"Nine positions", _serial_recall),
    (r"Eight places round a circle", _reported),
    (r"Squares", _free_recall),
    (r"(?s).*Each box is a 3 x 3 grid", _updating),
    (r"Two \d+ x \d+ grids side by side", _recognition),
    (r"A figure of \w+ lines", _integration),
    (r"This is a \d+-back task", _nback),
    (r"\d+ bars? on a canvas", _change),
    (r"A red dot in a green frame|A 4 x 4 grid", _span),
    (r"Four white boxes", _switching),
    (r"A 10 x 10 grid", _symmetry),
)
