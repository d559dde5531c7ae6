"""The fast path of training is the plain one: same losses, same gradients, same trials, however
many processes and whichever way frames are looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from network_runs import config, weights  # noqa: E402

from spanlab.agents.network import model_settings  # noqa: E402
from spanlab.agents.network.inputs.batches import assemble  # noqa: E402
from spanlab.agents.network.inputs.data import make_pool, task_of, view_of  # noqa: E402
from spanlab.agents.network.inputs.frames import NetworkFrames  # noqa: E402
from spanlab.agents.network.inputs.training_data import TrainingData  # noqa: E402
from spanlab.agents.network.models import build  # noqa: E402
from spanlab.agents.network.settings import task_seen_in  # noqa: E402
from spanlab.agents.network.speedups import sight  # noqa: E402
from spanlab.agents.network.training.evaluation import examine  # noqa: E402
from spanlab.agents.network.training.journal import draw  # noqa: E402
from spanlab.agents.network.training.learning import JointLoss, Plateau, load, summed  # noqa: E402
from spanlab.agents.network.training.run import train  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import load_paradigm  # noqa: E402

CPU = torch.device("cpu")
#: one of each kind of loss, head and length; the tasks of change detection share a head
SETS: list[tuple[str, dict[str, Any]]] = [
    ("sfr", {"list_length": [1, 3]}),
    ("vsr", {"list_length": [2]}),
    ("cs", {"load": 0}),
    ("cd", {"feature": "colour", "set_size": 2, "retention_steps": 0}),
    ("cd", {"feature": "size", "set_size": 2, "retention_steps": 0}),
]


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves are drawn by one run only, that of a fixture: they take longer than such a run."""
    monkeypatch.setattr("spanlab.agents.network.training.run.draw", lambda log, figure: None)


@pytest.fixture(scope="module")
def joint() -> dict[str, Any]:
    """Some trials of several tasks."""
    store, tasks, losses, pools = NetworkFrames(), {}, [], []
    for name, factors in SETS:
        paradigm = load_paradigm(name)
        pools.append(
            make_pool(paradigm, store, "validation", 5, 2 * len(paradigm.combinations(factors)), factors, "corrected")
        )
        tasks[task_of(paradigm, pools[-1].blocks[0].levels)] = task_seen_in(view_of(paradigm))
        losses.append(pools[-1].loss)
    chosen = [
        (number, pool.take(np.arange(2 if number == 0 else 1)), store.frames()) for number, pool in enumerate(pools)
    ]
    return {"tasks": tasks, "losses": losses, "pools": pools, "chosen": chosen, "store": store}


def narrow(eye: Any) -> None:
    """Fewer filters, of the same kind and order."""
    torch.manual_seed(1)
    widths = iter([(3, 6), (6, 8), (8, 9), (9, 12)])
    for at, layer in enumerate(eye.layers):
        if isinstance(layer, torch.nn.Conv2d):
            eye.layers[at] = torch.nn.Conv2d(*next(widths), 3, padding=1).double()
    eye.projection = torch.nn.Linear(12, eye.projection.out_features).double()


def plainly(network: Any, joint: dict[str, Any]) -> list[Any]:
    """The loss of each task as the published loop has it: all frames of all steps, two more after
    the end that are black, task by task."""
    found = []
    for (_, rows, shown), kind in zip(joint["chosen"], joint["losses"], strict=True):
        count, width = rows.frames.shape
        frames = np.zeros((count, width + 2, 32, 32, 3), np.uint8)
        inside = np.arange(width) < rows.lengths[:, None]
        frames[:, :width][inside] = shown[rows.frames[inside]]
        seen = network.eye(torch.from_numpy(frames.reshape(-1, 32, 32, 3))).at(
            torch.arange(count * (width + 2)).reshape(count, -1)
        )
        logits = network(seen, rows.tasks[0]).logits[:, :width][torch.from_numpy(rows.trained)]
        found.append(summed(logits, torch.from_numpy(rows.targets[rows.trained]), kind) / len(logits))
    return found


