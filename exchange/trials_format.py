"""Formats that hold trials one by one: a subclass reads and writes them, and everything that is alike for all of them is done here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import TypeVar, override

from ..core.atomic_files import whole_folder, whole_path
from ..core.errors import Problem, SpanLabError
from ..paradigms.compile import check_draws, drawn_values, resolve_levels
from ..paradigms.paradigm import Generator, Paradigm
from ..paradigms.trials_file import GivenTrial, given_trial, write_trials
from ..sessions.chosen_trials import plan_trials
from .format import LIBRARY, Format, Levels, OfGenerator, Options, Report, Side, SkipMalformed, counted
from .malformed import format_problems, refused


class ReadingOptions(Options):
    """What everybody can choose who reads trials."""

    skip_malformed: SkipMalformed = False


class WritingOptions(Options):
    """What everybody can choose who writes trials: the same trials as ``spanlab replay`` takes with the same options."""

    trials: Annotated[int | None, Field(ge=1, le=1_000_000, description="number of trials, shared out over the factor levels")] = None
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
    trials : each with its name, a level for every factor and a value for everything that is drawn at random; what is malformed is a ``Problem`` in its place
    generator : corrected or published
    source : what the record is to say of where they come from, besides the format and the name of the file
    """

    paradigm: Paradigm
    trials: Iterable[GivenTrial | Problem]
    generator: Generator = "corrected"
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.paradigm, Paradigm):
            raise TypeError(f"the paradigm of a TrialSet is {self.paradigm!r:.100}; expected is what load_paradigm gives")


class TrialsFormat(Format[R, W]):
    """A format for trials: ``help`` says what it is, ``read_trials`` and ``write_trials`` (or one of them) do the work."""

    help: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.reads is None and cls.read_trials is not TrialsFormat.read_trials:
            cls.reads = Side("trials", cls.help, ReadingOptions)
        if cls.writes is None and cls.write_trials is not TrialsFormat.write_trials:
            cls.writes = Side("trials", cls.help, WritingOptions, LIBRARY)

    def read_trials(self, source: Path, options: R) -> Iterable[TrialSet]:
        """The trials in a file or folder, one set for each paradigm. They are checked and written by whoever calls."""
        raise self._refusal("read", None)

    def write_trials(self, trials: TrialSet, output: Path, options: W) -> None:
        """Write trials as a new file or folder, which takes its place when all of it is written."""
        raise self._refusal("written", None)

    @override
    def read(self, sources: Sequence[Path], output: Path, options: R, report: Report) -> None:
        (source,) = sources
        if not source.exists():
            raise SpanLabError(f"{source} cannot be read: there is no such file or folder")
        problems: list[Problem] = []
        written: dict[str, int] = {}
        with whole_folder(output) as partial:
            for trial_set in self._guarded(source, lambda: self.read_trials(source, options), TrialSet):
                name = trial_set.paradigm.name
                if name in written:
                    raise SpanLabError(f"{source}: the format '{self.name}' gives two sets of trials of {name}; expected is one for each paradigm")
                origin = {"format": self.name, "file": source.name, **trial_set.source}
                trials = self._checked(source, trial_set, problems, origin)
                if (first := next(trials, None)) is not None:
                    # The origin counts what is left out; the first line of the file is written last.
                    written[name] = write_trials(partial / f"{name}.jsonl", trial_set.paradigm, trial_set.generator, origin, chain([first], trials))
            if problems and not options.skip_malformed:
                raise refused(problems)
            if not written:
                raise SpanLabError("\n".join([*format_problems(problems), f"not one trial of {source} can be read"]))
        report.left_out(problems)
        for name, many in written.items():
            report.done(f"{output / f'{name}.jsonl'}: {counted(many, 'trial')}")

    @override
    def write(self, sources: Sequence[str], output: Path, options: W, report: Report) -> None:
        (paradigm,) = sources
        chosen = plan_trials(paradigm, options.seed, options.levels, options.trials, options.design, options.generator)
        if any(planned.varies for planned in chosen.plan):
            raise SpanLabError(f"the design '{chosen.design}' of {paradigm} chooses levels by the answers: name another one with --design")

        def trials() -> Iterator[GivenTrial]:
            for number, planned in enumerate(chosen.plan, start=1):
                levels = resolve_levels(chosen.paradigm, planned.levels, planned.seed)
                yield GivenTrial(f"trial_{number:06d}", levels, drawn_values(chosen.paradigm, levels, planned.seed, options.generator))

        source = {"paradigm": chosen.paradigm.name, "design": chosen.design, "seed": options.seed}
        with whole_path(output) as partial:
            try:
                self.write_trials(TrialSet(chosen.paradigm, trials(), options.generator, source), partial, options)
            except (SpanLabError, OSError):
                raise
            except Exception as error:
                raise SpanLabError(f"{output} cannot be written by the format '{self.name}' ({type(error).__name__}: {error})") from error
            if not partial.exists():
                raise SpanLabError(f"the format '{self.name}' has written nothing to {output}; this is a fault of the format")
        report.done(f"{output}: {counted(len(chosen.plan), 'trial')}")

    def _checked(self, source: Path, given: TrialSet, problems: list[Problem], origin: dict[str, Any]) -> Iterator[GivenTrial]:
        """The trials that are well-formed; everything else goes to ``problems``, and its number into ``origin``."""
        names: set[str] = set()
        before = len(problems)
        for item in self._guarded(source, lambda: given.trials, (GivenTrial, Problem)):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            try:
                if not (isinstance(item.name, str) and 0 < len(item.name) <= 200 and isinstance(item.levels, Mapping) and isinstance(item.draws, Mapping)):
                    raise SpanLabError("expected a name, levels and draws")
                trial = given_trial(given.paradigm, item.name, item.levels, item.draws)
                check_draws(given.paradigm, trial.levels, given.generator, trial.draws)
                if trial.name in names:
                    raise SpanLabError("a second trial of this name")
            except SpanLabError as error:
                problems.append(Problem(str(source), str(item.name), str(error)))
            else:
                names.add(trial.name)
                yield trial
        origin["left_out"] = len(problems) - before

    def _guarded(self, source: Path, items: Callable[[], Iterable[T]], expected: type[T] | tuple[type[T], ...]) -> Iterator[T]:
        """What a format gives; whatever goes wrong in it is told in a sentence."""
        try:
            for item in items():
                if not isinstance(item, expected):
                    raise SpanLabError(f"the format '{self.name}' gives {item!r:.200} while it reads {source}; this is a fault of the format")
                yield item
        except SpanLabError:
            raise
        except Exception as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
            raise SpanLabError(f"{source} cannot be read by the format '{self.name}' ({why})") from error
