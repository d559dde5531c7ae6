"""Observers who lack one thing, in N-back tasks. A variant that shows noise, gives feedback or asks
for reasons has the rows of its plain task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fidelity_faults import related
from fidelity_observers import Found, Known, Observer, answers, shown

from spanlab.paradigms import Trial

_TASKS: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (("nback_verbal", "nback_verbal_noise", "nback_verbal_feedback", "nback_verbal_reasoning"), "letters", {}),
    (
        ("nback_spatial", "nback_spatial_noise", "nback_spatial_feedback", "nback_spatial_reasoning"),
        "3 × 3",
        {"grid": 3},
    ),
    (("nback_spatial",), "7 × 7", {"grid": 7}),
    (("nback_abstraction",), "rows and columns", {}),
    (("nback_abstraction_strict",), "rows and columns", {}),
)


def nback_observers() -> Iterator[Observer]:
    """The rows of these tasks."""
    for paradigms, condition, levels in _TASKS:
        block = {**levels, "block_length": 24}
        for said, lures in (("no lures", "none"), ("many lures", "high")):
            if lures == "high" or condition in ("letters", "3 × 3"):  # abstraction has no blocks without any
                chosen = {**block, "n": 2, "lures": lures}
                yield Observer(
                    paradigms,
                    f"{condition}, n = 2, {said}",
                    "order of items",
                    "how often the item came before",
                    _unordered,
                    chosen,
                    trials=800,
                )
        lags = "which lags have matched most often so far"
        yield Observer(
            paradigms,
            f"{condition}, lures as they fall",
            "how far back (n)",
            lags,
            _any_lag,
            {**block, "lures": "free"},
            trials=2_400,
        )
        rows = [
            ("all items but the last two", "whether the item repeats the one before", _repeated),
            ("first item", "all others", _first_unseen),
            ("the item itself (last display)", "number of the item", _number),
            ("columns of cells", "whether the row is that of the one n back", _row),
        ]
        for lacks, uses, guess in rows[: 3 if condition == "letters" else 4]:
            yield Observer(
                paradigms,
                f"{condition}, n = 2, lures as they fall",
                lacks,
                uses,
                guess,
                {**block, "n": 2, "lures": "free"},
                trials=800,
            )


def _items(trial: Trial) -> list[Any]:
    """Letters without their noise, or cells."""
    return [
        next(filter(str.isalpha, item.symbol)) if not hasattr(item, "at") else item.at for item in shown(trial, "probe")
    ]


def _relation(trial: Trial) -> Callable[[Any, Any], bool]:
    return related(trial.paradigm)


def _n(trial: Trial) -> int:
    return int(trial.levels["n"])


def _unordered(trial: Trial) -> Found:
    items, match, n = _items(trial), _relation(trial), _n(trial)
    return [
        Known(
            (min(place, n), min(sum(match(items[place], before) for before in items[:place]), 4), min(place // 6, 3)),
            answer,
        )
        for place, answer in enumerate(answers(trial))
    ]


def _any_lag(trial: Trial) -> Found:
    items, match = _items(trial), _relation(trial)
    counts = dict.fromkeys((1, 2, 3), 0)
    found = []
    for place, answer in enumerate(answers(trial)):
        now = tuple(place >= lag and match(items[place], items[place - lag]) for lag in (1, 2, 3))
        most = tuple(lag for lag in (1, 2, 3) if counts[lag] == max(counts.values()))
        found.append(Known((now, most, min(place, 4)), answer))
        for lag, matched in zip((1, 2, 3), now, strict=True):
            counts[lag] += matched
    return found


def _repeated(trial: Trial) -> Found:
    items, n = _items(trial), _n(trial)
    return [
        Known((place < n, place > 0 and items[place] == items[place - 1]), answer)
        for place, answer in enumerate(answers(trial))
    ]


def _first_unseen(trial: Trial) -> Found:
    items, match, n = _items(trial), _relation(trial), _n(trial)
    return [
        Known("first" if place == n else place > n and match(items[place], items[place - n]), answer)
        for place, answer in enumerate(answers(trial))
    ]


def _number(trial: Trial) -> Found:
    return [Known(place < _n(trial), answer) for place, answer in enumerate(answers(trial))]


def _row(trial: Trial) -> Found:
    items, n, side = _items(trial), _n(trial), trial.levels["grid"]
    return [
        Known((place < n, place >= n and items[place] // side == items[place - n] // side), answer)
        for place, answer in enumerate(answers(trial))
    ]
