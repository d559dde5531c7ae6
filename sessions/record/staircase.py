"""The staircase of an adaptive session, or its span test: which level comes next, when it is over,
and the span that follows from it. Decided from finished trials alone, so that a session that goes
on after an interruption climbs the very same stairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from typing_extensions import override

from .events import Climbed
from .session_info import StaircasePlan

Level = int | float

#: How the span follows, in words; it stands in every record.
FORMULA = (
    "mean level of the trials at which the staircase changed its direction, without the first {leave_out}, "
    "and without one more where an odd number is left (as many upper as lower ones count)"
)


#: The same of a span test.
SPAN_FORMULA = (
    "highest level at which at least {least} of {lists} trials counted as correct, as at every level before it"
)


@dataclass(frozen=True, slots=True)
class StaircaseRule:
    """The rule of a staircase or a span test: when it goes to another level, and when it is over.

    Parameters
    ----------
    factor : whose levels are the stairs
    stairs : the levels, from easy to hard
    start : the first trial's
    up_after, down_after : so many correct, or other, trials in a row lead to the next level, or the
        one before
    trials : at most so many
    reversals : over after so many changes of direction, unless None
    share : of a trial's items that makes it a correct one
    leave_out : first reversals that are left out of the estimate
    rule : ``staircase`` or ``span``
    lists, failures : of a span test, the trials at each level, and how many of one level end it
        when they are not correct
    """

    factor: str
    stairs: tuple[Level, ...]
    start: Level
    trials: int
    share: float
    up_after: int = 2
    down_after: int = 1
    reversals: int | None = None
    leave_out: int = 2
    rule: str = "staircase"
    lists: int = 2
    failures: int = 2

    @classmethod
    def read(cls, record: StaircasePlan) -> StaircaseRule:
        """Read the rule from the record of a session."""
        rest = {name: value for name, value in record.items() if name in cls.__slots__ and name != "stairs"}
        return cls(stairs=tuple(record["stairs"]), **cast(dict[str, Any], rest))

    def correct(self, scores: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether a trial with these scores was a correct one.

        In free recall, answers beyond the presented items do not count. In a sequence they count as
        wrong: a list with an item too many was not repeated correctly.
        """
        items = [
            bool(score["correct"])
            for score in scores
            if score["correct_answer"] is not None or score.get("edit_distance") is not None
        ]
        return bool(items) and sum(items) >= self.share * len(items) - 1e-9


@dataclass(slots=True)
class Staircase:
    """A staircase under way."""

    rule: StaircaseRule
    #: the level of every trial that was taken, and whether it was correct
    levels: list[Level] = field(default_factory=list[Level])
    correct: list[bool] = field(default_factory=list[bool])
    #: the levels of the trials at which the direction changed
    turned_at: list[Level] = field(default_factory=list[Level])
    _step: int = -1
    _run: int = 0
    _direction: int = 0

    def __post_init__(self) -> None:
        self._step = self.rule.stairs.index(self.rule.start)

    @staticmethod
    def begin(rule: StaircaseRule) -> Staircase:
        """Begin a staircase, or a span test, as the rule says."""
        return SpanTest(rule) if rule.rule == "span" else Staircase(rule)

    @property
    def level(self) -> Level:
        """The level of the next trial."""
        return self.rule.stairs[self._step]

    @property
    def over(self) -> bool:
        """True if the session is over: no further trial follows."""
        return len(self.levels) >= self.rule.trials or (
            self.rule.reversals is not None and len(self.turned_at) >= self.rule.reversals
        )

    def take(self, correct: bool) -> None:
        """Take in the result of a trial at :attr:`level`."""
        same = bool(self.correct) and self.correct[-1] == correct and self._run > 0
        self._run = self._run + 1 if same else 1
        self.levels.append(self.level)
        self.correct.append(correct)
        if self._run < (self.rule.up_after if correct else self.rule.down_after):
            return
        self._run = 0
        direction = 1 if correct else -1
        if 0 <= self._step + direction < len(self.rule.stairs):
            # At the highest or lowest level there is no way on, and so no change of direction
            # either.
            if self._direction == -direction:
                self.turned_at.append(self.level)
            self._direction = direction
            self._step += direction

    @property
    def span(self) -> float | None:
        """The estimate, by :data:`FORMULA`; None when too few reversals are left."""
        counted = self.turned_at[self.rule.leave_out :]
        counted = counted[len(counted) % 2 :]
        return round(sum(counted) / len(counted), 4) if counted else None

    @property
    def formula(self) -> str:
        """The formula of the span, in words."""
        return FORMULA.format(leave_out=self.rule.leave_out)

    def summary(self) -> Climbed:
        """The result for the record, fit for JSON."""
        summed: Climbed = {
            "factor": self.rule.factor,
            "span": self.span,
            "formula": self.formula,
            "reversals": list(self.turned_at),
            "trials": len(self.levels),
            "correct_trials": sum(self.correct),
            "highest_reached": max(self.levels, key=self.rule.stairs.index, default=None),
            "at_limit": {
                "lowest": self.levels.count(self.rule.stairs[0]),
                "highest": self.levels.count(self.rule.stairs[-1]),
            },
        }
        if self.rule.rule != "staircase":
            summed["rule"] = self.rule.rule
        return summed


@dataclass(slots=True)
class SpanTest(Staircase):
    """A span test under way: some trials at each level, one level after another, until too many of
    one level are not correct."""

    _passed: Level | None = None
    _failed: bool = False

    @property
    @override
    def over(self) -> bool:
        return self._failed or len(self.levels) >= self.rule.trials or (self._passed == self.rule.stairs[-1])

    @override
    def take(self, correct: bool) -> None:
        self.levels.append(self.level)
        self.correct.append(correct)
        here = [right for level, right in zip(self.levels, self.correct, strict=True) if level == self.level]
        if here.count(False) >= self.rule.failures:
            self._failed = True
        elif len(here) >= self.rule.lists:
            self._passed = self.level
            self._step = min(self._step + 1, len(self.rule.stairs) - 1)

    @property
    @override
    def span(self) -> float | None:
        """The highest level that was passed; None where the first one was not."""
        return self._passed

    @property
    @override
    def formula(self) -> str:
        return SPAN_FORMULA.format(least=self.rule.lists - self.rule.failures + 1, lists=self.rule.lists)


def describe_span(span: Mapping[str, Any]) -> str:
    """Say the result of an adaptive session in a sentence."""
    factor, trials, turns = span["factor"].replace("_", " "), span["trials"], len(span["reversals"])
    if span.get("rule") == "span":
        reached = "below the first level" if span["span"] is None else f"{factor} {span['span']:g}"
        return f"span: {reached} ({span['correct_trials']} of {trials} trials correct; {span['formula']})"
    if span["span"] is None:
        return f"no span can be estimated: {trials} trials had {turns} reversals"
    return f"span: {factor} {span['span']:g} ({turns} reversals in {trials} trials; {span['formula']})"
