"""WorM's spatial task switching, with cues."""

from __future__ import annotations

from typing import Any, ClassVar

from .fields import Fields, one_of
from .names import frame_names
from .task import Draws, Json, Levels, Reading, WormTask

_LENGTH = 20
#: label of a cue
_CUE = 2
_TASKS = {"Up_Down": "up_down", "Left_Right": "left_right"}
_NAMES = {task: name for name, task in _TASKS.items()}


class TaskSwitching(WormTask):
    """Spatial task switching."""

    paradigm = "sts"
    keys: ClassVar = {"sequence": "task_gt"}

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        trial.equal("trial_length", _LENGTH)
        trial.equal("variant", "Cued")
        tasks, labels = trial.list("task_gt", _LENGTH), trial.wholes("gt", _LENGTH)
        markers = Fields(trial.any("marker_location"), "marker_location")
        words = {name: (task, False) for name, task in _TASKS.items()} | {
            f"Cue_{name}": (task, True) for name, task in _TASKS.items()
        }
        sequence = []
        for step, (name, label) in enumerate(zip(tasks, labels, strict=True)):
            task, cue = one_of(name, words, f"task_gt > {step}")
            if cue:
                one_of(label, {_CUE: None}, f"gt > {step}")
                sequence.append({"task": task, "cue": True, "marker": None, "answer": None})
                continue
            marker = one_of(markers.any(str(step)), dict(enumerate(range(4))), f"marker_location > {step}")
            expected = marker // 2 if task == "up_down" else marker % 2
            one_of(label, {expected: None}, f"gt > {step}")
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
            "task_gt": [f"{'Cue_' if entry['cue'] else ''}{_NAMES[entry['task']]}" for entry in sequence],
            "gt": [_CUE if entry["cue"] else entry["answer"] for entry in sequence],
        }

    def files(self, name: str, trial: Json) -> Json:
        return {"stim_fnames": frame_names(name, "trial", _LENGTH)}

    def steps(self, trial: Json) -> list[str]:
        return [*trial["stim_fnames"]]
