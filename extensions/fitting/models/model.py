"""Interface of a cognitive model: declared parameters, the likelihood of answers, and answers of
its own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit, logit

from ..trials import Kind, Trials, Values, stages

#: Probabilities are kept from 0, so that one impossible answer does not make a whole session
#: impossible.
LEAST = 1e-12
#: Of scales of search: to them, and from them.
_SCALES = {"plain": (float, float), "log": (math.log, math.exp), "logit": (logit, expit)}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model.

    Parameters
    ----------
    name : as it is written
    meaning : what it is, in a few words
    unit : of its value
    low, high : bounds of its value
    typical, spread : its prior: normal on ``scale``, with this median and this standard deviation
        there. Planted values of recovery tables are drawn from it, and the search begins at it;
        fits are of maximum likelihood, without it
    scale : on which it is searched and has its interval
    each : whether every load has a value of its own
    """

    name: str
    meaning: str
    unit: str
    low: float
    high: float
    typical: float
    spread: float
    scale: Literal["plain", "log", "logit"] = "plain"
    each: bool = False

    def to_scale(self, value: float) -> float:
        """A value on the scale of the search."""
        return _SCALES[self.scale][0](value)

    def from_scale(self, at: float) -> float:
        """A value from the scale of the search, within the bounds."""
        return min(self.high, max(self.low, _SCALES[self.scale][1](at)))


class Model(ABC):
    """A cognitive model of one kind of answers, or of several."""

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    source: ClassVar[str]
    #: what it assumes beyond its source
    ours: ClassVar[str] = ""

    @abstractmethod
    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """The parameters that answers of this form have."""

    @abstractmethod
    def log_likelihood(self, values: Values, trials: Trials) -> np.ndarray:
        """The log probability of each answer; of a report its log density per radian."""

    @abstractmethod
    def draw(self, values: Values, trials: Trials, random: np.random.RandomState) -> np.ndarray:
        """Answers of the model to these questions."""

    def refusal(self, trials: Trials) -> str:
        """Why it cannot be fitted to such answers, in a clause; empty when it can."""
        return ""


class Discrete(Model):
    """A model that gives each of finitely many answers a probability."""

    @abstractmethod
    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """The probability of each answer (columns) to each question (rows)."""

    def log_likelihood(self, values: Values, trials: Trials) -> np.ndarray:
        """See :meth:`Model.log_likelihood`."""
        return np.log(np.maximum(self.probabilities(values, trials)[np.arange(len(trials)), trials.answer], LEAST))

    def draw(self, values: Values, trials: Trials, random: np.random.RandomState) -> np.ndarray:
        """Answers, question by question: what was given before in a trial may matter."""
        answers = np.zeros(len(trials), int)
        stage = stages(trials.trial) if trials.kind == "order" else np.zeros(len(trials), int)
        number = np.cumsum(stage == 0) - 1
        given = trials.beside["given"][stage == 0].copy() if trials.kind == "order" else None
        for current in range(int(stage.max(initial=-1)) + 1):
            rows = np.flatnonzero(stage == current)
            asked = trials.take(rows)
            if given is not None:
                asked.beside["given"][:] = given[number[rows]]  # of a copy
            at_rows = {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in values.items()}
            drawn = (
                random.random_sample((len(rows), 1)) > np.cumsum(self.probabilities(at_rows, asked), 1)[:, :-1]
            ).sum(1)
            answers[rows] = drawn
            if given is not None:
                given[number[rows][drawn > 0], drawn[drawn > 0] - 1] = True
        return answers
