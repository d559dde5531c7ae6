"""Which of the items is given: at a position of a list, or for a place that was updated."""

from __future__ import annotations

import numpy as np

from ..trials import Trials, Values
from .model import Discrete, Parameter

_GUESS = Parameter("guess", "share of answers that are any of the options", "", 0.001, 0.999, 0.1, 0.8, "logit")
#: Of M3: activation of items, and of bindings.
ACTIVATIONS = (
    Parameter("a", "activation of items of the list", "", 0.001, 100.0, 1.0, 0.8, "log"),
    Parameter("c", "activation of the binding to the position", "", 0.001, 500.0, 10.0, 0.8, "log"),
)


class _Order(Discrete):
    """Weights of the items of a list, and guesses among all options: the first column is for items
    that were not in the list.

    Where nothing may be given twice, neither items nor other options are there any more once they
    were given.
    """

    kinds = ("order",)

    def chances(self, trials: Trials, weights: np.ndarray, guess: float | np.ndarray) -> np.ndarray:
        """Luce's choice among the weights of the items (rows of answers, columns of positions),
        mixed with guesses."""
        there, unlisted = self.there(trials), self.unlisted(trials)
        weights = np.where(there, weights, 0.0)
        share = weights / weights.sum(1, keepdims=True)
        guessed = np.asarray(guess) / (there.sum(1) + unlisted)
        return np.column_stack(
            [guessed * unlisted, (1 - np.atleast_1d(guess))[:, None] * share + there * guessed[:, None]]
        )

    def there(self, trials: Trials) -> np.ndarray:
        """Mark whether there is an item of a position that can be given."""
        return (self.places(trials) <= trials.load[:, None]) & ~(
            (trials.beside["once"] == 1)[:, None] & trials.beside["given"]
        )

    def unlisted(self, trials: Trials) -> np.ndarray:
        """Count the options that can be given and were not in the list."""
        gone = trials.beside["once"] * (trials.beside["stage"] - trials.beside["given"].sum(1))
        return np.maximum(trials.beside["options"] - trials.load - gone, 0)

    def places(self, trials: Trials) -> np.ndarray:
        """The positions of a list, from 1, as a row."""
        return np.arange(1, trials.beside["given"].shape[1] + 1)[None, :]


class Simple(_Order):
    """Items are as alike as the times since they came are in their ratio; what is like is confused."""

    name = "simple"
    title = "SIMPLE: temporal distinctiveness"
    source = "Brown, Neath & Chater (2007), Psychological Review 114, 539-576"
    ours = (
        "Times in presentation intervals; answering takes time, too; guesses in place of the threshold for omissions."
    )

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Distinctiveness, time of an answer, guesses."""
        return (
            Parameter("c", "distinctiveness", "1/log units of time", 0.1, 60.0, 8.0, 0.5, "log"),
            Parameter("output", "time that an answer takes", "presentation intervals", 0.02, 5.0, 0.8, 0.6, "log"),
            _GUESS,
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Similarity falls exponentially with the distance of log times."""
        stage = trials.beside["stage"][:, None] * np.atleast_1d(values["output"])[:, None]
        ages = np.maximum(trials.load[:, None] - self.places(trials) + 1, 1) + stage
        asked = trials.load - trials.beside["position"] + 1 + stage[:, 0]
        distance = np.abs(np.log(ages) - np.log(asked)[:, None])
        return self.chances(trials, np.exp(-np.atleast_1d(values["c"])[:, None] * distance), values["guess"])


class Primacy(_Order):
    """Items are less active the later they came; the most active one is given, and suppressed."""

    name = "primacy"
    title = "primacy gradient and response suppression"
    source = "Page & Norris (1998), Psychological Review 105, 761-781"
    ours = "Noise is such that the choice is Luce's, so that the likelihood is closed; suppression may be incomplete."

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Gradient, guesses, and suppression where an item can be given twice."""
        gradient = Parameter(
            "gradient", "how activation falls from item to item", "log units", 0.02, 8.0, 1.5, 0.5, "log"
        )
        suppressed = Parameter(
            "suppressed",
            "by how much activation falls once an item has been recalled",
            "share",
            0.001,
            0.999,
            0.95,
            1.0,
            "logit",
        )
        return (gradient, _GUESS) if trials.beside["once"].all() else (gradient, suppressed, _GUESS)

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Luce's choice among exponentially falling activations."""
        active = np.exp(-np.atleast_1d(values["gradient"])[:, None] * (self.places(trials) - 1.0))
        left = 1 - np.atleast_1d(values.get("suppressed", 1.0))[:, None] * trials.beside["given"]
        return self.chances(trials, active * left, values["guess"])

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        forward = np.array_equal(trials.beside["position"], trials.beside["stage"] + 1)
        return (
            ""
            if forward
            else "it recalls lists from the first item to the last, but here they are asked for in another order"
        )


class MemoryMeasurement(_Order):
    """M3: activation of items, and of their binding to positions, against a background."""

    name = "m3"
    title = "M3: memory measurement model"
    source = "Oberauer & Lewandowsky (2019), Psychological Review 126, 880-932"
    ours = (
        "Simple span version: items in place, items of other positions, options that were not in the list. Background"
        " 0.1, as there."
    )
    background = 0.1

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Activation of items, and of bindings."""
        return ACTIVATIONS

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Luce's choice among all options."""
        item = np.atleast_1d(values["a"])[:, None] + self.background
        place = self.places(trials) == trials.beside["position"][:, None]
        listed = np.where(self.there(trials), item + np.atleast_1d(values["c"])[:, None] * place, 0.0)
        every = np.column_stack([self.background * self.unlisted(trials), listed])
        return every / every.sum(1, keepdims=True)

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        more = (trials.beside["options"] > trials.load).any()
        return "" if more else "all options were in the list, so that items cannot be told from their binding"


#: Of each role of :data:`..markers.ROLES`, how much activation of items it has, and of the binding
#: to the place that is asked for: none, all of it, or what outdated contents keep.
_NONE, _ALL, _KEPT = 0, 1, 2
_ITEM = np.array([_NONE, _ALL, _ALL, _KEPT, _KEPT, _ALL])
_BINDING = np.array([_NONE, _ALL, _NONE, _KEPT, _NONE, _KEPT])


class UpdatedMeasurement(Discrete):
    """M3 for updating: outdated contents keep a share of their activation, and of their binding to
    the place where they were."""

    name = "m3"
    title = "M3: memory measurement model, for updating"
    kinds = ("updating",)
    source = MemoryMeasurement.source
    ours = (
        "Updating version: current and outdated contents, of the place asked for and of others, and what was never"
        " there. How much is removed and how long removal has are one share; there is no extended encoding, because"
        " times do not vary. What is current elsewhere and outdated here is activated as current and bound as outdated."
        " All loads have the same activations. Background 0.1, as there."
    )

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Activation of items and of bindings, and what outdated ones keep of both."""
        return (
            *ACTIVATIONS,
            Parameter(
                "outdated",
                "share of their activation that outdated contents keep",
                "share",
                0.001,
                0.999,
                0.3,
                1.0,
                "logit",
            ),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Luce's choice among all cells, summed over those of the same role."""
        shares = np.array([0.0, 1.0, float(values["outdated"])])
        active = (
            MemoryMeasurement.background + float(values["a"]) * shares[_ITEM] + float(values["c"]) * shares[_BINDING]
        )
        weights = trials.beside["cells"] * active
        return weights / weights.sum(1, keepdims=True)
