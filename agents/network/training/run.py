"""Training: from a config to a checkpoint, a log and a model card. The same config gives the same
network, also when it was interrupted and resumed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ....core.doors import how_to_install, installed
from ....core.errors import SpanLabError
from ....paradigms.identity import digest, stream
from ....paradigms.network_view import classes_of
from ....stimuli import CANVAS
from ..checkpoints_io import checkpoint
from ..checkpoints_io.files import remove_leftovers
from ..inputs.batches import Ahead, TrainingBatch
from ..inputs.data import Pool, longest_trial
from ..inputs.training_data import TrainingData, batch_in_process, begin_process
from ..models import Network, build
from ..models.memories import Memory
from ..models.network import Place
from ..settings import FRAME
from ..speedups.sight import by_patches
from .config import TrainingConfig
from .evaluation import ConditionAccuracy, frequencies, mean_accuracy, test, validate
from .journal import Recent, TrainingJournal, bars, draw, duration, write_card
from .learning import JointLoss, Plateau, blind_loss, load, rate_at
from .state import TrainingState, read_state, write_state

#: Frames of each paradigm from which the retina's components are found.
_RETINA_STEPS = 4000


def check_lengths(network: Network, training_data: TrainingData) -> None:
    """Check that trials of all levels that are trained and tested are short enough for a network
    that has a limit.

    Raises
    ------
    SpanLabError
        when some are not, with what to change.
    """
    longest, config = network.memory.longest, training_data.config
    if longest is None:
        return
    for paradigm, factors in (*zip(training_data.paradigms, training_data.factors, strict=True), *training_data.tested):
        steps = longest_trial(paradigm, factors, config.generator)
        if steps > longest:
            raise SpanLabError(
                f"trials of {paradigm.name} have up to {steps} steps, and this network takes {longest}; give it more"
                f" (model: options: positions: {steps}), train on shorter trials (factors), or choose another"
                " architecture"
            )


def begin(network: Network, training_data: TrainingData) -> None:
    """Set what follows from the training trials before any learning: components of a retina, how
    often each answer is right."""
    samples, wanted = [], {}
    for task_config, pool in zip(training_data.config.tasks, training_data.pools["train"], strict=True):
        if pool.store is training_data.frames:
            share = _RETINA_STEPS // len(pool.blocks)
            numbers = np.concatenate(
                [block.frames[: max(1, share // block.frames.shape[1])].ravel() for block in pool.blocks]
            )
            samples.append(torch.from_numpy(pool.store.frames()[numbers]))
        for task in dict.fromkeys(block.task for block in pool.blocks):
            by_phase = task_config.loss_over == "phases"
            often = np.mean(
                [frequencies(block, pool.view.head, by_phase) for block in pool.blocks if block.task == task], axis=0
            )
            wanted.setdefault(network.tasks[task].head, []).append((often, pool.loss == "classes"))
    expected = {
        head: (np.mean([often for often, _ in tasks], axis=0).tolist(), tasks[0][1]) for head, tasks in wanted.items()
    }
    network.begin(samples, expected, places_of(network, training_data))


def places_of(network: Network, training_data: TrainingData) -> dict[str, dict[int, Place]]:
    """Return where the answers of each head are on the screen, if they are places and one of them
    is chosen."""
    found: dict[str, dict[int, Place]] = {}
    for pool in training_data.pools["validation"]:
        for block in pool.blocks if pool.loss == "classes" and pool.view.head > 1 else ():
            for _, ask, _ in block.questions[0]:
                for region in ask.kind.surface().regions:
                    target = classes_of(ask, region.value)
                    assert isinstance(target, int), "one of the places is chosen"
                    area = (region.x0 / CANVAS, region.y0 / CANVAS, region.x1 / CANVAS, region.y1 / CANVAS)
                    found.setdefault(network.tasks[block.task].head, {})[target] = area
    return found


def take_over(network: Network, source: checkpoint.Checkpoint) -> None:
    """Begin with the weights of another network of the same sizes; tasks and heads are matched by
    name, and those that it lacks begin anew.

    Raises
    ------
    SpanLabError
        when the other network has other sizes.
    """
    ours, others = (
        each.settings.model_copy(update={"architecture": "", "options": {}}) for each in (network, source.network)
    )
    if ours != others or _shapes(network.memory) != _shapes(source.network.memory):
        raise SpanLabError(
            f"start_from: the network {source.name} has other sizes than this config; copy its model settings, or leave"
            " out 'start_from'"
        )
    weights, theirs = network.state_dict(), source.network.state_dict()
    rows = {task: row for row, task in enumerate(source.network.tasks)}
    for name, values in weights.items():
        if name == "task_embedding.weight":
            for row, task in enumerate(network.tasks):
                if task in rows:
                    values[row] = theirs[name][rows[task]]
        elif name in theirs and theirs[name].shape == values.shape:
            values.copy_(theirs[name])


def _shapes(memory: Memory) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in memory.state_dict().items()}


def weights_of_losses(training_data: TrainingData) -> list[float]:
    """By how much the loss of each paradigm counts: what its task says, and with the improved loss
    as a share of that of the best blind guess."""
    tasks = training_data.config.tasks
    if training_data.config.loss == "published":
        return [task.weight for task in tasks]
    return [
        task.weight / _blind(pool, task.loss_over == "phases")
        for task, pool in zip(tasks, training_data.pools["train"], strict=True)
    ]


def _blind(pool: Pool, by_phase: bool) -> float:
    """The loss of the best blind guess in a paradigm."""
    return max(
        1e-3,
        float(np.mean([blind_loss(frequencies(block, pool.view.head, by_phase), pool.loss) for block in pool.blocks])),
    )


_LOG_EVERY = 50
#: The norm to which a larger gradient is shortened (schedule: improved).
_LARGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Results of a finished training run.

    Parameters
    ----------
    checkpoint : the file with the best weights
    rows : accuracy on held-out test trials, per paradigm and combination of factor levels
    steps : steps that were taken
    wall_s, cpu_s : time that they took, with preparation and test, over all resumed parts
    """

    checkpoint: Path
    rows: tuple[ConditionAccuracy, ...]
    steps: int
    wall_s: float
    cpu_s: float

    def told(self) -> list[str]:
        """What came of it, and what to do with it."""
        names = dict.fromkeys(row.paradigm for row in self.rows)
        accuracy = ", ".join(
            f"{name} {mean_accuracy([row for row in self.rows if row.paradigm == name]):.3f}" for name in names
        )
        told = [
            f"{self.checkpoint}: {self.steps} steps in {duration(self.wall_s)}; accuracy on held-out trials:"
            f" {accuracy}",
            f"More in {self.checkpoint.with_suffix('.md')}; try it: spanlab replay {next(iter(names))} --agent"
            f" network:{self.checkpoint}",
        ]
        if not (curves := self.checkpoint.with_suffix(".svg")).exists():
            told.append(
                f"{curves} was not drawn, since vl-convert is missing; {how_to_install('figures')}, and draw it by the"
                " same command with --resume"
            )
        return told


