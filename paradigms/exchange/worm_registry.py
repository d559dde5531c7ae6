"""All tasks of the WorM benchmark."""

from __future__ import annotations

from .worm_bars import ChangeDetection
from .worm_names import DataSet
from .worm_patterns import ItemRecognition, SerialRecall, SerialRecognition
from .worm_span import ComplexSpan
from .worm_spatial import Coordination, FreeRecall, Integration, Updating
from .worm_switching import TaskSwitching
from .worm_task import WormTask

_TASKS: dict[str, type[WormTask]] = {
    task.paradigm: task
    for task in (Coordination, FreeRecall, Integration, Updating, TaskSwitching, ItemRecognition, SerialRecall, SerialRecognition, ComplexSpan)
}


def task_of(data_set: DataSet) -> WormTask:
    """The task of a data set."""
    feature = data_set.levels.get("feature")
    return ChangeDetection(feature) if feature is not None else _TASKS[data_set.paradigm]()
