"""The log of a training run, what is shown meanwhile, and its curves."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ....core.errors import SpanLabError
from ..checkpoints_io.files import write_atomically
from ..inputs.batches import TrainingBatch
from ..inputs.training_data import TrainingData

if TYPE_CHECKING:
    from lightning_fabric import Fabric

#: The events of the log that are drawn, by the trials that they are of.
_DRAWN = {"train": "training", "validation": "validation"}
#: Points of a line.
_MOST = 150


class TrainingJournal:
    """``NAME.log.jsonl``: one JSON object a line, each with its ``event`` and ``step``.

    With ``keep_until`` an earlier log goes on after that step: later lines, written before an
    interruption, are dropped, since they come again.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """

    def __init__(self, path: Path, keep_until: int | None = None) -> None:
        self.path = path
        kept = _lines_until(path, keep_until) if keep_until is not None and path.exists() else []
        write_atomically(path, "".join(line + "\n" for line in kept).encode("utf-8"))
        self._file = path.open("ab", buffering=0)

    def write(self, event: str, **values: Any) -> None:
        """Add a line; it is in the file when this returns."""
        line = (json.dumps({"event": event, **values}, ensure_ascii=False) + "\n").encode("utf-8")
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise SpanLabError(
                f"cannot write {self.path} ({error.strerror or error}); free some space, and continue with --resume"
            ) from None

    def close(self) -> None:
        self._file.close()


def _lines_until(path: Path, step: int) -> list[str]:
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            break  # the last line of a killed run may be cut off
        if entry.get("step", 0) <= step and entry.get("event") not in ("test", "end"):
            kept.append(line)
    return kept


def bars(shown: bool) -> Progress:
    """Progress bars on the terminal, or nothing; ``said`` is a few words beside a bar."""
    return Progress(
        TextColumn("{task.description:<17}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        disable=not shown,
    )


def draw(log: Path, figure: Path) -> None:
    """Draw the curves of a log, SVG: accuracy and loss, of each task and of all together, in training and validation.

    Of a long run they are means over neighbouring steps: no line has more points than can be told apart.
    """
    import altair as alt
    import pandas as pd
    import vl_convert

    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    points = pd.DataFrame(
        [
            (measure, task.replace("_", " "), _DRAWN[entry["event"]], entry["step"], value)
            for entry in entries
            if entry["event"] in _DRAWN
            for measure in ("accuracy", "loss")
            for task, value in entry[measure].items()
        ],
        columns=["measure", "task", "trials", "step", "value"],
    )
    together = points.groupby(["measure", "trials", "step"], as_index=False)["value"].mean()
    points = pd.concat([together.assign(task="all together"), points])
    width = int(points["step"].max()) // _MOST + 1
    points = points.groupby(["measure", "task", "trials", points["step"] // width], as_index=False, sort=False).mean()
    chart = (
        alt.Chart(alt.Data(values=points.to_dict("records")))
        .mark_line(point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(tickCount=4)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=alt.Color("trials:N", legend=alt.Legend(orient="top", title=None)),
        )
        .properties(width=220, height=90)
        .facet(
            row=alt.Row("task:N", sort=list(dict.fromkeys(points["task"])), title=None),
            column=alt.Column("measure:N", title=None),
        )
        .resolve_scale(y="independent")
    )
    write_atomically(figure, vl_convert.vegalite_to_svg(chart.to_dict()).encode("utf-8"))


class Recent:
    """Losses and shares that were right, step by step; on a GPU nobody waits for them before they
    are wanted.

    Parameters
    ----------
    training_data : for the names of paradigms
    fabric : of the processes that share each batch
    """

    def __init__(self, training_data: TrainingData, fabric: Fabric) -> None:
        self._training_data, self._fabric = training_data, fabric
        self._steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]] = []

    def add(self, batch: TrainingBatch, losses: torch.Tensor, right: torch.Tensor, step: int) -> None:
        """Keep what came of a step; where looking costs no waiting, see that its losses are finite."""
        self._steps.append((batch, losses, right))
        if self._fabric.device.type == "cpu":
            self._look(self._steps[-1:], step)

    def check(self, step: int) -> None:
        """See that all losses are finite.

        Raises
        ------
        SpanLabError
            when one is not.
        """
        self._look(self._steps, step)

    def _look(self, steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]], step: int) -> None:
        for batch, losses, _ in steps:
            if not bool(torch.isfinite(losses).all()):
                worst = batch.parts[int((~torch.isfinite(losses)).nonzero()[0])]
                name = self._training_data.paradigms[worst.number].name
                raise SpanLabError(f"the loss of {name} is not finite at step {step}; lower rate.peak in the config")

    def taken(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """Mean loss and mean share that was right of each paradigm since this was last asked, over
        the whole batches."""
        self.check(step)
        values: dict[str, list[list[float]]] = {}
        for batch, losses, right in self._steps:
            both = torch.stack([losses, right])
            if self._fabric.world_size > 1:
                both = cast(torch.Tensor, self._fabric.all_reduce(both, reduce_op="sum"))
            for part, pair in zip(batch.parts, both.T.tolist(), strict=True):
                values.setdefault(self._training_data.label(part.number), []).append(pair)
        self._steps.clear()
        means = {name: np.mean(pairs, axis=0) for name, pairs in values.items()}
        return {name: round(float(mean[0]), 5) for name, mean in means.items()}, {
            name: round(float(mean[1]), 4) for name, mean in means.items()
        }
