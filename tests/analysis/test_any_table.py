"""Random tables, designs, files and flags together: an answer or a sentence, never a traceback; and a number
that stands in two places is one number, and that of a computation by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from any_tables import flags, tables, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_1samp, ttest_ind

import spanlab
from spanlab.analysis.data.loading import load
from spanlab.analysis.report.paradigm import numbers_of_all
from spanlab.analysis.stats.factorial import MEASURES
from spanlab.core.errors import SpanLabError

QUIET = {"deadline": None, "suppress_health_check": [*HealthCheck], "database": None, "derandomize": True}


def tried(make: Callable[[Path, Path, dict[str, Any]], object], data: st.DataObject) -> None:
    """Run a command on a random table with random flags; a sentence is an answer, too."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        ending = data.draw(st.sampled_from([".csv", ".tsv", ".json", ".parquet"]))
        file, reading = written(data.draw(tables()), place, ending), data.draw(flags(place))
        with suppress(SpanLabError):
            make(file, place, reading)


def statistics(data: st.DataObject) -> None:
    factors = st.lists(st.sampled_from(["set_size", "cue", "delay", "cue", "delay", "group"]), max_size=3)
    options: dict[str, Any] = {
        "by": data.draw(factors.map(tuple) | st.just("none")),
        "between": data.draw(st.sampled_from([(), (), "group"])),
        "measure": data.draw(st.sampled_from([*MEASURES])),
        "margin": data.draw(st.sampled_from([(), "5points"])),
        "planned": data.draw(st.sampled_from([(), (), "one/effect/people", "one/guessing/network:0"])),
    }
    tried(lambda file, place, reading: spanlab.stats(file, **options, **reading), data)


def comparison(data: st.DataObject) -> None:
    margin = data.draw(st.sampled_from([(), "5points"]))
    tried(lambda file, place, reading: spanlab.compare(file, place / "report", margin=margin, **reading), data)


def fitted(data: st.DataObject) -> None:
    tried(lambda file, _, reading: spanlab.fit(file, simulated=10, workers=1, **reading), data)


@settings(max_examples=12, **QUIET)
@given(st.data())
def test_any_table_has_statistics_or_a_sentence(data: st.DataObject) -> None:
    statistics(data)


@settings(max_examples=2, **QUIET)
@given(st.data())
def test_any_table_has_a_page_or_a_sentence(data: st.DataObject) -> None:
    comparison(data)


