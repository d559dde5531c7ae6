"""The models, one file for each kind of answers."""

from __future__ import annotations

from spanlab.core import SpanLabError, nearest

from ..trials import Kind
from .detection import (
    ChangeResource,
    ChangeSlots,
    ChangeVariable,
    SharedCriterion,
    SignalDetection,
    Threshold,
    UnequalVariance,
)
from .model import Model, Parameter
from .order import MemoryMeasurement, Primacy, Simple, UpdatedMeasurement
from .report import Averaging, Resource, ResourceSwaps, Slots, SlotsSwaps, Variable, VariableSwaps

__all__ = ["MODELS", "Model", "Parameter", "models_named"]

#: All models, in the order of lists.
MODELS: tuple[Model, ...] = (
    *(Slots(), Averaging(), Resource(), Variable(), SlotsSwaps(), ResourceSwaps(), VariableSwaps()),
    *(ChangeSlots(), ChangeResource(), ChangeVariable()),
    *(SignalDetection(), SharedCriterion(), UnequalVariance(), Threshold()),
    *(Simple(), Primacy(), MemoryMeasurement(), UpdatedMeasurement()),
)


def models_named(name: str, kind: Kind | None = None) -> list[Model]:
    """The models of a name, for answers of a kind or of every kind.

    Raises
    ------
    SpanLabError
        when there is none of that name.
    """
    named = [model for model in MODELS if model.name == name]
    if not named:
        names = list(dict.fromkeys(model.name for model in MODELS))
        raise SpanLabError(f"there is no model '{name}'{nearest(name, names)}; there are {', '.join(names)}")
    return [model for model in named if kind is None or kind in model.kinds]
