"""How often the intervals of the page hold what was planted, and how often its tests cry wolf: simulations with known truth, seeds fixed.

    python benchmarks/coverage.py [SHARE]

Intervals say 95 of 100, tests 5 of 100. ``SHARE`` takes that part of the samples only. The table in ``docs/statistics.md`` is written anew, and says how many.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr, ndtri

from spanlab.analysis.against_guessing import against_guessing, exact, p_depends, t_test
from spanlab.analysis.agreement import Crowd, error_consistency
from spanlab.analysis.capacity import pashler_k
from spanlab.analysis.contrasts import Contrast, contrast
from spanlab.analysis.detection import detection
from spanlab.analysis.differences import _difference as difference
from spanlab.analysis.mixed import mixed_model
from spanlab.analysis.mixed_contrasts import contrasts, terms
from spanlab.analysis.reaction_times import fit as fit_times
from spanlab.analysis.reaction_times import limits as limits_of_times
from spanlab.analysis.resampling import estimate, estimate_pooled
from spanlab.analysis.table import Scored

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "statistics.md"
BEGIN, END = "<!-- measured by benchmarks/coverage.py -->", "<!-- end of what was measured -->"
SAMPLES = 2000
RESAMPLES = 600
Random = np.random.RandomState
#: Of one sample: whether an interval held what was planted, or whether a test cried wolf (nan: there was none).
Once = Callable[[Random], float]


def within(low: float, value: float, high: float) -> float:
    return float("nan") if low != low else float(low <= value <= high)


# shares and their differences -----------------------------------------------------------------------------------------------------------------------------


def share_of_trials(trials: int, items: int, p: float) -> Once:
    def once(random: Random) -> float:
        found = estimate(random.binomial(items, p, trials) / items, resamples=RESAMPLES)
        return within(found.low, p, found.high)

    return once


def share_of_people(people: int, trials: int, p: float, spread: float = 0.6) -> Once:
    own = expit(np.log(p / (1 - p)) + spread * np.random.RandomState(0).normal(size=200_000))

    def once(random: Random) -> float:
        found = estimate(random.binomial(trials, random.choice(own, people)) / trials, resamples=RESAMPLES)
        return within(found.low, float(own.mean()), found.high)

    return once


def slope(people: int, what: str) -> Once:
    """Four list lengths; people have all of them, the trials of a machine each one."""
    x = np.arange(4) - 1.5
    weight = x / (x @ x)
    falls = what == "held"
    truth = np.array([0.9, 0.8, 0.7, 0.6]) if falls else np.full(4, 0.5)

    def once(random: Random) -> float:
        if people:
            values = [random.binomial(20, np.clip(truth[at] + random.normal(0, 0.05, people), 0, 1)) / 20 for at in range(4)]
            ids = [np.arange(people)] * 4
        else:
            values = [random.binomial(4, truth[at], 12) / 4 for at in range(4)]
            ids = [np.arange(12) + 12 * at for at in range(4)]
        found = contrast(values, ids, weight, resamples=RESAMPLES)
        if falls:
            return within(*_around(found, float(weight @ truth)))
        return float(found.against(0.0)["p"] < 0.05) if found.se > 0 else float("nan")

    return once


def _around(found: Contrast, value: float) -> tuple[float, float, float]:
    if found.draws is None:
        return float("nan"), value, float("nan")
    low, high = found.limits(found.draws)
    return low, value, high


def omnibus(people: int) -> Once:
    from scipy.stats import friedmanchisquare, kruskal

    def once(random: Random) -> float:
        if people:
            own = expit(random.normal(0.5, 0.6, people))
            return float(friedmanchisquare(*(random.binomial(20, own) / 20 for _ in range(4))).pvalue < 0.05)
        values = [random.binomial(4, 0.6, 12) / 4 for _ in range(4)]
        return float(kruskal(*values).pvalue < 0.05)

    return once


def from_people(people: int, trials: int, p: float) -> Once:
    """A machine 20 points away from people who differ."""

    def once(random: Random) -> float:
        mine = contrast([random.binomial(4, p, trials) / 4], [np.arange(trials)], np.ones(1), resamples=RESAMPLES)
        own = np.clip(random.normal(0.7, 0.08, people), 0, 1)
        theirs = contrast([random.binomial(60, own) / 60], [np.arange(people)], np.ones(1), resamples=RESAMPLES, seed=1)
        found = difference("net", "people", mine, theirs, 1, "", "trial")
        return within(found.low, p - 0.7, found.high)

    return once


# guessing and sensitivity ---------------------------------------------------------------------------------------------------------------------------------


def guessing(people: int, trials: int, items: int, level: float) -> Once:
    """Through the table of the page."""
    many = max(1, people) * trials * items
    who = np.repeat([f"P{n}" if people else "" for n in range(max(1, people))], trials * items)
    kind = "participant" if people else "network"
    base = {"agent": "somebody", "agent_kind": kind, "participant": who, "oracle": False, "unit_trial": np.arange(many) // items, "chance": level}

    def once(random: Random) -> float:
        table = pd.DataFrame(base | {"correct": (random.rand(many) < level).astype(float), "outcome": "answered"})
        return float(against_guessing(Scored(table, table.iloc[:0], ()), resamples=2)["p_share"].iloc[0] < 0.05)

    return once


def guessing_alone(answers: int, level: float) -> Once:
    known = [exact(right, np.full(answers, level)) < 0.05 for right in range(answers + 1)]
    return lambda random: float(known[random.binomial(answers, level)])


def habit(people: int, trials: int, says: float, matches: float = 1 / 3) -> Once:
    """Somebody who says 'match' so often, whatever is shown."""

    def once(random: Random) -> float:
        many = max(1, people)
        truth, said = random.rand(many, trials) < matches, random.rand(many, trials) < says
        hits, alarms = (said & truth).sum(axis=1) / truth.sum(axis=1), (said & ~truth).sum(axis=1) / (~truth).sum(axis=1)
        rates = hits - alarms
        if people and np.ptp(rates) > 1e-9 and min(said.sum(), (~said).sum()) >= 10:
            return float(t_test(rates) < 0.05)
        return float(p_depends(said.ravel(), truth.ravel(), [np.repeat(np.arange(many), trials)]) < 0.05)

    return once


def dprime_of_people(people: int, trials: int, planted: float) -> Once:
    """The mean over people of d' as it is estimated in blocks of this size: the correction pulls towards 0, which is in the value that is to be held."""

    def of(random: Random, many: int) -> np.ndarray:
        own = random.normal(planted, 0.4, many)
        half = trials // 2
        hits, alarms = random.binomial(half, ndtr(own / 2)), random.binomial(half, ndtr(-own / 2))
        return detection(hits, half - hits, alarms, half - alarms).dprime

    truth = float(of(np.random.RandomState(0), 200_000).mean())

    def once(random: Random) -> float:
        found = estimate(of(random, people), proportion=False, resamples=RESAMPLES)
        return within(found.low, truth, found.high)

    return once


