"""The formats of the N-back study: blocks in text files of two lines, and results in JSON files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from spanlab.core import SpanLabError
from spanlab.exchange import (
    LIBRARY,
    AsParadigm,
    Flag,
    Format,
    OfGenerator,
    Options,
    Place,
    Report,
    Side,
    SkipMalformed,
    counted,
)
from spanlab.paradigms import Generator

if TYPE_CHECKING:
    from .results import ImportedResults


class _Reading(Options):
    paradigm: AsParadigm = None
    generator: Annotated[
        Generator | None, Field(description="generator of the blocks: published or corrected; detected if not given")
    ] = None
    seed: Annotated[int, Field(ge=0, description="seed of everything random besides the items, such as noise")] = 1
    skip_malformed: SkipMalformed = False


class _Writing(Options):
    blocks: Annotated[int, Field(ge=1, le=100_000, description="blocks of each level")] = 50
    n: Annotated[
        str | None, Field(description="levels, such as 1,2,3; all of them when not given"), Flag(metavar="N,...")
    ] = None
    block_length: Annotated[int, Field(ge=2, description="items in a block")] = 24
    lures: Annotated[str, Field(description="level of lures: none, low, high or free")] = "free"
    generator: OfGenerator = "corrected"
    seed: Annotated[int, Field(ge=0, description="seed of the blocks")] = 1


class NBackBlocks(Format[_Reading, _Writing]):
    """Blocks of the N-back study: items on one line, labels on the other."""

    name = "nback"
    reads = Side(
        "trials",
        "N-back block files (two lines: items and labels) as trials files, for spanlab replay --trials-from.",
        _Reading,
        Place("sets of N-back blocks (letters/1back/0.txt), one set, or one level of a set", "FOLDER"),
    )
    writes = Side(
        "trials",
        "Blocks of an N-back paradigm as files of two lines (items, labels), in the layout of the published sets.",
        _Writing,
        LIBRARY,
        Place("folder for the sets of blocks", "DIR"),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: _Reading, report: Report) -> None:
        from .blocks import import_blocks

        (folder,) = sources
        for imported in import_blocks(
            folder, output, options.paradigm, options.generator, options.seed, options.skip_malformed
        ):
            report.left_out(imported.named)
            if imported.trials:
                _tell_unlabelled(imported.set.unlabelled.items(), "item", report)
                report.done(f"{imported.file}: {counted(imported.trials, 'block')}, {imported.set.generator}")

    @override
    def write(self, sources: Sequence[str], output: Path, options: _Writing, report: Report) -> None:
        from spanlab.paradigms import load_paradigm

        from .blocks import export_blocks

        (paradigm,) = sources
        levels = None if options.n is None else [_level(text.strip()) for text in options.n.split(",")]
        loaded = load_paradigm(paradigm)
        for path, many in export_blocks(
            loaded, output, options.blocks, levels, options.block_length, options.lures, options.generator, options.seed
        ).items():
            report.done(f"{path}: {counted(many, 'block')}")


class _ReadingResults(Options):
    paradigm: AsParadigm = None
    model: Annotated[
        str | None, Field(description="the model, if the file's name does not say it"), Flag(metavar="MODEL")
    ] = None
    skip_malformed: SkipMalformed = False


class NBackResults(Format[_ReadingResults]):
    """Results of the N-back study: what models answered, trial by trial."""

    name = "nback-results"
    reads = Side(
        "results",
        "Published N-back results as ordinary sessions, one for each file, of agents called published:MODEL.",
        _ReadingResults,
        Place("per-trial results of the N-back study, such as all_trials_verbal.json", "FILE...", many=True),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: _ReadingResults, report: Report) -> None:
        from .results import import_results

        for imported in import_results(sources, output, options.model, options.paradigm, options.skip_malformed):
            _tell_results(imported, report)


class NBackProtocols(Format[Options, Options]):
    """Protocols of the notebooks of the N-back study, read from the user's own copy."""

    name = "nback-protocols"
    reads = Side(
        "presets",
        "Notebooks of the N-back study as presets of chat models, word for word, for --chat preset=FILE.",
        Options,
        Place(
            "notebooks of the study (verbal.ipynb, spatial_3*3.ipynb ...), or the folder that they are in",
            "FOLDER",
            many=True,
        ),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: Options, report: Report) -> None:
        from .protocols import PARADIGMS, read_notebook, write_presets

        notebooks = [
            path for source in sources for path in (sorted(source.glob("**/*.ipynb")) if source.is_dir() else [source])
        ]
        known = [path for path in notebooks if path.stem in PARADIGMS or path in sources]
        if not known:
            raise SpanLabError(
                f"no notebook of the study in {', '.join(map(str, sources))}; they are {', '.join(PARADIGMS)}"
            )
        protocols = [read_notebook(path) for path in known]
        for path in (path for path in notebooks if path not in known):
            report.note(f"left out: {path}: no notebook with blocks has this name")
        for path in write_presets(protocols, output):
            report.done(str(path))
        for protocol in protocols:
            if many := max(level.prefilled for level in protocol.levels):
                report.note(
                    f"NOTE {protocol.name}: the notebook writes the right answers to the first {many} questions of a"
                    " block itself. No agent is told an answer here: these questions are asked, and marked as warm-up"
                )


def _level(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise SpanLabError(f"--n takes whole numbers, such as 1,2,3; found '{text}'")
    return int(text)


def _tell_unlabelled(blocks: Iterable[tuple[str, tuple[int, ...]]], what: str, report: Report) -> None:
    """One line for each level and place; names of blocks end with their number
    (``letters/1back/15``, ``1back_15``)."""
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    many = 0
    for name, places in blocks:
        level, number = re.split(r"[/_](?=[0-9]+$)", name)
        alike.setdefault((level, places), []).append(number)
        many += len(places)
    for (level, places), numbers in alike.items():
        there = f"block{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
        report.note(
            f"NOTE {level}, {there}: {what} {', '.join(map(str, places))} matches, and its label says that it does not"
        )
    if many:
        report.note(f"NOTE {counted(many, 'unlabelled match')} in all; answers are scored by the labels of the files")


def _tell_results(imported: ImportedResults, report: Report) -> None:
    report.left_out(imported.left_out)
    for what, keys in (("never run", imported.never_run), ("not finished", imported.unfinished)):
        if keys:
            report.note(f"left out: {imported.file}: {counted(len(keys), 'block')} {what} ({', '.join(keys)})")
    _tell_unlabelled([(f"{imported.file.name} {key}", places) for key, places in imported.unlabelled], "trial", report)
    if imported.prefilled:
        report.note(
            f"NOTE {counted(imported.prefilled, 'answer')} of {imported.model} were never asked (record_prefilled)"
        )
    report.done(
        f"{imported.folder}: {imported.paradigm} by {imported.model}, {counted(imported.blocks, 'block')},"
        f" {counted(imported.trials, 'answer')}"
    )
