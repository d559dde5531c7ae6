"""What balanced designs do to the answers of human sessions, and what they give away: a table of
``tables.md``, made by ``fidelity_tables.py``.

Every two-alternative paradigm whose human design is balanced is planned for many seeds, with its
balance and without. Whether the next answer can be foreseen is tried by boosted trees
(scikit-learn): they learn from the sessions of half of the seeds, and are asked about those of the
other half, both ways round.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from spanlab.paradigms import Paradigm, PlannedTrial, load_paradigm, plan_session, resolve_levels
from spanlab.paradigms.balance import answers_of
from spanlab.paradigms.design import session_design
from spanlab.paradigms.language.schema import ANSWER, SessionDesign

PARADIGMS = (
    "cd",
    "cd_noise",
    "sc",
    "si",
    "sts",
    "sts_congruency",
    "vir",
    "vsrec",
    "delayed_match",
    "sternberg",
    "retro_cue",
    "flanker",
)
#: sessions of a paradigm: at least so many, and as many more as it takes to have so many questions
SESSIONS, QUESTIONS = 30, 20_000
#: answers and levels of trials before, which somebody may have in mind
REMEMBERED, TRIALS_BEFORE = 8, 2


@dataclass(frozen=True)
class Planned:
    """A session as it was planned.

    Parameters
    ----------
    answers : of every trial, 0 or 1 for each question
    levels : of every trial, the number of its combination of crossed levels
    blocks : of every trial
    lacking : how many cells lack a level of a random factor that the design balances
    """

    answers: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    blocks: tuple[int, ...]
    lacking: int

    @property
    def given(self) -> list[int]:
        return [answer for of_trial in self.answers for answer in of_trial]

    @property
    def of_cells(self) -> Iterator[list[int]]:
        cells: dict[int, list[int]] = defaultdict(list)
        for level, of_trial in zip(self.levels, self.answers, strict=True):
            cells[level] += of_trial
        yield from cells.values()

    @property
    def longest(self) -> int:
        return max(len(list(run)) for _, run in itertools.groupby(self.given))


@cache
def _loaded(name: str) -> Paradigm:
    return load_paradigm(name)


def planned(name: str, seed: int, balanced: bool, generator: Any = "corrected") -> Planned:
    """A human session of a paradigm."""
    paradigm = _loaded(name)
    design = session_design(paradigm)
    plan = plan_session(paradigm, seed, design if balanced else design.unchosen)
    found = [answers_of(paradigm, trial.levels, trial.seed, generator) for trial in plan]
    options = sorted(set(itertools.chain(*found)))
    kinds: dict[tuple[Any, ...], int] = {}
    levels = tuple(kinds.setdefault(tuple(trial.levels.values()), len(kinds)) for trial in plan)
    answers = tuple(tuple(options.index(answer) for answer in of_trial) for of_trial in found)
    return Planned(answers, levels, tuple(trial.block for trial in plan), _lacking(paradigm, design, plan, levels))


def _lacking(paradigm: Paradigm, design: SessionDesign, plan: Sequence[PlannedTrial], cells: Sequence[int]) -> int:
    names = [name for name in design.balance if name != ANSWER]
    seen: dict[int, Counter[Any]] = defaultdict(Counter)
    for trial, cell in zip(plan, cells, strict=True) if names else ():
        resolved = resolve_levels(paradigm, trial.levels, trial.seed)
        seen[cell].update((name, resolved[name]) for name in names)
    every = [(name, level) for name in names for level in paradigm.factors[name].levels]
    return sum(any(not counts[answer] for answer in every) for counts in seen.values())


def traces(session: Planned, counting: bool) -> Iterator[Sequence[float]]:
    """What somebody knows before each question: the last answers, how long the run is, the levels
    of the trials before, and the place in the trial; who counts knows how often each answer came in
    the block and in the session, and how many trials are left of them."""
    given: list[int] = []
    whole = 0
    since: dict[int, int] = defaultdict(int)
    left = Counter(session.blocks)
    for n, of_trial in enumerate(session.answers):
        block = session.blocks[n]
        before = [session.levels[n - back] if n >= back else -1 for back in range(1, TRIALS_BEFORE + 1)]
        for place, answer in enumerate(of_trial):
            last = [2 * given[-back] - 1 if len(given) >= back else 0 for back in range(1, REMEMBERED + 1)]
            run = next((back for back, answer in enumerate(last) if answer != last[0]), REMEMBERED) * last[0]
            known = [*last, run, *before, place]
            if counting:
                known += [since[block], left[block], since[block] / left[block], whole, len(session.answers) - n]
            yield known
            given.append(answer)
            since[block] += 2 * answer - 1
            whole += 2 * answer - 1
        left[block] -= 1


def foreseen(sessions: Sequence[Planned], counting: bool) -> tuple[float, float]:
    """How much more often than by chance (one half) the next answer is foreseen, and the standard
    error of it."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    halves = [sessions[::2], sessions[1::2]]
    known = [np.array([trace for session in half for trace in traces(session, counting)]) for half in halves]
    came = [np.array([answer for session in half for answer in session.given]) for half in halves]
    right: list[np.ndarray] = []
    for learned, asked in ((0, 1), (1, 0)):
        trees = HistGradientBoostingClassifier(max_iter=60, max_depth=4, random_state=0).fit(
            known[learned], came[learned]
        )
        right.append(trees.predict(known[asked]) == came[asked])
    hits = np.concatenate(right)
    return float(hits.mean()) - 0.5, float(hits.std() / math.sqrt(len(hits)))


