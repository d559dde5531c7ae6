"""Torch modules as participants, given in Python or made by a function that is named on the command
line. The example is that of the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from command_line import Run, complaint, output_of
from torch import nn

import spanlab
from spanlab.agents.network.checkpoints_io.state_dicts import fill, plain_names
from spanlab.agents.network.modules import Frames, ModuleAgent, Shown, module_agent, torch_agent
from spanlab.agents.registry import make_agent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.sessions import read_responses, read_session
from spanlab.stimuli.render.pixels import network_frame

ROOT = Path(__file__).resolve().parents[3]


class Net(nn.Module):
    """A recurrent network that nobody has trained."""

    def __init__(self, hidden: int = 16, batch_first: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.see = nn.Sequential(nn.Flatten(2), nn.Linear(3072, hidden), nn.ReLU())
        self.keep = nn.LSTM(hidden, hidden, batch_first=batch_first)
        self.say = nn.Linear(hidden, 9)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.say(self.keep(self.see(frames))[0])


FILE = """
import torch
from torch import nn
from beside import OUTPUTS

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Linear(3072, 8)
        self.keep = nn.GRU(8, 8, batch_first=True)
        self.say = nn.Linear(8, OUTPUTS)
    def forward(self, frames):
        return self.say(self.keep(self.see(frames.flatten(2)))[0])

def build():
    return Net()

def number():
    return 3

def fails():
    return Net(1)

def lazy():
    return nn.LazyLinear(9)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "beside.py").write_text("OUTPUTS = 9\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def views(name: str = "vsr") -> list[Any]:
    return [load_paradigm(name).network_view({"list_length": 3})]


def replayed(agent: Any, tmp_path: Path, trials: int = 24, **options: Any) -> Any:
    return spanlab.replay(
        "vsr", agent=agent, trials=trials, levels={"list_length": 3}, data=tmp_path, say=lambda _: None, **options
    )


@pytest.mark.usefixtures("own")
def test_a_function_that_is_named_makes_the_module_that_takes_part(tmp_path: Path, run: Run) -> None:
    output_of(*run("replay", "vsr", "--agent", "torch:mine.py:build", "--trials", "8", "--data", "data"))
    (folder,) = (tmp_path / "data").iterdir()
    assert len(read_responses(folder)) == 44
    info = read_session(folder)
    assert (info["agent"], info["agent_kind"]) == ("torch:mine.py:build", "network")
    settings = info["agent_settings"]
    assert settings["class"] == "mine.Net"
    assert len(settings["sha256"]) == len(settings["source_sha256"]) == 64


def test_its_code_runs_only_where_the_user_names_it(own: Path, run: Run) -> None:
    """Not for a session that was recorded, a set file, or whatever else makes agents by their names."""
    (own / "trap.py").write_text("from pathlib import Path\nPath('sprung').touch()\ndef build(): pass\n", "utf-8")
    spec = "torch:trap.py:build"
    with pytest.raises(SpanLabError, match="runs code of yours, so it is taken only where you name it yourself"):
        make_agent(spec)
    (own / "set.yaml").write_text(f"name: s\nagents: [{spec}]\nparadigms: [{{paradigm: vsr, trials: 2}}]\n", "utf-8")
    complaint(*run("replay", "--set-file", "set.yaml", "--data", "data"))
    complaint(*run("benchmark", spec, "-o", "card"))
    folder = replayed("torch:mine.py:build", own / "data", trials=4).folder
    (folder / "session.json").write_text(
        (folder / "session.json").read_text(encoding="utf-8").replace("torch:mine.py:build", spec), encoding="utf-8"
    )
    cut(folder)
    assert "spanlab resume SESSION --agent torch:trap.py:build" in complaint(*run("resume", folder))
    assert not (own / "sprung").exists()


def cut(folder: Path) -> None:
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:3]), encoding="utf-8")
    for table in folder.glob("responses.*"):
        table.unlink()


