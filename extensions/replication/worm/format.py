"""The format of the WorM benchmark: data folders with a folder for each data set, trials in JSON
and frames in PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import override

from spanlab.exchange import Format, Levels, OfGenerator, Options, Place, Report, Side, SkipMalformed, counted


class _Reading(Options):
    skip_malformed: SkipMalformed = False
    seed: Annotated[
        int, Field(ge=0, description="seed of what the files leave open: the order of arrows in complex span")
    ] = 1


class _Writing(Options):
    train: Annotated[int, Field(ge=1, description="training trials; the benchmark has 96,000")] = 100
    test: Annotated[int, Field(ge=0, description="test trials; the benchmark has 9,600")] = 20
    seed: Annotated[int, Field(ge=0, description="seed of the data set")] = 1
    generator: OfGenerator = "corrected"
    levels: Levels = Field(default_factory=dict)
    frames: Annotated[bool, Field(description="draw the frames, or write the trials only")] = True


class WormTrials(Format[_Reading, _Writing]):
    """Trials of the WorM benchmark."""

    name = "worm"
    reads = Side(
        "trials",
        "Trials of the WorM benchmark (data_rand_trials.json of each task), for replay --trials-from: one file for each"
        " split of each data set.",
        _Reading,
        Place("data folder of WorM, with a folder for each data set", "FOLDER"),
    )
    writes = Side(
        "trials",
        "A data folder as WorM's own code reads it: trials in JSON and frames in PNG files.",
        _Writing,
        Place("sfr, cd, vir, vsr, vsrec, cs, sc, si, smu or sts", "PARADIGM"),
        Place("data folder, to which the folder of the data set is added", "DIR"),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: _Reading, report: Report) -> None:
        from .folder import import_worm, other_folders

        (folder,) = sources
        for imported in import_worm(
            folder, output, options.skip_malformed, options.seed, lambda name: report.note(f"reading {name} ...")
        ):
            where = f"{imported.set.data_set.folder}, {imported.set.split}"
            report.left_out(imported.named)
            if imported.skipped > len(imported.named):
                report.note(f"left out: {imported.skipped - len(imported.named)} more trials of {where}")
            for note, many in imported.set.notes.items():
                report.note(f"NOTE {where}: {note} ({many} times)")
            report.done(f"{imported.file}: {counted(imported.trials, 'trial')}")
        for name in other_folders(folder):
            report.note(f"NOTE {name} is not a published data set of WorM and was left out")

    @override
    def write(self, sources: Sequence[str], output: Path, options: _Writing, report: Report) -> None:
        from .folder import export_worm

        (paradigm,) = sources
        sizes = (options.train, options.test)
        for exported in export_worm(
            paradigm, output, sizes, options.seed, options.generator, options.levels, options.frames
        ):
            many = f"{exported.trials['train']} training and {exported.trials['test']} test trials"
            report.done(f"{exported.folder}: {many}, {f'{exported.frames} frames' if options.frames else 'no frames'}")
