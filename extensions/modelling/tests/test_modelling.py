"""Trials for models that are trained elsewhere: batches, an environment, and torch modules as
participants."""

from __future__ import annotations

import pickle
import re
import rlcompleter
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import spanlab
from spanlab.core.errors import SpanLabError
from spanlab.extensions.modelling.dataset import Dataset
from spanlab.extensions.modelling.gym import Task


class Memory(nn.Module):
    """A recurrent network that nobody has trained; it returns its state, too, as recurrent modules
    do."""

    def __init__(self, outputs: int = 9) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.memory = nn.LSTM(3 * 32 * 32, 8, batch_first=True)
        self.head = nn.Linear(8, outputs)
        self.dropout = nn.Dropout(0.5)

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, Any]:
        hidden, state = self.memory(frames.flatten(2))
        return self.head(self.dropout(hidden)), state


@pytest.mark.usefixtures("_inside")
def test_a_module_takes_trials_and_its_weights_are_in_the_record() -> None:
    module = Memory().train()
    result = spanlab.replay("vsr", agent=module, logits="0-8", trials=6, levels={"list_length": [3, 4]})
    assert module.training, "it is left as it was"
    assert len(result.responses) == 21
    settings = result.info["agent_settings"]
    assert settings["class"].endswith("Memory")
    assert len(settings["sha256"]) == 64
    assert settings["interface"]["logits"] == [*range(9)]
    again = spanlab.replay("vsr", agent=module, trials=6, levels={"list_length": [3, 4]})
    assert again.responses["answer"].tolist() == result.responses["answer"].tolist()
    with torch.no_grad():
        module.head.bias.add_(1.0)
    changed = spanlab.replay("vsr", agent=module, trials=6, levels={"list_length": [3, 4]})
    assert changed.info["agent_settings"]["sha256"] != settings["sha256"]


@pytest.mark.usefixtures("_inside")
def test_every_part_of_a_module_is_left_in_its_mode() -> None:
    module = Memory().train()
    module.dropout.eval()
    spanlab.replay("vsr", agent=module, trials=2)
    assert [part.training for part in (module, module.memory, module.dropout)] == [True, True, False]


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_module_of_another_precision_takes_trials(dtype: torch.dtype) -> None:
    assert spanlab.replay("vsr", agent=Memory().to(dtype), trials=2).responses["outcome"].eq("answered").all()


@pytest.mark.usefixtures("_inside")
@pytest.mark.slow
def test_logits_are_those_that_are_named() -> None:
    class Always(nn.Module):
        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            return torch.arange(12.0).expand(*frames.shape[:2], 12)

    named = spanlab.replay(
        "vsr", agent=Always(), logits=[8, 7, 6, 5, 4, 3, 2, 1, 0], trials=8, levels={"list_length": 9}
    )
    first = spanlab.replay("vsr", agent=Always(), trials=8, levels={"list_length": 9})
    assert set(named.responses["answer"]) == {0}
    assert set(first.responses["answer"]) == {8}


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"agent": Memory}, r"an agent of your own or a torch module; found .*; the class makes one: Memory\(\.\.\.\)"),
        ({"agent": Memory(), "frames": "grey"}, r"frames says how frames are given, such as .*; found 'grey'"),
        ({"agent": Memory(), "frames": {"logits": 9}}, "frames.logits: "),
        ({"agent": Memory(), "logits": 9}, "logits: expected a list of numbers, or from-to such as 0-8; found 9"),
        ({"agent": Memory(), "logits": ["a"]}, "logits: expected a list of numbers"),
        ({"agent": Memory(), "care": {"max_cost": 1}}, "has already been made, so its chat, care and price cannot"),
        ({"agent": "chance", "trials": 2.5}, "the number of trials is a whole number, 1 or more; found 2.5"),
        ({"agent": "chance", "levels": {"list_length": []}}, "vsr: no level of list_length is given; its levels are 2"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_in_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SpanLabError, match=says):
        spanlab.replay("vsr", **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"split": "dev"}, "there is no split 'dev'; there are train, validation, test"),
        ({"batch_size": 2.5}, "a batch has one trial or more, a whole number; found batch_size=2.5"),
        ({"seed": "x"}, "the seed must be a whole number between 0 and .*; found 'x'"),
        ({"levels": {"list_length": []}}, "vsr: no level of list_length is given; its levels are 2"),
    ],
)
def test_what_is_wrong_with_a_data_set_is_said_when_it_is_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SpanLabError, match=says):
        Dataset("vsr", **options)
    if "batch_size" not in options:
        with pytest.raises(SpanLabError, match=says):
            Task("vsr", **{name: value for name, value in options.items() if name != "seed"}).reset(
                seed=options.get("seed")
            )


