"""Comparison of models: by held-out answers, and by what a design can tell, which is simulated from
the fits themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from spanlab.analysis.data import plural
from spanlab.core import grouped

from .likelihood import Fit, fit, folds, held_out, holds, limits, single_thread
from .models import Model
from .reading import Answerer

#: A design tells two models apart where each is recognised in so many of its own simulated
#: answerers.
RECOGNISED = 0.8
#: A difference counts when Student's t is this improbable (of three people, 1.96 standard errors
#: are reached in 19 of 100 cases where models predict equally well), and when it is larger than so
#: many log units in all: below, standard errors are not to be trusted (Sivula, Magnusson & Vehtari,
#: 2020, arXiv:2008.10296).
_ALPHA, _LEAST = 0.05, 4.0


@dataclass(frozen=True)
class Fitted:
    """A model fitted to an answerer.

    Parameters
    ----------
    answerer, fit : whose answers, and what was fitted
    ends : of each parameter both ends of its interval
    held : log likelihood of each answer when it was held out; NaN where it could not be
    """

    answerer: Answerer
    fit: Fit
    ends: dict[str, tuple[float, float]]
    held: np.ndarray


@dataclass(frozen=True)
class Refit:
    """A simulated answerer, fitted again.

    Parameters
    ----------
    model : name of the model that it was simulated from
    aicc : its AICc under each model
    parameters : of each parameter the planted and the fitted value on the scale of the search, both
        in its unit, and whether its interval holds the planted one (1 or 0; NaN where there is no
        interval)
    """

    model: str
    aicc: tuple[float, ...]
    parameters: Mapping[str, tuple[float, float, float, float, float]]


@dataclass(frozen=True)
class Recovered:
    """Recovery of a parameter: correlation of planted and fitted values on the scale of the
    search (NaN where all were alike), median difference and median size of differences in the
    parameter's unit, and the share of simulated answerers whose interval holds the planted value
    (NaN where there are none)."""

    model: str
    parameter: str
    correlation: float
    bias: float
    error: float
    coverage: float


@dataclass(frozen=True)
class Recovery:
    """Recovery of parameters and of models by the fitted design.

    Parameters
    ----------
    names : of the models
    parameters : how they come back
    aicc : of each simulated answerer (second axis) of each model (first) under each model (third)
    """

    names: tuple[str, ...]
    parameters: tuple[Recovered, ...]
    aicc: np.ndarray

    @classmethod
    def of(cls, names: Sequence[str], refits: Sequence[Refit]) -> Recovery:
        """The recovery that simulated answerers show: as many of each model."""
        own = {name: [one for one in refits if one.model == name] for name in names}
        parameters = tuple(row for name in names for row in _recovered(name, own[name]))
        return cls(tuple(names), parameters, np.array([[one.aicc for one in own[name]] for name in names]))

    def confusion(self) -> np.ndarray:
        """Shares of the simulated answerers of each model (rows) that are taken for each model
        (columns)."""
        best = self.aicc.argmin(2)
        return np.stack([(best == at).mean(1) for at in range(len(self.names))], axis=1)

    def recognised(self, model: int, other: int) -> float:
        """The share of a model's simulated answerers that it fits better than the other model does."""
        return float((self.aicc[model, :, model] < self.aicc[model, :, other]).mean())


def fit_all(models: Sequence[Model], answerer: Answerer, seed: int) -> list[Fitted]:
    """Fit models to an answerer, with intervals and held-out answers; all models hold out the same
    ones."""
    part = folds(answerer.trials, np.random.RandomState(seed))
    fitted = []
    for model in models:
        best = fit(model, answerer.trials)
        fitted.append(Fitted(answerer, best, limits(best, answerer.trials), held_out(best, answerer.trials, part)))
    return fitted


def fit_job(shared: tuple[Sequence[Model], int], answerer: Answerer) -> list[Fitted]:
    """:func:`fit_all`, as work that can be shared out: models and seed, and an answerer."""
    with single_thread():
        return fit_all(shared[0], answerer, shared[1])


