"""Trials that were compiled and will be wanted again: what a session checks before anybody sits down is what it then takes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from .trial import Trial

#: how many trials a paradigm keeps; the largest sessions of people have fewer
KEPT_TRIALS = 1024


class CompiledTrials:
    """The trials of one paradigm that were compiled last. They are immutable, so whoever asks gets the same one.

    It is left behind when its paradigm is copied, compared or sent to another process.

    Parameters
    ----------
    keep : how many trials; the one that was not wanted for longest goes first
    """

    def __init__(self, keep: int = KEPT_TRIALS) -> None:
        self._keep = keep
        self._trials: OrderedDict[Hashable, tuple[Any, Trial]] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return (CompiledTrials, (self._keep,))

    def get(self, key: Hashable, draws: Any, make: Callable[[], Trial]) -> Trial:
        """The trial, compiled if it is not there.

        Parameters
        ----------
        key : what names the trial within its paradigm, but for given draws
        draws : the draws that were given, or None; they must be the very object that was given before
        make : compiles it
        """
        key = (key, id(draws))
        with self._lock:
            if key in self._trials:
                self._trials.move_to_end(key)
                return self._trials[key][1]
        trial = make()
        with self._lock:
            self._trials[key] = (draws, trial)  # keeps the draws alive, so that their id stays theirs
            while len(self._trials) > self._keep:
                self._trials.popitem(last=False)
        return trial
