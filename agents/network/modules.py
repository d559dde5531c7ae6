"""A torch module as a participant: frames in, logits out, without a file or a description."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from ...core.errors import SpanLabError
from ...paradigms.language.diagnostics import validated
from .foreign import Foreign, Interface, OwnNetwork, tried
from .foreign_agent import ForeignAgent

if TYPE_CHECKING:
    import torch

    from ...paradigms import NetworkView

#: The logits of a module: from-to (0-8), a list, or for each task one of both.
Logits = str | Sequence[int]


class ModuleNetwork(OwnNetwork):
    """A torch module, in evaluation mode while it answers; of several things that it returns, such
    as outputs and a state, the first are its logits."""

    name: ClassVar[str] = "a torch module"

    def __init__(self, module: torch.nn.Module, interface: Interface) -> None:
        self._module, self._interface = module, interface

    @classmethod
    @override
    def load(cls, file: Path | None) -> OwnNetwork:
        raise NotImplementedError("a module is given, and not read from a file")

    @override
    def interface(self) -> Interface:
        return self._interface

    @override
    def logits(self, frames: torch.Tensor, numbers: torch.Tensor | None) -> torch.Tensor:
        import torch

        parameter = next(self._module.parameters(), None)
        if parameter is not None:
            frames = frames.to(parameter.device, parameter.dtype if parameter.is_floating_point() else None)
        modes = [(part, part.training) for part in self._module.modules()]
        self._module.eval()
        try:
            found = self._module(frames)
        finally:
            for part, training in modes:  # parts may be frozen while the whole is trained
                part.training = training
        outputs: Any = (
            found[0] if isinstance(found, tuple | list) and found and isinstance(found[0], torch.Tensor) else found
        )
        return outputs


def module_agent(
    module: torch.nn.Module,
    views: Sequence[NetworkView],
    logits: Logits | None = None,
    frames: Mapping[str, Any] | None = None,
) -> ForeignAgent:
    """Return a torch module as an agent.

    Parameters
    ----------
    module : from float32 (trials, steps, channels, 32, 32) to logits (trials, steps, outputs), none
        of which depends on later frames
    views : what networks see of the paradigm that it takes, for each of its tasks
    logits : which of its outputs are those of the paradigm's head, in their order; the first ones
        when not given
    frames : how frames are given to it (``size``, ``colour``, ``values``, ``order``, ``mean``,
        ``spread``)

    Raises
    ------
    SpanLabError
        when its outputs are not such logits.
    """
    import torch

    heads = {view.task: view.head for view in views}
    if not heads:
        raise SpanLabError(
            "networks cannot take this paradigm: it has no 'network' section that says its task and head; add one to"
            " the file"
        )
    tasks = {task: {"logits": list(range(max(head, 2))) if logits is None else logits} for task, head in heads.items()}
    interface, problems = validated(
        Interface, {"frames": dict(frames or {}), "tasks": {task: _as_lists(entry) for task, entry in tasks.items()}}
    )
    if problems or not isinstance(interface, Interface):
        raise SpanLabError("; ".join(f"{'.'.join(map(str, path))}: {message}" for path, message in problems))
    name = type(module).__name__
    weights = hashlib.sha256()
    for key, value in module.state_dict().items():
        weights.update(key.encode() + value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
    parameters = sum(parameter.numel() for parameter in module.parameters())
    facts = {
        "class": f"{type(module).__module__}.{type(module).__qualname__}",
        "parameters": parameters,
        "sha256": weights.hexdigest(),
    }
    return ForeignAgent(tried(Foreign(name, interface, ModuleNetwork(module, interface), facts, ())), name)


def _as_lists(entry: dict[str, Any]) -> dict[str, Any]:
    logits = entry["logits"]
    try:
        return {"logits": logits if isinstance(logits, str) else [index(number) for number in logits]}
    except TypeError:
        raise SpanLabError(f"logits: expected a list of numbers, or from-to such as 0-8; found {logits!r}") from None
