"""All tasks of the WorM benchmark."""

from __future__ import annotations

from .names import DataSet
from .span import ComplexSpan
from .spatial import Coordination, FreeRecall, Integration, TaskSwitching, Updating
from .task import WormTask
from .visual import ChangeDetection, ItemRecognition, SerialRecall, SerialRecognition

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
