"""Published results as sessions: the answers of a model in an N-back study, so that they can be
analysed like any others.

The stimuli of that study (AAAI 2024) are recorded as they were sent to chat models, and are read
back into what was shown. A letter is itself; with noise it stands somewhere in a string of other
signs (``%@l#``). A grid is one line: its rows between bars, each cell empty (``_``), holding the
``X``, or holding a noise sign, all within backticks.

A file is one object; ``"2back_17"`` holds the trials of one block, each with the stimulus as sent,
its target, the response that was extracted, whether it was correct, and the time of the reply in
seconds. ``Infinity`` marks answers that were written into the history and never asked; blocks that
were never run, or not to their end, have empty texts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from spanlab.agents import Published, Response
from spanlab.core import STRICT_JSON, SpanLabError, whole_folder
from spanlab.core.errors import Problem
from spanlab.exchange import format_problems, refused
from spanlab.paradigms import Generator, Paradigm, Percept, PlannedTrial, load_paradigm, trial_seed
from spanlab.paradigms.language import show
from spanlab.sessions import Request, Runner, begin

from .blocks import BlockTask, GivenBlock

_KEY = re.compile(r"([1-9][0-9]?)back_(0|[1-9][0-9]{0,5})")
_FIELDS = ("stimulus", "target", "response", "correct", "rt")
_RESULT = ("response", "correct", "rt")
_LABELS = ("m", "-")
_MOST_BYTES = 200_000_000
#: a day: no reply took longer
_LONGEST_S = 86_400

State = Literal["finished", "unfinished", "never run"]


@dataclass(frozen=True, slots=True)
class Answered:
    """One trial of a block, as the file has it; ``rt_ms`` is None for an answer that was never
    asked."""

    stimulus: str
    target: str
    response: str
    correct: bool
    rt_ms: float | None

    @property
    def prefilled(self) -> bool:
        """True if the answer was written into the history instead of being asked."""
        return self.rt_ms is None


@dataclass(frozen=True, slots=True)
class Block:
    """One finished block: its key in the file, level, number, and trials."""

    key: str
    n: int
    number: int
    trials: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """The content of a file of results.

    Parameters
    ----------
    blocks : finished ones, in the order of the file
    unfinished, never_run : keys of blocks that were begun and not finished, and of placeholders
    problems : what is wrong, by key and trial
    """

    blocks: tuple[Block, ...]
    unfinished: tuple[str, ...]
    never_run: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_results(path: Path) -> Results:
    """Read and check a file of results.

    Raises
    ------
    SpanLabError
        when the file cannot be read at all.
    """
    content = _content(path)
    length = max((len(trials) for trials in content.values() if isinstance(trials, list)), default=0)
    blocks: list[Block] = []
    problems: list[Problem] = []
    left: dict[State, list[str]] = {"unfinished": [], "never run": []}
    for key, trials in content.items():
        try:
            named = _KEY.fullmatch(key)
            if named is None:
                raise _FaultError(None, "this is not a name of a block; expected names such as 1back_0")
            state, answered = _block(trials, length)
            if state == "finished":
                blocks.append(Block(key, int(named[1]), int(named[2]), answered))
            else:
                left[state].append(key)
        except _FaultError as fault:
            problems.append(
                Problem(str(path), key if fault.trial is None else f"{key} > trial {fault.trial}", str(fault))
            )
    return Results(tuple(blocks), tuple(left["unfinished"]), tuple(left["never run"]), tuple(problems))


class _FaultError(Exception):
    """Raised where something is wrong with a block: in which of its trials (from 1), or in all of
    it."""

    def __init__(self, trial: int | None, message: str) -> None:
        super().__init__(message)
        self.trial = trial


def _content(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SpanLabError(f"{path} is longer than {_MOST_BYTES // 1_000_000} MB: it holds no results of this kind")
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=STRICT_JSON["object_pairs_hook"])
    except OSError as error:
        raise SpanLabError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SpanLabError(f"{path} is not a text file (it is not UTF-8)") from None
    except json.JSONDecodeError as error:
        raise SpanLabError(f"{path}:{error.lineno} is not JSON (column {error.colno}: {error.msg})") from None
    except RecursionError:
        raise SpanLabError(f"{path} is nested too deeply to hold results") from None
    except ValueError as error:  # a key that occurs twice, a number of thousands of digits
        raise SpanLabError(f"{path} is not JSON that can be read ({error})") from None
    if not isinstance(content, dict) or not content:
        raise SpanLabError(
            f'{path} holds no results; expected an object with blocks, such as {{"1back_0": [...]}}; found'
            f" {show(content)}"
        )
    return content


def _block(trials: Any, length: int) -> tuple[State, tuple[Answered, ...]]:
    if not isinstance(trials, list):
        raise _FaultError(None, f"expected a list of trials; found {show(trials)}")
    if not trials:
        return "never run", ()
    for number, trial in enumerate(trials, start=1):
        _check_fields(number, trial)
    empty = [number for number, trial in enumerate(trials, start=1) if all(trial[name] == "" for name in _RESULT)]
    if len(empty) == len(trials):
        return "never run", ()
    if empty and empty != list(range(empty[0], len(trials) + 1)):
        raise _FaultError(empty[0], "nothing was answered here, though later trials of the block were")
    answered = tuple(
        _answered(number, trial) for number, trial in enumerate(trials[: len(trials) - len(empty)], start=1)
    )
    # A block that broke off may have its trials cut short, too.
    return ("unfinished" if len(answered) < length else "finished"), answered


def _check_fields(number: int, trial: Any) -> None:
    if not isinstance(trial, dict):
        raise _FaultError(number, f"expected the fields {', '.join(_FIELDS)}; found {show(trial)}")
    missing = next((name for name in _FIELDS if name not in trial), None)
    unknown = next((name for name in trial if name not in _FIELDS), None)
    if missing is not None or unknown is not None:
        raise _FaultError(
            number,
            (
                f"'{missing}' is missing"
                if missing is not None
                else f"unknown key {show(unknown)}; expected {', '.join(_FIELDS)}"
            ),
        )
    if not isinstance(trial["stimulus"], str):
        raise _FaultError(number, f"stimulus: expected text; found {show(trial['stimulus'])}")
    if trial["target"] not in _LABELS:
        raise _FaultError(number, f"target: expected m or -; found {show(trial['target'])}")


def _answered(number: int, trial: Mapping[str, Any]) -> Answered:
    target, response, correct, rt = trial["target"], trial["response"], trial["correct"], trial["rt"]
    if response not in _LABELS:
        raise _FaultError(number, f"response: expected m or -; found {show(response)}")
    if not isinstance(correct, bool):
        raise _FaultError(number, f"correct: expected true or false; found {show(correct)}")
    if isinstance(rt, bool) or not isinstance(rt, (int, float)) or not (0 <= rt <= _LONGEST_S or rt == math.inf):
        raise _FaultError(
            number, f"rt: expected seconds, or Infinity for an answer that was never asked; found {show(rt)}"
        )
    if correct != (response == target):
        raise _FaultError(
            number,
            f"the file contradicts itself: target {target}, response {response}, and correct is"
            f" {'true' if correct else 'false'}",
        )
    if rt == math.inf and not correct:
        raise _FaultError(number, "an answer that was never asked (rt is Infinity) is the target; this one is not")
    return Answered(trial["stimulus"], target, response, correct, None if rt == math.inf else 1000.0 * rt)


#: the signs of the study's noise
NOISE = "#$%&*@^~"
_ROW = re.compile(r"\|(?:[^|]\|)+")


@dataclass(frozen=True, slots=True)
class ShownLetter:
    """A letter, and the whole string around it (the letter alone without noise)."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownGrid:
    """The cell of the X (from 0, row by row), the grid's rows, and the noise signs by cell."""

    cell: int
    grid: int
    noise: Mapping[int, str] = field(default_factory=dict)


