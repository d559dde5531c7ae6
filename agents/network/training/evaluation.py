"""Accuracy of a network on trials that it was not trained on, beside what guessing gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.batches import assemble
from ..inputs.data import Pool, TrialBlock, phase_weights
from ..inputs.training_data import TrainingData
from ..models import Network

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Seen

    Read = Callable[[Tensor, Seen, str], Tensor]

#: Trials that go through the network together.
_BATCH = 200
#: Trials over which the published accuracy is taken before its mean.
_PUBLISHED_BATCH = 10


@dataclass(frozen=True, slots=True)
class ConditionAccuracy:
    """Accuracy in one combination of factor levels.

    Parameters
    ----------
    paradigm, levels : which
    trials, items : how many were scored
    accuracy, se : mean over trials of the share of items that was right, and its standard error
    chance : what a uniformly random allowed answer gives
    blind : what always giving the best fixed answer gives; the answer is chosen on training trials
        and scored on these
    held_out : whether such trials were kept from training
    before : accuracy of the best linear read-out before training; None where it was not measured
    unweighted : before training, accuracy of a plain sum of products; None where there are none
    """

    paradigm: str
    levels: dict[str, Any]
    trials: int
    items: int
    accuracy: float
    se: float
    chance: float
    blind: float
    held_out: bool = False
    before: float | None = None
    unweighted: float | None = None

    def as_json(self) -> dict[str, Any]:
        values = {key: value for key, value in asdict(self).items() if value is not None}
        if not self.held_out:
            del values["held_out"]
        return {key: None if value != value else _rounded(value) for key, value in values.items()}


@dataclass(frozen=True, slots=True)
class Examined:
    """Results on a pool of trials.

    Parameters
    ----------
    rows : accuracy of items, for each combination of factor levels
    loss : mean over batches of ten trials, as published
    accuracy : share of the steps in the loss that is right (of several outputs: share of outputs),
        mean over batches of ten trials, as published
    """

    rows: list[ConditionAccuracy]
    loss: float
    accuracy: float


def examine(
    network: Network,
    pool: Pool,
    training: Pool | None = None,
    held_out: Callable[[dict[str, Any]], bool] = lambda levels: False,
) -> Examined:
    """Examine a network on a pool that kept its questions.

    Parameters
    ----------
    training : the training trials of the same paradigm, from whose answers the best blind guess is
        chosen; ``blind`` is nan without
    held_out : whether trials with some levels were kept from training
    """
    logits = outputs_of(network, pool)
    losses, shares = [], []
    for start in range(0, pool.trials, _PUBLISHED_BATCH):
        trials = np.arange(start, min(pool.trials, start + _PUBLISHED_BATCH))
        loss, share = _published(logits[trials], pool, trials)
        losses.append(loss)
        shares.append(share)
    return Examined(rows_of_outputs(logits, pool, training, held_out), float(np.mean(losses)), float(np.mean(shares)))


def rows_of_outputs(
    logits: np.ndarray,
    pool: Pool,
    training: Pool | None = None,
    held_out: Callable[[dict[str, Any]], bool] = lambda levels: False,
) -> list[ConditionAccuracy]:
    """Accuracy of outputs, float32 (trials, steps, head), for each combination of factor levels;
    see :func:`examine`."""
    guesses = (
        {}
        if training is None
        else {tuple(block.levels.items()): frequencies(block, training.view.head) for block in training.blocks}
    )
    overall = np.mean(list(guesses.values()), axis=0) if guesses else None
    rows = []
    for number, block in enumerate(pool.blocks):
        own = logits[number :: len(pool.blocks)]
        rows.append(_row(pool, block, own, guesses.get(tuple(block.levels.items()), overall), held_out(block.levels)))
    return rows


def outputs_of(network: Network, pool: Pool, read: Read | None = None) -> np.ndarray:
    """The outputs of a network at each step of all trials of a pool, float32 (trials, steps, head);
    zeros after the end of a trial.

    Parameters
    ----------
    read : makes the outputs of hidden states, what is seen and the name of a task; the network's
        heads when not given
    """
    import torch

    from ..speedups.sight import by_patches
    from .learning import load, pass_through

    device = next(network.parameters()).device
    longest = max(block.frames.shape[1] for block in pool.blocks)
    found: np.ndarray | None = None
    with torch.inference_mode():
        for start in range(0, pool.trials, _BATCH):
            rows = pool.take(np.arange(start, min(pool.trials, start + _BATCH)))
            inside = np.arange(rows.frames.shape[1]) < rows.lengths[:, None]
            chosen = [(0, rows._replace(trained=inside), pool.store.frames())]
            batch = load(assemble(chosen, patches=by_patches(network, device), gradients=False), device)
            hidden, seen = pass_through(network, batch)
            for task, places, *_ in batch.wanted[0]:
                trial, step = np.nonzero(np.array([name == task for name in rows.tasks])[:, None] & inside)
                outputs = (read or network.answer)(hidden[places], seen.rows(places), task).float().cpu().numpy()
                if found is None:
                    found = np.zeros((pool.trials, longest, outputs.shape[1]), np.float32)
                found[start + trial, step] = outputs
    assert found is not None, "a pool has trials"
    return found


def _published(logits: np.ndarray, pool: Pool, trials: np.ndarray) -> tuple[float, float]:
    """Loss and accuracy of one batch as the WorM benchmark has them."""
    import torch

    from .learning import summed

    rows = pool.take(trials)
    outputs = torch.from_numpy(logits[:, : rows.frames.shape[1]][rows.trained])
    targets = torch.from_numpy(rows.targets[rows.trained])
    loss = float(summed(outputs, targets, pool.loss)) / max(1, len(outputs))
    right = (outputs.argmax(1) == targets) if pool.loss == "classes" else ((outputs > 0) == targets)
    return loss, float(right.float().mean())


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def frequencies(block: TrialBlock, head: int, by_phase: bool = False) -> np.ndarray:
    """Return how often each output was wanted: (head,) numbers from 0 to 1; ``by_phase`` as a mean
    over phases."""
    wanted = block.targets[block.trained]
    weights = phase_weights(block.trained, block.phases)[block.trained] if by_phase else None
    if wanted.ndim == 2:
        return wanted.mean(0) if weights is None else (wanted * weights[:, None]).mean(0)
    return np.bincount(wanted, weights, minlength=head)[:head] / max(1, len(wanted))


def _row(
    pool: Pool, block: TrialBlock, logits: np.ndarray, guess: np.ndarray | None, held_out: bool
) -> ConditionAccuracy:
    everywhere = pool.view.readout == "all_classes"
    right: list[float] = []
    blind: list[float] = []
    chances: list[float] = []
    items = 0
    # Outputs that are the (log) frequencies of the answers are the best blind guess, read out like
    # a network's.
    blind_logits = None
    if guess is not None:
        blind_logits = guess - 0.5 if len(guess) == 1 else np.log(guess + 1e-9)
    for row, questions in enumerate(block.questions):
        scores: list[bool] = []
        blind_scores: list[bool] = []
        for step, ask, correct in questions:
            kind = ask.kind
            scores += scored(kind, kind.from_logits(logits[row, step], ask.classes, all_classes=everywhere), correct)
            if blind_logits is not None:
                blind_scores += scored(
                    kind, kind.from_logits(blind_logits, ask.classes, all_classes=everywhere), correct
                )
            chances.append(kind.chance())
        right.append(float(np.mean(scores)))
        items += len(scores)
        if blind_scores:
            blind.append(float(np.mean(blind_scores)))
    se = float(np.std(right, ddof=1) / np.sqrt(len(right))) if len(right) > 1 else float("nan")
    return ConditionAccuracy(
        paradigm=pool.paradigm.name,
        levels=dict(block.levels),
        trials=len(right),
        items=items,
        accuracy=float(np.mean(right)),
        se=se,
        chance=float(np.mean(chances)),
        blind=float(np.mean(blind)) if blind else float("nan"),
        held_out=held_out,
    )


def scored(kind: Any, answer: Any, correct: Any) -> list[bool]:
    """Return whether each asked item was right; intrusions are not items."""
    return [score.correct for score in kind.score(answer, correct) if score.correct_answer is not None]


def mean_accuracy(rows: Sequence[ConditionAccuracy]) -> float:
    """Mean over combinations of factor levels."""
    return float(np.mean([row.accuracy for row in rows]))


def gained(rows: Sequence[ConditionAccuracy]) -> float:
    """Mean over combinations of the share of what can be gained over the best blind guess (over
    chance, where that is not known)."""
    shares = []
    for row in rows:
        guess = row.chance if np.isnan(row.blind) else row.blind
        shares.append((row.accuracy - guess) / max(1e-3, 1 - guess))
    return float(np.mean(shares))


def as_markdown(rows: Sequence[ConditionAccuracy]) -> str:
    """A table per paradigm; levels that were kept from training have a star. What was not measured
    has no column."""
    return "\n\n".join(
        _table([row for row in rows if row.paradigm == paradigm])
        for paradigm in dict.fromkeys(row.paradigm for row in rows)
    )


#: The columns of a card: the attribute of a row, its heading, and whether it has a mean over
#: levels.
_COLUMNS = (
    ("accuracy", "accuracy", True),
    ("se", "s.e.", False),
    ("before", "before training", True),
    ("unweighted", "unweighted sum, before training", True),
    ("blind", "best blind guess", True),
    ("chance", "chance", True),
)


def _table(rows: Sequence[ConditionAccuracy]) -> str:
    """The table of a paradigm, with the mean over combinations of levels in its last line."""
    names = list(rows[0].levels) or ["condition"]
    columns = [column for column in _COLUMNS if getattr(rows[0], column[0]) is not None]
    lines = [[*(name.replace("_", " ") for name in names), *(heading for _, heading, _ in columns), "trials"]]
    for row in rows:
        levels = [str(row.levels.get(name, "all")) for name in names]
        if row.held_out:
            levels[-1] += " *"
        lines.append([*levels, *(_bold(key, getattr(row, key)) for key, _, _ in columns), str(row.trials)])
    means = [
        _bold(key, float(np.mean([getattr(row, key) for row in rows]))) if averaged else ""
        for key, _, averaged in columns
    ]
    lines.append(["mean", *[""] * (len(names) - 1), *means, str(sum(row.trials for row in rows))])
    first, *rest = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([f"### {rows[0].paradigm}", "", first, "|" + "---|" * len(lines[0]), *rest])


def _bold(key: str, value: float) -> str:
    return f"**{value:.3f}**" if key == "accuracy" else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Validation:
    """Accuracy of a network on the validation trials.

    Parameters
    ----------
    found : what came of each paradigm
    accuracy : of each, as the config's ``validation`` has it
    score : by which weights are selected, as the config's ``selection`` has it
    loss : mean over paradigms
    """

    found: dict[str, Examined]
    accuracy: dict[str, float]
    score: float
    loss: float

    def to_record(self) -> dict[str, Any]:
        """For the log."""
        return {
            "accuracy": self.accuracy,
            "mean": round(float(np.mean(list(self.accuracy.values()))), 4),
            "score": round(self.score, 4),
            "loss": {name: round(examined.loss, 5) for name, examined in self.found.items()},
            "mean_loss": round(self.loss, 5),
            "conditions": [
                [row.paradigm, row.levels, round(row.accuracy, 4)]
                for examined in self.found.values()
                for row in examined.rows
            ],
        }


def validate(network: Network, training_data: TrainingData) -> Validation:
    """Measure the accuracy of a network on the validation trials now."""
    config, found = training_data.config, {}
    network.eval()
    for number, (pool, seen) in enumerate(
        zip(training_data.pools["validation"], training_data.pools["train"], strict=True)
    ):
        found[training_data.label(number)] = examine(network, pool, seen)
    network.train()
    published = config.validation == "published"
    accuracy = {
        name: round(examined.accuracy if published else mean_accuracy(examined.rows), 4)
        for name, examined in found.items()
    }
    scores: Sequence[float] = (
        list(accuracy.values())
        if config.selection == "published"
        else [gained(examined.rows) for examined in found.values()]
    )
    return Validation(
        found, accuracy, float(np.mean(scores)), float(np.mean([examined.loss for examined in found.values()]))
    )


def test(network: Network, training_data: TrainingData) -> list[ConditionAccuracy]:
    """Accuracy on test trials, by paradigm and combination of factor levels."""
    network.eval()
    rows: list[ConditionAccuracy] = []
    for pool in training_data.pools["test"]:
        tasks = {block.task for block in pool.blocks}
        trained = (
            seen
            for seen in training_data.pools["train"]
            if seen.paradigm.name == pool.paradigm.name and tasks & {block.task for block in seen.blocks}
        )
        rows += examine(network, pool, next(trained, None), partial(training_data.held_out, pool.paradigm)).rows
    return rows
