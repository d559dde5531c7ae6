"""The parts of every network: an encoder, the name of the task, a memory, and heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from ..settings import ModelSettings, Task, reading
from .encoders import Seen
from .heads import Heads
from .memories import Memory, State

#: A part of the screen: left, top, right, bottom, from 0 to 1.
Place = tuple[float, float, float, float]
#: Frames that are looked at together where nothing is learned: more would need much memory and gain
#: nothing.
_TOGETHER = 256


class Passage(NamedTuple):
    """Result of a passage through steps.

    Parameters
    ----------
    logits : (batch, steps, outputs of the head)
    hidden : (batch, steps, hidden): the output of the memory at each step, its hidden state (of the
        last layer, where there are several), before any read-out
    state : what the next steps go on from
    """

    logits: Tensor
    hidden: Tensor
    state: State


class Network(nn.Module):
    """The base of networks.

    A network sees one 32 × 32 frame per step and nothing else (in tasks with words: it reads the
    vector of one word); whatever it knows of earlier frames is in the state of its memory.

    Parameters
    ----------
    settings : sizes
    tasks : by name; their order is that of the rows of the task embedding
    """

    #: whether the memory takes in the task's name before what is seen, or after it
    name_first: ClassVar[bool]
    eye: Any
    reader: Any
    task_embedding: nn.Embedding
    memory: Memory
    heads: Heads

    def __init__(self, settings: ModelSettings, tasks: Mapping[str, Task]) -> None:
        super().__init__()
        self.settings = settings
        self.tasks = dict(tasks)
        self._rows = {name: row for row, name in enumerate(self.tasks)}

    @property
    def reading(self) -> frozenset[str]:
        """The tasks in which vectors of words are read."""
        return frozenset(reading(self.tasks))

    @property
    def seeing(self) -> bool:
        """True if there are tasks in which frames are seen."""
        return len(self.reading) < len(self.tasks)

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def see(self, frames: Tensor) -> Seen:
        """Encode frames by the eye, uint8 (n, 32, 32, 3), or the reader of vectors, float32 (n,
        300 × words)."""
        encoder = self.eye if frames.dtype == torch.uint8 else self.reader
        if torch.is_grad_enabled() or len(frames) <= _TOGETHER:
            return encoder(frames)
        return Seen.joined([encoder(part) for part in frames.split(_TOGETHER)])

    def initial(self, batch: int, seeds: Sequence[int] | None = None) -> State:
        """The state before the first step of ``batch`` trials; ``seeds``, one for each, are for
        memories that draw random numbers."""
        state = self.memory.initial(batch, self.task_embedding.weight)
        return state if seeds is None else self.memory.seeded(state, seeds)

    def remember(self, seen: Seen, tasks: str | Sequence[str], state: State | None = None) -> tuple[Tensor, State]:
        """Go through steps.

        Parameters
        ----------
        seen : of shape (batch, steps, ...)
        tasks : one for all trials, or one for each
        state : from the steps before; None at the start of the trials

        Returns
        -------
        the hidden state at each step (batch, steps, hidden), and the state after the last one
        """
        batch, steps = seen.inputs.shape[:2]
        numbers = [self._rows[tasks]] * batch if isinstance(tasks, str) else [self._rows[task] for task in tasks]
        name = self.task_embedding(torch.tensor(numbers, device=seen.inputs.device))[:, None].expand(batch, steps, -1)
        parts = (name, seen.inputs) if self.name_first else (seen.inputs, name)
        return self.memory(torch.cat(parts, -1), self.initial(batch) if state is None else state)

    def features(self, hidden: Tensor, seen: Seen) -> Tensor:
        """Return the input of the linear heads (..., features) of hidden states (..., hidden) and
        what is seen at the same steps."""
        return hidden

    def answer(self, hidden: Tensor, seen: Seen, task: str) -> Tensor:
        """The outputs (..., head) of a task's head for hidden states (..., hidden) and what is seen
        at the same steps."""
        return self.heads[self.tasks[task].head](self.features(hidden, seen))

    @override
    def forward(self, seen: Seen, task: str, state: State | None = None) -> Passage:
        """Go through steps of one task and read out each; see :meth:`remember` and :meth:`answer`,
        which trials of several tasks in one batch need."""
        hidden, after = self.remember(seen, task, state)
        return Passage(self.answer(hidden, seen, task), hidden, after)

    def begin(
        self,
        samples: Sequence[Tensor],
        expected: Mapping[str, tuple[Sequence[float], bool]],
        places: Mapping[str, Mapping[int, Place]] | None = None,
    ) -> None:
        """Set what follows from the training trials before any learning, if there is such.

        Parameters
        ----------
        samples : frames, uint8 (n, 32, 32, 3), one sample per task
        expected : for each head how often each of its outputs is wanted, and whether these exclude
            one another
        places : for each head where on the screen the answers are that its outputs stand for, if
            they are places
        """
