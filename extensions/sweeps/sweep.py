"""Sweeps: one training config after another, made from a grid. What a sweep is stands in a YAML
file, and what became of it in a folder."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from spanlab.agents.network import TrainingConfig, read_config
from spanlab.agents.network.checkpoints_io.files import write_atomically
from spanlab.agents.network.training import config_named
from spanlab.agents.network.training.config import config_in
from spanlab.core import SpanLabError, nearest, only_writer
from spanlab.core.atomic_files import TakenError
from spanlab.core.errors import ParadigmError
from spanlab.core.registry import StrictModel
from spanlab.core.worker_pool import SerialPool, WorkerPool
from spanlab.paradigms import digest
from spanlab.paradigms.language import read, validated
from spanlab.paradigms.language.yaml_source import parse

if TYPE_CHECKING:
    import pandas as pd


#: written when a run is over, and when a fault has ended it
DONE, FAULT = "done.json", "fault.json"


#: the file of a folder that says what is swept
SWEEP = "sweep.json"
#: the config of a run, in the run's folder
CONFIG = "config.yaml"
_MOST_RUNS = 10_000
_FORMAT = 1


class SweepConfig(StrictModel):
    """A grid of training configs."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=40)] = Field(
        description="name of the sweep"
    )
    about: str = Field("", description="what it is for, in a sentence or two")
    base: str = Field(description="the training config that is varied: a preset, or a file (relative to this one)")
    grid: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)] = Field(
        description=(
            "keys of the config (parts joined by dots; tasks.batch is that of every task) with the values that each"
            " takes; every combination is a run"
        )
    )


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One run of a sweep.

    Parameters
    ----------
    id : its number and its values, as its folder is called
    values : its value of each key of the grid
    config : what is trained
    """

    id: str
    values: Mapping[str, Any]
    config: TrainingConfig


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep: what it was asked to be, and its runs."""

    config: SweepConfig
    runs: tuple[SweepRun, ...]

    @property
    def hash(self) -> str:
        """Identifies the sweep: all configs of its runs."""
        return digest([[run.id, run.config.model_dump(mode="json")] for run in self.runs])


def sweep_presets() -> list[str]:
    """The sweeps that ship."""
    return sorted(path.stem for path in _shipped().glob("*.yaml"))


