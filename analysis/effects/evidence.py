"""What a table, or a part of one, has of an effect in one paradigm: whether it is there at all, and its sums in cells. Evidence of parts adds up.

Every table of an effect is made in two steps: evidence of the parts (a table that is all here is one part), then the whole. So it does not matter whether
there is one part or a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data.scoring import Scored
from ..means.cell_means import Cells, together
from ..means.partial_sums import Sums
from .chance import Tally


@dataclass(frozen=True)
class Evidence:
    """What a part has.

    Parameters
    ----------
    items : scored answers
    blocks : whether they are of N-back blocks
    there : of the columns that the effect needs, those that have a value somewhere
    conditions : what there is along its axis
    valued : whether there is something to average
    lost : rows that are in no cell
    guessed : what the record tells of guessing
    passed : whether a part was passed by because it lacks columns; where other parts have them, it must be looked at once more
    sums : by name (an average has one, without a name); empty where there is no such effect, or where sums were not asked for
    """

    items: int = 0
    blocks: bool = False
    there: frozenset[str] = frozenset()
    conditions: frozenset[Any] = frozenset()
    valued: bool = False
    lost: int = 0
    guessed: Tally = field(default_factory=Tally)
    passed: bool = False
    sums: Mapping[str, Sums] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """What all parts have together.

    Parameters
    ----------
    found : evidence as of one part, without sums
    cells : by name
    """

    found: Evidence = field(default_factory=Evidence)
    cells: Mapping[str, Cells] = field(default_factory=dict)


@dataclass(frozen=True)
class Scattered(Scored):
    """Scored items of which only evidence of some effects is here; ``items`` and ``intrusions`` have no rows.

    Parameters
    ----------
    wholes : by paradigm and name of the effect
    """

    wholes: Mapping[tuple[str, str], Whole] = field(default_factory=dict)

    @property
    def paradigms(self) -> list[str]:
        """That have scored answers."""
        return sorted({paradigm for (paradigm, _), one in self.wholes.items() if one.found.items})


def whole(parts: Sequence[Evidence]) -> Whole:
    """All parts together. No trial is in two of them."""
    sums: dict[str, list[Sums]] = {}
    for part in parts:
        for name, one in part.sums.items():
            sums.setdefault(name, []).append(one)
    found = Evidence(
        items=sum(part.items for part in parts),
        blocks=any(part.blocks for part in parts),
        there=frozenset().union(*(part.there for part in parts)),
        conditions=frozenset().union(*(part.conditions for part in parts)),
        valued=any(part.valued for part in parts),
        lost=sum(part.lost for part in parts),
        guessed=sum((part.guessed for part in parts), Tally()),
        passed=any(part.passed for part in parts),
    )
    return Whole(found, {name: together(ones) for name, ones in sums.items()})
