"""Training: deterministic, resumable to the bit, learns; its configs and devices complain in
sentences."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import spanlab  # noqa: E402
from spanlab.agents.network import NetworkAgent, TrainingConfig, read_config  # noqa: E402
from spanlab.agents.network.inputs.batches import Ahead  # noqa: E402
from spanlab.agents.network.inputs.data import Pool, indices_at, make_pool  # noqa: E402
from spanlab.agents.network.inputs.frames import NetworkFrames  # noqa: E402
from spanlab.agents.network.inputs.training_data import TrainingData, begin_process  # noqa: E402
from spanlab.agents.network.models import build  # noqa: E402
from spanlab.agents.network.settings import Task, model_settings  # noqa: E402
from spanlab.agents.network.training.evaluation import frequencies  # noqa: E402
from spanlab.agents.network.training.journal import draw, duration  # noqa: E402
from spanlab.agents.network.training.presets import config_named  # noqa: E402
from spanlab.agents.network.training.run import train  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import load_paradigm, plan_dataset  # noqa: E402

TINY: dict[str, Any] = {
    "name": "tiny",
    "steps": 12,
    "seed": 3,
    "threads": 1,
    "model": {
        "hidden": 64,
        "components": 48,
        "summary": 32,
        "filters": 16,
        "code": 8,
        "embedding": 4,
        "delay_line": {"slots": 3, "width": 8},
    },
    "tasks": [
        {"paradigm": "vsr", "batch": 4, "train_trials": 24, "factors": {"list_length": [2, 3]}},
        {"paradigm": "sfr", "batch": 4, "train_trials": 24, "factors": {"list_length": [1, 3]}},
        {"paradigm": "smu", "batch": 4, "train_trials": 24, "factors": {"set_size": [1, 2]}},
    ],
    "rate": {"warmup": 3},
    "check": {"every": 4, "trials": 2, "test_trials": 4},
    "save_every": 4,
}


RUN_DRAWS = "spanlab.agents.network.training.run.draw"


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves are drawn by one run only, that of a fixture: they take longer than such a run."""
    monkeypatch.setattr(RUN_DRAWS, lambda log, figure: None)


def config(**changes: Any) -> TrainingConfig:
    return TrainingConfig.model_validate({**TINY, **changes})


def weights(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=True)["weights"]


def log(folder: Path, name: str = "tiny") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.log.jsonl").read_text(encoding="utf-8").splitlines()]


def unmeasured(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in entry.items() if key not in ("wall_s", "cpu_s")} for entry in entries]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(config(), out=folder, progress=False)
    return folder


@pytest.mark.slow
def test_the_same_config_gives_the_same_network(trained: Path, tmp_path: Path) -> None:
    train(config(), out=tmp_path, progress=False)
    assert (tmp_path / "tiny.pt").read_bytes() == (trained / "tiny.pt").read_bytes()
    assert unmeasured(log(tmp_path)) == unmeasured(log(trained))


@pytest.mark.slow
def test_another_seed_gives_another_network(trained: Path, tmp_path: Path) -> None:
    train(config(seed=4), out=tmp_path, progress=False)
    one, other = weights(trained / "tiny.pt"), weights(tmp_path / "tiny.pt")
    assert not torch.equal(one["memory.cell.weight_hh_l0"], other["memory.cell.weight_hh_l0"])


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("at", [5, 8])
def test_a_resumed_run_is_the_uninterrupted_one_to_the_bit(trained: Path, tmp_path: Path, at: int) -> None:
    """Stopped between validations and at one; the state on disk is that of the stop."""
    with pytest.raises(
        SpanLabError, match=f"interrupted at step {at}; the same command with --resume continues from step {at}"
    ):
        train(config(), out=tmp_path, progress=False, stop_after=at)
    assert (tmp_path / "tiny.state.pt").exists()
    result = train(config(), out=tmp_path, resume=True, progress=False)
    assert result is not None
    assert result.steps == 12
    assert (tmp_path / "tiny.pt").read_bytes() == (trained / "tiny.pt").read_bytes()
    mine, theirs = unmeasured(log(tmp_path)), unmeasured(log(trained))
    validations = [
        [entry for entry in entries if entry["event"] in ("validation", "test")] for entries in (mine, theirs)
    ]
    assert validations[0] == validations[1]
    full = [torch.load(folder / "tiny.state.pt", weights_only=True) for folder in (tmp_path, trained)]
    for name, tensor in full[0]["network"].items():
        assert torch.equal(tensor, full[1]["network"][name]), name
    for number, slots in full[0]["optimizer"]["state"].items():
        for name, tensor in slots.items():
            assert torch.equal(tensor, full[1]["optimizer"]["state"][number][name])


