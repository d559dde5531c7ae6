"""Likelihoods against a second implementation, written answer by answer from the papers' formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from fitting_designs import design
from scipy.integrate import quad
from scipy.optimize import root_scalar
from scipy.special import i0, ive, roots_legendre
from scipy.stats import gamma, norm, vonmises

from spanlab.analysis.stats.signal_detection import detection
from spanlab.extensions.fitting.likelihood import Space, fit
from spanlab.extensions.fitting.markers import MovingMarkers
from spanlab.extensions.fitting.models import Model, models_named
from spanlab.extensions.fitting.models.order import MemoryMeasurement
from spanlab.extensions.fitting.trials import Trials
from spanlab.paradigms.samplers.updating import MarkerWalk

Numbers = Mapping[str, float]


def root(function: Callable[[float], float]) -> float:
    return float(root_scalar(function, bracket=(1e-6, 1e5), xtol=1e-14, rtol=1e-14).root)


def resultant(kappa: float) -> float:
    return float(ive(1, kappa) / ive(0, kappa))


def kappa_with(precision: float) -> float:
    if precision < 1e-9:
        return math.sqrt(2 * precision)
    return root(lambda kappa: kappa * resultant(kappa) - precision)


def kappa_with_sd(degrees: float) -> float:
    return root(lambda kappa: math.sqrt(-2 * math.log(resultant(kappa))) - math.radians(degrees))


def around(error: float, kappa: float) -> float:
    return float(vonmises.pdf(error, kappa)) if kappa > 1e-12 else 1 / (2 * math.pi)


def slots(error: float, size: int, p: Numbers) -> float:
    held = min(1.0, p["k"] / size)
    return held * around(error, kappa_with_sd(p["sd"])) + (1 - held) / (2 * math.pi)


def averaging(error: float, size: int, p: Numbers) -> float:
    each = int(p["k"] // size)
    more, kappa = p["k"] / size - each, kappa_with_sd(p["sd"])
    single = kappa * resultant(kappa)
    return (1 - more) * around(error, kappa_with(each * single)) + more * around(error, kappa_with((each + 1) * single))


def resource(error: float, size: int, p: Numbers) -> float:
    return around(error, kappa_with(p["precision"] / size ** p["power"]))


def variable(error: float, size: int, p: Numbers) -> float:
    shape = p["precision"] / size ** p["power"] / p["tau"]
    low, high = (math.log(max(float(gamma.ppf(share, shape, scale=p["tau"])), 1e-30)) for share in (1e-10, 1 - 1e-13))

    def at(log: float) -> float:
        return (
            float(gamma.pdf(math.exp(log), shape, scale=p["tau"]))
            * math.exp(log)
            * around(error, kappa_with(math.exp(log)))
        )

    return quad(at, low, high, epsabs=1e-11, epsrel=1e-9, limit=200)[0] + 1e-10 / (2 * math.pi)


def with_swaps(of: Callable[[float, int, Numbers], float]) -> Callable[[float, Sequence[float], int, Numbers], float]:
    def density(error: float, others: Sequence[float], size: int, p: Numbers) -> float:
        strength = p.get("swap", 0.0) * (size - 1)
        swapped = strength / (1 + strength)
        about_others = sum(of(error - other, size, p) for other in others) / len(others) if len(others) else 0.0
        attended = p.get("attended", 1.0)
        return attended * ((1 - swapped) * of(error, size, p) + swapped * about_others) + (1 - attended) / (2 * math.pi)

    return density


PLAIN = {"slots": slots, "slots-averaging": averaging, "resource": resource, "vp": variable}
REPORTS = PLAIN | {"slots+swaps": slots, "resource+swaps": resource, "vp+swaps": variable}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("shift", [0.0, 0.6, -0.9])
def test_a_density_of_reports_is_that_of_the_formula(name: str, shift: float) -> None:
    (model,) = models_named(name, "report")
    trials, values, each = drawn(model, "report", 8 if "vp" in name else 40, shift)
    second, wanted = with_swaps(REPORTS[name]), []
    for row, size in enumerate(trials.load):
        others = trials.beside["others"][row, : size - 1]
        wanted.append(
            math.log(second(float(trials.answer[row]), [float(other) for other in others], int(size), values))
        )
    np.testing.assert_allclose(each, wanted, atol=1e-6)


def drawn(model: Model, kind: Any, count: int, shift: float) -> tuple[Trials, dict[str, float], np.ndarray]:
    """Answers of a model with parameters so many spreads from the typical ones, the parameters, and
    its log likelihood of each answer."""
    trials = design(kind, count)
    space = Space.of(model, trials)
    at = np.array(
        [p.to_scale(p.typical) + shift * p.spread * (-1) ** place for place, (p, _) in enumerate(space.places)]
    )
    answered = trials.answered(model.draw(space.values(at, trials), trials, np.random.RandomState(3)))
    return answered, space.numbers(at), model.log_likelihood(space.values(at, answered), answered)


def difference_below(criterion: float, size: float, kappas: Sequence[float], weights: Sequence[float]) -> float:
    """The probability that two noisy values that differ by a size differ by less than a criterion:
    over pairs of concentrations."""

    def density(angle: float) -> float:
        one, other = np.meshgrid(kappas, kappas)
        both = np.outer(weights, weights)
        return float(
            (
                both
                * i0(np.sqrt(one**2 + other**2 + 2 * one * other * np.cos(angle)))
                / (2 * np.pi * i0(one) * i0(other))
            ).sum()
        )

    return quad(lambda angle: density(angle - size), -criterion, criterion, epsabs=1e-9, limit=200)[0]


@pytest.mark.parametrize("name", ["resource", "vp"])
def test_change_is_detected_as_by_the_formula(name: str) -> None:
    (model,) = models_named(name, "change")
    p = {"precision": 12.0, "power": 0.7, "tau": 3.0, "criterion": 60.0, "attended": 0.9}
    trials = Trials(
        "change",
        np.array([1, 1, 3, 3]),
        np.arange(4),
        np.ones(4, int),
        {"signal": np.array([0, 1, 0, 1]), "size": np.array([3.0, 1.2, 0.4, 2.0])},
    )
    found, wanted = np.exp(model.log_likelihood(p, trials)), []
    for row, size in enumerate(trials.load):
        mean = p["precision"] / size ** p["power"]
        if name == "vp":
            shape = mean / p["tau"]  # Gauss and Legendre over the root of the precision
            nodes, weights = roots_legendre(80)
            roots = (nodes + 1) / 2 * math.sqrt(gamma.ppf(1 - 1e-12, shape, scale=p["tau"]))
            weights = weights * roots[-1] / (nodes[-1] + 1) * 2 * roots * gamma.pdf(roots**2, shape, scale=p["tau"])
            kappas = [kappa_with(root**2) for root in roots]
        else:
            kappas, weights = [kappa_with(mean)], [1.0]
        change = float(trials.beside["size"][row]) * trials.beside["signal"][row]
        criterion = math.radians(p["criterion"])
        below = difference_below(criterion, 0.0, kappas, weights) if size > 1 else 1.0
        different = 1 - below ** (size - 1) * difference_below(criterion, change, kappas, weights)
        wanted.append(0.9 * different + 0.1 * 0.5)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_slots_detect_changes_as_pashler_says() -> None:
    (model,) = models_named("slots", "change")
    trials = Trials(
        "change",
        np.array([2, 6, 6]),
        np.arange(3),
        np.ones(3, int),
        {"signal": np.array([1, 1, 0]), "size": np.full(3, np.pi)},
    )
    found = np.exp(model.log_likelihood({"k": 3.0, "guess": 0.4}, trials))
    np.testing.assert_allclose(found, [1.0, 0.5 + 0.5 * 0.4, 0.4], atol=1e-9)
    found = np.exp(model.log_likelihood({"k": 3.0, "guess": 0.4, "attended": 0.9}, trials))
    np.testing.assert_allclose(found, [0.9 + 0.1 * 0.4, 0.9 * (0.5 + 0.5 * 0.4) + 0.1 * 0.4, 0.4], atol=1e-9)


@pytest.mark.parametrize(("name", "levels"), [("sdt", 2), ("sdt", 6), ("sdt-shared", 2), ("sdt-unequal", 6)])
def test_signal_detection_is_that_of_the_normal_distribution(name: str, levels: int) -> None:
    (model,) = models_named(name)
    trials = design("detection", 60, levels=levels)
    trials = trials.answered(np.random.RandomState(4).randint(0, levels, 60))
    p = {
        "d_1": 1.2,
        "d_2": 0.8,
        "d_3": 0.3,
        "criterion": 0.2,
        "gap_1": 0.3,
        "gap_2": 0.4,
        "gap_3": 0.5,
        "gap_4": 0.6,
        "sd": 1.4,
    }
    p |= {"criterion_1": 0.2, "criterion_2": -0.4, "criterion_3": 0.9}
    space = Space.of(model, trials)
    found = model.log_likelihood(space.values(space.point(p), trials), trials)
    for row in range(len(trials)):
        load, answer = int(trials.load[row]), int(trials.answer[row])
        middle = p[f"criterion_{load}"] if (name, levels) == ("sdt", 2) else 0.2
        criteria = [middle] if levels == 2 else [middle - 0.7, middle - 0.4, middle, middle + 0.5, middle + 1.1]
        edges = [-math.inf, *criteria, math.inf]
        sd = 1.4 if name == "sdt-unequal" else 1.0
        evidence = norm(p[f"d_{load}"] / 2, sd) if trials.beside["signal"][row] else norm(-p[f"d_{load}"] / 2, 1.0)
        assert found[row] == pytest.approx(
            math.log(evidence.cdf(edges[answer + 1]) - evidence.cdf(edges[answer])), abs=1e-6
        )


def test_fitted_sensitivity_is_that_of_the_rates() -> None:
    """With a sensitivity and a criterion of its own, each load is fitted exactly: the same d' and
    criterion as from hits and false alarms."""
    trials = design("detection", 600)
    signal = trials.beside["signal"]
    trials = trials.answered(
        (np.random.RandomState(2).random_sample(600) < np.where(signal == 1, 0.8, 0.25)).astype(int)
    )
    values = fit(models_named("sdt")[0], trials).values
    for load, rows in trials.by_load.items():
        said, was = trials.answer[rows] == 1, signal[rows] == 1
        wanted = detection((said & was).sum(), (~said & was).sum(), (said & ~was).sum(), (~said & ~was).sum(), "none")
        assert values[f"d_{load}"] == pytest.approx(float(wanted.dprime), abs=2e-3)
        assert values[f"criterion_{load}"] == pytest.approx(float(wanted.criterion), abs=2e-3)


def test_thresholds() -> None:
    (model,) = models_named("threshold")
    trials = Trials(
        "detection", np.ones(4, int), np.arange(4), np.array([1, 0, 1, 0]), {"signal": np.array([1, 1, 0, 0])}
    )
    found = np.exp(model.log_likelihood({"known": 0.6, "guess": 0.3}, trials))
    np.testing.assert_allclose(found, [0.6 + 0.4 * 0.3, 0.4 * 0.7, 0.4 * 0.3, 0.6 + 0.4 * 0.7], atol=1e-9)


def order_by_hand(name: str, p: Numbers, trials: Trials, row: int) -> float:
    """The probability of an answer: of one question of a list, from the formulas."""
    size, options, position = (
        int(trials.load[row]),
        int(trials.beside["options"][row]),
        int(trials.beside["position"][row]),
    )
    stage, once = int(trials.beside["stage"][row]), bool(trials.beside["once"][row])
    given = [item for item in range(1, size + 1) if trials.beside["given"][row, item - 1]]
    left = [item for item in range(1, size + 1) if not (once and item in given)]
    unlisted = options - size - (stage - len(given) if once else 0)
    if name == "m3":
        strength = {item: 0.1 + p["a"] + (p["c"] if item == position else 0.0) for item in left}
        return (strength[trials.answer[row]] if trials.answer[row] else 0.1 * unlisted) / (
            sum(strength.values()) + 0.1 * unlisted
        )
    if name == "simple":
        age = {item: size - item + 1 + p["output"] * stage for item in range(1, size + 1)}
        strength = {item: math.exp(-p["c"] * abs(math.log(age[item]) - math.log(age[position]))) for item in left}
    else:
        strength = {
            item: math.exp(-p["gradient"] * (item - 1)) * (1 - p.get("suppressed", 1.0) * (item in given))
            for item in left
        }
    guess = p["guess"] / (len(left) + unlisted)
    if not trials.answer[row]:
        return guess * unlisted
    return (1 - p["guess"]) * strength[trials.answer[row]] / sum(strength.values()) + guess


@pytest.mark.parametrize("name", ["simple", "primacy", "m3"])
@pytest.mark.parametrize("once", [0, 1])
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_serial_order_is_that_of_the_formulas(name: str, once: int, shift: float) -> None:
    (model,) = models_named(name, "order")
    trials = design("order", 80)
    trials.beside["once"][:] = once
    space = Space.of(model, trials)
    at = np.array([p.to_scale(p.typical) - shift * p.spread for p, _ in space.places])
    answered = trials.answered(model.draw(space.values(at, trials), trials, np.random.RandomState(3)))
    found = model.log_likelihood(space.values(at, answered), answered)
    wanted = [math.log(order_by_hand(name, space.numbers(at), answered, row)) for row in range(len(answered))]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert 0 < (answered.answer == 0).sum() < len(answered)
    if once:
        given = [answered.answer[answered.trial == trial] for trial in np.unique(answered.trial)]
        assert all(len(np.unique(one[one > 0])) == (one > 0).sum() for one in given)
    assert MemoryMeasurement.background == 0.1


#: Columns and rows by which a marker moves.
ARROWS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
ARROWS |= {"up_left": (-1, -1), "up_right": (1, -1), "down_left": (-1, 1), "down_right": (1, 1)}


def updating_by_hand(p: Numbers, walk: Mapping[str, Any], box: int) -> list[float]:
    """The probability of each cell.

    Activations are b + a + c for the current content of the box, b + a for that of another one,
    b + share * (a + c) and b + share * a for outdated contents, and b for what was never there.
    Of several sources of one activation, the largest one counts.
    """
    paths = [[start] for start in walk["start"]]
    for update in walk["updates"]:
        right, down = ARROWS[update["direction"]]
        paths[update["box"]].append(paths[update["box"]][-1] + right + 3 * down)
    strengths = []
    for cell in range(9):
        items = [1.0 if cell == path[-1] else p["outdated"] if cell in path else 0.0 for path in paths]
        strengths.append(0.1 + max(items) * p["a"] + items[box] * p["c"])
    return [strength / sum(strengths) for strength in strengths]


@pytest.mark.parametrize("boxes", [1, 2, 5, 8])
@pytest.mark.parametrize("outdated", [0.001, 0.4, 0.999])
def test_updating_is_that_of_the_formulas(boxes: int, outdated: float) -> None:
    (model,) = models_named("m3", "updating")
    p, seen = {"a": 0.7, "c": 6.0, "outdated": outdated}, set()
    for seed in range(20):
        walk, markers = MarkerWalk(boxes=boxes, updates=8, grid=3).draw(np.random.RandomState(seed)), MovingMarkers()
        for shown in ({"markers": walk["start"]}, *({"arrow": update} for update in walk["updates"])):
            markers.see(shown)
        for box in range(boxes):
            roles, wanted = np.array(markers.roles(box)), np.array(updating_by_hand(p, walk, box))
            there = np.unique(roles)
            beside = {"cells": np.tile(np.bincount(roles, minlength=6), (len(there), 1))}
            trials = Trials("updating", np.full(len(there), boxes), np.arange(len(there)), there, beside)
            by_hand = [math.log(wanted[roles == role].sum()) for role in there]
            np.testing.assert_allclose(model.log_likelihood(p, trials), by_hand, atol=1e-6)
            assert roles[walk["final"][box]] == 1
            assert all(np.ptp(wanted[roles == role]) < 1e-12 for role in there)  # cells of one role are equally likely
            seen |= set(there)
    assert seen == (set(range(6)) if boxes > 1 else {0, 1, 3})
