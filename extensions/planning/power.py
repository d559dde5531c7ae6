"""Power of a study to find a difference between two conditions, by simulation: people and
trials against power, with the error of the simulation.

What is measured is the share of right answers (:class:`Assumed`), d' or reaction times
(:mod:`.planned_measures`). Each simulated study is tested as a page tests differences of
conditions: each person's value in both conditions and a t test of their differences (within
people), or Welch's t test of two groups (between people). The size of that test, its power where
nothing was planted, is simulated beside.

Of right answers: a person is right with a log odds that is the sum of the condition's, of what is
the person's own, of what the condition is to this person, of the item, and of the trial where
several items are asked in it. These are the random effects of the mixed-effects model
(:mod:`.mixed_model`); their standard deviations come from data of one's own, or are assumed. What
is planted is the difference of the shares of right answers, over people and items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spanlab.analysis import equivalence_test
from spanlab.analysis.data import Scored, plural
from spanlab.analysis.means import LEVEL, NEAR, are_rare, contrast, least_variances
from spanlab.analysis.stats import Mixed, plain_values
from spanlab.core import SpanLabError

from .planned_measures import PlannedSensitivity, PlannedTimes, chosen_conditions, design_in_words

#: Answers that are simulated at once.
_AT_ONCE = 4_000_000
#: Columns of a table of power.
COLUMNS = ("people", "trials", "power", "se", "size", "size_se", "alike", "alike_se", "n_simulated")
#: Nodes of Gauss and Hermite for the mean over people and items.
_NODES = 61


@dataclass(frozen=True)
class Assumed:
    """The assumptions about a planned study of right answers.

    Parameters
    ----------
    accuracy : share of right answers in the first condition, 0 to 1
    difference : of the second condition's share from it, such as -0.05
    people, effect, item, trial : standard deviations in log odds: of people, of the effect (the
        difference of both conditions) over people, of items, of trials (of several items)
    items : how many items are asked in a trial
    between : two groups of people, one in each condition, in the place of people who have both
    shared : everybody takes the same trials, which are then a sample, too
    """

    accuracy: float
    difference: float
    people: float
    effect: float
    item: float = 0.0
    trial: float = 0.0
    items: int = 1
    between: bool = False
    shared: bool = False

    def __post_init__(self) -> None:
        for share in (self.accuracy, self.accuracy + self.difference):
            if not 0 < share < 1:
                raise SpanLabError(
                    f"an accuracy of {share:.0%} leaves nothing to simulate: both conditions must lie between 0% and"
                    " 100%"
                )
        if min(self.people, self.effect, self.item, self.trial) < 0 or self.items < 1:
            raise SpanLabError("standard deviations cannot be below 0, and a trial has at least one item")

    @property
    def words(self) -> str:
        """Say what is simulated, in a sentence."""
        spread = f"people {self.people:.2f}, effect over people {self.effect:.2f}, items {self.item:.2f}"
        spread += f", trials {self.trial:.2f} ({self.items} items each)" if self.items > 1 else ""
        right = f"{self.accuracy:.1%} and {self.accuracy + self.difference:.1%} right"
        same = ", everybody the same trials" if self.shared else ""
        return f"{design_in_words(self.between)}{same}: {right}; standard deviations in log odds: {spread}."

    def answers(self, people: int, trials: int) -> int:
        """Return how many numbers a simulated study takes."""
        return 2 * people * trials * self.items

    def simulated(
        self, difference: float, people: int, trials: int, many: int, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Each person's share of right answers in both conditions, of so many studies."""
        first, second = _shares(self, self.means(difference), people, trials, many, random)
        return first, second

    def means(self, difference: float) -> list[float]:
        """Log odds in the middle of both conditions."""
        whole = math.sqrt(self.people**2 + self.effect**2 / 2 + self.item**2 + self.trial**2)
        return [_log_odds(self.accuracy, whole), _log_odds(self.accuracy + difference, whole)]


#: A study whose power is asked for.
Planned = Assumed | PlannedSensitivity | PlannedTimes