def train(
    config: TrainingConfig,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    command: str = "",
    stop_after: int | None = None,
) -> TrainingResult:
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
    what the run left

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
        with products_in(config.precision), torch.random.fork_rng():
            return _stages(config, folder, resume, progress, command, stop_after)
    finally:
        torch.set_num_threads(threads)


def _stages(
    config: TrainingConfig, folder: Path, resume: bool, progress: bool, command: str, stop_after: int | None
) -> TrainingResult:
    """Train the stages of a config one after another; when resumed, from the one that was interrupted."""
    results, parts = list[TrainingResult](), config.parts()
    for number, part in enumerate(parts):
        last, state = number == len(parts) - 1, folder / f"{part.name}.state.pt"
        if resume and not last and _finished(part, folder):
            continue
        begun = state.is_file() or not number
        if resume and not begun:  # weights of a stage whose state was never saved
            (folder / f"{part.name}.pt").unlink(missing_ok=True)
        with closing(Run(part, folder, resume and begun, progress, command, stop_after, parts[:number])) as run:
            results.append(run.go())
    return results[-1]


def _finished(part: TrainingConfig, folder: Path) -> bool:
    """Return whether a stage has its card, which is written last."""
    weights, told = folder / f"{part.name}.pt", folder / f"{part.name}.json"
    if not weights.is_file() or not told.is_file():
        return False
    trained = checkpoint.load(weights).trained
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


