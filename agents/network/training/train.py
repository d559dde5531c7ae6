"""Training: from a config to a checkpoint, a log and a model card. The same config gives the same
network, also when it was interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import torch

from ..checkpoints_io.card import duration
from ..checkpoints_io.checkpoint import load
from .config import TrainingConfig
from .evaluation import mean_accuracy
from .presets import config_named
from .run import Run, TrainingResult


def train_from_file(
    name: str | Path,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    change: Callable[[TrainingConfig], TrainingConfig] = lambda config: config,
    command: str | None = None,
) -> TrainingResult | None:
    """Train by a config file or a preset, and say in the end what came of it; see :func:`train`.
    None in processes that only help."""
    config = change(config_named(name))
    result = train(
        config,
        out=out,
        resume=resume,
        progress=progress,
        command=f"spanlab train {Path(name).name}" if command is None else command,
    )
    if progress and result is not None:
        names = dict.fromkeys(row.paradigm for row in result.rows)
        accuracy = ", ".join(
            f"{name} {mean_accuracy([row for row in result.rows if row.paradigm == name]):.3f}" for name in names
        )
        print(
            f"{result.checkpoint}: {result.steps} steps in {duration(result.wall_s)}; accuracy on held-out"
            f" trials: {accuracy}"
        )
        print(
            f"More in {result.checkpoint.with_suffix('.md')}; try it: spanlab replay {next(iter(names))} --agent"
            f" network:{result.checkpoint}"
        )
    return result


def train(
    config: TrainingConfig,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    command: str = "",
    stop_after: int | None = None,
) -> TrainingResult | None:
    """Train a network.

    Parameters
    ----------
    config : what on, and how
    out : folder for ``NAME.pt`` (best weights, half precision), ``NAME.log.jsonl``, ``NAME.svg``,
        ``NAME.md``, ``NAME.json`` and, while training, ``NAME.state.pt``; ``runs/NAME`` when not
        given
    resume : go on from the state in that folder; bit for bit as if the run had not been interrupted
        (on a CPU with the same number of threads)
    progress : whether to show a progress bar
    command : as the model card tells it
    stop_after : stop as if interrupted after this step

    Returns
    -------
    what the run left; None in processes of ``torchrun`` other than the first

    Raises
    ------
    SpanLabError
        for a missing device, a folder that holds another run, an unknown paradigm, a loss that is
        not finite, or an interruption (the state is then saved).
    """
    folder = Path(out) if out is not None else Path("runs") / config.name
    threads = torch.get_num_threads()
    try:
        # Before the first weights are drawn: even an orthogonal start is rounded otherwise with
        # another number of threads.
        if config.threads:
            torch.set_num_threads(config.threads)
        with (
            products_in(config.precision),
            torch.random.fork_rng(),
        ):
            return _stages(config, folder, resume, progress, command, stop_after)
    finally:
        torch.set_num_threads(threads)


def _stages(
    config: TrainingConfig, folder: Path, resume: bool, progress: bool, command: str, stop_after: int | None
) -> TrainingResult | None:
    """Train the stages of a config one after another; when resumed, from the one that was interrupted."""
    result, parts = None, config.parts()
    for number, part in enumerate(parts):
        last, state = number == len(parts) - 1, folder / f"{part.name}.state.pt"
        if resume and not last and _finished(part, folder):
            continue
        begun = state.is_file() or not number
        if resume and not begun:  # weights of a stage whose state was never saved
            (folder / f"{part.name}.pt").unlink(missing_ok=True)
        with closing(Run(part, folder, resume and begun, progress, command, stop_after, parts[:number])) as run:
            result = run.go()
            run.fabric.barrier()
    return result


def _finished(part: TrainingConfig, folder: Path) -> bool:
    """Return whether a stage has its card, which is written last."""
    weights, told = folder / f"{part.name}.pt", folder / f"{part.name}.json"
    if not weights.is_file() or not told.is_file():
        return False
    trained = load(weights).trained
    return trained is not None and trained.config == part.hash


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Calculate products and convolutions in this precision; torch rounds the inputs of
    convolutions on a GPU to ten bits unless it is told not to."""
    matmul, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    torch.backends.cudnn.allow_tf32 = precision != "float32"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = convolutions
