"""Training: from a config to a checkpoint, a log and a model card. The same config gives the same network, also when it was interrupted and resumed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...errors import SpanLabError
from . import card, checkpoint
from .config import TrainingConfig, read_config
from .data import batch_at
from .evaluation import Row, evaluate, frequencies, mean_accuracy
from .journal import Journal, Progress
from .learning import logits_of, loss_of, rate_at
from .material import Material
from .models import Network, build
from .settings import FRAME
from .state import TrainingState, read_state, write_state

_LOG_EVERY = 50
#: Frames of each paradigm from which the retina's components are found.
_RETINA_STEPS = 4000


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a finished training run left.

    Parameters
    ----------
    checkpoint : the file with the best weights
    rows : accuracy on held-out test trials, per paradigm and combination of factor levels
    steps : steps that were taken
    wall_s, cpu_s : time that they took, with preparation and test, over all resumed parts
    """

    checkpoint: Path
    rows: tuple[Row, ...]
    steps: int
    wall_s: float
    cpu_s: float


def train_from_file(path: str | Path, out: str | Path | None = None, resume: bool = False, progress: bool = True) -> TrainingResult:
    """Train by a config file, and say in the end what came of it; see :func:`train`."""
    result = train(read_config(path), out=out, resume=resume, progress=progress, command=f"spanlab train {Path(path).name}")
    if progress:
        names = dict.fromkeys(row.paradigm for row in result.rows)
        accuracy = ", ".join(f"{name} {mean_accuracy([row for row in result.rows if row.paradigm == name]):.3f}" for name in names)
        print(f"{result.checkpoint}: {result.steps} steps in {result.wall_s / 60:.1f} minutes; accuracy on held-out trials: {accuracy}")
        print(f"More in {result.checkpoint.with_suffix('.md')}; try it: spanlab replay {next(iter(names))} --agent network:{result.checkpoint}")
    return result


def train(
    config: TrainingConfig, out: str | Path | None = None, resume: bool = False, progress: bool = True, command: str = "", stop_after: int | None = None
) -> TrainingResult:
    """Train a network.

    Parameters
    ----------
    config : what on, and how
    out : folder for ``NAME.pt`` (best weights, half precision), ``NAME.log.jsonl``, ``NAME.md``, ``NAME.json`` and, while training, ``NAME.state.pt``;
        ``runs/NAME`` when not given
    resume : go on from the state in that folder; bit for bit as if the run had not been interrupted (on a CPU with the same number of threads)
    progress : whether to show a progress bar
    command : as the model card tells it
    stop_after : stop as if interrupted after this step

    Raises
    ------
    SpanLabError
        for a missing device, a folder that holds another run, an unknown paradigm, a loss that is not finite, or an interruption (the state is then saved).
    """
    run = _Run(config, Path(out) if out is not None else Path("runs") / config.name, resume, progress, command, stop_after)
    threads = torch.get_num_threads()
    try:
        if config.threads:
            torch.set_num_threads(config.threads)
        return run.go()
    finally:
        torch.set_num_threads(threads)
        run.journal.close()