def test_without_vl_convert_a_run_is_finished_and_says_what_draws_its_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUN_DRAWS, draw)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    short = config(steps=2, tasks=TINY["tasks"][:1], save_every=2, check={"every": 2, "trials": 1, "test_trials": 1})
    found = train(short, out=tmp_path, progress=False)
    assert (found.steps, log(tmp_path)[-1]["event"], (tmp_path / "tiny.md").exists()) == (2, "end", True)
    said = found.told()[-1]
    assert f"{tmp_path / 'tiny.svg'} was not drawn" in said
    assert "pip install 'spanlab[figures]'" in said


def test_a_run_leaves_its_record(trained: Path) -> None:
    entries = log(trained)
    assert [entry["event"] for entry in entries if entry["event"] != "train"] == [
        "start",
        "trials",
        "validation",
        "validation",
        "validation",
        "test",
        "end",
    ]
    rows = next(entry for entry in entries if entry["event"] == "test")["rows"]
    assert {(row["paradigm"], *row["levels"].values()) for row in rows} == {
        ("vsr", 2),
        ("vsr", 3),
        ("sfr", 1),
        ("sfr", 3),
        ("smu", 1),
        ("smu", 2),
    }
    assert all(0 <= row["accuracy"] <= 1 and 0 <= row["blind"] <= 1 and 0 < row["chance"] < 1 for row in rows)
    assert json.loads((trained / "tiny.json").read_text(encoding="utf-8"))["test"] == rows
    card = (trained / "tiny.md").read_text(encoding="utf-8")
    assert "What it is not" in card
    assert all(f"{row['accuracy']:.3f}" in card for row in rows)
    assert NetworkAgent(trained / "tiny.pt").settings()["trained_on"] == {
        name: load_paradigm(name).hash for name in ("vsr", "sfr", "smu")
    }


@pytest.mark.slow
def test_a_network_starts_from_another_and_what_that_lacks_begins_anew(trained: Path, tmp_path: Path) -> None:
    """Tasks are matched by name, not by place; the first step has hardly moved the weights."""
    tasks = [{"paradigm": "vir", "batch": 4, "train_trials": 24}, *TINY["tasks"][:2]]
    begun = {
        "start_from": str(trained / "tiny.pt"),
        "tasks": tasks,
        "steps": 1,
        "rate": {"peak": 1e-9, "warmup": 0},
        "name": "more",
    }
    train(config(**begun), out=tmp_path, progress=False)
    theirs, ours = (torch.load(path, weights_only=True) for path in (trained / "tiny.pt", tmp_path / "more.pt"))
    assert torch.equal(theirs["weights"]["memory.cell.weight_hh_l0"], ours["weights"]["memory.cell.weight_hh_l0"])
    assert torch.equal(theirs["weights"]["task_embedding.weight"][:2], ours["weights"]["task_embedding.weight"][1:])
    assert torch.equal(theirs["weights"]["heads.vsr.weight"], ours["weights"]["heads.vsr.weight"])
    noted = next(entry for entry in log(tmp_path, "more") if entry["event"] == "start_from")
    assert noted["sha256"] == hashlib.sha256((trained / "tiny.pt").read_bytes()).hexdigest()
    assert "checkpoint `tiny.pt`" in (tmp_path / "more.md").read_text(encoding="utf-8")
    wider = {**begun, "model": {**TINY["model"], "hidden": 72}, "name": "wider"}
    with pytest.raises(SpanLabError, match="start_from: the network tiny has other sizes"):
        train(config(**wider), out=tmp_path, progress=False)


@pytest.mark.slow
def test_learning_learns(tmp_path: Path) -> None:
    """One red square of thirty, remembered for one step: the loss falls far below that of the label
    frequencies (0.056), and the answers become right."""
    tasks = [{"paradigm": "sfr", "batch": 32, "train_trials": 600, "factors": {"list_length": 1}}]
    model = {**TINY["model"], "components": 160, "summary": 96}
    small = config(
        tasks=tasks,
        model=model,
        steps=200,
        rate={"peak": 0.01, "warmup": 10},
        check={"every": 100, "trials": 20, "test_trials": 40},
        save_every=500,
    )
    result = train(small, out=tmp_path, progress=False)
    losses = [entry["loss"]["sfr"] for entry in log(tmp_path) if entry["event"] == "train"]
    assert losses[-1] < 0.5 * losses[0]
    assert losses[-1] < 0.03
    assert result is not None
    assert result.rows[0].accuracy > 0.5 > 10 * result.rows[0].blind