def test_a_session_goes_on_with_the_same_code_and_no_other(own: Path, run: Run) -> None:
    whole = replayed("torch:mine.py:build", own / "data", trials=6)
    answers = whole.responses["answer"].tolist()
    cut(whole.folder)
    assert "give that" in complaint(*run("resume", whole.folder, "--agent", "torch:mine.py:other"))
    assert run("resume", whole.folder, "--agent", "torch:mine.py:build")[0] == 0
    assert read_responses(whole.folder)["answer"].astype(int).tolist() == answers
    cut(whole.folder)
    (own / "mine.py").write_text(FILE + "\n# another file\n", encoding="utf-8")
    with pytest.raises(SpanLabError, match=r"begun with other settings.*source_sha256 was"):
        spanlab.resume(whole.folder, agent="torch:mine.py:build", say=lambda _: None)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("torch:nothing.py:build", "there is no file nothing.py"),
        ("torch:mine.py", "names no function: give torch:FILE.py:build"),
        ("torch:mine.py:none", "mine.py has no function none"),
        ("torch:mine.py:number", r"number\(\) of mine.py returned int; expected a torch.nn.Module"),
        ("torch:mine.py:fails", "cannot be made: TypeError"),
        ("torch:no_such_package.here:build", "cannot be made: ModuleNotFoundError"),
        ("torch:mine.py:build?logits=8-0", "from-to such as 0-8; found '8-0'"),
        ("torch:mine.py:build?color=grey", "unknown key 'color'"),
        ("torch:mine.py:build?states=nothing", "no submodule 'nothing' for its hidden states; it has see, keep, say"),
        ("torch:mine.py:build?weights=nothing.pt", "cannot read the file of weights nothing.pt"),
        ("torch:mine.py:build?colour=grey", "it fails"),
        ("torch:mine.py:lazy", "LazyLinear has lazy layers without sizes: pass some frames through it first"),
    ],
)
def test_what_cannot_be_made_is_told(spec: str, said: str) -> None:
    with pytest.raises(SpanLabError, match=said) as caught:
        torch_agent(spec, views())
    assert "\n" not in str(caught.value)


def test_weights_are_read_as_they_are_found(tmp_path: Path) -> None:
    wanted = Net()
    with torch.no_grad():
        wanted.say.bias.copy_(torch.arange(9.0))
    own = wanted.state_dict()
    prefixed = {f"module._orig_mod.{name}": value for name, value in own.items()}
    lightning = {"epoch": 3, "state_dict": {f"model.{name}": value for name, value in own.items()}, "loops": {}}
    part = {name.replace("keep.", "keep._orig_mod."): value for name, value in own.items()}
    beside = {
        "state_dict": {**lightning["state_dict"], "criterion.weight": torch.ones(9), "model2.say.bias": own["say.bias"]}
    }
    for number, data in enumerate((own, prefixed, lightning, part, {"model_state_dict": own}, {"net": own}, beside)):
        torch.save(data, tmp_path / f"{number}.pt")
    from safetensors.torch import save_file

    save_file(own, tmp_path / "7.safetensors")
    for number in range(8):
        module = Net()
        fill(module, tmp_path / f"{number}.{'safetensors' if number == 7 else 'pt'}")
        assert all(torch.equal(value, own[name]) for name, value in module.state_dict().items()), number
    assert plain_names(["_orig_mod.module.a.b"]) == {"_orig_mod.module.a.b": "a.b"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda own: {**own, "more": torch.zeros(2)}, "no place for: more"),
        (lambda own: {name: value for name, value in own.items() if name != "say.bias"}, "say.bias is missing"),
        (lambda own: {**own, "say.bias": torch.zeros(2)}, "does not fit this module: .*say.bias"),
        (
            lambda own: {f"{part}.{name}": value for name, value in own.items() for part in ("model", "ema")},
            "weights of this module 2 times \\(model., ema.\\)",
        ),
    ],
)
def test_weights_of_another_module_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    torch.save(change(Net().state_dict()), tmp_path / "w.pt")
    with pytest.raises(SpanLabError, match=said) as caught:
        fill(Net(), tmp_path / "w.pt")
    assert "\n" not in str(caught.value)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(b"no tensors")
    with pytest.raises(SpanLabError, match="is not a safetensors file"):
        fill(Net(), tmp_path / "w.safetensors")


def test_a_recurrent_layer_that_goes_through_the_batch_is_refused(tmp_path: Path) -> None:
    """Its first trials depend on none, the last ones on all before them."""
    with pytest.raises(SpanLabError, match=r"depend on the trials beside it.*batch_first=True"):
        replayed(Net(batch_first=False), tmp_path)
    assert not list(tmp_path.iterdir())