def from_model(
    model: Mixed, scored: Scored, conditions: Sequence[str], difference: float | None, between: bool
) -> Assumed:
    """Take the assumptions from people's data: their shares in two conditions, and the spread of
    the fitted model.

    Parameters
    ----------
    conditions : two of the model's; the first and the last when there are none
    difference : to be planted; the one that was seen when None

    Raises
    ------
    SpanLabError
        where the data are not those of several people in two conditions or more, or the model could
        not be fitted.
    """
    table = model.cells.table[model.cells.table["persons"] > 1]
    if model.fit is None:
        raise SpanLabError(model.problem or "no model could be fitted to these data")
    if not len(table):
        raise SpanLabError(
            "no answerer in these data is a group of people, so their spread is unknown; give --accuracy, --sd-people"
            " and --sd-effect instead"
        )
    agents = sorted(table["agent"].unique())
    shares = {
        str(row["condition"]): float(row["correct"]) for row in table[table["agent"] == agents[0]].to_dict("records")
    }
    names = chosen_conditions([*shares], conditions, agents[0])
    spread = dict(zip(model.cells.components, map(float, model.fit.sd), strict=True))
    effect = spread.get("participant x condition")
    part = scored.items[scored.items["participant"].astype(str) != ""]
    asked = part.groupby([plain_values(part[model.cells.by]).astype(str), "unit_trial"]).size()
    seen = shares[names[1]] - shares[names[0]]
    return Assumed(
        accuracy=shares[names[0]],
        difference=seen if difference is None else difference,
        people=spread.get("participant", 0.0),
        # the model's is that of each condition; it has none where people have one condition, or an
        # answer in each
        effect=math.nan if effect is None else math.sqrt(2) * effect,
        item=spread.get("item", 0.0),
        trial=spread.get("trial as taken", 0.0),
        items=max(1, round(float(asked.groupby(level=0).median()[[*names]].min()))),
        between=between,
        shared="trial_id" in part.columns
        and bool(part[part["trial_id"] != ""].groupby("trial_id")["participant"].nunique().gt(1).any()),
    )


def _log_odds(share: float, sd: float) -> float:
    """The log odds in the middle, where the mean over a normal spread is that share."""
    from scipy.special import expit

    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(weights @ expit(middle + sd * nodes)) < share else (low, middle)
    return (low + high) / 2


