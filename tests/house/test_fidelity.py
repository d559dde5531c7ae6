"""The numbers in ``docs/fidelity.md`` are true: measured again, and compared with what is known of
the original."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import fidelity_balance
import fidelity_faults
import fidelity_tables
import pytest

from spanlab.paradigms import list_paradigms, load_paradigm

ROOT = Path(__file__).resolve().parents[2]
#: standard errors by which a number may be off; there are about 80 of them
APART = 4.5

MEASURES = fidelity_faults.measures()


def page() -> dict[str, list[str]]:
    """The rows of the table of faults in the page, by what they are about."""
    part = fidelity_tables.written("faults")
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in part.strip().splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def number(cell: str) -> float:
    return float(cell.removesuffix(" %")) / 100


def test_the_page_has_every_measure_once() -> None:
    assert list(page()) == [measure.what for measure in MEASURES]
    for measure in MEASURES:
        original, _, _, trials = page()[measure.what]
        assert trials == f"{measure.trials:,}"
        assert original == ("" if measure.original is None else fidelity_faults.percent(measure.original))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.what)
def test_the_numbers_are_those_of_other_trials(measure: Any) -> None:
    """A share of all or nothing must be just that; others agree within the error of fewer trials
    that the page did not see."""
    few = 20 if "12 bars" in measure.what else 150
    for generator, cell in zip(fidelity_faults.GENERATORS, page()[measure.what][1:3], strict=True):
        told = number(cell)
        seen = measure.looked_at(generator, few, first=measure.trials + 1)
        share = fidelity_faults.share_of(seen)
        if told in (0, 1):
            assert share == told
            continue
        error = max(fidelity_faults.error_of(seen), math.sqrt(told * (1 - told) / sum(map(len, seen))))
        assert abs(share - told) < APART * error * math.sqrt(1 + few / measure.trials) + 0.0005


@pytest.mark.parametrize(
    "measure", [measure for measure in MEASURES if measure.original is not None], ids=lambda measure: measure.what
)
def test_published_trials_are_like_the_original(measure: Any) -> None:
    """Counts of 50 blocks are rough, and lures come in heaps; the others were told with two or
    three digits."""
    told = number(page()[measure.what][1])
    if "blocks with a match" in measure.what:
        assert abs(measure.original - told) < APART * math.sqrt(max(told, 0.005) / 50)
    elif "lures" in measure.what:
        assert abs(measure.original - told) < 0.03
    elif told in (0, 1):
        assert measure.original == told
    else:
        measured_in = 0.4 * measure.trials  # some are of different figures only
        assert abs(measure.original - told) < max(0.015, APART * math.sqrt(told * (1 - told) / measured_in))


def test_faults_are_gone_as_corrected() -> None:
    """Whatever no trial should have, no corrected trial has; the lures of free blocks are no fault
    in themselves."""
    gone = (
        "no unchanged bar has",
        "comes twice",
        "directions are the same",
        "options are the same",
        "give away",
        "drawn twice",
        "no label",
    )
    rows = {what: cells for what, cells in page().items() if any(word in what for word in gone)}
    assert len(rows) == 17
    assert {cells[2] for cells in rows.values()} == {"0 %"}


@pytest.mark.slow
@pytest.mark.soaked(19)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.what)
def test_the_numbers_are_measured_again(measure: Any) -> None:
    assert list(fidelity_faults.row(measure))[1:] == page()[measure.what], (
        "run: python scripts/fidelity/fidelity_tables.py"
    )


def test_files_that_the_page_names_exist() -> None:
    text = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\(([\w./]+)\)|`(scripts/[\w/]+\.py)`", text):
        path = "".join(name)
        assert (ROOT / path).exists() or (ROOT / "docs" / path).exists()


# -- answers of human sessions ---------------------------------------------------------------------


def balance_rows() -> dict[str, list[str]]:
    lines = fidelity_tables.written("balance").splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {one[0].strip("`"): one[1:] for one in cells}


def test_the_page_has_every_balanced_paradigm_and_nobody_foresees_much() -> None:
    rows = balance_rows()
    balanced = [name for name in list_paradigms() if getattr(load_paradigm(name).designs["human"], "balance", [])]
    assert sorted(rows) == sorted(balanced) == sorted(fidelity_balance.PARADIGMS)
    for sessions, cells, runs, lacking, memory, _ in rows.values():
        assert int(sessions) >= fidelity_balance.SESSIONS
        even = cells.split(" / ")[1]
        assert even in ("1 apart", "0 apart", *(f"{half} to {half} of {2 * half}" for half in (6, 8, 10, 12, 15, 20)))
        assert runs.endswith(" / 4")
        assert lacking.endswith(" / 0.0 %") or not lacking
        gain, error = map(float, memory.split(" / ")[1].split(" ± "))
        assert gain + 2 * error <= 5


def test_who_counts_gains_at_least_what_the_page_says() -> None:
    text = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    assert f"gains at least {100 * fidelity_balance.least_foreseen(72, 4):.1f} points" in text
    assert f"without a limit on runs, {100 * fidelity_balance.least_foreseen(72, 72):.1f}." in text
    # By hand: the first answer is open, and the rest follows.
    assert fidelity_balance.least_foreseen(2, 2) == 0.25
    assert fidelity_balance.least_foreseen(4, 1) == 0.5 * 3 / 4


@pytest.mark.slow
def test_sessions_are_as_the_page_says() -> None:
    for name in ("si", "vir"):
        sessions = [fidelity_balance.planned(name, seed, True) for seed in range(1, 41)]
        assert {(sum(cell), len(cell)) for session in sessions for cell in session.of_cells} == {(10, 20)}
        assert max(session.longest for session in sessions) == 4
        gain, error = fidelity_balance.foreseen(sessions, counting=False)
        assert gain - 2 * error <= 0.05
