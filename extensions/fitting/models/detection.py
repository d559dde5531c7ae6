"""Signal detection and thresholds: yes-no questions, with or without ratings of confidence."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ..trials import Trials, Values
from .model import Discrete, Parameter

_D = Parameter("d", "distance of signals from other questions", "SD of noise", -1.0, 6.0, 1.5, 1.0, each=True)
_CRITERION = Parameter(
    "criterion", "how far the criterion lies above the midpoint between the two", "SD of noise", -3.0, 3.0, 0.0, 0.5
)


class SignalDetection(Discrete):
    """Equal variances; every load has its own sensitivity and its own criterion."""

    name = "sdt"
    title = "signal detection, equal variances"
    kinds = ("detection", "change")
    source = (
        "Green & Swets (1966), Signal Detection Theory and Psychophysics; Macmillan & Creelman (2005), Detection"
        " Theory, chapter 2"
    )
    ours = "With ratings, all loads share one criterion and the distances between criteria."
    criterion_each = True

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Sensitivity, criterion, and with ratings the distances of the further criteria."""
        own = self.criterion_each and trials.levels == 2
        criterion = Parameter(**{**vars(_CRITERION), "each": own})
        gaps = range(1, trials.levels - 1)
        return (
            _D,
            criterion,
            *(
                Parameter(
                    f"gap_{at}", f"distance of criteria {at} and {at + 1}", "SD of noise", 0.01, 4.0, 0.5, 0.5, "log"
                )
                for at in gaps
            ),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Normal evidence between criteria. The criterion that stands for all is the middle one."""
        gaps = np.cumsum([0.0, *(float(values[f"gap_{at}"]) for at in range(1, trials.levels - 1))])
        criteria = np.add.outer(
            np.asarray(values["criterion"]) * np.ones(len(trials)), gaps - gaps[(len(gaps) - 1) // 2]
        )
        signal = trials.beside["signal"] == 1
        middle = np.where(signal, 0.5, -0.5) * values["d"]
        sd = np.where(signal, values.get("sd", 1.0), 1.0)
        below = ndtr((criteria - middle[:, None]) / sd[:, None])
        ones = np.ones((len(trials), 1))
        return np.diff(np.hstack([0 * ones, below, ones]), axis=1)


class SharedCriterion(SignalDetection):
    """Equal variances; all loads share one criterion."""

    name = "sdt-shared"
    title = "signal detection, equal variances, one criterion"
    criterion_each = False


class UnequalVariance(SignalDetection):
    """Unequal variances, for ratings: yes and no alone do not tell the variance from the
    sensitivity."""

    name = "sdt-unequal"
    title = "signal detection, unequal variances"
    source = (
        "Macmillan & Creelman (2005), Detection Theory, chapter 3; Dorfman & Alf (1969), Journal of Mathematical"
        " Psychology 6, 487-496"
    )

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Those of equal variances, and the standard deviation of signals."""
        return (
            *super().parameters(trials),
            Parameter("sd", "standard deviation of signals", "SD of noise", 0.1, 10.0, 1.25, 0.3, "log"),
        )

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        return (
            ""
            if trials.levels > 3
            else "its variance cannot be told from yes and no alone: it needs ratings of confidence"
        )


class Threshold(Discrete):
    """Two high thresholds: a question is known for certain, or guessed; all loads share one
    guessing rate."""

    name = "threshold"
    title = "two high thresholds"
    kinds = ("detection", "change")
    source = "Snodgrass & Corwin (1988), Journal of Experimental Psychology: General 117, 34-50"

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Knowing and guessing."""
        return (
            Parameter(
                "known", "share of questions whose answer is known", "", 0.001, 0.999, 0.6, 1.0, "logit", each=True
            ),
            Parameter("guess", "share of yes among guesses", "", 0.001, 0.999, 0.4, 0.8, "logit"),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """No and yes."""
        known = np.asarray(values["known"])
        yes = (1 - known) * values["guess"] + known * (trials.beside["signal"] == 1)
        return np.column_stack([1 - yes, yes])

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        return "" if trials.levels == 2 else "it says nothing about ratings"
