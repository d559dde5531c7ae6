"""Checkpoints of the WorM benchmark: recognised, told of, and good for every paradigm of its tasks;
wrong and hostile ones end in a sentence."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import worm_networks  # noqa: E402
from command_line import Run, complaint  # noqa: E402

from spanlab.agents.network import NetworkAgent  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import list_paradigms, load_paradigm  # noqa: E402
from spanlab.paradigms.network_view import WORM_TASKS  # noqa: E402

pytestmark = pytest.mark.slow

#: paradigms whose every task is one of the benchmark's
TAKEN = [
    name
    for name in list_paradigms()
    if (paradigm := load_paradigm(name)).network is not None
    and all(
        (view := paradigm.network_view(levels)) is not None and view.task in WORM_TASKS
        for levels in paradigm.combinations()
    )
]


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    """The weights of a small published network."""
    return worm_networks.state("RNN", 16)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worm_networks.write(tmp_path_factory.mktemp("published") / "model.pt", "GRU", 16)


def written(path: Path, weights: dict[str, Any], hidden: int = 16, **changes: Any) -> Path:
    """A checkpoint with these weights; ``changes`` are those of its configuration."""
    config = {**worm_networks.config("RNN", hidden), **changes}
    torch.save(
        {
            "epoch": 3,
            "model_state_dict": weights,
            "config": {key: value for key, value in config.items() if value is not None},
        },
        path,
    )
    return path


def notes(path: Path) -> tuple[str, ...]:
    published = NetworkAgent(path).checkpoint.published
    assert published is not None
    return published.notes


# -- what is found ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "hidden", "layers", "name"),
    [("RNN", 32, 1, "rnn"), ("GRU", 96, 1, "gru"), ("LSTM", 64, 1, "lstm"), ("TRF", 32, 3, "transformer")],
)
def test_architecture_and_sizes_come_from_the_weights(
    tmp_path: Path, architecture: str, hidden: int, layers: int, name: str
) -> None:
    """Also without a configuration, which is noted."""
    found = NetworkAgent(worm_networks.write(tmp_path / "model.pt", architecture, hidden, layers)).settings()
    assert (found["architecture"], found["hidden"], found["tasks"]) == (name, hidden, list(WORM_TASKS))
    assert found["parameters"] == sum(
        np.prod(shape) for shape in worm_networks.shapes(architecture, hidden, layers).values()
    )
    assert found["checkpoint"] == f"{architecture.lower()}_{hidden}"
    assert found["worm"]["notes"] == []
    assert found["worm"]["validation_accuracy"] == 0.8765
    assert (found["worm"]["epoch"], found["worm"]["best_epoch"], found["worm"]["saved_because"]) == (
        195,
        180,
        "max_multitask_val_acc",
    )
    assert found["worm"]["options"].get("layers", 1) == layers
    assert "trained_steps" not in found, "not known"
    assert notes(worm_networks.write(tmp_path / "other.pt", architecture, hidden, layers, config={})) == (
        "the file has no configuration",
    )


def test_the_weights_alone_will_do(tmp_path: Path, state: dict[str, Any]) -> None:
    kinds = {
        "plain": state,
        "parallel": {f"module.{key}": tensor for key, tensor in state.items()},
        "compiled": {"model_state_dict": {f"_orig_mod.{key}": tensor for key, tensor in state.items()}},
        "both": {f"module._orig_mod.{key}": tensor for key, tensor in state.items()},
        "lightning": {"state_dict": {f"model.{key}": tensor for key, tensor in state.items()}},
    }
    for name, weights in kinds.items():
        torch.save(weights, tmp_path / f"{name}.pth")
        agent = NetworkAgent(tmp_path / f"{name}.pth")
        assert agent.settings()["checkpoint"] == name
        assert all(
            torch.equal(tensor, state["MEM.weight_hh_l0"])
            for key, tensor in agent.network.state_dict().items()
            if key.endswith("hh_l0") and "weight" in key
        )


def test_numbers_may_be_those_of_older_numpy(file: Path, tmp_path: Path) -> None:
    """As files of the time name them: accuracies that numpy's mean has made."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(tmp_path / "older.pt", "w") as target:
        for entry in source.infolist():
            older = source.read(entry).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
            assert (b"cnumpy.core.multiarray\nscalar" in older) == entry.filename.endswith("data.pkl")
            target.writestr(entry.filename, older)
    assert NetworkAgent(tmp_path / "older.pt").settings()["worm"] == NetworkAgent(file).settings()["worm"]


def renamed(state: dict[str, Any], **names: str) -> dict[str, Any]:
    """The same weights under other names of heads, in the same order."""
    return {
        re.sub(r"^(\w+?)_task_head", lambda match: names.get(match[1], match[0]), key): tensor
        for key, tensor in state.items()
    }


