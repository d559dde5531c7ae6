"""Agents that answer many trials at once: in batches, or with several under way in one event loop."""

# pyright: strict, reportImplicitOverride=true

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import numpy as np

from ..paradigms import (
    Percept,
)
from .base import Agent, Response, TrialContext

if TYPE_CHECKING:
    from pathlib import Path

#: Takes the hidden states of one trial of a batch: its number in the batch, and float32 (steps that
#: machines see, units).
KeepStates = Callable[[int, "np.ndarray"], None]


class BatchAgent(Agent):
    """An agent that is fast in batches."""

    #: how many trials one batch should have
    batch_size: int = 128

    @abstractmethod
    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: KeepStates | None = None
    ) -> list[list[Response | None]]:
        """Answer many trials at once: for every trial one entry per percept, a Response exactly
        where it asks. It has to be equal to stepping.

        Parameters
        ----------
        keep : takes the hidden states of each trial; for agents with :attr:`hidden_units` alone
        """

    @property
    def hidden_units(self) -> int:
        """Number of units of its hidden states; 0 when it has none to keep."""
        return 0


class ConcurrentAgent(Agent):
    """An agent that may have several trials under way in one event loop."""

    practises: bool = False  #: whether it takes the paradigm's practice first, and is told how it did, as people are
    #: whether it remembers, within a block, the trials before: then these are taken one after the
    #: other, and those of an earlier part are gone through again
    remembers: bool = False
    examples: int = 0  #: how many worked examples it is shown before a trial

    def tell(self, sentence: str) -> None:
        """Tell it something around practice, which it hears before its next trial: what a person
        reads on a page."""

    @abstractmethod
    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place for one trial under way; entering it waits until there is one."""

    def stop(self, why: str) -> None:
        """Begin nothing new from now on: what is under way ends, and an episode that wants more
        gets a :class:`Stopped`."""

    def recorded_in(self, folder: Path, say: Callable[[str], None]) -> None:
        """Know, before the session begins or goes on, the folder of its record, and who hears what
        happens meanwhile."""

    def status_line(self) -> str:
        """Return the progress in a few words, for the line that shows progress."""
        return ""
