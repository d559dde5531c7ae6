"""How a report grows: processor time for many answerers as a multiple of that for few, and what
declaring its figures takes beside drawing them.

python benchmarks/report.py [FEW MANY]
python benchmarks/report.py --against PYTHON DATA     a page of these data, here and with another installation's Python, one after the other
python benchmarks/report.py --parts DATA              what a page of these data takes its processor time for

Measured, in processor time of a machine with two cores; what was made quicker left every file as it
was, byte for byte (of PDF files the length: vl-convert orders their parts at random).

The page of the demonstration's data takes 3.6 s (3.1 to 3.2 of them the program's own, five times,
beside two busy programs), of which importing takes 1.1 s, vl-convert .9 s (three figures; those
that are folded are drawn by the page when they are opened), mixed models .9 s and resampling .5 s;
the rest is spread over hundreds of functions. The first time after an installation it takes 2 s
more, in which Python compiles 1,100 modules: measure with ``PYTHONDONTWRITEBYTECODE`` unset, as this
script does for others.

NumPy's threads took a sixth of it, waiting for each other over small matrices (3.8 and 3.2 s, five
times each): a report is made with one. Circles of unused objects, which it hardly has, are not
looked for (.7 s of a page that took 11.8 s on a busier machine). Rows of tables, cells of N-back,
pairs of answerers and draws of resamples are computed once for all tables that need them.

The page of 12 paradigms and 33 networks of :func:`answers` (85,536 rows) took 23.2 s and 443 MB, at
a load of 12; that of 200 networks with 48 lists each (43,200 rows), without models, 30 s.
"""  # noqa: E501

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.report.page import compare

#: Processor time until everything above was imported.
_before = time.process_time()
FEW, MANY = 20, 200
ROUNDS = 3


def answers(many: int) -> pd.DataFrame:
    """Networks that took the same 48 lists of 3 to 6 items."""
    items = [(length, at, place) for length in (3, 4, 5, 6) for at in range(12) for place in range(1, length + 1)]
    length, at, place = np.array(items).T
    base = {
        "agent_kind": "network",
        "paradigm": "vsr",
        "list_length": length,
        "set_size": length,
        "serial_position": place,
        "ask": place,
        "step": place,
    }
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
    """What a page takes here, as a share of what it takes with another installation, processor time
    of all that is run: the quicker of a few rounds each, in turn."""
    spent: dict[str, list[float]] = {other: [], sys.executable: []}
    # what is compiled is kept, as with everybody who makes a second page
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    for number in range(ROUNDS):
        for python, seconds in spent.items():
            folder = tempfile.mkdtemp(prefix=f"spanlab-report-{number}-")
            before = os.times()
            command = [str(Path(python).with_name("spanlab")), "compare", str(Path(data).resolve()), "-o", folder]
            subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=True)
            after = os.times()
            seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    print(f"a page here, times the same page with {other}\t{min(spent[sys.executable]) / min(spent[other]):.2f}\ttimes")


def _timed(name: str, function: Callable[..., object], spent: dict[str, float]) -> Callable[..., object]:
    """A function that adds its processor time to what was spent."""

    def timed(*arguments: object, **options: object) -> object:
        start = time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - start
            spent["figures"] = spent.get("figures", 0) + (name == "vega_to_svg")

    return timed


def parts(data: str) -> None:
    """Shares of the processor time of a page: importing, what vl-convert does for figures (Vega,
    SVG, PDF), and everything else."""
    import importlib

    began = time.process_time()
    for name in (
        "pandas",
        "spanlab.cli.app",
        "spanlab.analysis.report.page",
        "vl_convert",
        "jinja2",
        "scipy.special",
        "scipy.optimize",
    ):
        importlib.import_module(name)
    imported = time.process_time() - began
    import vl_convert

    spent: dict[str, float] = {}
    for name in ("vegalite_to_vega", "vega_to_svg", "svg_to_pdf"):
        setattr(vl_convert, name, _timed(name, getattr(vl_convert, name), spent))
    compare([Path(data)], Path(tempfile.mkdtemp(prefix="spanlab-report-")))
    whole = _before + time.process_time() - began
    figures = spent.pop("figures", 0)
    drawn = sum(spent.values())
    print(f"figures of the page\t{figures:.0f}\tfigures")
    print(f"importing\t{100 * (_before + imported) / whole:.0f}\t%")
    for name, seconds in spent.items():
        print(f"{name} (vl-convert)\t{100 * seconds / whole:.0f}\t%")
    print(f"everything else\t{100 * (whole - _before - imported - drawn) / whole:.0f}\t%")


def main() -> None:
    if sys.argv[1:2] == ["--against"]:
        against(*sys.argv[2:4])
        return
    if sys.argv[1:2] == ["--parts"]:
        parts(sys.argv[2])
        return
    few, many = (int(number) for number in sys.argv[1:3]) if len(sys.argv) > 2 else (FEW, MANY)
    folder, spent = Path(tempfile.mkdtemp(prefix="spanlab-report-")), {}
    for number in (few, few, many):  # the first one loads what is needed
        file = folder / f"{number}.parquet"
        answers(number).to_parquet(file)
        began = time.process_time()
        compare([file], folder / f"report {number}")
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
    print(
        f"declaring a figure of {few} answerers, times drawing"
        f" it\t{(marks[1] - marks[0]) / (marks[2] - marks[1]):.2f}\ttimes"
    )


if __name__ == "__main__":
    main()
