"""A network of the published size on a GPU: the same losses as on a processor, trials per second,
and how much of the card it uses.

Everything goes through a training run as `spanlab train` has it; only the batches
are made beforehand where the card alone is measured.

    python benchmarks/gpu.py losses DEVICE FILE [STEPS]     the loss of each of 100 steps, as JSON; DEVICE: cpu, cuda, or "frames" (cpu, frames not taken apart)
    python benchmarks/gpu.py speed [FILE]                   on the GPU of this machine
    python benchmarks/gpu.py differ FILE FILE [FILE]        how far the losses of runs are from those of the first
"""  # noqa: E501

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from network import TrainingData as PublishedData
from network import arithmetic, plain_loss

from spanlab.agents.network.inputs.batches import TrainingBatch
from spanlab.agents.network.training.config import TrainingConfig
from spanlab.agents.network.training.presets import changed, config_named
from spanlab.agents.network.training.run import Run, products_in

#: Trials of each data set in a step, as published and more.
BATCHES = (10, 40, 160)
#: Different batches that a measurement goes through, and how often.
DIFFERENT, STEPS = 6, 40


def config_of(
    device: str, batch: int = 10, trials: int = 1000, workers: int = os.cpu_count() or 1, **values: Any
) -> TrainingConfig:
    """LSTM-256 by the published recipe, with few trials for validation and test."""
    joint = config_named("lstm-256")
    tasks = [{**task.model_dump(), "batch": batch, "train_trials": trials} for task in joint.tasks]
    check = {"every": 10**6, "trials": 5, "test_trials": 5, "share": "paradigm"}
    return changed(joint, device=device, tasks=tasks, check=check, compile="ahead", workers=workers, **values)


def started(config: TrainingConfig) -> Run:
    run = Run(config, Path(tempfile.mkdtemp()), False, False, "", None)
    run._prepare()
    return run


def losses(device: str, steps: int) -> list[float]:
    """The sum of the fourteen losses at each step."""
    config = config_of("cpu" if device == "frames" else device)
    with products_in(config.precision):
        run = started(config)
        run.patches = run.patches and device != "frames"
        found = []
        with run._batches() as batches:
            for step in range(steps):
                run._step(batches.get(step, steps))
                run.state.step += 1
                found.append(run.recent._steps[-1][1].sum())
        return [float(loss) for loss in found]


def differ(files: list[str]) -> None:
    first, *others = (json.loads(Path(name).read_text(encoding="utf-8")) for name in files)
    for name, other in zip(files[1:], others, strict=True):
        apart = [abs(one - two) / abs(one) for one, two in zip(first, other, strict=True)]
        print(
            f"{name} against {files[0]}: {len(apart)} steps, loss {first[0]:.4f} to {first[-1]:.4f}; relative"
            f" difference at step 1 {apart[0]:.1e}, ",
            end="",
        )
        print(f"after 10 {max(apart[:10]):.1e}, largest of all {max(apart):.1e}, median {median(apart):.1e}")


def milliseconds(work: Callable[[int], object], times: int) -> float:
    """Mean time of a call on the GPU, after some that warm up."""
    for number in range(min(10, times)):
        work(number)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for number in range(times):
        work(number)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / times * 1000


def peak(kind: torch.dtype) -> float:
    """TFLOP/s of a product of two large matrices."""
    one, other = (torch.randn(8192, 8192, device="cuda", dtype=kind) for _ in range(2))
    return 2 * 8192**3 / milliseconds(lambda _: one @ other, 10) / 1e9


