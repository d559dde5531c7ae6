"""Files of trials that come from elsewhere: JSON lines, one paradigm a file.

The first line says what the file is (:class:`TrialsHeader`); each of the others is one trial: its
``name``, the ``levels`` of all factors, and its ``draws``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..core.atomic_files import whole_file
from ..core.errors import Problem, SpanLabError
from ..core.json_values import STRICT_JSON, grouped
from ..core.registry import StrictModel
from .compile import MAX_SESSION_TRIALS, PlannedTrial
from .identity import stream, trial_seed
from .language.diagnostics import listed, show, validated
from .paradigm import Generator, Paradigm, load_paradigm

FORMAT, VERSION = "spanlab-trials", 1
#: a longer line is not a trial
_LONGEST = 4_000_000


class TrialsHeader(StrictModel):
    """The first line of a trials file."""

    format: Literal["spanlab-trials"] = Field(description="spanlab-trials")
    version: Literal[1] = Field(description="version of the format")
    paradigm: str = Field(description="the paradigm of the trials")
    paradigm_version: int = Field(description="version of the paradigm")
    source: str | dict[str, Any] = Field(description="the source of the trials")
    generator: Generator = Field(description="corrected or published")
    trials: Annotated[int, Field(ge=1)] = Field(description="number of trials")


class _TrialLine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=200)]
    levels: dict[str, Any]
    draws: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GivenTrial:
    """A trial that comes from elsewhere.

    Parameters
    ----------
    name : such as ``train_000012``
    levels : of all factors
    draws : of everything that is random, by name, as plain values
    """

    name: str
    levels: Mapping[str, Any]
    draws: Mapping[str, Any]


def given_trial(paradigm: Paradigm, name: str, levels: Mapping[str, Any], draws: Mapping[str, Any]) -> GivenTrial:
    """A trial that somebody else has made, with a level for every factor and a value for everything
    that is random.

    Raises
    ------
    SpanLabError
        for a factor, level or draw that there is not, and for one that is missing.
    """
    by_factor = {factor: paradigm.level(factor, level) for factor, level in levels.items()}
    for factor in paradigm.factors:
        if factor not in by_factor:
            raise SpanLabError(f"the level of '{factor}' is missing")
    plain = paradigm.given(draws)
    needed = [draw.name for draw in paradigm.draws if draw.is_random]
    for draw in needed:
        if draw not in draws:
            raise SpanLabError(f"{paradigm.name}: the draw '{draw}' is missing; a trial has all of {listed(needed)}")
    return GivenTrial(name, {factor: by_factor[factor] for factor in paradigm.factors}, plain)


def write_trials(
    path: Path, paradigm: Paradigm, generator: Generator, source: str | Mapping[str, Any], trials: Iterable[GivenTrial]
) -> int:
    """Write a trials file, whole or not at all.

    Returns
    -------
    the number of trials

    Raises
    ------
    SpanLabError
        when it cannot be written, or there are no trials.
    """
    many = 0
    with whole_file(path) as file, TemporaryFile("w+", encoding="utf-8", newline="\n") as lines:
        for trial in trials:
            many += 1
            lines.write(_line(asdict(trial)))
        if not many:
            raise SpanLabError(f"there are no trials to write to {path}")
        header = TrialsHeader(
            format=FORMAT,
            version=VERSION,
            paradigm=paradigm.name,
            paradigm_version=paradigm.version,
            source=source if isinstance(source, str) else dict(source),
            generator=generator,
            trials=many,
        )
        file.write(_line(header.model_dump()))
        lines.seek(0)
        shutil.copyfileobj(lines, file, 2**20)
    return many


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


class TrialsFile:
    """A trials file, read line by line as it is iterated over.

    Parameters
    ----------
    path : the file
    paradigm : where to find its paradigm, a name in the library or a YAML file; by the name in the
        file when not given

    Raises
    ------
    SpanLabError
        when it is not a trials file, or not one of the paradigm as it is now; while iterating, also
        for a line that is not a trial of the paradigm.
    """

    def __init__(self, path: str | Path, paradigm: str | Path | None = None) -> None:
        self.path = Path(path)
        self.header = self._read_header()
        self.paradigm = load_paradigm(paradigm or self.header.paradigm)
        if self.paradigm.name != self.header.paradigm:
            raise SpanLabError(f"{self.path} holds trials of {self.header.paradigm}, not of {self.paradigm.name}")
        if self.paradigm.version != self.header.paradigm_version:
            raise SpanLabError(
                f"{self.path} was written for version {self.header.paradigm_version} of {self.paradigm.name}; this is"
                f" version {self.paradigm.version}, whose trials may be others: import them again"
            )

    def __iter__(self) -> Iterator[GivenTrial]:
        for _, trial in self.numbered():
            yield trial

    def numbered(self) -> Iterator[tuple[int, GivenTrial]]:
        """The trials with the numbers of their lines."""
        names: set[str] = set()
        number = 1
        for number, text in islice(self._lines(), 1, None):
            trial = self._trial(number, text)
            if trial.name in names:
                raise self.wrong(number, f"a second trial called {show(trial.name)}")
            names.add(trial.name)
            yield number, trial
        if len(names) != self.header.trials:
            raise self.wrong(
                number,
                f"the file ends after {len(names)} of {self.header.trials} trials; is it cut off? Write it again",
            )

    def sha256(self) -> str:
        """The hash of the whole file."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise SpanLabError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def wrong(self, number: int, message: str) -> SpanLabError:
        """Return the error for a line."""
        return SpanLabError(str(Problem(f"{self.path}:{number}", "", message)))

    def _lines(self) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            with self.path.open("rb") as file:
                while line := file.readline(_LONGEST + 1):
                    number += 1
                    if len(line) > _LONGEST:
                        raise self.wrong(
                            number, f"a line of more than {_LONGEST} bytes; this is not a trials file of SpanLab"
                        )
                    yield number, line.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong(number, "this is not UTF-8 text") from None
        except OSError as error:
            raise SpanLabError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _read_header(self) -> TrialsHeader:
        number, text = next(self._lines(), (1, ""))
        data = self._parsed(number, text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise self.wrong(
                1,
                f'this is not a trials file: its first line must say {{"format": "{FORMAT}", ...}} (spanlab import'
                " writes such files)",
            )
        if isinstance(data.get("version"), int) and data["version"] > VERSION:
            raise self.wrong(
                1,
                f"written by a newer spanlab (format {data['version']}, this one reads up to {VERSION}): update"
                " spanlab",
            )
        return self._valid(TrialsHeader, 1, data)

    def _trial(self, number: int, text: str) -> GivenTrial:
        line = self._valid(_TrialLine, number, self._parsed(number, text))
        try:
            return given_trial(self.paradigm, line.name, line.levels, line.draws)
        except SpanLabError as error:
            raise self.wrong(number, f"{show(line.name)}: {error}") from None

    def _parsed(self, number: int, text: str) -> Any:
        try:
            data = json.loads(text, **STRICT_JSON)
            if r"\ud" in text.lower():
                json.dumps(data, ensure_ascii=False).encode("utf-8")
            return data
        except UnicodeEncodeError:
            why = "half a letter"
        except json.JSONDecodeError as error:
            why = f"{error.msg} at column {error.colno}"
        except ValueError as error:
            why = str(error)
        except RecursionError:
            why = "nested too deep"
        raise self.wrong(number, f"this line is not JSON ({why})")

    def _valid(self, model: Any, number: int, data: Any) -> Any:
        built, problems = validated(model, data)
        if built is None:
            raise self.wrong(
                number,
                "; ".join(f"{'.'.join(map(str, path))}: {message}" if path else message for path, message in problems),
            )
        return built


def plan_given(file: TrialsFile, seed: int, trials: int | None = None) -> list[PlannedTrial]:
    """A session of the trials of a file, in the order of the file. Each is compiled once, so that a
    fault is told with its line before anybody begins.

    Parameters
    ----------
    file : where the trials are
    seed : of the session
    trials : how many of them: shared out evenly over the factor levels, at random; all when not
        given

    Raises
    ------
    SpanLabError
        when there are not so many, or one is not a trial of the paradigm.
    """
    many = file.header.trials if trials is None else trials
    if many > file.header.trials:
        raise SpanLabError(f"{file.path} holds {file.header.trials} trials; {many} are too many")
    if many > MAX_SESSION_TRIALS:
        raise SpanLabError(
            f"{file.path}: a session of {many} trials; at most {MAX_SESSION_TRIALS} are possible: choose some of them"
            " with {trials}",
            names=["trials"],
        )
    chosen = None if trials is None else _chosen(file, seed, trials)
    planned: list[PlannedTrial] = []
    for number, trial in file.numbered():
        if chosen is not None and number not in chosen:
            continue
        index = len(planned)
        one = PlannedTrial(
            1, index + 1, trial.levels, trial_seed("session", seed, index), draws=trial.draws, name=trial.name
        )
        try:
            one.compile(file.paradigm, file.header.generator)
        except SpanLabError as error:
            raise file.wrong(number, f"{show(trial.name)}: {error}") from None
        planned.append(one)
    return planned


def _chosen(file: TrialsFile, seed: int, trials: int) -> set[int]:
    """The lines of so many trials: as many of each combination of factor levels as of any other, as
    long as there are."""
    random = stream(file.paradigm.name, seed, "given")
    groups = grouped((repr(trial.levels), number) for number, trial in file.numbered())
    shuffled = [[group[n] for n in random.permutation(len(group))] for group in groups.values()]
    turns = [
        (turn, place, number)
        for group, place in zip(shuffled, random.permutation(len(shuffled)), strict=True)
        for turn, number in enumerate(group)
    ]
    return {number for _, _, number in sorted(turns)[:trials]}
