"""WorM's tasks with patterns and bars: visual item recognition, visual serial recall, visual serial
recognition; change detection, whose five data sets have one feature each that may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from spanlab.stimuli import STIMULI, Stimulus

from .fields import Fields, MalformedError, as_numbered, is_number, members, wholes
from .names import BLANK, frame_names
from .task import Draws, Json, Levels, Reading, WormTask

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
