"""Evidence for an effect in one paradigm: whether it is there at all, and its cells; and how far
guessing gets.

That is chance, which is the line of every figure, and what somebody reaches who has not looked but
knows how trials are made. A record tells both of every question (``chance`` and ``blind``). Tables
that tell chance only have the rest, for paradigms of the library, from ``published/guessing.csv``,
which ``scripts/fidelity/guessing.py`` makes from compiled trials.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..data.coding import coded, numbers, records
from ..data.scoring import Scored
from ..means.bootstrap import LEVEL
from ..means.cell_means import Cells

#: Shares of right answers that differ by less are said to be the same.
_SAME = 0.005
_GENERATORS = ("corrected", "published")
#: Conditions of the table of guessing, and the columns that have them.
_CONDITIONS = {"list_length": "list_length", "congruent_share": "factor_congruent_share"}


@dataclass(frozen=True)
class Guess:
    """The accuracy of guessing in a paradigm.

    Parameters
    ----------
    chance : mean share of right answers of a uniform guess among the allowed ones
    blind : that of the best guess of somebody who has not looked
    lowest, highest : of ``blind``
    """

    chance: float
    blind: float
    lowest: float
    highest: float

    @property
    def sentence(self) -> str:
        """The sentence for figures and reports; empty where nobody guesses better than chance."""
        if not self.blind > self.chance + _SAME:
            return ""
        spread = (
            f" ({self.lowest:.0%} to {self.highest:.0%}, by question)"
            if round(self.highest, 2) > round(self.lowest, 2)
            else ""
        )
        return (
            f"The chance line is a uniform guess among the allowed answers ({self.chance:.0%}). Somebody who sees"
            " nothing, but knows how trials are made and always gives the most frequent answer, is right in"
            f" {self.blind:.0%}{spread}: memory begins above that."
        )


@dataclass(frozen=True)
class Tally:
    """Sums over answers of the recorded accuracies of guessing.

    Parameters
    ----------
    answers : of which both is known
    chance, blind : sums
    lowest, highest : of ``blind``
    generators : of all trials
    conditions : that were met, of those for which more is known, such as ``list_length 6``
    """

    answers: int = 0
    chance: float = 0.0
    blind: float = 0.0
    lowest: float = np.inf
    highest: float = -np.inf
    generators: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()


def tally(items: pd.DataFrame) -> Tally:
    """Add up the recorded accuracies of guessing over scored items."""
    generators = (
        frozenset(coded(items["generator"])[1]) & {*_GENERATORS} if "generator" in items.columns else frozenset()
    )
    met = {
        f"{name} {value:g}"
        for name, column in _CONDITIONS.items()
        if column in items.columns
        for value in np.unique(numbers(items[column]))
        if value == value
    }
    total = Tally(generators=generators, conditions=frozenset(met))
    if "blind" not in items.columns or "chance" not in items.columns:
        return total
    chance, right = items["chance"].to_numpy(float), items["blind"].to_numpy(float)
    known = np.isfinite(chance) & np.isfinite(right)
    if not known.any():
        return total
    chance, right = chance[known], right[known]
    sums = {
        "chance": float(chance.sum()),
        "blind": float(right.sum()),
        "lowest": float(right.min()),
        "highest": float(right.max()),
    }
    return replace(total, answers=len(right), **sums)


def blind(paradigm: str, generator: str = "corrected") -> Guess | None:
    """The accuracy of a blind guess in a paradigm of the library, over all conditions; None for
    other paradigms.

    Parameters
    ----------
    generator : ``corrected`` or ``published`` trials
    """
    table = _table()
    rows = table[
        (table["paradigm"] == paradigm) & (table["guesser"] == "blind") & table["generator"].isin(["", generator])
    ]
    if not len(rows):
        return None
    return Guess(
        float(rows["chance"].mean()),
        float(rows["right"].mean()),
        float(rows["right"].min()),
        float(rows["right"].max()),
    )


def guesses(counts: Tally, paradigm: str) -> list[Guess]:
    """The accuracy of guessing: as recorded, or else in the library's trials of each generator in
    the data."""
    if counts.answers:
        return [Guess(counts.chance / counts.answers, counts.blind / counts.answers, counts.lowest, counts.highest)]
    return [
        one
        for generator in sorted(counts.generators) or _GENERATORS[:1]
        if (one := blind(paradigm, generator)) is not None
    ]


def guessing_notes(counts: Tally, paradigm: str) -> list[str]:
    """Notes on guessing for every figure with a chance line; empty where that line is enough."""
    notes = [one.sentence for one in guesses(counts, paradigm)]
    places = _reached(counts, paradigm, "saw the places")
    if places:
        notes.append(
            "Chance is a guess among all places. An agent that knows only where items were shown, but not"
            f" which was where or when, is right in {places}."
        )
    ignored = _reached(counts, paradigm, "ignored the cues")
    if ignored:
        notes.append(
            f"An agent that ignores every cue and goes by the place of the marker is right in {ignored}: always where"
            " both tasks have the same answer (congruent markers), in every second case elsewhere. Only an accuracy"
            " above that, or one at incongruent markers, shows that cues were followed."
        )
    return list(dict.fromkeys(filter(None, notes)))


def _reached(counts: Tally, paradigm: str, guesser: str) -> str:
    """The accuracy of a guesser in the first and the last condition of the data (of all where none
    is recorded); empty where nothing is known of these."""
    table = _table()
    rows = records(table[(table["paradigm"] == paradigm) & (table["guesser"] == guesser)])
    names = {str(row["condition"]).rpartition(" ")[0] for row in rows}
    if any(one.rpartition(" ")[0] in names for one in counts.conditions):
        rows = [row for row in rows if row["condition"] in (*counts.conditions, "all")]
    ends = rows[:1] + rows[-1:] if len(rows) > 1 else rows
    return " and ".join(f"{row['right']:.0%}{_where(str(row['condition']))}" for row in ends)


def _where(condition: str) -> str:
    return " of answers" if condition == "all" else f" at {condition.replace('_', ' ')}"


@functools.cache
def _table() -> Any:
    with (files("spanlab.analysis") / "published" / "guessing.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)


@dataclass(frozen=True)
class Evidence:
    """The evidence for an effect in a paradigm.

    Parameters
    ----------
    items : scored answers
    blocks : whether they are of N-back blocks
    there : of the columns that the effect needs, those that have a value somewhere
    conditions : what there is along its axis
    valued : whether there is something to average
    lost : rows that are in no cell
    guessed : what the record tells of guessing
    cells : by name (an average has one, without a name); empty where there is no such effect, or
        where they were not asked for
    """

    items: int = 0
    blocks: bool = False
    there: frozenset[str] = frozenset()
    conditions: frozenset[Any] = frozenset()
    valued: bool = False
    lost: int = 0
    guessed: Tally = field(default_factory=Tally)
    cells: Mapping[str, Cells] = field(default_factory=dict)


class Estimator(Protocol):
    """How the numbers of an effect come from its rows. One object stands for it in the declaration
    (:class:`.curves.Averages`, :class:`.sensitivity.Sensitivity`, :class:`.capacity.Capacity`, or one of your own,
    which must be hashable).
    """

    @property
    def value(self) -> str:
        """The column that rows must have a value in."""
        ...

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> Mapping[str, Cells]:
        """The cells of an effect from prepared rows, by name; those of its curves have no name.

        Parameters
        ----------
        by : columns that span the cells: panels, then the horizontal axis
        who : columns that tell answerers apart
        """
        ...

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The tidy table from the cells."""
        ...