def dprime_of_a_machine(trials: int, planted: float) -> Once:
    def once(random: Random) -> float:
        signal = np.arange(trials) % 2 == 0
        said = random.rand(trials) < np.where(signal, ndtr(planted / 2), ndtr(-planted / 2))
        counts = np.stack([signal & said, signal & ~said, ~signal & said, ~signal & ~said], axis=1).astype(float)
        found = estimate_pooled(counts, lambda sums: np.asarray(detection(*sums.T).dprime), resamples=RESAMPLES)
        return within(found.low, planted, found.high)

    return once


def capacity(people: int, planted: float = 3.0, size: int = 6) -> Once:
    """Whoever holds K of N items sees every change of these, and guesses else."""

    def once(random: Random) -> float:
        if not people:
            changed = np.arange(96) % 2 == 0
            said = random.rand(96) < np.where(changed, planted / size + (1 - planted / size) * 0.3, 0.3)
            counts = np.stack([said & changed, changed, said & ~changed, ~changed], axis=1).astype(float)
            found = estimate_pooled(counts, lambda sums: np.asarray(pashler_k(size, sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3])), resamples=RESAMPLES)
            return within(found.low, planted, found.high)
        own = np.clip(random.normal(planted, 0.5, people), 0.5, size - 0.5)
        hits, alarms = random.binomial(60, own / size + (1 - own / size) * 0.3) / 60, random.binomial(60, 0.3, people) / 60
        found = estimate(np.asarray(pashler_k(np.full(people, size), hits, alarms)), proportion=False, resamples=RESAMPLES)
        return within(found.low, planted, found.high)

    return once


