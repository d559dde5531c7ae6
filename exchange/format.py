"""Formats: the name of each, what it reads and writes, and its options.

A format declares these once, and its commands follow from them: ``spanlab import NAME`` for what it
reads, ``spanlab export NAME`` for what it writes. However a format reads trials, they become
trials files in one way (:func:`import_sets`): all sets or none, and malformed trials are reported or
left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar, override

from ..core.atomic_files import whole_folder
from ..core.errors import MAX_PROBLEMS, Problem, SpanLabError, in_number
from ..core.json_values import csv_text as csv_text
from ..core.json_values import harmless as harmless
from ..core.registry import Registry
from ..paradigms.paradigm import Generator, Paradigm
from ..paradigms.trials_file import GivenTrial, write_trials
from ..paradigms.trials_file import given_trial as given_trial

if TYPE_CHECKING:
    from ..analysis.data.recipe import Recipe


#: Trials that nobody has answered yet, answers that others have published, sessions recorded here,
#: a table of answers that others recorded, or protocols.
Content = Literal["trials", "results", "sessions", "table", "presets"]
#: Levels to use for some factors.
Levels = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Flag:
    """The spelling of an option on the command line, where it differs from the name of its field.

    Parameters
    ----------
    name : such as ``--as``
    metavar : what stands for its value in the help, such as ``PARADIGM``
    """

    name: str = ""
    metavar: str = ""


class Options(BaseModel):
    """Options of a format: one field for each, with a type, a default and a line of help."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SkipMalformed = Annotated[bool, Field(description="leave out malformed items, instead of importing nothing")]
AsParadigm = Annotated[
    str | None,
    Field(description="the paradigm, if names do not determine it, or to choose another one"),
    Flag("--as", "PARADIGM"),
]
OfGenerator = Annotated[Generator, Field(description="corrected or published trials")]


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that is read or written, or several.

    Parameters
    ----------
    help : what it is, in a line
    metavar : what stands for it in the help, such as ``FOLDER``
    many : whether there may be several
    """

    help: str
    metavar: str
    many: bool = False


LIBRARY = Place("name in the library (spanlab list), or a YAML file", "PARADIGM")
R = TypeVar("R", bound=Options, default=Options)
W = TypeVar("W", bound=Options, default=Options)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a format: what it reads, or what it writes.

    Parameters
    ----------
    content : trials, results, sessions, a table or presets. Trials are read into trials files,
        results and sessions into sessions, a table into a response table, and presets into files of
        chat settings
    help : what comes of it, in a sentence
    options : what there is to choose
    source : what is read, or what is written: a paradigm, of which trials are made, or folders of
        sessions
    target : where it is written; for what is read, SpanLab says so itself
    """

    content: Content
    help: str
    options: type[Options]
    source: Place = Place("file or folder in this format", "PATH")
    target: Place = Place("new file or folder", "PATH")


def _complain(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Report:
    """The messages of an import or export.

    Parameters
    ----------
    done : gets a line for everything that was made
    note : gets a line for everything that somebody has to know besides
    """

    done: Callable[[str], None] = print
    note: Callable[[str], None] = _complain

    def left_out(self, problems: Iterable[Problem]) -> None:
        """Report what was malformed and left out on request."""
        for problem in problems:
            self.note(f"left out: {problem}")


class Format(Generic[R, W]):
    """A format of others. A direction that a subclass does not define is refused with a message."""

    #: ``spanlab import NAME``, ``spanlab export NAME``
    name: ClassVar[str] = ""
    #: what is read by :meth:`read`, and what is written by :meth:`write`
    reads: ClassVar[Side | None] = None
    writes: ClassVar[Side | None] = None

    def read(self, sources: Sequence[Path], output: Path, options: R, report: Report) -> None:
        """Import everything or nothing.

        Parameters
        ----------
        sources : files or folders; one, unless ``reads.source.many``
        output : for trials a new folder for trials files, for a table a new file, otherwise the
            folder for sessions, which may hold others already
        options : of the class ``reads.options``
        report : is told what was made

        Raises
        ------
        SpanLabError
            for everything that is malformed; nothing is left behind then.
        """
        raise self._refusal("read", self.writes and f"it writes {self.writes.content}")

    def write(self, sources: Sequence[str], output: Path, options: W, report: Report) -> None:
        """Export everything or nothing.

        Parameters
        ----------
        sources : where trials are written, one paradigm (name or file), otherwise folders of
            sessions
        output : where
        options : of the class ``writes.options``
        report : is told what was made

        Raises
        ------
        SpanLabError
            when that cannot be written, or something is there already; nothing is left behind then.
        """
        raise self._refusal("written", self.reads and f"it reads {self.reads.content}")

    def _refusal(self, done: str, instead: str | None) -> SpanLabError:
        return SpanLabError(f"the format '{self.name}' cannot be {done}{f': {instead}' if instead else ''}")


def counted(many: int, word: str) -> str:
    """``1 block``, ``2 blocks``."""
    several = f"{word}{'e' * word.endswith('ch')}s"
    return f"{many} {in_number(many, word, several)}"


_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class FormatRegistry(Registry[Format[Any, Any]]):
    """Formats by name, from extensions and other packages (entry points ``spanlab.formats``)."""

    @override
    def name_of(self, value: Any) -> str:
        if not (isinstance(value, type) and issubclass(value, Format)):
            raise ValueError(f"{value!r} is not a subclass of Format")
        cls: type[Format[Any, Any]] = value
        if not _NAME.fullmatch(cls.name):
            raise ValueError(
                f"{cls.__name__} needs a name of small letters, digits and hyphens, such as name ="
                f" '{cls.__name__.lower()}'; found '{cls.name}'"
            )
        if cls.reads is None and cls.writes is None:
            raise ValueError(f"{cls.__name__} neither reads nor writes anything")
        return cls.name

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.known()))


FORMATS = FormatRegistry("format", "spanlab.formats")


def read_recipe(texts: str | Sequence[str] | None) -> Recipe | None:
    """What the columns of tables mean: from a file in YAML, or as typed (``subject=participant``);
    None where nothing is said.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or says what cannot be.
    """
    from ..analysis.data.recipe import Recipe, read_inline
    from ..core.errors import ParadigmError
    from ..paradigms.language.diagnostics import in_order, validated
    from ..paradigms.language.yaml_source import read

    given = [texts] if isinstance(texts, str) else [*(texts or ())]
    if not given:
        return None
    if len(given) > 1 or Path(given[0]).suffix.lower() not in (".yaml", ".yml"):
        return read_inline(given)
    document = read(Path(given[0]))
    recipe, problems = validated(Recipe, document.data)
    if problems or not isinstance(recipe, Recipe):
        raise ParadigmError(in_order(document.problem(path, message) for path, message in problems))
    return recipe


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
