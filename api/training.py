"""Networks: one by one, or in grids of training runs."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typing_extensions import Unpack

from ..core.errors import SpanLabError
from ..core.worker_pool import open_pool
from .options import PathLike, Result, Sharing, in_words, public, table_lines, tabled

if TYPE_CHECKING:
    from ..agents.network import TrainingConfig
    from ..agents.network.training.config import Recipe


@public
def train(
    config: Annotated[
        PathLike | None,
        typer.Argument(
            help="training config (YAML), or the name of a preset such as lstm-256; --list names them",
            metavar="[CONFIG]",
        ),
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option(
            "-o", "--output", help="folder for checkpoint, log and card; runs/NAME when not given", metavar="DIR"
        ),
    ] = None,
    *,
    resume: Annotated[bool, typer.Option("--resume", help="continue from the last saved state")] = False,
    steps: Annotated[int | None, typer.Option("--steps", help="training steps, instead of the config's", min=1)] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="seed of weights and trials, instead of the config's", min=0)
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="take loss, schedule, validation and selection as published, or SpanLab's improved ones",
            metavar="published|improved",
        ),
    ] = None,
    toy: Annotated[
        bool, typer.Option("--toy", help="try a config in seconds: one step, with one trial of each task")
    ] = False,
    list_all: Annotated[bool, typer.Option("--list", help="list the presets")] = False,
) -> Result:
    """Train a network on paradigms, and write its checkpoint, its log and a card.

    Examples
    --------
    >>> found = spanlab.train("small-vsr", "runs/toy", toy=True)
    >>> found.to_frame()["paradigm"].tolist()
    ['vsr']
    """
    from ..agents.network.training.presets import changed, config_named, presets, with_recipe
    from ..agents.network.training.presets import toy as as_toy

    if list_all:
        return tabled("presets", ("name", "about"), [*presets().items()], width=100)
    if config is None:
        raise SpanLabError(
            "what should be trained? Give a training config (a YAML file) or a preset; spanlab train --list names these"
        )
    if recipe not in (None, "published", "improved"):
        raise SpanLabError(f"is published or improved; found '{recipe}'", option="recipe")

    def change(read: TrainingConfig) -> TrainingConfig:
        if recipe is not None:
            read = with_recipe(read, cast("Recipe", recipe))
        if toy:
            read = as_toy(read)
        if steps is not None and read.stages:
            raise SpanLabError(f"{read.name} is trained in stages, each with steps of its own; change these in a copy")
        given = {key: value for key, value in (("steps", steps), ("seed", seed)) if value is not None}
        return changed(read, **given) if given else read

    from ..agents.network.settings import need_torch

    need_torch()
    from ..agents.network.training.run import train as train_network

    options = {"--recipe": recipe, "--steps": steps, "--seed": seed}
    options_given = [f"{name} {value}" for name, value in options.items() if value is not None] + ["--toy"] * toy
    command = " ".join(["spanlab train", Path(config).name, *options_given])
    result = train_network(change(config_named(config)), output, resume=resume, command=command)
    return Result(result.told(), tables={"accuracy": [asdict(row) for row in result.rows]}, files=[result.checkpoint])


@public
def sweep(
    config: Annotated[
        PathLike | None,
        typer.Argument(
            help="sweep (YAML): a training config and a grid of values; or one that ships, such as table-a1",
            metavar="[CONFIG]",
        ),
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option(
            "-o", "--output", help="folder for its runs; an unfinished sweep there is continued", metavar="DIR"
        ),
    ] = None,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="only show the progress of a sweep, and compare its finished runs: spanlab sweep DIR --status",
        ),
    ] = False,
    **sharing: Unpack[Sharing],
) -> Result:
    """Train every network of a grid, here or on many machines, and compare them.

    Examples
    --------
    >>> spanlab.sweep("sweeps/mine", status=True)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: sweeps/mine holds no sweep: ...
    """
    if status:
        if config is None:
            raise SpanLabError("which sweep? spanlab sweep DIR --status")
        if names := [name for name, value in {"output": output, **sharing}.items() if value is not None]:
            raise SpanLabError(f"only reports: leave out {in_words(names)}", option="status", names=names)
        return _standing(Path(config))
    if config is None or output is None:
        raise SpanLabError(
            "which sweep, and where? spanlab sweep CONFIG -o DIR (or, to see how far one is, spanlab sweep DIR"
            " --status)"
        )
    from ..agents.network.settings import need_torch

    need_torch()
    from ..agents.network.sweeps.sweep import read_sweep, run_sweep, write_sweep

    folder = Path(output)
    write_sweep(folder, read_sweep(str(config)))
    with open_pool(sharing.get("workers"), sharing.get("scheduler")) as pool:
        try:
            run_sweep(folder, pool, lambda run, outcome: print(f"{run}: {outcome}", file=sys.stderr, flush=True))
        except (SpanLabError, KeyboardInterrupt) as error:
            why = str(error) if isinstance(error, SpanLabError) else "interrupted"
            raise SpanLabError(f"{why}\nWhat is done is saved. Run the same command to continue") from None
    return _standing(folder)


def _standing(folder: Path) -> Result:
    from ..agents.network.sweeps.sweep import status, write_tables

    runs = status(folder)
    keys = list(runs[0].values) if runs else []
    rows = [
        (run.id, *(str(run.values[key]) for key in keys), run.state, f"{run.step} of {run.steps}", run.note)
        for run in runs
    ]
    header = ("run", *keys, "state", "steps", "note")
    counted = Counter(run.state for run in runs)
    found = Result([*table_lines(header, rows)], {"runs": [dict(zip(header, row, strict=True)) for row in rows]})
    found.lines.append(", ".join(f"{many} {state}" for state, many in counted.items()))
    if counted["done"]:
        found.files = [Path(file) for file in write_tables(folder)]
        found.lines += map(str, found.files)
    return found
