"""How a report grows: processor time for many answerers as a multiple of that for few, and what
declaring its figures takes beside drawing them.

python benchmarks/report.py [FEW MANY]
python benchmarks/report.py --against PYTHON DATA     a page of these data, here and with another installation's Python, one after the other
python benchmarks/report.py --parts DATA              what a page of these data takes its processor time for

Measured once: the page of 200 networks that took the same 48 lists (43,200 rows), without models,
took 30 s of processor time. The page of the demonstration's data took .75 of what it took before
figures were declared as plain data (.70 and .77 in two rounds, on a busy machine), and .61 to .66
in later rounds, with more figures. Leaving out the code of chat models where there is none, and
Bayes factors as sums, took another .09 of a page of one network and two yardsticks in two
paradigms.

Why it does not halve: of that page (10 figures, without models) 22 to 24 % is importing, and 36 to
39 % is what vl-convert does, which draws: 11 to 12 % from Vega-Lite to Vega, 15 to 16 % from there
to SVG (most of it measures texts), 10 to 11 % to PDF. A figure takes it nearly 4 % of the page.
What is left for SpanLab's own code is 40 %: even if it took no time, a page would take more than
half.

Since then, folded figures are drawn by the page when they are opened, and three of the seven
figures of the demonstration's data are still written as files. On a busy machine of two cores (load
8 to 14) that page took 12.6 to 14.9 s of processor time before, of which 3.5 s was drawing seven
figures (0.8 s of them the start of vl-convert). The page of 12 paradigms and 33 answerers (89,100
rows, with models where these are few enough) took 78 s afterwards, of which 2 s was drawing 3 of
its 44 figures, and 470 MB. What took longest there: tables of figures 20 s, models 14 s, tests
against guessing 10 s.

Then tests against guessing and contrasts of models were computed without small tables of pandas,
with the same results to the last digit. Reading the answers and testing them against guessing took
18.9 s of processor time before and 8.1 s afterwards (both data sets together), the page of 12
paradigms and 33 answerers 74.8 and 63.9 s (455 MB), one after the other at a load of 12, where a
loop of Python takes nearly twice the processor time of a quiet core. The page of the
demonstration's data took 13.2 and 14.1 s at that load: no proven gain. A quarter of it is
importing, a fifth drawing.

Then cells that several figures, tables and tests need were computed once. A page of 85,536 rows (12
paradigms, 33 networks of :func:`answers`) took 31.7 s before and 23.2 s afterwards (443 MB), and is
the same, byte for byte. That of the demonstration's data took 11.8 and 11.4 s (medians of five, in
turn, at a load of 5), with 7 % fewer calls of functions. Importing takes 2.5 s of it, starting
vl-convert 0.9 s, and mixed models about a seventh; the rest is spread over hundreds of functions.

Then circles of unused objects were no longer looked for, neither while a page is made nor when the
process ends (0.7 s of it); rows of tables, cells of N-back, questions with times, pairs of
answerers, entry points and draws of resamples were computed once, or with plain numbers. All files
stayed the same, byte for byte (of PDF files the length: vl-convert orders their parts at random).
The page of the demonstration's data took .86 of what it took before (median of eight pairs, one
after the other, .80 to .97); the smallest were 11.8 and 9.6 s, at loads of 8 to 13. A page of 319
sessions in eight paradigms, without models, took .88 (53.6 and 47.2 s, once, at a load of 12).

What is left, in a round of 11.5 s at a load of 8: importing 2.8 s (pandas with numpy and pyarrow
nearly 1, scipy 0.7), vl-convert 2.1 s (its start 1.0, PDF 0.3), mixed models 1.7 s, resampling
0.8 s, reading the sessions 0.6 s, conversations of chat models 0.4 s, and everything else (tables,
figures as data, sentences, the page) 3 s, of which no function takes a tenth. Importing, drawing
and models alone take 6.6 s. So a page with these models and three figures does not get below 4 s.
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
from spanlab.analysis.report.page import Options, compare

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
    compare([Path(data)], Path(tempfile.mkdtemp(prefix="spanlab-report-")), Options(models=False))
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
    print(
        f"declaring a figure of {few} answerers, times drawing"
        f" it\t{(marks[1] - marks[0]) / (marks[2] - marks[1]):.2f}\ttimes"
    )


if __name__ == "__main__":
    main()
