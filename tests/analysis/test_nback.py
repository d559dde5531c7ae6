"""N-back results: published rows and tests come out, answers are counted as the rules say, and
intervals hold what was planted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nback_answers import block_rows, planted_counts, write_published

from spanlab.analysis.nback.cells import nback_cells
from spanlab.analysis.nback.measures import COUNTS, OURS, PUBLISHED, describe_exceptions, measured, nback_blocks
from spanlab.analysis.nback.published import (
    layout,
    published_blocks,
    published_results,
    recomputed_cells,
    variant_of,
)
from spanlab.analysis.nback.significance import above, exact_without_ties, kruskal_wallis, mann_whitney, signed_ranks
from spanlab.extensions.replication.nback.results import import_results
from spanlab.sessions import read_responses

KEY = ["variant", "model", "n"]
MODELS = {"published:gpt-3.5-turbo": ("verbal", "gpt-3.5-turbo"), "published:gpt-4": ("verbal_other_models", "gpt-4")}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The response table of the published answers of two models, imported."""
    folder = tmp_path_factory.mktemp("published")
    import_results(write_published(folder), folder / "data")
    return read_responses(folder / "data")


def as_published(blocks: pd.DataFrame) -> pd.DataFrame:
    names = [MODELS[agent] for agent in blocks["agent"]]
    return blocks.assign(variant=[name for name, _ in names], model=[model for _, model in names])


def cell(cells: pd.DataFrame, measure: str, **where: object) -> pd.Series:
    for name, value in where.items():
        cells = cells[cells[name] == value]
    (found,) = [row for _, row in cells[cells["measure"] == measure].iterrows()]
    return found


def test_every_published_row_comes_out_of_the_published_blocks() -> None:
    ours = layout(published_blocks()).set_index(KEY)
    printed = published_results().set_index(KEY)
    assert len(printed) == 60
    for name in printed.columns:
        assert ours.loc[printed.index, name].round(4).to_numpy() == pytest.approx(printed[name].to_numpy(), abs=1e-9), (
            name
        )


@pytest.mark.slow
def test_published_rows_and_blocks_come_out_of_imported_answers(imported: pd.DataFrame) -> None:
    blocks = as_published(nback_blocks(imported, PUBLISHED, by=("block",)))
    ours = layout(blocks).set_index(KEY)
    printed = published_results().set_index(KEY).loc[ours.index]
    assert len(ours) == 6
    for name in printed.columns:
        assert ours[name].round(4).to_numpy() == pytest.approx(printed[name].to_numpy(), abs=1e-9), name
    theirs = published_blocks().assign(block=lambda table: table["block"] + 1).set_index([*KEY, "block"])
    found = blocks.set_index([*KEY, "block"])
    assert (found[list(COUNTS)] == theirs.loc[found.index, list(COUNTS)]).all(axis=None)
    assert len(found) == 240


@pytest.mark.slow
def test_false_alarms_on_lures_are_those_of_the_published_answers(imported: pd.DataFrame) -> None:
    """In percent on lures and on other items: 50 and 2 (letters, 2-back), 78 and 2, 69 and 6
    (gpt-4, 2- and 3-back)."""
    cells = nback_cells(nback_blocks(imported), resamples=2)
    for model, n, lure, plain in (("gpt-3.5-turbo", 2, 50, 2), ("gpt-4", 2, 78, 2), ("gpt-4", 3, 69, 6)):
        where = {"agent": f"published:{model}", "n": n}
        assert round(100 * cell(cells, "lure_rate", **where)["mean"]) == lure
        assert round(100 * cell(cells, "plain_rate", **where)["mean"]) == plain
    assert not (cells[cells["n"] == 1]["measure"] == "before_rate").any(), "one back there is no item between"


def test_published_decisions_without_and_with_sign() -> None:
    blocks = published_blocks()
    p = {
        value: kruskal_wallis(blocks, value).set_index(["variant", "model"])["p"]
        for value in ("dprime_abs", "dprime_signed")
    }
    for variant, hidden, shown in (("verbal_with_noise", 0.14, 0.0017), ("spatial_abstraction_2", 0.027, 0.15)):
        assert float(f"{p['dprime_abs'][variant, 'gpt-3.5-turbo']:.2g}") == hidden
        assert float(f"{p['dprime_signed'][variant, 'gpt-3.5-turbo']:.2g}") == shown
    changed = (p["dprime_abs"] < 0.05) != (p["dprime_signed"] < 0.05)
    assert set(changed[changed].index) == {
        ("verbal_with_noise", "gpt-3.5-turbo"),
        ("spatial_abstraction_2", "gpt-3.5-turbo"),
    }
    index = ["variant", "model", "n"]
    ranks = {value: above(blocks, value).set_index(index) for value in ("dprime_abs", "dprime_signed")}
    for variant, hidden, shown in (("verbal", 0.048, 0.16), ("verbal(first 30 blocks)", 0.035, 0.13)):
        assert round(ranks["dprime_abs"]["p_exact"][variant, "gpt-3.5-turbo", 3], 3) == hidden
        assert round(ranks["dprime_signed"]["p_exact"][variant, "gpt-3.5-turbo", 3], 2) == shown
    changed = (ranks["dprime_abs"]["p_exact"] < 0.05) != (ranks["dprime_signed"]["p_exact"] < 0.05)
    assert set(changed[changed].index) == {
        ("verbal", "gpt-3.5-turbo", 3),
        ("verbal(first 30 blocks)", "gpt-3.5-turbo", 3),
    }
    for table in ranks.values():
        assert ((table["p_exact"] < 0.05) == (table["p"] < 0.05)).all(), "today's distribution decides alike"


