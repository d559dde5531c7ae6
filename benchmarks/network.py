"""Trials per second of networks: learning and looking, against the published loop, and a session in
batches against one step by step.

The published loop (here alone, and nowhere in the package) goes through the tasks one by one,
through all twenty frames of each trial, padding and all. Both learn from the same joint batches,
ten trials of each of the fourteen data sets, and have the same weights. Ready-made are for the
published loop tensors of pixels; for SpanLab the numbers of frames, of which it finds the different
ones, and their different parts, while the batch before is learned from. In turns.

    python benchmarks/network.py [TURNS]       3 turns when not given, after one that warms up; a turn takes minutes
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
from torch import Tensor, nn

from spanlab.agents.base import TrialContext
from spanlab.agents.network import NetworkAgent
from spanlab.agents.network.inputs.batches import Ahead, TrainingBatch, assemble
from spanlab.agents.network.inputs.data import Rows, indices_at, make_pool, task_of, view_of
from spanlab.agents.network.inputs.frames import NetworkFrames
from spanlab.agents.network.models import Network, build
from spanlab.agents.network.settings import task_seen_in
from spanlab.agents.network.training.learning import JointLoss, load, pass_through, summed
from spanlab.agents.network.training.presets import config_named
from spanlab.paradigms import Trial, compile_trial, load_paradigm

PARADIGMS = ("vsr", "sfr", "smu")
TRIALS = 240
STEPS = 20
#: Joint batches that SpanLab goes through in a turn; the published loop takes so much longer that
#: one is enough.
BATCHES = 3
CPU = torch.device("cpu")


class TrainingData:
    """Joint batches of the published run, a few."""

    def __init__(self) -> None:
        config = config_named("lstm-256")
        self.store, self.tasks, self.losses, pools = NetworkFrames(), {}, [], []
        for task in config.tasks:
            paradigm = load_paradigm(task.paradigm)
            combinations = len(paradigm.combinations(task.factors))
            pools.append(
                (
                    make_pool(paradigm, self.store, "train", 1, max(60, combinations), task.factors, "published"),
                    combinations,
                )
            )
            self.tasks[task_of(paradigm, pools[-1][0].blocks[0].levels)] = task_seen_in(view_of(paradigm))
            self.losses.append(pools[-1][0].loss)
        self.rows: list[list[Rows]] = [
            [
                pool.take(indices_at(pool.paradigm.name, 1, step, 10, pool.trials, count, "shuffled"))
                for pool, count in pools
            ]
            for step in range(BATCHES)
        ]
        self.plain = [[self._pixels(rows) for rows in batch] for batch in self.rows[:1]]

    def _pixels(self, rows: Rows) -> Tensor:
        """(10, 20, 3, 32, 32), with black after the end of a trial."""
        frames = np.zeros((len(rows.tasks), STEPS, 32, 32, 3), np.float32)
        inside = np.arange(rows.frames.shape[1]) < rows.lengths[:, None]
        frames[:, : rows.frames.shape[1]][inside] = self.store.frames()[rows.frames[inside]] / np.float32(255)
        return torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 1, 4, 2, 3)))

    def batch(self, step: int, gradients: bool = True) -> TrainingBatch:
        frames = self.store.frames()
        return assemble(
            [(number, rows, frames) for number, rows in enumerate(self.rows[step % BATCHES])],
            patches=True,
            gradients=gradients,
        )


def plain_outputs(network: Network, pixels: Tensor, task: str) -> Tensor:
    """The published forward pass: the eye on every frame, then the memory, then the head."""
    count, steps = pixels.shape[:2]
    found = network.eye.layers(pixels.flatten(0, 1)).mean((2, 3))  # type: ignore[operator, union-attr]
    inputs = network.eye.projection(found).view(count, steps, -1)  # type: ignore[operator, union-attr]
    name = network.task_embedding.weight[list(network.tasks).index(task)].expand(count, steps, -1)
    hidden, _ = network.memory(torch.cat([name, inputs], -1), network.initial(count))
    return network.heads[network.tasks[task].head](hidden)


def plain_loss(network: Network, training_data: TrainingData) -> Tensor:
    """The sum of the fourteen mean losses."""
    total = torch.zeros((), device=training_data.plain[0][0].device)
    for rows, pixels, kind in zip(training_data.rows[0], training_data.plain[0], training_data.losses, strict=True):
        trained, targets = (
            torch.from_numpy(array).to(pixels.device) for array in (rows.trained, rows.targets[rows.trained])
        )
        outputs = plain_outputs(network, pixels, rows.tasks[0])[:, : rows.trained.shape[1]][trained]
        total = total + summed(outputs, targets, kind) / len(outputs)
    return total


def compare(architecture: str, units: int, training_data: TrainingData, turns: int) -> None:
    """Learning and looking, the published loop and SpanLab in turns."""
    name = {"transformer": "TRF"}.get(architecture, architecture.upper()) + f"-{units}"
    network = build(
        config_named(f"{'trf' if architecture == 'transformer' else architecture}-{units}").model,
        training_data.tasks,
        1,
    )
    learner = JointLoss(network, training_data.losses, [1.0] * len(training_data.losses))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-8)
    same(network, learner, training_data, name)

    def learn_plainly() -> None:
        optimizer.zero_grad()
        plain_loss(network, training_data).backward()
        optimizer.step()

    def learn() -> None:
        with Ahead(training_data.batch) as batches:
            for step in range(BATCHES):
                optimizer.zero_grad(set_to_none=True)
                learner(load(batches.get(step, BATCHES), CPU))[0].backward()
                optimizer.step()

    def look_plainly() -> None:
        with torch.no_grad():
            for rows, pixels in zip(training_data.rows[0], training_data.plain[0], strict=True):
                plain_outputs(network, pixels, rows.tasks[0])

    def look() -> None:
        with torch.inference_mode(), Ahead(partial(training_data.batch, gradients=False)) as batches:
            for step in range(BATCHES):
                loaded = load(batches.get(step, BATCHES), CPU)
                hidden, seen = pass_through(network, loaded)
                for part in loaded.wanted:
                    for task, places, *_ in part:
                        network.answer(hidden[places], seen.rows(places), task)

    trials = sum(len(rows.tasks) for rows in training_data.rows[0])
    batches = [training_data.batch(step) for step in range(BATCHES)]
    work = sum(arithmetic(network, batch) for batch in batches) / BATCHES
    whole = arithmetic(network, None)
    times: dict[str, list[float]] = {"learn": [], "look": [], "plain learn": [], "plain look": [], "peak": []}
    for turn in range(turns + 1):
        network.train()
        learned = seconds(learn_plainly), seconds(learn) / BATCHES
        network.eval()
        looked = seconds(look_plainly), seconds(look) / BATCHES
        fastest = peak()
        if turn:  # the first one warms up
            for key, value in zip(times, (learned[1], looked[1], learned[0], looked[0], fastest), strict=True):
                times[key].append(value)
    print(
        f"{name}: of {trials} trials, {len(batches[0].frames)} of {trials * STEPS} frames differ; parts of them:"
        f" {batches[0].patches.places}"  # type: ignore[union-attr]
    )
    for verb, factor in (("learn", 3), ("look", 1)):
        ours, plain = times[verb], times[f"plain {verb}"]
        reached = [factor * work / own / top for own, top in zip(ours, times["peak"], strict=True)]
        reached_plain = [factor * whole / own / top for own, top in zip(plain, times["peak"], strict=True)]
        print(f"{name} {verb}: published loop\t{trials / median(plain)}\ttrials/s")
        print(f"{name} {verb}: SpanLab\t{trials / median(ours)}\ttrials/s")
        print(
            f"{name} {verb}: SpanLab / published"
            f" loop\t{median([other / own for own, other in zip(ours, plain, strict=True)])}\tx"
        )
        print(f"{name} {verb}: share of peak arithmetic, published loop\t{median(reached_plain)}\t")
        print(f"{name} {verb}: share of peak arithmetic, SpanLab\t{median(reached)}\t")
    print(f"peak (product of two matrices of 3072 x 3072)\t{median(times['peak']) / 1e9}\tGFLOP/s", flush=True)


def same(network: Network, learner: JointLoss, training_data: TrainingData, name: str) -> None:
    """Both give the same loss."""
    network.eval()
    with torch.no_grad():
        plain, ours = float(plain_loss(network, training_data)), float(learner(load(training_data.batch(0), CPU))[0])
    assert abs(plain - ours) < 1e-5 * abs(plain), (name, plain, ours)
    print(f"{name}: loss of the published loop {plain:.6f}, of SpanLab {ours:.6f}")


def arithmetic(network: Network, batch: TrainingBatch | None) -> float:
    """Floating-point operations of a pass forward, of the products alone: of a batch as SpanLab
    goes through it, or of the published loop."""
    convolutions = [layer for layer in network.eye.modules() if isinstance(layer, nn.Conv2d)]
    sizes = [layer.weight.numel() for layer in convolutions]
    memory = sum(parameter.numel() for parameter in network.memory.parameters() if parameter.ndim > 1)
    projection = network.eye.projection.weight.numel()  # type: ignore[operator, union-attr]
    if batch is None:
        frames = 14 * 10 * STEPS
        return (
            2.0
            * frames
            * (
                sum(size * places for size, places in zip(sizes, (1024, 1024, 256, 64), strict=True))
                + projection
                + memory
            )
        )
    patches = batch.patches
    assert patches is not None
    inputs = (len(patches.pixels), len(patches.pixels), len(patches.first_pool.parts), len(patches.second_pool.parts))
    steps = sum((end - begin) * many for begin, end, many in batch.groups)
    return 2.0 * (
        sum(size * places for size, places in zip(sizes, inputs, strict=True))
        + len(batch.frames) * projection
        + steps * memory
    )


def peak() -> float:
    """Floating-point operations per second of a large product."""
    one, other = torch.randn(3072, 3072), torch.randn(3072, 3072)
    _ = one @ other  # the first takes longer
    return max(2 * 3072**3 / seconds(lambda: one @ other) for _ in range(2))


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main(turns: int) -> None:
    load_ = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"{torch.get_num_threads()} threads, load {load_}")
    training_data = TrainingData()
    for architecture, units in (("lstm", 256), ("transformer", 96)):
        compare(architecture, units, training_data, turns)
    sessions()


def sessions() -> None:
    """A session in batches against one step by step; rendering the frames is part of both."""
    agent = NetworkAgent("laptop")
    for name in PARADIGMS:
        paradigm = load_paradigm(name)
        combinations = paradigm.combinations()
        trials = [compile_trial(paradigm, combinations[seed % len(combinations)], seed) for seed in range(TRIALS)]
        context = TrialContext(name, paradigm.title, "en", "", (), paradigm.network)
        # both once before the clock runs: tables of frames are filled, torch chooses its kernels
        batched(agent, context, trials[:20])
        stepped(agent, context, trials[:5])
        together = batched(agent, context, trials)
        apart = stepped(agent, context, trials)
        print(f"{name}: batched\t{together}\ttrials/s")
        print(f"{name}: step by step\t{apart}\ttrials/s")
        print(f"{name}: batched / step by step\t{together / apart}\tx")


def batched(agent: NetworkAgent, context: TrialContext, trials: list[Trial]) -> float:
    """Trials per second in one batch."""
    percepts = [[step.percept for step in trial.steps] for trial in trials]
    began = time.perf_counter()
    agent.answer([context] * len(trials), percepts)
    return len(trials) / (time.perf_counter() - began)


def stepped(agent: NetworkAgent, context: TrialContext, trials: list[Trial]) -> float:
    """Trials per second, one step at a time."""

    async def go() -> None:
        for trial in trials:
            episode = agent.start(context)
            for step in trial.steps:
                await episode.step(step.percept)

    began = time.perf_counter()
    asyncio.run(go())
    return len(trials) / (time.perf_counter() - began)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
