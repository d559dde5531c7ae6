"""Psych-DS: a data set of one table per session, described in one JSON file that search engines
read, too.

A row is an answered item, as in the response table. Its rules are those of the schema 1.5: names of
files say what is in them, and the columns of the tables are the variables of the description, no
more and no fewer.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from spanlab.core import __version__, whole_folder, write_json
from spanlab.exchange import Format, Options, Place, Report, Side, counted

from .sharing import SESSIONS, SharedData, SharedSession, Sharing, gather

if TYPE_CHECKING:
    from spanlab.sessions.record import Column

_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "string", "json": "string"}


class PsychDS(Format[Options, Sharing]):
    """Sessions as a Psych-DS data set."""

    name = "psychds"
    writes = Side(
        "sessions",
        "Sessions as a Psych-DS data set: a table for each session, and a description of each column.",
        Sharing,
        SESSIONS,
        Place("new folder", "DIR"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: Sharing, report: Report) -> None:
        data = gather(sources, options, report, output)
        with whole_folder(output) as folder:
            (folder / "data").mkdir()
            columns = data.all_columns()
            rows = sum(_write_session(folder / "data" / name, data, one, columns) for name, one in _files(data).items())
            write_json(folder / "dataset_description.json", _description(data, columns))
            (folder / "README.md").write_text(_readme(data) + data.remark, encoding="utf-8")
        report.done(
            f"{output}: {counted(len(data.sessions), 'session')} of {counted(len(data.participants), 'participant')},"
            f" {counted(rows, 'row')}"
        )


def _files(data: SharedData) -> dict[str, SharedSession]:
    """A name for the table of each session; several of one person in one paradigm are numbered."""
    files: dict[str, SharedSession] = {}
    for one in data.sessions:
        stem = f"subject-{one.label}" + (f"_session-{one.visit}" if one.visit else "") + f"_task-{one.task}"
        name, run = stem, 1
        while f"{name}_data.csv" in files:
            run += 1
            name = f"{stem}_description-run{run}"
        files[f"{name}_data.csv"] = one
    return files


def _write_session(path: Path, data: SharedData, session: SharedSession, columns: Sequence[Column]) -> int:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(data.header(columns))
        return data.write_rows(writer, session, columns)


def _description(data: SharedData, columns: Sequence[Column]) -> dict[str, Any]:
    variables: list[dict[str, Any]] = []
    for column in (*data.who_columns, *columns):
        variable = {
            "@type": "PropertyValue",
            "name": column.name,
            "description": column.meaning,
            "valueType": _TYPES[column.type],
        }
        variables.append({**variable, "unitText": column.unit} if column.unit else variable)
    described: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": data.name,
        "description": (
            f"Answers of {data.who} in {data.name}, recorded with SpanLab {__version__}: one row per answered item."
        ),
        "schemaVersion": "Psych-DS 1.5.0",
        "keywords": ["working memory", *sorted({one.info["paradigm"] for one in data.sessions})],
        "variableMeasured": variables,
    }
    if data.authors:
        described["author"] = [{"@type": "Person", "name": name} for name in data.authors]
    if data.options.license:
        described["license"] = data.options.license
    return described


def _readme(data: SharedData) -> str:
    tasks = sorted({(one.task, one.title, one.info["paradigm_hash"]) for one in data.sessions})
    listed = "".join(f"* `task-{task}`: {title} (paradigm {hash_})\n" for task, title, hash_ in tasks)
    return (
        f"# {data.name}\n\nWritten by SpanLab {__version__}, in the layout of Psych-DS.\n\n`data/` has a table for each"
        " session, in which a row is an answered item. `dataset_description.json` says what each column holds. Empty"
        f" cells have no value.\n\n## Tasks\n\n{listed}"
    )
