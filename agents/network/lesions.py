"""Networks without some of their units: these are silenced for the read-out, while the memory goes on as it was.

The WorM benchmark (Sikarwar & Zhang, 2023) sets to zero the weights that lead from these units to the classifiers, which comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .observed import Observed
from .training.evaluation import scored

if TYPE_CHECKING:
    from .models import Network


def accuracy_without(network: Network, observed: Observed, units: Sequence[int] = ()) -> np.ndarray:
    """The share of items that is right in each trial, float (trials,), with these units at zero in the hidden state that is read out.

    Trials without a question have nan.
    """
    import torch

    questions, view = observed.questions, observed.view
    held = observed.hidden[[question.trial for question in questions], [question.step for question in questions]].copy()
    held[:, list(units)] = 0
    with torch.inference_mode():
        logits = network.answer(torch.from_numpy(held), observed.seen, view.task).numpy()
    right, items = np.zeros(len(observed.steps)), np.zeros(len(observed.steps))
    everywhere = view.readout == "all_classes"
    for question, outputs in zip(questions, logits, strict=True):
        kind = question.ask.kind
        found = scored(kind, kind.from_logits(outputs, question.ask.classes, all_classes=everywhere), question.answer)
        right[question.trial] += sum(found)
        items[question.trial] += len(found)
    return np.divide(right, items, out=np.full(len(items), np.nan), where=items > 0)
