"""Networks that are not SpanLab's: programs with a description, and classes of other packages. The
examples are those of the documentation."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from command_line import Run, complaint  # noqa: E402
from torch import nn  # noqa: E402

from spanlab.agents.base import BatchAgent, TrialContext  # noqa: E402
from spanlab.agents.network import foreign  # noqa: E402
from spanlab.agents.network.checkpoints_io.programs import Program, read_program  # noqa: E402
from spanlab.agents.network.foreign import Interface, OwnNetwork  # noqa: E402
from spanlab.agents.network.foreign_agent import ForeignAgent, shown_frames  # noqa: E402
from spanlab.agents.registry import make_agent  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.core.registry import Registry  # noqa: E402
from spanlab.paradigms import Trial, compile_trial, load_paradigm  # noqa: E402
from spanlab.sessions import read_responses, read_session  # noqa: E402
from spanlab.stimuli.render.pixels import network_frame  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
FREE = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}


def documented() -> dict[str, str]:
    """The blocks of docs/networks.md that make networks without SpanLab."""
    text = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8").split("## A network of your own")[1]
    blocks = re.findall(r"```(python|yaml|toml)\n(.*?)```", text, flags=re.DOTALL)
    return dict(zip(("program", "description", "package", "points"), (text for _, text in blocks), strict=True))


def export(path: Path, network: nn.Module, *given: Any, dynamic: Any = (FREE,)) -> None:
    torch.export.save(
        torch.export.export(network.eval(), given or (torch.zeros(2, 7, 3, 32, 32),), dynamic_shapes=dynamic), path
    )


def describe(path: Path, more: str = "tasks: {vsr: {logits: 0-8}}") -> str:
    """A description beside a program; its name after ``network:``."""
    path.with_suffix(".yaml").write_text(f"network: {path.stem}\nprogram: {path.name}\n{more}\n", encoding="utf-8")
    return f"network:{path.with_suffix('.yaml')}"


def refusal(path: Path, more: str = "tasks: {vsr: {logits: 0-8}}") -> str:
    with pytest.raises(SpanLabError) as refused:
        make_agent(describe(path, more))
    return str(refused.value)


def trial_of(paradigm: str, **levels: Any) -> tuple[Trial, TrialContext]:
    read = load_paradigm(paradigm)
    trial = compile_trial(read, levels, seed=3)
    return trial, TrialContext(paradigm, read.title, "en", "", (), read.network_view(trial.levels))


def both_ways(agent: BatchAgent, trials: list[tuple[Trial, TrialContext]]) -> list[Any]:
    """The answers in a batch, after a look at whether stepping gives the same."""
    percepts = [[step.percept for step in trial.steps] for trial, _ in trials]
    together = agent.answer([context for _, context in trials], percepts)

    async def alone(context: TrialContext, steps: list[Any]) -> list[Any]:
        episode = agent.start(context)
        return [await episode.step(percept) for percept in steps]

    for (_, context), steps, answered in zip(trials, percepts, together, strict=True):
        stepped = asyncio.run(alone(context, steps))
        assert [one and (one.value, one.outcome) for one in stepped] == [
            one and (one.value, one.outcome) for one in answered
        ]
    return [[one.value for one in answered if one is not None] for answered in together]


class Sum(nn.Module):
    """Logits from sums over the frames so far: whatever was seen counts, nothing that comes."""

    def __init__(self, outputs: int = 9) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.out = nn.Linear(3 * 32 * 32, outputs)

    def forward(self, frames):
        return torch.cumsum(self.out(frames.flatten(2)), 1)


class Numbered(nn.Module):
    """Answers every question by the number of its task."""

    def forward(self, frames, numbers):
        places = torch.arange(9, dtype=torch.float32)
        return -(places - numbers[:, None, None].float()).abs() + 0 * frames.mean((2, 3, 4))[..., None]


@pytest.mark.slow
def test_the_documented_program_takes_part(tmp_path: Path, run: Run) -> None:
    """It sees every change, and nothing else; the session knows which program answered."""
    example = documented()
    run("list")  # in this folder
    exec(compile(example["program"], "pixels.py", "exec"), {"__name__": "pixels"})
    (tmp_path / "pixels.yaml").write_text(example["description"], encoding="utf-8")
    status, _, said = run(
        "replay",
        "cd",
        "--agent",
        "network:pixels.yaml",
        "--set",
        "feature=colour,orientation",
        "--trials",
        "24",
        "--data",
        "data",
    )
    assert status == 0, said
    (folder,) = (tmp_path / "data").iterdir()
    assert read_responses(folder)["correct"].tolist() == [True] * 24
    settings = read_session(folder)["agent_settings"]
    assert (settings["network"], settings["checkpoint"], settings["program"]) == (
        "pixels",
        "pixels.pt2",
        "torch.export",
    )
    assert settings["sha256"] == foreign.read_program(tmp_path / "pixels.pt2", None).sha256
    assert settings["interface"]["tasks"]["cd_color"] == {"logits": [0, 1]}
    # other paradigms and conditions are refused in a sentence
    assert "does not know the task 'vsr' of vsr" in complaint(
        *run("replay", "vsr", "--agent", "network:pixels.yaml", "--data", "data")
    )
    assert "does not know the task 'cd_size'" in complaint(
        *run("replay", "cd", "--agent", "network:pixels.yaml", "--data", "data")
    )
    assert "read the vectors of words" in complaint(
        *run("replay", "lsr", "--agent", "network:pixels.yaml", "--data", "data")
    )
    # and another file under the same name is another network
    export(tmp_path / "pixels.pt2", Sum(2))
    assert make_agent("network:pixels.yaml").settings()["sha256"] != settings["sha256"]


def test_a_network_of_another_package(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    example = documented()
    points = tomllib.loads(example["points"])["project"]["entry-points"]["spanlab.networks"]
    folder = tmp_path / "site" / "lab_networks-2.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-networks\nVersion: 2.1\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(
        "[spanlab.networks]\n" + "".join(f"{name} = {what}\n" for name, what in points.items()), encoding="utf-8"
    )
    (tmp_path / "site" / "lab_networks.py").write_text(example["package"], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "lab_networks", raising=False)
    monkeypatch.setattr(foreign, "OWN_NETWORKS", Registry[OwnNetwork]("network", "spanlab.networks"))
    np.save(tmp_path / "weights.npy", np.eye(9, dtype=np.float32)[4:5])
    assert run("replay", "vsr", "--agent", "network:lab:weights.npy", "--trials", "5", "--data", "data")[0] == 0
    (session,) = (tmp_path / "data").iterdir()
    settings = read_session(session)["agent_settings"]
    assert (settings["package"], settings["class"], settings["told"]) == (
        "lab-networks 2.1",
        "lab_networks.Last",
        {"trained": "never"},
    )
    assert settings["checkpoint"] == "weights.npy"
    assert len(settings["sha256"]) == 64
    assert set(read_responses(session)["answer"].astype(int)) == {4}, "it always says the same"
    assert "there is no file nothing.npy" in complaint(
        *run("replay", "vsr", "--agent", "network:lab:nothing.npy", "--data", "data")
    )
    (tmp_path / "file").write_bytes(b"no numbers")
    assert "the network 'lab' of another package cannot be loaded" in complaint(
        *run("replay", "vsr", "--agent", "network:lab:file", "--data", "data")
    )
    assert "--states is for large runs of networks" in complaint(
        *run("replay", "vsr", "--agent", "network:lab", "--states", "--data", "data")
    )


@pytest.mark.slow
def test_steps_and_batches_agree_whatever_the_program(tmp_path: Path) -> None:
    """One program for any number of steps, one of a fixed length, one that answers at the end, one
    that is told the task, and one in steps of time."""
    trials = [trial_of("vsr", list_length=length) for length in (2, 3, 2, 4)]
    export(tmp_path / "free.pt2", Sum())
    free = both_ways(make_agent(describe(tmp_path / "free.pt2")), trials)  # type: ignore[arg-type]
    assert len({answer for answers in free for answer in answers}) > 1
    export(tmp_path / "fixed.pt2", Sum(), torch.zeros(2, 10, 3, 32, 32), dynamic=({0: FREE[0]},))
    assert (
        both_ways(make_agent(describe(tmp_path / "fixed.pt2", "steps: 10\ntasks: {vsr: {logits: 0-8}}")), trials)  # type: ignore[arg-type]
        == free
    )
    torch.jit.script(Sum()).save(str(tmp_path / "scripted.pt"))
    scripted = make_agent(describe(tmp_path / "scripted.pt", "tasks: {vsr: {logits: [8, 7, 6, 5, 4, 3, 2, 1, 0]}}"))
    assert both_ways(scripted, trials) == [[8 - answer for answer in answers] for answers in free]  # type: ignore[arg-type]
    assert make_agent(describe(tmp_path / "scripted.pt")).settings()["program"] == "TorchScript"
    export(
        tmp_path / "numbered.pt2",
        Numbered(),
        torch.zeros(2, 7, 3, 32, 32),
        torch.zeros(2, dtype=torch.int64),
        dynamic=(FREE, {0: FREE[0]}),
    )
    told = make_agent(
        describe(tmp_path / "numbered.pt2", "tasks: {vsr: {logits: 0-8, number: 3}, smu: {logits: 0-8, number: 7}}")
    )
    assert both_ways(told, [trial_of("vsr", list_length=2), trial_of("smu", set_size=2)]) == [[3, 3], [7, 7]]  # type: ignore[arg-type]


def test_networks_that_answer_at_the_end_or_live_in_time(tmp_path: Path) -> None:
    class Whole(nn.Module):
        """One answer to a whole sequence, which looks both ways."""

        def __init__(self) -> None:
            super().__init__()
            self.sum = Sum()

        def forward(self, frames):
            return self.sum(frames)[:, -1]

    trials = [trial_of("vsr", list_length=length) for length in (2, 3, 2)]
    export(tmp_path / "free.pt2", Sum())
    export(tmp_path / "whole.pt2", Whole())
    told = both_ways(make_agent(describe(tmp_path / "free.pt2")), trials)  # type: ignore[arg-type]
    whole = make_agent(describe(tmp_path / "whole.pt2", "answers: last_step\ntasks: {vsr: {logits: 0-8}}"))
    assert both_ways(whole, trials) == told, "the same sums, seen up to each question"  # type: ignore[arg-type]
    # a pattern of 1,550 ms takes 15 or 16 steps of 100 ms, a probe that waits for the answer as
    # many as is said
    slow = Interface.model_validate({"step_ms": 100, "unpaced_steps": 3, "tasks": {"vsr": {"logits": "0-8"}}})
    trial, _ = trials[0]
    frames, spans = shown_frames(slow, [step.percept for step in trial.steps])
    assert [after - before for before, after in spans] == [16, 16, 3, 3]
    assert frames.shape == (38, 32, 32, 3)
    assert (frames[16] == network_frame(trial.steps[1].percept.for_machine.stimulus.scene())).all()
    timed = make_agent(
        describe(tmp_path / "free.pt2", "step_ms: 100\nunpaced_steps: 3\nread: mean\ntasks: {vsr: {logits: 0-8}}")
    )
    both_ways(timed, trials)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "colour", "shape"), [(32, "grey", (32, 32, 1)), (64, "rgb", (64, 64, 3)), (128, "grey", (128, 128, 1))]
)
def test_frames_of_any_size_show_the_same(size: int, colour: str, shape: tuple[int, ...]) -> None:
    said = Interface.model_validate({"frames": {"size": size, "colour": colour}, "tasks": {"vsr": {"logits": "0-8"}}})
    trial, _ = trial_of("vsr", list_length=2)
    frames, _ = shown_frames(said, [step.percept for step in trial.steps])
    usual = np.stack([network_frame(step.percept.for_machine.stimulus.scene()) for step in trial.steps]).astype(float)
    assert frames.shape == (4, *shape)
    assert abs(frames.mean((1, 2, 3)) - usual.mean((1, 2, 3))).max() < 12, "as bright as the usual frames"
    assert (frames[0] != frames[1]).any()
    assert (frames[2] == frames[3]).all()


class Faulty(OwnNetwork):
    """A network with a fault, as a package would bring it."""

    def __init__(self, kind: str) -> None:
        self.kind, self.sum = kind, Sum(3 if kind == "few" else 9)

    @classmethod
    def load(cls, file: Path | None) -> OwnNetwork:
        return cls("")

    def interface(self) -> Interface:
        return Interface.model_validate({"tasks": {"vsr": {"logits": "0-8"}}})

    def logits(self, frames: Any, numbers: Any) -> Any:
        found = self.sum(frames)
        if self.kind == "dropout":
            return torch.dropout(found, 0.5, True)
        if self.kind == "batch":
            return found - found.mean(0, keepdim=True)
        if self.kind == "future":
            return found.flip(1)
        if self.kind == "last":
            return found[:, -1]
        if self.kind == "pair":
            return found, found
        return found / 0 if self.kind == "infinite" else found


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("dropout", "gives other outputs for the same frames"),
        ("batch", "depend on the trials beside it"),
        ("future", "depend on frames that come later"),
        ("last", r"outputs of the shape \(3, 9\), and its description says \(trials, steps, logits\)"),
        ("pair", "it gives (tuple|list) instead of one tensor"),
        ("few", "it gives 3 logits at a step, and its description uses the number 8"),
        ("infinite", "not finite numbers"),
    ],
)
def test_a_network_that_does_not_do_what_is_said_is_refused(kind: str, said: str) -> None:
    network = Faulty(kind)
    with pytest.raises(SpanLabError, match=said):
        foreign.tried(foreign.Foreign(kind, network.interface(), network, {}, ()))


def test_a_misspelt_method_of_a_package_is_no_silence() -> None:
    with pytest.raises(TypeError, match="is nearly 'logits'"):
        type("Lab", (Faulty,), {"logit": lambda self, frames, numbers: frames})


def test_what_does_not_fit_is_told(tmp_path: Path, run: Run) -> None:
    export(tmp_path / "sum.pt2", Sum())
    program = tmp_path / "sum.pt2"
    assert "given frames of the shape (3, 5, 3, 48, 48), it fails" in refusal(
        program, "frames: {size: 48}\ntasks: {vsr: {logits: 0-8}}"
    )
    assert "it is another file" not in refusal(program, "tasks: {vsr: {logits: 0-9}}")
    assert "its SHA-256 is" in refusal(program, f"sha256: {'0' * 64}\ntasks: {{vsr: {{logits: 0-8}}}}")
    assert "unknown key 'task'" in refusal(program, "task: vsr")
    assert "found 'all'" in refusal(program, "tasks: {vsr: {logits: all}}")
    assert "give all of them one, or none" in refusal(
        program, "tasks: {vsr: {logits: 0-8, number: 1}, smu: {logits: 0-8}}"
    )
    assert "mean something with step_ms only" in refusal(program, "read: mean\ntasks: {vsr: {logits: 0-8}}")
    short = describe(program, "tasks: {vsr: {logits: 0-7}}")
    assert "has 8 logits for the task 'vsr', and vsr asks for 9 outputs" in complaint(
        *run("replay", "vsr", "--agent", short, "--data", "data")
    )
    export(tmp_path / "fixed.pt2", Sum(), torch.zeros(2, 6, 3, 32, 32), dynamic=({0: FREE[0]},))
    fixed = describe(tmp_path / "fixed.pt2", "steps: 6\ntasks: {vsr: {logits: 0-8}}")
    assert "takes trials of up to 6 steps, and vsr has trials of" in complaint(
        *run("replay", "vsr", "--agent", fixed, "--data", "data")
    )
    assert "there is no program at" in refusal(tmp_path / "nothing.pt2")
    # a program without its description, and a description where weights are needed
    assert "give that: network:sum.yaml" in complaint(
        *run("replay", "vsr", "--agent", "network:sum.pt2", "--data", "data")
    )
    torch.jit.script(Sum()).save("scripted.pt")
    assert "give that: network:scripted.yaml" in complaint(
        *run("replay", "vsr", "--agent", "network:scripted.pt", "--data", "data")
    )
    assert "made without SpanLab" in complaint(*run("neural", "sum.yaml", "-o", "out"))
    assert "there is no description of a network at" in complaint(
        *run("replay", "vsr", "--agent", "network:nowhere.yaml", "--data", "data")
    )
    assert not (tmp_path / "data").exists()


class Harm:
    """What a file would do that runs code as it is opened: make a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.place,)


