"""The one inference: every rule by which SpanLab speaks, as one table, and the object from which a
sentence, a table, a figure, a terminal, a file and a Methods section take estimate, interval and p.

Whoever answers has units (:data:`UNITS`): what another sample would have others of. A quantity of
an answerer is a claim (:class:`Claim`): an estimate over these units, an interval, and the value that
it is told from. The test is the interval's own, p being one minus the level at which the interval
ends at that value, so that the two never contradict each other.

Claims of one kind on one page are a family. Each holds beside all others: p is multiplied by their
number (Bonferroni), and the interval has the level that belongs to it. A single claim is a family of
one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..core.errors import SpanLabError
from .data.coding import decoded
from .data.exclusions import SELECTED
from .data.numbers import decimals, p_value, with_sign
from .data.scoring import Scored
from .data.style import of_kinds
from .data.unread import beside_shares, testable
from .effects.conditions import question_of
from .means.bootstrap import LEVEL
from .means.cell_means import unit_means
from .means.contrasts import Apart, Contrast, contrast_of
from .stats.equivalence import Margin, verdict_in_words
from .stats.signal_detection import SIDES

#: Who has which units. Trials that several people or sessions took are a unit beside these.
UNITS: Mapping[str, str] = {
    "several people": "people; each person's answers are averaged first",
    "a machine in several sessions, such as seeds of a network": "sessions",
    "a chat model in several wordings": "wordings and trials, whose variances are added",
    "one person, or a machine in one session": "trials; a claim is about this one, and not about others like it",
    "several people or sessions who took the same trials": (
        "people (or sessions) and trials: what trials add to the variance is added"
    ),
}


@dataclass(frozen=True)
class Rule:
    """How one quantity is estimated and judged."""

    quantity: str
    estimator: str
    interval: str
    null: str
    family: str


RULES: Mapping[str, Rule] = {
    "share": Rule(
        "share of right answers",
        "mean over units of their means over trials",
        "Wilson's for as many independent answers as have the variance between units, with Student's t; binomial with"
        " mid-p where each unit is right or wrong, exact where all are alike",
        "the best blind guess",
        "above guessing",
    ),
    "rates": Rule(
        "how often one of two words is said: where it is right, minus where it is wrong",
        "difference of the means of both rates",
        "as of effects",
        "0, whatever word somebody prefers",
        "above guessing",
    ),
    "difference": Rule(
        "difference from people",
        "difference of means over the conditions that both have, each with the same weight",
        "the root of the sum of the squares of both intervals (Zou & Donner, 2008)",
        "0",
        "differences from people",
    ),
    "effect": Rule(
        "slope, difference of conditions, end of a list",
        "weighted sum of the means of cells",
        "Student's, with the variance of Bell & McCaffrey (2002); wider at the end that is further from 0 where shares"
        " are near 0 or 100 %",
        "what guessing gives",
        "effects",
    ),
}


class Estimated(Protocol):
    """An estimate with an interval of any level."""

    @property
    def value(self) -> float:
        """The estimate."""
        ...

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval; NaN where there is none."""
        ...

    def p(self, expected: float = 0.0) -> float:
        """Two-sided p against a value."""
        ...


@dataclass(frozen=True)
class Claim:
    """A quantity of an answerer.

    Parameters
    ----------
    rule : its name in :data:`RULES`
    agent, agent_kind : who
    of : the estimate; None where there is nothing to claim
    null : what it is told from; NaN where it is told from nothing
    unit, n : its units, and how many there are
    note : what limits it
    family : how many claims of this kind stand on the page
    """

    rule: str
    agent: str
    agent_kind: str
    of: Estimated | None
    null: float
    unit: str
    n: int
    note: str = ""
    family: int = 1

    @property
    def value(self) -> float:
        return math.nan if self.of is None else self.of.value

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of this claim alone."""
        return (math.nan, math.nan) if self.of is None else self.of.ends(LEVEL)

    @cached_property
    def p(self) -> float:
        """Two-sided p of this claim alone."""
        return math.nan if self.of is None or math.isnan(self.null) else self.of.p(self.null)

    @cached_property
    def interval_of_family(self) -> tuple[float, float]:
        """The interval that holds, in 95 % of pages, with those of all other claims of its kind."""
        if self.of is None or self.family < 2:
            return self.interval
        return self.of.ends(1 - (1 - LEVEL) / self.family)

    @property
    def p_of_family(self) -> float:
        """p, corrected for the number of claims of its kind."""
        return min(1.0, self.p * self.family)

    @property
    def told(self) -> bool:
        """Whether it is told from :attr:`null`."""
        return self.p_of_family < 1 - LEVEL

    @property
    def side(self) -> str:
        """``above``, ``below`` or ``not told apart``."""
        if not self.told:
            return "not told apart"
        return "above" if self.value > self.null else "below"

    def columns(self) -> dict[str, float]:
        """What a table has of the family beside the claim's own interval and p."""
        low, high = self.interval_of_family
        return {"low_family": low, "high_family": high, "p_family": self.p_of_family}

    def verdict(self, margin: Margin, *, from_0: bool = False) -> str:
        """What two one-sided tests within a margin say; empty where there are none."""
        judged = margin.judge(self.of) if isinstance(self.of, Contrast | Apart) else None
        return "" if judged is None else verdict_in_words(judged, margin, from_0=from_0)

    def words(self, margin: Margin | None = None) -> str:
        """The interval in points, and what it is not told from: ``+8 to +16: not distinguishable from
        0``.

        Parameters
        ----------
        margin : within which differences count as none
        """
        low, high = (100 * end for end in self.interval_of_family)
        digits = decimals(low, high)
        words = []
        if not self.told:
            words.append("not distinguishable from " + ("guessing" if abs(self.null) > 1e-9 else "0"))
        if margin is not None and (verdict := self.verdict(margin, from_0=True)):
            words.append(verdict)
        return f"{with_sign(low, digits)} to {with_sign(high, digits)}{': ' * bool(words)}{', '.join(words)}"


