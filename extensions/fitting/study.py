"""Models fitted to everybody in a paradigm, with recovery, as tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import digamma, expit, gammaln, logsumexp, softmax

from spanlab.analysis.data import plural
from spanlab.core import SpanLabError, open_pool

from .comparing import Fitted, Recovery, fit_job, predicts, recover, tells
from .models import MODELS, Model, models_named
from .reading import Answerer

#: Draws of frequencies by which exceedance is counted, and steps of the iteration at most.
_DRAWS, _STEPS = 200_000, 500


@dataclass(frozen=True)
class Selection:
    """Frequencies of models among people.

    Parameters
    ----------
    frequency : of each model its expected share of people
    exceedance : probability that a model is more frequent than every other one, if frequencies
        differ at all
    protected : the same, with the possibility that all models are equally frequent
    equal : probability of that possibility (Bayesian omnibus risk)
    """

    frequency: np.ndarray
    exceedance: np.ndarray
    protected: np.ndarray
    equal: float


def select(evidence: np.ndarray, seed: int = 1) -> Selection:
    """Return the frequencies of models, from the log evidence of each person (rows) for each model
    (columns).

    The posterior of frequencies is Dirichlet, by variational Bayes from a flat prior. Stephan,
    Penny, Daunizeau, Moran & Friston (2009), NeuroImage 46, 1004-1017; protected exceedance:
    Rigoux, Stephan, Friston & Daunizeau (2014), NeuroImage 84, 971-985.

    Examples
    --------
    >>> found = select(np.array([[0.0, -6.0]] * 9 + [[-6.0, 0.0]]))
    >>> found.frequency.round(2), round(float(found.protected[0]), 2)
    (array([0.83, 0.17]), 0.95)
    """
    models = evidence.shape[1]
    prior = np.ones(models)
    shares = np.full(evidence.shape, 1 / models)
    for _ in range(_STEPS):
        counts = prior + shares.sum(0)
        before, shares = shares, softmax(evidence + digamma(counts) - digamma(counts.sum()), axis=1)
        if np.abs(shares - before).max() < 1e-9:
            break
    counts = prior + shares.sum(0)
    exceedance = np.bincount(np.random.RandomState(seed).dirichlet(counts, _DRAWS).argmax(1), minlength=models) / _DRAWS
    alike = float(np.sum(logsumexp(evidence, axis=1, b=1 / models)))
    equal = float(expit(alike - _free_energy(evidence, shares, counts, prior)))
    return Selection(counts / counts.sum(), exceedance, (1 - equal) * exceedance + equal / models, equal)


def _free_energy(evidence: np.ndarray, shares: np.ndarray, counts: np.ndarray, prior: np.ndarray) -> float:
    """The bound on the log evidence of frequencies that differ."""
    logs = digamma(counts) - digamma(counts.sum())
    expected = (
        gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * logs).sum() + (shares * (logs + evidence)).sum()
    )
    entropy = gammaln(counts).sum() - gammaln(counts.sum()) - ((counts - 1) * logs).sum()
    return float(expected + entropy - (shares * np.log(np.maximum(shares, 1e-300))).sum())


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


@dataclass(frozen=True)
class Study:
    """Models fitted to everybody in a paradigm.

    Parameters
    ----------
    paradigm : its name
    fitted : for each answerer the fits of the same models
    recovery : what the design can tell
    notes : models that could not be fitted to such answers, in sentences
    """

    paradigm: str
    fitted: tuple[tuple[Fitted, ...], ...]
    recovery: Recovery
    notes: tuple[str, ...]

    @property
    def groups(self) -> dict[str, tuple[tuple[Fitted, ...], ...]]:
        """All people together, and each machine."""
        people = tuple(fits for fits in self.fitted if fits[0].answerer.person)
        machines = {fits[0].answerer.name: (fits,) for fits in self.fitted if not fits[0].answerer.person}
        return ({plural(len(people), "person", "people"): people} if people else {}) | machines

    @property
    def described(self) -> str:
        """Say who answered how much."""
        counts = [len(fits[0].answerer.trials) for fits in self.fitted]
        each = f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"
        said = f"{', '.join(f'{group}' for group in self.groups)}; {each} answers each"
        return " ".join([f"{said}.", *self.notes])

    def rows(self) -> list[dict[str, object]]:
        """A row for each parameter of each fit."""
        return [
            {
                **{
                    "paradigm": self.paradigm,
                    "answerer": one.answerer.name,
                    "person": one.answerer.person,
                    "model": one.fit.model.name,
                },
                **{
                    "parameter": name,
                    "unit": parameter.unit,
                    "value": value,
                    "low": one.ends[name][0],
                    "high": one.ends[name][1],
                },
                **{
                    "answers": one.fit.answers,
                    "log_likelihood": one.fit.log_likelihood,
                    "aicc": one.fit.aicc,
                    "bic": one.fit.bic,
                },
                **{"held_out": float(np.nansum(one.held)), "agent": one.fit.agent()},
            }
            for fits in self.fitted
            for one in fits
            for (name, value), (parameter, _) in zip(one.fit.values.items(), one.fit.space.places, strict=True)
        ]

    def parameter_table(self, most: int) -> Table:
        """Parameters with intervals of 95%; of groups of more than ``most`` the median and the
        middle half."""
        rows: list[tuple[str, ...]] = []
        for group, members in self.groups.items():
            listed = members if len(members) <= most else ()
            rows += [
                (
                    one.answerer.name,
                    one.fit.model.name,
                    ", ".join(_with_interval(one, name) for name in one.fit.values),
                )
                for fits in listed
                for one in fits
            ]
            if not listed:
                for same in zip(*members, strict=True):
                    names = dict.fromkeys(name for one in same for name in one.fit.values)
                    quarters = {
                        name: np.quantile(
                            [one.fit.values[name] for one in same if name in one.fit.values], (0.5, 0.25, 0.75)
                        )
                        for name in names
                    }
                    said = ", ".join(
                        f"{name} {middle:.3g} (middle half {low:.3g} to {high:.3g})"
                        for name, (middle, low, high) in quarters.items()
                    )
                    rows.append((group, same[0].fit.model.name, said))
        return ("answerer", "model", "parameters (95% intervals)"), rows

    def criteria_table(self, most: int) -> Table:
        """Criteria and held-out answers of each fit; of groups of more than ``most`` their sums."""
        rows = []
        for group, members in self.groups.items():
            named = (
                [(fits[0].answerer.name, (fits,)) for fits in members] if len(members) <= most else [(group, members)]
            )
            for name, some in named:
                for same in zip(*some, strict=True):
                    sums = [
                        sum(one.fit.log_likelihood for one in same),
                        sum(one.fit.aicc for one in same),
                        sum(one.fit.bic for one in same),
                    ]
                    held = sum(float(np.nansum(one.held)) for one in same)
                    rows.append((name, same[0].fit.model.name, *(f"{number:.1f}" for number in (*sums, held))))
        return ("answerer", "model", "log likelihood", "AICc", "BIC", "held out"), rows

    def selection_table(self) -> Table:
        """Table of how frequent each model is among people, by Bayesian model selection on the BIC;
        empty of one person or one model."""
        people = [fits for fits in self.fitted if fits[0].answerer.person]
        if len(people) < 2 or len(people[0]) < 2:
            return (), []
        found = select(np.array([[-one.fit.bic / 2 for one in fits] for fits in people]))
        columns = zip(self.recovery.names, found.frequency, found.exceedance, found.protected, strict=True)
        rows = [
            (name, f"{share:.0%}", f"{most:.3f}", f"{protected:.3f}", f"{found.equal:.3f}")
            for name, share, most, protected in columns
        ]
        return ("model", "expected share of people", "exceedance", "protected exceedance", "all equally frequent"), rows

    def recovery_table(self) -> Table:
        """Table of how parameters come back."""
        rows = [
            (
                one.model,
                one.parameter,
                "" if np.isnan(one.correlation) else f"{one.correlation:.2f}",
                f"{one.bias:+.2g}",
                f"{one.error:.2g}",
            )
            for one in self.recovery.parameters
        ]
        return ("model", "parameter", "r of planted and fitted", "median difference", "median error"), rows

    def confusion_table(self) -> Table:
        """Table of which model is taken for which, by the AICc."""
        names = self.recovery.names
        rows = [
            (f"simulated from {name}", *(f"{share:.0%}" for share in line))
            for name, line in zip(names, self.recovery.confusion(), strict=True)
        ]
        return ("taken for (smallest AICc)", *names), rows

    def predictions(self) -> list[str]:
        """Say which model predicts held-out answers better, for people and each machine."""
        if len(self.recovery.names) < 2:
            return ["One model alone: nothing to compare it with."]
        return [sentence for group, members in self.groups.items() for sentence in predicts(members, group)]

    def tells(self) -> list[str]:
        """Say whether the design tells the models apart."""
        return tells(self.recovery)

    def agents(self) -> list[str]:
        """The agents of the first answerer's fits."""
        return [one.fit.agent() for one in self.fitted[0]]


