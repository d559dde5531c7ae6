"""Guessing: who is above it, and which people may guess among others who are nearly always right.

An interval of few people is made of those who came. Where one in ten guesses among people at 95 %, a
sample of eight contains none in four of ten, and no rule can see what is not there; where it contains
one, mean and spread are that one's. :func:`at_guessing` names somebody whose answers may be guesses where
the others are right in nine of ten, and who is further below them than one of these would be in a sample
of this size; how often it does is measured (``benchmarks/populations.py``, docs/measurements.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import SpanLabError
from .data.coding import decoded
from .data.exclusions import SELECTED
from .data.numbers import p_value
from .data.scoring import Scored
from .data.style import of_kinds
from .data.unread import beside_shares, testable
from .effects.conditions import question_of
from .inference import Claim, claim_of, families_of, of_family
from .means.cell_means import unit_means
from .stats.signal_detection import SIDES

#: Columns of the table of who is above guessing.
GUESSING_COLUMNS = (
    *("agent", "agent_kind", "unit", "n_units", "n_items", "share", "low", "high", "chance", "blind"),
    *("word", "more", "more_low", "more_high", "low_family", "high_family", "p", "p_family", "verdict", "note"),
)
#: Why somebody is not tested: whoever is left is right more often by choice.
CIRCULAR = "not tested: what was left out depended on how right it was"
#: Levels of guessing that differ by less are the same.
SAME = 0.005


@dataclass(frozen=True)
class AgainstGuessing:
    """An answerer beside guessing.

    Parameters
    ----------
    share : of right answers, told from the best blind guess
    chance : of a uniform guess
    n_items : answers
    rates : where questions have two words as answers, how much more often one is said where it is
        right
    word : that word
    chosen : whether what was left out depended on how right it was
    """

    share: Claim
    chance: float
    n_items: int
    rates: Claim | None = None
    word: str = ""
    chosen: bool = False

    @property
    def claim(self) -> Claim:
        """What the verdict rests on: both rates, which a preference for one word does not set apart,
        where they can be tested."""
        return self.share if self.rates is None or math.isnan(self.rates.p) else self.rates

    @property
    def where(self) -> str:
        """``above``, ``below``, ``not told apart`` or ``not tested``."""
        return "not tested" if self.chosen or math.isnan(self.claim.p) else self.claim.side

    def changed(self, change: Callable[[Claim], Claim]) -> AgainstGuessing:
        """The same with other claims."""
        return replace(self, share=change(self.share), rates=self.rates and change(self.rates))

    @property
    def sentence(self) -> str:
        """The verdict in words, to follow a share."""
        claim = self.claim
        if self.where == "not tested":
            why = "what was left out depended on how right it was" if self.chosen else claim.note
            return f", not tested against guessing ({why.partition(':')[0]})"
        p_text = p_value(claim.p_of_family)
        p = f"p {p_text}" if p_text.startswith("<") else f"p = {p_text}"
        place = "not distinguishable from" if self.where == "not told apart" else self.where
        if claim is self.rates:
            more = (
                f"{abs(100 * claim.value):.0f} points {'more' if claim.value > 0 else 'less'} often where it is right"
            )
            return f", {place} guessing (“{self.word}” {more}; {p})"
        name = "the best blind guess" if claim.null > self.chance + SAME else "chance"
        return f", {place} {name} ({claim.null:.0%}; {p})"

    def row(self) -> dict[str, Any]:
        """Its row of the table."""
        share, claim = self.share, self.claim
        more: dict[str, Any] = {"word": ""}
        if claim is self.rates:
            more = dict(zip(("more_low", "more_high"), claim.interval, strict=True))
            more |= {"word": self.word, "more": claim.value}
        tested = {} if self.where == "not tested" else {"p": claim.p, **claim.columns()}
        return {
            "agent": share.agent,
            "agent_kind": share.agent_kind,
            "unit": share.unit,
            "n_units": share.n,
            "n_items": self.n_items,
            "share": share.value,
            "low": share.interval[0],
            "high": share.interval[1],
            "chance": self.chance,
            "blind": share.null,
            "word": "",
            **dict.fromkeys(("more", "more_low", "more_high", "p", "p_family", "low_family", "high_family"), math.nan),
            **more,
            "verdict": self.where,
            "note": CIRCULAR if self.chosen else share.note,
            **tested,
        }


def against_guessing(scored: Scored) -> list[AgainstGuessing]:
    """Compare each answerer in one paradigm with guessing: everybody who is no yardstick and whose
    chance is recorded, each as the only one of a family."""
    items = testable(scored).items
    items = items[
        ~(of_kinds(items["agent_kind"], lambda kind: kind.yardstick) | items["oracle"]) & items["chance"].notna()
    ]
    items = items.assign(_blind=_levels(items))
    part = replace(scored, items=items)
    shares, levels = (unit_means(part, value=value) for value in ("correct", "_blind"))
    rates = _rates(part)
    chosen = {
        str(agent)
        for agent in (items.loc[items[SELECTED].astype(bool), "agent"].unique() if SELECTED in items.columns else ())
    }
    found = []
    for place, key in enumerate(shares.keys.to_dict("records")):
        share = claim_of("share", shares, [place], np.ones(1), who=key, null=levels.mean(place))
        answers = int(shares.counts["n_items"][place])
        share = share if share.unit else replace(share, unit="answer", n=answers)
        word, claim = rates.get(share.agent, ("", None))
        found.append(AgainstGuessing(share, float(shares.chance[place]), answers, claim, word, share.agent in chosen))
    return found


def guessing_table(found: Sequence[AgainstGuessing], scored: Scored) -> pd.DataFrame:
    """The table of who is above guessing (:data:`GUESSING_COLUMNS`, and :data:`.BOUND_COLUMNS` where
    replies could not be read)."""
    table = pd.DataFrame([one.row() for one in found], columns=[*GUESSING_COLUMNS])
    return beside_shares(table, testable(scored).items.assign(paradigm=""))


def among_all(
    found: Sequence[AgainstGuessing], families: Mapping[str, tuple[float, ...]] | None = None
) -> list[AgainstGuessing]:
    """Answerers beside guessing, each among all claims of its kind; among these ones without
    ``families``."""
    families = families_of(one.claim for one in found if not one.chosen) if families is None else families
    return [one.changed(partial(of_family, families=families)) for one in found]


def _levels(items: pd.DataFrame) -> np.ndarray:
    """The accuracy of the best known guess, item by item."""
    chance = items["chance"].to_numpy(float)
    blind = items["blind"].to_numpy(float)
    levels = np.where(np.isfinite(blind), blind, chance)
    if "correct_answer" not in items.columns or len(items) < 2 or not np.allclose(chance, 0.5):
        return levels
    # Where of two words the same one was right in all questions, whoever always says it is always right.
    answers = decoded(items["correct_answer"])
    known = answers.notna().all() and answers.nunique() == 1 and isinstance(answers.iloc[0], str)
    return np.ones(len(items)) if known else levels


def _rates(scored: Scored) -> dict[str, tuple[str, Claim]]:
    """Of everybody a word and how much more often it is said where it is right, where questions have
    two words as answers that are no sides of a display."""
    items = scored.items
    if "correct_answer" not in items.columns or not len(items) or not np.allclose(items["chance"], 0.5):
        return {}
    try:
        words, of = question_of(items, (), "this paradigm", "comparison")
    except SpanLabError:
        return {}
    if set(words) in map(set, SIDES) or decoded(items["correct_answer"]).isna().any():
        return {}
    cells = of.cells(of.of_words(scored, {words[0]}, {words[1]}))[""]
    names = [name for name in cells.keys.columns if name != "signal"]
    claims = {}
    for key, pair in of.pairs(cells).items():
        who = dict(zip(names, map(str, key), strict=True))
        more = claim_of("rates", cells, pair, np.array([1.0, -1.0]), who=who, null=0.0) if min(pair) >= 0 else None
        if more is not None and more.unit:
            claims[more.agent] = words[0], more
    return claims


# People at guessing

#: Share of right answers of the others, from which somebody who guesses does not belong to them.
NEAR_CEILING = 0.9
#: As many others tell how people differ.
FEWEST = 4
#: Probability that one of the others lies below the bound, over all people of a sample.
_BEYOND = 0.4


def at_guessing(right: np.ndarray, asked: np.ndarray, guess: float) -> np.ndarray:
    """Who of some people may guess, far below the others.

    Parameters
    ----------
    right, asked : of each person, how many answers were right, and how many there are
    guess : the share that the best blind guess has right

    Returns
    -------
    numpy.ndarray
        for each person whether it is one of these
    """
    from scipy.special import bdtr, stdtrit

    may_guess = 1 - bdtr(right - 1, asked.astype(int), guess) > 0.05
    others = ~may_guess
    if others.sum() < FEWEST or np.median(right[others] / asked[others]) < NEAR_CEILING:
        return np.zeros(len(right), bool)
    odds = np.log((right + 0.5) / (asked - right + 0.5))
    many = int(others.sum())
    away = (
        float(stdtrit(many - 1, 1 - _BEYOND / len(right))) * float(odds[others].std(ddof=1)) * math.sqrt(1 + 1 / many)
    )
    return may_guess & (odds < odds[others].mean() - away)
