"""How far the observers of the gist get: writes ``analysis/published/gist.csv``.

Each condition has as many trials as give ``QUESTIONS`` questions that are scored. Conditions are
the levels of the load (list length, set size, n); all other factors have all their levels in turn.
"""

from __future__ import annotations

import asyncio
import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spanlab.agents.base import TrialContext
from spanlab.extensions.observers.gist import GISTS, GistObserver
from spanlab.paradigms import Trial, compile_trial, list_paradigms, load_paradigm

FILE = Path(__file__).resolve().parents[2] / "analysis" / "published" / "gist.csv"
QUESTIONS = 400
#: Phases in which items are asked for; other questions are decisions in between.
PROBES = ("probe", "recall")
#: Factors that are the load of a paradigm.
LOADS = ("list_length", "set_size", "n")
HEADER = ("paradigm", "load", "level", "observer", "trials", "chance", "right", "se")


@dataclass(frozen=True)
class Cell:
    """What an observer reaches in a condition.

    Parameters
    ----------
    paradigm, load, level : which condition; ``load`` is empty where a paradigm has none
    observer : one of :data:`.GISTS`
    trials : how many were taken
    chance, right, se : proportions of items, and the standard error over trials
    """

    paradigm: str
    load: str
    level: str
    observer: str
    trials: int
    chance: float
    right: float
    se: float


def scored(trial: Trial, keeps: str, seed: int) -> list[tuple[bool, float]]:
    """Whether each item of a trial that was asked for in its probes is right, and chance."""
    episode = GistObserver(keeps).start(TrialContext(trial.paradigm, "", "en", "", (), seed=seed))
    found: list[tuple[bool, float]] = []

    async def take() -> None:
        for step in trial.steps:
            response, ask = await episode.step(step.percept), step.percept.ask
            if (
                response is not None
                and ask is not None
                and step.truth.answer is not None
                and step.percept.phase in PROBES
            ):
                scores = ask.kind.score(response.value, step.truth.answer)
                found.extend((bool(one.correct), ask.kind.chance()) for one in scores if one.correct_answer is not None)

    asyncio.run(take())
    return found


def cells(name: str, questions: int = QUESTIONS) -> Iterator[Cell]:
    """All conditions and observers of a paradigm."""
    paradigm = load_paradigm(name)
    load = next((factor for factor in LOADS if factor in paradigm.factors), "")
    levels: list[Any] = list(paradigm.factors[load].levels) if load else [None]
    for level in levels:
        combinations = itertools.cycle(paradigm.combinations({load: level} if load else {}))
        trials: list[Trial] = []
        asked = 0
        for seed in itertools.count(1):
            trials.append(compile_trial(paradigm, next(combinations), seed))
            asked += len(scored(trials[-1], "sum", seed))
            if asked >= questions:
                break
        for keeps in GISTS:
            shares = [scored(trial, keeps, seed) for seed, trial in enumerate(trials, start=1)]
            right = [float(np.mean([correct for correct, _ in share])) for share in shares if share]
            chance = float(np.mean([chance for share in shares for _, chance in share]))
            se = float(np.std(right, ddof=1) / np.sqrt(len(right)))
            yield Cell(
                name, load, "" if level is None else str(level), keeps, len(trials), chance, float(np.mean(right)), se
            )


def main() -> None:
    """Measure all cells, and write them to the file."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name in list_paradigms():
            for cell in cells(name):
                numbers = (f"{value:.4f}" for value in (cell.chance, cell.right, cell.se))
                writer.writerow((cell.paradigm, cell.load, cell.level, cell.observer, cell.trials, *numbers))


if __name__ == "__main__":
    main()
