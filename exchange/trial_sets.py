"""Sets of trials that come from elsewhere: however a format reads trials, they become trials files
here, all sets or none, and malformed trials are reported or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Generic

from typing_extensions import TypeVar

from ..core.atomic_files import whole_folder
from ..core.errors import MAX_PROBLEMS, Problem, SpanLabError
from ..paradigms.paradigm import Generator, Paradigm
from ..paradigms.trials_file import GivenTrial, write_trials
from ..paradigms.trials_file import given_trial as given_trial


def format_problems(problems: Sequence[Problem]) -> list[str]:
    """One line per problem; of very many the first ones, and how many more there are."""
    more = [f"... and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    return [*map(str, problems[:MAX_PROBLEMS]), *more]


def refused(problems: Sequence[Problem]) -> SpanLabError:
    """Return the error that says why nothing was imported."""
    return SpanLabError(
        "\n".join(
            [*format_problems(problems), "nothing was imported; correct this, or use {skip_malformed} to leave it out"]
        ),
        names=["skip_malformed"],
    )


@dataclass(frozen=True, slots=True)
class TrialSet:
    """Trials of one paradigm.

    Parameters
    ----------
    paradigm : whose trials these are
    trials : each with its name, a level for every factor and a value for everything that is drawn
        at random; what is malformed is a ``Problem`` in its place
    generator : corrected or published
    source : what the record is to say of where they come from, besides the format and the name of
        the file
    stem : what the trials file is called; after the paradigm when not given
    """

    paradigm: Paradigm
    trials: Iterable[GivenTrial | Problem]
    generator: Generator = "corrected"
    source: Mapping[str, Any] = field(default_factory=dict)
    stem: str = ""


S = TypeVar("S", bound=TrialSet)


@dataclass(slots=True)
class ImportedSet(Generic[S]):
    """The result of importing a set of trials.

    Parameters
    ----------
    set : as it was read
    file : the trials file; there is none when all trials were left out
    trials : in it
    skipped : malformed trials that are not
    named : what is wrong with them, or with the first of them
    """

    set: S
    file: Path
    trials: int = 0
    skipped: int = 0
    named: list[Problem] = field(default_factory=list)


def import_sets(
    source: Path,
    output: Path,
    sets: Iterable[S],
    skip_malformed: bool = False,
    *,
    problems: Sequence[Problem] = (),
    most_named: int | None = None,
    unit: str = "trial",
) -> list[ImportedSet[S]]:
    """Write sets of trials as trials files, all of them or none; the sets are gone through once,
    one after the other.

    Parameters
    ----------
    source : where they come from, for messages
    output : new folder for the trials files
    skip_malformed : leave out what is malformed, instead of importing nothing
    problems : what is wrong besides; what is left out is named with the first set
    most_named : malformed trials of a set that are named one by one when they are left out; all
        when not given
    unit : what a trial is called

    Raises
    ------
    SpanLabError
        when no trial can be read, or (unless it is left out) for everything that is malformed;
        nothing is left behind then.
    """
    malformed = [*problems]
    imported: list[ImportedSet[S]] = []

    def well_formed(done: ImportedSet[S]) -> Iterator[GivenTrial]:
        for item in done.set.trials:
            if isinstance(item, GivenTrial):
                yield item
                continue
            done.skipped += 1
            if most_named is None or len(done.named) < most_named:
                done.named.append(item)
            if not skip_malformed:
                malformed.append(item)
                if most_named is not None and len(malformed) == MAX_PROBLEMS - 1:
                    raise refused(
                        [*malformed, Problem(item.where, "", "so many trials are malformed that the rest was not read")]
                    )

    with whole_folder(output) as partial:
        for one in sets:
            done = ImportedSet(one, output / f"{one.stem or one.paradigm.name}.jsonl")
            trials = well_formed(done)
            if (first := next(trials, None)) is not None:
                # What a set's source says may be known only when all have been read; the first line
                # of the file is written last.
                done.trials = write_trials(
                    partial / done.file.name, one.paradigm, one.generator, one.source, chain([first], trials)
                )
            if done.trials or done.skipped:
                imported.append(done)
        if malformed and not skip_malformed:
            raise refused(malformed)
        for first_set in imported[:1]:
            first_set.named[:0] = problems
        if not any(done.trials for done in imported):
            left_out = [problem for done in imported for problem in done.named] or [*problems]
            raise SpanLabError("\n".join([*format_problems(left_out), f"not one {unit} of {source} can be read"]))
    return imported