# people, machines and their errors ------------------------------------------------------------------------------------------------------------------------


def kappa_of(people: int, machine: bool, share: float = 0.3, trials: int = 96) -> Once:
    """Whoever fails where an item is hard, so often by itself that kappa is ``share`` squared among any two; through the table of the page."""
    names = [("People", "participant", f"P{n}") for n in range(people)] + [("net", "network", "")] * machine + [("other", "network", "")] * (not people)
    step = {"trial_id": [str(at) for at in range(trials)], "ask": 1, "serial_position": 1.0, "paradigm": "vsr"}

    def once(random: Random) -> float:
        hard = random.rand(trials) < 0.65
        parts = []
        for agent, kind, person in names:
            follows = random.rand(trials) < share**0.5
            right = np.where(follows, hard, random.rand(trials) < 0.65)
            parts.append(pd.DataFrame(step | {"agent": agent, "agent_kind": kind, "participant": person, "correct": right.astype(float)}))
        table = error_consistency(Scored(pd.concat(parts, ignore_index=True), parts[0].iloc[:0], ()), resamples=RESAMPLES)
        pair = table[table["agent"] != table["other"]] if machine else table
        row = pair.iloc[0]
        return within(row["low"], share, row["high"])

    return once


def correlation_with_people(people: int) -> Once:
    true = np.array([0.85, 0.75, 0.68, 0.66, 0.7, 0.74])
    model = {(at,): value for at, value in enumerate([0.9, 0.8, 0.75, 0.6, 0.6, 0.7])}

    def crowd(random: Random, many: int) -> Crowd:
        own = np.clip(true + random.normal(0, 0.05, (many, 6)), 0.02, 0.98)
        return Crowd(tuple(model), random.binomial(24, own) / 24)

    planted = crowd(np.random.RandomState(0), 50_000).distance(model, resamples=2)["r"]

    def once(random: Random) -> float:
        found = crowd(random, people).distance(model, resamples=RESAMPLES)
        return within(found["r_low"], planted, found["r_high"])

    return once


def ceiling(people: int) -> Once:
    """Whether the true curve of people is at or above the lower noise ceiling (it is never above the upper one)."""
    true = np.array([0.85, 0.75, 0.68, 0.66, 0.7, 0.74])

    def once(random: Random) -> float:
        own = np.clip(true + random.normal(0, 0.08, (people, 1)) + random.normal(0, 0.05, (people, 6)), 0.02, 0.98)
        crowd = Crowd(tuple((at,) for at in range(6)), random.binomial(16, own) / 16)
        found, limits = crowd.distance({(at,): value for at, value in enumerate(true)}, resamples=2), crowd.ceiling()
        return float(limits["r_low"] <= found["r"] <= limits["r_high"])

    return once


# models and times -----------------------------------------------------------------------------------------------------------------------------------------


def of_model(question: str, people: int, *, high: bool = False) -> Once:
    """People who differ, and a network, on the same 36 items of three list lengths; the same level everywhere, unless a difference is to be held."""
    conditions = np.repeat([3, 5, 7], 12)
    with_network = question not in ("condition", "trend")

    def once(random: Random) -> float:
        hard = random.normal(0, 0.4, 36)
        base = 2.6 if high else 0.5
        fall = -0.3 if question in ("trend", "trends") else 0.0
        rows = []
        for at in range(people):
            own, cost = random.normal(0, 0.6), random.normal(0, 0.1)
            rows.append(("People", "participant", f"P{at}", base + own + (fall + cost) * (conditions - 5) + hard))
        if with_network:
            rows.append(("net", "network", "", base + hard))
        parts = []
        for number, (agent, kind, person, eta) in enumerate(rows):
            parts.append(
                pd.DataFrame(
                    {
                        **{"agent": agent, "agent_kind": kind, "participant": person, "paradigm": "vsr", "oracle": False, "step": 1, "ask": 1, "chance": 0.1},
                        **{"serial_position": 1.0, "list_length": conditions, "trial_id": [str(one) for one in range(36)], "session": person or agent},
                        **{"unit_trial": np.arange(36) + 36 * number, "correct": (random.rand(36) < expit(eta)).astype(float)},
                    }
                )
            )
        model = mixed_model(Scored(pd.concat(parts, ignore_index=True), parts[0].iloc[:0], ()), "vsr", "list_length")
        if model.fit is None:
            return float("nan")
        if question in ("agent", "condition", "agent x condition"):
            return float(terms(model).set_index("term")["p"][question] < 0.05)
        table = contrasts(model)
        row = table[(table["kind"] == question) & (table["first"] == ("People" if people else "net"))].iloc[0]
        planted = 0.0 if question == "agents" else fall
        return within(row["low"], planted, row["high"])

    return once


