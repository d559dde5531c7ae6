"""Comparisons that were planned before the data were seen: they are no family with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import SpanLabError, in_number
from .inference import RULES, Claim

_FAMILIES = {"guessing": "above guessing", "people": "differences from people", "effect": "effects"}


@dataclass(frozen=True)
class Comparison:
    """A comparison of somebody whose name begins so, in one paradigm, with ``guessing`` or ``people``, or
    of conditions (``effect``)."""

    paradigm: str
    what: str
    agent: str

    @property
    def typed(self) -> str:
        """As it is typed."""
        return f"{self.paradigm}/{self.what}/{self.agent}"

    def names(self, claim: Claim, paradigm: str) -> bool:
        """Whether a claim is the one that was planned."""
        same = paradigm == self.paradigm and RULES[claim.rule].family == _FAMILIES[self.what]
        return same and self._is(claim.agent)

    def tests(self, contrast: Mapping[Any, Any], paradigm: str) -> bool:
        """Whether a contrast of a mixed model is the one that was planned."""
        if paradigm != self.paradigm:
            return False
        first, second = str(contrast["first"]), str(contrast["second"])
        if self.what == "people" and contrast["kind"] == "agents":
            return any(
                self._is(one) and other.startswith("People") for one, other in ((first, second), (second, first))
            )
        return self.what == "effect" and contrast["kind"] in ("trend", "conditions") and self._is(first)

    def _is(self, agent: str) -> bool:
        return agent.lower().startswith(self.agent.lower())


@dataclass(frozen=True)
class Planned:
    """The comparisons that were planned in one paradigm."""

    comparisons: Sequence[Comparison] = ()
    paradigm: str = ""

    def claim(self, claim: Claim) -> Claim:
        """A claim, which may be one of these."""
        return replace(claim, planned=any(one.names(claim, self.paradigm) for one in self.comparisons))

    def contrast(self, row: Mapping[Any, Any]) -> bool:
        """Whether a contrast is one of these."""
        return any(one.tests(row, self.paradigm) for one in self.comparisons)


#: Where nothing was planned.
NOTHING = Planned()


def read_planned(texts: Sequence[str]) -> tuple[Comparison, ...]:
    """Comparisons as they are typed: ``vsr/people/network:laptop``."""
    read = []
    for text in texts:
        paradigm, what, agent = (*text.split("/", 2), "", "")[:3]
        if what not in _FAMILIES or not agent:
            such = "PARADIGM/guessing, people or effect/WHO, such as vsr/people/network:laptop"
            raise SpanLabError(f"names a comparison as {such}, not '{text}'", option="planned")
        read.append(Comparison(paradigm, what, agent))
    return tuple(read)


def listed_as_planned(planned: Sequence[Comparison]) -> str:
    """The sentence that says which comparisons these are."""
    from .data.style import listed

    names = listed([one.typed for one in planned])
    corrected = in_number(
        len(planned), "It is not corrected", "They are corrected among themselves, not for the others"
    )
    return f"Said to have been planned before the data were seen: {names}. {corrected}."
