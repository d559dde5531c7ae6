"""Names in data folders of the WorM benchmark (NeurIPS 2023): data sets, splits, files.

``FOLDER/DATA_SET/data_rand_trials.json`` holds the trials of all splits; ``FOLDER/DATA_SET/SPLIT/``
their frames, named after split and number of the trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRIALS = "data_rand_trials.json"
#: ``train`` holds the validation trials, too: the benchmark's code takes them out at random.
#: ``gen_test`` is for levels that were held out; it is empty.
SPLITS = ("train", "test", "gen_test")
#: beside the trials, in data folders that SpanLab has written: where they come from
ORIGIN = "spanlab.json"
BLANK, SILENT_PROBE = "blank.png", "probe.png"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set of the benchmark.

    Parameters
    ----------
    folder : its name
    paradigm : our paradigm
    levels : factor levels that all its trials have
    variant : what sets it apart from other data sets of the paradigm
    """

    folder: str
    paradigm: str
    levels: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def stem(self) -> str:
        """Name of files of its trials here: ``sfr``, ``cd_colour``."""
        return f"{self.paradigm}_{self.variant}" if self.variant else self.paradigm


_CHANGE = "Color_Orientation_Size_Gap_Conjunction_Change_Detection_"

#: in the benchmark's order
DATA_SETS = (
    DataSet("Spatial_Coordination", "sc"),
    DataSet("Spatial_Free_Recall", "sfr"),
    DataSet("Spatial_Integration", "si"),
    DataSet("Spatial_Memory_Updating", "smu"),
    DataSet("Spatial_Task_Switching_Cued", "sts", {"switch_probability": 0.2}),
    DataSet("Visual_Item_Recognition", "vir"),
    DataSet("Visual_Serial_Recall", "vsr"),
    DataSet("Visual_Serial_Recognition", "vsrec"),
    *(
        DataSet(_CHANGE + name, "cd", {"feature": feature}, feature)
        for name, feature in (
            ("Color", "colour"),
            ("Orientation", "orientation"),
            ("Size", "size"),
            ("Gap", "gap"),
            ("Conjunction", "conjunction"),
        )
    ),
    DataSet("Complex_Span", "cs"),
)


def trial_name(split: str, number: int) -> str:
    """``train_000012``."""
    return f"{split}_{number:06d}"


def frame_names(trial: str, what: str, many: int | None = None, digits: int = 2) -> list[str]:
    """``train_000012_memory_00.png`` and so on; ``train_000012_probe.png`` when the number is not
    given."""
    return [f"{trial}_{what}.png"] if many is None else [f"{trial}_{what}_{n:0{digits}d}.png" for n in range(many)]
