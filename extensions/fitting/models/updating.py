"""Updating: where is something now that has been moved, or replaced, several times?"""

from __future__ import annotations

import numpy as np

from ..trials import Trials, Values
from .model import Discrete, Parameter
from .order import ACTIVATIONS, MemoryMeasurement

#: Of each role of :data:`..markers.ROLES`, how much activation of items it has, and of the binding
#: to the place that is asked for: none, all of it, or what outdated contents keep.
_NONE, _ALL, _KEPT = 0, 1, 2
_ITEM = np.array([_NONE, _ALL, _ALL, _KEPT, _KEPT, _ALL])
_BINDING = np.array([_NONE, _ALL, _NONE, _KEPT, _NONE, _KEPT])


class UpdatedMeasurement(Discrete):
    """M3 for updating: outdated contents keep a share of their activation, and of their binding to
    the place where they were."""

    name = "m3"
    title = "M3: memory measurement model, for updating"
    kinds = ("updating",)
    source = MemoryMeasurement.source
    ours = (
        "Updating version: current and outdated contents, of the place asked for and of others, and what was never"
        " there. How much is removed and how long removal has are one share; there is no extended encoding, because"
        " times do not vary. What is current elsewhere and outdated here is activated as current and bound as outdated."
        " All loads have the same activations. Background 0.1, as there."
    )

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Activation of items and of bindings, and what outdated ones keep of both."""
        return (
            *ACTIVATIONS,
            Parameter(
                "outdated",
                "share of their activation that outdated contents keep",
                "share",
                0.001,
                0.999,
                0.3,
                1.0,
                "logit",
            ),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Luce's choice among all cells, summed over those of the same role."""
        shares = np.array([0.0, 1.0, float(values["outdated"])])
        active = (
            MemoryMeasurement.background + float(values["a"]) * shares[_ITEM] + float(values["c"]) * shares[_BINDING]
        )
        weights = trials.beside["cells"] * active
        return weights / weights.sum(1, keepdims=True)
