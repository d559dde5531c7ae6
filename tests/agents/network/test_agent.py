"""Networks as agents: stepping and batches agree, answers are allowed ones, and a network that
cannot take a paradigm says so."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from command_line import Run, complaint  # noqa: E402
from conditions import some_conditions  # noqa: E402

from spanlab.agents.base import Response, TrialContext  # noqa: E402
from spanlab.agents.network import NetworkAgent, model_settings, read_config  # noqa: E402
from spanlab.agents.network.agent import MemoryNoise, one_thread  # noqa: E402
from spanlab.agents.network.checkpoints_io.checkpoint import TrainedOn, locate, save, shipped  # noqa: E402
from spanlab.agents.network.inputs.data import make_pool  # noqa: E402
from spanlab.agents.network.inputs.frames import NetworkFrames  # noqa: E402
from spanlab.agents.network.models import ARCHITECTURES, build  # noqa: E402
from spanlab.agents.network.settings import Task, task_seen_in  # noqa: E402
from spanlab.agents.network.training.evaluation import examine, mean_accuracy  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import Paradigm, Percept, Trial, compile_trial, list_paradigms, load_paradigm, random_vectors  # noqa: E402
from spanlab.stimuli.render.fast.batch import network_frames  # noqa: E402

FEW = ["vsr", "cd", "lsr"]
_ENOUGH_STEPS = 120
NETWORKED = [name for name in list_paradigms() if load_paradigm(name).network is not None]
SMALL = {
    "hidden": 96,
    "components": 48,
    "summary": 32,
    "filters": 16,
    "code": 8,
    "embedding": 4,
    "delay_line": {"slots": 4, "width": 8},
}
#: how each architecture starts, and with which options, where not as a delay line
STARTS: dict[str, dict[str, Any]] = {
    "rnn": {"start": "orthogonal"},
    "gru": {"start": "orthogonal", "options": {"layers": 2}},
    "transformer": {"start": "plain", "options": {"positions": 64, "feedforward": 64}},
}


def context_of(paradigm: Paradigm, trial: Trial) -> TrialContext:
    return TrialContext(paradigm.name, paradigm.title, "en", "", (), paradigm.network_view(trial.levels))


def tasks_of(paradigms: list[Paradigm]) -> dict[str, Task]:
    """Every task of some paradigms."""
    views = [paradigm.network_view(levels) for paradigm in paradigms for levels in paradigm.combinations()]
    return {view.task: task_seen_in(view) for view in views if view is not None}


def taken_in(paradigm: Paradigm, trial: Trial) -> Any:
    """What a network takes in of a trial: frames, or vectors of words."""
    shown = [step.percept.for_machine.stimulus for step in trial.steps]
    assert paradigm.network is not None
    return torch.from_numpy(
        random_vectors().shown(shown) if paradigm.network.input == "vectors" else network_frames(shown)
    )


def trials_of(paradigm: Paradigm, seeds: range, most: int = 12) -> list[Trial]:
    """Of all combinations of factor levels, or, where there are more or trials are long (blocks of
    N-back), of some."""
    trials = [compile_trial(paradigm, levels, seed) for levels in some_conditions(paradigm, most) for seed in seeds]
    ends = itertools.accumulate(len(trial.steps) for trial in trials)
    return [
        trial for number, (trial, end) in enumerate(zip(trials, ends, strict=True)) if number < 3 or end < _ENOUGH_STEPS
    ]


def percepts_of(trials: list[Trial]) -> list[list[Percept]]:
    return [[step.percept for step in trial.steps] for trial in trials]


def stepped(agent: NetworkAgent, context: TrialContext, percepts: list[Percept]) -> list[Response | None]:
    async def go() -> list[Response | None]:
        episode = agent.start(context)
        return [await episode.step(percept) for percept in percepts]

    return asyncio.run(go())


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> NetworkAgent:
    """A network with random weights, for every paradigm that ships."""
    return untrained_network(NETWORKED, "lstm", tmp_path_factory.mktemp("network") / "untrained.pt")


@pytest.fixture(scope="module", params=sorted({*ARCHITECTURES} - {"lstm"}))
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NetworkAgent:
    """A network of each other architecture, for a few paradigms: one that shares a head, one of
    words, one with many questions."""
    return untrained_network(FEW, request.param, tmp_path_factory.mktemp("network") / "untrained.pt")


def untrained_network(names: list[str], architecture: str, path: Path) -> NetworkAgent:
    """A compact network with random weights; its retina is set on some frames."""
    paradigms = [load_paradigm(name) for name in names]
    seeing = [paradigm for paradigm in paradigms if paradigm.network is not None and paradigm.network.input == "frames"]
    settings = model_settings(**SMALL, architecture=architecture, **STARTS.get(architecture, {}))
    network = build(settings, tasks_of(paradigms), seed=5)
    network.begin([torch.cat([taken_in(p, t) for t in trials_of(p, range(1))])[:20] for p in seeing], {})
    save(
        path, network, "untrained", TrainedOn(paradigms={}, levels={}, steps=0, trials={}, config=""), random_vectors()
    )
    return NetworkAgent(path)


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NETWORKED)
@pytest.mark.parametrize("which", ["untrained", "laptop"])
def test_batches_answer_what_stepping_answers(untrained: NetworkAgent, name: str, which: str, most: int) -> None:
    """Trials with every factor level, so of different lengths, mixed in one batch."""
    paradigm = load_paradigm(name)
    if which == "laptop" and name not in ("vsr", "sfr", "smu"):
        pytest.skip("not a task of this network")
    check_batches(untrained if which == "untrained" else NetworkAgent("laptop"), paradigm, most)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FEW)
def test_batches_answer_what_stepping_answers_in_every_architecture(other: NetworkAgent, name: str) -> None:
    check_batches(other, load_paradigm(name))
    check_logits(other, load_paradigm(name))


def check_batches(agent: NetworkAgent, paradigm: Paradigm, most: int = 4) -> None:
    """Trials of different lengths, in one batch and one step at a time."""
    trials = trials_of(paradigm, range(100, 101), most)
    order = np.random.RandomState(0).permutation(len(trials))
    percepts = [percepts_of(trials)[n] for n in order]
    contexts = [context_of(paradigm, trials[n]) for n in order]
    together = agent.answer(contexts, percepts)
    for context, own, answered in zip(contexts, percepts, together, strict=True):
        alone = stepped(agent, context, own)
        assert [response is None for response in answered] == [percept.ask is None for percept in own]
        for percept, one, many in zip(own, alone, answered, strict=True):
            assert (one is None) == (many is None)
            if one is None or many is None or percept.ask is None:
                continue
            assert one.value == many.value
            # some of nine outputs stand for no word of a list that is shorter
            nothing = one.outcome == "invalid" and paradigm.name.startswith("lsr_published")
            assert one.outcome == many.outcome == ("invalid" if nothing else "answered")
            assert one.rt_ms is None
            assert nothing or percept.ask.kind.allows(one.value)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("most", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NETWORKED)
def test_logits_agree_to_five_decimals(untrained: NetworkAgent, name: str, most: int) -> None:
    """The outputs themselves, before they are read out: one step at a time, in a batch, and with
    other trials after a trial's end."""
    check_logits(untrained, load_paradigm(name), most)