def test_seeds_of_a_network_in_questions_of_two_words_have_a_model(tmp_path: Path) -> None:
    random = np.random.RandomState(2)
    rows = [
        {"paradigm": "one", "agent_kind": "network", "agent": "network:a", "session": f"n{seed}", "trial": at}
        | {"trial_id": f"{seed}-{at}", "correct": right, "correct_answer": truth, "outcome": "answered"}
        | {"answer": truth if right else {"same": "different", "different": "same"}[truth], "chance": 0.5}
        for seed in range(3)
        for at in range(40)
        for truth in [["same", "different"][at % 2]]
        for right in [bool(random.rand() < 0.7)]
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv", index=False)
    assert "(1 | session:agent)" in str(spanlab.stats(tmp_path / "answers.csv"))


def test_conditions_without_right_answers_have_a_page(tmp_path: Path) -> None:
    """A condition is told from the right answer where there is one."""
    rows = [(f"P{one}", at, "no" if at % 2 else "yes", at % 3 > 0) for one in range(3) for at in range(12)]
    pd.DataFrame(rows, columns=["participant", "trial", "cue", "correct"]).to_csv(tmp_path / "answers.csv", index=False)
    assert spanlab.compare(tmp_path / "answers.csv", tmp_path / "report").files


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, pytest.param(1.0, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("command", "many"), [(statistics, 1600), (comparison, 300), (fitted, 100)])
def test_many_tables_have_a_result_or_a_sentence(
    command: Callable[[st.DataObject], None], many: int, share: float
) -> None:
    settings(max_examples=int(share * many), **QUIET)(given(st.data())(command))()


def people_and_seeds(folder: Path) -> pd.DataFrame:
    """Eight people and five seeds of a network, 60 answers each at three set sizes."""
    random = np.random.RandomState(3)
    who = [("participant", "participant", f"P{one}", f"s{one}", 0.75) for one in range(8)]
    who += [("network", "network:one", "", f"n{one}", 0.6) for one in range(5)]
    rows = [
        dict(zip(("agent_kind", "agent", "participant", "session"), one, strict=False))
        | {"paradigm": "one", "trial": at + 1, "trial_id": f"{one[3]}-{at}", "set_size": 2 + 2 * (at % 3)}
        | {"correct": random.rand() < one[4] - 0.05 * (at % 3) + own, "chance": 0.25, "outcome": "answered"}
        for one, own in zip(who, random.normal(0, 0.06, len(who)), strict=True)
        for at in range(60)
    ]
    table = pd.DataFrame(rows)
    table.to_csv(folder / "answers.csv", index=False)
    return table


def test_a_number_in_two_places_is_one_number_and_that_of_a_computation_by_hand(tmp_path: Path) -> None:
    table = people_and_seeds(tmp_path)
    numbers = numbers_of_all(load([tmp_path / "answers.csv"]), ["one"])["one"]
    unit = table["participant"].where(table["participant"] != "", table["session"])
    shares = table.groupby([unit, "set_size"])["correct"].mean().unstack()
    people, place = shares.index.str.startswith("P"), np.array([2.0, 4, 6]) - 4
    slopes = shares.to_numpy() @ (place / (place @ place))
    assert numbers.effect is not None
    figure = next(one for one in numbers.effects if one.effect.name == "set_size")
    for claim, own in zip(
        sorted(numbers.effect.claims, key=lambda one: one.n), (slopes[~people], slopes[people]), strict=True
    ):
        row = figure.trends[figure.trends["agent"] == claim.agent].iloc[0]
        shown = next(one for one in figure.claims if one.agent == claim.agent)
        test = ttest_1samp(own, 0.0)
        interval = test.confidence_interval(0.95)
        assert claim.of is shown.of, "sentence and figure have the same object"
        assert (row["value"], row["low"], row["high"], row["p"]) == (claim.value, *claim.interval, claim.p)
        assert (row["p_family"], row["low_family"]) == (claim.p_of_family, claim.interval_of_family[0])
        expected = [own.mean(), interval.low, interval.high, test[1]]
        np.testing.assert_allclose([claim.value, *claim.interval, claim.p], expected, rtol=1e-6)
    means = shares.mean(axis=1)
    (difference,) = [one.claim for one in numbers.differences.values() if one.agent == "network:one"]
    assert difference.value == pytest.approx(means[~people].mean() - means[people].mean(), abs=1e-12)
    assert difference.told == (float(cast("Any", ttest_ind(means[~people], means[people], equal_var=False)[1])) < 0.05)
    points = figure.table.set_index(["agent", "set_size"])["mean"]
    for agent, which in (("network:one", ~people), ("People (n = 8)", people)):
        named = next(one for one in points.index.get_level_values(0).unique() if str(one).startswith(agent))
        np.testing.assert_allclose(points[named].to_numpy(float), shares[which].mean().to_numpy(), atol=1e-12)


def test_a_planned_comparison_is_the_single_test_and_leaves_the_family_of_the_others(tmp_path: Path) -> None:
    from spanlab.analysis.planned import listed_as_planned, read_planned

    people_and_seeds(tmp_path)
    data = load([tmp_path / "answers.csv"])
    every, planned = (numbers_of_all(data, ["one"], planned=read_planned(one)) for one in ((), ["one/effect/people"]))
    before, after = ({claim.agent: claim for claim in one["one"].effect.claims} for one in (every, planned))  # type: ignore[union-attr]
    people = next(name for name in before if name.startswith("People"))
    machine = next(name for name in before if name != people)
    np.testing.assert_allclose(
        [before[who].p_of_family for who in (people, machine)],
        false_discovery_control([before[people].p, before[machine].p]),
    )
    assert listed_as_planned(read_planned(["one/effect/people"])).endswith(": one/effect/people. It is not corrected.")
    assert (len(before[people].family), len(after[people].family), len(after[machine].family)) == (2, 1, 1)
    found = spanlab.stats(tmp_path / "answers.csv", planned=["one/effect/people"])
    trends = found.to_frame("contrasts").query("kind == 'trend'")
    assert len(trends) == 2
    assert trends["p_holm"].tolist() == trends["p"].tolist(), "each is alone in its family"
    assert "one/effect/people" in str(found)
    with pytest.raises(SpanLabError, match="is no comparison of these models"):
        spanlab.stats(tmp_path / "answers.csv", planned=["one/people/network:other"])
    assert after[people].p_of_family == before[people].p
    assert after[people].interval_of_family == before[people].interval
    with pytest.raises(SpanLabError, match="is not a comparison on this page"):
        numbers_of_all(data, ["one"], planned=read_planned(["one/people/network:other"]))
    with pytest.raises(SpanLabError, match="vsr/people/network:laptop"):
        read_planned(["effect"])
