"""Networks are trained."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..core.errors import SpanLabError
from .options import PathLike, Result, public, tabled

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
        own = [key for key, value in (("steps", steps), ("seed", seed)) if value is not None]
        if clash := next((key for key in own if any(key in stage for stage in read.stages)), ""):
            raise SpanLabError(f"{read.name} is trained in stages, each with its own {clash}; change these in a copy")
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
