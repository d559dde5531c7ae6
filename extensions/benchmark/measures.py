"""The numbers of a card: weighted sums of the means of conditions, with intervals, for an agent,
for people and for published models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.data import decoded
from spanlab.analysis.means import Apart, Contrast, contrast, contrast_of, place_of, unit_means
from spanlab.analysis.nback import PUBLISHED, nback_blocks, published_blocks, testable_blocks
from spanlab.analysis.stats import testable
from spanlab.core import SpanLabError, grouped
from spanlab.human_data import published

from .suite import NBACK, Effect

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from spanlab.analysis.data import Scored

#: A condition: its value of each column of a paradigm.
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Answerer:
    """The answers of an agent, of people, or of a published model in one paradigm.

    Parameters
    ----------
    name : as cards say it
    by : columns that span the conditions
    weighted : returns a weighted sum over conditions; a number without a spread of published means
    means : of each condition, the mean
    raw : whether there are answers and not only means
    counts : of each condition, ``n_trials``, ``n_items`` and ``n_invalid``
    n : independent units, such as 24 people
    unit : what they are
    guessed : of each condition in which replies could not be read, the mean if each of these were a
        guess; empty where nobody knows
    chance : of each condition, the mean of somebody who guesses; empty where nobody knows
    """

    name: str
    by: tuple[str, ...]
    weighted: Callable[[Sequence[Place], np.ndarray], Contrast | float]
    means: Mapping[Place, float]
    raw: bool = True
    counts: Mapping[Place, Mapping[str, int]] = field(default_factory=dict)
    n: int = 0
    unit: str = ""
    guessed: Mapping[Place, float] = field(default_factory=dict)
    chance: Mapping[Place, float] = field(default_factory=dict)


def columns_of(paradigm: str) -> tuple[str, ...]:
    """The columns that span the conditions of a paradigm: those in which its published people vary,
    or N."""
    if paradigm in NBACK:
        return ("n",)
    table = published(paradigm)
    return tuple(
        name
        for name in table.columns
        if name not in ("study", "paradigm", "accuracy", "measure", "source")
        and table[name].nunique() > 1
        and not (name == "set_size" and paradigm == "vsr")
    )


def weights(effect: Effect, by: Sequence[str], places: Sequence[Place]) -> np.ndarray:
    """The weight of each condition in an effect; within a level of ``along``, conditions share the
    weight of the level."""
    if effect.measure == "mean":
        return np.full(len(places), 1 / len(places))
    along = by.index(effect.along)
    panels = [
        by.index(name)
        for name in (effect.panels if effect.panels is not None else [name for name in by if name != effect.along])
    ]
    groups = grouped((tuple(place[at] for at in panels), number) for number, place in enumerate(places))
    result = np.zeros(len(places))
    for members in groups.values():
        levels = sorted({places[number][along] for number in members})
        of_level = dict(zip(levels, level_weights(effect.measure, np.array(levels, float)), strict=True))
        share = {level: sum(places[number][along] == level for number in members) for level in levels}
        for number in members:
            level = places[number][along]
            result[number] = of_level[level] / share[level] / len(groups)
    return result


def level_weights(measure: str, levels: np.ndarray) -> np.ndarray:
    """Weights of levels in a slope (least squares), or in the first or last level minus the mean of
    those between."""
    if measure == "slope":
        away = levels - levels.mean()
        return away / float(away @ away) if len(levels) > 1 else np.full(len(levels), math.nan)
    if len(levels) < 3:
        return np.full(len(levels), math.nan)
    middle = np.full(len(levels), -1.0 / (len(levels) - 2))
    middle[[0, -1]] = 0.0
    middle[0 if measure == "first" else -1] = 1.0
    return middle


def of_answers(
    scored: Scored, paradigm: str, name: str, kinds: frozenset[str] | None = None, *, tested: bool = False
) -> Answerer | None:
    """The answers to a paradigm in a response table; None where nobody took it.

    Parameters
    ----------
    kinds : kinds of agents that count; all when not given
    tested : whether sessions and conditions are left out of which too many replies could not be
        read

    Raises
    ------
    SpanLabError
        when several answerers took it.
    """
    part = scored.parts.get(paradigm)
    if part is None:
        return None
    if paradigm in NBACK:
        blocks = nback_blocks(part, PUBLISHED)
        return _of_blocks(
            testable_blocks(blocks, ("n",)) if tested and not scored.accept_unread else blocks, name, kinds
        )
    by = columns_of(paradigm)
    missing = [column for column in by if column not in part.items.columns]
    if missing:
        raise SpanLabError(
            f"the answers to {paradigm} have no column '{missing[0]}', by which published people are told apart"
        )
    part = replace(part, items=with_levels(part.items, by))
    part = testable(part, by) if tested else part
    cells = unit_means(part, by)
    points = {who: places for who, places in cells.points(by).items() if kinds is None or who[1] in kinds}
    places = _only(points, paradigm)
    if places is None:
        return None

    def weighted(chosen: Sequence[Place], weight: np.ndarray) -> Contrast:
        return contrast_of(cells, [places[place] for place in chosen], weight, shares=True)

    first = next(iter(places.values()))
    counts = {
        place: {key: int(cells.counts[key][at]) for key in ("n_trials", "n_items", "n_invalid")}
        for place, at in places.items()
    }
    means = {place: cells.mean(at) for place, at in places.items()}
    units = weighted([*places], np.full(len(places), 1 / len(places))).n
    chance = {place: float(cells.chance[at]) for place, at in places.items()}
    guessed = _guessed(means, counts, chance)
    return Answerer(name, by, weighted, means, True, counts, units, cells.unit[first], guessed, chance)


def _guessed(
    means: Mapping[Place, float], counts: Mapping[Place, Mapping[str, int]], chance: Mapping[Place, float]
) -> dict[Place, float]:
    """The mean of each condition if invalid answers were guesses; empty where there are none, or
    the chance of a guess is unknown."""
    shares = {place: count["n_invalid"] / count["n_items"] for place, count in counts.items()}
    known = any(shares.values()) and not any(math.isnan(chance[place]) for place, share in shares.items() if share)
    if not known:
        return {}
    # where everything was read, chance need not be known
    return {place: mean + (shares[place] and shares[place] * chance[place]) for place, mean in means.items()}


def with_levels(items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Rows with the levels of some columns as they are meant, where the record has them as JSON."""
    return items.assign(**{name: decoded(items[name]) for name in by if name.startswith(("factor_", "record_"))})


