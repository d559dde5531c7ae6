"""Before the first step of training: what follows from the trials alone, and whether a network can take them."""

from __future__ import annotations

import numpy as np
import torch

from ....core.errors import SpanLabError
from ....paradigms import plan_dataset
from ....paradigms.network_view import is_model_step
from ..inputs.data import Pool
from ..inputs.training_data import TrainingData
from ..models import Network
from .evaluation import frequencies
from .learning import blind_loss

#: Frames of each paradigm from which the retina's components are found.
_RETINA_STEPS = 4000


def check_lengths(network: Network, training_data: TrainingData) -> None:
    """Whether trials of all levels that are trained and tested are short enough for a network that has a limit.

    Raises
    ------
    SpanLabError
        when some are not, with what to change.
    """
    longest, config = network.memory.longest, training_data.config
    if longest is None:
        return
    for paradigm, factors in (*zip(training_data.paradigms, training_data.factors, strict=True), *training_data.tested):
        planned = plan_dataset(paradigm, config.seed, "train", len(paradigm.combinations(factors)), factors)
        trials = (one.compile(paradigm, config.generator) for one in planned)
        steps = max(sum(is_model_step(step.percept) for step in trial.steps) for trial in trials)
        if steps > longest:
            raise SpanLabError(
                f"trials of {paradigm.name} have up to {steps} steps, and this network takes {longest}; give it more (model: options: positions: {steps}), "
                "train on shorter trials (factors), or choose another architecture"
            )


def begin(network: Network, training_data: TrainingData) -> None:
    """Set what follows from the training trials before any learning: components of a retina, how often each answer is right."""
    samples, wanted = [], {}
    for pool in training_data.pools["train"]:
        if pool.store is training_data.frames:
            share = _RETINA_STEPS // len(pool.blocks)
            numbers = np.concatenate([block.frames[: max(1, share // block.frames.shape[1])].ravel() for block in pool.blocks])
            samples.append(torch.from_numpy(pool.store.frames()[numbers]))
        for task in dict.fromkeys(block.task for block in pool.blocks):
            often = np.mean([frequencies(block, pool.view.head) for block in pool.blocks if block.task == task], axis=0)
            wanted.setdefault(network.tasks[task].head, []).append((often, pool.loss == "classes"))
    expected = {head: (np.mean([often for often, _ in tasks], axis=0).tolist(), tasks[0][1]) for head, tasks in wanted.items()}
    network.begin(samples, expected)


def weights_of_losses(training_data: TrainingData) -> list[float]:
    """By how much the loss of each paradigm counts: what its task says, and with the improved loss as a share of that of the best blind guess."""
    weights = [task.weight for task in training_data.config.tasks]
    if training_data.config.loss == "published":
        return weights
    return [weight / _blind(pool) for weight, pool in zip(weights, training_data.pools["train"], strict=True)]


def _blind(pool: Pool) -> float:
    """The loss of the best blind guess in a paradigm."""
    return max(1e-3, float(np.mean([blind_loss(frequencies(block, pool.view.head), pool.loss) for block in pool.blocks])))