def read_stimulus(text: str) -> ShownLetter | ShownGrid:
    """Read a stimulus as it was sent.

    Raises
    ------
    ValueError
        when it is neither letter nor grid; the message says why.
    """
    if "|" in text:
        return _read_grid(text)
    letters = [sign for sign in text if sign not in NOISE]
    if len(letters) != 1 or not letters[0].isalpha():
        raise ValueError(f"expected one letter, alone or among the noise signs {NOISE}; found {_brief(text)}")
    if len(set(text)) != len(text):
        raise ValueError(f"a noise sign occurs twice in {_brief(text)}")
    return ShownLetter(letters[0], text)


def _read_grid(text: str) -> ShownGrid:
    rows = text.strip().removeprefix("```").removesuffix("```").split()
    cells = [row[1::2] for row in rows if _ROW.fullmatch(row)]
    if len(cells) != len(rows) or any(len(row) != len(rows) for row in cells):
        raise ValueError(f"expected a square grid, such as ``` |_|X| |_|_| ```; found {_brief(text)}")
    flat = "".join(cells)
    if flat.count("X") != 1:
        raise ValueError(f"expected one X in the grid; found {flat.count('X')}")
    noise = {cell: sign for cell, sign in enumerate(flat) if sign not in "_X"}
    strange = next((sign for sign in noise.values() if sign not in NOISE), None)
    if strange is not None:
        raise ValueError(f"{strange!r} in a cell is none of the noise signs {NOISE}")
    if len(set(noise.values())) != len(noise):
        raise ValueError("a noise sign occurs twice in the grid")
    return ShownGrid(flat.index("X"), len(rows), noise)


