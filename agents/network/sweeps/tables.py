"""Results of a sweep: a table of its runs, and comparisons of architectures by equal capacity and
by equal numbers of parameters.

Among runs that differ in anything else (learning rate, batch, seed), the one with the highest
validation accuracy stands for its network: test accuracy chooses nothing.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....core.errors import SpanLabError
from ....core.json_values import grouped
from ..checkpoints_io.files import write_atomically
from .runs import DONE, events
from .sweep import read_folder

#: networks whose numbers of parameters differ by no more than this factor are compared as equal
#: ones
NEAR = 1.25

Row = dict[str, Any]


def finished_runs(folder: Path) -> list[Row]:
    """A row for each run of a sweep that is done: its values, size, accuracy in validation and test
    (mean over paradigms, and for each).

    Raises
    ------
    SpanLabError
        when the folder holds no sweep, or a finished run cannot be read.
    """
    return [
        _row(folder / "runs" / run["id"], run)
        for run in read_folder(folder)["runs"]
        if (folder / "runs" / run["id"] / DONE).exists()
    ]


def _row(folder: Path, run: Mapping[str, Any]) -> Row:
    try:
        card = json.loads((folder / f"{run['name']}.json").read_text(encoding="utf-8"))
        by_paradigm = grouped((row["paradigm"], row["accuracy"]) for row in card["test"] if row["accuracy"] is not None)
        accuracy = {name: sum(values) / len(values) for name, values in by_paradigm.items()}
        checked = [
            event["mean"] for event in events(folder / f"{run['name']}.log.jsonl") if event["event"] == "validation"
        ]
        return {
            "run": run["id"],
            "architecture": card["settings"]["architecture"],
            "hidden": card["settings"]["hidden"],
            "parameters": card["parameters"],
            **{key: value for key, value in run["values"].items() if key not in ("model.architecture", "model.hidden")},
            "steps": json.loads((folder / DONE).read_text(encoding="utf-8"))["steps"],
            "wall_s": card["wall_s"],
            "validation": max(checked, default=math.nan),
            "test": sum(accuracy.values()) / len(accuracy),
            **{f"test {name}": value for name, value in accuracy.items()},
        }
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise SpanLabError(
            f"the finished run {folder} cannot be read ({type(error).__name__}: {error}); delete its {DONE}, and it is"
            " made again"
        ) from None


def best_of_each(rows: Sequence[Row]) -> list[Row]:
    """For each network (architecture and units) the run with the highest validation accuracy; the
    first of several equal ones."""
    best: dict[tuple[str, int], Row] = {}
    for row in rows:
        key = (row["architecture"], row["hidden"])
        if key not in best or row["validation"] > best[key]["validation"]:
            best[key] = row
    return [best[key] for key in sorted(best, key=lambda key: (key[1], key[0]))]


def by_capacity(rows: Sequence[Row]) -> list[Row]:
    """A row for each number of units, with the test accuracy, number of parameters and run of each
    architecture of that size."""
    best = best_of_each(rows)
    architectures = sorted({row["architecture"] for row in best})
    table: list[Row] = []
    for hidden in sorted({row["hidden"] for row in best}):
        of_size = {row["architecture"]: row for row in best if row["hidden"] == hidden}
        line: Row = {"hidden": hidden}
        for name in architectures:
            line |= {
                name: of_size[name]["test"] if name in of_size else None,
                f"{name} parameters": of_size[name]["parameters"] if name in of_size else None,
            }
            line[f"{name} run"] = of_size[name]["run"] if name in of_size else None
        table.append(line)
    return table


def by_parameters(rows: Sequence[Row]) -> list[Row]:
    """A row for each pair of networks of different architectures whose numbers of parameters are
    near each other (:data:`NEAR`): for each network the nearest of each other architecture, pairs
    once."""
    best = best_of_each(rows)
    pairs: dict[tuple[str, str], Row] = {}
    for one in best:
        for name in sorted({row["architecture"] for row in best} - {one["architecture"]}):
            other = min((row for row in best if row["architecture"] == name), key=lambda row: _ratio(one, row))
            if _ratio(one, other) <= NEAR:
                first, second = sorted((one, other), key=lambda row: (row["parameters"], row["architecture"]))
                pairs[first["run"], second["run"]] = {
                    **{f"{part} 1": first[part] for part in ("architecture", "hidden", "parameters", "test", "run")},
                    **{f"{part} 2": second[part] for part in ("architecture", "hidden", "parameters", "test", "run")},
                    "ratio": second["parameters"] / first["parameters"],
                    "test 2 - test 1": second["test"] - first["test"],
                }
    return sorted(
        pairs.values(), key=lambda row: (row["parameters 1"], row["parameters 2"], row["run 1"], row["run 2"])
    )


def _ratio(one: Row, other: Row) -> float:
    return max(one["parameters"], other["parameters"]) / min(one["parameters"], other["parameters"])


def write_tables(folder: Path) -> list[Path]:
    """Write ``runs.csv``, ``by_capacity.csv`` and ``by_parameters.csv`` of what is done so far; the
    files.

    Raises
    ------
    SpanLabError
        when there is no finished run, or they cannot be written.
    """
    rows = finished_runs(folder)
    if not rows:
        raise SpanLabError(f"no run of {folder} is done, so there is nothing to compare yet")
    written = []
    for name, table in (
        ("runs.csv", rows),
        ("by_capacity.csv", by_capacity(rows)),
        ("by_parameters.csv", by_parameters(rows)),
    ):
        columns = list(dict.fromkeys(column for row in table for column in row))
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {
                key: round(value, 4) if isinstance(value, float) and abs(value) >= 0.01 else value
                for key, value in row.items()
            }
            for row in table
        )
        write_atomically(folder / name, text.getvalue().encode())
        written.append(folder / name)
    return written
