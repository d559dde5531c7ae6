"""Groups of a study: who is in which, balanced over everybody who has come and has not withdrawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ...core.errors import SpanLabError
from ...paradigms.identity import stream
from .participants import Kind, Person
from .schema import Group

if TYPE_CHECKING:
    from .study import Study


@dataclass(frozen=True, slots=True)
class Assigner:
    """Assigns participants to the groups of a study. Called under the lock that gives numbers, so that nobody else takes the same place.

    Parameters
    ----------
    groups : of the study; none in a study without groups
    study, seed : name and seed of the study
    """

    groups: Sequence[Group]
    study: str
    seed: int

    def __call__(self, everybody: Iterable[Person], kind: Kind, number: int) -> tuple[str, int]:
        """The group of the next participant, and the place in it (from 1).

        The group with the fewest people gets the next one (where every group has a number of people, the one with the smallest part of it filled). Between
        groups that are alike in this, the participant's number decides, by a draw. Who withdrew leaves a place, which the next one in the group takes.

        Returns
        -------
        (group, place)
            ``("", 0)`` in a study without groups

        Raises
        ------
        SpanLabError
            when every group is full.
        """
        if not self.groups:
            return "", 0
        taken: dict[str, set[int]] = {group.name: set() for group in self.groups}
        for person in everybody:
            if person.kind == kind and not person.withdrawn and person.group in taken:
                taken[person.group].add(person.place)
        # Pilots and rehearsals fill no place of a person.
        vacant = [group for group in self.groups if kind != "person" or group.people is None or len(taken[group.name]) < group.people]
        if not vacant:
            full = ", ".join(f"{group.name}: {len(taken[group.name])} of {group.people}" for group in self.groups)
            raise SpanLabError(f"every group of {self.study} is full ({full}); nobody else can take part unless the study file has more 'people' for a group")
        sized = all(group.people is not None for group in self.groups)
        filled = {group.name: Fraction(len(taken[group.name]), group.people or 1 if sized else 1) for group in vacant}
        least = [name for name, part in filled.items() if part == min(filled.values())]
        name = least[int(stream(self.study, self.seed, f"group:{kind}:{number}").randint(len(least)))]
        place = next(place for place in range(1, len(taken[name]) + 2) if place not in taken[name])
        return name, place


def assigner(study: Study) -> Assigner:
    """What assigns participants to the groups of a study."""
    return Assigner(study.groups, study.name, study.seed)


def group_counts(groups: Sequence[Group], everybody: Iterable[Person]) -> str:
    """How many people are in each group now, in words: ``training 5, control 4``."""
    there = [person.group for person in everybody if person.kind == "person" and not person.withdrawn]
    return ", ".join(f"{group.name} {there.count(group.name)}" + (f" of {group.people}" if group.people is not None else "") for group in groups)
