"""Words are complete: from them alone, a reader gets back every parameter; and what looks different
reads differently."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stimuli_strategies import PARAMETERS, stimulus

from spanlab.stimuli import Stimulus
from spanlab.stimuli.render.pixels import render

RELAXED = settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def rows(lines: list[str]) -> list[int]:
    return [number for number, mark in enumerate("".join(lines)) if mark == "#"]


def colour(words: str) -> str:
    found = re.search(r"# = (?:\w+ \((#\w+)\)|([\w ]+?)),", words)
    assert found
    return found[1] or found[2]


def read_matrix(words: str) -> dict:
    grid = int(re.match(r"A (\d+) x", words)[1])  # type: ignore[index]
    return (
        {"grid": grid, "filled": []}
        if "all white" in words
        else {"grid": grid, "filled": rows(words.split("\n")[1:]), "colour": colour(words)}
    )


def read_side_by_side(words: str) -> dict:
    left, right = words.split("\nLeft:\n")[1].split("\nRight:\n")
    return {"left": rows(left.split("\n")), "right": rows(right.split("\n")), "colour": colour(words)}


def read_pattern_array(words: str) -> dict:
    places = re.split(r"\nPosition \d+:", words)[1:]
    grid = int(re.search(r"(\d+) x", words)[1])  # type: ignore[index]
    return {
        "grid": grid,
        "cells": [None if place == " empty" else rows(place.strip().split("\n")) for place in places],
        "colour": colour(words),
    }


def read_arrow_array(words: str) -> dict:
    return {"directions": [direction.replace(" and ", "_") for direction in re.findall(r"Position \d: (.+)", words)]}


def cells(text: str, grid: int) -> list[int]:
    return [(int(row) - 1) * grid + int(column) - 1 for row, column in re.findall(r"(\d+),(\d+)", text)]


def read_squares(words: str) -> dict:
    grid = int(re.search(r"(\d+) x", words)[1])  # type: ignore[index]
    green, red = words.split("\nGreen: ")[1].split("\nRed: ")
    return {"grid": grid, "green": cells(green, grid), "red": cells(red, grid)}


def read_boxes(words: str) -> dict:
    lines = re.findall(r"Box (\d+): (.+)", words)
    read: dict = {"count": len(lines), "markers": [None] * len(lines)}
    for number, says in lines:
        box = int(number) - 1
        if marker := re.search(r"cell (\d)", says):
            read["markers"][box] = int(marker[1]) - 1
        if arrow := re.search(r"points (.+)", says):
            read["arrow"] = {"box": box, "direction": arrow[1].replace(" and ", "_")}
        if says == "red":
            read["probed"] = box
    return read


def read_bars(words: str) -> dict:
    read = []
    for hue, way, x0, y0, x1, y1, rest in re.findall(
        r"Bar \d+: (\w+), (\w+), from x=(\d+), y=(\d+) to x=(\d+), y=(\d+), (.+)", words
    ):
        gap = None
        if found := re.search(r"from [xy]=(\d+) to [xy]=(\d+)", rest):
            first, last = map(int, found.groups())
            gap = [first, int(y0), last, int(y0)] if way == "horizontal" else [int(x0), first, int(x0), last]
        read.append({"at": [int(x0), int(y0), int(x1), int(y1)], "colour": hue, "gap": gap})
    return {"bars": read}


def read_figure(words: str) -> dict:
    lines = re.findall(r"(\d),(\d) to (\d),(\d)", words.split("Lines: ")[1])
    return {
        "lines": [[[int(a) - 1, int(b) - 1], [int(c) - 1, int(d) - 1]] for a, b, c, d in lines],
        "framed": "red frame" in words,
    }


def read_letter(words: str) -> dict:
    symbol, _, hue = words.partition(" (in ")
    return {"symbol": symbol, "colour": hue.rstrip(")") or "black"} if hue else {"symbol": words}


def read_letter_grid(words: str) -> dict:
    lines = words.strip("` ").split(" ")
    contents = {
        number: mark for number, mark in enumerate("".join(line.replace("|", "") for line in lines)) if mark != "_"
    }
    at = next(place for place, mark in contents.items() if mark == "X")
    return {"grid": len(lines), "at": at, "noise": {place: mark for place, mark in contents.items() if place != at}}


def read_dot(words: str) -> dict:
    return {"cell": cells(words.split("at row,column ")[1].split(" of")[0], 3)[0]}


def read_switch_boxes(words: str) -> dict:
    if "A red marker" in words:
        return {"marker": cells(words.split("A red marker in box ")[1], 2)[0]}
    return {"cue": "up_down"} if "above" in words else {"cue": "left_right"} if "A cue" in words else {}


def read_noise(words: str) -> dict:
    return {"seed": int(words.split("noise number ")[1].rstrip(")."))}


def read_word(words: str) -> dict:
    return {"word": words}


def read_word_array(words: str) -> dict:
    return {
        "places": [
            None if word == "no word" else word for word in re.findall(r"^Position \d+: (.+)$", words, re.MULTILINE)
        ]
    }


def read_tone(words: str) -> dict:
    hertz, ms = re.findall(r"\d+", words)
    return {"frequency_hz": int(hertz), "ms": int(ms)}


def places_of(words: str, unit: str) -> list[int | None]:
    return [
        None if says == "empty" else int(says.replace(unit, ""))
        for says in re.findall(r"^Place \d+: (.+)$", words, re.MULTILINE)
    ]


def read_colour_patches(words: str) -> dict:
    return {"colours": places_of(words, "colour "), "size": int(re.search(r"squares (\d+) units", words)[1])}  # type: ignore[index]


def read_bar_patches(words: str) -> dict:
    colour, width = re.search(r"; (\w+) bars, 14 units long and (\d) wide", words).groups()  # type: ignore[union-attr]
    return {"angles": places_of(words, " degrees"), "colour": colour, "width": int(width)}


def read_report_wheel(words: str) -> dict:
    read: dict = (
        {"wheel": "plain"}
        if words.startswith("A plain wheel")
        else {"wheel": "colours", "turned": int(re.search(r"is (\d+) degrees", words)[1])}  # type: ignore[index]
    )
    read |= {"outline": "circle" if "circle outlines" in words else "square", "size": 12}  # type: ignore[index]
    if found := re.search(r"from the middle at ([\d, ]+)", words):
        read["filled"] = [int(place) - 1 for place in found[1].split(", ")]
    if thick := re.search(r"outline at (\d+) is thick", words):
        read["probed"] = int(thick[1]) - 1
    return read


READERS: dict[str, Callable[[str], dict]] = {
    name.removeprefix("read_"): reader for name, reader in globals().copy().items() if name.startswith("read_")
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", sorted(READERS))
def test_a_reader_gets_everything_back(name: str) -> None:
    @RELAXED
    @given(parameters=PARAMETERS[name])
    def check(parameters: dict) -> None:
        shown = stimulus(name, parameters)
        assert stimulus(name, READERS[name](shown.words())) == shown

    check()


@RELAXED
@given(st.data())
def test_what_looks_different_reads_differently(data: st.DataObject) -> None:
    """The size of lettering apart."""
    name = data.draw(st.sampled_from(sorted(set(PARAMETERS) - {"text"})))
    one, other = (stimulus(name, data.draw(PARAMETERS[name])) for _ in range(2))
    if one.words() == other.words():
        assert render(one.scene()).tobytes() == render(other.scene()).tobytes()


def words_of(name: str, **parameters: object) -> str:
    shown: Stimulus = stimulus(name, dict(parameters))
    return shown.words()


def test_the_wording() -> None:
    assert (
        words_of("matrix", grid=3, filled=[0, 4, 8])
        == "A 3 x 3 grid, row by row from the top (# = green, . = white):\n#..\n.#.\n..#"
    )
    assert "Position 1: empty\nPosition 2:\n##\n..\nPosition 3: empty" in words_of(
        "pattern_array", grid=2, cells=[None, [0, 1], *[None] * 7]
    )
    assert words_of("squares", green=[11], red=[9, 90]).endswith("Green: 2,2\nRed: 1,10; 10,1")
    assert words_of("boxes", count=2, markers=[4, 0]).endswith(
        "Box 1: green, a red marker in cell 5\nBox 2: green, a red marker in cell 1"
    )
    assert words_of("boxes", count=2, arrow={"box": 1, "direction": "upright_downleft"}).endswith(
        "Box 1: green\nBox 2: green, an arrow that points down and left"
    )
    assert words_of("letter_grid", at=3) == "``` |_|_|_| |X|_|_| |_|_|_| ```"
    assert words_of("letter", symbol="k") == "k"
    assert words_of("colour_field", colour="#880808") == "A large square filled with one colour: red (#880808)."


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("matrix", {"filled": [36]}, "cell 36 is outside the 6 x 6 grid"),
        ("matrix", {"filled": [1, 1]}, "cell 1 is given twice"),
        ("matrix", {"filled": [1], "colour": "gren"}, "unknown colour 'gren'; did you mean 'green'?"),
        ("matrix", {"filled": [1], "colour": "white"}, "another colour"),
        ("matrix", {"filled": [1], "margin": 40, "grid": 16}, "no room"),
        ("matrix", {"filled": [True]}, "integer"),
        ("pattern_array", {"cells": [[1]]}, "nine places"),
        ("pattern_array", {"cells": [[99], *[None] * 8]}, "pattern at position 1"),
        ("squares", {"green": [3], "red": [3]}, "cell 3 is both green and red"),
        ("boxes", {"count": 2, "markers": [0]}, "found 1"),
        ("boxes", {"count": 2, "markers": [0, 9]}, "marker cell 9"),
        ("boxes", {"count": 2, "probed": 2}, "boxes are 0 to 1"),
        ("boxes", {"count": 2, "probed": 0, "markers": [1, 2]}, "only one of these"),
        ("boxes", {"count": 2, "arrow": {"box": 0, "direction": "upp"}}, "did you mean 'up'?"),
        ("arrow_array", {"directions": ["up"]}, "eight places"),
        ("figure", {"lines": [[0, 0], [2, 2]]}, "not neighbours"),
        ("figure", {"lines": [[0, 0]]}, "at least two points"),
        ("figure", {"lines": [[0, 0], "x"]}, "a path of points"),
        ("bars", {"bars": [{"at": [0, 0, 9, 5]}]}, "horizontal or vertical"),
        ("bars", {"bars": [{"at": [0, 0, 9, 0], "gap": [0, 5, 3, 5]}]}, "on the bar"),
        ("letter", {"symbol": " x"}, "space"),
        ("letter", {"symbol": "漢"}, "typeface has no"),
        ("letter_grid", {"at": 9}, "cell 9 is outside"),
        ("letter_grid", {"at": 3, "noise": {3: "%"}}, "share a cell"),
        ("letter_grid", {"at": 3, "noise": 5}, "tuple"),
        ("text", {"text": " \n "}, "empty"),
        ("text", {"text": "x" * 3000}, "too long"),
        ("switch_boxes", {"cue": "up_down", "marker": 1}, "either a cue or a marker"),
        ("colour_patches", {"colours": [360, *[None] * 7]}, "less than 360"),
        ("colour_patches", {"colours": [1]}, "expected eight places"),
        ("colour_patches", {"colours": [None] * 8}, "at least one"),
        ("bar_patches", {"angles": [10, *[None] * 7], "width": 20}, "longer than wide"),
        ("report_wheel", {"wheel": "plain", "filled": [8]}, "places are 0 to 7"),
        ("report_wheel", {"wheel": "plain", "filled": [1], "probed": 2}, "among those filled"),
        ("report_wheel", {"wheel": "plain", "turned": 3}, "looks the same"),
        ("report_wheel", {"wheel": "colours", "filled": [1, 1]}, "given twice"),
        ("report_wheel", {"wheel": "colours", "radius": 38}, "within the wheel"),
        ("word", {"word": "two words"}, "expected one word"),
        ("word", {"word": "pneumonoultramicroscopicsilicosis"}, "longer than 24 letters"),
        ("word", {"word": "漢字"}, "typeface has no"),
        ("word_array", {"places": ["lion"] * 8}, "nine places (or four, or sixteen); found 8"),
        ("word_array", {"places": ["lion", " ", None, None]}, "expected one word"),
    ],
)
def test_wrong_parameters_are_named(name: str, parameters: dict, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        stimulus(name, parameters)
