"""Designs without answers, for simulated ones."""

from __future__ import annotations

import numpy as np

from spanlab.extensions.fitting.markers import ROLES, MovingMarkers
from spanlab.extensions.fitting.trials import Kind, Trials
from spanlab.paradigms.samplers.updating import MarkerWalk


def design(kind: Kind, count: int, seed: int = 1, levels: int = 2) -> Trials:
    """So many questions of a kind (order and updating: about so many), evenly spread over loads,
    answered by nobody yet."""
    random = np.random.RandomState(seed)
    if kind == "report":
        load = np.resize([1, 2, 3, 6], count)
        others = random.uniform(-np.pi, np.pi, (count, 5))
        others[np.arange(5) >= load[:, None] - 1] = np.nan
        return Trials(kind, load, np.arange(count), np.zeros(count), {"others": others})
    if kind == "order":
        lists = np.resize([3, 4, 5, 6], max(1, round(count / 4.5)))
        load, trial = np.repeat(lists, lists), np.repeat(np.arange(len(lists)), lists)
        stage = np.concatenate([np.arange(length) for length in lists])
        beside = {
            "position": stage + 1,
            "stage": stage,
            "options": np.full(len(load), 9),
            "once": np.zeros(len(load), int),
        }
        return Trials(kind, load, trial, np.zeros(len(load), int), beside | {"given": np.zeros((len(load), 6), bool)})
    if kind == "updating":
        return _walks(np.resize([2, 3, 4, 6], max(1, round(count / 3.75))), random)
    load = np.resize([2, 4, 6, 8] if kind == "change" else [1, 2, 3], count)
    beside = {"signal": random.randint(0, 2, count), "size": np.full(count, np.pi)}
    return Trials(kind, load, np.arange(count), np.zeros(count, int), beside, levels)


def _walks(boxes: np.ndarray, random: np.random.RandomState) -> Trials:
    """Trials of so many boxes each, whose markers are moved eight times in all and asked for one
    after the other."""
    cells = []
    for count in boxes:
        walk, markers = MarkerWalk(boxes=int(count), updates=8, grid=3).draw(random), MovingMarkers()
        for shown in ({"markers": walk["start"]}, *({"arrow": update} for update in walk["updates"])):
            markers.see(shown)
        cells += [np.bincount(markers.roles(box), minlength=len(ROLES)) for box in range(count)]
    load, trial = np.repeat(boxes, boxes), np.repeat(np.arange(len(boxes)), boxes)
    return Trials("updating", load, trial, np.zeros(len(load), int), {"cells": np.array(cells)})