@pytest.mark.sampled(1)
@pytest.mark.parametrize("architecture", ["rnn", "gru", "lstm", "transformer"])
def test_networks_of_the_benchmark_can_be_trained(tmp_path: Path, architecture: str) -> None:
    """On tasks that share a head, and on words; what is kept is what was tested."""
    tasks = [
        {"paradigm": "cd", "batch": 2, "train_trials": 8, "factors": {"feature": ["colour", "size"], "set_size": [2]}},
        {"paradigm": "lsr", "batch": 2, "train_trials": 4, "factors": {"list_length": [3]}},
    ]
    model = {"encoder": "worm", "architecture": architecture, "hidden": 32}
    result = train(
        config(model=model, tasks=tasks, steps=2, check={"every": 2, "trials": 1, "test_trials": 2}),
        out=tmp_path,
        progress=False,
    )
    assert result is not None
    agent = NetworkAgent(result.checkpoint)
    assert {name: task.head for name, task in agent.network.tasks.items()} == {
        "cd_color": "cd",
        "cd_size": "cd",
        "lsr": "lsr",
    }
    assert agent.settings()["architecture"] == architecture
    assert set(weights(result.checkpoint)) >= {
        "heads.cd.weight",
        "heads.lsr.weight",
        "eye.projection.weight",
        "reader.projection.weight",
    }
    card = (tmp_path / "tiny.md").read_text(encoding="utf-8")
    assert '`encoder: "worm"`' in card
    assert "2 linear heads answer in 3 tasks" in card


def test_splits_never_share_a_trial_seed() -> None:
    paradigm = load_paradigm("smu")
    seeds = {
        split: {planned.seed for planned in plan_dataset(paradigm, 1, split, 500)}
        for split in ("train", "validation", "test")
    }
    assert all(len(own) == 500 for own in seeds.values())
    assert len(set.union(*seeds.values())) == 1500


@pytest.fixture(scope="module")
def spans() -> tuple[Pool, Any]:
    """Complex span, where two probes stand among many decisions and steps without a question; and a
    network that knows it."""
    pool = make_pool(
        load_paradigm("cs"),
        NetworkFrames(),
        "train",
        2,
        8,
        {"storage": "visual", "distractor_domain": "visual"},
        "corrected",
    )
    sizes = {"components": 8, "summary": 8, "filters": 8, "code": 4, "context": 8, "start": "plain"}
    return pool, build(model_settings(hidden=16, **sizes), {"cs": Task(21, "cs")}, 1)


def test_the_best_blind_guess_over_phases(spans: tuple[Pool, Any]) -> None:
    """Each phase counts as much as the others, whatever its number of steps: silent, decisions,
    probes."""
    pool, _ = spans
    for block in pool.blocks:
        phases = 3 if block.levels["load"] else 2
        often = frequencies(block, 21, by_phase=True)
        assert often.sum() == pytest.approx(1)
        assert often[20] == pytest.approx(1 / phases)
        assert often[4:20].sum() == pytest.approx(1 / phases)


STAGES: list[dict[str, Any]] = [
    {"steps": 2, "seed": 5, "tasks": TINY["tasks"][:1]},
    {"steps": 3, "rate": {"peak": 0.001}},
    {"steps": 6},
]


def test_stages_begin_with_what_the_one_before_has_kept_and_resume_as_one(tmp_path: Path) -> None:
    own = config(stages=STAGES, check={"every": 2, "trials": 1, "test_trials": 1}, save_every=2)
    assert [(part.name, part.start_from) for part in own.parts()] == [
        ("tiny-1", None),
        ("tiny-2", "tiny-1.pt"),
        ("tiny", "tiny-2.pt"),
    ]
    assert own.parts()[1].rate == own.rate.model_copy(update={"peak": 0.001})
    train(own, out=tmp_path / "whole", progress=False)
    with pytest.raises(SpanLabError, match="interrupted at step 4"):
        train(own, out=tmp_path / "cut", progress=False, stop_after=4)
    first = (tmp_path / "cut" / "tiny-2.log.jsonl").stat().st_mtime_ns
    result = train(own, out=tmp_path / "cut", resume=True, progress=False)
    assert result is not None
    assert result.checkpoint == tmp_path / "cut" / "tiny.pt"
    assert (tmp_path / "cut" / "tiny.pt").read_bytes() == (tmp_path / "whole" / "tiny.pt").read_bytes()
    assert (tmp_path / "cut" / "tiny-2.log.jsonl").stat().st_mtime_ns == first, "a finished stage is left as it is"
    begun = next(entry for entry in log(tmp_path / "whole") if entry["event"] == "start_from")
    assert begun["sha256"] == hashlib.sha256((tmp_path / "whole" / "tiny-2.pt").read_bytes()).hexdigest()
    card = (tmp_path / "whole" / "tiny.md").read_text(encoding="utf-8")
    assert "after 2 steps on 24 trials of vsr, then 3 steps on 24 trials of vsr, 24 trials of sfr" in card
    assert "does not make it again" not in card