def rewritten(source: Path, path: Path, change: dict[str, bytes], sort: str = "") -> None:
    """A file with other parts; ``sort`` is the end of the name of what is replaced by the only
    change."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        root = old.namelist()[0].partition("/")[0]
        for name in old.namelist():
            if f"{root}/{name.partition('/')[2]}" not in {f"{root}/{one}" for one in change}:
                new.writestr(name, old.read(name))
        for name, content in change.items():
            new.writestr(f"{root}/{name}", content)


def test_a_hostile_program_is_not_opened(tmp_path: Path) -> None:
    """Whatever PyTorch would follow while it only opens a file: pickles in weights and examples,
    texts that are evaluated, calls, names, other parts."""
    source, hurt = tmp_path / "sum.pt2", tmp_path / "hurt"
    export(source, Sum())
    with zipfile.ZipFile(source) as archive:
        graph = json.loads(archive.read("sum/models/model.json"))
        weights = json.loads(archive.read("sum/data/weights/model_weights_config.json"))
    buffer = io.BytesIO()
    torch.save((Harm(hurt),), buffer)
    evil = pickle.dumps(Harm(hurt))
    call = f"__import__('os').mkdir({str(hurt)!r})"

    def changed(**parts: Any) -> bytes:
        return json.dumps({**graph, **parts}).encode()

    def in_node(**parts: Any) -> bytes:
        again = json.loads(json.dumps(graph))
        again["graph_module"]["graph"]["nodes"][0].update(parts)
        return json.dumps(again).encode()

    pickled = json.loads(json.dumps(weights))
    next(iter(pickled["config"].values()))["use_pickle"] = True
    attempts: dict[str, dict[str, bytes]] = {
        "examples": {"data/sample_inputs/model.pt": buffer.getvalue()},
        "weights": {
            "data/weights/model_weights_config.json": json.dumps(pickled).encode(),
            "data/weights/weight_0": evil,
        },
        "older weights": {"data/weights/model.pt": buffer.getvalue()},
        "object": {"data/constants/custom_obj_0": evil},
        "guard": {"models/model.json": changed(guards_code=[call])},
        "another guard": {"models/model.json": changed(guards_code=["print(1)"])},
        "size": {"models/model.json": json.dumps(graph).replace("Symbol('s", f"{call} + Symbol('s", 1).encode()},
        "call": {"models/model.json": in_node(target="torch.hub.load")},
        "file": {"models/model.json": in_node(target="torch.ops.aten.from_file.default")},
        "name": {"models/model.json": in_node(name=f"x; {call}")},
        "machine code": {"data/aotinductor/model/run.so": b"\x7fELF"},
    }
    for what, parts in attempts.items():
        path = tmp_path / f"{what.replace(' ', '_')}.pt2"
        rewritten(source, path, parts)
        with pytest.raises(SpanLabError, match=r"is not a program that SpanLab opens|cannot be opened"):
            read_program(path, None)
        assert not hurt.exists(), what
    rewritten(source, tmp_path / "same.pt2", {})
    assert read_program(tmp_path / "same.pt2", None).kind == "exported", "what is not changed still opens"


def test_a_script_that_reaches_for_files_is_not_opened(tmp_path: Path) -> None:
    class Reaching(nn.Module):
        def forward(self, frames):
            return torch.from_file("secret", False, 1, dtype=torch.float32) + frames.mean()

    torch.jit.script(Reaching()).save(str(tmp_path / "reaching.pt"))
    assert "reaches beyond numbers" in refusal(tmp_path / "reaching.pt")
    torch.save({"weights": torch.zeros(2)}, tmp_path / "weights.pt")
    assert "holds weights or something else, and no program" in refusal(tmp_path / "weights.pt")
    (tmp_path / "text.pt2").write_bytes(b"no archive")
    assert "damaged or something else" in refusal(tmp_path / "text.pt2")


def test_a_program_goes_to_other_processes_whole(tmp_path: Path) -> None:
    export(tmp_path / "sum.pt2", Sum())
    program = read_program(tmp_path / "sum.pt2", None)
    again = pickle.loads(pickle.dumps(program))
    assert isinstance(again, Program)
    frames = torch.rand(2, 4, 3, 32, 32)
    assert torch.equal(again.run(frames), program.run(frames))
    agent = pickle.loads(pickle.dumps(make_agent(describe(tmp_path / "sum.pt2"))))
    assert isinstance(agent, ForeignAgent)
    both_ways(agent, [trial_of("vsr", list_length=2)])
