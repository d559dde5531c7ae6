"""Lesions, and the trials behind them: states and answers are those of the network, and a cluster
that serves one task is needed for it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from spanlab.agents.base import TrialContext
from spanlab.agents.network.agent import NetworkAgent
from spanlab.agents.network.models import Network, build
from spanlab.agents.network.settings import model_settings, task_seen_in
from spanlab.extensions.neural.clusters import Clusters
from spanlab.extensions.neural.command import guesses
from spanlab.extensions.neural.lesions import accuracy_without, before_the_probe, lesion_table, observe
from spanlab.extensions.neural.report import _lesions
from spanlab.paradigms import Trial, compile_trial, load_paradigm, random_vectors
from spanlab.paradigms.network_view import NetworkView

#: Steps before the probe of trials with these levels, as the WorM benchmark's analysis takes them;
#: None: all (N-back is not in it).
COUNTED: dict[str, tuple[dict[str, object], int | None]] = {
    "sc": ({"list_length": 10}, 10),
    "sfr": ({"list_length": 5}, 5),
    "si": ({"part_size": 4}, 3),
    "smu": ({"set_size": 3}, 9),
    "sts": ({"switch_probability": 0.2}, 20),
    "vir": ({"list_length": 4, "retention_steps": 2}, 6),
    "vsr": ({"list_length": 4}, 4),
    "vsrec": ({"list_length": 4}, 4),
    "cd": ({"retention_steps": 6}, 7),
    "cs": ({"load": 5}, 16),
    "nback_verbal": ({}, None),
    "lsr": ({"list_length": 4}, 4),
}


def trials_of(name: str, count: int, **levels: object) -> tuple[NetworkView, list[Trial]]:
    paradigm = load_paradigm(name)
    combination = paradigm.combinations(levels)[0]
    view = paradigm.network_view(combination)
    assert view is not None
    return view, [compile_trial(paradigm, combination, seed, "corrected") for seed in range(count)]


def network_for(*views: NetworkView, hidden: int = 24, seed: int = 1) -> Network:
    return build(
        model_settings(encoder="worm", architecture="gru", hidden=hidden),
        {view.task: task_seen_in(view) for view in views},
        seed,
    ).eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTED)
def test_the_steps_that_count_are_those_before_the_probe(name: str) -> None:
    levels, expected = COUNTED[name]
    view, trials = trials_of(name, 6, **levels)
    observed = observe(network_for(view, hidden=4), random_vectors(), view, trials)
    counted, _ = before_the_probe(observed)
    assert counted.sum(1).tolist() == [expected or len(steps) for steps in observed.steps]
    assert (np.diff(counted.astype(int), axis=1) <= 0).all()  # the first ones


@pytest.mark.parametrize("name", ["vsr", "sfr", "smu"])
def test_accuracy_with_all_units_is_that_of_the_agent(name: str) -> None:
    agent = NetworkAgent("laptop")
    view, trials = trials_of(name, 4)
    found = accuracy_without(observe(agent.network, None, view, trials))
    contexts = [TrialContext(name, name, "en", "", (), view) for _ in trials]
    answers = agent.answer(contexts, [[step.percept for step in trial.steps] for trial in trials])
    for trial, answered, accuracy in zip(trials, answers, found, strict=True):
        scores = []
        for step, response in zip(trial.steps, answered, strict=True):
            if step.percept.ask is not None:
                assert response is not None
                assert step.truth.answer is not None
                scores += [
                    one.correct
                    for one in step.percept.ask.kind.score(response.value, step.truth.answer)
                    if one.correct_answer is not None
                ]
        assert accuracy == pytest.approx(np.mean(scores))


@pytest.mark.parametrize("name", ["vsr", "sfr", "vir", "cs"])
@pytest.mark.slow
def test_silenced_units_are_columns_of_zeros_in_the_head(name: str) -> None:
    view, trials = trials_of(name, 12)
    network = network_for(view)
    observed, units = observe(network, None, view, trials), [0, 3, 4, 11, 20]
    found = accuracy_without(observed, units)
    with torch.no_grad():
        for head in network.heads.values():
            head.weight[:, units] = 0  # type: ignore[index, operator]
    np.testing.assert_allclose(found, accuracy_without(observed))


def test_the_compact_network_loses_units_in_every_way_it_reads_them() -> None:
    agent = NetworkAgent("laptop")
    view, trials = trials_of("vsr", 6, list_length=3)
    observed = observe(agent.network, None, view, trials)
    nothing = accuracy_without(observed, range(agent.network.memory.hidden))
    np.testing.assert_array_equal(nothing, accuracy_without(replace(observed, hidden=np.zeros_like(observed.hidden))))
    assert accuracy_without(observed).mean() > 0.7 > nothing.mean() + 0.1


@pytest.mark.slow
def test_questions_that_probe_nothing_are_not_scored() -> None:
    """In complex span the decisions between the items are questions, too."""
    view, trials = trials_of("cs", 4, load=5)
    observed = observe(network_for(view, hidden=4), None, view, trials)
    assert len(observed.questions) == 8
    assert {question.step for question in observed.questions} == {16, 17}


# a network in which one half of the units serves one task, and the other half the other


@pytest.mark.filterwarnings("error")
def test_lesions_of_one_cluster_have_no_figure_and_no_warning() -> None:
    assert _lesions(np.array([5]), Clusters(np.array([1]), ()), lambda units: {"a": np.ones(3)}).figures == ()


def test_the_table_of_lesions_is_arithmetic() -> None:
    """Two clusters of one and two units, in a task of three trials, one of them without a question;
    without unit 5 the first trial is wrong."""
    whole = np.array([1.0, 1.0, np.nan])

    def silenced(units: object) -> dict[str, np.ndarray]:
        return {"a": np.where([5 in list(units), False, False], 0.0, whole)}  # type: ignore[call-overload]

    table = lesion_table(np.array([2, 5, 7]), np.array([1, 2, 2]), silenced, draws=40)
    assert table["drop"].tolist() == [0, 0.5]
    assert table["trials"].tolist() == [2, 2]
    assert table["drop_sem"].tolist() == [0, pytest.approx(0.5)]
    assert table["random_drop"].tolist() == [pytest.approx(0.5 / 3, abs=0.12), pytest.approx(0.5 * 2 / 3, abs=0.12)]
    assert table["beyond"].tolist() == pytest.approx((table["drop"] - table["random_drop"]).tolist())
    assert (table["random_sd"] > 0).all()
    assert table["p"].tolist() == [1.0, pytest.approx(2 / 3, abs=0.2)]  # two of three pairs of units have unit 5
    assert np.isnan(lesion_table(np.array([5]), np.array([1]), silenced)["random_drop"]).all()
    assert lesion_table(np.zeros(0, int), np.zeros(0, int), silenced).empty


def test_a_network_that_guesses_is_told_from_one_that_does_not() -> None:
    view, trials = trials_of("vsr", 40, list_length=3)
    assert "of 40 trials, and the best blind guess in 0." in guesses(observe(network_for(view), None, view, trials))
    assert guesses(observe(NetworkAgent("laptop").network, None, view, trials)) == ""