def test_a_stage_that_was_killed_before_its_first_state_begins_anew(tmp_path: Path) -> None:
    own = config(stages=STAGES[:2], check={"every": 2, "trials": 1, "test_trials": 1}, save_every=2)
    train(own, out=tmp_path / "whole", progress=False)
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    for left in ("tiny.state.pt", "tiny.json"):
        (tmp_path / "cut" / left).unlink()
    (tmp_path / "cut" / "tiny.pt").write_bytes(b"weights of a validation")
    train(own, out=tmp_path / "cut", resume=True, progress=False)
    assert (tmp_path / "cut" / "tiny.pt").read_bytes() == (tmp_path / "whole" / "tiny.pt").read_bytes()


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({"model": {"hidden": 3}}, "stage 1 cannot have a 'model' of its own"),
        ({"stepz": 3}, "stage 1 cannot have a 'stepz' of its own"),
        ({"steps": -3}, r"a stage does not fit \(steps:"),
    ],
)
def test_a_stage_that_does_not_fit_is_refused(stage: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        config(stages=[stage])


def test_every_trial_comes_once_before_any_comes_again() -> None:
    for order in ("conditions", "shuffled"):
        seen = np.concatenate([indices_at("vsr", 1, step, 4, 40, 2, order) for step in range(10)])
        assert sorted(seen) == list(range(40))
        assert not np.array_equal(seen, np.arange(40))
    for step in range(10):
        assert len(set(indices_at("vsr", 1, step, 4, 40, 2, "conditions") % 2)) == 1  # one combination at a time


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nsteps: 5\ntask:\n  - {paradigm: vsr}\n", r"x\.yaml:3 .*unknown key 'task'; did you mean 'tasks'"),
        ("name: x\nsteps: many\ntasks: [{paradigm: vsr}]\n", r"x\.yaml:2 .*whole number; found 'many'"),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nrate: {peek: 0.1}\n",
            r"x\.yaml:4 .*unknown key 'peek'; did you mean 'peak'",
        ),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr, batsh: 3}]\n",
            r"x\.yaml:3 .*unknown key 'batsh'; did you mean 'batch'",
        ),
        ("name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {hidden: 10}\n", r"does not fit into 10 recurrent units"),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {encoder: wrm}\n",
            r"x\.yaml:4 .*expected 'compact' or 'worm'; found 'wrm'",
        ),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {encoder: worm, hiden: 3}\n",
            r"x\.yaml:4 .*unknown key 'hiden'; did you mean 'hidden'",
        ),
        ("name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {windows: 9}\n", r"x\.yaml:4 .*a number up to 8"),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {encoder: worm, windows: 3}\n",
            r"x\.yaml:4 .*unknown key 'windows'",
        ),
        (
            (
                "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel:\n  encoder: worm\n  architecture: gru\n  options:"
                " {layer: 2}\n"
            ),
            r"x\.yaml:4 .*options of the architecture 'gru': layer: unknown key 'layer'; did you mean 'layers'",
        ),
        (
            "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nmodel: {architecture: lstn}\n",
            r"x\.yaml:4 .*unknown architecture 'lstn'; did you mean 'lstm'",
        ),
        ("name: x\nsteps: 5\ntasks: []\n", "tasks"),
        ("- 1\n", "expected a training config"),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (path := tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpanLabError, match=said):
        read_config(path)


def test_short_times_are_in_seconds() -> None:
    assert [duration(seconds) for seconds in (2.31, 119.0, 150.0)] == ["2.3 seconds", "119.0 seconds", "2.5 minutes"]