@pytest.mark.parametrize("action", [99, -1, 1.5, None])
def test_an_action_that_is_none_is_not_scored(action: Any) -> None:
    environment = Task("vsr", levels={"list_length": 2})
    environment.reset(seed=1)
    while not environment.asked:
        environment.step(0)
    with pytest.raises(SpanLabError, match=f"an answer is a whole number from 0 to 8; found {action}"):
        environment.step(action)
    last: Any = np.int64(8)
    environment.step(last)


@pytest.mark.usefixtures("_inside")
def test_what_is_wrong_with_a_module_is_said_in_a_sentence() -> None:
    with pytest.raises(SpanLabError, match="gives 4 logits at a step"):
        spanlab.replay("vsr", agent=Memory(4), trials=2)
    with pytest.raises(SpanLabError, match=r"logits: expected a list of numbers, or from-to such as 0-8; found '8-0'"):
        spanlab.replay("vsr", agent=Memory(), logits="8-0", trials=2)
    with pytest.raises(SpanLabError, match="logits and frames are for torch modules"):
        spanlab.replay("vsr", agent="ideal", logits="0-8", trials=2)

    class Later(nn.Module):
        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            return frames.flatten(2)[:, :, :9] + frames.flatten(2)[:, -1:, :9]

    with pytest.raises(SpanLabError, match="frames that come later"):
        spanlab.replay("vsr", agent=Later(), trials=2)


def test_batches_are_what_networks_get_and_the_same_for_the_same_seed() -> None:
    batch = Dataset("vsr", batch_size=4, levels={"list_length": [3]}, seed=5).batch(2)
    assert batch.frames.shape == (4, 6, 3, 32, 32)
    assert batch.frames.dtype == torch.float32
    assert batch.mask.tolist() == [[False] * 3 + [True] * 3] * 4
    trial = Dataset("vsr", batch_size=4, levels={"list_length": [3]}, seed=5).trials(2)[1]
    wanted = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
    assert batch.targets[1, 3:].tolist() == wanted
    pixels = torch.from_numpy(spanlab.render(trial, 32)).permute(0, 3, 1, 2) / 255
    assert torch.equal(batch.frames[1], pixels.float())
    assert torch.equal(batch.frames, Dataset("vsr", batch_size=4, levels={"list_length": 3}, seed=5).batch(2).frames)
    other = Dataset("vsr", batch_size=4, levels={"list_length": [3]}, seed=6).batch(2)
    assert not torch.equal(batch.frames, other.frames)
    held = Dataset("vsr", batch_size=4, levels={"list_length": [3]}, seed=5, split="test").batch(2)
    assert not torch.equal(batch.frames, held.frames)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.slow
def test_workers_take_each_batch_once(workers: int) -> None:
    data = Dataset("smu", batch_size=2, batches=4, levels={"set_size": 1})
    assert len(data) == 4
    loaded = [*DataLoader(data, batch_size=None, num_workers=workers)]
    assert len(loaded) == 4
    sums = sorted(float(batch.frames.sum()) for batch in loaded)
    assert sums == pytest.approx(sorted(float(data.batch(number).frames.sum()) for number in range(4)))


def batches_of(data: Dataset) -> list[float]:
    return [float(batch.frames.sum()) for batch in data]


def test_a_data_set_goes_to_processes_that_are_spawned() -> None:
    data = Dataset("vsr", batch_size=2, batches=3, levels={"list_length": 2})
    assert batches_of(pickle.loads(pickle.dumps(data))) == batches_of(data)


