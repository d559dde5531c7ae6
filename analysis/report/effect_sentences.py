"""The effect for which a paradigm is used: a cost, the ends of a list, or a slope, as a claim about each
person and model; and these in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from ...core.agent_kinds import kind_named
from ..data.coding import records
from ..data.numbers import decimals, with_sign
from ..data.scoring import Scored
from ..data.style import of_kinds
from ..data.unread import testable, testable_cells
from ..effects.curves import primacy_recency
from ..figures.effect_figure import ComputedEffect, panel_names
from ..inference import NO_MARGINS, Claim, Margin, of_family
from .text import ranked

#: More than this many answerers make no sentence; people are still named.
_MOST = 6
#: Differences that are effects of their own, the first that there is.
_COSTS = (("task_switching", "switch cost"), ("congruency", "congruency effect"))


@dataclass(frozen=True)
class EffectClaims:
    """A paradigm's effect.

    Parameters
    ----------
    name : of the effect, with which the sentence begins
    parts : what is said of whom: words before, and claims, people first
    margin : within which differences count as none
    table : name of the effect in whose table of slopes and differences the claims stand; with the
        numbers of its rows
    """

    name: str
    parts: tuple[tuple[str, tuple[Claim, ...]], ...]
    margin: Margin | None = None
    table: tuple[str, tuple[int, ...]] = ("", ())

    def among(self, sizes: Mapping[str, int]) -> EffectClaims:
        """The same, each claim among all of its kind."""
        return replace(
            self, parts=tuple((words, tuple(of_family(one, sizes) for one in claims)) for words, claims in self.parts)
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(claim for _, claims in self.parts for claim in claims)

    def beside(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of slopes and differences, with what its claims are among all of their kind."""
        columns = pd.DataFrame([claim.columns() for claim in self.claims], index=self.table[1])
        return table.join(columns)

    @property
    def sentence(self) -> tuple[str, str]:
        """The name, and the rest of the sentence."""
        parts = [words + ", ".join(self._said(*one) for one in enumerate(claims)) for words, claims in self.parts]
        return self.name, f": {'; '.join(filter(None, parts))}."

    def _said(self, place: int, claim: Claim) -> str:
        """``people (n = 9) +12 points (95% interval +8 to +16)``."""
        low, high = claim.interval_of_family
        value = with_sign(100 * claim.value, decimals(100 * low, 100 * high))
        text = f"{_called(claim.agent)} {value}{' points' * (not place)}"
        if low != low:
            reason, withheld, _ = claim.note.partition(": no interval")
            return text + (f" (no interval: {reason})" if withheld else " (no interval)")
        return f"{text} ({'' if place else '95% interval '}{claim.words(self.margin)})"


def effect_claims(
    effects: Sequence[ComputedEffect], scored: Scored, margins: Mapping[str, Margin] = NO_MARGINS
) -> EffectClaims | None:
    """The effect of a paradigm, of everybody but yardsticks; None where no effect is known or seen.

    Parameters
    ----------
    effects : that the paradigm shows
    scored : its answers, in which the ends of lists are looked for also where there is one list
        length only
    margins : within which differences count as none, as they were declared
    """
    if not scored.accept_unread:
        tested = testable(scored)
        if tested is not scored:
            effects = [
                replace(one, table=one.effect.table(tested, paradigm, human=""))
                for one in effects
                for paradigm in tested.parts
            ]
        effects, scored = [replace(one, table=testable_cells(one.table)) for one in effects], tested
    by_name = {one.effect.name: one for one in effects}
    points = margins.get("points")
    for name, contrast in _COSTS:
        if name in by_name and (found := _of_rows(by_name[name], _rows(by_name[name].trends, contrast))):
            claims, rows = found
            return EffectClaims(
                contrast[:1].upper() + contrast[1:], (("", claims),), points, table=(by_name[name].effect.name, rows)
            )
    if held := _ends(by_name, scored, points):
        return held
    slopes = (_slope(one) for one in effects if one.effect.value == "correct" and one.effect.averages)
    return next((slope for slope in slopes if slope), None)


def _ends(by_name: Mapping[str, ComputedEffect], scored: Scored, margin: Margin | None) -> EffectClaims | None:
    tested = testable(scored, ("list_length",))
    if not (by_name.keys() & {"primacy_recency", "serial_position"} and (tested.items["list_length"] >= 3).any()):
        return None
    table = primacy_recency(tested)
    table = table[table["mean"].notna()]
    shared = max(_shared_by_all(table, "list_length"), default=None)
    if shared is None:
        return None
    parts = []
    for index, end in (("primacy", "first"), ("recency", "last")):
        rows = table[(table["list_length"] == shared) & (table["index"] == index)]
        claims = few(ranked(_telling(rows))["claim"])
        parts.append((f"the {end} item minus those in the middle, ", claims))
    if not all(claims for _, claims in parts):
        return None
    return EffectClaims(f"Primacy and recency in lists of {int(shared)}", tuple(parts), margin)


def _slope(one: ComputedEffect) -> EffectClaims | None:
    table = _rows(one.trends, "slope")
    if not len(table):
        return None
    where = ""
    if one.effect.panels:  # of several panels the last that everybody has
        names = panel_names(one.effect, one.table)
        of_panel = table.assign(_panel=[one.effect.panel(row) for row in records(table)])
        everybody = _telling(of_panel)["agent"].nunique()
        full = [
            name for name in names if _telling(of_panel[of_panel["_panel"] == name])["agent"].nunique() == everybody
        ]
        if not full:
            return None
        table, where = of_panel[of_panel["_panel"] == full[-1]], f" ({full[-1]})"
    found = _of_rows(one, table)
    if not found:
        return None
    step = {"set_size": "item", "list_length": "item", "serial_position": "place in the list"}.get(one.effect.x, "unit")
    lead = f"for each further {step}{f' of {one.effect.x_title}' if step == 'unit' else ''}, "
    return EffectClaims(f"Slope of {one.effect.title}{where}", ((lead, found[0]),), table=(one.effect.name, found[1]))


def _of_rows(one: ComputedEffect, rows: pd.DataFrame) -> tuple[tuple[Claim, ...], tuple[int, ...]] | None:
    """Claims of rows of a table of slopes and differences, told from what guessing gives, and the
    numbers of these rows; None where there are none."""
    told = ranked(_telling(rows))
    claims = {number: one.claims[number] for number in told.index}
    kept = few([*claims.values()])
    return (kept, tuple(int(number) for number, claim in claims.items() if claim in kept)) if kept else None


def few(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims that make a sentence: of everybody, or where these are many of people; one trial is
    no headline."""
    several = [one for one in claims if one.n > 1]
    people = [one for one in several if kind_named(one.agent_kind).role == "person"]
    return tuple(several if len(several) <= _MOST else people)


def _rows(table: pd.DataFrame, contrast: str) -> pd.DataFrame:
    return table[(table["contrast"] == contrast) & table["value"].notna()] if len(table) else table


def _telling(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of everybody but yardsticks and means of groups."""
    return table[of_kinds(table["agent_kind"], lambda kind: kind.role not in ("yardstick", "print"))]


def _shared_by_all(table: pd.DataFrame, column: str) -> list[float]:
    """The values of a column that everybody who is told has."""
    rows = _telling(table)
    many = rows.groupby(column, observed=True)["agent"].nunique()
    return [float(value) for value in many[many == rows["agent"].nunique()].index]


def _called(name: str) -> str:
    return name[:1].lower() + name[1:] if name.startswith("People (") else name