def test_heads_under_older_names_are_found(tmp_path: Path, state: dict[str, Any]) -> None:
    older = renamed(state, sts="stsc_task_head", vir="virec_2c_task_head", cs="complex_wm_task_head")
    assert notes(written(tmp_path / "a.pt", older)) == (
        "heads under older names: stsc_task_head, virec_2c_task_head, complex_wm_task_head",
    )
    one, other = NetworkAgent(tmp_path / "a.pt").network, NetworkAgent(written(tmp_path / "b.pt", state)).network
    assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_unknown_names_of_heads_are_refused(tmp_path: Path, state: dict[str, Any]) -> None:
    strange = renamed(state, sts="switch_task_head", vsr="order_task_head")
    with pytest.raises(SpanLabError, match="the names of its heads are unknown"):
        NetworkAgent(written(tmp_path / "a.pt", strange))


def test_a_missing_head_is_a_missing_task(tmp_path: Path, state: dict[str, Any]) -> None:
    fewer = {key: tensor for key, tensor in state.items() if not key.startswith("cd_")}
    agent = NetworkAgent(written(tmp_path / "a.pt", fewer))
    assert agent.settings()["tasks"] == [name for name in WORM_TASKS if not name.startswith("cd_")]
    rows = [row for row, name in enumerate(WORM_TASKS) if not name.startswith("cd_")]
    assert torch.equal(agent.network.task_embedding.weight, state["task_embedding.weight"][rows])
    assert agent.introduction()[1] == "it has no head for cd_color, cd_orientation, cd_size, cd_gap, cd_conj"


def test_what_the_configuration_says_otherwise_is_noted_and_shapes_count(tmp_path: Path, state: dict[str, Any]) -> None:
    path = written(
        tmp_path / "a.pt",
        state,
        mem_architecture="LSTM",
        mem_hidden_size=256,
        mem_input_size=100,
        mem_num_layers=3,
        unknown="\n\x1b[31m",
    )
    assert notes(path) == (
        "its configuration says mem_architecture lstm, its weights rnn, which counts",
        "its configuration says mem_hidden_size 256, its weights 16, which counts",
        "its configuration says mem_input_size 100, its weights 512, which counts",
        "its configuration says mem_num_layers 3, its weights 1, which counts",
    )
    few = written(
        tmp_path / "b.pt",
        state,
        mem_architecture=None,
        mem_hidden_size=None,
        mem_input_size=None,
        mem_num_layers=None,
        rs_img_size=None,
    )
    assert notes(few) == ()
    for key, value, said in (
        ("rs_img_size", 64, "rs_img_size 64, and SpanLab gives networks what goes with 32"),
        ("task_embedding_given", "First_TS", "First_TS"),
    ):
        with pytest.raises(SpanLabError, match=said):
            NetworkAgent(written(tmp_path / "c.pt", state, 16, **{key: value}))


