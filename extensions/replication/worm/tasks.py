"""WorM's tasks. Change detection has five data sets, with one feature each that may change; complex span has
a file of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from spanlab.paradigms.samplers import whole
from spanlab.stimuli import FROM_TO, STEPS, STIMULI, Stimulus

from .fields import Fields, MalformedError, as_numbered, is_number, members, numbered, one_of, wholes
from .names import BLANK, SILENT_PROBE, DataSet, frame_names
from .span import ComplexSpan
from .task import Draws, Json, Levels, Reading, WormTask

_LENGTH = 20
#: label of a cue
_CUE = 2
_RULES = {"Up_Down": "up_down", "Left_Right": "left_right"}
_RULE_NAMES = {task: name for name, task in _RULES.items()}


class TaskSwitching(WormTask):
    """Spatial task switching."""

    paradigm = "sts"
    keys: ClassVar = {"sequence": "task_gt"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("trial_length", _LENGTH)
        trial.equal("variant", "Cued")
        tasks, labels = trial.list("task_gt", _LENGTH), trial.wholes("gt", _LENGTH)
        markers = Fields(trial.any("marker_location"), "marker_location")
        words = {name: (task, False) for name, task in _RULES.items()} | {
            f"Cue_{name}": (task, True) for name, task in _RULES.items()
        }
        sequence = []
        for step, (name, label) in enumerate(zip(tasks, labels, strict=True)):
            task, cue = one_of(name, words, f"task_gt > {step}")
            if cue:
                one_of(label, {_CUE: None}, f"gt > {step}")
                sequence.append({"task": task, "cue": True, "marker": None, "answer": None})
                continue
            marker = one_of(markers.any(str(step)), dict(enumerate(range(4))), f"marker_location > {step}")
            one_of(label, {marker // 2 if task == "up_down" else marker % 2: None}, f"gt > {step}")
            sequence.append({"task": task, "cue": False, "marker": marker, "answer": label})
        for key in markers.unknown():
            raise markers.wrong(key, "there is no marker at this step")
        return {}, {"sequence": sequence}

    def write(self, levels: Levels, draws: Draws) -> Json:
        sequence: list[dict[str, Any]] = draws["sequence"]
        return {
            "trial_length": _LENGTH,
            "variant": "Cued",
            "marker_location": {str(step): entry["marker"] for step, entry in enumerate(sequence) if not entry["cue"]},
            "task_gt": [f"{'Cue_' if entry['cue'] else ''}{_RULE_NAMES[entry['task']]}" for entry in sequence],
            "gt": [_CUE if entry["cue"] else entry["answer"] for entry in sequence],
        }

    def files(self, name: str, trial: Json) -> Json:
        return {"stim_fnames": frame_names(name, "trial", _LENGTH)}

    def steps(self, trial: Json) -> list[str]:
        return [*trial["stim_fnames"]]


class FreeRecall(WormTask):
    """Spatial free recall."""

    paradigm = "sfr"
    keys: ClassVar = {"visible": "visible_cells", "recall": "recall_gt"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("grid_size", 10)
        trial.equal("set_size", 30)
        length = trial.whole("list_length")
        return {"list_length": length}, {
            "visible": trial.wholes("visible_cells", 30),
            "recall": trial.wholes("recall_gt", length),
        }

    def write(self, levels: Levels, draws: Draws) -> Json:
        return {
            "grid_size": 10,
            "set_size": 30,
            "list_length": levels["list_length"],
            "visible_cells": draws["visible"],
            "recall_gt": draws["recall"],
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory", trial["list_length"]),
            "probe_stim_fnames": frame_names(name, "probe"),
        }


class Coordination(WormTask):
    """Spatial coordination. The benchmark has called the list length ``set_size`` at first; both
    names are read, and both are written."""

    paradigm = "sc"
    keys: ClassVar = {"figure": "gt_item"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("grid_size", 10)
        trial.pass_by("max_list_length", "max_set_size", "list_length", "set_size")
        length = trial.whole("list_length", "set_size")
        trial.equal("set_size", length)
        answer = trial.word("gt", {0: "asymmetric", 1: "symmetric"})
        return {"list_length": length}, {
            "figure": {
                "cells": trial.wholes("gt_item", length),
                "answer": answer,
                "offset": trial.whole("symmetry_offset"),
            },
        }

    def write(self, levels: Levels, draws: Draws) -> Json:
        figure, length = draws["figure"], levels["list_length"]
        lengths = {"list_length": length, "max_list_length": 18, "set_size": length, "max_set_size": 18}
        return {
            "grid_size": 10,
            **lengths,
            "symmetry_offset": figure["offset"],
            "gt_item": figure["cells"],
            "gt": int(figure["answer"] == "symmetric"),
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory", trial["list_length"], digits=3),
            "gt_pattern_fname": frame_names(name, "gt_pattern")[0],
        }

    def steps(self, trial: Json) -> list[str]:
        return [*trial["memory_stim_fnames"], SILENT_PROBE]

    def shared(self) -> dict[str, Stimulus]:
        return {SILENT_PROBE: STIMULI.get("blank")()}

    def extra(self, name: str, draws: Draws) -> dict[str, Stimulus]:
        cells = sorted(set(draws["figure"]["cells"]))
        return {
            frame_names(name, "gt_pattern")[0]: STIMULI.get("matrix").model_validate(
                {"grid": 10, "filled": cells, "margin": 3, "radius": 2}
            )
        }


class Integration(WormTask):
    """Spatial integration."""

    paradigm = "si"
    keys: ClassVar = {"figure": "memory_part_line_segment"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("grid_size", 4)
        trial.equal("pattern_size", 12)
        size = trial.whole("part_size")
        shown = trial.list("memory_part_line_segment")
        trial.equal("memory_length", len(shown))
        parts = [_path(part, size + 1, f"memory_part_line_segment > {n}") for n, part in enumerate(shown)]
        answer = trial.word("gt", {0: "different", 1: "same"})
        figure = _path(trial.any("gt_line_segment"), 13, "gt_line_segment")
        try:
            together = whole(parts)
        except ValueError as error:
            raise trial.wrong("memory_part_line_segment", str(error)) from None
        if together != figure:
            raise trial.wrong("gt_line_segment", "the parts make another figure")
        if answer == "same":
            trial.pass_by("distractor_line_segment", "distractor_diff")
            probe, changed = figure, 0
        else:
            probe, changed = (
                _path(trial.any("distractor_line_segment"), 13, "distractor_line_segment"),
                trial.whole("distractor_diff"),
            )
        return {"part_size": size}, {"figure": {"parts": parts, "probe": probe, "answer": answer, "changed": changed}}

    def write(self, levels: Levels, draws: Draws) -> Json:
        figure = draws["figure"]
        same = figure["answer"] == "same"
        return {
            "grid_size": 4,
            "pattern_size": 12,
            "part_size": levels["part_size"],
            "memory_length": len(figure["parts"]),
            "distractor_diff": None if same else figure["changed"],
            "memory_part_line_segment": [as_numbered(part) for part in figure["parts"]],
            "gt": int(same),
            "gt_line_segment": as_numbered(whole(figure["parts"])),
            "distractor_line_segment": None if same else as_numbered(figure["probe"]),
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory", trial["memory_length"]),
            "probe_stim_fnames": frame_names(name, "probe"),
        }


def _path(value: Any, points: int, path: str) -> list[list[int]]:
    return [wholes(point, 2, f"{path} > {n}") for n, point in enumerate(numbered(value, points, path))]


_MARKED = {direction: name for name, direction in FROM_TO.items()}


class Updating(WormTask):
    """Spatial memory updating. (The key ``inital_marker_state`` is spelt so in the benchmark.)"""

    paradigm = "smu"
    keys: ClassVar = {"walk": "updates", "order": "probe_order"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("grid_size", 3)
        trial.equal("presentation_time", 1)
        trial.equal("num_updates", 8)
        trial.pass_by("box_grid_center_coords", "inital_marker_state", "initial_marker_state")
        boxes = trial.whole("set_size")
        if not 1 <= boxes <= 8:
            raise trial.wrong("set_size", f"expected 1 to 8 boxes; found {boxes}")
        start = wholes(
            numbered(trial.any("inital_marker_state", "initial_marker_state"), boxes, "inital_marker_state"),
            boxes,
            "inital_marker_state",
        )
        final = wholes(trial.numbered("final_marker_state", boxes), boxes, "final_marker_state")
        updates = []
        for n, update in enumerate(trial.list("updates", 8)):
            path = f"updates > {n}"
            box, direction = members(update, 2, path)
            updates.append({"box": wholes([box], 1, path)[0], "direction": one_of(direction, FROM_TO, f"{path} > 1")})
        order = trial.wholes("probe_order", boxes)
        if sorted(order) != list(range(boxes)):
            raise trial.wrong("probe_order", f"expected the boxes 0 to {boxes - 1} in some order; found {order}")
        walk = {"start": start, "updates": updates, "final": final}
        trial.equal("probe_gt", [final[box] for box in order])
        if all(0 <= update["box"] < boxes for update in updates):
            trial.equal("marker_states", _states(walk))
        self._check_places(trial, boxes)
        return {"set_size": boxes}, {"walk": walk, "order": order}

    @staticmethod
    def _check_places(trial: Fields, boxes: int) -> None:
        """Check that the boxes are where they are drawn here."""
        if "box_center_coords" not in trial:
            return
        for n, (centre, (x, y)) in enumerate(
            zip(trial.numbered("box_center_coords", boxes), _centres(boxes), strict=True)
        ):
            good = (
                isinstance(centre, list) and len(centre) == 2 and all(isinstance(part, (int, float)) for part in centre)
            )
            if not good or math.dist(centre, (x, y)) > 0.01:
                raise MalformedError(
                    f"box_center_coords > {n}", f"expected about [{x:.2f}, {y:.2f}]; found {centre!r:.60}"
                )

    def write(self, levels: Levels, draws: Draws) -> Json:
        walk, order = draws["walk"], draws["order"]
        centres = _centres(levels["set_size"])
        return {
            "set_size": levels["set_size"],
            "grid_size": 3,
            "num_updates": 8,
            "presentation_time": 1,
            "box_center_coords": as_numbered([x, y] for x, y in centres),
            "box_grid_center_coords": as_numbered(
                as_numbered([x + 5.0 * (cell % 3 - 1), y + 5.0 * (cell // 3 - 1)] for cell in range(9))
                for x, y in centres
            ),
            "inital_marker_state": as_numbered(walk["start"]),
            "final_marker_state": as_numbered(walk["final"]),
            "marker_states": _states(walk),
            "updates": [[update["box"], _MARKED[update["direction"]]] for update in walk["updates"]],
            "probe_order": order,
            "probe_gt": [walk["final"][box] for box in order],
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory"),
            "update_stim_fnames": frame_names(name, "update", trial["num_updates"]),
            "probe_stim_fnames": frame_names(name, "probe", trial["set_size"]),
        }

    def steps(self, trial: Json) -> list[str]:
        return [*trial["memory_stim_fnames"], *trial["update_stim_fnames"], *trial["probe_stim_fnames"]]


def _centres(boxes: int) -> list[tuple[float, float]]:
    """Middles of the boxes: evenly on a circle, a single one in the middle."""
    if boxes == 1:
        return [(48, 48)]
    angles = [2 * math.pi * n / boxes for n in range(boxes)]
    return [(48 + 35 * math.cos(angle), 48 + 35 * math.sin(angle)) for angle in angles]


def _states(walk: dict[str, Any]) -> list[dict[str, int]]:
    """Return where the markers are, at first and after each update."""
    cells = list(walk["start"])
    states = [as_numbered(cells)]
    for update in walk["updates"]:
        right, down = STEPS[update["direction"]]
        cells[update["box"]] += 3 * down + right
        states.append(as_numbered(cells))
    return states


_FEATURES = {"Color": "colour", "Orientation": "orientation", "Size": "size", "Gap": "gap"}
_NAMES = {feature: name for name, feature in _FEATURES.items()}
#: small bars are 9 long, or 10.5 after a change of size; large ones 15, or 16.5
_LARGE = 12.5


class ChangeDetection(WormTask):
    """Change detection. Coordinates are passed on as they are: the benchmark leaves it to the
    drawing to truncate them.

    Parameters
    ----------
    feature : what may change in the data set
    """

    paradigm = "cd"
    keys: ClassVar = {"arrays": "probe_array", "retention_steps": "retention_interval"}

    def __init__(self, feature: str) -> None:
        self.feature = feature

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        size = trial.whole("set_size")
        answer = trial.word("gt", {0: "same", 1: "different"})
        if self.feature == "conjunction" and answer == "different":
            changed = trial.word("conjunction_gt", _FEATURES)
        else:
            trial.equal("conjunction_gt", None)
            changed = self.feature if answer == "different" else "none"
        arrays = {
            key: [
                _bar(bar, f"{key}_array > {n}")
                for n, bar in enumerate(trial.numbered(f"{key}_array", size, 1), start=1)
            ]
            for key in ("memory", "probe")
        }
        return (
            {"set_size": size, "retention_steps": trial.whole("retention_interval")},
            {"arrays": {**arrays, "answer": answer, "changed": changed}},
        )

    def write(self, levels: Levels, draws: Draws) -> Json:
        arrays = draws["arrays"]
        return {
            "set_size": levels["set_size"],
            "memory_array": as_numbered(map(_bar_json, arrays["memory"]), 1),
            "probe_array": as_numbered(map(_bar_json, arrays["probe"]), 1),
            "retention_interval": levels["retention_steps"],
            "conjunction_gt": _NAMES[arrays["changed"]]
            if self.feature == "conjunction" and arrays["answer"] == "different"
            else None,
            "gt": int(arrays["answer"] == "different"),
        }

    def files(self, name: str, trial: Json) -> Json:
        return {"memory_stim_fnames": frame_names(name, "memory"), "probe_stim_fnames": frame_names(name, "probe")}

    def steps(self, trial: Json) -> list[str]:
        return [*trial["memory_stim_fnames"], *[BLANK] * trial["retention_interval"], *trial["probe_stim_fnames"]]

    def shared(self) -> dict[str, Stimulus]:
        return {BLANK: STIMULI.get("blank")()}


def _bar(value: Any, path: str) -> dict[str, Any]:
    """A bar of ours; what only describes the coordinates must describe them rightly."""
    bar = Fields(value, path)
    at = _coordinates(bar.any("bar_coords"), f"{path} > bar_coords")
    gap = bar.any("gap_coords")
    gap = gap if gap is None else _coordinates(gap, f"{path} > gap_coords")
    colour = bar.word("color", {"red": "red", "green": "green"})
    for key, expected in _described(at, gap).items():
        bar.equal(key, expected)
    for key in bar.unknown():
        raise bar.wrong(key, "bars have no such key")
    return {"at": at, "colour": colour, "gap": gap}


def _coordinates(value: Any, path: str) -> list[float]:
    if not all(map(is_number, members(value, 4, path))):
        raise MalformedError(path, f"expected four numbers; found {value}")
    return value


def _bar_json(bar: Mapping[str, Any]) -> Json:
    return {
        "bar_coords": bar["at"],
        "color": bar["colour"],
        **_described(bar["at"], bar["gap"]),
        "gap_coords": bar["gap"],
    }


def _described(at: Sequence[float], gap: Sequence[float] | None) -> dict[str, str]:
    """Size, orientation and gap of a bar in words."""
    x0, y0, x1, y1 = at
    return {
        "size": "large" if max(x1 - x0, y1 - y0) > _LARGE else "small",
        "orientation": "vertical" if x0 == x1 else "horizontal",
        "gap": "continuous" if gap is None else "broken",
    }


_GRID, _FILLED = 6, 18


def _patterns(trial: Fields, key: str, length: int) -> list[list[int]]:
    return [wholes(pattern, _FILLED, f"{key} > {n}") for n, pattern in enumerate(trial.numbered(key, length))]


def _memory(trial: Fields) -> tuple[int, list[list[int]]]:
    trial.equal("grid_size", _GRID)
    trial.pass_by("max_list_length")
    length = trial.whole("list_length")
    return length, _patterns(trial, "memory_items", length)


class ItemRecognition(WormTask):
    """Visual item recognition."""

    paradigm = "vir"
    keys: ClassVar = {
        "patterns": "memory_items",
        "target": "recognition_gt_index",
        "distractor": "distractor_item",
        "side": "recognition_gt",
        "retention_steps": "retention_interval",
    }

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        length, patterns = _memory(trial)
        trial.equal("distractor_diff", 4)
        draws = {
            "patterns": patterns,
            "target": trial.whole("recognition_gt_index"),
            "distractor": trial.wholes("distractor_item", _FILLED),
            "side": trial.whole("recognition_gt"),
        }
        return {"list_length": length, "retention_steps": trial.whole("retention_interval")}, draws

    def write(self, levels: Levels, draws: Draws) -> Json:
        return {
            "grid_size": _GRID,
            "list_length": levels["list_length"],
            "retention_interval": levels["retention_steps"],
            "max_list_length": 10,
            "memory_items": as_numbered(draws["patterns"]),
            "distractor_diff": 4,
            "distractor_item": draws["distractor"],
            "recognition_gt": draws["side"],
            "recognition_gt_index": draws["target"],
        }

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory", trial["list_length"]),
            "probe_stim_fnames": frame_names(name, "probe"),
        }

    def steps(self, trial: Json) -> list[str]:
        return [*trial["memory_stim_fnames"], *[BLANK] * trial["retention_interval"], *trial["probe_stim_fnames"]]

    def shared(self) -> dict[str, Stimulus]:
        return {BLANK: STIMULI.get("blank")()}


def _serial(length: int, draws: Draws, difference: int | None, **rest: Any) -> Json:
    """Return what both serial tasks write, with the keys of the other one empty."""
    return {
        "grid_size": _GRID,
        "list_length": length,
        "max_list_length": 9,
        "probe_variant": "Recall" if difference is None else "Recognition",
        "memory_items": as_numbered(draws["patterns"]),
        "distractor_diff": difference,
        "distractor_items": {},
        "recall_gt": None,
        "recognition_gt": None,
    } | rest


class SerialRecall(WormTask):
    """Visual serial recall."""

    paradigm = "vsr"
    keys: ClassVar = {"patterns": "memory_items", "slots": "recall_gt"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        length, patterns = _memory(trial)
        trial.equal("probe_variant", "Recall")
        trial.pass_by("distractor_diff", "distractor_items", "recognition_gt")
        return {"list_length": length}, {"patterns": patterns, "slots": trial.wholes("recall_gt", length)}

    def write(self, levels: Levels, draws: Draws) -> Json:
        return _serial(levels["list_length"], draws, None, recall_gt=draws["slots"])

    def files(self, name: str, trial: Json) -> Json:
        return {
            "memory_stim_fnames": frame_names(name, "memory", trial["list_length"]),
            "probe_stim_fnames": frame_names(name, "probe"),
        }

    def steps(self, trial: Json) -> list[str]:
        return [*trial["memory_stim_fnames"], *trial["probe_stim_fnames"] * trial["list_length"]]


class SerialRecognition(WormTask):
    """Visual serial recognition."""

    paradigm = "vsrec"
    keys: ClassVar = {
        "patterns": "memory_items",
        "distractors": "distractor_items",
        "sides": "recognition_gt",
        "pattern_distractor_difference": "distractor_diff",
    }

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        length, patterns = _memory(trial)
        trial.equal("probe_variant", "Recognition")
        trial.pass_by("recall_gt")
        levels = {"list_length": length, "pattern_distractor_difference": trial.whole("distractor_diff")}
        return levels, {
            "patterns": patterns,
            "distractors": _patterns(trial, "distractor_items", length),
            "sides": trial.wholes("recognition_gt", length),
        }

    def write(self, levels: Levels, draws: Draws) -> Json:
        items = as_numbered(draws["distractors"])
        return _serial(
            levels["list_length"],
            draws,
            levels["pattern_distractor_difference"],
            distractor_items=items,
            recognition_gt=draws["sides"],
        )

    def files(self, name: str, trial: Json) -> Json:
        length = trial["list_length"]
        return {
            "memory_stim_fnames": frame_names(name, "memory", length),
            "probe_stim_fnames": frame_names(name, "probe", length),
        }


_TASKS: dict[str, type[WormTask]] = {
    task.paradigm: task
    for task in (
        Coordination,
        FreeRecall,
        Integration,
        Updating,
        TaskSwitching,
        ItemRecognition,
        SerialRecall,
        SerialRecognition,
        ComplexSpan,
    )
}


def task_of(data_set: DataSet) -> WormTask:
    """The task of a data set."""
    feature = data_set.levels.get("feature")
    return ChangeDetection(feature) if feature is not None else _TASKS[data_set.paradigm]()