def study(
    everybody: Sequence[Answerer],
    names: Sequence[str],
    simulated: int,
    seed: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
    workers: int | None = None,
) -> Study:
    """Fit models to everybody in a paradigm, and simulate what the design can tell.

    Parameters
    ----------
    simulated : answerers that are simulated from each model
    seed : of the simulation, and of what is held out
    tell : gets how much is done, and how much there is
    workers : processes that share the work; this one does it alone when not given

    Raises
    ------
    SpanLabError
        when no model was named, or none is of such answers.
    """
    kind = everybody[0].trials.kind
    fitting = [model for name in dict.fromkeys(names) for model in models_named(name, kind)]
    refusals = {model: next(filter(None, (model.refusal(one.trials) for one in everybody)), "") for model in fitting}
    models = [model for model in fitting if not refusals[model]]
    notes = [f"{model.name} is left out: {refusal}." for model, refusal in refusals.items() if refusal]
    if not models:
        paradigm = everybody[0].paradigm
        wrong = f"{'no model for' if names else 'name a model of'} the answers of {paradigm} ({kind})"
        raise SpanLabError(f"{wrong}: --model takes {_fitting(everybody)}. {' '.join(notes)}".strip())
    total = len(everybody) + simulated * len(models)
    fitted: dict[int, tuple[Fitted, ...]] = {}
    with open_pool(workers) as pool:
        for number, fits in pool.each(fit_job, partial(tuple, (models, seed)), everybody):
            fitted[number] = tuple(fits)
            tell(len(fitted), total)
        in_order = [fitted[number] for number in range(len(everybody))]
        recovery = recover(
            in_order, simulated, seed, lambda done, _: tell(len(everybody) + done, total), each=pool.each
        )
    return Study(everybody[0].paradigm, tuple(in_order), recovery, tuple(notes))


def _with_interval(one: Fitted, name: str) -> str:
    """A parameter in words, with its interval."""
    low, high = one.ends[name]
    bound = ", at its bound" if name in one.fit.at_bounds else ""
    return f"{name} {one.fit.values[name]:.3g} ({low:.3g} to {high:.3g}{bound})"


def _fitting(everybody: Sequence[Answerer]) -> str:
    """The names of the models that fit such answers."""
    fitting: list[Model] = [model for model in MODELS if everybody[0].trials.kind in model.kinds]
    return ", ".join(model.name for model in fitting if not any(model.refusal(one.trials) for one in everybody))