def power(
    assumed: Planned,
    people: Sequence[int],
    trials: Sequence[int],
    *,
    samples: int = 2000,
    seed: int = 1,
    margin: float | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """The power for every number of people and of trials in each condition.

    Parameters
    ----------
    people : in all, or in each of two groups
    trials : in each condition, of each person
    margin : within which a difference (of shares, d' or ms) counts as none: also how often both
        conditions are found alike (two one-sided tests)
    tell : told how many studies have been simulated, of how many

    Returns
    -------
    pandas.DataFrame
        :data:`COLUMNS`: ``size`` is the power where the difference is 0 (both conditions as the
        first); the errors are standard errors of the shares of so many simulated studies. Every
        number of people and trials has seeds of its own, which do not depend on which others are
        asked for.
    """
    if min(people) < 2 or min(trials) < 1:
        raise SpanLabError("a study needs at least two people (in each group), and one trial in each condition")
    if samples < 100:
        raise SpanLabError("fewer than 100 simulated studies say next to nothing; the default is 2,000")
    rows, done, planned = [], 0, 2 * samples * len(people) * len(trials)
    for many in people:
        for of in trials:
            studies = {}
            for number, difference in enumerate((assumed.difference, 0.0)):
                random = np.random.RandomState([seed, many, of, number])
                significant, alike = _studies(assumed, difference, many, of, samples, random, margin)
                studies[number] = significant, alike
                done += samples
                if tell is not None:
                    tell(done, planned)
            (hits, alike), (size, _) = studies[0], studies[1]
            shares = [hits, size, alike]
            errors = [math.sqrt(share * (1 - share) / samples) for share in shares]
            values = [one for pair in zip(shares, errors, strict=True) for one in pair]
            rows.append(
                {"people": many, "trials": of, **dict(zip(COLUMNS[2:8], values, strict=True)), "n_simulated": samples}
            )
    return pd.DataFrame(rows, columns=[*COLUMNS])


def _studies(
    assumed: Planned,
    difference: float,
    people: int,
    trials: int,
    samples: int,
    random: np.random.RandomState,
    margin: float | None,
) -> tuple[float, float]:
    """The share of studies in which a difference is found, and in which both conditions are found
    alike."""
    step = max(1, _AT_ONCE // assumed.answers(people, trials))
    rejections, alike = 0, 0
    for start in range(0, samples, step):
        many = min(step, samples - start)
        of_trials = None
        if isinstance(assumed, Assumed) and assumed.shared:
            each = _shares(assumed, assumed.means(difference), people, trials, many, random, each_trial=True)
            of_trials, both = _of_trials(each), (each[0].mean(axis=2), each[1].mean(axis=2))
        else:
            both = assumed.simulated(difference, people, trials, many, random)
        value, se, df = _between(*both) if assumed.between else _within(*both)
        answers = people * trials * assumed.items if isinstance(assumed, Assumed) else 0
        if answers and not assumed.between:  # groups are compared by Welch's test
            se = _of_shares(se, both, answers)
        if of_trials is not None and not assumed.between:
            se, df = _over_both(se, df, of_trials, 2.0 * trials - 2)
        rejections += int(_rejects(value, se, df).sum())
        if margin is not None:
            found = _within_margin(value, se, df, margin)
            alike += int((_near_the_ends(found, both, answers, margin, assumed.between) if answers else found).sum())
    return rejections / samples, alike / samples if margin is not None else math.nan


def _shares(
    assumed: Assumed,
    means: Sequence[float],
    people: int,
    trials: int,
    many: int,
    random: np.random.RandomState,
    each_trial: bool = False,
) -> list[np.ndarray]:
    """Each person's share of right answers in both conditions, of so many studies; in each trial."""
    from scipy.special import expit

    person_effects = random.normal(0, assumed.people, (many, people))
    values = []
    for mean in means:
        if assumed.between and values:
            person_effects = random.normal(0, assumed.people, (many, people))
        eta = mean + person_effects + random.normal(0, assumed.effect / math.sqrt(2), (many, people))
        shape = (many, people, trials, assumed.items)
        if assumed.item or assumed.trial or each_trial:
            takers = 1 if assumed.shared else people
            item = random.normal(0, assumed.item, (many, takers, trials, assumed.items))
            each = eta[:, :, None, None] + item + random.normal(0, assumed.trial, (*shape[:3], 1))
            right = (random.random_sample(shape) < expit(each)).mean(axis=3)
            values.append(right if each_trial else right.mean(axis=2))
        else:
            values.append(random.binomial(trials * assumed.items, expit(eta)) / (trials * assumed.items))
    return values


def _of_trials(each: Sequence[np.ndarray]) -> np.ndarray:
    """What the choice of trials that everybody took adds to the variance of a difference, as pages have
    it: between trials, without what answers of one person to one trial add to it.

    Parameters
    ----------
    each : of both conditions the shares of right answers by study, person and trial
    """
    people, trials = each[0].shape[1:]
    adds = [
        (right - right.mean(axis=2, keepdims=True)) / (people * trials) * math.sqrt(trials / max(1, trials - 1))
        for right in each
    ]
    variance = sum((one.sum(axis=1) ** 2).sum(axis=1) - (one**2).sum(axis=(1, 2)) for one in adds)
    return np.maximum(0.0, variance * people / max(1, people - 1))


def _over_both(
    se: np.ndarray, df: np.ndarray, of_trials: np.ndarray, trials_df: float
) -> tuple[np.ndarray, np.ndarray]:
    """The standard error over people and trials, with the degrees of freedom with which its 95% interval
    reaches as far as both together."""
    from scipy.special import stdtridf, stdtrit

    end, whole = (1 + LEVEL) / 2, np.sqrt(se**2 + of_trials)
    reach = np.hypot(stdtrit(df, end) * se, stdtrit(trials_df, end) * np.sqrt(of_trials))
    with np.errstate(invalid="ignore", divide="ignore"):
        both = stdtridf(end, reach / whole)
    return whole, np.where((of_trials > 0) & (se > 0), both, df)


def _within(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    away = second - first
    return (
        away.mean(axis=1),
        away.std(axis=1, ddof=1) / math.sqrt(away.shape[1]),
        np.full(len(away), away.shape[1] - 1.0),
    )


def _between(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    many = first.shape[1]
    parts = [one.var(axis=1, ddof=1) / many for one in (first, second)]
    variance = parts[0] + parts[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        df = variance**2 * (many - 1) / (parts[0] ** 2 + parts[1] ** 2)
    return second.mean(axis=1) - first.mean(axis=1), np.sqrt(variance), df


def _of_shares(se: np.ndarray, both: Sequence[np.ndarray], answers: int) -> np.ndarray:
    """Standard errors of differences of shares as pages have them: where there are few right or
    wrong answers, at least those of independent answers, so many in each condition."""
    shares = np.stack([condition.mean(axis=1) for condition in both])
    rare = are_rare(shares, np.asarray(float(answers))).any(axis=0)
    least = np.sqrt(sum(least_variances(share, np.asarray(float(answers))) for share in shares))
    return np.where(rare & _spread(se, 1.0), np.maximum(se, least), se)


def _near_the_ends(
    found: np.ndarray, both: Sequence[np.ndarray], answers: int, margin: float, between: bool
) -> np.ndarray:
    """Whether conditions are found alike; for studies with shares near 0% or 100% by the page's own
    interval, which holds Student's."""
    shares = np.stack([condition.mean(axis=1) for condition in both])
    many, found = both[0].shape[1], found.copy()
    ids = [np.arange(many), np.arange(many) + many * between]
    near = (np.minimum(shares, 1 - shares) < NEAR + 1e-9).any(axis=0)
    for study in np.flatnonzero(found & near):
        values = [condition[study] for condition in both]
        apart = contrast(values, ids, np.array([-1.0, 1.0]), answers=np.full(2, float(answers)))
        found[study] = equivalence_test(apart, margin).verdict == "within the margin"
    return found


def _spread(se: np.ndarray, scale: Any) -> np.ndarray:
    """Whether there is any spread but that of rounding."""
    return se > 1e-9 * np.maximum(1e-3, scale)


def _rejects(value: np.ndarray, se: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Two-tailed t tests at 5 %; studies without any spread find nothing."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        return _spread(se, np.abs(value)) & (2 * stdtr(df, -np.abs(value / se)) < 1 - LEVEL)


def _within_margin(value: np.ndarray, se: np.ndarray, df: np.ndarray, margin: float) -> np.ndarray:
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore"):
        return _spread(se, np.abs(value)) & (np.abs(value) + stdtrit(df, LEVEL) * se < margin)


def smallest(table: pd.DataFrame, wanted: float, counted: str = "trial") -> list[str]:
    """A sentence for each number of trials (or of what is ``counted``): the smallest number of people with that
    power."""
    from scipy.stats import binomtest

    sentences = []
    for trials, part in table.groupby("trials", sort=True):
        enough = part[part["power"] >= wanted].sort_values("people")
        named = plural(int(str(trials)), counted)
        if not len(enough):
            sentences.append(
                f"{named} in each condition: no number of people that was asked for has a power of {wanted:.0%}."
            )
            continue
        row = enough.iloc[0]
        found = binomtest(round(row["power"] * row["n_simulated"]), int(row["n_simulated"]))
        unsure = found.proportion_ci(LEVEL, "wilson").low < wanted
        sure = "; the simulation is not sure of it: more --samples would tell" if unsure else ""
        sentences.append(
            f"{named} in each condition: {int(row['people'])} people, with a power of {row['power']:.1%} ±"
            f" {row['se']:.1%} (one standard error){sure}."
        )
    return sentences