def sizes_of_families(claims: Iterable[Claim]) -> Counter[str]:
    """How many claims of each kind there are: those that are told from something."""
    return Counter(RULES[claim.rule].family for claim in claims if not math.isnan(claim.p))


def of_family(claim: Claim, sizes: Mapping[str, int]) -> Claim:
    """A claim among all of its kind."""
    return replace(claim, family=max(1, sizes.get(RULES[claim.rule].family, 1)))


# Guessing -----------------------------------------------------------------------------------------

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
        more = self.rates if claim is self.rates else None
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
            "word": self.word if more else "",
            **dict.fromkeys(("more", "more_low", "more_high", "p", "p_family", "low_family", "high_family"), math.nan),
            **({"more": more.value, "more_low": more.interval[0], "more_high": more.interval[1]} if more else {}),
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
        agent, kind = str(key["agent"]), str(key["agent_kind"])
        told_apart = shares.unit[place] != "trial" or bool(shares.told_apart[place])
        of = contrast_of(shares, [place], np.ones(1), shares=True)
        of = of if told_apart else replace(of, se=math.nan, right=-1, n=0)
        unit = shares.unit[place] if told_apart else "answer"
        n = of.n if told_apart else int(shares.counts["n_items"][place])
        note = "" if of.ends()[0] == of.ends()[0] else why_none(of, unit, told_apart)
        share = Claim("share", agent, kind, of, levels.mean(place), unit, n, note)
        word, claim = rates.get(agent, ("", None))
        items_ = int(shares.counts["n_items"][place])
        found.append(AgainstGuessing(share, float(shares.chance[place]), items_, claim, word, agent in chosen))
    return found


def why_none(of: Contrast, unit: str, told_apart: bool = True) -> str:
    """Why an estimate has no interval."""
    if not told_apart:
        return "no trial numbers: no interval"
    if of.n == 1:
        return f"one {unit}: no interval"
    return f"a condition has only one {unit}: no interval" if of.lone else f"no spread over {of.n} {unit}s: no interval"


def guessing_table(found: Sequence[AgainstGuessing], scored: Scored) -> pd.DataFrame:
    """The table of who is above guessing (:data:`GUESSING_COLUMNS`, and :data:`.BOUND_COLUMNS` where
    replies could not be read)."""
    table = pd.DataFrame([one.row() for one in found], columns=[*GUESSING_COLUMNS])
    return beside_shares(table, testable(scored).items.assign(paradigm=""))


def among_all(found: Sequence[AgainstGuessing], sizes: Mapping[str, int] | None = None) -> list[AgainstGuessing]:
    """Answerers beside guessing, each among all claims of its kind; among these ones without
    ``sizes``."""
    sizes = sizes_of_families(one.claim for one in found if not one.chosen) if sizes is None else sizes
    return [
        replace(
            one,
            share=of_family(one.share, sizes),
            rates=None if one.rates is None else of_family(one.rates, sizes),
        )
        for one in found
    ]


def _levels(items: pd.DataFrame) -> np.ndarray:
    """The accuracy of the best known guess, item by item."""
    chance = items["chance"].to_numpy(float)
    blind = items["blind"].to_numpy(float) if "blind" in items.columns else np.full(len(items), np.nan)
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
        unit = cells.unit[pair[0]]
        if min(pair) < 0 or (unit == "trial" and not cells.told_apart[list(pair)].all()):
            continue
        more = contrast_of(cells, pair, np.array([1.0, -1.0]), shares=True)
        claims[who["agent"]] = words[0], Claim("rates", who["agent"], who["agent_kind"], more, 0.0, unit, more.n)
    return claims
