"""Means of each person in each condition of the field's raw data: what human_data/people/ holds.

    python scripts/people.py FOLDER

FOLDER is a copy of oberauer/BenchmarksWM. Raw data stay there; what is written are the numbers of
each person.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from spanlab.analysis.data.coding import decoded
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.continuous import report_errors
from spanlab.exchange.benchmarks_wm import Study, studies

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


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for study in studies():
        table = study.read(Path(sys.argv[1]))
        if table is None:
            print(f"{study.name}: its files are not there")
            continue
        rows = means(study, table)
        rows.to_csv(PLACE / f"{study.name}.csv", index=False)
        print(f"{study.name}: {rows['participant'].nunique()} people, {len(rows)} rows")


if __name__ == "__main__":
    main()
