"""Published results as sessions: the answers of a model in an N-back study, so that they can be
analysed like any others.

The stimuli of that study (AAAI 2024) are recorded as they were sent to chat models, and are read
back into what was shown. A letter is itself; with noise it stands somewhere in a string of other
signs (``%@l#``). A grid is one line: its rows between bars, each cell empty (``_``), holding the
``X``, or holding a noise sign, all within backticks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spanlab.agents import Published, Response
from spanlab.core import Problem, SpanLabError
from spanlab.exchange import all_or_none, format_problems, refused
from spanlab.paradigms import Generator, Paradigm, Percept, PlannedTrial, load_paradigm, trial_seed
from spanlab.sessions import Request, Runner, begin, session_stem
from spanlab.sessions.record import read_session, read_table

from .blocks import BlockTask, GivenBlock
from .results import Block, Results, read_results

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
    new : whether it was made now; otherwise the same results were there already
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
    new: bool
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
    data : folder for sessions; all of them appear there or none
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
    imported: list[ImportedResults] = []
    with all_or_none(data) as making:
        for source in sources:
            there = _earlier_session(data, source) or _earlier_session(making, source)
            folder = there or _make(making, data, source)
            imported.append(_describe_import(source, data / folder.name, there is None))
    return imported


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


def _earlier_session(data: Path, source: _Source) -> Path | None:
    """The session of the same results, when there is one."""
    stem = session_stem(source.paradigm.name, f"published:{source.model}", _SEED)
    for folder in sorted(data.glob(f"{stem}*")):
        if (folder / "session.json").exists() and read_session(folder).get("published", {}).get(
            "sha256"
        ) == source.digest:
            return folder
    return None


def _make(making: Path, data: Path, source: _Source) -> Path:
    """The session, taken by the published agent through the ordinary runner; its scores must be
    those of the file."""
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
    session = begin(making, source.paradigm, agent, plan, request, names_in_use={path.name for path in data.iterdir()})
    Runner(session, agent).run()
    _compare_scores(session.folder, source)
    return session.folder


def _answers(source: _Source, plan: Sequence[PlannedTrial]) -> Iterator[tuple[list[Percept], list[Response]]]:
    """For each trial what is seen on the way, given how the answers went, and the answers."""
    for planned, (block, _) in zip(plan, source.blocks, strict=True):
        percepts, asked = [], 0
        for step in planned.compile(source.paradigm, _GENERATOR).steps:
            if not step.percept.model_step:
                continue
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


def _compare_scores(folder: Path, source: _Source) -> None:
    """The session must say what the file says; anything else would be a fault of ours.

    Raises
    ------
    SpanLabError
        naming file, key and trial of every difference.
    """
    rows = read_table(folder).select(["trial", "ask", "answer", "correct_answer", "correct", "rt_ms"]).to_pylist()
    scored = {(row.pop("trial"), row.pop("ask")): row for row in rows}
    problems = []
    for index, (block, _) in enumerate(source.blocks, start=1):
        for number, trial in enumerate(block.trials, start=1):
            there = {
                "answer": f'"{trial.response}"',
                "correct_answer": f'"{trial.target}"',
                "correct": trial.correct,
                "rt_ms": trial.rt_ms,
            }
            score = scored.pop((index, number), None)
            if score != there:
                problems.append(
                    Problem(
                        str(source.file), f"{block.key} > trial {number}", f"the file has {there}, the session {score}"
                    )
                )
    if problems or scored:
        raise SpanLabError(
            "\n".join(
                [
                    *format_problems(problems),
                    f"scored anew, {source.file} does not come out as it is; nothing was imported",
                ]
            )
        )


def _describe_import(source: _Source, folder: Path, new: bool) -> ImportedResults:
    trials = [trial for block, _ in source.blocks for trial in block.trials]
    return ImportedResults(
        file=source.file,
        folder=folder,
        paradigm=source.paradigm.name,
        model=source.model,
        new=new,
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