def check_logits(agent: NetworkAgent, paradigm: Paradigm, most: int = 4) -> None:
    network, trials = agent.network, trials_of(paradigm, range(7, 8), most)
    task = context_of(paradigm, trials[0]).network.task  # type: ignore[union-attr]
    frames = [taken_in(paradigm, trial) for trial in trials]
    longest = max(map(len, frames))
    with one_thread(), torch.inference_mode():
        numbers, start = torch.zeros(len(frames), longest, dtype=torch.int64), 0
        for row, own in enumerate(frames):
            numbers[row, : len(own)] = torch.arange(start, start + len(own))
            start += len(own)
        together = network(network.see(torch.cat(frames)).at(numbers), task).logits
        for row, own in enumerate(frames):
            state = None
            for step in range(len(own)):
                alone, _, state = network(
                    network.see(own[step : step + 1]).at(torch.zeros(1, 1, dtype=torch.int64)), task, state
                )
                assert torch.allclose(alone[0, 0], together[row, step], atol=1e-5, rtol=1e-5)


def test_people_only_steps_are_not_seen(untrained: NetworkAgent) -> None:
    paradigm = load_paradigm("vsr")
    trial = compile_trial(paradigm, {"list_length": 3}, 1)
    percepts, context = percepts_of([trial])[0], context_of(paradigm, trial)
    fixation = dataclasses.replace(percepts[0], model_step=False)
    with_fixation = [fixation, *percepts[:2], fixation, *percepts[2:]]
    plain = stepped(untrained, context, percepts)
    answered = stepped(untrained, context, with_fixation)
    assert answered == [None, *plain[:2], None, *plain[2:]]
    assert untrained.answer([context], [with_fixation])[0][-1].value == answered[-1].value  # type: ignore[union-attr]