# -- sessions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes_every_paradigm_of_its_tasks(file: Path, tmp_path: Path, run: Run, name: str) -> None:
    status, printed, complained = run("replay", name, "--agent", f"network:{file}", "--trials", "3", "--seed", "2")
    assert (status, complained.splitlines()[0]) == (
        0,
        "spanlab: gru_16: a checkpoint of the WorM benchmark, gru with 16 units, 1,834,585 parameters, 14 tasks; "
        "epoch 195, best epoch 180, saved because max_multitask_val_acc, validation accuracy 0.8765",
    )
    folder = tmp_path / printed.strip()
    assert json.loads((folder / "session.json").read_text(encoding="utf-8"))["agent_settings"]["worm"]["epoch"] == 195
    answers = [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any("logits" in json.dumps(line) or "highest" in json.dumps(line) for line in answers)


def test_all_published_tasks_are_covered() -> None:
    assert {"cd", "cd_noise", "cs", "sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec"} <= set(TAKEN)


def test_it_says_which_tasks_it_does_not_know(file: Path, run: Run) -> None:
    for name in ("lsr", "nback_verbal"):
        assert f"was not trained on {name} (task '{name}" in complaint(
            *run("replay", name, "--agent", f"network:{file}", "--trials", "2")
        )


# -- wrong and hostile files -----------------------------------------------------------------------


class Hostile:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return open, (os.fspath(self.path), "w")


def bomb(path: Path) -> None:
    """A small file that would unpack to a gigabyte."""
    buffer = io.BytesIO()
    torch.save({"model_state_dict": {}}, buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
        target.writestr("archive/data/0", bytes(10**8))
    assert path.stat().st_size < 10**6


def lying(path: Path) -> None:
    """An archive whose entry is said to be far larger than the file."""
    buffer = io.BytesIO()
    torch.save({"model_state_dict": {"a": torch.zeros(4)}}, buffer)
    content = bytearray(buffer.getvalue())
    place = content.find(b"PK\x01\x02")
    while place >= 0:
        content[place + 20 : place + 28] = (2**31).to_bytes(4, "little") * 2
        place = content.find(b"PK\x01\x02", place + 4)
    path.write_bytes(content)


CODE = "it holds code or objects, which are not loaded"


def wrong_files(path: Path, trap: Path, state: dict[str, Any]) -> list[tuple[str, Callable[[], Any], str]]:
    nan = {**state, "ProjectionHead.bias": torch.full((498,), float("nan"))}
    wide = {**state, "sfr_task_head.weight": torch.zeros(1, 1).expand(10**6, 10**6)}
    hollow = {key: torch.zeros(1).expand(tensor.shape) for key, tensor in state.items()}
    lots = {**state, "MEM.weight_hh_l0": torch.zeros(1, 1).expand(5000, 5000)}
    return [
        ("a hostile pickle", lambda: path.write_bytes(pickle.dumps(Hostile(trap))), CODE),
        (
            "a new hostile pickle",
            lambda: path.write_bytes(pickle.dumps({"model_state_dict": Hostile(trap)}, protocol=4)),
            CODE,
        ),
        ("hostile weights", lambda: torch.save({"model_state_dict": {**state, "x": Hostile(trap)}}, path), CODE),
        (
            "a hostile configuration",
            lambda: torch.save({"model_state_dict": state, "config": Hostile(trap)}, path),
            CODE,
        ),
        ("a whole module", lambda: torch.save(torch.nn.Linear(2, 2), path), CODE),
        ("a bomb", lambda: bomb(path), "it is compressed, which PyTorch's files never are"),
        ("a liar", lambda: lying(path), "is not a checkpoint that SpanLab can use"),
        (
            "an old file",
            lambda: torch.save({"model_state_dict": state}, path, _use_new_zipfile_serialization=False),
            "PyTorch before 1.6 wrote",
        ),
        ("a text", lambda: path.write_text("CNN_Encoder", encoding="utf-8"), "damaged or something else"),
        ("a picture", lambda: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50)), "damaged or something else"),
        ("nothing", lambda: path.write_bytes(b""), "damaged or something else"),
        (
            "cut off",
            lambda: (torch.save({"model_state_dict": state}, path), path.write_bytes(path.read_bytes()[:-5000])),
            "damaged or something else",
        ),
        ("a zip of something else", lambda: zipfile.ZipFile(path, "w").writestr("a", "b"), "damaged or something else"),
        ("a folder", lambda: path.mkdir(), "is a folder, and a checkpoint is a file"),
        ("missing", lambda: None, "there is no checkpoint at"),
        (
            "another dictionary",
            lambda: torch.save({"state_dict": {"layer.weight": torch.zeros(2)}}, path),
            "not a checkpoint that SpanLab knows",
        ),
        ("a list", lambda: torch.save([state], path), "it holds something else"),
        (
            "no weights",
            lambda: torch.save({"model_state_dict": {}}, path),
            "encoder with its linear projection is missing",
        ),
        (
            "no tensors",
            lambda: torch.save({"model_state_dict": {"CNN_Encoder.0.weight": 3}}, path),
            "something that is not a weight",
        ),
        (
            "whole numbers",
            lambda: torch.save({**state, "ProjectionHead.bias": torch.zeros(498, dtype=torch.int64)}, path),
            "something that is not a weight",
        ),
        ("not finite", lambda: torch.save(nan, path), "some weights are not finite"),
        (
            "endless heads",
            lambda: torch.save(wide, path),
            "looks like a checkpoint of the WorM benchmark, but its head sfr has 1000000 outputs",
        ),
        ("an endless memory", lambda: torch.save(lots, path), "looks like a checkpoint of the WorM benchmark, but"),
        ("hollow weights", lambda: torch.save(hollow, path), "its weights are larger than the file"),
        (
            "a missing weight",
            lambda: torch.save({k: v for k, v in state.items() if k != "MEM.bias_hh_l0"}, path),
            "memory.cell.bias_hh_l0 are missing",
        ),
        ("a weight too many", lambda: torch.save({**state, "MEM.extra": torch.zeros(3)}, path), "has no place for"),
        (
            "another shape",
            lambda: torch.save({**state, "CNN_Encoder.2.bias": torch.zeros(64)}, path),
            "have the shape 64, and this network needs 128",
        ),
        (
            "few tasks",
            lambda: torch.save({**state, "task_embedding.weight": torch.zeros(3, 14)}, path),
            "does not have the 14 published rows",
        ),
        (
            "no memory",
            lambda: torch.save({k: v for k, v in state.items() if "MEM" not in k}, path),
            "no matrix positional_encoding.weight",
        ),
        (
            "no heads",
            lambda: torch.save({k: v for k, v in state.items() if "_head." not in k}, path),
            "it has no heads",
        ),
    ]


def test_wrong_and_hostile_files_end_in_one_sentence(tmp_path: Path, state: dict[str, Any], run: Run) -> None:
    path = tmp_path / "wrong.pt"
    for name, write, said in wrong_files(path, tmp_path / "trap", state):
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        write()
        told = complaint(*run("replay", "vsr", "--agent", f"network:{path}", "--trials", "1"))
        assert said in told, name
        assert told.count("\n") == 1, name
        assert len(told) < 600, name
    assert not (tmp_path / "trap").exists()