class Faulty(Net):
    """A network with a fault."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, frames: torch.Tensor) -> Any:
        found = super().forward(frames)
        if self.kind == "infinite":
            return found / 0
        if self.kind == "dropout":
            return torch.dropout(found, 0.5, True)
        if self.kind == "batch":
            return found - found.mean(0, keepdim=True)
        if self.kind == "first":
            return found + found[:1].sum()
        if self.kind == "future":
            return found.flip(1)
        if self.kind == "last":
            return found[:, -1]
        if self.kind == "few":
            return found[..., :3]
        return {"logits": found}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("dropout", "gives other outputs for the same frames"),
        ("batch", "depend on the trials beside it"),
        ("first", "depend on the trials beside it"),
        ("future", "depend on frames that come later"),
        ("last", r"outputs of the shape \(4, 9\); expected \(trials, steps, logits\)"),
        ("dict", "it gives dict instead of one tensor"),
        ("few", "it gives 3 logits at a step, and number 8 is to be read"),
        ("infinite", "not finite numbers"),
    ],
)
def test_a_network_with_a_fault_is_refused(kind: str, said: str) -> None:
    with pytest.raises(SpanLabError, match=said):
        module_agent(Faulty(kind), views())


def test_a_compiled_module_takes_the_trials_that_the_module_takes(tmp_path: Path) -> None:
    plain = replayed(Net(), tmp_path / "plain", trials=4)
    compiled = replayed(torch.compile(Net(), backend="eager"), tmp_path / "compiled", trials=4)
    assert compiled.responses["answer"].tolist() == plain.responses["answer"].tolist()
    assert compiled.info["agent"] == plain.info["agent"] == "network:Net"
    assert compiled.info["agent_settings"] == plain.info["agent_settings"]


class Extra(Net):
    """A network with a state that is no tensor."""

    def get_extra_state(self) -> Any:
        return {"version": 3}

    def set_extra_state(self, state: Any) -> None:
        pass


class Sparse(Net):
    """A network with a sparse buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sparse", torch.eye(3).to_sparse())


def quantised() -> nn.Module:
    module = Net()
    module.register_buffer("whole", torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8))
    return module


@pytest.mark.parametrize("make", [Extra, Sparse, quantised, lambda: Net().to(torch.bfloat16)])
def test_whatever_a_module_holds_its_hash_is_of_that(make: Any) -> None:
    one, other = (module_agent(make(), views()).settings()["sha256"] for _ in range(2))
    assert one == other
    assert len(one) == 64


def test_a_module_without_hidden_states_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="has no hidden states"):
        replayed(Net(), tmp_path, trials=2, states=True)
    with pytest.raises(SpanLabError, match="no submodule 'memory' for its hidden states; it has see, "):
        replayed(Net(), tmp_path, trials=2, states="memory")


@pytest.mark.parametrize(
    ("size", "colour", "shape"), [(32, "grey", (32, 32, 1)), (64, "rgb", (64, 64, 3)), (128, "grey", (128, 128, 1))]
)
def test_frames_of_any_size_show_the_same(size: int, colour: str, shape: tuple[int, ...]) -> None:
    trial = compile_trial(load_paradigm("vsr"), {"list_length": 2}, seed=3)
    frames = Shown(Frames.model_validate({"size": size, "colour": colour})).of([step.percept for step in trial.steps])
    usual = np.stack([network_frame(step.percept.for_machine.stimulus.scene()) for step in trial.steps]).astype(float)
    assert frames.shape == (4, *shape)
    assert abs(frames.mean((1, 2, 3)) - usual.mean((1, 2, 3))).max() < 12, "as bright as the usual frames"
    assert (frames[0] != frames[1]).any()
    assert (frames[2] == frames[3]).all()


def test_what_networks_cannot_take_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="read the vectors of words"):
        spanlab.replay("lsr", agent=Net(), logits=[0] * 200, trials=2, data=tmp_path, say=lambda _: None)
    with pytest.raises(SpanLabError, match="has 8 logits for the task 'vsr', and vsr asks for 9 outputs"):
        replayed(Net(), tmp_path, logits="0-7")


def test_the_documented_module_takes_part(tmp_path: Path, run: Run) -> None:
    """It sees every change, and nothing else."""
    text = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8").split("## A network of your own")[1]
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    run("list")  # in this folder
    (tmp_path / "pixels.py").write_text(code, encoding="utf-8")
    agent = ("--agent", "torch:pixels.py:build", "--set", "feature=colour,orientation", "--trials", "24")
    output_of(*run("replay", "cd", *agent, "--data", "data"))
    (folder,) = (tmp_path / "data").iterdir()
    assert read_responses(folder)["correct"].tolist() == [True] * 24
    view = load_paradigm("cd").network_view({"feature": "colour"})
    assert view is not None
    assert isinstance(torch_agent("torch:pixels.py:build", [view]), ModuleAgent)