def test_a_run_with_another_config_or_a_damaged_state_is_not_resumed(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "copy")
    with pytest.raises(
        SpanLabError, match="belongs to a run with another config, or with other paradigm files; resume with those"
    ):
        train(config(steps=13), out=folder, resume=True, progress=False)
    other = "spanlab.agents.network.inputs.training_data.load_paradigm"
    with (
        mock.patch(other, lambda name: replace(load_paradigm(name), hash="0" * 16)),
        pytest.raises(SpanLabError, match=r"or with other paradigm files"),
    ):
        train(config(), out=folder, resume=True, progress=False)
    state = folder / "tiny.state.pt"
    whole = torch.load(state, weights_only=True)
    without = {name: tensor for name, tensor in whole["network"].items() if name != min(whole["network"])}
    torch.save({**whole, "network": without}, state)
    with pytest.raises(SpanLabError, match=r"is damaged .*; move it away and train without --resume"):
        train(config(), out=folder, resume=True, progress=False)
    content = (trained / "tiny.state.pt").read_bytes()
    weights = next(iter(whole["network"].values())).numpy().tobytes()
    place = content.index(weights)
    state.write_bytes(content[:place] + bytes(len(weights)) + content[place + len(weights) :])
    with pytest.raises(SpanLabError, match=r"tiny\.state\.pt .* it is damaged \(the checksum of .* is wrong\)"):
        train(config(), out=folder, resume=True, progress=False)
    state.write_bytes((trained / "tiny.state.pt").read_bytes()[:-1000])
    with pytest.raises(SpanLabError, match=r"tiny\.state\.pt"):
        train(config(), out=folder, resume=True, progress=False)
    assert (folder / "tiny.pt").read_bytes() == (trained / "tiny.pt").read_bytes(), "what was trained stays"


def test_problems_of_a_run_are_sentences(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="there is no training config at"):
        config_named(tmp_path / "none.yaml")
    with pytest.raises(SpanLabError, match="already holds a training run"):
        train(config(), out=trained, progress=False)
    with pytest.raises(SpanLabError, match="another config"):
        train(config(steps=13), out=trained, resume=True, progress=False)
    with pytest.raises(SpanLabError, match="no training state"):
        train(config(), out=tmp_path / "empty", resume=True, progress=False)
    with pytest.raises(SpanLabError, match="unknown architecture 'lstn'; did you mean 'lstm'"):
        train(config(model={**TINY["model"], "architecture": "lstn"}), out=tmp_path / "a", progress=False)
    with pytest.raises(SpanLabError, match="there is no paradigm 'vsx'"):
        train(config(tasks=[{"paradigm": "vsx"}]), out=tmp_path / "b", progress=False)
    with pytest.raises(SpanLabError, match="cannot write"):
        train(config(), out=trained / "tiny.pt" / "inside", progress=False)
    if not torch.cuda.is_available():
        with pytest.raises(SpanLabError, match="no cuda device"):
            train(config(device="cuda"), out=tmp_path / "c", progress=False)


@pytest.mark.slow
def test_ctrl_c_is_left_to_the_process_that_trains() -> None:
    """It goes to all processes of a program; a helper that it ended while it waited for work would
    keep this one waiting for ever."""
    with Ahead(signal.getsignal, 1, begin_process, (config(),)) as handlers:
        assert handlers.get(signal.SIGINT, signal.SIGINT + 1) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) != signal.SIG_IGN


def test_trials_that_are_too_long_for_a_transformer_are_told_before_anything_begins(tmp_path: Path) -> None:
    model = {
        "encoder": "worm",
        "architecture": "transformer",
        "hidden": 32,
        "options": {"positions": 5, "feedforward": 32},
    }
    with pytest.raises(
        SpanLabError,
        match=(
            r"trials of vsr have up to 6 steps, and this network takes 5; give it more \(model: options: positions: 6\)"
        ),
    ):
        train(config(model=model), out=tmp_path / "long", progress=False)
    assert not (tmp_path / "long").exists()
    tasks = [{"paradigm": "vsr", "train_trials": 4, "factors": {"list_length": 2}}]
    with pytest.raises(SpanLabError, match="trials of vsr have up to 8 steps"):  # what is tested counts, too
        train(
            config(model=model, tasks=tasks, test=[{"paradigm": "vsr", "factors": {"list_length": [2, 4]}}]),
            out=tmp_path / "long",
            progress=False,
        )


def test_the_time_limit_is_told(tmp_path: Path) -> None:
    train(config(steps=100_000, minutes=0.01), out=tmp_path, progress=False)
    assert "time limit of 0.01 minutes was reached at step" in log(tmp_path)[-1]["why"]


def test_tasks_of_one_paradigm_have_names_of_their_own() -> None:
    pools = {"train": [SimpleNamespace(blocks=[SimpleNamespace(task=task)]) for task in ("vsr", "vsr", "n2")]}
    several = SimpleNamespace(paradigms=[load_paradigm("vsr")] * 3, pools=pools)
    assert [TrainingData.label(several, number) for number in range(3)] == ["vsr 1", "vsr 2", "n2"]  # type: ignore[arg-type]


def test_a_seed_of_stages_with_their_own_is_refused() -> None:
    with pytest.raises(SpanLabError, match="in stages, each with its own seed"):
        spanlab.train("vsr-only", seed=5)
