"""The field's own collection of raw data (Oberauer et al., 2018), read from a user's copy: each study
as a response table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from typing_extensions import override

from spanlab.analysis.data.door import open_table
from spanlab.analysis.data.recipe import Recipe
from spanlab.core import SpanLabError
from spanlab.exchange import Format, Options, Place, Report, Side, counted

from .tables import write_table


@dataclass(frozen=True)
class Study:
    """A study of the collection.

    Parameters
    ----------
    name : of its table
    files : of the collection, that it has
    facts : paradigm, study, source, how its task differs from the paradigm's, and the conditions of
        its people's means
    """

    name: str
    files: tuple[str, ...]
    recipe: Recipe
    facts: dict[str, Any]

    def read(self, folder: Path) -> pd.DataFrame | None:
        """Its answers, None where the folder has not all of its files."""
        known = {path.name.casefold(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        found = [known.get(name.casefold()) for name in self.files]
        if None in found:
            return None
        tables = [open_table(file, self.recipe, whole=True).table for file in found if file is not None]
        return pd.concat(tables, ignore_index=True).assign(paradigm=self.facts["paradigm"])


def studies() -> Iterator[Study]:
    """Every study whose raw files have a row for a trial, a list or an answer."""
    text = files("spanlab.human_data").joinpath("benchmarks_wm.yaml").read_text(encoding="utf-8")
    entries = yaml.safe_load(text)
    for name, entry in ((name, entry) for name, entry in entries.items() if "recipe" in entry):  # others have no trials
        facts = {key: value for key, value in entry.items() if key not in ("files", "recipe")}
        yield Study(name, tuple(entry["files"]), Recipe(**entry["recipe"]), facts)


class BenchmarksWM(Format[Options, Any]):
    """The collection of raw data of working memory."""

    name = "benchmarks-wm"
    reads = Side(
        "results",
        "Answers of people in the raw data of Oberauer et al. (2018), from your copy of oberauer/BenchmarksWM.",
        Options,
        Place("folder of the collection", "FOLDER"),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: Options, report: Report) -> None:
        if not sources[0].is_dir():
            raise SpanLabError(f"{sources[0]} is not a folder: give your copy of github.com/oberauer/BenchmarksWM")
        found = 0
        for study in studies():
            table = study.read(sources[0])
            if table is None:
                report.note(f"{study.name} is not there: {', '.join(study.files[:2])}")
                continue
            file = output / f"{study.name}.csv"
            if file.exists():
                raise SpanLabError(f"{file} is there already; choose another folder")
            output.mkdir(parents=True, exist_ok=True)
            write_table(table, file, study.recipe)
            found += 1
            people = counted(table["participant"].nunique(), "participant")
            report.done(f"{file}: {len(table):,} answers of {people} ({study.facts['study']})")
        if not found:
            raise SpanLabError(f"{sources[0]} has no file of the collection that can be read")