@pytest.mark.slow
def test_workers_may_be_spawned() -> None:
    data = Dataset("vsr", batch_size=2, batches=2, levels={"list_length": 2})
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    assert len([*loader]) == 2


def test_ranks_share_the_batches_and_have_equally_many(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"batch_size": 2, "levels": {"list_length": 2}, "seed": 7}
    whole = batches_of(Dataset("vsr", batches=5, **options))
    shares = [Dataset("vsr", batches=5, rank=rank, ranks=2, **options) for rank in range(2)]
    assert [len(share) for share in shares] == [3, 3]
    assert [batches_of(share) for share in shares] == [[whole[0], whole[2], whole[4]], [whole[1], whole[3], whole[0]]]
    # Those of torch.distributed, which a worker that is spawned does not know by itself.
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    own = Dataset("vsr", batches=5, **options)
    sent = pickle.dumps(own)
    assert batches_of(own) == batches_of(shares[1])
    monkeypatch.undo()
    assert batches_of(pickle.loads(sent)) == batches_of(shares[1])
    with pytest.raises(SpanLabError, match="rank is a number from 0, below ranks; found rank=2, ranks=2"):
        Dataset("vsr", rank=2, ranks=2)


def test_the_longest_trial_is_known_beforehand() -> None:
    assert Dataset("vsr", levels={"list_length": [3, 5]}).seq_len == 10
    assert Task("cd", levels={"retention_steps": [0, 6], "set_size": 2}).seq_len == 8


def test_an_environment_rewards_right_answers_and_shows_none() -> None:
    environment = Task("vsr", levels={"list_length": 3})
    frame, info = environment.reset(seed=3)
    assert info == {"new_trial": True, "levels": {"list_length": 3}}
    assert environment.observation_space.contains(frame)
    trial = environment.trial
    assert trial is not None
    answers = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
    rewards, infos = [], []
    over = False
    while not over:
        action = answers[len(rewards)] if environment.asked else 0
        asked = environment.asked
        frame, reward, over, _, info = environment.step(int(str(action)))
        assert environment.observation_space.contains(frame)
        if asked:
            rewards.append(reward)
            infos.append(info)
        else:
            assert set(info) == {"new_trial", "levels"}, "nothing is told before an answer"
    assert rewards == [1.0, 1.0, 1.0]
    assert [info["gt"] for info in infos] == answers
    with pytest.raises(SpanLabError, match="the trial is over"):
        environment.step(0)


def test_environments_side_by_side_have_trials_of_their_own() -> None:
    import gymnasium

    several = gymnasium.make_vec("spanlab/Task-v1", num_envs=3, paradigm="vsr", levels={"list_length": 3})
    for seed in (None, 4):
        frames, _ = several.reset(seed=seed)
        assert len({frame.tobytes() for frame in frames}) == 3


def test_the_documented_line_makes_an_environment_in_a_fresh_python() -> None:
    text = (Path(spanlab.__file__).parent / "docs" / "modelling.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import gymnasium.*?)```", text, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code + "print(environment.spec.id)"], capture_output=True, text=True)
    assert done.stdout == "spanlab/Task-v1\n", done.stderr


def test_names_are_listed_and_completed() -> None:
    assert {"Dataset", "gym", "replay", "figure"} <= {*dir(spanlab)}
    assert spanlab.Dataset is Dataset
    assert spanlab.gym.Task is Task
    completer = rlcompleter.Completer({"spanlab": spanlab})
    assert {"spanlab.replay(", "spanlab.Dataset(", "spanlab.gym"} <= {
        completer.complete("spanlab.", number) for number in range(60)
    }
    with pytest.raises(AttributeError):
        spanlab.nothing_of_this_name  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.usefixtures("_inside")
def test_a_session_shows_its_curve_in_notebooks(tmp_path: Path) -> None:
    page = spanlab.replay("vsr", agent="capacity", trials=20, levels={"list_length": 4})._repr_html_()
    assert "<b>capacity</b>: Visual Serial Recall (20 trials, 80 answers, " in page
    assert page.endswith("</svg>")
