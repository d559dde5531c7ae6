"""Every way through a published network gives the same outputs to five decimals: each frame of each
step looked at for itself, one step after another; all frames at once, padded trials together; and
the fast way of training and evaluation, which looks at each different part of the frames once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import worm_networks  # noqa: E402

from spanlab.agents.network import NetworkAgent, model_settings  # noqa: E402
from spanlab.agents.network.agent import one_thread  # noqa: E402
from spanlab.agents.network.checkpoints_io.published import worm_tasks  # noqa: E402
from spanlab.agents.network.inputs.data import Pool, make_pool  # noqa: E402
from spanlab.agents.network.inputs.frames import NetworkFrames  # noqa: E402
from spanlab.agents.network.models import Network, Seen, build  # noqa: E402
from spanlab.agents.network.training.evaluation import outputs_of  # noqa: E402
from spanlab.paradigms import load_paradigm  # noqa: E402

#: each kind of head and loss, short trials and long ones; few different frames, many, and noise
SETS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "few": [("sfr", {"list_length": [1, 4]}), ("cd", {"feature": "colour", "set_size": 2, "retention_steps": [0, 6]})],
    "many": [
        ("sc", {}),
        ("sfr", {}),
        ("si", {}),
        ("smu", {}),
        ("sts", {}),
        ("vir", {}),
        ("vsr", {}),
        ("vsrec", {}),
        ("cs", {}),
        *[("cd", {"feature": feature, "set_size": [2, 8]}) for feature in ("colour", "orientation", "size", "gap")],
    ],
}
ZOO = [(architecture, hidden) for architecture in ("rnn", "gru", "lstm", "transformer") for hidden in (96, 256, 1024)]


def pools_of(which: str) -> tuple[np.ndarray, list[Pool]]:
    store, pools = NetworkFrames(), []
    for name, factors in SETS[which]:
        paradigm = load_paradigm(name)
        pools.append(
            make_pool(
                paradigm, store, "validation", 3, min(4, len(paradigm.combinations(factors))), factors, "corrected"
            )
        )
    return store.frames(), pools


@pytest.fixture(scope="module")
def few() -> tuple[np.ndarray, list[Pool]]:
    return pools_of("few")


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, list[Pool]]:
    return pools_of("many")


def seeded(architecture: str, hidden: int) -> Network:
    return build(model_settings(encoder="worm", architecture=architecture, hidden=hidden), worm_tasks(), 1).eval()


def check(network: Network, frames: np.ndarray, pools: list[Pool], large: bool = False) -> None:
    """Outputs differ by less than 0.00001; ``large`` ones by less than that share of them beside."""
    with one_thread(), torch.inference_mode():
        together = network.see(torch.from_numpy(frames))
        alone = Seen.joined([network.see(torch.from_numpy(frame[None])) for frame in frames])
        for pool in pools:
            rows = pool.take(np.arange(pool.trials))
            inside = np.arange(rows.frames.shape[1]) < rows.lengths[:, None]
            numbers, fast = torch.from_numpy(rows.frames), outputs_of(network, pool)
            for task in dict.fromkeys(rows.tasks):
                own = np.array([name == task for name in rows.tasks])
                whole = network(together.at(numbers[own]), task).logits.numpy()
                stepped = steps(network, alone.at(numbers[own]), task)
                near = 1e-5 * (1 + large * np.abs(whole))
                for found in (stepped, fast[own][:, : whole.shape[1]]):
                    assert (np.abs(found - whole) < near)[inside[own]].all(), (pool.paradigm.name, task)


def steps(network: Network, seen: Seen, task: str) -> np.ndarray:
    """Outputs of one step after another."""
    state, found = None, []
    for step in range(seen.inputs.shape[1]):
        passage = network(Seen(seen.inputs[:, step : step + 1]), task, state)
        state = passage.state
        found.append(passage.logits)
    return torch.cat(found, 1).numpy()


@pytest.mark.parametrize("architecture", ["rnn", "gru", "lstm", "transformer"])
@pytest.mark.slow
def test_all_ways_give_the_same(architecture: str, few: tuple[np.ndarray, list[Pool]]) -> None:
    check(seeded(architecture, 96), *few)


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "hidden"), ZOO)
def test_all_ways_give_the_same_in_the_whole_zoo(
    architecture: str, hidden: int, many: tuple[np.ndarray, list[Pool]], tmp_path: Path
) -> None:
    """With starting weights, and with those of the golden outputs: in their eye numbers grow to
    over a hundred, and rounding with them.

    There single precision differs from double precision by up to 1e-5 when frames are looked at in
    the plain way, and by less when it is done part by part.
    """
    check(seeded(architecture, hidden), *many)
    name = "TRF" if architecture == "transformer" else architecture.upper()
    check(NetworkAgent(worm_networks.write(tmp_path / "model.pt", name, hidden)).network, *many, large=True)
