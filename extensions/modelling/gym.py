"""Trials of a paradigm as an environment of Gymnasium, for models that learn by reward, laid out as
in neurogym.

>>> import spanlab
>>> environment = spanlab.gym.Task("vsr", levels={"list_length": 3})
>>> observation, info = environment.reset(seed=1)
>>> observation.shape
(3, 32, 32)
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from typing_extensions import override

from spanlab.agents.network import arrays_of, longest_trial
from spanlab.core import SpanLabError, need
from spanlab.paradigms import (
    MAX_MASTER_SEED,
    Generator,
    Split,
    Trial,
    compile_trial,
    load_paradigm,
    plan_dataset,
)

need("gym", "gymnasium", "an environment of Gymnasium")
import gymnasium  # noqa: E402


class Task(gymnasium.Env[np.ndarray, int]):
    """A paradigm as an environment: one display is one step, and an answer is rewarded.

    An episode is one trial. What is observed is the frame that networks get; the right answer is
    never observed. At a question, the action is the class that is answered: it is rewarded with 1
    if it is right and 0 if not, and then ``info`` has ``correct`` and ``gt``, the class that was
    right. Elsewhere the action counts for nothing.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    levels : levels of some factors; all when not given
    split : ``train``, ``validation`` or ``test``: trials of one are never those of another
    generator : ``corrected`` or ``published`` trials

    Raises
    ------
    SpanLabError
        when the paradigm is unknown, networks cannot take it, or a question has several answers.
    """

    def __init__(
        self,
        paradigm: str,
        *,
        levels: Mapping[str, Any] | None = None,
        split: Split = "train",
        generator: Generator = "corrected",
    ) -> None:
        self.paradigm = load_paradigm(paradigm)
        self._levels = {
            name: list(value) if isinstance(value, list | tuple) else [value] for name, value in (levels or {}).items()
        }
        self._split: Split = split
        self._generator: Generator = generator
        view = self.paradigm.network_view(self.paradigm.combinations(self._levels)[0])
        if view is None or view.input != "frames":
            raise SpanLabError(
                f"{self.paradigm.name} cannot be an environment: it has no 'network' section with frames"
            )
        self._view = view
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (3, 32, 32), np.float32)
        self.action_space = gymnasium.spaces.Discrete(max(view.head, 2))
        self.trial: Trial | None = None
        self._frames, self._classes, self._step = np.zeros((0, 3, 32, 32), np.float32), np.zeros(0, np.int64), 0
        self._asked = np.zeros(0, bool)
        self._seed: int | None = None
        self._number = 0
        next(plan_dataset(self.paradigm, 1, split, 1, self._levels))  # what is wrong is said at once

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin the next trial; with a seed, the first one of that seed. Without any, each
        environment has trials of its own."""
        first, number = (self._seed, self._number) if seed is None else (seed, 0)
        if first is None:
            first = int(self.np_random.integers(MAX_MASTER_SEED + 1))
        planned = next(plan_dataset(self.paradigm, first, self._split, 1, self._levels, start=number))
        super().reset(seed=seed)
        self._seed, self._number = first, number + 1
        self._begin(planned)
        return self._frames[0], {"new_trial": True, "levels": dict(self._trial.levels)}

    @property
    def seq_len(self) -> int:
        """The steps of the longest trial."""
        return longest_trial(self.paradigm, self._levels, self._generator)

    @property
    def _trial(self) -> Trial:
        if self.trial is None:
            raise SpanLabError("no trial has begun: call reset() first")
        return self.trial

    def _begin(self, planned: Any) -> None:
        """Compile a trial, and keep what is shown and what would be right apart.

        Raises
        ------
        SpanLabError
            when a question has several answers.
        """
        trial = compile_trial(self.paradigm, planned.levels, planned.seed, self._generator)
        shown = [step for step in trial.steps if step.percept.model_step]
        arrays = arrays_of((self.paradigm.network_view(trial.levels) or self._view), [trial])
        if arrays.labels.shape != (1, len(shown)):
            raise SpanLabError(f"{self.paradigm.name} cannot be an environment: a question has several answers at once")
        self.trial, self._step = trial, 0
        self._frames = np.moveaxis(arrays.frames[0], -1, 1).astype(np.float32) / np.float32(255)
        self._classes, self._asked = arrays.labels[0], np.array([step.percept.ask is not None for step in shown])

    @override
    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Answer the display that is observed, and go on to the next one.

        Returns
        -------
        the next frame, the reward, whether the trial is over, False, and ``new_trial``; after a
        question also ``correct`` and ``gt``

        Raises
        ------
        SpanLabError
            when the trial is over, or a question is answered with something that is no class.
        """
        trial = self._trial
        if self._step >= len(self._frames):
            raise SpanLabError("the trial is over: call reset() for the next one")
        info: dict[str, Any] = {"new_trial": False, "levels": dict(trial.levels)}
        reward = 0.0
        if self._asked[self._step]:
            classes = max(self._view.head, 2)
            try:
                answer = index(action)
            except TypeError:
                answer = -1
            if not 0 <= answer < classes:
                raise SpanLabError(f"an answer is a whole number from 0 to {classes - 1}; found {action}")
            right = int(self._classes[self._step])
            reward = float(answer == right)
            info |= {"correct": bool(reward), "gt": right}
        self._step += 1
        over = self._step == len(self._frames)
        return self._frames[-1] if over else self._frames[self._step], reward, over, False, info

    @property
    def asked(self) -> bool:
        """True if the display that is observed asks a question."""
        return bool(self._step < len(self._asked) and self._asked[self._step])


def make(paradigm: str, **options: Any) -> Task:
    """Return a paradigm as an environment; see :class:`Task`."""
    return Task(paradigm, **options)


gymnasium.register("spanlab/Task-v1", entry_point="spanlab.extensions.modelling.gym:Task")