def test_a_network_that_does_not_know_the_task_says_so(untrained: NetworkAgent) -> None:
    paradigm = load_paradigm("vsr")
    assert paradigm.network is not None
    context = context_of(paradigm, compile_trial(paradigm, {"list_length": 3}, 1))
    for view, said in (
        (paradigm.network.model_copy(update={"task": "nback"}), r"was not trained on vsr \(task 'nback'\), but on"),
        (paradigm.network.model_copy(update={"head": 12}), "and vsr frames and 12 outputs of the head"),
        (None, "no 'network' section"),
    ):
        with pytest.raises(SpanLabError, match=said):
            untrained.start(dataclasses.replace(context, network=view))
        with pytest.raises(SpanLabError, match=said):
            untrained.answer([dataclasses.replace(context, network=view)], [[]])


def test_a_transformer_says_before_a_session_that_trials_are_too_long(tmp_path: Path, run: Run) -> None:
    options = {"positions": 6, "feedforward": 32}
    network = build(
        model_settings(**SMALL, architecture="transformer", start="plain", options=options),
        tasks_of([load_paradigm("vsr")]),
        seed=5,
    )
    save(tmp_path / "short.pt", network, "short", TrainedOn(paradigms={}, levels={}, steps=0, trials={}, config=""))
    said = complaint(*run("replay", "vsr", "--agent", "network:short.pt", "--trials", "8"))
    assert re.search(
        r"network:short\.pt takes trials of up to 6 steps, and vsr has trials of \d+; choose shorter ones", said
    )
    assert not (tmp_path / "data").exists()
    assert run("replay", "vsr", "--agent", "network:short.pt", "--trials", "2", "--set", "list_length=2,3")[0] == 0


def test_settings_tell_which_network_it_was() -> None:
    settings = NetworkAgent("laptop").settings()
    assert "label" not in settings, "trained, as networks are"
    assert NetworkAgent("wired-nback").settings()["label"] == "wired, not learned"
    assert NetworkAgent("laptop", MemoryNoise(0.2)).settings()["label"] == "noise added"
    assert settings["checkpoint"] == "laptop"
    assert settings["architecture"] == "lstm"
    assert len(settings["sha256"]) == 64
    assert set(settings["trained_on"]) == {"vsr", "sfr", "smu"}
    assert settings["trained_steps"] > 0


def test_the_shipped_network_is_small_and_comes_with_its_papers() -> None:
    assert "laptop" in shipped()
    checkpoint = NetworkAgent("laptop").checkpoint
    assert checkpoint.bytes < 10_000_000
    file = locate("laptop")
    assert checkpoint.trained is not None
    start, *_, end = map(json.loads, file.with_suffix(".log.jsonl").read_text(encoding="utf-8").splitlines())
    assert start["config_hash"] == checkpoint.trained.config
    assert read_config(file.with_suffix(".yaml")).model_dump(mode="json") == start["config"], (
        "this config made the network"
    )
    assert checkpoint.sha256 in file.with_suffix(".md").read_text(encoding="utf-8")
    assert (end["event"], end["checkpoint_sha256"]) == ("end", checkpoint.sha256)


# Margins over the best blind guess: far below what was measured when the network was trained (its
# model card), far above what 200 trials could give by luck.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "margin"), [("sfr", 0.4), ("smu", 0.15)])
def test_the_shipped_network_beats_the_best_blind_guess(name: str, margin: float) -> None:
    """200 trials of the stream of test seeds, all published factor levels; another seed than that
    of the training run's own test."""
    paradigm, store = load_paradigm(name), NetworkFrames()
    training = make_pool(paradigm, store, "train", 77, 400, {}, "corrected")
    held_out = make_pool(paradigm, store, "test", 77, 200, {}, "corrected")
    rows = examine(NetworkAgent("laptop").network, held_out, training).rows
    assert mean_accuracy(rows) > float(np.mean([row.blind for row in rows])) + margin


def test_nothing_loads_torch_before_a_network_is_used(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, spanlab, spanlab.agents.network; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
