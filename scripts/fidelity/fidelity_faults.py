"""How the trials of the two generators differ: a table of ``docs/fidelity.md``, made by
``fidelity_tables.py``.

Every row of the table is one :class:`Measure`: what is looked at in what was drawn for a trial, in
which condition, how many trials (their seeds are 1, 2, 3 ...), and what is known of the original:
counted in its data files, in trials that its own code made, or from its code by calculation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from spanlab.paradigms import Generator, Paradigm, load_paradigm
from spanlab.paradigms.compile import drawn_values

GENERATORS: tuple[Generator, ...] = ("published", "corrected")
#: Draws of one trial by name.
Draws = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """A share of something in the trials of a condition.

    Parameters
    ----------
    what : in words, with the condition
    paradigm, levels : which trials
    share : yes or no for each thing that is looked at in one trial; none when there is nothing of
        the kind
    original : the share in the original, as far as it is known
    trials : how many are looked at
    """

    what: str
    paradigm: str
    levels: dict[str, Any]
    share: Callable[[Draws], Sequence[bool]]
    original: float | None = None
    trials: int = 10_000

    def looked_at(self, generator: Generator, trials: int, first: int = 1) -> list[Sequence[bool]]:
        """What is seen in each of so many trials, from a seed on."""
        paradigm = _loaded(self.paradigm)
        return [
            self.share(drawn_values(paradigm, self.levels, seed, generator)) for seed in range(first, first + trials)
        ]


@cache
def _loaded(name: str) -> Paradigm:
    return load_paradigm(name)


def share_of(seen: Sequence[Sequence[bool]]) -> float:
    """The share over all things that were looked at."""
    return sum(map(sum, seen)) / sum(map(len, seen))


def error_of(seen: Sequence[Sequence[bool]]) -> float:
    """Its standard error, from trial to trial."""
    sizes, mean = np.array([len(scores) for scores in seen]), share_of(seen)
    sums = np.array([sum(scores) for scores in seen]) - mean * sizes
    return float(math.sqrt((sums**2).sum()) / sizes.sum())


# what is looked at --------------------------------------------------------------------------------


def _length(bar: dict[str, Any]) -> int:
    """As it is drawn: ends are cut to whole units."""
    x0, y0, x1, y1 = map(int, bar["at"])
    return max(abs(x1 - x0), abs(y1 - y0))


def large_bars(draws: Draws) -> list[bool]:
    return [_length(bar) == 15 for bar in draws["arrays"]["memory"]]


def odd_length(draws: Draws) -> list[bool]:
    """Of changed arrays: whether the second has a bar of a length that no unchanged bar has."""
    return (
        [any(_length(bar) not in (9, 15) for bar in draws["arrays"]["probe"])]
        if draws["arrays"]["answer"] == "different"
        else []
    )


def near(answer: str) -> Callable[[Draws], list[bool]]:
    """Of arrays with this answer: whether two bars of the second begin less than 20 units apart in
    both directions."""

    def seen(draws: Draws) -> list[bool]:
        if draws["arrays"]["answer"] != answer:
            return []
        begins = [
            (min(x0, x1), min(y0, y1)) for x0, y0, x1, y1 in (map(int, bar["at"]) for bar in draws["arrays"]["probe"])
        ]
        return [any(abs(x - a) < 20 and abs(y - b) < 20 for (x, y), (a, b) in combinations(begins, 2))]

    return seen


def repeated_cell(draws: Draws) -> list[bool]:
    cells = draws["figure"]["cells"]
    return [len(set(cells)) < len(cells)]


def _comes_twice(length: int) -> float:
    """How probable that is: half of the cells are drawn with replacement from the 50 on the left,
    and a mirror image comes twice where its cell does."""
    return 1 - math.prod(1 - drawn / 50 for drawn in range(length // 2))


def same_figure(draws: Draws) -> list[bool]:
    return [draws["figure"]["answer"] == "same"]


def changed_segments(many: int) -> Callable[[Draws], list[bool]]:
    """Of different figures: whether so many segments differ."""
    return lambda draws: [draws["figure"]["changed"] == many] if draws["figure"]["answer"] == "different" else []


def same_direction(draws: Draws) -> list[bool]:
    first, second = (item["options"][item["slot"]] for item in draws["items"])
    return [first == second]


def diagonal(draws: Draws) -> list[bool]:
    names = [item["options"][item["slot"]] for item in draws["items"]]
    return [
        any(word in name for word in ("up", "down")) and any(word in name for word in ("left", "right"))
        for name in names
    ]


def gives_itself_away(draws: Draws) -> list[bool]:
    """Whether the item is the only option that differs from each other option in six cells."""
    found = []
    for item in draws["items"]:
        apart = [sorted(len(set(one) ^ set(other)) for other in item["options"]) for one in item["options"]]
        found.append([place for place, own in enumerate(apart) if own == [0, *[6] * 7]] == [item["slot"]])
    return found


def equal_options(draws: Draws) -> list[bool]:
    return [len(set(map(tuple, item["options"]))) < 8 for item in draws["items"]]


def repeated_in_decision(draws: Draws) -> list[bool]:
    return [len(set(distractor["cells"])) < len(distractor["cells"]) for distractor in draws["distractors"]]


def related(paradigm: str) -> Callable[[Any, Any], bool]:
    """What makes two items of an N-back paradigm match."""

    def near(one: int, other: int) -> bool:
        return one // 3 == other // 3 or one % 3 == other % 3

    if paradigm == "nback_abstraction":
        return near
    return (
        (lambda one, other: one != other and near(one, other))
        if paradigm == "nback_abstraction_strict"
        else lambda one, other: one == other
    )


def unlabelled(paradigm: str, n: int) -> Callable[[Draws], list[bool]]:
    """Whether some item of the block matches although its label says that it does not."""
    match = related(paradigm)

    def seen(draws: Draws) -> list[bool]:
        items = draws["items"]
        return [
            any(
                after["label"] == "-" and match(after["symbol"], before["symbol"])
                for before, after in zip(items, items[n:], strict=False)
            )
        ]

    return seen


def lures(draws: Draws) -> list[bool]:
    """Of items that do not match: whether they are lures."""
    return [item["lag"] is not None for item in draws["items"] if item["label"] == "-"]


def repetitions(draws: Draws) -> list[bool]:
    """Of items that do not match: whether they repeat the one just before."""
    return [after["symbol"] == before["symbol"] for before, after in pairwise(draws["items"]) if after["label"] == "-"]


def left_out(draws: Draws) -> list[bool]:
    return [item["symbol"] in (26, 41) for item in draws["items"]]


# the rows -----------------------------------------------------------------------------------------


def measures() -> list[Measure]:
    """All rows of the table, in order."""
    cd = {"retention_steps": 0}
    visual = {"storage": "visual", "distractor_domain": "visual", "load": 0}
    spatial = {"storage": "spatial", "distractor_domain": "visual", "load": 0}
    decisions = {"storage": "visual", "distractor_domain": "spatial", "load": 5}
    block = {"lures": "free", "block_length": 24}
    rows = [
        *(
            Measure(
                f"`cd`, {bars} bars: bars that are large",
                "cd",
                {**cd, "feature": "gap", "set_size": bars},
                large_bars,
                original,
                trials,
            )
            for bars, original, trials in ((2, 0.47, 10_000), (6, 0.34, 5_000), (12, 0.15, 400))
        ),
        Measure(
            "`cd`, size, 6 bars: changed arrays in which a bar has a length that no unchanged bar has",
            "cd",
            {**cd, "feature": "size", "set_size": 6},
            odd_length,
            1.0,
            2_000,
        ),
        *(
            Measure(
                f"`cd`, orientation, 6 bars: {which} arrays in which two bars begin less than 20 units apart",
                "cd",
                {**cd, "feature": "orientation", "set_size": 6},
                near(answer),
                original,
                3_000,
            )
            for which, answer, original in (("unchanged", "same", 0.0), ("changed", "different", None))
        ),
        *(
            Measure(
                f"`sc`, {length} cells: trials in which a cell comes twice",
                "sc",
                {"list_length": length},
                repeated_cell,
                _comes_twice(length),
            )
            for length in (10, 12, 14, 16, 18)
        ),
        Measure("`si`: trials with the answer same", "si", {"part_size": 1}, same_figure, 0.593597),
        *(
            Measure(
                f"`si`: different figures that differ in {many} of 12 segments",
                "si",
                {"part_size": 1},
                changed_segments(many),
                original,
            )
            for many, original in ((1, 0.323), (2, 0.269), (3, 0.227), (4, 0.180))
        ),
        Measure("`cs`, spatial: trials in which both directions are the same", "cs", spatial, same_direction, 10 / 64),
        Measure("`cs`, spatial: directions that are diagonal", "cs", spatial, diagonal, 0.25),
        Measure(
            "`cs`, visual: probes in which two of the eight options are the same", "cs", visual, equal_options, 0.0067
        ),
        Measure("`cs`, visual: probes that the options alone give away", "cs", visual, gives_itself_away, None, 4_000),
        Measure(
            "`cs`, spatial decisions: figures in which a cell is drawn twice",
            "cs",
            decisions,
            repeated_in_decision,
            None,
            2_000,
        ),
    ]
    for paradigm, grid, name, counted, shares in (
        ("nback_verbal", None, "letters", (4, 2, 0), 0.058),
        ("nback_spatial", 3, "3 × 3", (4, 6, 1), 0.166),
        ("nback_spatial", 4, "4 × 4", (0, 1, 4), 0.100),
        ("nback_spatial", 5, "5 × 5", (1, 1, 0), 0.058),
        ("nback_spatial", 7, "7 × 7", (0, 0, 0), 0.023),
        ("nback_abstraction", 3, "abstraction", (9, 16, 14), 0.77),
        ("nback_abstraction_strict", 3, "strict abstraction", (18, 14, 7), 0.69),
    ):
        levels = {**block, "n": 2, **({} if grid is None else {"grid": grid})}
        rows.append(
            Measure(
                f"N-back, {name}, n = 2: blocks with a match that has no label",
                paradigm,
                levels,
                unlabelled(paradigm, 2),
                counted[1] / 50,
                2_000,
            )
        )
        rows.append(
            Measure(
                f"N-back, {name}, n = 2: items without a match that are lures, as they fall",
                paradigm,
                levels,
                lures,
                shares,
                500,
            )
        )
        if paradigm.startswith("nback_abstraction"):
            rows.append(
                Measure(
                    f"N-back, {name}, n = 2: items without a match that repeat the one before",
                    paradigm,
                    levels,
                    repetitions,
                    0.0,
                    500,
                )
            )
    rows.append(
        Measure(
            "N-back, 7 × 7: items in two of the 49 cells (27 and 42, counted from 1)",
            "nback_spatial",
            {**block, "n": 2, "grid": 7},
            left_out,
            0.0,
            1_000,
        )
    )
    return rows


def percent(share: float) -> str:
    """In per cent, with one decimal where there is one."""
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def row(measure: Measure) -> tuple[str, ...]:
    """A row of the table: what, original, published, corrected, trials."""
    found = [percent(share_of(measure.looked_at(generator, measure.trials))) for generator in GENERATORS]
    return (measure.what, "" if measure.original is None else percent(measure.original), *found, f"{measure.trials:,}")


def table() -> str:
    """All rows, as the page has them."""
    header = ("what", "original", "`published` here", "`corrected`", "trials")
    lines = [header, ("---",) * len(header), *map(row, measures())]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