def times(many: int, name: str) -> Once:
    truth = {"mu": 450.0, "sigma": 60.0, "tau": 180.0}

    def once(random: Random) -> float:
        drawn = random.normal(truth["mu"], truth["sigma"], many) + random.exponential(truth["tau"], many)
        low, high = limits_of_times(drawn, fit_times(drawn))[name]
        return within(low, truth[name], high)

    return once


def dprime_over_n() -> Once:
    from scipy.stats import kruskal

    def once(random: Random) -> float:
        values = [detection(h := random.binomial(8, 0.7, 12), 8 - h, a := random.binomial(16, 0.2, 12), 16 - a).dprime for _ in range(3)]
        return float(kruskal(*values).pvalue < 0.05)

    return once


HOLDS, SIZE, BETWEEN = "interval holds", "test rejects", "between"
#: What is asked, of whom, what is counted, samples, and how one sample is made.
CASES: Sequence[tuple[str, str, str, int, Callable[..., Once], tuple[Any, ...], dict[str, Any]]] = (
    ("share of right answers", "24 trials of 4 items, 60%", HOLDS, SAMPLES, share_of_trials, (24, 4, 0.6), {}),
    ("share of right answers", "24 trials of 1 item, 95%", HOLDS, SAMPLES, share_of_trials, (24, 1, 0.95), {}),
    ("share of right answers", "8 people, 48 trials, 60%", HOLDS, SAMPLES, share_of_people, (8, 48, 0.6), {}),
    ("share of right answers", "20 people, 48 trials, 90%", HOLDS, SAMPLES, share_of_people, (20, 48, 0.9), {}),
    ("slope of an effect", "8 people", HOLDS, SAMPLES, slope, (8, "held"), {}),
    ("slope of an effect", "48 trials of a machine", HOLDS, SAMPLES, slope, (0, "held"), {}),
    ("slope of an effect against guessing", "8 people", SIZE, SAMPLES, slope, (8, "size"), {}),
    ("slope of an effect against guessing", "48 trials of a machine", SIZE, SAMPLES, slope, (0, "size"), {}),
    ("do conditions differ at all (Friedman)", "8 people", SIZE, SAMPLES, omnibus, (8,), {}),
    ("do conditions differ at all (Kruskal–Wallis)", "48 trials of a machine", SIZE, SAMPLES, omnibus, (0,), {}),
    ("difference from people", "8 people, 24 trials of a machine at 50%", HOLDS, SAMPLES, from_people, (8, 24, 0.5), {}),
    ("difference from people", "8 people, 16 trials of a machine at 98%", HOLDS, SAMPLES, from_people, (8, 16, 0.98), {}),
    ("share against guessing", "a machine, 24 lists of 4, one of nine", SIZE, SAMPLES, guessing, (0, 24, 4, 1 / 9), {}),
    ("share against guessing", "a machine, 96 questions with two answers", SIZE, SAMPLES, guessing_alone, (96, 0.5), {}),
    ("share against guessing", "a machine, 400 questions, blind guess 67%", SIZE, SAMPLES, guessing_alone, (400, 0.67), {}),
    ("share against guessing", "8 people, 24 lists of 4, one of nine", SIZE, SAMPLES, guessing, (8, 24, 4, 1 / 9), {}),
    ("share against guessing", "20 people, 3 questions, one of nine", SIZE, SAMPLES, guessing, (20, 3, 1, 1 / 9), {}),
    ("d′ against 0", "8 people, 60 questions, half of them 'match'", SIZE, SAMPLES, habit, (8, 60, 0.5), {}),
    ("d′ against 0", "8 people, 60 questions, 'no match' in 97%", SIZE, SAMPLES, habit, (8, 60, 0.03), {}),
    ("d′ against 0", "a machine, 96 questions, half of them 'match'", SIZE, SAMPLES, habit, (0, 96, 0.5), {}),
    ("d′", "8 people, 60 questions, d′ = 1.5", HOLDS, SAMPLES, dprime_of_people, (8, 60, 1.5), {}),
    ("d′", "a machine, 96 questions, d′ = 1.5", HOLDS, SAMPLES, dprime_of_a_machine, (96, 1.5), {}),
    ("does d′ differ over N (Kruskal–Wallis)", "12 blocks at each of 3", SIZE, SAMPLES, dprime_over_n, (), {}),
    ("items held (K)", "8 people, 120 trials", HOLDS, SAMPLES, capacity, (8,), {}),
    ("items held (K)", "a machine, 96 trials", HOLDS, SAMPLES, capacity, (0,), {}),
    ("kappa", "two machines, 96 trials", HOLDS, 1000, kappa_of, (0, True), {}),
    ("kappa", "a machine with 8 people, 96 trials", HOLDS, 1000, kappa_of, (8, True), {}),
    ("kappa", "8 people among themselves, 96 trials", HOLDS, 1000, kappa_of, (8, False), {}),
    ("correlation with people's curves", "a given curve, 12 people", HOLDS, SAMPLES, correlation_with_people, (12,), {}),
    ("noise ceilings", "people's true curve, 10 people", BETWEEN, SAMPLES, ceiling, (10,), {}),
    ("model, term condition", "8 people", SIZE, 400, of_model, ("condition", 8), {}),
    ("model, term condition", "8 people at 93%", SIZE, 400, of_model, ("condition", 8), {"high": True}),
    ("model, term agent", "8 people and a network", SIZE, 400, of_model, ("agent", 8), {}),
    ("model, term agent × condition", "8 people and a network", SIZE, 400, of_model, ("agent x condition", 8), {}),
    ("model, two agents", "8 people and a network", HOLDS, 400, of_model, ("agents", 8), {}),
    ("model, slope", "8 people", HOLDS, 400, of_model, ("trend", 8), {}),
    ("reaction times, mu", "200 times", HOLDS, 400, times, (200, "mu"), {}),
    ("reaction times, sigma", "200 times", HOLDS, 400, times, (200, "sigma"), {}),
    ("reaction times, tau", "200 times", HOLDS, 400, times, (200, "tau"), {}),
)


