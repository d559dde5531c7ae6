"""Sessions as one table in CSV, with a codebook: for R, JASP, SPSS, Excel, and whatever else reads
tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from typing_extensions import override

from spanlab.core import __version__, whole_folder
from spanlab.exchange import Format, Place, Report, Side, counted

from .sharing import SESSIONS, Sharing, gather

_READER = "spanlab.R"


class CsvTables(Format[Any, Sharing]):
    """Sessions as one table with a codebook, and a reader for R."""

    name = "csv"
    writes = Side(
        "sessions",
        "Sessions as one table in CSV with a codebook, and a reader for R.",
        Sharing,
        SESSIONS,
        Place("new folder", "DIR"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: Sharing, report: Report) -> None:
        data = gather(sources, options, report, output)
        columns = data.all_columns()
        with whole_folder(output) as folder:
            with (folder / "responses.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(data.header(columns))
                rows = sum(data.write_rows(writer, one, columns) for one in data.sessions)
            with (folder / "codebook.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["column", "type", "unit", "meaning"])
                writer.writerows(
                    [column.name, column.type, column.unit, column.meaning] for column in (*data.who_columns, *columns)
                )
            (folder / _READER).write_text(
                files("spanlab.extensions.standards").joinpath(_READER).read_text(encoding="utf-8"), encoding="utf-8"
            )
            (folder / "README.md").write_text(
                _README.format(name=data.name, who=data.who, version=__version__) + data.remark, encoding="utf-8"
            )
        report.done(
            f"{output}: {counted(len(data.sessions), 'session')} of {counted(len(data.participants), 'participant')},"
            f" {counted(rows, 'row')}"
        )


_README = """# {name}

Answers of {who}, recorded with SpanLab {version}.

* `responses.csv`: one row for each answered item. UTF-8, commas, decimal points; empty cells have no value.
* `codebook.csv`: type, unit and meaning of each column.
* `spanlab.R`: reads both into R: `source("spanlab.R"); answers <- read_spanlab(".")`.
"""
