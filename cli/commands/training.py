"""``spanlab train``: networks, by a config or a preset. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ...core.errors import SpanLabError

if TYPE_CHECKING:
    from ...agents.network import TrainingConfig
    from ...agents.network.training.config import Recipe


def train(
    config: Annotated[
        str | None, typer.Argument(help="training config (YAML), or the name of a preset such as lstm-256; --list names them", metavar="[CONFIG]")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder for checkpoint, log and card; runs/NAME when not given", metavar="DIR")] = None,
    resume_: Annotated[bool, typer.Option("--resume", help="continue from the last saved state")] = False,
    steps: Annotated[int | None, typer.Option("--steps", help="training steps, instead of the config's", min=1)] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="seed of everything, instead of the config's", min=0)] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help="loss, schedule, validation and selection all as published, or all improved", metavar="published|improved"),
    ] = None,
    toy: Annotated[bool, typer.Option("--toy", help="test a config in seconds: one step with one trial of each task")] = False,
    list_: Annotated[bool, typer.Option("--list", help="list the presets")] = False,
) -> None:
    """Train a network on paradigms."""
    from ...agents.network.training.presets import changed, presets, with_recipe
    from ...agents.network.training.presets import toy as as_toy

    if list_:
        for name, about in presets().items():
            print(f"{name:<14}{about}")
        return
    if config is None:
        raise SpanLabError("what should be trained? Give a training config (a YAML file) or a preset; spanlab train --list names these")
    if recipe not in (None, "published", "improved"):
        raise SpanLabError(f"--recipe is published or improved; found '{recipe}'")

    def change(read: TrainingConfig) -> TrainingConfig:
        if recipe is not None:
            read = with_recipe(read, cast("Recipe", recipe))
        if toy:
            read = as_toy(read)
        given = {key: value for key, value in (("steps", steps), ("seed", seed)) if value is not None}
        return changed(read, **given) if given else read

    from ...agents.network.settings import need_torch

    need_torch()
    from ...agents.network.training.train import train_from_file

    options = {"--recipe": recipe, "--steps": steps, "--seed": seed}
    options_given = [f"{name} {value}" for name, value in options.items() if value is not None] + ["--toy"] * toy
    command = " ".join(["spanlab train", Path(config).name, *options_given])
    train_from_file(config, output, resume=resume_, change=change, command=command)
