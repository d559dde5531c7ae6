"""Observers who lack one thing, in span tests and recognition: spans of digits, blocks, letters and
squares, item recognition, delayed match to sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fidelity_observers import Found, Known, Observer, among, answers, asked, nothing, shown, stimulus_of
from lacking_lists import texture

from spanlab.paradigms import Trial


def span_observers() -> Iterator[Observer]:
    """The rows of these tasks."""
    for name, items, length in (
        ("digit_span", "digits", {"list_length": 5}),
        ("corsi", "blocks", {"list_length": 5}),
        ("operation_span", "letters", {"list_length": 5}),
        ("symmetry_span", "squares", {"list_length": 4}),
        ("running_span", "letters", {"set_size": 4}),
    ):
        many = next(iter(length.values()))
        yield Observer(
            (name,), f"{many} {items}", f"order of {items}", f"which {items} are right", _unordered, length, trials=600
        )
        yield Observer((name,), f"{many} {items}", "whole list", "nothing", _nothing, length, trials=600)
    yield Observer(
        ("operation_span",),
        "",
        "left side of the equations",
        "the result that is shown",
        _results,
        phase="distractor",
        trials=600,
    )
    four = {"set_size": 4}
    yield Observer(
        ("sternberg",),
        "4 digits",
        "first display (first digit)",
        "whether the probe is one of the others",
        _other_digits(1),
        four,
        trials=600,
    )
    yield Observer(
        ("sternberg",), "", "order of digits", "whether the probe is one of them", _other_digits(0), trials=600
    )
    yield Observer(("sternberg",), "", "whole list", "the probe alone", _probe, trials=600)
    yield Observer(
        ("delayed_match",),
        "",
        "first display (sample)",
        "in which of the two more filled cells are neighbours",
        texture,
        trials=600,
    )
    yield Observer(("delayed_match",), "", "last display (both patterns)", "nothing", nothing(), trials=600)


def _unordered(trial: Trial) -> Found:
    """Each is named once, in any order."""
    (right,) = answers(trial)
    return [among(sorted(right), item) for item in right]


def _nothing(trial: Trial) -> Found:
    (right,) = answers(trial)
    return [Known(place, item) for place, item in enumerate(right)]


def _results(trial: Trial) -> Found:
    return [Known(stimulus_of(step).text.rpartition("= ")[2], step.truth.answer) for step in asked(trial, "distractor")]


def _other_digits(unseen: int) -> Callable[[Trial], Found]:
    def guess(trial: Trial) -> Found:
        seen = [stimulus.symbol for stimulus in shown(trial, "present")][unseen:]
        return [Known(stimulus_of(step).symbol in seen, step.truth.answer) for step in asked(trial)]

    return guess


def _probe(trial: Trial) -> Found:
    return [Known(stimulus_of(step).symbol, step.truth.answer) for step in asked(trial)]