def speed(file: str | None) -> None:
    """Trials per second and the share of the card's arithmetic, by precision and size of the batch,
    beside the published loop."""
    results: list[dict[str, Any]] = []

    def told(**row: Any) -> None:
        results.append(row)
        print(json.dumps(row), flush=True)
        if file:
            Path(file).write_text(json.dumps(results, indent=1), encoding="utf-8")

    told(
        device=torch.cuda.get_device_name(),
        memory_GB=round(torch.cuda.get_device_properties(0).total_memory / 1e9, 1),
        torch=torch.__version__,
    )
    peaks = {}
    for precision in ("float32", "tf32"):
        with products_in(precision):
            peaks[precision] = peak(torch.float32)
        told(peak=precision, TFLOPs=round(peaks[precision], 1))
    published_loop(told, peaks)
    for batch in BATCHES:
        began = time.perf_counter()
        base = started(config_of("cuda", batch, trials=batch * DIFFERENT))
        told(compiled=14 * batch * DIFFERENT, processes=base.config.workers, s=round(time.perf_counter() - began, 1))
        prepared = [base.training_data.batch(step, False, False) for step in range(DIFFERENT)]
        for precision in ("float32", "tf32"):
            with products_in(precision):
                try:
                    run = started(config_of("cuda", 10, trials=20, precision=precision, workers=0))
                    measure(told, run, prepared, peaks[precision], batch=batch, precision=precision)
                except Exception as error:
                    told(batch=batch, precision=precision, error=f"{type(error).__name__}: {str(error)[:300]}")


def measure(told: Callable[..., None], run: Run, prepared: list[TrainingBatch], top: float, **row: Any) -> None:
    """A step of learning from batches that are ready."""

    def step(number: int) -> None:
        run._step(prepared[number % DIFFERENT])
        run.recent._steps.clear()

    torch.cuda.reset_peak_memory_stats()
    each = milliseconds(step, STEPS)
    trials = len(prepared[0].tasks)
    work = 3 * sum(arithmetic_of_frames(run.network, batch) for batch in prepared) / DIFFERENT
    told(
        **row,
        ms=round(each, 2),
        trials_per_s=round(trials / each * 1000),
        frames=len(prepared[0].frames),
        TFLOPs=round(work / each / 1e9, 2),
        share_of_peak=round(work / each / 1e9 / top, 3),
        memory_MB=round(torch.cuda.max_memory_allocated() / 1e6),
    )


def arithmetic_of_frames(network: Any, batch: TrainingBatch) -> float:
    """Floating-point operations of a pass forward through the different frames of a batch, whole."""
    whole = arithmetic(network, None)
    memory = 2.0 * sum(parameter.numel() for parameter in network.memory.parameters() if parameter.ndim > 1)
    each = whole / (14 * 10 * 20) - memory
    return each * len(batch.frames) + memory * sum((end - begin) * many for begin, end, many in batch.groups)


def published_loop(told: Callable[..., None], peaks: dict[str, float]) -> None:
    """The published loop with batches that are ready on the GPU."""
    training_data = PublishedData()
    training_data.plain = [[pixels.cuda() for pixels in batch] for batch in training_data.plain]
    for precision in ("float32", "tf32"):
        with products_in(precision):
            run = started(config_of("cuda", 10, trials=20, workers=0))
            network, optimizer = run.network, torch.optim.Adam(run.network.parameters(), lr=1e-8)

            def step(_: int, network: Any = network, optimizer: Any = optimizer) -> None:
                optimizer.zero_grad()
                plain_loss(network, training_data).backward()
                optimizer.step()

            torch.cuda.reset_peak_memory_stats()
            each = milliseconds(step, STEPS)
            work = 3 * arithmetic(network, None)
            told(
                loop="published",
                precision=precision,
                ms=round(each, 2),
                trials_per_s=round(140 / each * 1000),
                TFLOPs=round(work / each / 1e9, 2),
                share_of_peak=round(work / each / 1e9 / peaks[precision], 3),
                memory_MB=round(torch.cuda.max_memory_allocated() / 1e6),
            )


if __name__ == "__main__":
    verb, *rest = sys.argv[1:] or ["speed"]
    if verb == "losses":
        Path(rest[1]).write_text(json.dumps(losses(rest[0], int(rest[2]) if len(rest) > 2 else 100)), encoding="utf-8")
    elif verb == "speed" and not torch.cuda.is_available():
        print("there is no GPU here, and this measures one")
    elif verb == "speed":
        speed(rest[0] if rest else None)
    elif verb == "differ":
        differ(rest)
    else:
        sys.exit(__doc__)