def least_foreseen(trials: int, most: int) -> float:
    """How much more often than by chance somebody who counts foresees the next of so many answers
    at least, whatever the order is drawn from, where the two come equally often and no run is
    longer than ``most``: the answers are as open as they can be until nothing else is left."""

    def open_(same: int, other: int, run: int) -> bool:
        return same <= most - run + most * other and other <= most * (same + 1)

    @cache
    def cost(same: int, other: int, run: int) -> float:
        """Summed from here on; ``same`` and ``other`` are the answers left that are like the last
        one and not."""
        if same + other == 0:
            return 0.0
        on = cost(same - 1, other, run + 1) if same and run < most and open_(same - 1, other, run + 1) else math.inf
        off = cost(other - 1, same, 1) if other and open_(other - 1, same, 1) else math.inf
        return min((on + off) / 2, 0.5 + on, 0.5 + off)

    return cost(trials // 2 - 1, trials // 2, 1) / trials


def row(name: str) -> tuple[str, ...]:
    """A row of the table, twice: without balance, and with it."""
    questions = len(planned(name, 1, False).given)
    seeds = range(1, max(SESSIONS, QUESTIONS // questions) + 1)
    cells: list[tuple[str, ...]] = []
    for balanced in (False, True):
        sessions = [planned(name, seed, balanced) for seed in seeds]
        counts = [(sum(cell), len(cell)) for session in sessions for cell in session.of_cells]
        apart = max(abs(2 * ones - many) for ones, many in counts)
        sizes = {many for _, many in counts}
        few = (
            f"{min(ones for ones, _ in counts)} to {max(ones for ones, _ in counts)} of {min(sizes)}"
            if len(sizes) == 1
            else f"{apart} apart"
        )
        runs = [session.longest for session in sessions]
        gains = [
            f"{100 * gain:.1f} ± {100 * error:.1f}"
            for gain, error in (foreseen(sessions, counting) for counting in (False, True))
        ]
        random = any(level != ANSWER for level in session_design(_loaded(name)).balance)
        lacking = sum(session.lacking for session in sessions) / sum(len(set(session.levels)) for session in sessions)
        cells.append((few, str(max(runs)), f"{100 * lacking:.1f} %" if random else "", *gains))
    columns = (f"{without} / {with_}" if without or with_ else "" for without, with_ in zip(*cells, strict=True))
    return (f"`{name}`", str(len(seeds)), *columns)


def table() -> str:
    """As Markdown; in each cell first without balance, then with it."""
    header = (
        "paradigm",
        "sessions",
        "one answer in a cell",
        "longest run",
        "cells that lack a level",
        "foreseen from what is remembered",
        "foreseen by counting",
    )
    lines = [header, ("---",) * len(header), *map(row, PARADIGMS)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
