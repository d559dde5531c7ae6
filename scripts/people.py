"""Means of each person in each condition of the field's raw data: what human_data/people/ holds.

    python scripts/people.py FOLDER

FOLDER is a copy of oberauer/BenchmarksWM. Raw data stay there; what is written are the numbers of
each person.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import yaml

from spanlab.analysis.data.coding import decoded
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.figures.error_figure import report_errors
from spanlab.extensions.benchmark.findings import read_findings, values_of
from spanlab.extensions.standards.benchmarks_wm import Study, studies
from spanlab.human_data import of_persons

PLACE = Path(__file__).resolve().parent.parent / "human_data" / "people"
#: so many decimals
DIGITS = 5


def means(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a study: person, condition, and the share of right answers (mean over trials), the
    median time of right answers, and of reports the mean absolute error and the fitted mixture."""
    items = score_table(table.assign(agent="people")).items
    by = list(study.facts["by"])
    for name, level in study.facts.get("only", {}).items():
        items = items[decoded(items[name]) == level]
    items = items.assign(**{name: decoded(items[name]) for name in by})
    keys = ["participant", *by]
    trials = items.groupby([*keys, "unit_trial"], observed=True)["correct"].mean().groupby(level=keys)
    out = pd.DataFrame({"n_trials": trials.size(), "accuracy": trials.mean()})
    if "rt_ms" in items.columns:
        right = items[items["correct"] == 1]
        out["rt_ms"] = right.groupby(keys, observed=True)["rt_ms"].median()
    if "error" in items.columns:
        out["absolute_error"] = items["error"].abs().groupby([items[name] for name in keys]).mean()
        fits = report_errors(score_table(table.assign(agent="people")), by=by)
        for name in ("two_p_guess", "two_sd"):
            fits[name] = fits[name].astype(float)
        fits = fits.assign(participant=fits["participant"].astype(str)).set_index(keys)
        out = out.join(fits[["two_p_guess", "two_sd"]])
    out = out.reset_index().rename(columns={name: name.removeprefix("factor_") for name in by})
    out = out[out["n_trials"] > 0]
    codes = {name: f"P{number:03d}" for number, name in enumerate(sorted(out["participant"].astype(str).unique()), 1)}
    return out.assign(participant=out["participant"].astype(str).map(codes)).round(DIGITS)


def of_findings(folder: Path) -> pd.DataFrame:
    """What each person shows of each finding of the benchmark."""
    tables = {study.name: study.read(folder) for study in studies()}
    rows = []
    for finding in read_findings().findings:
        column = finding.theirs or finding.column
        if (raw := tables.get(finding.study)) is None:
            values = rows_of_persons(finding.study)
        else:
            scored = score_table(raw.assign(agent="participant", agent_kind="participant"))
            values = values_of(finding, scored, scored.items["participant"].astype(str), column)
        rows += [(finding.finding, finding.study, f"P{at:03d}", value) for at, value in enumerate(values.values(), 1)]
    return pd.DataFrame(rows, columns=["finding", "study", "participant", "value"]).round(DIGITS)


def rows_of_persons(name: str) -> dict[str, float]:
    """The first condition minus the last, of each person of a study with a row for a person."""
    table = of_persons(name)
    by, value = table.columns[1], table.columns[-1]
    levels = list(dict.fromkeys(table[by]))
    wide = table.pivot(index="participant", columns=by, values=value)
    return (wide[levels[0]] - wide[levels[-1]]).dropna().to_dict()


def wide_tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Studies whose files have a row for a person: long tables of their numbers."""
    known = yaml.safe_load((PLACE.parent / "benchmarks_wm.yaml").read_text(encoding="utf-8"))
    for name, entry in known.items():
        if (wide := entry.get("wide")) is None:
            continue
        file = next((path for path in folder.rglob("*") if path.name == entry["files"][0]), None)
        if file is None:
            continue
        if file.suffix == ".xlsx":
            raw = pd.read_excel(file, sheet_name=wide["sheet"], header=None)
            start = raw.index[raw.iloc[:, wide["participant"]].eq("Participants")][0]
            raw = raw.iloc[start + 1 :]
            raw = raw[pd.to_numeric(raw[wide["participant"]], errors="coerce").notna()]
        else:
            raw = pd.read_csv(file, sep=r"\s+")
        parts = []
        for column, levels in wide["columns"].items():
            who = raw[wide["participant"]]
            levels = {"n_trials": None, wide["value"]: raw[column].astype(float), **levels}
            parts.append(pd.DataFrame({"participant": who, **levels}))
        long = pd.concat(parts, ignore_index=True).dropna(subset=[wide["value"]])
        codes = {who: f"P{number:03d}" for number, who in enumerate(sorted(long["participant"].unique()), 1)}
        yield (
            name,
            long.assign(participant=long["participant"].map(codes))[
                ["participant", *entry["by"], "n_trials", wide["value"]]
            ].round(DIGITS),
        )


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for name, table in wide_tables(Path(sys.argv[1])):
        table.to_csv(PLACE / f"{name}.csv", index=False)
        print(f"{name}: {table['participant'].nunique()} people, {len(table)} rows")
    for study in studies():
        table = study.read(Path(sys.argv[1]))
        if table is None:
            print(f"{study.name}: its files are not there")
            continue
        rows = means(study, table)
        rows.to_csv(PLACE / f"{study.name}.csv", index=False)
        print(f"{study.name}: {rows['participant'].nunique()} people, {len(rows)} rows")
    of_findings(Path(sys.argv[1])).to_csv(PLACE / "findings.csv", index=False)


if __name__ == "__main__":
    main()