def _only(points: Mapping[tuple[str, ...], Any], paradigm: str) -> Any:
    """The one answerer that there is.

    Raises
    ------
    SpanLabError
        when there are several.
    """
    if len(points) > 1:
        names = ", ".join(sorted(who[-1] for who in points))
        raise SpanLabError(
            f"{paradigm} has several answerers ({names}): a card is of one; name the sessions of one of them"
        )
    return next(iter(points.values()), None)


def _of_blocks(blocks: pd.DataFrame, name: str, kinds: frozenset[str] | None = None) -> Answerer | None:
    """Blocks of N-back: d′ of each block, and of each person where there are several."""
    if kinds is not None:
        blocks = blocks[blocks["agent_kind"].isin(kinds)]
    if not len(blocks):
        return None
    if "agent" in blocks.columns:
        _only({(agent,): 0 for agent in blocks["agent"].unique()}, "an N-back paradigm")
    people = blocks["participant"].nunique() if "participant" in blocks.columns else 0
    blocks = blocks.reset_index(drop=True)
    worded = people < 2 and "unit_session" in blocks.columns and blocks["unit_session"].nunique() > 1
    if people > 1:
        kind, unit = "participant", blocks["participant"].astype(str)
    elif worded:
        kind, unit = "wording", blocks["unit_session"]
    else:
        kind, unit = "block", blocks.index.astype(str).to_series(index=blocks.index)
    values: dict[Place, np.ndarray] = {}
    ids: dict[Place, np.ndarray] = {}
    for n, rows in blocks.groupby("n", sort=True):
        means = rows.groupby(unit[rows.index])["dprime"].mean()
        values[(float(str(n)),)], ids[(float(str(n)),)] = means.to_numpy(float), means.index.to_numpy(str)

    def weighted(chosen: Sequence[Place], weight: np.ndarray) -> Contrast:
        return contrast([values[place] for place in chosen], [ids[place] for place in chosen], weight)

    counts = {
        (float(str(n)),): {
            "n_trials": len(rows),
            "n_items": _sum(rows, "n_items"),
            "n_invalid": _sum(rows, "n_invalid"),
        }
        for n, rows in blocks.groupby("n", sort=True)
    }
    means = {place: float(each.mean()) for place, each in values.items()}
    return Answerer(
        name,
        ("n",),
        weighted,
        means,
        True,
        counts,
        unit.nunique(),
        kind,
        chance=dict.fromkeys(means, 0.0),  # d' of somebody who guesses
    )


def _sum(rows: pd.DataFrame, name: str) -> int:
    """The sum of a column of counts; 0 where published blocks do not tell it."""
    return int(rows.get(name, np.zeros(0)).sum())


def of_published_people(paradigm: str) -> Answerer | None:
    """The means of published people, which have no spread; None where there are none."""
    if paradigm in NBACK:
        return None
    table, by = published(paradigm), columns_of(paradigm)
    if not len(table):
        return None
    means = {place_of(row, by): float(row["accuracy"]) for row in table.to_dict("records")}
    return Answerer(str(table["study"].iloc[0]), by, without_spread(means), means, raw=False)


def without_spread(means: Mapping[Place, float]) -> Callable[[Sequence[Place], np.ndarray], float]:
    """Weighted sums of means of which nobody knows how far they could be off."""
    return lambda chosen, weight: float(weight @ np.array([means[place] for place in chosen]))


def of_published_models(paradigm: str) -> list[Answerer]:
    """The published answers of language models to a paradigm of the N-back study, block by block."""
    from spanlab.analysis.nback import measured

    everything, models = measured(published_blocks(), PUBLISHED), []
    for variant, model in NBACK.get(paradigm, ()):
        rows = everything[everything["variant"].eq(variant) & (everything["model"].eq(model) if model else True)]
        for name, blocks in rows.groupby("model", sort=True):
            answerer = _of_blocks(blocks.assign(n_items=24), str(name))
            models += [answerer] if answerer is not None else []
    return models


def value_of(effect: Effect, answerer: Answerer, places: Sequence[Place]) -> Contrast | float | None:
    """An effect of an answerer over some conditions; None where a condition has no answers, or the
    effect needs more of them."""
    if not places or any(place not in answerer.means for place in places):
        return None
    weight = weights(effect, answerer.by, places)
    return None if np.isnan(weight).any() else answerer.weighted(places, weight)


def shared_places(agent: Answerer, other: Answerer) -> list[Place]:
    """The conditions that both have."""
    return [place for place in sorted(other.means, key=str) if place in agent.means]


__all__ = [
    "Answerer",
    "Apart",
    "Place",
    "columns_of",
    "of_answers",
    "of_published_models",
    "of_published_people",
    "shared_places",
    "value_of",
    "weights",
]
