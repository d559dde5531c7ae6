"""How one sample of each row of the table of coverage and size is made: data with known truth, and
what the software says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr, ndtri

from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.effects.capacity import pashler_k
from spanlab.analysis.effects.reaction_times import fit as fit_times
from spanlab.analysis.effects.reaction_times import limits as limits_of_times
from spanlab.analysis.effects.reaction_times import over_people
from spanlab.analysis.guessing import against_guessing
from spanlab.analysis.means.bootstrap import estimate_pooled
from spanlab.analysis.means.contrasts import Contrast, binomial_limits, contrast, estimate, share_limits
from spanlab.analysis.model_vs_human.differences import _difference as difference
from spanlab.analysis.model_vs_human.scores import _scored_row as scored_row
from spanlab.analysis.nback.cells import nback_cells
from spanlab.analysis.nback.measures import COUNTS, OURS, measured
from spanlab.analysis.nback.significance import kruskal_wallis, mann_whitney
from spanlab.analysis.stats.agreement import Crowd, error_consistency
from spanlab.analysis.stats.mixed_contrasts import contrasts, terms
from spanlab.analysis.stats.mixed_model import Mixed, mixed_model
from spanlab.analysis.stats.signal_detection import detection
from spanlab.extensions.neural.lesions import lesion_table

RESAMPLES = 1500
Random = np.random.RandomState
#: Of one sample: whether an interval held what was planted, or whether a test cried wolf (nan:
#: there was none); of several questions by their names.
Once = Callable[[Random], float | dict[str, float]]


def rejects(p: float) -> float:
    return float("nan") if p != p else float(p < 0.05)


def within(low: float, value: float, high: float) -> float:
    return float("nan") if low != low else float(low <= value <= high)


# shares and their differences ---------------------------------------------------------------------


def share_of_trials(trials: int, items: int, p: float) -> Once:
    def once(random: Random) -> float:
        found = estimate(random.binomial(items, p, trials) / items)
        return within(found.low, p, found.high)

    return once


def share_of_people(people: int, trials: int, p: float, spread: float = 0.6) -> Once:
    own = expit(np.log(p / (1 - p)) + spread * np.random.RandomState(0).normal(size=200_000))

    def once(random: Random) -> float:
        found = estimate(random.binomial(trials, random.choice(own, people)) / trials)
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
            values = [
                random.binomial(20, np.clip(truth[at] + random.normal(0, 0.05, people), 0, 1)) / 20 for at in range(4)
            ]
            ids = [np.arange(people)] * 4
        else:
            values = [random.binomial(4, truth[at], 12) / 4 for at in range(4)]
            ids = [np.arange(12) + 12 * at for at in range(4)]
        found = contrast(values, ids, weight)
        if falls:
            return within(*_around(found, float(weight @ truth)))
        return float(found.against(0.0)["p"] < 0.05) if found.se > 0 else float("nan")

    return once


def _around(found: Contrast, value: float) -> tuple[float, float, float]:
    low, high = found.ends()
    return low, value, high


_ONCE: dict[str, Any] = {"conditions": 1, "over": "", "left_out": ""}


def from_people(people: int, trials: int, p: float) -> Once:
    """A machine and people who differ, or published people, who have no spread."""

    def once(random: Random) -> float:
        mine = contrast([random.binomial(4, p, trials) / 4], [np.arange(trials)], np.ones(1), share=True)
        if not people:
            found = difference(
                ("mine", "network", "net"), "people", (mine, 0.7), "trial", conditions=1, over="", left_out=""
            )
            return within(found.low, p - 0.7, found.high)
        own = np.clip(random.normal(0.7, 0.08, people), 0, 1)
        theirs = contrast([random.binomial(60, own) / 60], [np.arange(people)], np.ones(1), share=True)
        found = difference(
            ("mine", "network", "net"), "people", (mine, theirs), "trial", conditions=1, over="", left_out=""
        )
        return within(found.low, p - 0.7, found.high)

    return once


# guessing and sensitivity -------------------------------------------------------------------------


def guessing(people: int, trials: int, items: int, level: float) -> Once:
    """Through the table of the page."""
    many = max(1, people) * trials * items
    who = np.repeat([f"P{n}" if people else "" for n in range(max(1, people))], trials * items)
    kind = "participant" if people else "network"
    base = {
        "paradigm": "mine",
        "session": "s",
        "agent": "somebody",
        "agent_kind": kind,
        "participant": who,
        "oracle": False,
        "unit_trial": np.arange(many) // items,
        "chance": level,
    }

    def once(random: Random) -> float:
        table = pd.DataFrame(base | {"correct": (random.rand(many) < level).astype(float), "outcome": "answered"})
        return rejects(against_guessing(Scored(table, table.iloc[:0], ()))[0].share.p)

    return once


def guessing_alone(answers: int, level: float) -> Once:
    def told(right: int) -> bool:
        inside = 0 < right < answers
        limits = binomial_limits(right, answers) if inside else share_limits(right / answers, 0.0, 1, answers)
        return not limits[0] <= level <= limits[1]

    known = [told(right) for right in range(answers + 1)]
    return lambda random: float(known[random.binomial(answers, level)])


def habit(people: int, trials: int, says: float, matches: float = 1 / 3) -> Once:
    """Somebody who says 'match' so often, whatever is shown; through the table of the page."""
    many = max(1, people)
    base = {
        "paradigm": "mine",
        "agent": "somebody",
        "agent_kind": "participant" if people else "network",
        "participant": np.repeat([f"P{n}" if people else "" for n in range(many)], trials),
        "session": "s",
        "oracle": False,
        "unit_trial": np.arange(many * trials),
        "chance": 0.5,
        "blind": 1 - matches,
        "outcome": "answered",
    }
    words = np.array(['"no match"', '"match"'])

    def once(random: Random) -> float:
        truth, said = random.rand(many * trials) < matches, random.rand(many * trials) < says
        table = pd.DataFrame(base | {"correct": (said == truth).astype(float), "correct_answer": words[truth * 1]})
        return rejects(against_guessing(Scored(table, table.iloc[:0], ()))[0].claim.p)

    return once


def dprime_of_people(people: int, trials: int, planted: float) -> Once:
    """The mean over people of d' as it is estimated in blocks of this size: the correction pulls
    towards 0, which is in the value that is to be held."""

    def of(random: Random, many: int) -> np.ndarray:
        own = random.normal(planted, 0.4, many)
        half = trials // 2
        hits, alarms = random.binomial(half, ndtr(own / 2)), random.binomial(half, ndtr(-own / 2))
        return detection(hits, half - hits, alarms, half - alarms).dprime

    truth = float(of(np.random.RandomState(0), 200_000).mean())

    def once(random: Random) -> float:
        found = estimate(of(random, people), proportion=False)
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
            found = estimate_pooled(
                counts,
                lambda sums: np.asarray(pashler_k(size, sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3], sums[:, 3])),
                resamples=RESAMPLES,
            )
            return within(found.low, planted, found.high)
        own = np.clip(random.normal(planted, 0.5, people), 0.5, size - 0.5)
        hits, alarms = (
            random.binomial(60, own / size + (1 - own / size) * 0.3) / 60,
            random.binomial(60, 0.3, people) / 60,
        )
        found = estimate(np.asarray(pashler_k(np.full(people, size), hits, alarms, 60.0)), proportion=False)
        return within(found.low, planted, found.high)

    return once


# people, machines and their errors ----------------------------------------------------------------


def kappa_of(people: int, machine: bool, share: float = 0.3, trials: int = 96) -> Once:
    """Whoever fails where an item is hard, so often by itself that kappa is ``share`` squared among
    any two; through the table of the page."""
    names = (
        [("People", "participant", f"P{n}") for n in range(people)]
        + [("net", "network", "")] * machine
        + [("other", "network", "")] * (not people)
    )
    step = {"trial_id": [str(at) for at in range(trials)], "ask": 1, "serial_position": 1.0, "paradigm": "vsr"}

    def once(random: Random) -> float:
        hard = random.rand(trials) < 0.65
        parts = []
        for agent, kind, person in names:
            follows = random.rand(trials) < share**0.5
            right = np.where(follows, hard, random.rand(trials) < 0.65)
            parts.append(
                pd.DataFrame(
                    step
                    | {
                        "agent": agent,
                        "agent_kind": kind,
                        "participant": person,
                        "session": person or agent,
                        "correct": right.astype(float),
                    }
                )
            )
        table = error_consistency(
            Scored(pd.concat(parts, ignore_index=True), parts[0].iloc[:0], ()), resamples=RESAMPLES
        )
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

    planted = crowd(np.random.RandomState(0), 50_000).distance(model)["r"]

    def once(random: Random) -> float:
        found = crowd(random, people).distance(model)
        return within(found["r_low"], planted, found["r_high"])

    return once


def ceiling(people: int) -> Once:
    """Whether the true curve of people is at or above the lower noise ceiling (it is never above
    the upper one)."""
    true = np.array([0.85, 0.75, 0.68, 0.66, 0.7, 0.74])

    def once(random: Random) -> float:
        own = np.clip(true + random.normal(0, 0.08, (people, 1)) + random.normal(0, 0.05, (people, 6)), 0.02, 0.98)
        crowd = Crowd(tuple((at,) for at in range(6)), random.binomial(16, own) / 16)
        found, limits = crowd.distance({(at,): value for at, value in enumerate(true)}), crowd.ceiling()
        return float(limits["r_low"] <= found["r"] <= limits["r_high"])

    return once


# reaction times -----------------------------------------------------------------------------------

TIMES = {"mu": 450.0, "sigma": 60.0, "tau": 180.0}


def drawn_times(random: Random, many: int, mu: float = TIMES["mu"]) -> np.ndarray:
    return random.normal(mu, TIMES["sigma"], many) + random.exponential(TIMES["tau"], many)


def times(many: int) -> Once:
    """mu, sigma and tau of one person."""

    def once(random: Random) -> dict[str, float]:
        drawn = drawn_times(random, many)
        ends = limits_of_times(drawn, fit_times(drawn))
        return {name: within(ends[name][0], planted, ends[name][1]) for name, planted in TIMES.items()}

    return once


def times_over_people(people: int, many: int) -> Once:
    """Means of mu, sigma and tau over people whose mu differs, through the table of the page."""

    def once(random: Random) -> dict[str, float]:
        fits = [fit_times(drawn_times(random, many, random.normal(TIMES["mu"], 60))) for _ in range(people)]
        columns = {name: [getattr(fitted, name) for fitted in fits] for name in TIMES}
        who = {
            "paradigm": "vsr",
            "agent_kind": "participant",
            "agent": "People",
            "participant": [f"P{at}" for at in range(people)],
        }
        nothing = dict.fromkeys(("n_items", "n_left_out", "mean", "median", "sd"), 0)
        row = over_people(pd.DataFrame(who | nothing | columns)).iloc[0]
        return {name: within(row[f"{name}_low"], planted, row[f"{name}_high"]) for name, planted in TIMES.items()}

    return once


def mean_time(people: int, many: int) -> Once:
    """The mean of a condition: over people, or over the answers of one person."""
    truth = TIMES["mu"] + TIMES["tau"]

    def once(random: Random) -> float:
        values = (
            [drawn_times(random, many, random.normal(TIMES["mu"], 60)).mean() for _ in range(people)]
            if people
            else drawn_times(random, many)
        )
        found = estimate(values, proportion=False)
        return within(found.low, truth, found.high)

    return once


def switch_cost(people: int, many: int, cost: float) -> Once:
    """The difference of two conditions in time: people have both, of one person there are answers
    in each."""

    def once(random: Random) -> dict[str, float]:
        if people:
            own, costs = random.normal(TIMES["mu"], 60, people), random.normal(cost, 30, people)
            values = [
                np.array([drawn_times(random, many, mean).mean() for mean in level]) for level in (own + costs, own)
            ]
            ids = [np.arange(people)] * 2
        else:
            values = [drawn_times(random, many, TIMES["mu"] + cost), drawn_times(random, many)]
            ids = [np.arange(many), many + np.arange(many)]
        found = contrast(values, ids, np.array([1.0, -1.0]))
        told = {"held": within(*_around(found, cost)), "test": rejects(found.against(0.0)["p"])}
        return told

    return once


# blocks of N-back, and units of a network ---------------------------------------------------------


def blocks(random: Random, many: int, hit: float = 0.75, alarm: float = 0.2) -> np.ndarray:
    """Hits, misses, false alarms and correct rejections of blocks of 8 matches and 16 other items."""
    hits, alarms = random.binomial(8, hit, many), random.binomial(16, alarm, many)
    return np.column_stack([hits, 8 - hits, alarms, 16 - alarms])


def nback_measures(many: int, hit: float = 0.75, alarm: float = 0.2) -> Once:
    """Through the table of cells."""
    z_hit, z_alarm = float(ndtri(hit)), float(ndtri(alarm))
    truth = {
        "dprime_pooled": z_hit - z_alarm,
        "criterion_pooled": -(z_hit + z_alarm) / 2,
        "hit_rate": hit,
        "false_alarm_rate": alarm,
    }
    truth["accuracy"] = (hit + 2 * (1 - alarm)) / 3
    who = {"paradigm": "nback", "agent_kind": "network", "agent": "net", "participant": "", "session": "s", "n": 2}

    def once(random: Random) -> dict[str, float]:
        counts = pd.DataFrame(blocks(random, many, hit, alarm), columns=list(COUNTS))
        cells = nback_cells(measured(counts.assign(**who), OURS), measures=tuple(truth), resamples=RESAMPLES).set_index(
            "measure"
        )
        return {name: within(cells["low"][name], planted, cells["high"][name]) for name, planted in truth.items()}

    return once


def dprime_over_n(levels: int, many: int) -> Once:
    """Kruskal and Wallis's test, and whether any pair of levels differs (Bonferroni), where none
    does."""
    who = {"paradigm": "nback", "agent_kind": "network", "agent": "net"}

    def once(random: Random) -> dict[str, float]:
        parts = [
            pd.DataFrame({"n": n, "dprime": detection(*blocks(random, many).T).dprime}) for n in range(1, levels + 1)
        ]
        table = pd.concat(parts, ignore_index=True).assign(**who)
        whole, pairs = kruskal_wallis(table, "dprime", tuple(who)), mann_whitney(table, "dprime", tuple(who))
        return {"whole": rejects(float(whole["p"].iloc[0])), "pairs": rejects(float(pairs["p_bonferroni"].min()))}

    return once


def lesion(units: int, cluster: int, trials: int) -> Once:
    """A cluster that is like any other units: each unit carries some of the trials."""

    def once(random: Random) -> float:
        carries = random.rand(units, trials) < 3 / units
        labels = np.where(random.permutation(units) < cluster, 1, 2)
        noise = random.rand(trials)

        def silenced(gone: Sequence[int]) -> dict[str, np.ndarray]:
            lost = carries[list(gone)].any(axis=0) if len(gone) else np.zeros(trials, bool)
            return {"vsr": (noise < np.where(lost, 0.3, 0.8)).astype(float)}

        table = lesion_table(np.arange(units), labels, silenced, seed=int(random.randint(2**31)))
        return rejects(float(table["p"].iloc[0]))

    return once


# scores A and B -----------------------------------------------------------------------------------


def score(kind: str, people: int, against: int) -> Once:
    """Of a machine (its trials), or of people, against published people (no spread) or measured
    ones; and against guessing, by somebody who guesses."""
    weight = (np.arange(4) - 1.5) / 5 if kind == "A" else np.full(4, 0.25)
    mine, theirs = np.array([0.9, 0.75, 0.6, 0.45]), np.array([0.9, 0.83, 0.76, 0.69])
    level = np.full(4, 1 / 9)
    truth = abs(float(weight @ mine) / float(weight @ theirs) - 1)

    def curve(random: Random, shares: np.ndarray, many: int, seed: int = 0) -> Contrast:
        if many:
            values = [
                random.binomial(40, np.clip(share + random.normal(0, 0.05 * (share > 0.2), many), 0, 1)) / 40
                for share in shares
            ]
            ids = [np.arange(many)] * 4
        else:
            values = [random.binomial(4, share, 12) / 4 for share in shares]
            ids = [np.arange(12) + 12 * at for at in range(4)]
        return contrast(values, ids, weight)

    def once(random: Random) -> dict[str, float]:
        reference = curve(random, theirs, against, 1) if against else float(weight @ theirs)
        row = scored_row(curve(random, mine, people), reference, 0.0, True, 3.0)
        guessing = scored_row(curve(random, level, people), reference, float(weight @ level), True, 3.0)
        return {"held": within(row["low"], truth, row["high"]), "size": rejects(guessing["p"])}

    return once


# models -------------------------------------------------------------------------------------------


def of_model(people: int, base: float = 0.5, *, fall: float = 0.0, network: float | None = 0.0) -> Once:
    """People who differ, and a network so far above them, on the same 36 items of three list
    lengths: every question that the page asks of the model."""
    conditions = np.repeat([3, 5, 7], 12)
    sd = {"participant": 0.6, "item": 0.4}

    def once(random: Random) -> dict[str, float]:
        hard = random.normal(0, sd["item"], 36)
        rows = []
        for at in range(people):
            own, cost = random.normal(0, sd["participant"]), random.normal(0, 0.1)
            rows.append(("People", "participant", f"P{at}", base + own + (fall + cost) * (conditions - 5) + hard))
        if network is not None:
            rows.append(("net", "network", "", base + network + hard))
        parts = []
        for number, (agent, kind, person, eta) in enumerate(rows):
            parts.append(
                pd.DataFrame(
                    {
                        **{
                            "agent": agent,
                            "agent_kind": kind,
                            "participant": person,
                            "paradigm": "vsr",
                            "oracle": False,
                            "step": 1,
                            "ask": 1,
                            "outcome": "answered",
                            "chance": 0.1,
                        },
                        **{
                            "serial_position": 1.0,
                            "list_length": conditions,
                            "trial_id": [str(one) for one in range(36)],
                            "session": person or agent,
                        },
                        **{
                            "unit_trial": np.arange(36) + 36 * number,
                            "correct": (random.rand(36) < expit(eta)).astype(float),
                        },
                    }
                )
            )
        model = mixed_model(Scored(pd.concat(parts, ignore_index=True), parts[0].iloc[:0], ()), "vsr", "list_length")
        return {} if model.fit is None else _asked_of(model, fall, network or 0.0, sd)

    return once


def _asked_of(model: Mixed, fall: float, network: float, sd: dict[str, float]) -> dict[str, float]:
    """Each question's answer: of intervals whether they held what was planted, of tests whether
    they rejected."""
    told = {f"term {row['term']}": rejects(row["p"]) for row in terms(model).to_dict("records")}
    table = contrasts(model)
    slope = {"People": fall, "net": 0.0}
    planted = {
        "agents": lambda row: -network,
        "agents in condition": lambda row: -network + fall * (row["condition"] - 5),
    }
    planted |= {"trend": lambda row: slope[row["first"]], "trends": lambda row: fall}
    for row in table[table["kind"].isin(list(planted))].to_dict("records"):
        name = f"{row['kind']} {row['first']}" if row["kind"] == "trend" else row["kind"]
        if row["kind"] != "agents in condition" or row["condition"] == 5:
            told |= {
                f"held {name}": within(row["low"], planted[row["kind"]](row), row["high"]),
                f"test {name}": rejects(row["p"]),
            }
    family = table[table["kind"] == "agents in condition"]
    if len(family):
        told["family"] = rejects(float(family["p_holm"].min()))
    for row in model.random().to_dict("records"):
        if row["effect"] in sd:
            told[f"about {row['effect']}"] = within(row["low"], sd[row["effect"]], row["high"])
    return told
