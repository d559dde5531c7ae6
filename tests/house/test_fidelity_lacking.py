"""How far observers get who lack one thing: their table is current and true,
and no observer is scored with what it has learned from."""

from __future__ import annotations

import math
from pathlib import Path

import fidelity_lacking
import fidelity_tables
import pytest
from fidelity_lacking import GENERATORS, HEADER, head, observers
from fidelity_observers import Found, Known, Observer, answers, measured

from spanlab.paradigms import Trial, list_paradigms, load_paradigm

ROOT = Path(__file__).resolve().parents[2]
OBSERVERS = list(observers())
#: standard errors by which a share may be off
APART = 4.5
#: What little learning may cost an observer who has seen few trials.
LEARNED = 0.04
#: Of the rows, those that are measured again in every run: one of each kind that takes little time.
QUICK = [
    ("`cd`", "6 bars, size", "first array"),
    ("`cd`", "6 bars", "places of bars"),
    ("`sc`", "10 cells", "columns of cells"),
    ("`si`", "parts of 1, 2, 3, 4, 6", "places of parts"),
    ("`smu`", "4 boxes", "first display (start)"),
    ("`smu`", "", "order of arrows"),
    ("`sts`", "switches", "all cues"),
    ("`sts`", "switches, incongruent markers", "all cues"),
    ("`sts_congruency`", "switches, 25 % congruent", "all cues"),
    ("`cs`", "spatial", "order of items"),
    ("`cs`", "visual", "both items"),
    ("`vir`", "lists of 4", "first display (first pattern)"),
    ("`vsrec`", "", "order of patterns"),
    ("`vsr`", "lists of 6", "first display (first of the patterns)"),
    ("`lsr` and its variants", "", "last display (the array)"),
    ("`sfr`", "lists of 4", "which squares were red"),
    ("`nback_abstraction`", "rows and columns, n = 2, lures as they fall", "all items but the last two"),
]


def rows() -> list[list[str]]:
    text = fidelity_tables.written("lacking")
    return [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.strip().splitlines()]


def numbers(cell: str) -> tuple[float, float]:
    """A share and its standard error."""
    share, _, error = cell.removesuffix(" %").partition(" ± ")
    return float(share) / 100, float(error or 0) / 100


def test_the_page_has_every_observer_once() -> None:
    header, _, *found = rows()
    assert tuple(header) == HEADER
    assert [tuple(row[:4]) for row in found] == [head(one) for one in OBSERVERS]
    assert [row[7] for row in found] == [f"{one.trials:,}" for one in OBSERVERS]
    assert len({head(one) for one in OBSERVERS}) == len(OBSERVERS)


def test_every_paradigm_with_a_published_generator_is_looked_at() -> None:
    published = {
        name
        for name in list_paradigms()
        if load_paradigm(name).family not in ("Continuous report", "Cognitive control")
    }
    assert {name for one in OBSERVERS for name in one.paradigms} == published


@pytest.mark.sampled(3)
@pytest.mark.parametrize("which", QUICK, ids=" ".join)
def test_other_trials_give_the_same_numbers(which: tuple[str, str, str]) -> None:
    (observer,) = (one for one in OBSERVERS if (head(one)[0], *head(one)[1:3]) == which)
    (row,) = (row for row in rows() if tuple(row[:3]) == which)
    for generator, cell in zip(GENERATORS, row[5:7], strict=True):
        told, error = numbers(cell)
        found = measured(observer, generator, 60, first=1_000_000)
        allowed = (
            APART
            * math.hypot(
                max(found.error, error), math.sqrt(told * (1 - told) / 60 / max(1, len(observer.guess(_any(observer)))))
            )
            + 0.0005
        )
        assert -allowed - LEARNED < found.right - told < allowed


def _any(observer: Observer) -> Trial:
    from fidelity_observers import loaded

    from spanlab.paradigms import compile_trial

    paradigm = loaded(observer.paradigms[0])
    return compile_trial(paradigm, paradigm.combinations(observer.levels)[0], 1)


@pytest.mark.parametrize(
    ("start", "published", "corrected"),
    [
        (("`sts`", "switches", "all cues"), 0.75, 0.75),
        (("`sts`", "switches, congruent markers", "all cues"), 1.0, 1.0),
        (("`sts`", "switches, incongruent markers", "all cues"), 0.5, 0.5),
        (("`sts_congruency`", "switches, 0 % congruent", "all cues"), 0.5, 0.5),
        (("`cs`", "spatial", "both items"), 3 / 16, 1 / 8),
        (("`cs`", "spatial", "order of items"), 0.5 + 10 / 128, 0.5),
        (("`vir`", "lists of 4", "first display (first pattern)"), 7 / 8, 7 / 8),
        (("`sfr`", "lists of 4", "which squares were red"), 4 / 30, 4 / 30),
    ],
)
def test_what_can_be_calculated_is_so(start: tuple[str, str, str], published: float, corrected: float) -> None:
    """Places of both tasks; movements along an axis come three times as often as others, and may be
    the same; one item of four that was not seen."""
    (row,) = (row for row in rows() if tuple(row[:3]) == start)
    for exact, cell in zip((published, corrected), row[5:7], strict=True):
        told, error = numbers(cell)
        assert abs(told - exact) < APART * error + 0.0006


def test_nobody_is_scored_with_what_was_learned_from() -> None:
    """Somebody who knows nothing but a name of every trial learns nothing, and who is told the
    answer is always right."""
    paradigm = {"paradigms": ("sc",), "condition": "", "lacks": "", "uses": "", "levels": {"list_length": 10}}

    def named(trial: Trial) -> Found:
        return [Known((trial.seed, number), answer) for number, answer in enumerate(answers(trial))]

    def told(trial: Trial) -> Found:
        return [Known(answer, answer) for answer in answers(trial)]

    assert measured(Observer(**paradigm, guess=named), "corrected", 400).right == pytest.approx(0.5, abs=0.12)
    assert measured(Observer(**paradigm, guess=told), "corrected", 20).right == 1.0


@pytest.mark.slow
@pytest.mark.soaked(8)
@pytest.mark.parametrize("number", range(len(OBSERVERS)), ids=lambda number: " ".join(head(OBSERVERS[number])[:3]))
def test_the_numbers_are_measured_again(number: int) -> None:
    assert list(fidelity_lacking.row(OBSERVERS[number])) == rows()[number + 2], (
        "run: python scripts/fidelity/fidelity_tables.py lacking"
    )