def run(case: int, samples: int) -> tuple[int, float, int]:
    """How often, in percent, and in how many samples there was something to count."""
    _, _, _, _, make, arguments, options = CASES[case]
    once, random = make(*arguments, **options), np.random.RandomState(1000 + case)
    found = np.array([once(random) for _ in range(samples)])
    return case, 100 * float(np.nanmean(found)), int(np.isfinite(found).sum())


def error_of(percent: float, samples: int) -> float:
    """Half of the 95 % interval of a percentage of so many samples (Wilson)."""
    z, p = float(ndtri(0.975)), percent / 100
    return 100 * z / (1 + z**2 / samples) * float(np.sqrt(p * (1 - p) / samples + z**2 / (4 * samples**2)))


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    lines = ["| what | of | | % | ± | samples |", "| --- | --- | --- | --- | --- | --- |"]
    with ProcessPoolExecutor(2) as pool:
        for case, percent, many in pool.map(run, range(len(CASES)), [max(20, round(share * one[3])) for one in CASES]):
            what, whose, counted, *_ = CASES[case]
            print(f"{what}, {whose}\t{percent:.1f}\t% ({counted}, ± {error_of(percent, many):.1f})", flush=True)
            lines.append(f"| {what} | {whose} | {counted} | {percent:.1f} | {error_of(percent, many):.1f} | {many:,} |")
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")
    print(f"docs/{DOCUMENT.name} has the table")


if __name__ == "__main__":
    main()