@pytest.mark.parametrize("architecture", ["rnn", "gru", "lstm", "transformer"])
@pytest.mark.parametrize("encoder", ["worm", "compact"])
@pytest.mark.slow
def test_joint_batches_give_the_losses_and_gradients_of_the_plain_loop(
    joint: dict[str, Any], encoder: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In double precision, where rounding cannot hide a difference (nor make one, where two pixels
    are almost alike); the published eye with fewer filters."""
    monkeypatch.setattr(sight, "_CHANNELS", 5)
    small = (
        {"components": 8, "summary": 8, "filters": 8, "code": 4, "context": 8, "start": "plain"}
        if encoder == "compact"
        else {}
    )
    network = (
        build(model_settings(encoder=encoder, architecture=architecture, hidden=16, **small), joint["tasks"], 1)
        .double()
        .eval()
    )
    if encoder == "compact":  # its eye makes single-precision numbers of pixels
        network = network.float()
    else:
        narrow(network.eye)
    learner = JointLoss(network, joint["losses"], [1.0, 2.0, 1.0, 1.0, 0.5])
    plain = plainly(network, joint)
    sum(value * weight for value, weight in zip(plain, learner.weights, strict=True)).backward()  # type: ignore[union-attr]
    expected = {
        name: parameter.grad.clone() for name, parameter in network.named_parameters() if parameter.grad is not None
    }
    for patches in (False, True) if encoder == "worm" else (False,):
        network.zero_grad()
        total, losses, right = learner(load(assemble(joint["chosen"], patches=patches), CPU))
        total.backward()
        near = {"rtol": 1e-9, "atol": 1e-12} if encoder == "worm" else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(losses, torch.stack(plain).detach(), **near)
        assert bool(((right >= 0) & (right <= 1)).all())
        for name, parameter in network.named_parameters():
            if name in expected:
                torch.testing.assert_close(
                    parameter.grad, expected[name], **near, msg=lambda said, name=name: f"{name}: {said}"
                )


def test_validation_as_published(joint: dict[str, Any]) -> None:
    """Accuracy of outputs one by one: a network that never marks a square is right about nearly all
    of them."""
    network = build(model_settings(encoder="worm", architecture="rnn", hidden=8), joint["tasks"], 1).eval()
    torch.nn.init.constant_(network.heads["sfr"].bias, -9.0)  # type: ignore[arg-type]
    found = examine(network, joint["pools"][0])
    assert found.accuracy == pytest.approx(1 - np.mean([1, 3]) / 100, abs=1e-6)
    assert all(row.accuracy < 0.5 for row in found.rows)


def test_the_published_rate_falls_on_a_plateau() -> None:
    """As PyTorch's own scheduler."""
    losses = [1.0, 0.9, 0.899, 0.898, 0.897, 0.896, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1e-4)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.8, patience=3, threshold=0.005)
    mine = Plateau(1e-4)
    for loss in losses:
        theirs.step(loss)
        mine.validated(loss)
        assert mine.rate == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
    assert mine.rate < 0.7e-4


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(config(), out=folder, progress=False)
    return folder


@pytest.mark.slow
def test_trials_compiled_meanwhile_are_those_compiled_ahead(trained: Path, tmp_path: Path) -> None:
    train(config(compile="meanwhile"), out=tmp_path, progress=False)
    theirs = weights(trained)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in weights(tmp_path).items())


@pytest.mark.slow
def test_trials_compiled_by_other_processes_are_the_same(trained: Path, tmp_path: Path) -> None:
    train(config(compile="meanwhile", workers=2), out=tmp_path, progress=False)
    theirs = weights(trained)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in weights(tmp_path).items())


@pytest.mark.slow
def test_one_can_train_on_many_and_test_on_one(tmp_path: Path) -> None:
    result = train(
        config(steps=2, test=[{"paradigm": "vsr", "factors": {"list_length": 4}}]), out=tmp_path, progress=False
    )
    assert result is not None
    assert [(row.paradigm, row.levels["list_length"], row.held_out) for row in result.rows] == [("vsr", 4, True)]
    with pytest.raises(SpanLabError, match="smu is the task 'smu', which is not trained"):
        TrainingData(config(test=[{"paradigm": "smu"}]))


def test_improved_losses_weigh_tasks_by_their_blind_guess(tmp_path: Path) -> None:
    """The first losses of all tasks are about as large as a blind guess's, which then count one
    each."""
    train(config(loss="improved", selection="improved", steps=2), out=tmp_path, progress=False)
    assert (tmp_path / "tiny.pt").exists()
    assert "Loss improved" in (tmp_path / "tiny.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_draws_its_curves(trained: Path) -> None:
    figure = (trained / "tiny.svg").read_text(encoding="utf-8")
    assert figure.startswith("<svg")
    assert all(word in figure for word in ("all together", "vsr", "sfr", "accuracy", "loss", "validation"))


def test_curves_of_a_long_run_are_thinned(tmp_path: Path) -> None:
    lines = [
        json.dumps({"event": "train", "step": step, "loss": {"vsr": 1 / step}, "accuracy": {"vsr": 0.5}})
        for step in range(1, 3001)
    ]
    (tmp_path / "long.log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(tmp_path / "long.log.jsonl", tmp_path / "long.svg")
    assert (tmp_path / "long.svg").stat().st_size < 300_000
