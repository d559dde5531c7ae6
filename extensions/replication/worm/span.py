"""WorM's complex span."""

from __future__ import annotations

from typing import Any, ClassVar

from spanlab.paradigms.identity import stream
from spanlab.paradigms.samplers import direction_of
from spanlab.stimuli import STIMULI, Stimulus

from .fields import Fields, MalformedError, members, one_of, wholes
from .names import BLANK, frame_names
from .task import Draws, Json, Levels, Reading, WormTask

_ITEMS, _SLOTS = 2, 8
#: Movements through the middle, as the benchmark writes the directions of arrows: the cells of a 3
#: x 3 grid.
_ARROWS = ("345", "543", "147", "741", "048", "840", "246", "642")
#: which of the five steps of a gap hold a distractor, by their number
_BUSY: dict[int, tuple[int, ...]] = {0: (), 1: (2,), 3: (0, 2, 4), 5: (0, 1, 2, 3, 4)}
_ANSWERS = {"visual": ("red", "blue"), "spatial": ("asymmetric", "symmetric")}
#: Beyond the benchmark's own keys, for each item the arrows beside the right one, in the order of
#: their slots: its code draws them while it draws the frames.
ARROW_ORDER = "_spatial_probe_distractor_order"
ARROWS_LOST = (
    "the files do not say in which order the arrows of the probe displays stood (the benchmark draws it while it draws"
    " the frames): only the right arrow is where it was, the others are drawn anew from the seed {seed}, so these"
    " frames cannot be the original ones"
)


