"""Mixed models, their contrasts, effect sizes and corrections: published values, independent
implementations, planted values, degenerate data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import better_in_a, mixed, responses
from command_line import Run, output_of
from scipy import stats

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.stats.corrections import bonferroni, holm
from spanlab.analysis.stats.laplace import FitError, Laplace, fit
from spanlab.analysis.stats.mixed_contrasts import _by_likelihood, asked_of, contrasts, h_of, terms
from spanlab.analysis.stats.mixed_model import Cells, Mixed, mixed_model

#: New cases of a disease of cattle in 15 herds over four periods (herd, cases, size, period): the
#: data set `cbpp` of the R package lme4, from Lesnoff et al. (2004, Preventive Veterinary Medicine
#: 64, 27-40).
CBPP = """1,2,14,1 1,3,12,2 1,4,9,3 1,0,5,4 2,3,22,1 2,1,18,2 2,1,21,3 3,8,22,1 3,2,16,2 3,0,16,3 3,2,20,4 4,2,10,1 4,0,10,2 4,2,9,3 4,0,6,4 5,5,18,1 5,0,25,2
5,0,24,3 5,1,4,4 6,3,17,1 6,0,17,2 6,0,18,3 6,1,20,4 7,8,16,1 7,1,10,2 7,3,9,3 7,0,5,4 8,12,34,1 9,2,9,1 9,0,6,2 9,0,8,3 9,0,6,4 10,1,22,1 10,1,22,2 10,0,18,3
10,2,22,4 11,0,25,1 11,5,27,2 11,3,22,3 11,1,22,4 12,2,10,1 12,1,8,2 12,0,6,3 12,0,5,4 13,1,21,1 13,2,24,2 13,0,19,3 13,0,23,4 14,11,19,1 14,0,2,2 14,0,3,3
14,0,2,4 15,1,19,1 15,1,15,2 15,1,15,3 15,0,15,4"""  # noqa: E501


def cbpp() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    herd, cases, size, period = np.array([[int(one) for one in row.split(",")] for row in CBPP.split()]).T
    design = np.column_stack([np.ones(len(herd)), period == 2, period == 3, period == 4]).astype(float)
    return cases, size, design, herd - 1


# the fit ------------------------------------------------------------------------------------------


def test_published_values_of_a_published_data_set() -> None:
    """What glmer of lme4 prints for cases ~ period + (1 | herd); its log likelihood includes the
    binomial coefficients."""
    cases, size, design, herd = cbpp()
    found = fit(Laplace(cases, size, design, [herd]), restricted=False, penalised=False)
    assert found.fixed == pytest.approx([-1.3983, -0.9919, -1.1282, -1.5797], abs=0.005)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([0.2312, 0.3032, 0.3228, 0.4220], rel=0.02)
    assert found.sd == pytest.approx([0.6421], abs=0.005)
    coefficients = sum(math.log(math.comb(int(n), int(k))) for k, n in zip(cases, size, strict=True))
    assert found.log_likelihood + coefficients == pytest.approx(-92.03, abs=0.03)


def test_the_integral_over_one_random_effect() -> None:
    """Against Gauss-Hermite quadrature with 60 nodes around each group's mode, written without the
    module."""
    cases, size, design, herd = cbpp()
    model = Laplace(cases, size, design, [herd])
    for sd in (0.3, 0.64, 1.2):
        beta = model.mode([sd])[0][:4]
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        exact = 0.0
        for group in range(15):
            eta = (design @ beta)[herd == group][:, None] + sd * nodes
            logs = (cases[herd == group][:, None] * eta - size[herd == group][:, None] * np.logaddexp(0, eta)).sum(
                axis=0
            )
            exact += math.log((weights * np.exp(logs)).sum() / math.sqrt(2 * math.pi))
        assert model.log_likelihood([sd], restricted=False) == pytest.approx(exact, abs=0.15)


def test_without_random_effects_it_is_the_log_odds_ratio_and_woolfs_interval() -> None:
    found = fit(Laplace(np.array([15, 30]), np.array([40, 45]), np.array([[1.0, 0.0], [1.0, 1.0]])))
    se = math.sqrt(found.covariance[1, 1])
    assert math.exp(found.fixed[1]) == pytest.approx((30 / 15) / (15 / 25))
    assert se == pytest.approx(math.sqrt(1 / 15 + 1 / 25 + 1 / 30 + 1 / 15), rel=1e-5)  # Woolf, 1955
    assert found.degrees(np.array([0.0, 1.0])) == math.inf


def test_a_model_with_contrasts_held_is_the_one_that_is_written_without_them() -> None:
    """Contrasts at 0 are the same as a design in which they cannot differ: likelihood, fixed
    effects, and along a contrast."""
    random = np.random.RandomState(3)
    cell, trial = np.repeat(np.arange(6), 20), np.repeat(np.arange(40), 3)
    item = np.where(random.rand(120) < 0.8, random.randint(0, 15, 120), -1)
    right = (random.rand(120) < 0.5 + 0.06 * cell).astype(float)
    model = Laplace(right, np.ones(120), np.eye(6)[cell], [item, trial], prior_sd=3.0)
    held = np.array([[1.0, -1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0], [1, 0, -1, 0, 0, 0]])
    left = np.linalg.svd(held)[2][2:].T
    plain = Laplace(right, np.ones(120), np.eye(6)[cell] @ left, [item, trial], prior_sd=3.0)
    sd = [0.7, 0.4]
    assert model.without(held).profile(sd) == pytest.approx(plain.profile(sd), abs=1e-6)
    assert model.without(held).log_likelihood(sd) == pytest.approx(plain.log_likelihood(sd), abs=1e-6)
    assert model.without(held).at_marginal_mode(sd)[0] == pytest.approx(left @ plain.at_marginal_mode(sd)[0], abs=1e-4)
    contrast = np.array([1.0, -1, 0, 0, 0.5, -0.5])
    density, rest = model.along(contrast, sd), np.linalg.svd(contrast[None])[2][1:].T
    size = contrast @ contrast
    for value in (0.0, 1.3, -9.0):
        fixed = Laplace(
            right,
            np.ones(120),
            np.eye(6)[cell] @ rest,
            [item, trial],
            prior_sd=3.0,
            offset=contrast[cell] * value / size,
        )
        assert density(value) == pytest.approx(fixed.log_likelihood(sd) - value**2 / size / 18, abs=1e-6)


def test_separation_needs_a_prior_and_says_so() -> None:
    with pytest.raises(FitError, match="0 % or 100 %"):
        fit(Laplace(np.array([10, 5]), np.array([10, 10]), np.eye(2)))
    found = fit(Laplace(np.array([10, 5]), np.array([10, 10]), np.eye(2), prior_sd=3.0))
    assert 1 < found.fixed[0] < 6
    with pytest.raises(FitError, match="cannot be distinguished"):
        fit(Laplace(np.array([5, 5]), np.array([10, 10]), np.ones((2, 2))))


# agents and conditions ----------------------------------------------------------------------------


def people(
    many: int,
    level: Callable[[int], float],
    spread: float = 0.5,
    seed: int = 0,
    agent: str = "People",
    **options: object,
) -> list[pd.DataFrame]:
    """Tables of several people whose log odds at a list length are ``level(length)`` plus their
    own."""

    def chance_of(own: float) -> Callable[[int, int], float]:
        return lambda length, _: 1 / (1 + math.exp(-level(length) - own))

    return [
        responses(
            chance_of(own),
            agent=agent,
            kind="participant",
            participant=f"{agent}{number}",
            seed=1000 * seed + number,
            **options,  # type: ignore[arg-type]
        )
        for number, own in enumerate(np.random.RandomState(seed).normal(0, spread, many))
    ]


def model(*tables: pd.DataFrame, by: str | None = None) -> Mixed:
    return mixed_model(score_table(mixed(*tables)), "vsr", by)


def row(table: pd.DataFrame, kind: str, first: str, second: str = "", condition: object = "") -> pd.Series:
    found = table[
        (table["kind"] == kind)
        & (table["first"] == first)
        & (table["second"] == second)
        & (table["condition"] == condition)
    ]
    assert len(found) == 1
    return found.iloc[0]


@pytest.fixture(scope="module")
def fitted() -> Mixed:
    net = responses(lambda length, _: 1 / (1 + math.exp(-(4 - 0.8 * length))), agent="net", seed=77, repetitions=20)
    return model(*people(8, lambda length: 2.5 - 0.4 * length, repetitions=5), net)


def test_random_effects_are_there_when_they_can_be_told(fitted: Mixed) -> None:
    assert fitted.cells.formula.startswith("correct ~ agent * list_length + (1 | participant)")
    assert "item" in fitted.cells.components
    assert "trial as taken" in fitted.cells.components
    assert not [note for note in fitted.notes if re.search("People.* alone|Too few", note)]


def test_where_nothing_can_vary_the_results_hold_for_these_alone() -> None:
    alone = model(responses(lambda *_: 0.6, agent="one", lengths=(1,), repetitions=40))
    assert alone.cells.components == ()
    assert (
        "Too few items were answered more than once for a random effect of items: the results hold for these items."
        in alone.notes
    )
    assert "one: no participants to vary, so the results hold for this one alone." in alone.notes
    two = model(
        *(
            responses(lambda *_: 0.6, agent=name, lengths=(1,), repetitions=40, seed=seed)
            for seed, name in enumerate("ab")
        ),
        by="",
    )
    assert "a and b: no participants to vary, so the results hold for these ones alone." in two.notes
    again = model(
        *(
            responses(lambda *_: 0.6, agent="net", lengths=(1,), repetitions=40, seed=3).assign(
                trial=lambda table, again=again: table["trial"] + again
            )
            for again in (0, 100)
        )
    )
    assert any(
        "answered 40 items more than once. If it answers the same every time, its intervals are too narrow." in note
        for note in again.notes
    )


EDGE = {
    "one agent": [responses(lambda *_: 0.6)],
    "one participant": people(1, lambda _: 0.0),
    "one person and a network": [*people(1, lambda _: 0.0), responses(lambda *_: 0.5, agent="net")],
    "all right": [responses(lambda *_: 1.0)],
    "all wrong": [responses(lambda *_: 0.0, agent="a"), responses(lambda *_: 0.0, agent="b")],
    "separated": [responses(lambda *_: 0.0, agent="a"), responses(lambda *_: 1.0, agent="b")],
    "one item": [responses(lambda *_: 0.5, lengths=(1,), repetitions=1)],
    "one trial each": [responses(lambda *_: 0.5, agent=name, repetitions=1, lengths=(4,)) for name in "ab"],
    "two people": people(2, lambda _: 0.5, repetitions=3),
    "no trial numbers": [responses(lambda *_: 0.5).assign(trial=None, trial_id=None)],
    "no chance": [responses(lambda *_: 0.5).assign(chance=np.nan)],
}


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.sampled(4)
def test_degenerate_data_give_notes_and_finite_numbers_or_a_sentence(name: str) -> None:
    found = model(*EDGE[name])
    table = contrasts(found)
    assert found.notes
    assert found.problem or len(table)
    assert np.isfinite(table[["estimate", "se"]].to_numpy(float)).all()
    assert (table["se"] > 0).all()
    ends = table[["low", "high"]]
    assert np.logical_or(
        np.isfinite(ends.to_numpy(float)).all(axis=1), table["note"].str.contains("%")
    ).all()  # no end without a word
    assert (table["estimate"].between(table["low"], table["high"]) | ends.isna().all(axis=1)).all()
    if name in ("all right", "all wrong", "separated"):
        assert any("%" in note and "prior" in note for note in found.notes)
        assert table["note"].str.contains("%").any()


def test_an_empty_table_is_a_sentence() -> None:
    found = model(responses(lambda *_: 0.5, repetitions=0))
    assert found.fit is None
    assert "nothing can be compared" in found.problem
    assert not len(contrasts(found))
    assert not len(terms(found))


def test_a_contrast_at_the_edge_is_tested_by_its_likelihood() -> None:
    """Nobody of 20 wrong beside 12 of 20 right: Fisher's exact p is .003. Wald's, of which the
    standard error is that of log odds without end, was .04."""
    one, other = np.array([20.0, 12.0]), np.array([20.0, 20.0])
    rows = pd.DataFrame(
        {"agent": ["a", "b"], "condition": ["", ""], "n": other, "right": one, "correct": one / other, "persons": 1}
    )
    laplace = Laplace(one, other, np.eye(2), prior_sd=3.0)
    found = row(
        contrasts(Mixed(Cells("vsr", "", rows, pd.DataFrame(), (), False, ()), fit(laplace), "", (), laplace)),
        "agents",
        "a",
        "b",
    )
    assert found["p"] < 0.006
    assert found["high"] == math.inf
    assert stats.beta.ppf(0.975, 12, 8) < 1 / (1 + math.exp(-found["low"] - math.log(12 / 8))) < 0.98
    # against the density itself, on a grid
    level = np.linspace(-25, 25, 4001)
    pair = [
        -one[at] * np.logaddexp(0, -level) - (other - one)[at] * np.logaddexp(0, level) - level**2 / 18 for at in (0, 1)
    ]
    step, apart = level[1] - level[0], []
    for value in (0.0, 1.0, 4.0):
        shifted = np.interp(level - value, level, np.exp(pair[1] - pair[1].max()))
        exact = math.log((np.exp(pair[0] - pair[0].max()) * shifted).sum() * step)
        apart.append(laplace.along(np.array([1.0, -1.0]), [])(value) - exact)
    assert apart == pytest.approx([apart[0]] * 3, abs=0.1)


def test_far_from_the_edges_the_likelihood_says_what_wald_does(fitted: Mixed) -> None:
    wald = row(contrasts(fitted), "trend", "net")
    weights = next(one.weights for one in asked_of(fitted.cells) if (one.kind, one.first) == ("trend", "net"))
    found = _by_likelihood(fitted, weights, wald["t"], wald["se"], float(stats.t.ppf(0.975, wald["df"])), (True, True))
    assert found is not None
    assert found[1:] == pytest.approx((wald["low"], wald["high"]), rel=0.06)


def test_many_answers_are_thinned_out_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanlab.analysis.stats.mixed_model.MOST_ITEMS", 300)
    found = model(
        responses(lambda *_: 0.7, agent="a", repetitions=50),
        responses(lambda *_: 0.5, agent="b", repetitions=50, seed=1),
    )
    assert len(found.cells.items) <= 300
    assert any("Only" in note and "of 1,200 answers" in note for note in found.notes)
    assert any("exactly the same" in note for note in found.notes)  # the thinned trials are still shared
    once = mixed(
        responses(lambda *_: 0.7, agent="a", repetitions=50),
        responses(lambda *_: 0.5, agent="b", repetitions=50, seed=1),
    )
    texts = once.astype(
        dict.fromkeys(("trial_id", "agent", "participant", "paradigm", "session"), pd.CategoricalDtype())
    )  # as tables in files are read
    assert mixed_model(score_table(texts), "vsr").cells.table.to_dict("records") == found.cells.table.to_dict("records")


def test_observed_shares_are_means_of_people_whatever_their_numbers_of_trials() -> None:
    """Over answers the people look better in B, in which the good ones have more trials; their
    difference has the sign of the odds ratio. With equal numbers of trials both are the same."""
    scored = score_table(better_in_a(100, 20))
    pooled = scored.items.groupby("factor_cue")["correct"].mean()
    assert pooled['"A"'] < pooled['"B"']
    observed = row(
        contrasts(mixed_model(scored, "vsr", "factor_cue")), "conditions", "participant", "participant", "A and B"
    )
    assert observed["odds_ratio"] > 1
    assert (observed["n_first"], observed["n_second"]) == (720, 720)
    assert (observed["share_first"], observed["share_second"]) == pytest.approx((0.75, 0.65))
    assert observed["points"] == pytest.approx(10)
    assert observed["cohens_h"] == pytest.approx(h_of(0.75, 0.65))

    alike = score_table(better_in_a(20, 20))
    cells = mixed_model(alike, "vsr", "factor_cue").cells.table
    assert list(cells["correct"]) == pytest.approx([*alike.items.groupby("factor_cue")["correct"].mean()])


def test_observed_shares_of_a_machine_are_means_of_its_sessions() -> None:
    """A session with ten times the trials of the others counts as one."""
    sessions = [
        responses(lambda *_, right=right: right, agent="net", lengths=(1,), repetitions=trials, session=name)
        for name, right, trials in (("s", 1.0, 10), ("t", 1.0, 10), ("u", 0.0, 100))
    ]
    (cell,) = model(*sessions, by="").cells.table.to_dict("records")
    assert (cell["n"], cell["right"]) == (120, 20)
    assert cell["correct"] == pytest.approx(2 / 3)


# corrections and effect sizes ---------------------------------------------------------------------


def test_holm_and_bonferroni() -> None:
    """By hand: sorted p times 4, 3, 2, 1, never falling."""
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert np.isnan(holm([np.nan, 0.02])[0])
    assert holm([np.nan, 0.02])[1] == pytest.approx(0.02)
    assert len(holm([])) == 0


# the command line ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_stats_prints_and_writes(tmp_path: Path, run: Run) -> None:
    assert (
        run(
            "replay",
            "vsr",
            "--agent",
            "chance",
            "--agent",
            "network:laptop",
            "--trials",
            "8",
            "--set",
            "list_length=3,5",
        )[0]
        == 0
    )
    (tmp_path / "rules.yaml").write_text(
        "exclude:\n  - {leave_out: trials, where: accuracy, below: 0.01, whose: people}\n", encoding="utf-8"
    )
    out = output_of(*run("stats", "data", "-o", "out", "--exclude", "rules.yaml"))
    for words in (
        "correct ~ agent * list_length",
        "Who is above guessing",
        "chance (guessing) is a yardstick",
        "Rule 1, trials (people only) whose accuracy is below 0.01: 0 of 0 trials left out",
    ):
        assert words in out
    assert set(pd.read_csv(tmp_path / "out" / "stats_contrasts.csv")["kind"]) == {"cell", "agent", "trend"}
    assert list(pd.read_csv(tmp_path / "out" / "stats_guessing.csv")["agent"]) == ["network:laptop"]
    assert (tmp_path / "out" / "exclusion_rules.csv").exists()
    status, _, err = run("stats", "data", "--paradigm", "vsx")
    assert status == 1
    assert "no scored answers to 'vsx'" in err
    assert "did you mean 'vsr'" in err


# coverage -----------------------------------------------------------------------------------------


def test_points_and_odds_on_different_sides_are_told() -> None:
    """Nearly all against most at one list length weighs more in odds than half against a bit more."""
    first, second = {3: 0.99, 5: 0.4}, {3: 0.9, 5: 0.55}
    pair = [
        responses(lambda length, _, p=share: p[length], lengths=[3, 5], agent=name, seed=seed, repetitions=60)
        for name, share, seed in (("a", first, 1), ("b", second, 2))
    ]
    found = row(contrasts(model(*pair)), "agents", "a", "b")
    assert found["odds_ratio"] > 1
    assert found["points"] < -0.5
    assert "points are on the other side" in found["note"]
    usual = [
        responses(lambda *_, p=share: p, lengths=[3, 5], agent=name, seed=seed, repetitions=30)
        for name, share, seed in (("a", 0.8, 1), ("b", 0.6, 2))
    ]
    assert "other side" not in row(contrasts(model(*usual)), "agents", "a", "b")["note"]