def test_a_notebook_that_printed_half_the_blocks() -> None:
    """The study's 4 x 4 notebook shows its first 25 blocks: 98.00, 16.50, 88.33, 3.18 at 1-back."""
    blocks = published_blocks()
    row = layout(blocks[(blocks["variant"] == "spatial_4x4") & (blocks["block"] < 25) & (blocks["n"] == 1)]).iloc[0]
    assert [round(row[f"{name}_mean"], 2) for name in ("hit_rate", "fa_rate", "accuracy", "dprime")] == [
        98.0,
        16.5,
        88.33,
        3.18,
    ]


def test_tests_by_hand() -> None:
    table = pd.DataFrame({"variant": "v", "model": "m", "n": [1, 1, 1, 2, 2, 2], "d": [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]})
    (kruskal,) = kruskal_wallis(table, "d").to_dict("records")
    # ranks 15 and 6: H = 12 / 42 * (225 / 3 + 36 / 3) - 21
    assert kruskal["h"] == pytest.approx(12 / 42 * 87 - 21)
    assert kruskal["eta_squared"] == pytest.approx((kruskal["h"] - 1) / 4)
    assert kruskal["epsilon_squared"] == pytest.approx(kruskal["h"] / 5)
    (pair,) = mann_whitney(table, "d").to_dict("records")
    assert (pair["u"], pair["rank_biserial"], pair["p"]) == (9.0, -1.0, pytest.approx(0.1))
    assert pair["p_bonferroni"] == pair["p_holm"] == pair["p"], "one pair is not a family"
    ranks = signed_ranks(np.array([3.0, -1.0, 2.0, 0.0]))
    assert (ranks["w_plus"], ranks["n_equal"], ranks["rank_biserial"]) == (5.0, 1, pytest.approx(4 / 6))
    assert ranks["p_exact"] == 2 / 8, "of the 8 sums, 5 and 6 are as large"
    assert signed_ranks(np.zeros(3))["n_equal"] == 3


def test_corrections_of_a_family() -> None:
    table = mann_whitney(published_blocks())
    for _, family in table.groupby(["variant", "model"]):
        assert family["p_bonferroni"].to_numpy() == pytest.approx(np.minimum(1, 3 * family["p"]))
        assert (family["p_holm"] <= family["p_bonferroni"] + 1e-15).all()
        ordered = family.sort_values("p")
        assert ordered["p_holm"].is_monotonic_increasing
        assert ordered["p_holm"].iloc[0] == pytest.approx(min(1, 3 * ordered["p"].iloc[0]))


@pytest.mark.parametrize("n", [1, 4, 10])
def test_exact_distribution_without_ties_is_that_of_scipy(n: int) -> None:
    from scipy.stats import wilcoxon

    random = np.random.RandomState(n)
    for _ in range(20):
        values = random.permutation(np.arange(1, n + 1)) * random.choice([-1, 1], n)
        found: Any = wilcoxon(values, alternative="greater", method="exact")
        assert exact_without_ties(float(values[values > 0].sum()), n) == pytest.approx(found.pvalue)


LABELS = "--m-m-m-"


def test_counts_of_a_block() -> None:
    """2-back: one hit, two misses; of the five others one false alarm among the first two and one
    later."""
    (one,) = nback_blocks(block_rows(LABELS, list("m-m----m")), PUBLISHED).to_dict("records")
    assert [one[name] for name in COUNTS] == [1, 2, 2, 3]
    assert (one["n"], one["n_items"], one["accuracy"]) == (2, 8, 0.5)
    (ours,) = nback_blocks(block_rows(LABELS, list("m-m----m"))).to_dict("records")
    assert [ours[name] for name in COUNTS] == [1, 2, 1, 2]
    assert (ours["n_items"], ours["n_first_left_out"], ours["accuracy"]) == (6, 2, 0.5)


@pytest.mark.parametrize(
    ("unanswered", "expected"),
    [("miss", [1, 2, 1, 1]), ("no match", [1, 2, 1, 2]), ("left out", [1, 0, 1, 1])],
)
@pytest.mark.parametrize("silence", [None, "perhaps"])
def test_silence_is_counted_as_the_rules_say(unanswered: str, expected: list[int], silence: str | None) -> None:
    answers = ["-", "-", "m", "m", silence, silence, silence, "-"]
    rules = replace(OURS, unanswered=unanswered)
    blocks = nback_blocks(block_rows(LABELS, answers), rules)
    (one,) = blocks.to_dict("records")
    assert [one[name] for name in COUNTS] == expected
    assert one["n_omitted" if silence is None else "n_invalid"] == 3
    assert one["accuracy"] == 2 / 6, "an answer that is not there is wrong"
    assert any(
        "3 omitted answers" in note or "3 invalid answers" in note for note in describe_exceptions(blocks, rules)
    )