def read_sweep(name: str | Path) -> Sweep:
    """A sweep by the name of one that ships, or from a file, with every run checked.

    Raises
    ------
    SpanLabError
        when there is none such, or with everything that is wrong with it.
    """
    path = Path(name)
    if not path.is_file():
        if re.fullmatch(r"[\w.-]+", str(name)) and (_shipped() / f"{name}.yaml").is_file():
            path = _shipped() / f"{name}.yaml"
        else:
            known = sweep_presets()
            raise SpanLabError(
                f"there is no sweep '{name}'{nearest(str(name), known)}; give a YAML file, or one that ships:"
                f" {', '.join(known)}"
            )
    document = read(path)
    if not isinstance(document.data, dict):
        raise ParadigmError([document.problem((), "expected a sweep (keys with values, beginning with 'name: NAME')")])
    config, found = validated(SweepConfig, document.data)
    if found or not isinstance(config, SweepConfig):
        raise ParadigmError([document.problem(place, message) for place, message in found])
    many = math.prod(map(len, config.grid.values()))
    if many > _MOST_RUNS:
        raise ParadigmError([document.problem(("grid",), f"{many} runs; at most {_MOST_RUNS} are possible")])
    beside = path.parent / config.base
    whole = _absolute(
        config_named(beside if beside.is_file() else config.base).model_dump(mode="json", exclude_unset=True)
    )
    runs = []
    for number, values in enumerate(itertools.product(*config.grid.values()), start=1):
        chosen = dict(zip(config.grid, values, strict=True))
        id_ = "-".join(
            [
                f"{number:0{len(str(many))}d}",
                *(_slug(value) for key, value in chosen.items() if len(config.grid[key]) > 1),
            ]
        )[:80].rstrip("-.")
        told = ", ".join(f"{key} = {value}" for key, value in chosen.items())
        what = f"run {number} ({told}) of {path}"
        runs.append(SweepRun(id_, chosen, _config(whole, config, chosen, what, number, many)))
    return Sweep(config, tuple(runs))


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Make the folder of a sweep, or make sure that it is that of this sweep.

    Raises
    ------
    SpanLabError
        when it is that of another one, or cannot be written.
    """
    file = folder / SWEEP
    if file.exists():
        if read_folder(folder)["hash"] != sweep.hash:
            raise SpanLabError(
                f"{folder} holds another sweep, or this one with other settings; choose another folder with --output"
            )
        return
    if folder.exists() and not folder.is_dir():
        raise SpanLabError(f"{folder} is a file, and a sweep needs a folder; choose another one with --output")
    if folder.exists() and any(folder.iterdir()):
        raise SpanLabError(f"{folder} is not empty and holds no sweep; choose another folder with --output")
    for run in sweep.runs:
        text = json.dumps(run.config.model_dump(mode="json", exclude_unset=True), indent=1, ensure_ascii=False)
        write_atomically(folder / "runs" / run.id / CONFIG, f"{text}\n".encode())
    record = {
        "format_version": _FORMAT,
        "sweep": sweep.config.name,
        "hash": sweep.hash,
        "config": sweep.config.model_dump(mode="json"),
        "runs": [
            {"id": run.id, "name": run.config.name, "steps": run.config.steps, "values": dict(run.values)}
            for run in sweep.runs
        ],
    }
    write_atomically(file, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def read_folder(folder: Path) -> dict[str, Any]:
    """Return what ``sweep.json`` of a folder says.

    Raises
    ------
    SpanLabError
        when it holds no sweep.
    """
    try:
        record = json.loads((folder / SWEEP).read_text(encoding="utf-8"))
        if not isinstance(record, dict) or not {"hash", "runs", "sweep", "config"} <= set(record):
            raise ValueError("it is not a sweep")
    except (FileNotFoundError, NotADirectoryError):
        raise SpanLabError(
            f"{folder} holds no sweep: it has no {SWEEP}; begin one with: spanlab sweep CONFIG -o {folder}"
        ) from None
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{folder / SWEEP} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if record.get("format_version", 0) > _FORMAT:
        raise SpanLabError(f"{folder / SWEEP} was written by a newer spanlab: update spanlab")
    return record


def _config(
    base: Mapping[str, Any], sweep: SweepConfig, chosen: Mapping[str, Any], what: str, number: int, many: int
) -> TrainingConfig:
    """The config of one run, checked as one from a file is."""
    data = json.loads(json.dumps(base))
    for key, value in chosen.items():
        way = key.split(".")
        if any(way[0] in stage for stage in data.get("stages") or []):
            raise SpanLabError(f"{what}: {key}: stages have their own, which would be trained each time")
        _put(data, way, value, f"{what}: {key}")
    data.pop(
        "workers", None
    )  # it changes nothing but the speed, and the processes of a sweep may have no processes of their own
    data["name"] = f"{sweep.name}-{number:0{len(str(many))}d}"
    try:
        return config_in(parse(json.dumps(data), what))
    except ParadigmError as error:
        problems = "; ".join(f"{problem.key}: {problem.message}".removeprefix(": ") for problem in error.problems)
        raise SpanLabError(f"{what}: {problems}") from None


def _put(data: Any, way: list[str], value: Any, what: str) -> None:
    """Set a value; on the way through a list, in each of its entries."""
    if isinstance(data, list):
        for entry in data:
            _put(entry, way, value, what)
    elif not isinstance(data, dict):
        raise SpanLabError(f"{what}: there is no such key in a training config")
    elif len(way) == 1:
        data[way[0]] = value
    else:
        _put(data.setdefault(way[0], {}), way[1:], value, what)


def _absolute(data: dict[str, Any]) -> dict[str, Any]:
    """Files by their whole path: workers may be elsewhere."""
    for part in ("tasks", "test"):
        for task in data.get(part, []):
            if os.path.isfile(task["paradigm"]):
                task["paradigm"] = os.path.abspath(task["paradigm"])
    if isinstance(data.get("vectors"), str):
        data["vectors"] = os.path.abspath(data["vectors"])
    return data


def _slug(value: Any) -> str:
    return (
        re.sub(r"[^A-Za-z0-9.]+", "_", f"{value:g}" if isinstance(value, float) else str(value)).strip("_.") or "none"
    )


def _shipped() -> Path:
    return Path(str(resources.files("spanlab.extensions.sweeps")))


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
            return "done already" if (folder / DONE).exists() else _trained(folder)
    except TakenError:
        return "another process trains it"


def _trained(folder: Path) -> str:
    from spanlab.agents.network.training import train

    name = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["name"]
    begun = any(folder.glob("*.state.pt"))  # of any stage
    if not begun:
        for left in folder.glob(f"{name}[.-]*"):  # it was stopped before there was a state to go on from
            left.unlink()
    (folder / FAULT).unlink(missing_ok=True)
    try:
        result = train(
            read_config(folder / CONFIG), folder, resume=begun, progress=False, command=f"spanlab train {CONFIG}"
        )
    except SpanLabError as error:
        write_atomically(folder / FAULT, (json.dumps({"message": str(error)}, indent=1) + "\n").encode())
        return f"failed: {error}"
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
