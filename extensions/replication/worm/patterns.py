"""WorM's tasks with matrix patterns: visual item recognition, visual serial recall, visual serial
recognition."""

from __future__ import annotations

from typing import Any, ClassVar

from spanlab.stimuli import STIMULI, Stimulus

from .fields import Fields, as_numbered, wholes
from .names import BLANK, frame_names
from .task import Draws, Json, Levels, Reading, WormTask

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
