"""Observers who lack one thing, in item recognition and delayed match to sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fidelity_observers import Found, Known, Observer, asked, nothing, shown, stimulus_of
from lacking_lists import texture

from spanlab.paradigms import Trial


def span_observers() -> Iterator[Observer]:
    """The rows of these tasks."""
    four = {"set_size": 4}
    yield Observer(("sternberg",), "4 digits", "first display (first digit)", "whether the probe is one of the others", _other_digits(1), four, trials=600)
    yield Observer(("sternberg",), "", "order of digits", "whether the probe is one of them", _other_digits(0), trials=600)
    yield Observer(("sternberg",), "", "whole list", "the probe alone", _probe, trials=600)
    yield Observer(("delayed_match",), "", "first display (sample)", "in which of the two more filled cells are neighbours", texture, trials=600)
    yield Observer(("delayed_match",), "", "last display (both patterns)", "nothing", nothing(), trials=600)


def _other_digits(unseen: int) -> Callable[[Trial], Found]:
    def guess(trial: Trial) -> Found:
        seen = [stimulus.symbol for stimulus in shown(trial, "present")][unseen:]
        return [Known(stimulus_of(step).symbol in seen, step.truth.answer) for step in asked(trial)]

    return guess


def _probe(trial: Trial) -> Found:
    return [Known(stimulus_of(step).symbol, step.truth.answer) for step in asked(trial)]
