"""Every preset runs, in miniature, from the command line's door to a checkpoint that takes trials;
wrong configs name file, line and key."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from command_line import Run, complaint, output_of

torch = pytest.importorskip("torch")

from spanlab.agents.network import NetworkAgent  # noqa: E402
from spanlab.agents.network.training import run as training_run  # noqa: E402
from spanlab.agents.network.training.presets import config_named, presets, toy  # noqa: E402
from spanlab.agents.network.training.run import train  # noqa: E402
from spanlab.core import atomic_files  # noqa: E402
from spanlab.paradigms import Paradigm, load_paradigm  # noqa: E402

#: parameters of the published networks
PARAMETERS = {
    "rnn-96": 1879465,
    "gru-256": 2435785,
    "lstm-256": 2632905,
    "lstm-1024": 8256969,
    "trf-96": 2475401,
    "trf-1024": 19040201,
}


@cache
def read(name: str) -> Paradigm:
    return load_paradigm(name)


@pytest.fixture
def quickly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is the same for all presets is done for a few: reading the paradigms, the figure, the
    state (which other tests resume from)."""
    for module in ("training.presets", "inputs.training_data"):
        monkeypatch.setattr(f"spanlab.agents.network.{module}.load_paradigm", read)
    monkeypatch.setattr(atomic_files.os, "fsync", lambda number: None)
    if name != "laptop":
        monkeypatch.setattr("spanlab.agents.network.training.run.draw", lambda log, figure: None)
    if name not in ("laptop", "lstm-256"):
        monkeypatch.setattr(training_run, "write_state", lambda *parts: None)


#: presets that stand for all where there is little time: architectures and kinds of tasks
QUICK = ("gru-96", "lstm-256", "trf-96", "laptop", "lsr-long", "nback")


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in presets()]
)
def test_every_preset_runs_in_miniature(tmp_path: Path, name: str) -> None:
    config = config_named(name)
    assert config.name == name
    result = train(toy(config), out=tmp_path, progress=False)
    assert result is not None
    agent = NetworkAgent(result.checkpoint)
    tasks = {
        "vsr-only": 1,
        **dict.fromkeys(("small-vsr", "small-vsr-plain", "small-smu"), 1),
        "small-cd": 1,
        **dict.fromkeys(("lsr-long", "lsr-published"), 1),
        "nback": 2,
        "laptop": 3,
        "cd-noise": 5,
    }  # of the N-backs in miniature, one back
    assert len(agent.network.tasks) == tasks.get(name, 14)
    if name in PARAMETERS:
        assert agent.network.parameter_count == PARAMETERS[name]
    entries = [json.loads(line) for line in (tmp_path / f"{name}.log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entry["event"] for entry in entries] == ["start", "trials", "train", "validation", "test", "end"]
    assert all(value > 0 for value in entries[2]["loss"].values())


def test_the_command_knows_presets_and_says_what_is_wrong(tmp_path: Path, run: Run) -> None:
    listed = output_of(*run("train", "--list"))
    assert all(name in listed for name in presets())
    assert "did you mean 'lstm-256'" in complaint(*run("train", "lstm-265"))
    assert "what should be trained" in complaint(*run("train"))
    assert "--recipe is published or improved" in complaint(*run("train", "lstm-256", "--recipe", "best"))
    (tmp_path / "mine.yaml").write_text(
        "name: x\nsteps: 5\ntasks: [{paradigm: vsr}]\nloss: publisht\nrate: {paek: 1}\n", encoding="utf-8"
    )
    said = complaint(*run("train", "mine.yaml"))
    for words in ("mine.yaml:4", "loss", "mine.yaml:5", "did you mean 'peak'"):
        assert words in said