class _Run:
    """One training run."""

    def __init__(self, config: TrainingConfig, folder: Path, resume: bool, progress: bool, command: str, stop_after: int | None) -> None:
        self.config, self.folder, self.command, self.stop_after = config, folder, command, stop_after
        self.device = _device(config.device)
        self.material = Material(config)
        self.weights_file, self.state_file = folder / f"{config.name}.pt", folder / f"{config.name}.state.pt"
        self.network = self._build().to(self.device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.rate.peak, betas=(0.9, 0.99))
        self.state = TrainingState(config=config.hash)
        log = folder / f"{config.name}.log.jsonl"
        if resume:
            self.state = read_state(self.state_file, config.hash, self.network, self.optimizer)
        elif self.state_file.exists() or self.weights_file.exists():
            raise SpanLabError(f"{folder} already holds a training run called {config.name}; go on with it (--resume), or move it away to begin anew")
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self.journal = Journal(log, keep_until=self.state.step if resume else None)
        self.progress = Progress(progress)

    def _build(self) -> Network:
        return build(self.config.model, self.material.tasks, self.config.seed)

    def go(self) -> TrainingResult:
        with self.progress:
            if self.state.step == 0:
                self._write_start()
            self._prepare()
            why = self._learn()
            self._keep(self.state.best)
            kept = checkpoint.load(self.weights_file)
            rows = self._test(kept.network.to(self.device))
            # The network that was tested is the one in the file: half precision and all.
            self.journal.write("test", step=self.state.step, rows=[row.as_json() for row in rows], best_step=self.state.best_step)
            self.journal.write("end", step=self.state.step, why=why, checkpoint_sha256=kept.sha256, checkpoint_bytes=kept.bytes, **self._times())
            write_state(self.state_file, self.state, self.network, self.optimizer, *self._elapsed())
            card.write(self.folder, self.config, kept, rows, self.state, self._times(), why, self.command)
        wall, cpu = self._elapsed()
        return TrainingResult(self.weights_file, tuple(rows), self.state.step, wall, cpu)

    def _write_start(self) -> None:
        self.journal.write(
            "start",
            step=0,
            config=self.config.model_dump(mode="json"),
            config_hash=self.config.hash,
            paradigms={paradigm.name: paradigm.hash for paradigm in self.material.paradigms},
            parameters=self.network.parameter_count,
            torch=str(torch.__version__),
            numpy=np.__version__,
            threads=torch.get_num_threads(),
            device=str(self.device),
        )

    def _prepare(self) -> None:
        """Compile and render the trials, and set what follows from them."""
        material, words = self.material, self.material.words
        with self.progress.stage("compiling trials", sum(map(sum, material.sizes.values()))) as advance:
            material.prepare(advance)
        sha256 = words.vectors.sha256 if words.vectors is not None else None
        if self.state.step > 0 and self.state.vectors != sha256:
            raise SpanLabError(f"{self.config.vectors} is another file than when this run began; resume with that one, or train under another name")
        self.state.vectors = sha256
        if self.state.step == 0:
            self._begin()
        trials = {split: {pool.paradigm.name: pool.trials for pool in pools} for split, pools in material.pools.items()}
        read = {} if words.vectors is None else {"words": len(words.words), "vectors": words.vectors.described()}
        self.journal.write(
            "trials",
            step=self.state.step,
            trials=trials,
            frames=len(material.frames),
            frame_bytes=len(material.frames) * FRAME * FRAME * 3,
            **read,
            **self._times(),
        )

    def _begin(self) -> None:
        """Set what follows from the training trials before any learning: components of a retina, how often each answer is right."""
        samples, wanted = [], {}
        for pool in self.material.pools["train"]:
            if pool.store is self.material.frames:
                share = _RETINA_STEPS // len(pool.blocks)
                numbers = np.concatenate([block.frames[: max(1, share // block.frames.shape[1])].ravel() for block in pool.blocks])
                samples.append(torch.from_numpy(pool.store.frames()[numbers]))
            for task in dict.fromkeys(block.task for block in pool.blocks):
                often = np.mean([frequencies(block, pool.view.head) for block in pool.blocks if block.task == task], axis=0)
                wanted.setdefault(self.network.tasks[task].head, []).append((often, pool.loss == "classes"))
        expected = {head: (np.mean([often for often, _ in tasks], axis=0).tolist(), tasks[0][1]) for head, tasks in wanted.items()}
        self.network.begin(samples, expected)

    def _learn(self) -> str:
        """Take the remaining steps; returns why it ended."""
        config, state = self.config, self.state
        recent: dict[str, list[tuple[float, float]]] = {}
        with self.progress.stage("training", config.steps, state.step) as advance:
            while state.step < config.steps:
                if config.minutes is not None and self._elapsed()[0] > config.minutes * 60:
                    self._validate()
                    return f"the time limit of {config.minutes:g} minutes was reached at step {state.step} of {config.steps}"
                try:
                    self._step(recent)
                    state.step += 1
                    advance(1)
                    if state.step % _LOG_EVERY == 0 or state.step == config.steps:
                        self._report(recent)
                    if state.step % config.check.every == 0 or state.step == config.steps:
                        self._validate()
                    if state.step % config.save_every == 0 or state.step == self.stop_after:
                        write_state(self.state_file, state, self.network, self.optimizer, *self._elapsed())
                    if state.step == self.stop_after:
                        raise KeyboardInterrupt
                except KeyboardInterrupt:
                    saved = state.step - state.step % config.save_every if state.step != self.stop_after else state.step
                    raise SpanLabError(
                        f"training was interrupted at step {state.step}; the same command with --resume goes on from step {saved}"
                        if saved
                        else f"training was interrupted at step {state.step}, before its state was saved for the first time; begin anew"
                    ) from None
        return "all steps were taken"

    def _step(self, recent: dict[str, list[tuple[float, float]]]) -> None:
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.state.step, config.steps, config.rate)
        self.optimizer.zero_grad(set_to_none=True)
        for pool, task in zip(self.material.pools["train"], config.tasks, strict=True):
            if self.state.step < task.from_step:
                continue
            block, rows = batch_at(pool, config.seed, self.state.step - task.from_step, task.batch)
            loss, right = loss_of(logits_of(self.network, block.task, pool.store.frames(), block.frames[rows], self.device), block, rows, pool.loss)
            if not torch.isfinite(loss):
                raise SpanLabError(f"the loss of {pool.paradigm.name} is not finite at step {self.state.step}; lower rate.peak in the config")
            (loss * task.weight).backward()
            recent.setdefault(pool.paradigm.name, []).append((float(loss.detach()), right))
            self.state.trials[pool.paradigm.name] = self.state.trials.get(pool.paradigm.name, 0) + len(rows)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimizer.step()

    def _report(self, recent: dict[str, list[tuple[float, float]]]) -> None:
        loss = {name: round(float(np.mean([value for value, _ in values])), 5) for name, values in recent.items()}
        right = {name: round(float(np.mean([share for _, share in values])), 4) for name, values in recent.items()}
        recent.clear()
        self.journal.write("train", step=self.state.step, loss=loss, accuracy=right, rate=self.optimizer.param_groups[0]["lr"], **self._times())
        self.progress.tell("  ".join(f"{name} {share:.2f}" for name, share in right.items()))

    def _validate(self) -> None:
        self.network.eval()
        rows = [row for pool in self.material.pools["validation"] for row in evaluate(self.network, pool)]
        self.network.train()
        by_task: dict[str, float] = {
            name: round(mean_accuracy([row for row in rows if row.paradigm == name]), 4) for name in dict.fromkeys(row.paradigm for row in rows)
        }
        score = float(np.mean(list(by_task.values())))
        better = score > self.state.best_score
        if better:
            self.state.best_score, self.state.best_step = score, self.state.step
            self.state.best = {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}
            self._keep(self.state.best)
        conditions = [[row.paradigm, row.levels, round(row.accuracy, 4)] for row in rows]
        self.journal.write("validation", step=self.state.step, accuracy=by_task, mean=round(score, 4), best=better, conditions=conditions, **self._times())

    def _keep(self, weights: Mapping[str, Any]) -> None:
        """Write the checkpoint with these weights."""
        best = self._build()
        best.load_state_dict(weights)
        trained = checkpoint.TrainedOn(
            paradigms={paradigm.name: paradigm.hash for paradigm in self.material.paradigms},
            levels={
                paradigm.name: {
                    name: list(dict.fromkeys(levels[name] for levels in paradigm.combinations(task.factors) if name in levels)) for name in paradigm.factors
                }
                for paradigm, task in zip(self.material.paradigms, self.config.tasks, strict=True)
            },
            steps=self.state.best_step,
            trials={task_name: count * self.state.best_step // max(1, self.state.step) for task_name, count in self.state.trials.items()},
            config=self.config.hash,
        )
        checkpoint.save(self.weights_file, best, self.config.name, trained, self.material.words.vectors)

    def _test(self, network: Network) -> list[Row]:
        network.eval()
        return [row for pool, seen in zip(self.material.pools["test"], self.material.pools["train"], strict=True) for row in evaluate(network, pool, seen)]

    def _elapsed(self) -> tuple[float, float]:
        """Wall-clock and processor seconds, over all parts of the run."""
        return self.state.wall_s + time.monotonic() - self._wall, self.state.cpu_s + time.process_time() - self._cpu

    def _times(self) -> dict[str, float]:
        wall, cpu = self._elapsed()
        return {"wall_s": round(wall, 1), "cpu_s": round(cpu, 1)}


def _device(name: str) -> torch.device:
    """The device that the config names.

    Raises
    ------
    SpanLabError
        when this machine has none such.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = "cuda" if there["cuda"] else "mps" if there["mps"] else "cpu"
    if not there[name]:
        raise SpanLabError(f"this machine has no {name} device that torch can use; set 'device: cpu' (or auto) in the config")
    return torch.device(name)
