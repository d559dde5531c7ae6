"""Task switching: cues and probes in one sequence."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ..language.diagnostics import show
from .base import SAMPLERS, Sampler

_TASKS = ("up_down", "left_right")
_BOXES = (0, 1, 2, 3)


@SAMPLERS.register
class TaskSequence(Sampler):
    """A sequence of cues and probes for two tasks (WorM, spatial task switching).

    Each entry has ``task``, ``cue`` (true for a cue), ``marker`` (cell of the 2 × 2 boxes, row by
    row) and ``answer`` (0 = top or left, 1 = bottom or right); of a cue the last two are null. The
    sequence begins with a cue; before every later probe the task switches with the given
    probability, with a cue, as long as there is room for the cue and its probe. Answers are fair
    coins. Places are equally likely, so that both tasks have the same answer to half of the markers
    (they are congruent), unless another share is given.
    """

    name: ClassVar[str] = "task_sequence"
    length: Annotated[int, Field(ge=2, le=1000)] = Field(20, description="number of cues and probes together")
    switch: Annotated[float, Field(ge=0, le=1)] = Field(0.2, description="probability of a switch before a probe")
    congruent: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description=(
            "probability that both tasks have the same answer to a marker; if not given, all places are equally likely,"
            " as in the benchmark"
        ),
    )

    def draw(self, random: np.random.RandomState) -> list[dict[str, Any]]:
        task = _TASKS[int(random.randint(2))]
        sequence = [self._cue(task), self._probe(task, random)]
        while len(sequence) < self.length:
            if random.random_sample() < self.switch and len(sequence) < self.length - 1:
                task = _TASKS[1 - _TASKS.index(task)]
                sequence.append(self._cue(task))
            sequence.append(self._probe(task, random))
        return sequence

    def check(self, value: Any) -> None:
        super().check(value)
        task, after_cue = "", False
        for place, entry in enumerate(value, start=1):
            cue, marker = entry["cue"], entry["marker"]
            if (
                entry["task"] not in _TASKS
                or (entry["task"] == task) == cue
                or (cue and (after_cue or place == len(value)))
            ):
                raise ValueError(
                    f"entry {place}: tasks are {' and '.join(_TASKS)}, begin with a cue, change at cues only, and a"
                    f" probe follows each; found {show(entry)}"
                )
            task, after_cue = entry["task"], cue
            row, column = divmod(marker, 2) if marker in _BOXES else (None, None)
            if (
                (marker in _BOXES) == cue
                or (cue and marker is not None)
                or entry["answer"] != (row if task == "up_down" else column)
            ):
                raise ValueError(
                    f"entry {place}: the answer to a marker in box 0, 1, 2 or 3 is its row or its column, and a cue has"
                    f" neither; found {show(entry)}"
                )
            if not cue and self.congruent in (0, 1) and (row == column) != self.congruent:
                raise ValueError(
                    f"entry {place}: expected {'only' if self.congruent else 'no'} congruent markers; found"
                    f" {show(entry)}"
                )

    @staticmethod
    def _cue(task: str) -> dict[str, Any]:
        return {"task": task, "cue": True, "marker": None, "answer": None}

    def _probe(self, task: str, random: np.random.RandomState) -> dict[str, Any]:
        answer = int(random.randint(2))
        alike = (
            bool(random.randint(2)) == bool(answer)
            if self.congruent is None
            else random.random_sample() < self.congruent
        )
        other = answer if alike else 1 - answer
        marker = 2 * answer + other if task == "up_down" else answer + 2 * other
        return {"task": task, "cue": False, "marker": marker, "answer": answer}
