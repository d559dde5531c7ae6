"""The runs of a sweep: taken one by one or by workers, gone on with after whatever has stopped
them, each done once, and compared in tables.

Among runs of one network that differ in anything else (learning rate, batch, seed), the one with the
highest validation accuracy stands for it: test accuracy chooses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ....core.atomic_files import TakenError, only_writer
from ....core.errors import SpanLabError
from ....core.worker_pool import SerialPool, WorkerPool
from ..checkpoints_io.files import write_atomically
from ..training.config import read_config
from .sweep import CONFIG, read_folder

if TYPE_CHECKING:
    import pandas as pd

#: written when a run is over, and when a fault has ended it
DONE, FAULT = "done.json", "fault.json"

State = Literal["done", "failed", "under way", "begun", "waiting"]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Progress of a run.

    Parameters
    ----------
    id, values : which
    state : ``under way`` while a process works on it; ``begun`` when one has, and it will be gone
        on with
    step, steps : of training, as its log tells
    note : what has gone wrong
    """

    id: str
    values: Mapping[str, Any]
    state: State
    step: int
    steps: int
    note: str = ""


def run_sweep(
    folder: Path, pool: WorkerPool | None = None, tell: Callable[[str, str], None] = lambda run, outcome: None
) -> None:
    """Take every run of a sweep that is not done. Several processes may do this at once, on one
    machine or on several with a common disk.

    Parameters
    ----------
    pool : who trains; this process when not given
    tell : told the run and what came of it, as each one ends

    Raises
    ------
    SpanLabError
        when workers are lost for good. A fault in a run is kept in its folder, and ends no other.
    """
    runs = [run["id"] for run in read_folder(folder)["runs"]]
    left = [run for run in runs if not (folder / "runs" / run / DONE).exists()]
    jobs = [str((folder / "runs" / run).absolute()) for run in left]
    for number, outcome in (pool or SerialPool()).each(_take, partial(dict), jobs):
        tell(left[number], outcome)


def _take(shared: Any, job: str) -> str:
    """One run, as far as it goes; what came of it."""
    folder = Path(job)
    try:
        with only_writer(folder):
            if (folder / DONE).exists():
                return "done already"
            return _trained(folder)
    except TakenError:
        return "another process is at it"


def _trained(folder: Path) -> str:
    from ..training.run import train

    name = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["name"]
    begun = (folder / f"{name}.state.pt").exists()
    if not begun:
        for left in folder.glob(f"{name}.*"):  # it was stopped before there was a state to go on from
            left.unlink()
    (folder / FAULT).unlink(missing_ok=True)
    try:
        result = train(
            read_config(folder / CONFIG), folder, resume=begun, progress=False, command=f"spanlab train {CONFIG}"
        )
    except SpanLabError as error:
        write_atomically(folder / FAULT, (json.dumps({"message": str(error)}, indent=1) + "\n").encode())
        return f"failed: {error}"
    assert result is not None
    write_atomically(
        folder / DONE,
        (json.dumps({"checkpoint": result.checkpoint.name, "steps": result.steps}, indent=1) + "\n").encode(),
    )
    return "done"


def status(folder: Path) -> list[RunStatus]:
    """Return how far every run of a sweep is.

    Raises
    ------
    SpanLabError
        when the folder holds no sweep.
    """
    return [_status(folder / "runs" / run["id"], run) for run in read_folder(folder)["runs"]]


def _status(folder: Path, run: Mapping[str, Any]) -> RunStatus:
    step = max((event.get("step", 0) for event in events(folder / f"{run['name']}.log.jsonl")), default=0)
    found = partial(RunStatus, run["id"], run["values"], step=step, steps=run["steps"])
    if (folder / DONE).exists():
        return found("done")
    if (folder / ".lock").exists():
        try:
            with only_writer(folder):
                pass
        except TakenError:
            return found("under way")
    if (folder / FAULT).exists():
        return found("failed", note=str(json.loads((folder / FAULT).read_text(encoding="utf-8"))["message"]))
    return found("begun" if step else "waiting")


def events(log: Path) -> list[dict[str, Any]]:
    """The lines of a run's log that are whole."""
    found: list[dict[str, Any]] = []
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # the last line is being written
    return found


def finished_runs(folder: Path) -> list[dict[str, Any]]:
    """A row for each run of a sweep that is done: its values, size, accuracy in validation and test
    (mean over paradigms, and for each).

    Raises
    ------
    SpanLabError
        when the folder holds no sweep, or a finished run cannot be read.
    """
    return [
        _row(folder / "runs" / run["id"], run)
        for run in read_folder(folder)["runs"]
        if (folder / "runs" / run["id"] / DONE).exists()
    ]


def _row(folder: Path, run: Mapping[str, Any]) -> dict[str, Any]:
    import pandas as pd

    try:
        card = json.loads((folder / f"{run['name']}.json").read_text(encoding="utf-8"))
        accuracy = pd.DataFrame(card["test"]).groupby("paradigm", sort=False)["accuracy"].mean()
        checked = [
            event["mean"] for event in events(folder / f"{run['name']}.log.jsonl") if event["event"] == "validation"
        ]
        return {
            "run": run["id"],
            "architecture": card["settings"]["architecture"],
            "hidden": card["settings"]["hidden"],
            "parameters": card["parameters"],
            **{key: value for key, value in run["values"].items() if key not in ("model.architecture", "model.hidden")},
            "steps": json.loads((folder / DONE).read_text(encoding="utf-8"))["steps"],
            "wall_s": card["wall_s"],
            "validation": max(checked),
            "test": float(accuracy.mean()),
            **{f"test {name}": value for name, value in accuracy.items()},
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpanLabError(
            f"the finished run {folder} cannot be read ({type(error).__name__}: {error}); delete its {DONE}, and it is"
            " made again"
        ) from None


def by_capacity(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each number of units, with the test accuracy, number of parameters and run of each
    architecture of that size."""
    best = runs.sort_values("validation", ascending=False, kind="stable").drop_duplicates(["architecture", "hidden"])
    table = best.pivot(index="hidden", columns="architecture", values=["test", "parameters", "run"])
    return table.set_axis([f"{architecture} {value}" for value, architecture in table.columns], axis=1)


def write_tables(folder: Path) -> list[Path]:
    """Write ``runs.csv`` and ``by_capacity.csv`` of what is done so far; the files.

    Raises
    ------
    SpanLabError
        when there is no finished run, or they cannot be written.
    """
    import pandas as pd

    runs = pd.DataFrame(finished_runs(folder))
    if runs.empty:
        raise SpanLabError(f"no run of {folder} is done, so there is nothing to compare yet")
    tables = {"runs.csv": runs.set_index("run"), "by_capacity.csv": by_capacity(runs)}
    for name, table in tables.items():
        write_atomically(folder / name, table.to_csv(float_format="%.6g", lineterminator="\n").encode())
    return [folder / name for name in tables]
