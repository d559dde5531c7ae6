"""Observers who lack one thing, in tasks with one array, figure or sequence: change detection,
coordination, integration, updating, switching, complex span."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

from fidelity_observers import Found, Known, Observer, among, answers, asked, nothing, shown, stimulus_of

from spanlab.paradigms import Trial
from spanlab.paradigms.samplers.span import direction_of
from spanlab.paradigms.samplers.updating import moves
from spanlab.stimuli.scene import STEPS

_CD = ("colour", "orientation", "size", "gap", "conjunction")
_GRID = 3


def space_observers() -> Iterator[Observer]:
    """The rows of these tasks."""
    yield from _change()
    yield from _figures()
    yield from _updating()
    yield from _span()


# change detection ---------------------------------------------------------------------------------


def _change() -> Iterator[Observer]:
    six = {"set_size": 6, "retention_steps": 6}
    traces = "lengths that no unchanged bar has, bars that begin near one another"
    for feature in _CD:
        yield Observer(
            ("cd",),
            f"6 bars, {feature}",
            "first array",
            traces,
            _traces("probe"),
            {**six, "feature": feature},
            trials=5_000,
        )
    yield Observer(("cd",), "6 bars", "second array", traces, _traces("present"), six, trials=5_000)
    yield Observer(("cd",), "6 bars", "places of bars", "how many bars are red, upright, long, broken", _counted, six)
    yield Observer(("cd_noise",), "6 bars", "first array", traces, _traces("probe"), six, trials=5_000)
    yield Observer(("cd_noise",), "6 bars", "second array", traces, _traces("present"), six, trials=5_000)
    yield Observer(
        ("cd_noise",), "6 bars", "places of bars", "how many bars are red, upright, long, broken", _counted, six
    )


def _length(bar: Any) -> int:
    x0, y0, x1, y1 = map(int, bar.at)
    return max(abs(x1 - x0), abs(y1 - y0))


def _traces(phase: str) -> Any:
    """What one array alone may tell."""

    def guess(trial: Trial) -> Found:
        (array,) = shown(trial, phase)
        begins = [(min(x0, x1), min(y0, y1)) for x0, y0, x1, y1 in (map(int, bar.at) for bar in array.bars)]
        nearest = min(max(abs(x - a), abs(y - b)) for (x, y), (a, b) in combinations(begins, 2))
        odd = any(_length(bar) not in (9, 15) for bar in array.bars)
        return [Known((trial.levels["feature"], odd, nearest < 20), answer) for answer in answers(trial)]

    return guess


def _counted(trial: Trial) -> Found:
    (before,), (after,) = shown(trial, "present"), shown(trial, "probe")

    def counts(array: Any) -> tuple[Counter[Any], ...]:
        upright = Counter(int(bar.at[0]) == int(bar.at[2]) for bar in array.bars)
        return (
            Counter(bar.colour for bar in array.bars),
            upright,
            Counter(_length(bar) > 12 for bar in array.bars),
            Counter(bool(bar.gap) for bar in array.bars),
        )

    return [Known(counts(before) == counts(after), answer) for answer in answers(trial)]


# coordination and integration ---------------------------------------------------------------------


def _figures() -> Iterator[Observer]:
    for length in (10, 18):
        levels, condition = {"list_length": length}, f"{length} cells"
        yield Observer(
            ("sc",),
            condition,
            "first cell",
            "cells without a mirror image among the others",
            _mirrored(slice(1, None)),
            levels,
        )
        yield Observer(
            ("sc",),
            condition,
            "last cell",
            "cells without a mirror image among the others",
            _mirrored(slice(-1)),
            levels,
        )
        yield Observer(
            ("sc",), condition, "order of cells", "cells without a mirror image", _mirrored(slice(None)), levels
        )
        yield Observer(("sc",), condition, "columns of cells", "rows with an odd number of cells", _rows, levels)
    yield Observer(("sc",), "", "one half of the figure", "how many cells the other half has", _half)
    for size in (1, 6):
        yield Observer(
            ("si",),
            f"parts of {size}",
            "first part",
            "segments of other parts that the last figure lacks, and where the gap is",
            _without_part,
            {"part_size": size},
        )
    yield Observer(
        ("si",), "", "all parts", "whether the figure at the end has other endings", _endings("probe"), trials=5_000
    )
    yield Observer(
        ("si",),
        "",
        "figure at the end",
        "whether the figure of the parts has other endings",
        _endings("present"),
        trials=5_000,
    )
    yield Observer(("si",), "", "order of parts", "all segments", _same_segments)
    yield Observer(
        ("si",), "parts of 1, 2, 3, 4, 6", "places of parts", "shapes of parts", _shapes, {"part_size": [1, 2, 3, 4, 6]}
    )


def _mirrored(kept: slice) -> Any:
    def guess(trial: Trial) -> Found:
        cells = [stimulus.filled[0] for stimulus in shown(trial, "present")][kept]
        left = Counter((cell // 10) * 10 + 9 - cell % 10 for cell in cells if cell % 10 < 5)
        right = Counter(cell for cell in cells if cell % 10 >= 5)
        return [Known(((left - right).total(), (right - left).total()), answer) for answer in answers(trial)]

    return guess


def _rows(trial: Trial) -> Found:
    rows = Counter(stimulus.filled[0] // 10 for stimulus in shown(trial, "present"))
    return [Known(sum(many % 2 for many in rows.values()), answer) for answer in answers(trial)]


def _half(trial: Trial) -> Found:
    left = [stimulus.filled[0] for stimulus in shown(trial, "present") if stimulus.filled[0] % 10 < 5]
    return [Known((len(left), len(set(left))), answer) for answer in answers(trial)]


_Segments = frozenset[tuple[tuple[int, int], tuple[int, int]]]


def _segments(figures: Sequence[Any]) -> _Segments:
    return frozenset(segment for figure in figures for segment in figure.lines)


def _path(segments: _Segments) -> list[tuple[int, int]]:
    """The points of a path, from the end that comes first on the lattice."""
    degree = Counter(itertools.chain.from_iterable(segments))
    at = min(point for point, many in degree.items() if many == 1)
    path, left = [at], set(segments)
    while left:
        segment = next(one for one in left if at in one)
        left.remove(segment)
        at = segment[1] if segment[0] == at else segment[0]
        path.append(at)
    return path


def _without_part(trial: Trial) -> Found:
    parts, (probe,) = shown(trial, "present"), shown(trial, "probe")
    seen, whole = _segments(parts[1:]), _segments([probe])
    path = [tuple(sorted(pair)) for pair in itertools.pairwise(_path(whole))]
    gap = [place for place, segment in enumerate(path) if segment not in seen]
    from_end = min((min(place, len(path) - 1 - place) for place in gap), default=-1)
    return [Known((seen <= whole, len(gap), from_end), answer) for answer in answers(trial)]


def _endings(phase: str) -> Any:
    def guess(trial: Trial) -> Found:
        path = _path(_segments(shown(trial, phase)))
        found = sorted(tuple(_can_end(way, changed) for changed in (1, 2, 3, 4)) for way in (path, path[::-1]))
        return [Known(tuple(found), answer) for answer in answers(trial)]

    return guess


def _can_end(path: Sequence[tuple[int, int]], changed: int) -> bool:
    """Whether there is another ending of so many segments that meets no point of the figure."""

    def extended(at: tuple[int, int], taken: frozenset[tuple[int, int]], left: int) -> bool:
        if not left:
            return True
        near = ((at[0] + down, at[1] + right) for right, down in STEPS.values())
        return any(
            extended(point, taken | {point}, left - 1)
            for point in near
            if 0 <= point[0] < 5 and 0 <= point[1] < 5 and point not in taken
        )

    return extended(path[len(path) - changed - 1], frozenset(path), changed)


def _same_segments(trial: Trial) -> Found:
    return [
        Known(_segments(shown(trial, "present")) == _segments(shown(trial, "probe")), answer)
        for answer in answers(trial)
    ]


def _shape(segments: AbstractSet[tuple[tuple[int, int], ...]]) -> Any:
    """A part wherever it lies."""
    top, left = (min(point[axis] for segment in segments for point in segment) for axis in (0, 1))
    return frozenset(tuple((row - top, column - left) for row, column in segment) for segment in segments)


def _shapes(trial: Trial) -> Found:
    parts, (probe,) = shown(trial, "present"), shown(trial, "probe")
    many = len(parts[0].lines)
    path = [tuple(sorted(pair)) for pair in itertools.pairwise(_path(_segments([probe])))]
    there = Counter(_shape(_segments([part])) for part in parts)
    cut = Counter(_shape(frozenset(path[start : start + many])) for start in range(0, len(path), many))
    return [Known(there == cut, answer) for answer in answers(trial)]


# updating and switching ---------------------------------------------------------------------------


def _updating() -> Iterator[Observer]:
    for size in (1, 4, 8):
        levels, condition = {"set_size": size}, f"{size} box{'es' * (size > 1)}"
        yield Observer(("smu",), condition, "first display (start)", "arrows", _tracked(start=False), levels)
        yield Observer(("smu",), condition, "last arrow", "start and other arrows", _tracked(last=False), levels)
    yield Observer(("smu",), "", "order of arrows", "start, and how many arrows point where", _summed)
    yield Observer(
        ("smu",),
        "2, 4, 8 boxes",
        "which box is asked about",
        "final cells of all boxes",
        _any_box,
        {"set_size": [2, 4, 8]},
    )
    mixed = {"switch_probability": 0.2}
    yield Observer(("sts",), "switches", "all cues", "place of the marker", _marker, mixed)
    yield Observer(
        ("sts",), "switches, congruent markers", "all cues", "place of the marker", _marker_where(True), mixed
    )
    yield Observer(
        ("sts",), "switches, incongruent markers", "all cues", "place of the marker", _marker_where(False), mixed
    )
    yield Observer(
        ("sts",),
        "switches",
        "all cues but the first",
        "first task, how many markers ago, place of the marker",
        _first_cue,
        mixed,
    )
    yield Observer(("sts",), "one task", "the cue", "place of the marker", _marker, {"switch_probability": 0})
    yield Observer(("sts",), "switches", "markers (last display)", "task", _task_alone, mixed)
    for percent in (0, 25, 50, 75):
        levels = {**mixed, "congruent_share": percent / 100}
        yield Observer(
            ("sts_congruency",), f"switches, {percent} % congruent", "all cues", "place of the marker", _marker, levels
        )


def _tracked(start: bool = True, last: bool = True) -> Any:
    """Where a marker probably is, after what was seen of its box."""

    def guess(trial: Trial) -> Found:
        (first,), updates = shown(trial, "present"), [stimulus.arrow for stimulus in shown(trial, "update")]
        odds: list[dict[int, float]] = [
            {cell: 1.0} if start else dict.fromkeys(range(9), 1 / 9) for cell in first.markers
        ]
        for number, arrow in enumerate(updates):
            moved: dict[int, float] = {}
            for cell, probability in odds[arrow.box].items():
                ways = moves(cell, _GRID)
                for direction, to in ways:
                    if direction == arrow.direction or (not last and number == len(updates) - 1):
                        moved[to] = moved.get(to, 0.0) + probability / len(ways)
            odds[arrow.box] = moved
        return [
            max(odds[stimulus_of(step).probed].items(), key=_likelier)[0] == step.truth.answer for step in asked(trial)
        ]

    return guess


def _likelier(cell: tuple[int, float]) -> tuple[float, int]:
    return round(cell[1], 12), cell[0]


def _summed(trial: Trial) -> Found:
    (first,) = shown(trial, "present")
    cells = [divmod(cell, _GRID) for cell in first.markers]
    for box, directions in itertools.groupby(
        sorted((one.arrow.box, one.arrow.direction) for one in shown(trial, "update")), key=lambda pair: pair[0]
    ):
        for _, direction in directions:
            right, down = STEPS[direction]
            cells[box] = (cells[box][0] + down, cells[box][1] + right)
    return [
        cells[probe.probed] == divmod(answer, _GRID)
        for probe, answer in zip(shown(trial, "probe"), answers(trial), strict=True)
    ]


def _any_box(trial: Trial) -> Found:
    right = answers(trial)
    usual = min(Counter(right).items(), key=lambda pair: (-pair[1], pair[0]))[0]
    return [answer == usual for answer in right]


def _marker(trial: Trial) -> Found:
    return [
        Known(stimulus.marker, answer) for stimulus, answer in zip(shown(trial, "probe"), answers(trial), strict=True)
    ]


def _marker_where(congruent: bool) -> Any:
    def guess(trial: Trial) -> Found:
        steps = [step for step in asked(trial) if step.truth.record["congruent"] == congruent]
        return [Known(stimulus_of(step).marker, step.truth.answer) for step in steps]

    return guess


def _first_cue(trial: Trial) -> Found:
    cue = shown(trial, "switch")[0].cue
    seen = zip(shown(trial, "probe"), answers(trial), strict=True)
    return [Known((cue, min(number, 9), stimulus.marker), answer) for number, (stimulus, answer) in enumerate(seen)]


def _task_alone(trial: Trial) -> Found:
    return [Known(step.truth.record["task"], step.truth.answer) for step in asked(trial)]


# complex span -------------------------------------------------------------------------------------


def _span() -> Iterator[Observer]:
    for storage, options, item in (("spatial", "arrows", "movement"), ("visual", "patterns", "pattern")):
        levels, condition = {"storage": storage}, storage
        yield Observer(("cs",), condition, "both items", f"{options} of the probe", _options(()), levels, trials=5_000)
        yield Observer(
            ("cs",),
            condition,
            f"first display (first {item})",
            f"second {item}, and {options} of the first probe",
            _options((1,)),
            levels,
        )
        yield Observer(("cs",), condition, "order of items", "which of the two is among the options", _either, levels)
        yield Observer(("cs",), condition, "last display (the options)", "number of the question", nothing(), levels)
    yield Observer(("cs",), "spatial", "places of movements", "their directions", _directions, {"storage": "spatial"})
    yield Observer(("cs",), "decisions", "the display", "kind of the decision", _undecided, {"load": 3}, "distractor")


def _undecided(trial: Trial) -> Found:
    return [Known(trial.levels["distractor_domain"], answer) for answer in answers(trial, "distractor")]


def _stored(trial: Trial) -> list[Any]:
    """Both items: a direction, or the cells of a pattern."""
    seen = shown(trial, "present")
    if trial.levels["storage"] == "spatial":
        return [direction_of([dot.cell for dot in seen[start : start + 3]]) for start in (0, 3)]
    return [seen[0].filled, seen[3].filled]


def _probes(trial: Trial) -> Iterator[tuple[list[Any], Any]]:
    """The options of each probe, and the right one."""
    for stimulus, slot in zip(shown(trial, "probe"), answers(trial), strict=True):
        options = list(getattr(stimulus, "directions", None) or stimulus.cells)
        yield options, options[slot]


def _options(seen: Sequence[int]) -> Any:
    """A choice among options of which some items are known, and not the one that is asked for."""

    def guess(trial: Trial) -> Found:
        items, found = _stored(trial), []
        for number, (options, right) in enumerate(_probes(trial)):
            if number in seen:
                found.append(items[number] == right)
            elif trial.levels["storage"] == "spatial":
                others = tuple(items[place] for place in seen)
                found.append(Known(others, right))
            else:
                alone = [
                    one for one in options if sorted(len(set(one) ^ set(other)) for other in options) == [0, *[6] * 7]
                ]
                candidates = (
                    alone if len(alone) == 1 else [one for one in options if all(one != items[place] for place in seen)]
                )
                found.append(
                    Known((len(alone) == 1, len(candidates)), candidates.index(right) if right in candidates else -1)
                )
        return found

    return guess


def _either(trial: Trial) -> Found:
    items = _stored(trial)
    return [
        among(sorted({item for item in items if item in options}, key=repr), right) for options, right in _probes(trial)
    ]


def _directions(trial: Trial) -> Found:
    return [right == item for (_, right), item in zip(_probes(trial), _stored(trial), strict=True)]