class ComplexSpan(WormTask):
    """Complex span."""

    paradigm = "cs"
    keys: ClassVar = {"items": "memory_1_gt", "distractors": "distractor_gt_items", "load": "num_distractor"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        domains = ("spatial", "visual")
        storage, domain = trial.word(
            "variation", {f"{one}-{other}": (one, other) for one in domains for other in domains}
        )
        load = trial.word("num_distractor", {number: number for number in _BUSY})
        trial.pass_by("distractor_grid_size")
        slots = [trial.whole(f"recall_gt_{n}") for n in (1, 2)]
        for n, slot in enumerate(slots, start=1):
            if not 0 <= slot < _SLOTS:
                raise trial.wrong(f"recall_gt_{n}", f"expected a slot from 0 to {_SLOTS - 1}; found {slot}")
        items = (_patterns if storage == "visual" else _movements)(trial, slots, reading)
        answers, shown = trial.list("distractor_gts", 2 * load), trial.list("distractor_gt_items", 2 * load)
        distractors = [
            {
                "answer": one_of(answer, dict(enumerate(_ANSWERS[domain])), f"distractor_gts > {n}"),
                **_shown(what, domain, f"distractor_gt_items > {n}"),
            }
            for n, (answer, what) in enumerate(zip(answers, shown, strict=True))
        ]
        return {"storage": storage, "distractor_domain": domain, "load": load}, {
            "items": items,
            "distractors": distractors,
        }

    def write(self, levels: Levels, draws: Draws) -> Json:
        domain, load = levels["distractor_domain"], levels["load"]
        spatial = levels["storage"] == "spatial"
        one, other = draws["items"]
        return {
            **{
                f"memory_{n}_gt": "".join(map(str, item["memory"])) if spatial else item["memory"]
                for n, item in enumerate((one, other), start=1)
            },
            "recall_gt_1": one["slot"],
            "recall_gt_2": other["slot"],
            **{
                f"mem_distractor_{n}": None if spatial else _others(item)
                for n, item in enumerate((one, other), start=1)
            },
            "distractor_grid_size": 10 if domain == "spatial" and load else None,
            "distractor_gts": [_ANSWERS[domain].index(decision["answer"]) for decision in draws["distractors"]],
            "distractor_gt_items": [
                decision["colour" if domain == "visual" else "cells"] for decision in draws["distractors"]
            ],
            "num_distractor": load,
            "variation": f"{levels['storage']}-{domain}",
            **(
                {ARROW_ORDER: [[_ARROW[direction] for direction in _others(item)] for item in (one, other)]}
                if spatial
                else {}
            ),
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            **{f"memory_stim_{n}_fnames": frame_names(name, f"memory_{n}", 3, digits=3) for n in (1, 2)},
            **{
                f"distractor_stim_{n}_fnames": frame_names(name, f"distractor_{n}", trial["num_distractor"], digits=3)
                for n in (1, 2)
            },
            "probe_stim_fnames": frame_names(name, "probe", _ITEMS, digits=1),
        }

    def steps(self, trial: Json) -> list[str]:
        files: list[str] = []
        for n in (1, 2):
            gap = dict(zip(_BUSY[trial["num_distractor"]], trial[f"distractor_stim_{n}_fnames"], strict=True))
            files += [*trial[f"memory_stim_{n}_fnames"], *(gap.get(step, BLANK) for step in range(5))]
        return [*files, *trial["probe_stim_fnames"]]

    def shared(self) -> dict[str, Stimulus]:
        return {BLANK: STIMULI.get("blank")()}


def _others(item: dict[str, Any]) -> list[Any]:
    """The options of an item but for the right one, in the order of their slots."""
    return [option for slot, option in enumerate(item["options"]) if slot != item["slot"]]


def _with(right: Any, slot: int, others: list[Any]) -> list[Any]:
    return [*others[:slot], right, *others[slot:]]


def _patterns(trial: Fields, slots: list[int], reading: Reading) -> list[dict[str, Any]]:
    items = []
    for n, slot in enumerate(slots, start=1):
        memory = trial.wholes(f"memory_{n}_gt", 8)
        others = [
            wholes(other, 8, f"mem_distractor_{n} > {k}")
            for k, other in enumerate(trial.list(f"mem_distractor_{n}", _SLOTS - 1))
        ]
        items.append({"memory": memory, "options": _with(memory, slot, others), "slot": slot})
    return items


def _movements(trial: Fields, slots: list[int], reading: Reading) -> list[dict[str, Any]]:
    trial.pass_by("mem_distractor_1", "mem_distractor_2")
    orders: list[Any] = [None] * _ITEMS
    if ARROW_ORDER in trial:
        orders = trial.list(ARROW_ORDER, _ITEMS)
    else:
        reading.notes[ARROWS_LOST.format(seed=reading.seed)] += _ITEMS
    items = []
    for n, (slot, order) in enumerate(zip(slots, orders, strict=True), start=1):
        memory = _cells(trial.any(f"memory_{n}_gt"), f"memory_{n}_gt")
        right = direction_of(memory)
        others = [direction for direction in _ARROW if direction != right]
        if order is None:
            others = [
                others[k] for k in stream("cs", reading.seed, f"arrows:{reading.trial}:{n}").permutation(len(others))
            ]
        else:
            path = f"{ARROW_ORDER} > {n - 1}"
            arrows = [one_of(arrow, _DIRECTION, path) for arrow in members(order, _SLOTS - 1, path)]
            if sorted(arrows) != sorted(others):
                raise MalformedError(path, f"expected the seven arrows besides {_ARROW[right]}; found {order}")
            others = arrows
        items.append({"memory": memory, "options": _with(right, slot, others), "slot": slot})
    return items


def _cells(value: Any, path: str) -> list[int]:
    """``"048"`` to ``[0, 4, 8]``."""
    if (
        not isinstance(value, str)
        or len(value) != 3
        or not all("0" <= digit <= "8" for digit in value)
        or value[0] == value[-1]
    ):
        raise MalformedError(path, f"expected a movement such as '048'; found {value!r:.60}")
    return [int(digit) for digit in value]


def _shown(what: Any, domain: str, path: str) -> dict[str, Any]:
    if domain == "spatial":
        return {"cells": wholes(what, None, path)}
    if not isinstance(what, str):
        raise MalformedError(path, f"expected a colour such as '#880808'; found {what!r:.60}")
    return {"colour": what}


_DIRECTION = {arrow: direction_of([int(digit) for digit in arrow]) for arrow in _ARROWS}
_ARROW = {direction: arrow for arrow, direction in _DIRECTION.items()}
