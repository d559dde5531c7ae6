"""Accuracy of a network before it is trained: the best linear read-out of what its starting weights
make of a trial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..inputs.data import Loss, Pool
from ..inputs.training_data import TrainingData
from ..models import Network, Seen, build
from ..settings import CompactSettings
from .config import TrainingConfig
from .evaluation import ConditionAccuracy, outputs_of, rows_of_outputs
from .learning import summed
from .run import begin

#: Trials of each combination of levels on which a read-out is fitted. Its penalty is chosen on the
#: validation trials, and it is scored on the test trials.
FITTED_ON = 100
#: Penalties that are tried, on the squared weights of features of variance 1.
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True, slots=True)
class BeforeTraining:
    """Accuracy before training in one combination of factor levels.

    Parameters
    ----------
    paradigm, levels : which
    read_out : accuracy of the best linear read-out of the untrained network
    unweighted : accuracy of the plain sum of the products that compare what is seen now with what
        the delay line holds of n steps ago; None where a network has no such products, or a
        paradigm no n
    """

    paradigm: str
    levels: dict[str, Any]
    read_out: float
    unweighted: float | None


def before_training(config: TrainingConfig, fitted_on: int = FITTED_ON) -> list[BeforeTraining]:
    """Return what can be read out of a network before its first step, by paradigm and combination
    of factor levels.

    A read-out is fitted for each paradigm and task alone, so that it is at least as good as one
    that serves several. It is a logistic regression on what the heads of the network read. Fitting,
    the choice of the penalty and the score have separate trials. Weights that the run takes over
    from another network (``start_from``) are left out: they were trained.
    """
    own = TrainingData(config)
    own.prepare(lambda count: None)
    network = build(config.model, own.tasks, config.seed)
    begin(network, own)
    network.eval().requires_grad_(False)
    more = [
        task.model_copy(update={"train_trials": fitted_on * len(paradigm.combinations(factors))})
        for task, paradigm, factors in zip(config.tasks, own.paradigms, own.factors, strict=True)
    ]
    data = TrainingData(config.model_copy(update={"tasks": more, "train_trials": None, "compile": "ahead"}))
    data.prepare(lambda count: None)
    return [
        accuracy
        for pools in zip(data.pools["train"], data.pools["validation"], data.pools["test"], strict=True)
        for task in dict.fromkeys(block.task for block in pools[-1].blocks)
        for accuracy in _before(network, *(_of_task(pool, task) for pool in pools))
    ]


def _of_task(pool: Pool, task: str) -> Pool:
    return replace(pool, blocks=[block for block in pool.blocks if block.task == task])


def _before(network: Network, train: Pool, validation: Pool, test: Pool) -> list[BeforeTraining]:
    features = torch.from_numpy(
        _trained_steps(train, outputs_of(network, train, lambda hidden, seen, task: network.features(hidden, seen)))
    )
    targets = torch.from_numpy(_trained_steps(train, None))
    mean, spread = features.mean(0), features.std(0).clamp(min=1e-6)
    scaled = (features - mean) / spread
    weights = torch.stack([_fitted(scaled, targets, train.loss, train.view.head, penalty) for penalty in PENALTIES])

    def read(hidden: Tensor, seen: Seen, task: str) -> Tensor:
        own = (network.features(hidden, seen) - mean) / spread
        return torch.cat([own @ weight[:-1] + weight[-1] for weight in weights], -1)

    outputs = [np.split(outputs_of(network, pool, read), len(PENALTIES), -1) for pool in (validation, test)]
    scores = [np.mean([row.accuracy for row in rows_of_outputs(logits, validation)]) for logits in outputs[0]]
    rows = rows_of_outputs(outputs[1][int(np.argmax(scores))], test)
    plain = _unweighted(network, train, test, features, targets)
    return [
        BeforeTraining(row.paradigm, row.levels, row.accuracy, None if plain is None else plain[at].accuracy)
        for at, row in enumerate(rows)
    ]


def _trained_steps(pool: Pool, values: np.ndarray | None) -> np.ndarray:
    """Values (trials, steps, n) at the steps that are trained, in a row; the targets of these steps
    if no values are given."""
    rows = pool.take(np.arange(pool.trials))
    return rows.targets[rows.trained] if values is None else values[:, : rows.trained.shape[1]][rows.trained]


def _fitted(features: Tensor, targets: Tensor, kind: Loss, head: int, penalty: float) -> Tensor:
    """Weights (features + 1, head) of a logistic regression; the last row is the constant."""
    weights = torch.zeros(features.shape[1] + 1, head, requires_grad=True)
    steps = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        value = (
            summed(features @ weights[:-1] + weights[-1], targets, kind) / len(features)
            + penalty * weights[:-1].square().sum()
        )
        value.backward()
        return value

    steps.step(loss)  # type: ignore[arg-type]
    return weights.detach()


def _unweighted(
    network: Network, train: Pool, test: Pool, features: Tensor, targets: Tensor
) -> list[ConditionAccuracy] | None:
    """Accuracy of the plain sum of the products of one place of the delay line, with the threshold
    that is best on the training trials."""
    settings, steps_back = network.settings, {block.levels.get("n") for block in test.blocks}
    if not isinstance(settings, CompactSettings) or not settings.products or len(steps_back) != 1 or None in steps_back:
        return None
    first, line = settings.hidden + (settings.windows**2 if settings.match else 0), settings.delay_line
    back = int(steps_back.pop())  # type: ignore[arg-type]
    if settings.compared and back >= line.slots:
        return None
    chosen = (
        slice(first + back * line.width, first + (back + 1) * line.width)
        if settings.compared
        else slice(first, first + settings.products)
    )
    threshold, sign = _threshold(features[:, chosen].sum(-1), (targets[:, 0] if targets.ndim == 2 else targets).bool())

    def read(hidden: Tensor, seen: Seen, task: str) -> Tensor:
        yes = sign * (network.features(hidden, seen)[:, chosen].sum(-1, keepdim=True) - threshold)
        return yes if train.view.head == 1 else torch.cat([-yes, yes], -1)

    return rows_of_outputs(outputs_of(network, test, read), test)


def _threshold(values: Tensor, wanted: Tensor) -> tuple[float, float]:
    """The threshold between two classes that is right most often, and on which side of it (1:
    above, -1: below) the wanted values are."""
    order = values.argsort()
    values, wanted = values[order], wanted[order].double()
    below = torch.cat([torch.zeros(1, dtype=torch.float64), wanted.cumsum(0)])  # wanted among the lowest 0, 1, 2, ...
    count = torch.arange(len(values) + 1)
    right = wanted.sum() - below + (count - below)
    best = [
        (float(share.max()), int(share.argmax()), sign) for share, sign in ((right, 1.0), (len(values) - right, -1.0))
    ]
    _, at, sign = max(best)
    edges = torch.cat([values[:1] - 1, (values[1:] + values[:-1]) / 2, values[-1:] + 1])
    return float(edges[at]), sign