def alone(work: Callable[[Any, Any], Any], shared: Callable[[], Any], jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Do jobs one after the other: what a pool of workers does together."""
    ready = shared()
    yield from ((number, work(ready, job)) for number, job in enumerate(jobs))


def recover(
    fitted: Sequence[Sequence[Fitted]],
    simulated: int,
    seed: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
    coverage: bool = False,
    each: Callable[..., Iterator[tuple[int, Any]]] = alone,
) -> Recovery:
    """Simulate the fitted design from the fitted parameters, and fit all models again.

    Parameters
    ----------
    fitted : for each answerer the fits of the same models
    simulated : how many answerers are simulated from each model; the fitted ones are taken in turn
    coverage : whether simulated answerers get intervals, too
    each : does the jobs, as a pool of workers does
    """
    models = [one.fit.model for one in fitted[0]]
    turns = list(enumerate(_turns(len(fitted), simulated)))
    jobs = [(fitted[turn][at], (seed, at, number)) for at in range(len(models)) for number, turn in turns]
    refits: dict[int, Refit] = {}
    for number, again in each(_refit_job, partial(tuple, (models, coverage)), jobs):
        refits[number] = again
        tell(len(refits), len(jobs))
    return Recovery.of([model.name for model in models], [refits[number] for number in range(len(jobs))])


def _refit_job(shared: tuple[Sequence[Model], bool], job: tuple[Fitted, tuple[int, int, int]]) -> Refit:
    with single_thread():
        return refit(shared[0], job[0], np.random.RandomState(job[1]), shared[1])


def refit(models: Sequence[Model], source: Fitted, random: np.random.RandomState, coverage: bool) -> Refit:
    """Simulate the answers of a fitted model to the same questions, and fit all models to them.

    Parameters
    ----------
    models : those that are fitted, the simulated one among them
    source : what is simulated
    coverage : whether parameters get intervals, too
    """
    answers = source.fit.simulate(source.answerer.trials, random)
    fits = [fit(model, answers) for model in models]
    again = next(one for one in fits if one.model.name == source.fit.model.name)
    held = holds(again, answers, source.fit.values) if coverage else {}
    parameters = {}
    for place, name in enumerate(source.fit.space.names):
        if name in again.space.names:
            there = float(again.at[again.space.names.index(name)])
            inside = float(held[name]) if held else math.nan
            parameters[name] = (float(source.fit.at[place]), there, source.fit.values[name], again.values[name], inside)
    return Refit(source.fit.model.name, tuple(one.aicc for one in fits), parameters)


def _turns(answerers: int, simulated: int) -> list[int]:
    """Choose the answerer that each simulated one is made from: all in turn, or evenly chosen ones."""
    return [
        number % answerers if simulated >= answerers else number * answerers // simulated for number in range(simulated)
    ]


def _recovered(model: str, refits: Sequence[Refit]) -> list[Recovered]:
    rows = grouped((name, values) for one in refits for name, values in one.parameters.items())
    recovered = []
    for name, values in rows.items():
        table = np.array(values)
        varies = len(table) > 2 and min(table[:, 0].std(), table[:, 1].std()) > 1e-6 and len(np.unique(table[:, 0])) > 2
        off = table[:, 3] - table[:, 2]
        correlation = float(np.corrcoef(table[:, 0], table[:, 1])[0, 1]) if varies else math.nan
        recovered.append(
            Recovered(
                model,
                name,
                correlation,
                round(float(np.median(off)), 9) + 0.0,  # and no -0
                float(np.median(np.abs(off))),
                float(table[:, 4].mean()),
            )
        )
    return recovered


def tells(recovery: Recovery) -> list[str]:
    """For each two models, whether the design tells them apart."""
    sentences = []
    for one, other in itertools.combinations(range(len(recovery.names)), 2):
        first, second = recovery.recognised(one, other), recovery.recognised(other, one)
        names = recovery.names[one], recovery.names[other]
        shares = (
            f"of {plural(recovery.aicc.shape[1], 'simulated answerer')} of each, {first:.0%} and {second:.0%} were"
            " recognised by their AICc"
        )
        verb = "tells" if min(first, second) >= RECOGNISED else "cannot tell"
        sentences.append(f"This design {verb} {names[0]} from {names[1]}: {shares}.")
    return sentences


def predicts(fitted: Sequence[Sequence[Fitted]], who: str) -> list[str]:
    """For each two models, which one predicts held-out answers better: over people, or for one
    answerer over its trials.

    Parameters
    ----------
    fitted : for each of some answerers the fits of the same models
    who : what the answerers are called
    """
    sentences = []
    names = [one.fit.model.name for one in fitted[0]]
    for one, other in itertools.combinations(range(len(names)), 2):
        if len(fitted) > 1:
            each = np.array([np.nansum(fits[one].held - fits[other].held) for fits in fitted])
            mean, error, unit = float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each))), "each on average"
        else:
            both = fitted[0][one].held - fitted[0][other].held
            known = np.isfinite(both)
            _, trial = np.unique(fitted[0][one].answerer.trials.trial[known], return_inverse=True)
            each = np.bincount(trial.ravel(), weights=both[known])
            mean, error, unit = (
                float(each.sum()),
                float(each.std(ddof=1) * math.sqrt(len(each))) if len(each) > 1 else math.inf,
                "in all",
            )
        size = f"{abs(mean):.1f} ± {error:.1f} log units {unit}, {'people' if len(fitted) > 1 else 'trials'} as units"
        better, worse = (names[one], names[other]) if mean > 0 else (names[other], names[one])
        if abs(mean) > stdtrit(max(len(each) - 1, 1), 1 - _ALPHA / 2) * error and abs(mean) * len(fitted) > _LEAST:
            sentences.append(f"{who}: {better} predicts new answers better than {worse} ({size}).")
        else:
            sentences.append(f"{who}: the answers do not decide between {names[one]} and {names[other]} ({size}).")
    return sentences
