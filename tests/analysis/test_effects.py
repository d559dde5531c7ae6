"""Effects: planted ones come back, each in its table and its figure; data that hold little or
nothing get a note and never an error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from analysis_tables import responses
from observed import along, change_detection, recall, rows_by, switching, table, together

from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.effects.capacity import cowan_k, pashler_k
from spanlab.analysis.effects.curves import accuracy, averages, averages_of
from spanlab.analysis.effects.effect import Effect, trends
from spanlab.analysis.effects.reaction_times import fit
from spanlab.analysis.effects.registry import EFFECTS, effect
from spanlab.analysis.figure_catalogue import FIGURES
from spanlab.analysis.figures.effect_figure import caption, effect_chart, looks_of
from spanlab.analysis.means.cell_means import Cells, unit_means
from spanlab.core.errors import SpanLabError
from spanlab.human_data import published
from spanlab.paradigms import list_paradigms

#: Runs with switches in which congruent markers are easier and faster.
_CONGRUENT = table(
    switching(
        {"one task": 0.7, "repetition": 0.7, "switch": 0.5},
        dict.fromkeys(("one task", "repetition", "switch"), 500),
        (0.2, -50),
    ),
    400,
    paradigm="sts",
)
#: For every effect a table in which it is planted, and what must come out (by the columns of its
#: cells).
PLANTED: dict[str, tuple[pd.DataFrame, dict[tuple[Any, ...], float], str]] = {
    "serial_position": (
        responses(lambda length, place: 0.9 - 0.1 * place, lengths=[3, 4], repetitions=400),
        {(length, place): 0.9 - 0.1 * place for length in (3, 4) for place in range(1, length + 1)},
        "vsr",
    ),
    "primacy_recency": (
        responses(lambda length, place: {1: 0.9, length: 0.7}.get(place, 0.4), lengths=[4, 5], repetitions=400),
        {("primacy", 4): 0.5, ("primacy", 5): 0.5, ("recency", 4): 0.3, ("recency", 5): 0.3},
        "vsr",
    ),
    "set_size": (table(along("set_size", {1: 0.9, 4: 0.6, 8: 0.3}), 1200), {(1,): 0.9, (4,): 0.6, (8,): 0.3}, "vsr"),
    "retention_interval": (
        table(along("retention_steps", {0: 0.9, 6: 0.7}, set_size=4), 900, paradigm="vir"),
        {(4, 0): 0.9, (4, 6): 0.7},
        "vir",
    ),
    "serial_position_retention": (
        table(along("serial_position", {1: 0.9, 2: 0.6}, list_length=2, retention_steps=4), 900, paradigm="vir"),
        {(2, 4, 1): 0.9, (2, 4, 2): 0.6},
        "vir",
    ),
    "cognitive_load": (
        table(
            along(
                "record_cognitive_load",
                {0.0: 0.9, 0.54: 0.5},
                factor_storage="visual",
                factor_distractor_domain="spatial",
                serial_position=1,
            ),
            900,
            paradigm="cs",
        ),
        {("visual", "spatial", 0.0): 0.9, ("visual", "spatial", 0.54): 0.5},
        "cs",
    ),
    "domain_conflict": (
        table(
            along(
                "factor_distractor_domain",
                {"visual": 0.4, "spatial": 0.8},
                factor_storage="visual",
                factor_load=3,
                serial_position=1,
            ),
            900,
            paradigm="cs",
        ),
        {("visual", 3, "the same"): 0.4, ("visual", 3, "the other"): 0.8},
        "cs",
    ),
    "memory_resolution": (
        table(along("factor_pattern_distractor_difference", {2: 0.6, 10: 0.95}, list_length=5), 900, paradigm="vsrec"),
        {(5, 2): 0.6, (5, 10): 0.95},
        "vsrec",
    ),
    "features": (
        together(
            table(along("set_size", {2: 0.9, 8: 0.6}, factor_feature="colour"), 900, paradigm="cd"),
            table(along("set_size", {2: 0.8, 8: 0.5}, factor_feature="gap"), 900, paradigm="cd").assign(session="b"),
        ),
        {("colour", 2): 0.9, ("colour", 8): 0.6, ("gap", 2): 0.8, ("gap", 8): 0.5},
        "cd",
    ),
    "conjunctions": (
        together(
            table(
                along("set_size", {2: 0.9, 8: 0.6}, factor_feature="conjunction", record_changed_feature="size"),
                600,
                paradigm="cd",
            ),
            table(
                along("set_size", {2: 0.7, 8: 0.7}, factor_feature="conjunction", record_changed_feature=None),
                600,
                paradigm="cd",
            ).assign(session="b"),
            table(
                along("set_size", {2: 0.0, 8: 0.0}, factor_feature="colour", record_changed_feature="colour"),
                100,
                paradigm="cd",
            ).assign(session="c"),
        ),
        {("size", 2): 0.9, ("size", 8): 0.6, ("nothing", 2): 0.7, ("nothing", 8): 0.7},
        "cd",
    ),
    "symmetry_offset": (
        table(along("record_symmetry_offset", {0: 0.9, 2: 0.5, 8: 0.8}, list_length=10), 1200, paradigm="sc"),
        {(10, 0): 0.9, (10, 2): 0.5, (10, 8): 0.8},
        "sc",
    ),
    "integrations": (
        table(along("list_length", {1: 0.95, 4: 0.7, 12: 0.5}, factor_part_size=1), 1200, paradigm="si"),
        {(1,): 0.95, (4,): 0.7, (12,): 0.5},
        "si",
    ),
    "task_switching": (
        table(
            switching(
                {"one task": 0.95, "repetition": 0.9, "switch": 0.7},
                dict.fromkeys(("one task", "repetition", "switch"), 500.0),
            ),
            300,
            paradigm="sts",
        ),
        {("one task",): 0.95, ("repetition",): 0.9, ("switch",): 0.7},
        "sts",
    ),
    "switching_time": (
        table(
            switching(
                dict.fromkeys(("one task", "repetition", "switch"), 0.9),
                {"one task": 400, "repetition": 450, "switch": 600},
            ),
            300,
            paradigm="sts",
        ),
        {("one task",): 400, ("repetition",): 450, ("switch",): 600},
        "sts",
    ),
    "congruency": (_CONGRUENT, {("congruent",): 0.86, ("incongruent",): 0.66}, "sts"),
    "congruency_time": (_CONGRUENT, {("congruent",): 450, ("incongruent",): 500}, "sts"),
    "switching_by_congruency": (
        _CONGRUENT,
        {
            ("congruent", "switch"): 0.7,
            ("incongruent", "switch"): 0.5,
            ("congruent", "one task"): 0.9,
            ("incongruent", "repetition"): 0.7,
        },
        "sts",
    ),
    "switching_time_by_congruency": (_CONGRUENT, {("congruent", "switch"): 450, ("incongruent", "switch"): 500}, "sts"),
    "capacity": (
        table(change_detection(3.0), 4_000, paradigm="cd"),
        {("Pashler", 4): 3.0, ("Pashler", 6): 3.0, ("Pashler", 8): 3.0, ("Pashler", 2): 2.0},
        "cd",
    ),
}


def free_recalls() -> pd.DataFrame:
    """In order; in another order; with an intrusion first; from the end."""
    shown = [11, 22, 33, 44, 55, 66]
    answers = [shown, [22, 11, 33, 44, 55, 66], [99, 11, 22, 33, 44, 55], [66, 11, 22, 33, 44, 99]]
    return together(
        *(recall(shown, answer, number) for number, answer in enumerate(answers, start=1)),
        recall([1, 2], [2, 1], 5),
        recall([1, 2], [1, 2], 6),
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(PLANTED))
def test_planted_effects_come_back(name: str) -> None:
    data, expected, paradigm = PLANTED[name]
    one = effect(name)
    assert paradigm in one.applies(data)
    found = one.table(data, paradigm, human="", level=0.9999)
    means = {tuple(row[column] for column in one.by): row for row in found.to_dict("records")}
    for place, planted in expected.items():
        row = means[place]
        assert (row["low"] <= planted <= row["high"]) or row["mean"] == pytest.approx(planted, abs=1e-9), (place, row)
        assert row["mean"] == pytest.approx(planted, rel=0.2, abs=0.1)
        assert (row["n_units"] > 0, row["unit"]) == (True, "trial")


def test_free_recall_by_hand() -> None:
    found = effect("free_recall").table(free_recalls(), "sfr").set_index(["criterion", "list_length"])
    assert found["mean"].to_dict() == {
        ("in any order", 2): 1.0,
        ("in order", 2): 0.5,
        ("in any order", 6): 0.5,
        ("in order", 6): 0.25,
    }
    chance = found["chance"]
    assert chance["in any order", 2] == pytest.approx(1 / math.comb(100, 2))
    assert chance["in order", 2] == pytest.approx(1 / (100 * 99))
    first = effect("first_recalled").table(free_recalls(), "sfr").set_index(["recalled_first", "list_length"])["mean"]
    # of six items the first, the last four (3 to 6), another (2), or none of them
    assert [first[kind, 6] for kind in ("first item", "last four", "another item", "not an item")] == [
        0.25,
        0.25,
        0.25,
        0.25,
    ]
    assert [first[kind, 2] for kind in ("first item", "last four", "another item", "not an item")] == [0.5, 0.5, 0, 0]
    odds = effect("first_recalled").table(free_recalls(), "sfr").groupby("list_length")["chance"].sum()
    np.testing.assert_allclose(odds.astype(float), 1)


def test_a_trial_with_nothing_recalled_recalled_nothing_first() -> None:
    both = together(recall([1, 2, 3], [], 1), recall([1, 2, 3], [1, 2, 3], 2), recall([4, 5], [5, 4], 3))
    assert effect("first_recalled").table(both, "sfr").groupby("list_length")["n_trials"].first().to_dict() == {
        2: 1,
        3: 1,
    }
    whole = effect("free_recall").table(both, "sfr").set_index(["criterion", "list_length"])["mean"]
    assert whole["in any order", 3] == 0.5


def test_curves_are_those_of_plain_group_bys() -> None:
    """The fast path against pandas, word for word: trials first, then people."""
    people = [
        responses(
            lambda length, place, p=p: p - 0.05 * place,
            agent="participant",
            kind="participant",
            participant=f"P{n}",
            repetitions=4 + n,
            seed=n,
        )
        for n, p in enumerate((0.5, 0.7, 0.9))
    ]
    data = together(*people, responses(lambda length, place: 0.6, repetitions=12, seed=9)).assign(trial_id="")
    found = rows_by(accuracy(data, ("list_length",)), "agent", "list_length")
    data["correct"] = data["correct"].astype(float)
    trials = data.groupby(["agent", "list_length", "participant", "session", "trial"])["correct"].mean().reset_index()
    persons = (
        trials[trials["agent"] == "participant"]
        .groupby(["agent", "list_length", "participant"])["correct"]
        .mean()
        .reset_index()
    )
    for agent, units in (("participant", persons), ("network:test", trials[trials["agent"] == "network:test"])):
        for length, part in units.groupby("list_length")["correct"]:
            row = found[agent, length]
            assert row["mean"] == pytest.approx(part.mean())
            assert row["sem"] == pytest.approx(scipy.stats.sem(part))
            assert row["n_units"] == len(part)


def test_reaction_times_are_averaged_over_those_that_there_are() -> None:
    data = table(along("set_size", {2: 1.0, 4: 1.0}), 40)
    data["rt_ms"] = [500.0 if number % 2 else None for number in range(40)]
    found = averages(data, ("set_size",), value="rt_ms")
    assert found["mean"].tolist() == [500, 500]
    assert found["n_items"].sum() == 20
    assert found["chance"].isna().all()


@pytest.mark.parametrize(
    ("items", "hits", "alarms", "pashler", "cowan"),
    [(4, 0.9, 0.2, 3.5, 2.8), (6, 0.5, 0.5, 0, 0), (8, 0.2, 0.4, -8 / 3, -1.6)],
)
def test_k_by_hand(items: int, hits: float, alarms: float, pashler: float, cowan: float) -> None:
    assert pashler_k(items, hits, alarms) == pytest.approx(pashler)
    assert cowan_k(items, hits, alarms) == pytest.approx(cowan)
    assert math.isnan(pashler_k(items, 1, 1))


def test_a_guesser_holds_nothing_on_average_and_somebody_who_saw_every_change_everything() -> None:
    """Without the correction the mean of a guesser with 12 trials of both kinds is -.3 of 6, by the
    exact distribution of the counts."""
    counts = np.arange(13)
    for guess in (0.2, 0.5, 0.7):
        mean = float(
            (
                np.outer(*[scipy.stats.binom.pmf(counts, 12, guess)] * 2)
                * pashler_k(6, counts[:, None] / 12, counts[None] / 12, 12)
            ).sum()
        )
        assert mean == pytest.approx(6 * guess**13, abs=1e-9)  # but for those who always say that something changed
    assert pashler_k(6, 1.0, 0.3, 12) == pytest.approx(6)


def test_where_trials_cannot_tell_k_it_is_said() -> None:
    def of(hits: int, alarms: int, many: int = 30, formula: str = "Pashler") -> dict[Any, Any]:
        right = [at < hits for at in range(many)] + [at >= alarms for at in range(many)]
        words = ['"different"'] * many + ['"same"'] * many
        rows = pd.DataFrame(
            {"correct": right * 2, "correct_answer": words * 2, "set_size": np.repeat([2, 20], 2 * many)}
        )
        number = np.arange(len(rows))
        fixed = {
            "paradigm": "cd",
            "agent": "network:a",
            "agent_kind": "network",
            "chance": 0.5,
            "step": 1,
            "ask": 1,
            "outcome": "answered",
            "session": "s",
        }
        found = effect("capacity").table(
            rows.assign(**fixed, trial=number, trial_id=number.astype(str)), "cd", human=""
        )
        return found[(found["formula"] == formula) & (found["set_size"] == 20)].iloc[0].to_dict()

    assert of(22, 25)["note"].startswith("these trials cannot tell K: its interval is wider than from 0 to 20")
    assert of(30, 30)["note"].startswith("these trials cannot tell K: nearly every answer was that something changed")
    assert of(20, 3)["note"] == ""
    assert of(5, 2, many=7)["note"] == "7 and 7 trials with and without a change: no K from fewer than 8"
    few = table(change_detection(2.0, sizes=(4, 6)), 20, paradigm="cd")
    assert "no K from fewer than 8" in FIGURES.get("capacity").too_few(score_table(few), "cd")
    assert (
        FIGURES.get("capacity").too_few(
            score_table(table(change_detection(2.0, sizes=(4, 6)), 200, paradigm="cd")), "cd"
        )
        == ""
    )
    every = of(30, 3)
    assert every["low"] < every["mean"] == every["high"] == 20
    assert every["interval"] == "exact"
    assert of(30, 15, formula="Cowan")["low"] < cowan_k(20, 0.025 ** (1 / 30), 0.5) - 1


def test_silence_is_a_miss_and_never_a_false_alarm() -> None:
    data = table(change_detection(2.0, sizes=(4, 6)), 400, paradigm="cd")
    silent = data["correct_answer"] == '"same"'
    quiet = data.assign(outcome=np.where(silent & (data["trial"] % 2 == 0), "omitted", "answered"))
    kept, one = data[~(silent & (data["trial"] % 2 == 0))], effect("capacity")
    pd.testing.assert_series_equal(one.table(quiet, "cd")["mean"], one.table(kept, "cd")["mean"])


def test_ex_gaussian_agrees_with_scipy_and_with_what_was_planted() -> None:
    random = np.random.RandomState(4)
    times = random.normal(480, 45, 4000) + random.exponential(160, 4000)
    found = fit(times)
    shape, loc, scale = scipy.stats.exponnorm.fit(times)
    assert (found.mu, found.sigma, found.tau) == (
        pytest.approx(loc, rel=1e-3),
        pytest.approx(scale, rel=1e-2),
        pytest.approx(shape * scale, rel=1e-2),
    )
    assert found.log_likelihood == pytest.approx(scipy.stats.exponnorm.logpdf(times, shape, loc, scale).sum(), abs=0.01)
    assert (found.mu, found.sigma, found.tau) == (
        pytest.approx(480, abs=10),
        pytest.approx(45, abs=8),
        pytest.approx(160, abs=12),
    )
    assert found.density(500.0) == pytest.approx(
        scipy.stats.exponnorm.pdf(500, found.tau / found.sigma, found.mu, found.sigma)
    )
    with pytest.raises(SpanLabError, match="3 different"):
        fit([300, 300, 400])


def test_switch_and_mixing_costs_come_back() -> None:
    maker = switching(
        {"one task": 0.95, "repetition": 0.9, "switch": 0.7}, {"one task": 400, "repetition": 450, "switch": 600}
    )
    data = table(maker, 500, paradigm="sts")
    for name, mixing, switch in (("task_switching", 0.05, 0.2), ("switching_time", 50, 150)):
        found = rows_by(trends(effect(name), data, "sts"), "contrast")
        for cost, planted in (("mixing cost", mixing), ("switch cost", switch)):
            assert found[cost]["low"] < planted < found[cost]["high"]
            assert found[cost]["p"] < 0.001


def test_somebody_who_ignores_the_cues_has_a_line_of_his_own() -> None:
    """Of congruent markers all, of incongruent ones half; older records that do not tell which are
    which have no such line."""
    accuracy = {"one task": 0.8, "repetition": 0.75, "switch": 0.5}
    data = table(switching(accuracy, dict.fromkeys(accuracy, 500.0), (0.15, -40)), 100, paradigm="sts")
    by = rows_by(effect("switching_by_congruency").table(data, "sts"), "congruence", "judgement")
    assert {(panel, row["cue_ignored"]) for (panel, _), row in by.items()} == {("congruent", 1.0), ("incongruent", 0.5)}
    one = effect("task_switching")
    found = one.table(data, "sts")
    congruent = data[data["record_transition"] == '"switch"']["record_congruent"] == "true"
    assert rows_by(found, "judgement")["switch"]["cue_ignored"] == pytest.approx(0.5 + congruent.mean() / 2, abs=0.05)
    roles = [row["role"] for row in effect_chart(one, found, looks_of(found), title="")["data"]["values"]]
    assert (roles.count("lacking"), roles.count("name")) == (5, 1)
    assert "Dashed: cue ignored" in caption(one, found)
    older = one.table(data.drop(columns="record_congruent"), "sts")
    assert "cue_ignored" not in older.columns
    assert "cue ignored" not in caption(one, older)
    assert effect("congruency").missing(data.drop(columns="record_congruent"), "sts") == "sts has no record_congruent."


def test_trends_are_those_of_independent_computations() -> None:
    data = table(along("retention_steps", {0: 0.9, 2: 0.8, 6: 0.6}, set_size=4), 300, paradigm="vir")
    (found,) = trends(effect("retention_interval"), data, "vir").to_dict("records")
    groups = [part["correct"].to_numpy(float) for _, part in data.groupby("retention_steps")]
    assert found["value"] == pytest.approx(np.polyfit([0, 2, 6], [part.mean() for part in groups], 1)[0])
    assert found["low"] < -0.05 < found["high"]
    people = [
        table(
            along("retention_steps", {0: 0.9, 2: 0.8, 6: 0.6}, set_size=4),
            90,
            agent="P",
            kind="participant",
            participant=f"P{n}",
            seed=n,
            paradigm="vir",
        )
        for n in range(6)
    ]
    (found,) = trends(effect("retention_interval"), together(*people), "vir").to_dict("records")
    means = np.array(
        [[part["correct"].astype(float).mean() for _, part in one.groupby("retention_steps")] for one in people]
    )
    slopes = np.polyfit([0, 2, 6], means.T, 1)[0]
    expected: Any = scipy.stats.ttest_1samp(slopes, 0)
    assert (found["t"], found["df"], found["p"]) == (
        pytest.approx(expected.statistic),
        pytest.approx(5),
        pytest.approx(expected.pvalue),
    )


def test_published_people_are_beside_them() -> None:
    found = effect("features").table(PLANTED["features"][0], "cd")
    people = found[found["agent_kind"] == "group means"]
    assert set(people["factor_feature"]) == {"colour", "gap"}
    expected = published("cd").set_index(["factor_feature", "set_size"])["accuracy"]
    assert all(row["mean"] == expected[row["factor_feature"], row["set_size"]] for row in people.to_dict("records"))
    assert 0.425 in effect("cognitive_load").table(PLANTED["cognitive_load"][0], "cs")["record_cognitive_load"].tolist()


def test_the_library_has_every_paradigm_that_effects_name() -> None:
    assert {name for one in EFFECTS for name in one.paradigms} <= set(list_paradigms())
    assert len({one.name for one in EFFECTS}) == len(EFFECTS)
    with pytest.raises(SpanLabError, match="did you mean 'serial_position'"):
        effect("serial_positon")


def test_a_figure_says_that_there_is_only_one_condition() -> None:
    one = responses(lambda length, place: 0.9, lengths=[3], repetitions=4)
    assert effect("set_size").missing(one, "vsr").startswith("vsr has only one value of set size (3)")


def test_one_length_of_lists_has_primacy_and_recency() -> None:
    one = responses(lambda length, place: 0.9 if place == 1 else 0.5, lengths=[4], repetitions=40)
    means = effect("primacy_recency").table(one, "vsr").set_index("index")["mean"].astype(float).to_dict()
    assert means["primacy"] > 0.25 > abs(means["recency"])


_BY_SET_SIZE: dict[str, Any] = {
    "name": "halved",
    "title": "half of what is right",
    "x": "set_size",
    "x_title": "set size",
    "needs": ("set_size",),
    "method": "Half of the proportion correct.",
    "human": False,
}


class _Halved:
    """Estimator of half of the proportion correct."""

    value = "correct"

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> dict[str, Cells]:
        return {"": unit_means(scored, by, who=who)}

    def table(self, cells: Mapping[str, Cells], *, level: float = 0.95) -> pd.DataFrame:
        means = averages_of(cells[""], level=level)
        return means.assign(mean=means["mean"] / 2)


def test_an_estimator_of_ones_own_computes_the_numbers_of_an_effect() -> None:
    scored = score_table(PLANTED["set_size"][0])
    whole, halved = Effect(**_BY_SET_SIZE), Effect(**_BY_SET_SIZE, estimator=_Halved())
    means, halves = whole.table(scored, "vsr"), halved.table(scored, "vsr")
    assert list(halves["mean"]) == [mean / 2 for mean in means["mean"]]
    assert whole.averages is not None
    assert halved.averages is halved.sensitivity is None
    assert len(trends(whole, scored, "vsr"))
    assert not len(trends(halved, scored, "vsr"))  # nobody has said how it would be tested
