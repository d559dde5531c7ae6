"""Places of a study: how many people may take part, in which group each is, and whose place is free
again; balanced over everybody who takes part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.atomic_files import TakenError, only_writer, read_lines
from ...core.errors import SpanLabError
from ...paradigms.identity import stream
from .participants import Kind, Person
from .schema import Group
from .visit_files import JOURNAL, last_sign, runs

if TYPE_CHECKING:
    from .study import Study

#: why a place has become free
DROPPED_OUT, REFUSED, NOT_PASSED = "dropped out", "refused", "did not pass a quiz"


class StudyFullError(SpanLabError):
    """There is no place for anybody else."""


@dataclass(frozen=True, slots=True)
class Assigner:
    """Assigns participants to the places of a study, and to its groups. Called under the lock that
    gives numbers, so that nobody else takes the same place.

    Parameters
    ----------
    groups : of the study; none in a study without groups
    study, seed : name and seed of the study
    people : at most so many take part; None for everybody who comes
    folder : data folder of the study, in which the signs of its people are looked for; None where
        nobody leaves a place
    drop_out_s : who has not finished and gives no sign for so long has dropped out; None where
        nobody does
    clock : seconds since the epoch
    """

    groups: Sequence[Group]
    study: str
    seed: int
    people: int | None = None
    folder: Path | None = None
    drop_out_s: float | None = None
    clock: Callable[[], float] = time.time

    def __call__(self, everybody: Iterable[Person], kind: Kind, number: int) -> tuple[str, int]:
        """The group of the next participant, and the place in it (from 1).

        The group with the fewest people gets the next one (where every group has a number of
        people, the one with the smallest part of it filled). Between groups that are alike in this,
        the participant's number decides, by a draw. Who withdrew or dropped out leaves a place,
        which the next one takes.

        Returns
        -------
        (group, place)
            the group is empty in a study without groups; the place is 0 there unless places are
            counted: the study is for so many people, or people drop out

        Raises
        ------
        StudyFullError
            when there is no place.
        """
        if not self.groups and self.people is None and self.drop_out_s is None:
            return "", 0
        here = _taking_part(everybody, kind)
        vacant = self._vacant(here, kind)
        sized = all(group.people is not None for group in self.groups)
        filled = {name: Fraction(_count(here, name), self._size(name) or 1 if sized else 1) for name in vacant}
        least = [name for name, share in filled.items() if share == min(filled.values())]
        name = (
            least[int(stream(self.study, self.seed, f"group:{kind}:{number}").randint(len(least)))]
            if self.groups
            else ""
        )
        turns = {person.turn for person in here if person.group == name}
        return name, next(place for place in range(1, len(turns) + 2) if place not in turns)

    def check_return(self, everybody: Iterable[Person], person: Person) -> None:
        """Check that there is a place for somebody who comes back after the place was given up.

        Raises
        ------
        StudyFullError
            when there is none.
        """
        vacant = self._vacant(_taking_part(everybody, person.kind), person.kind)
        if self.groups and person.group not in vacant:
            raise StudyFullError(f"the group of {person.name} in {self.study} is full by now ({person.group})")

    def leavers(self, everybody: Iterable[Person]) -> list[tuple[Person, str]]:
        """Return the people who have a place and are gone, with the reasons."""
        if self.folder is None:
            return []
        looked_at = [
            (person, self._why_gone(self.folder, person))
            for person in everybody
            if person.kind == "person" and person.takes_part
        ]
        return [(person, why) for person, why in looked_at if why]

    def as_now(self, everybody: Iterable[Person]) -> list[Person]:
        """Everybody, without a place where somebody is gone; nothing is written."""
        everybody = list(everybody)
        reasons = {person.number: why for person, why in self.leavers(everybody)}
        return [
            replace(one, left="now", why=reasons[one.number]) if one.kind == "person" and one.number in reasons else one
            for one in everybody
        ]

    def _size(self, name: str) -> int | None:
        return next((group.people for group in self.groups if group.name == name), None)

    def _vacant(self, here: Sequence[Person], kind: Kind) -> list[str]:
        """The groups with a place; the empty name stands for the whole of a study without groups.

        Raises
        ------
        StudyFullError
            when there is none.
        """
        names = [group.name for group in self.groups] or [""]
        if kind != "person":  # pilots and rehearsals fill no place of a person
            return names
        if self.people is not None and len(here) >= self.people:
            raise StudyFullError(
                f"{self.study} is full ({len(here)} of {self.people} people); nobody else can take part unless the"
                " study file has more 'people'"
            )
        vacant = [name for name in names if (size := self._size(name)) is None or _count(here, name) < size]
        if not vacant:
            full = ", ".join(f"{group.name}: {_count(here, group.name)} of {group.people}" for group in self.groups)
            raise StudyFullError(
                f"every group of {self.study} is full ({full}); nobody else can take part unless the study file has"
                " more 'people' for a group"
            )
        return vacant

    def _why_gone(self, folder: Path, person: Person) -> str:
        """Why somebody who has a place is gone; empty for who is not: who has finished, gives
        signs, or is at a page now."""
        began = datetime.fromisoformat(person.since).timestamp()
        if self.drop_out_s is None or self.clock() - began <= self.drop_out_s:
            return ""
        visits = runs(folder, person.name) if person.name else []
        visit = visits[-1] if visits else None
        finished, refused = (False, "") if visit is None else _last_word(visit / JOURNAL)
        if finished:
            return ""
        if refused and refused >= person.since:
            return REFUSED
        signs = visit is not None and (self.clock() - last_sign(visit) <= self.drop_out_s or _in_use(visit))
        return "" if signs else DROPPED_OUT


def _taking_part(everybody: Iterable[Person], kind: Kind) -> list[Person]:
    return [person for person in everybody if person.kind == kind and person.takes_part]


def _count(here: Iterable[Person], group: str) -> int:
    return sum(person.group == group for person in here)


def _in_use(visit: Path) -> bool:
    try:
        with only_writer(visit):
            return False
    except TakenError:
        return True


def _last_word(journal: Path) -> tuple[bool, str]:
    """Return whether a session of a study is finished, and when (UTC) its participant refused to
    take part, if that was final."""
    try:
        stat = journal.stat()
    except OSError:
        return False, ""
    return _read_journal(journal, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4096)
def _read_journal(journal: Path, changed: int, size: int) -> tuple[bool, str]:
    lines = read_lines(journal)
    answers = [line for line in lines if line["event"] in ("consent", "refused")]
    refused = str(answers[-1].get("at", "")) if answers and answers[-1]["event"] == "refused" else ""
    return any(line["event"] == "finished" for line in lines), refused


def assigner(study: Study, data: Path) -> Assigner:
    """The assignment of participants to the places of a study.

    Parameters
    ----------
    data : data folder
    """
    return Assigner(
        study.groups,
        study.name,
        1 if study.seed is None else study.seed,
        study.people,
        data / study.name,
        study.drop_out_s,
    )


def group_counts(groups: Sequence[Group], everybody: Iterable[Person]) -> str:
    """Describe the number of people in each group: ``training 5, control 4``."""
    here = _taking_part(everybody, "person")
    return ", ".join(
        f"{group.name} {_count(here, group.name)}" + (f" of {group.people}" if group.people is not None else "")
        for group in groups
    )