def test_lures_before_and_after() -> None:
    """Lag 1 would match one back and lag 3 three back; what lies before there is one N back is not
    a lure."""
    (one,) = nback_blocks(block_rows(LABELS, list("-mmm--mm"), lags=[None, 1, None, 1, None, 3, None, 3])).to_dict(
        "records"
    )
    found = [
        one[name]
        for name in (
            "lures",
            "lure_alarms",
            "before_lures",
            "before_alarms",
            "after_lures",
            "after_alarms",
            "plain",
            "plain_alarms",
        )
    ]
    assert found == [3, 2, 1, 1, 2, 1, 0, 0]


def test_warm_up_practice_and_other_paradigms_are_left_out() -> None:
    table = pd.concat(
        [
            block_rows(LABELS, list(LABELS), trial=1),
            block_rows(LABELS, list(LABELS), trial=2, practice=True),
            block_rows(LABELS, list(LABELS), trial=3).assign(warm_up=lambda rows: rows["serial_position"] <= 4),
            block_rows(LABELS, list(LABELS), trial=4, paradigm="vsr", record_match=None),
        ],
        ignore_index=True,
    )
    table["warm_up"] = table["warm_up"].eq(True)
    blocks = nback_blocks(table)
    assert sorted(blocks["n_items"]) == [4, 6]
    assert set(blocks["paradigm"]) == {"nback_verbal"}


def test_tables_without_blocks_positions_or_trial_numbers() -> None:
    assert len(nback_blocks(block_rows(LABELS, list(LABELS)).drop(columns="record_match"))) == 0
    assert len(nback_cells(nback_blocks(pd.DataFrame()))) == 0
    bare = block_rows(LABELS, list(LABELS)).drop(
        columns=["serial_position", "trial", "trial_id", "record_lure_lag", "record_prefilled", "factor_n"]
    )
    (one,) = nback_blocks(bare).to_dict("records")
    assert [one[name] for name in COUNTS] == [3, 0, 0, 3], "the first two are known by what numbers the questions"
    silent = nback_blocks(block_rows("--------", [None] * 8))
    assert math.isnan(silent["dprime"].iloc[0])
    assert any("no d′ of its own" in note for note in describe_exceptions(silent))
    assert cell(nback_cells(silent), "dprime")["note"] == "1 block without a value left out; no value"


@pytest.mark.slow
def test_units_are_people_where_there_are_several() -> None:
    tables = [
        block_rows(
            LABELS,
            list(LABELS) if person == "a" else list("-m-m-m-m"),
            participant=person,
            kind="participant",
            agent="participant",
            trial=trial,
        )
        for person, trials in (("a", 1), ("b", 9))
        for trial in range(1, trials + 1)
    ]
    cells = nback_cells(nback_blocks(pd.concat(tables, ignore_index=True)))
    hits = cell(cells, "hit_rate")
    assert (hits["unit"], hits["n_units"], hits["n_blocks"], hits["mean"]) == ("participant", 2, 10, 0.5)
    assert cell(cells, "dprime_pooled")["n_units"] == 2
    by_block = nback_cells(nback_blocks(pd.concat(tables, ignore_index=True)), unit="block")
    assert cell(by_block, "hit_rate")["mean"] == pytest.approx(0.1)
    by_session = nback_cells(nback_blocks(pd.concat(tables, ignore_index=True)), unit="session")
    assert (cell(by_session, "hit_rate")["unit"], cell(by_session, "hit_rate")["mean"]) == ("session", 0.5)


def test_a_sensitivity_that_rests_on_the_correction_says_so() -> None:
    perfect = measured(
        planted_counts(np.random.RandomState(0), 10, 0.0).assign(
            hits=[8] * 9 + [7], misses=[0] * 9 + [1], false_alarms=0, correct_rejections=14
        )
    )
    assert "no false alarm: its size is the correction's" in cell(nback_cells(perfect), "dprime_pooled")["note"]


def test_values_of_the_study_belong_to_their_paradigms_and_are_not_called_printed() -> None:
    assert set(recomputed_cells("nback_spatial", 7)["agent"]) == {"gpt-3.5-turbo (recomputed)"}
    assert len(set(recomputed_cells("nback_verbal")["agent"])) == 8
    assert not recomputed_cells("nback_verbal")["note"].str.contains("printed").any(), (
        "they come from the raw answers; the notebooks print others"
    )
    assert len(recomputed_cells("nback_spatial", 6)) == len(recomputed_cells("vsr")) == 0
    names = {variant_of(name, grid) for name, grid in [("nback_spatial", size) for size in (3, 4, 5, 7)]}
    assert names <= set(published_results()["variant"])
