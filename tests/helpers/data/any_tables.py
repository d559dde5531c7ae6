"""Random tables of answers, as people bring them: designs, gaps, files and flags are drawn together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

#: What a table may lack, or have in an odd way.
GAPS = (
    *("trial", "set_size", "chance", "rt_ms", "session", "agent_kind", "missing answers", "unread", "few"),
    *("cue", "delay", "group"),
    *("all right", "all wrong", "same trials", "words", "practice", "pilot", "two paradigms", "odd times"),
    *("nback", "no N", "angles", "cells"),
)
#: Levels of conditions, by any name that people give them.
LEVELS = (("no", "yes"), (1, 2), (0.5, 1.5), (False, True), ("red, left", 'say "no"', "0"), (100, 400, 2000), (0, 1, 2))
RULES = """exclude:
  - {leave_out: participants, where: accuracy, below: 0.4}
"""


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """A table of answers of people and machines, with any of :data:`GAPS`."""
    gaps = draw(st.sets(st.sampled_from(GAPS), max_size=5))
    people, machines = draw(st.integers(0, 8)), draw(st.integers(0, 2))
    seeds, cues, delays = draw(st.integers(1, 3)), draw(st.sampled_from(LEVELS)), draw(st.sampled_from(LEVELS))
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    who = [("participant", "participant", f"P{number}", "s1") for number in range(people)]
    who += [("network", f"network:{one}", "", f"n{one}-{seed}") for one in range(machines) for seed in range(seeds)]
    who = who or [("participant", "participant", "P1", "s1")]
    trials = 2 if "few" in gaps else draw(st.sampled_from([6, 12, 24]))
    rows: list[dict[str, Any]] = []
    for paradigm in ("one", "two") if "two paradigms" in gaps else ("one",):
        for number, (kind, agent, participant, session) in enumerate(who):
            share = random.choice([0.1, 0.5, 0.75, 0.95])
            for trial in range(trials):
                right = random.rand() < share
                rows.append(
                    {
                        "paradigm": paradigm,
                        "agent_kind": kind,
                        "agent": agent,
                        "participant": participant,
                        "session": session,
                        "trial": trial + 1,
                        "trial_id": f"{trial}" if "same trials" in gaps else f"{number}-{trial}",
                        "set_size": 1 + trial % min(trials, 1 + number % 3),  # not everybody has as many
                        "cue": cues[trial // 2 % len(cues)],
                        "delay": delays[trial // 4 % len(delays)],
                        "group": ("young", "old")[number % 2],
                        "chance": 0.5,
                        "rt_ms": float(random.choice([0, -5, 1e9])) if "odd times" in gaps else random.gamma(4, 200),
                        "correct": right,
                        "practice": "practice" in gaps and trial < 2,
                        "pilot": "pilot" in gaps and number == 0,
                        "outcome": "answered",
                    }
                )
    table = pd.DataFrame(rows)
    if "cells" in gaps:  # of somebody, a cell of the design is empty
        table = table[~((table["session"] == "s1") & (table["participant"] == "P1") & (table["cue"] == cues[0]))]
    if "words" in gaps:
        truth = random.rand(len(table)) < 0.5
        table["correct_answer"] = np.where(truth, '"same"', '"different"')
        table["answer"] = np.where(truth == table["correct"], '"same"', '"different"')
    if "nback" in gaps:
        table["record_match"] = random.rand(len(table)) < 0.3
        table = table if "no N" in gaps else table.assign(factor_n=table["set_size"])
    if "angles" in gaps:
        table["error"] = random.normal(0, random.choice([0.4, 3, 30]), len(table))
    if "all right" in gaps:
        table["correct"] = True
    if "all wrong" in gaps:
        table["correct"] = False
    if "missing answers" in gaps:
        lost = random.rand(len(table)) < 0.2
        table["correct"] = table["correct"].astype(object).mask(lost, None)
        table.loc[lost, "outcome"] = "omitted"
    if "unread" in gaps:
        lost = random.rand(len(table)) < 0.4
        table["correct"] = table["correct"].astype(object).mask(lost, False)
        table.loc[lost, "outcome"] = "invalid"
    return table.drop(columns=[name for name in gaps if name in table.columns and name not in ("practice", "pilot")])


def written(table: pd.DataFrame, folder: Path, ending: str = ".csv", name: str = "table") -> Path:
    """The table as a file."""
    file = folder / f"{name}{ending}"
    if ending == ".parquet":
        table.convert_dtypes().to_parquet(file, index=False)
    elif ending == ".xlsx":
        table.to_excel(file, index=False)
    elif ending == ".json":
        table.to_json(file, orient="records")
    else:
        table.to_csv(file, index=False, sep="\t" if ending == ".tsv" else ",")
    return file


@st.composite
def flags(draw: st.DrawFn, folder: Path) -> dict[str, Any]:
    """Options of reading that fit any table."""
    chosen: dict[str, Any] = {name: True for name in ("practice", "pilot", "accept_unread") if draw(st.booleans())}
    if draw(st.booleans()):
        (folder / "rules.yaml").write_text(RULES, encoding="utf-8")
        chosen["exclude"] = folder / "rules.yaml"
    return chosen
