"""What can be read out before training: a network in which comparisons are wired in solves N-back
at once, the same network without them does not."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from before_training import BeforeTraining, _threshold, before_training  # noqa: E402

from spanlab.agents.network.training.config import TrainingConfig  # noqa: E402

MODEL = {
    "hidden": 112,
    "components": 64,
    "summary": 32,
    "filters": 8,
    "code": 8,
    "context": 16,
    "embedding": 4,
    "products": 96,
}


def before(compared: bool) -> list[BeforeTraining]:
    config = TrainingConfig.model_validate(
        {
            "name": "n",
            "seed": 1,
            "model": {**MODEL, "compared": compared, "delay_line": {"slots": 4, "width": 24}},
            "tasks": [
                {
                    "paradigm": "nback_spatial",
                    "batch": 2,
                    "train_trials": 60,
                    "factors": {"grid": 3, "lures": "none", "n": [1, 2]},
                }
            ],
            "steps": 1,
            "check": {"every": 1, "trials": 8, "test_trials": 30},
        }
    )
    return before_training(config, fitted_on=60)


@pytest.mark.slow
def test_comparisons_that_are_wired_in_solve_the_task_before_training() -> None:
    wired, plain = before(True), before(False)
    assert [row.levels["n"] for row in wired] == [1, 2]
    for row in wired:
        assert row.read_out > 0.97
        assert row.unweighted is not None
        assert row.unweighted > 0.9
    for row in plain:
        assert row.read_out < 0.9
        assert row.unweighted is not None
        assert row.unweighted < 0.75


def test_the_threshold_of_the_plain_sum_is_the_best_one() -> None:
    random = np.random.default_rng(1)
    for sign in (1, -1):
        values, wanted = torch.from_numpy(random.normal(size=60)), torch.from_numpy(random.random(60) < 0.4)
        values = values + sign * 1.5 * wanted
        threshold, side = _threshold(values, wanted)
        right = ((side * (values - threshold) > 0) == wanted).double().mean()
        best = max(
            float(((side * (values - edge) > 0) == wanted).double().mean())
            for side in (1, -1)
            for edge in [values.min() - 1, *values]
        )
        assert float(right) >= best
        assert side == sign