class Run:
    """One training run."""

    def __init__(
        self,
        config: TrainingConfig,
        folder: Path,
        resume: bool,
        progress: bool,
        command: str,
        stop_after: int | None,
        earlier: Sequence[TrainingConfig] = (),
    ) -> None:
        self.weights_file, self.state_file = folder / f"{config.name}.pt", folder / f"{config.name}.state.pt"
        self.earlier = earlier
        self.config, self.folder, self.command, self.stop_after = config, folder, command, stop_after
        self.device = device_for(config)
        self.training_data = TrainingData(config)
        self.network = self._build().to(self.device)
        check_lengths(self.network, self.training_data)
        self.patches = by_patches(self.network, self.device)
        published = config.schedule == "published"
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=config.rate.peak, betas=(0.9, 0.999 if published else 0.99)
        )
        self.plateau = Plateau(config.rate.peak)
        known = digest([config.hash, *(paradigm.hash for paradigm in self.training_data.paradigms)])
        self.state = TrainingState(config=known)
        if resume:
            self.state = read_state(self.state_file, known, self.network, self.optimizer)
            if self.state.plateau is not None:
                rate, lowest, waited = self.state.plateau
                self.plateau = Plateau(rate, lowest, int(waited))
        elif self.state_file.exists() or self.weights_file.exists():
            raise SpanLabError(
                f"{folder} already holds a training run called {config.name};"
                f" {'continue it (--resume), or ' * self.state_file.exists()}"
                "move it away to start again"
            )
        remove_leftovers(folder, config.name)
        self.recent = Recent(self.training_data, self.device)
        self.saved = self.state.step if resume else -1  # the step of the last saved state
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self.journal = TrainingJournal(folder / f"{config.name}.log.jsonl", self.state.step if resume else None)
        self.bars = bars(progress)

    def close(self) -> None:
        self.journal.close()

    def _build(self) -> Network:
        return build(self.config.model, self.training_data.tasks, self.config.seed)

    def go(self) -> TrainingResult:
        with self.bars:
            if self.state.step == 0:
                self._write_start()
            self._prepare()
            why = self._learn()
            self._keep(self.state.best)
            kept = checkpoint.load(self.weights_file)
            rows = test(kept.network.to(self.device), self.training_data)
            # The network that was tested is the one in the file: rounded weights and all.
            self.journal.write(
                "test", step=self.state.step, rows=[row.as_json() for row in rows], best_step=self.state.best_step
            )
            self.journal.write(
                "end",
                step=self.state.step,
                why=why,
                checkpoint_sha256=kept.sha256,
                checkpoint_bytes=kept.bytes,
                store=kept.store,
                **self._times(),
            )
            if self.saved < self.state.step:
                self._save()
            write_card(self.folder, self.config, kept, rows, self.state, self._times(), why, self.command, self.earlier)
            if installed("vl_convert"):
                draw(self.folder / f"{self.config.name}.log.jsonl", self.folder / f"{self.config.name}.svg")
        wall, cpu = self._elapsed()
        return TrainingResult(self.weights_file, tuple(rows), self.state.step, wall, cpu)

    def _write_start(self) -> None:
        self.journal.write(
            "start",
            step=0,
            config=self.config.model_dump(mode="json"),
            config_hash=self.config.hash,
            paradigms={paradigm.name: paradigm.hash for paradigm in self.training_data.paradigms},
            parameters=self.network.parameter_count,
            torch=str(torch.__version__),
            numpy=np.__version__,
            threads=torch.get_num_threads(),
            device=str(self.device),
        )

    def _prepare(self) -> None:
        """Compile and render the trials, and set what follows from them."""
        training_data, words = self.training_data, self.training_data.words
        bar = self.bars.add_task("compiling trials", total=sum(map(sum, training_data.sizes.values())), said="")
        training_data.prepare(partial(self.bars.advance, bar))
        sha256 = words.vectors and words.vectors.sha256
        if self.state.step > 0 and self.state.vectors != sha256:
            raise SpanLabError(
                f"{self.config.vectors} is another file than when this run began; resume with that one, or train under"
                " another name"
            )
        self.state.vectors = sha256
        if self.state.step == 0:
            begin(self.network, training_data)
            if self.config.start_from is not None:
                source = checkpoint.load(
                    self.folder / self.config.start_from if self.earlier else self.config.start_from
                )
                take_over(self.network, source)
                self.journal.write("start_from", checkpoint=source.name, sha256=source.sha256)
        self.learner = JointLoss(
            self.network, [pool.loss for pool in training_data.pools["train"]], weights_of_losses(training_data)
        )
        read = {} if words.vectors is None else {"words": len(words.words), "vectors": words.vectors.described()}
        self.journal.write(
            "trials",
            step=self.state.step,
            trials=training_data.counted(),
            frames=len(training_data.frames),
            frame_bytes=len(training_data.frames) * FRAME * FRAME * 3,
            **read,
            **self._times(),
        )

    def _batches(self) -> Ahead[TrainingBatch]:
        """The batches of the steps, each made while the one before is learned from."""
        config, form = self.config, {"patches": self.patches, "grouped": self.device.type == "cpu"}
        if config.compile == "meanwhile" and config.workers:
            return Ahead(partial(batch_in_process, **form), config.workers, begin_process, (config,))
        return Ahead(partial(self.training_data.batch, **form))

    def _learn(self) -> str:
        """Take the remaining steps; returns why it ended."""
        config, state = self.config, self.state
        self.bar = self.bars.add_task("training", total=config.steps, completed=state.step, said="")
        with self._batches() as batches:
            while state.step < config.steps:
                if config.minutes is not None and self._elapsed()[0] > config.minutes * 60:
                    self._report()
                    self._validate()
                    return (
                        f"the time limit of {config.minutes:g} minutes was reached at step {state.step} of"
                        f" {config.steps}"
                    )
                try:
                    self._step(batches.get(state.step, config.steps))
                    state.step += 1
                    self.bars.advance(self.bar)
                    last = state.step in (config.steps, self.stop_after)
                    if state.step % _LOG_EVERY == 0 or state.step == config.steps:
                        self._report()
                    if state.step % config.check.every == 0 or state.step == config.steps:
                        self.recent.check(state.step)
                        self._validate()
                    if state.step % config.save_every == 0 or last:
                        self.recent.check(state.step)
                        self._save()
                    if state.step == self.stop_after:
                        raise KeyboardInterrupt
                except KeyboardInterrupt:
                    raise self._interrupted() from None
        return "all steps were taken"

    def _interrupted(self) -> SpanLabError:
        step = self.state.step
        saved = step if step == self.stop_after else step - step % self.config.save_every
        if not saved:
            return SpanLabError(
                f"training was interrupted at step {step}, before its state was saved for the first time; start again"
            )
        return SpanLabError(
            f"training was interrupted at step {step}; the same command with --resume continues from step {saved}"
        )

    def _step(self, batch: TrainingBatch) -> None:
        config, step = self.config, self.state.step
        # Random numbers of a step depend on its number alone, so that a resumed run has the same.
        torch.manual_seed(int(stream("training", config.seed, f"step:{step}:0").randint(2**31)))
        for group in self.optimizer.param_groups:
            group["lr"] = (
                self.plateau.rate if config.schedule == "published" else rate_at(step, config.steps, config.rate)
            )
        self.optimizer.zero_grad(set_to_none=True)
        total, losses, right = self.learner(load(batch, self.device))
        total.backward()
        if config.schedule == "improved":
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), _LARGEST_GRADIENT)
        self.optimizer.step()
        for part in batch.parts:
            name = self.training_data.paradigms[part.number].name
            self.state.trials[name] = self.state.trials.get(name, 0) + part.trials
        self.recent.add(batch, losses, right, step)

    def _report(self) -> None:
        loss, share = self.recent.taken(self.state.step)
        self.journal.write(
            "train",
            step=self.state.step,
            loss=loss,
            accuracy=share,
            rate=self.optimizer.param_groups[0]["lr"],
            **self._times(),
        )
        self.bars.update(self.bar, said="  ".join(f"{name} {value:.2f}" for name, value in share.items()))

    def _validate(self) -> None:
        """Validate, and keep the weights if they are the best so far."""
        state, now = self.state, validate(self.network, self.training_data)
        if self.config.schedule == "published":
            self.plateau.validated(now.loss)
            state.plateau = list(astuple(self.plateau))
        better = now.score > state.best_score or not state.best
        if better:
            state.best_score, state.best_step = now.score, state.step
            state.best = {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}
            self._keep(state.best)
        self.journal.write("validation", step=state.step, best=better, **now.to_record(), **self._times())

    def _save(self) -> None:
        self.saved = self.state.step
        write_state(self.state_file, self.state, self.network, self.optimizer, *self._elapsed())

    def _keep(self, weights: Mapping[str, Any]) -> None:
        """Write the checkpoint with these weights."""
        best = self._build()
        best.load_state_dict(weights)
        trained = checkpoint.TrainedOn(
            paradigms={paradigm.name: paradigm.hash for paradigm in self.training_data.paradigms},
            levels=self.training_data.levels(),
            steps=self.state.best_step,
            trials={
                name: count * self.state.best_step // max(1, self.state.step)
                for name, count in self.state.trials.items()
            },
            config=self.config.hash,
        )
        checkpoint.save(
            self.weights_file, best, self.config.name, trained, self.training_data.words.vectors, self.config.store
        )

    def _elapsed(self) -> tuple[float, float]:
        """Wall-clock and processor seconds, over all parts of the run."""
        return self.state.wall_s + time.monotonic() - self._wall, self.state.cpu_s + time.process_time() - self._cpu

    def _times(self) -> dict[str, float]:
        wall, cpu = self._elapsed()
        return {"wall_s": round(wall, 1), "cpu_s": round(cpu, 1)}


def device_for(config: TrainingConfig) -> torch.device:
    """The device of a config.

    Raises
    ------
    SpanLabError
        when this machine has none such, or the precision is not for it.
    """
    name = device_named(config.device)
    if name != "cuda" and config.precision != "float32":
        raise SpanLabError(
            f"'precision: {config.precision}' is for GPUs, and this runs on the {name} device; leave it out of the"
            " config"
        )
    return torch.device(name)


def device_named(name: str) -> str:
    """The device that a config names.

    Raises
    ------
    SpanLabError
        when this machine has none such.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if there[device])
    if not there[name]:
        raise SpanLabError(
            f"this machine has no {name} device that torch can use; set 'device: cpu' (or auto) in the config"
        )
    return name
