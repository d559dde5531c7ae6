"""Observers who lack one thing, in tasks with lists: recognition, serial recognition, serial recall
of patterns and words, free recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from fidelity_observers import Found, Known, Observer, among, answers, asked, nothing, shown, stimulus_of

from spanlab.paradigms import Trial


def list_observers() -> Iterator[Observer]:
    """The rows of these tasks."""
    yield from _recognition()
    yield from _recall()
    yield from _free_recall()


def _recognition() -> Iterator[Observer]:
    four = {"list_length": 4}
    for name in ("vir", "vsrec"):
        yield Observer(
            (name,),
            "lists of 4",
            "first display (first pattern)",
            "other patterns of the list",
            _other_patterns(1),
            four,
        )
        yield Observer((name,), "", "order of patterns", "which of the two was in the list", _other_patterns(0))
        yield Observer((name,), "", "whole list", "in which of the two more filled cells are neighbours", texture)
        yield Observer((name,), "", "last display (both patterns)", "nothing", nothing())


def _other_patterns(unseen: int) -> Any:
    """A choice between two patterns when some of the list were not seen."""

    def guess(trial: Trial) -> Found:
        seen = [stimulus.filled for stimulus in shown(trial, "present")][unseen:]
        found: list[Known | bool] = []
        for step in asked(trial):
            pair = stimulus_of(step)
            there = [side for side, pattern in (("left", pair.left), ("right", pair.right)) if pattern in seen]
            found.append(there[0] == step.truth.answer if len(there) == 1 else Known(len(there), step.truth.answer))
        return found

    return guess


def texture(trial: Trial) -> Found:
    """In which of two patterns more filled cells are neighbours."""

    def neighbours(pattern: Sequence[int]) -> int:
        filled = set(pattern)
        return sum((cell % 6 < 5 and cell + 1 in filled) + (cell + 6 in filled) for cell in filled)

    pairs = [(stimulus_of(step), step.truth.answer) for step in asked(trial)]
    return [Known(int(np.sign(neighbours(pair.left) - neighbours(pair.right))), answer) for pair, answer in pairs]


def _recall() -> Iterator[Observer]:
    words = (("lsr", "lsr_published"), ("lsr_long", "lsr_published_long"))
    for names, items in ((("vsr",), "patterns"), *((names, "words") for names in words)):
        for length in (3, 6, 9):
            yield Observer(
                names,
                f"lists of {length}",
                f"order of {items}",
                f"which {items} were in the list",
                _unordered,
                {"list_length": length},
            )
        yield Observer(
            names,
            "lists of 6",
            f"first display (first of the {items})",
            "it is the one that is left over",
            _left_over,
            {"list_length": 6},
        )
        goes_by, guess = ("nothing", nothing()) if items == "patterns" else ("the words themselves", _said)
        yield Observer(names, "", "last display (the array)", goes_by, guess)
        if items == "patterns":
            yield Observer(
                names,
                "lists of 6",
                "which pattern is at which place",
                "places that are taken",
                _unordered,
                {"list_length": 6},
            )
        else:
            yield Observer(names, "", "places of words", "the words themselves", _said)


def _there(trial: Trial) -> list[Any]:
    """What can be chosen: places that are taken, or words."""
    stimulus = shown(trial, "probe")[0]
    if hasattr(stimulus, "places"):
        return sorted(word for word in stimulus.places if word is not None)
    return [place for place, pattern in enumerate(stimulus.cells) if pattern is not None]


def _unordered(trial: Trial) -> Found:
    """Each is asked for once, so that somebody who names all of them in any order gets one right on
    average."""
    return [among(_there(trial), answer) for answer in answers(trial)]


def _left_over(trial: Trial) -> Found:
    """Everything but the first item is known with its place in the list, and the array shows one
    more."""
    seen, probe = shown(trial, "present")[1:], shown(trial, "probe")[0]
    if hasattr(probe, "places"):
        known = [item.word for item in seen]
        unknown = [word for word in probe.places if word is not None and word not in known]
    else:
        known = [probe.cells.index(item.filled) for item in seen]
        unknown = [place for place, pattern in enumerate(probe.cells) if pattern is not None and place not in known]
    (first,) = unknown
    return [given == answer for given, answer in zip([first, *known], answers(trial), strict=True)]


def _said(trial: Trial) -> Found:
    return [item.word == answer for item, answer in zip(shown(trial, "present"), answers(trial), strict=True)]


def _free_recall() -> Iterator[Observer]:
    for length in (4, 12):
        levels, condition = {"list_length": length}, f"lists of {length}"
        yield Observer(
            ("sfr",),
            condition,
            "first display (first red square)",
            "the others, and a guess among 30 squares without these",
            _red(1),
            levels,
        )
        yield Observer(("sfr",), condition, "which squares were red", "places of the 30 squares", _red(length), levels)
    yield Observer(("sfr",), "", "order", "which squares were red", _red(0))


def _red(unseen: int) -> Any:
    """The squares that were seen to be red, and a guess among all others for those that were not."""

    def guess(trial: Trial) -> Found:
        steps = shown(trial, "present")
        visible = sorted({*steps[0].green, *steps[0].red})
        known = {stimulus.red[0] for stimulus in steps[unseen:]}
        given = known | set([cell for cell in visible if cell not in known][:unseen])
        (right,) = answers(trial)
        return [cell in given for cell in right]

    return guess
