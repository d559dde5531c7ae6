"""The levels of practice and worked examples: those that the session uses.

What the file wishes for practice (``practice: factors``) holds, unless it is about a factor whose
levels were chosen for the session (``--set``, a study's ``set``): these are the experimenter's, and
practice keeps to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.json_values import is_number
from .compile import PlannedTrial
from .design import combinations_of
from .language.schema import SessionDesign
from .paradigm import Paradigm, same_level


@dataclass(frozen=True, slots=True)
class LevelsInUse:
    """The levels of a session.

    Parameters
    ----------
    paradigm : whose levels they are
    combinations : of crossed factors; in an adaptive session, those of the first trial
    chosen : for the factors whose levels were chosen for this session, these levels
    """

    paradigm: Paradigm
    combinations: tuple[Mapping[str, Any], ...]
    chosen: Mapping[str, Sequence[Any]]

    def first(self, factor: str) -> Any:
        """A level to begin with: the first one in use."""
        return self.combinations[0].get(factor, self.paradigm.factors[factor].levels[0])

    def fitting(self, factor: str, wish: Any) -> Any:
        """The level that comes nearest to a wish of the file: the wish itself, unless other levels
        were chosen. Of numbers that is the next one above, or else the highest; where levels are
        words, None: any level in use will do."""
        wish = self.paradigm.level(factor, wish)
        if factor not in self.chosen or same_level(wish, self.chosen[factor]) is not None:
            return wish
        numbers = [level for level in self.chosen[factor] if is_number(level)]
        if not numbers or not is_number(wish):
            return None
        return min((level for level in numbers if level >= wish), default=max(numbers))


def levels_in_use(paradigm: Paradigm, design: SessionDesign, chosen: Mapping[str, Any]) -> LevelsInUse:
    """The levels of a session.

    Parameters
    ----------
    design : of the session
    chosen : levels of some factors that were chosen for this session: one level or a list of them

    Raises
    ------
    SpanLabError
        for unknown factors or levels.
    """
    chosen_levels = {
        name: [paradigm.level(name, level) for level in (value if isinstance(value, (list, tuple)) else [value])]
        for name, value in chosen.items()
    }
    combinations = combinations_of(paradigm, design, chosen_levels)
    if design.adaptive is not None:
        factor, start = design.adaptive.factor, design.adaptive.start
        combinations = _different({**combination, factor: start} for combination in combinations)
    return LevelsInUse(paradigm, tuple(combinations), chosen_levels)


def chosen_levels(paradigm: Paradigm, design: SessionDesign, plan: Sequence[PlannedTrial]) -> dict[str, list[Any]]:
    """The levels that a plan keeps to although its design has more, by factor: as good as chosen,
    where nobody says what was. A plan with fewer trials than the design has combinations cannot
    have all levels, and tells nothing of those that it lacks."""
    usual = combinations_of(paradigm, design, None)
    chosen: dict[str, list[Any]] = {}
    for name, factor in paradigm.factors.items():
        planned = [
            level
            for level in factor.levels
            if any(same_level(level, [trial.levels[name]]) is not None for trial in plan if name in trial.levels)
        ]
        by_design = [
            level
            for level in factor.levels
            if any(
                name not in combination or same_level(level, [combination[name]]) is not None for combination in usual
            )
        ]
        tells = len(plan) >= len(usual) or name not in usual[0]
        if tells and planned and len(planned) < len(by_design) and not any(trial.varies == name for trial in plan):
            chosen[name] = planned
    return chosen


def practice_levels(use: LevelsInUse) -> list[dict[str, Any]]:
    """The combinations of levels from which practice trials are drawn; empty when the paradigm has
    no practice."""
    practice = use.paradigm.practice
    if practice is None:
        return []
    wishes = {name: use.fitting(name, wish) for name, wish in practice.factors.items()}
    held = {name: level for name, level in wishes.items() if level is not None}
    return _different(
        {name: {**combination, **held}[name] for name in use.paradigm.factors if name in combination or name in held}
        for combination in use.combinations
    )


def _different(combinations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    different: list[dict[str, Any]] = []
    for combination in combinations:
        if combination not in different:
            different.append(combination)
    return different
