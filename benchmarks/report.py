"""How a report grows: processor time for many answerers as a multiple of that for few, and what declaring its figures takes beside drawing them.

python benchmarks/report.py [FEW MANY]
python benchmarks/report.py --against PYTHON DATA     a page of these data, here and with another installation's Python, one after the other

Measured once: the page of 200 networks that took the same 48 lists (43,200 rows), without models, took 30 s of processor time. The page
of the demonstration's data took .75 of what it took before figures were declared as plain data (.70 and .77 in two rounds, on a busy machine).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.report.page import Options, compare

FEW, MANY = 20, 200
ROUNDS = 3


def answers(many: int) -> pd.DataFrame:
    """Networks that took the same 48 lists of 3 to 6 items."""
    items = [(length, at, place) for length in (3, 4, 5, 6) for at in range(12) for place in range(1, length + 1)]
    length, at, place = np.array(items).T
    base = {"agent_kind": "network", "paradigm": "vsr", "list_length": length, "set_size": length, "serial_position": place, "ask": place, "step": place}
    base |= {
        "trial": 100 * length + at,
        "trial_id": [f"{n_items}-{two}" for n_items, two in zip(length, at, strict=True)],
        "chance": 1 / 9,
        "outcome": "answered",
    }
    random = np.random.RandomState(1)
    parts = []
    for number in range(many):
        right = random.rand(len(items)) < 0.3 + 0.6 * number / many
        parts.append(pd.DataFrame(base | {"agent": f"network:{number}", "session": f"s{number}", "correct": right}))
    return pd.concat(parts, ignore_index=True)


def against(other: str, data: str) -> None:
    """What a page takes here, as a share of what it takes with another installation, processor time of all that is run: the quicker of a few rounds each, in
    turn."""
    spent: dict[str, list[float]] = {other: [], sys.executable: []}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for number in range(ROUNDS):
        for python, seconds in spent.items():
            folder = tempfile.mkdtemp(prefix=f"spanlab-report-{number}-")
            before = os.times()
            command = [str(Path(python).with_name("spanlab")), "compare", str(Path(data).resolve()), "-o", folder]
            subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=True)
            after = os.times()
            seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    print(f"a page here, times the same page with {other}\t{min(spent[sys.executable]) / min(spent[other]):.2f}\ttimes")


def main() -> None:
    if sys.argv[1:2] == ["--against"]:
        against(*sys.argv[2:4])
        return
    few, many = (int(number) for number in sys.argv[1:3]) if len(sys.argv) > 2 else (FEW, MANY)
    folder, spent = Path(tempfile.mkdtemp(prefix="spanlab-report-")), {}
    for number in (few, few, many):  # the first one loads what is needed
        file = folder / f"{number}.parquet"
        answers(number).to_parquet(file)
        began = time.process_time()
        compare([file], folder / f"report {number}", Options(models=False))
        spent[number] = time.process_time() - began
    print(f"report of {many} answerers, times that of {few}\t{spent[many] / spent[few]:.2f}\ttimes")
    one, scored = effect("serial_position"), score_table(answers(few))
    table = one.table(scored, "vsr")
    agents = looks_of(table)
    marks = [time.process_time()]
    spec = effect_chart(one, table, agents, title="Figure")
    marks.append(time.process_time())
    draw(spec, agents)
    marks.append(time.process_time())
    print(f"declaring a figure of {few} answerers, times drawing it\t{(marks[1] - marks[0]) / (marks[2] - marks[1]):.2f}\ttimes")


if __name__ == "__main__":
    main()