def _brief(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


#: blocks of the study are those of its own generator
_GENERATOR: Generator = "published"
_SEED = 1
#: the model of all results whose file names no other
_STUDY_MODEL = "gpt-3.5-turbo"
_FILE = re.compile(r"all_trials_(?P<modality>verbal|spatial)(?:_(?P<rest>.+))?")
_VARIANTS = {
    **dict.fromkeys(("noise", "with_noise"), "noise"),
    **dict.fromkeys(("feedback", "with_feedback"), "feedback"),
    **dict.fromkeys(("think_by_step", "reasoning"), "reasoning"),
}
_SPATIAL = {"abstraction": "nback_abstraction", "abstraction_2": "nback_abstraction_strict"}


def named(path: Path) -> tuple[str | None, str | None]:
    """Paradigm and model that the name of a result file stands for, as far as it says
    (``all_trials_verbal_gpt-4.json``)."""
    match = _FILE.fullmatch(path.name.removesuffix(".json"))
    if match is None:
        return None, None
    modality, rest = match["modality"], match["rest"]
    if rest is None:
        return f"nback_{modality}", _STUDY_MODEL
    if rest in _VARIANTS:
        return f"nback_{modality}_{_VARIANTS[rest]}", _STUDY_MODEL
    if modality == "spatial":
        if re.fullmatch(r"([1-9])[*x×]\1", rest):
            return "nback_spatial", _STUDY_MODEL
        return _SPATIAL.get(rest), _STUDY_MODEL if rest in _SPATIAL else None
    return "nback_verbal", rest


@dataclass(frozen=True, slots=True)
class ImportedResults:
    """The result of importing one file.

    Parameters
    ----------
    file : of the results
    folder : of the session
    paradigm, model : of which, by whom
    blocks, trials, prefilled : how many there are in the session; prefilled answers were never
        asked
    unfinished, never_run : keys of blocks that are left out
    left_out : what was malformed and skipped on request
    unlabelled : keys of blocks with unlabelled matches, and which of their trials (from 1) these
        are
    """

    file: Path
    folder: Path
    paradigm: str
    model: str
    blocks: int = 0
    trials: int = 0
    prefilled: int = 0
    unfinished: tuple[str, ...] = ()
    never_run: tuple[str, ...] = ()
    left_out: tuple[Problem, ...] = ()
    unlabelled: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """A file of results, checked: the blocks that make the session, as the file has them and as
    trials."""

    file: Path
    digest: str
    model: str
    paradigm_source: str
    paradigm: Paradigm
    results: Results
    blocks: tuple[tuple[Block, GivenBlock], ...]
    problems: tuple[Problem, ...]

    @property
    def plan(self) -> list[PlannedTrial]:
        """The session: blocks in the order of the file. A block's number in the study, from 1, is
        its block in the record."""
        return [
            PlannedTrial(block.number + 1, index, given.levels, _seed(block), draws=given.draws, name=block.key)
            for index, (block, given) in enumerate(self.blocks, start=1)
        ]


def import_results(
    files: Sequence[Path],
    data: Path,
    model: str | None = None,
    paradigm: str | None = None,
    skip_malformed: bool = False,
) -> list[ImportedResults]:
    """Make a session of each file of results: its agent is ``published:MODEL``, its trials are the
    file's blocks.

    Parameters
    ----------
    files : in the layout of the N-back study
    data : new folder for the sessions; it appears when all of them are made
    model, paradigm : whose results they are and of what, when the names of the files do not say it
    skip_malformed : leave out malformed blocks, instead of importing nothing

    Raises
    ------
    SpanLabError
        when there is nothing to import, or (unless it is left out) for everything that is
        malformed, by file, key and trial.
    """
    sources = [_read(Path(file), model, paradigm) for file in files]
    problems = [problem for source in sources for problem in source.problems]
    if problems and not skip_malformed:
        raise refused(problems)
    for source in sources:
        if not source.blocks:
            raise SpanLabError(
                "\n".join(
                    [*format_problems(source.problems), f"{source.file} holds no finished block that can be read"]
                )
            )
    with whole_folder(data) as making:
        return [_describe_import(source, data / _make(making, source).name) for source in sources]


def _read(file: Path, model: str | None, paradigm: str | None) -> _Source:
    known_paradigm, known_model = named(file)
    model, paradigm = model or known_model, paradigm or known_paradigm
    if not model or not paradigm:
        missing = [option for option, value in (("--as PARADIGM", paradigm), ("--model MODEL", model)) if not value]
        raise SpanLabError(f"the name of {file} does not say enough about these results; say {' and '.join(missing)}")
    results = read_results(file)
    loaded = load_paradigm(paradigm)
    problems = list(results.problems)
    blocks: list[tuple[Block, GivenBlock]] = []
    for block in results.blocks:
        try:
            blocks.append((block, _given(loaded, block)))
        except (ValueError, SpanLabError) as error:
            problems.append(Problem(str(file), block.key, str(error)))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return _Source(file, digest, model, paradigm, loaded, results, tuple(blocks), tuple(problems))


def _given(paradigm: Paradigm, block: Block) -> GivenBlock:
    """A block as a trial: what its stimuli show, read back from their texts."""
    shown = []
    for number, trial in enumerate(block.trials, start=1):
        try:
            shown.append(read_stimulus(trial.stimulus))
        except ValueError as error:
            raise ValueError(f"trial {number}: {error}") from None
    grids = {item.grid if isinstance(item, ShownGrid) else None for item in shown}
    if len(grids) > 1:
        raise ValueError("letters and grids, or grids of different sizes, in one block")
    task = BlockTask.of(paradigm, block.n, len(shown), grids.pop(), _GENERATOR)
    symbols = [item.cell if isinstance(item, ShownGrid) else item.letter for item in shown]
    noise = [
        [[cell, sign] for cell, sign in sorted(item.noise.items())] if isinstance(item, ShownGrid) else item.text
        for item in shown
    ]
    return task.given(
        symbols,
        [trial.target for trial in block.trials],
        _seed(block),
        [trial.prefilled for trial in block.trials],
        **task.noise(noise),
    )


def _seed(block: Block) -> int:
    """Of a block's trial: it does not depend on which other blocks there are."""
    return trial_seed("session", _SEED, block.number * 100 + block.n)


def _make(making: Path, source: _Source) -> Path:
    """The session, taken by the published agent through the ordinary runner."""
    plan = source.plan
    agent = Published(f"published:{source.model}", _answers(source, plan), {"model": source.model})
    results = source.results
    published = {
        "file": source.file.name,
        "sha256": source.digest,
        "labels": "as in the file",
        "unfinished": list(results.unfinished),
        "never_run": list(results.never_run),
        "left_out": [str(problem) for problem in source.problems],
    }
    request = Request(
        seed=_SEED,
        generator=_GENERATOR,
        design="published",
        pilot=False,
        source=source.paradigm_source,
        extra={"published": published},
    )
    session = begin(making, source.paradigm, agent, plan, request)
    Runner(session, agent).run()
    return session.folder


def _answers(source: _Source, plan: Sequence[PlannedTrial]) -> Iterator[tuple[list[Percept], list[Response]]]:
    """For each trial what is seen on the way, given how the answers went, and the answers."""
    for planned, (block, _) in zip(plan, source.blocks, strict=True):
        percepts, asked = [], 0
        for step in (one for one in planned.compile(source.paradigm, _GENERATOR).steps if one.percept.model_step):
            if asked:
                percepts.append(step.shown_after("right" if block.trials[asked - 1].correct else "wrong"))
            else:
                percepts.append(step.shown_after("missed"))
            asked += step.percept.ask is not None
        yield (
            percepts,
            [
                Response(trial.response, trial.rt_ms, notes={"prefilled": True} if trial.prefilled else {})
                for trial in block.trials
            ],
        )


def _describe_import(source: _Source, folder: Path) -> ImportedResults:
    trials = [trial for block, _ in source.blocks for trial in block.trials]
    return ImportedResults(
        file=source.file,
        folder=folder,
        paradigm=source.paradigm.name,
        model=source.model,
        blocks=len(source.blocks),
        trials=len(trials),
        prefilled=sum(trial.prefilled for trial in trials),
        unfinished=source.results.unfinished,
        never_run=source.results.never_run,
        left_out=source.problems,
        unlabelled=tuple(
            (block.key, tuple(n + 1 for n in given.unlabelled)) for block, given in source.blocks if given.unlabelled
        ),
    )
