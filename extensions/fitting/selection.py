"""Bayesian model selection over people: how often each model is the right one, when people may
differ in it (Stephan et al., 2009; Rigoux et al., 2014)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln, logsumexp, softmax

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
    drawn = np.random.RandomState(seed).dirichlet(counts, _DRAWS)
    exceedance = np.bincount(drawn.argmax(1), minlength=models) / _DRAWS
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
