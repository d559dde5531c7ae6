"""Formats that hold trials one by one: a subclass reads and writes them, and everything that all of
them share is done here.

However trials are read, they become trials files in one way (:func:`import_sets`): all sets or
none, and malformed trials are reported or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic

from pydantic import Field
from typing_extensions import TypeVar, override

from ..core.atomic_files import whole_folder, whole_path
from ..core.errors import MAX_PROBLEMS, Problem, SpanLabError
from ..paradigms.compile import drawn_names, drawn_values, resolve_levels
from ..paradigms.paradigm import Generator, Paradigm
from ..paradigms.trials_file import GivenTrial, given_trial, write_trials
from ..sessions.plan import plan_trials
from .format import LIBRARY, Format, Levels, OfGenerator, Options, Report, Side, SkipMalformed, counted


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


class ReadingOptions(Options):
    """The options of everybody who reads trials."""

    skip_malformed: SkipMalformed = False


class WritingOptions(Options):
    """The options of everybody who writes trials: the same trials as ``spanlab replay`` takes with
    the same options."""

    trials: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="number of trials, shared out over the factor levels")
    ] = None
    design: Annotated[str | None, Field(description="design in the paradigm's file; 'human' when not given")] = None
    seed: Annotated[int, Field(ge=0, description="seed of the trials")] = 1
    generator: OfGenerator = "corrected"
    levels: Levels = Field(default_factory=dict)


T = TypeVar("T")
R = TypeVar("R", bound=ReadingOptions, default=ReadingOptions)
W = TypeVar("W", bound=WritingOptions, default=WritingOptions)


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


class TrialsFormat(Format[R, W]):
    """A format for trials: ``help`` says what it is, ``read_trials`` and ``write_trials`` (or one
    of them) do the work."""

    help: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.reads is None and cls.read_trials is not TrialsFormat.read_trials:
            cls.reads = Side("trials", cls.help, ReadingOptions)
        if cls.writes is None and cls.write_trials is not TrialsFormat.write_trials:
            cls.writes = Side("trials", cls.help, WritingOptions, LIBRARY)

    def read_trials(self, source: Path, options: R) -> Iterable[TrialSet]:
        """The trials in a file or folder, one set for each paradigm. The caller checks and writes
        them."""
        raise self._refusal("read", None)

    def write_trials(self, trials: TrialSet, output: Path, options: W) -> None:
        """Write trials as a new file or folder, which takes its place when all of it is written."""
        raise self._refusal("written", None)

    @override
    def read(self, sources: Sequence[Path], output: Path, options: R, report: Report) -> None:
        (source,) = sources
        if not source.exists():
            raise SpanLabError(f"{source} cannot be read: there is no such file or folder")
        try:
            imported = import_sets(source, output, self._sets(source, options), options.skip_malformed)
        except (KeyError, TypeError, ValueError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            raise SpanLabError(f"{source} cannot be read by the format '{self.name}' ({why})") from error
        for done in imported:
            report.left_out(done.named)
            if done.trials:
                report.done(f"{done.file}: {counted(done.trials, 'trial')}")

    @override
    def write(self, sources: Sequence[str], output: Path, options: W, report: Report) -> None:
        (paradigm,) = sources
        chosen = plan_trials(paradigm, options.seed, options.levels, options.trials, options.design, options.generator)
        if any(planned.varies for planned in chosen.plan):
            raise SpanLabError(
                f"the design '{chosen.design}' of {paradigm} chooses levels by the answers: name another one with"
                " {design}",
                names=["design"],
            )

        def trials() -> Iterator[GivenTrial]:
            for number, planned in enumerate(chosen.plan, start=1):
                levels = resolve_levels(chosen.paradigm, planned.levels, planned.seed)
                yield GivenTrial(
                    f"trial_{number:06d}",
                    levels,
                    drawn_values(chosen.paradigm, levels, planned.seed, options.generator),
                )

        source = {"paradigm": chosen.paradigm.name, "design": chosen.design, "seed": options.seed}
        with whole_path(output) as partial:
            self.write_trials(TrialSet(chosen.paradigm, trials(), options.generator, source), partial, options)
        report.done(f"{output}: {counted(len(chosen.plan), 'trial')}")

    def _sets(self, source: Path, options: R) -> Iterator[TrialSet]:
        """Yield what the format gives; each trial is checked when it is asked for."""
        for given in self.read_trials(source, options):
            origin = {"format": self.name, "file": source.name, **given.source}
            yield replace(given, trials=_checked(source, given, origin), source=origin)


def _checked(source: Path, given: TrialSet, origin: dict[str, Any]) -> Iterator[GivenTrial | Problem]:
    """The trials that are well-formed, and what is wrong with the others; their number goes into
    ``origin``."""
    names: set[str] = set()
    origin["left_out"] = 0
    for item in given.trials:
        trial = item
        if isinstance(item, GivenTrial):
            try:
                named = isinstance(item.name, str) and 0 < len(item.name) <= 200
                if not (named and isinstance(item.levels, Mapping) and isinstance(item.draws, Mapping)):
                    raise SpanLabError("expected a name, levels and draws")
                trial = given_trial(given.paradigm, item.name, item.levels, item.draws)
                drawn_names(given.paradigm, trial.levels, 0, given.generator, trial.draws)
                if trial.name in names:
                    raise SpanLabError("a second trial of this name")
                names.add(trial.name)
            except SpanLabError as error:
                trial = Problem(str(source), str(item.name), str(error))
        origin["left_out"] += isinstance(trial, Problem)
        yield trial
