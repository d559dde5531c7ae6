"""Checkpoints: damaged, foreign and hostile files are refused with a sentence and without running
anything in them."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


import spanlab  # noqa: E402
from spanlab.agents.network import NetworkAgent  # noqa: E402
from spanlab.agents.network.checkpoints_io.checkpoint import (  # noqa: E402
    Checkpoint,
    Store,
    TrainedOn,
    load,
    locate,
    pack,
    save,
    shipped,
    unpack,
)
from spanlab.agents.network.models import build  # noqa: E402
from spanlab.agents.network.settings import Task, model_settings  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.sessions.record.reader import read_session  # noqa: E402


class Hostile:
    """Unpickling this would make a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (self.folder,)


def changed(**changes: Any) -> dict[str, Any]:
    return {**torch.load(locate("laptop"), weights_only=True), **changes}


def half_zeros(path: Path) -> None:
    """Write a network of which half of the largest tensor was overwritten with zeros."""
    content = bytearray(locate("laptop").read_bytes())
    with zipfile.ZipFile(locate("laptop")) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
    middle = largest.header_offset + largest.file_size // 2
    content[middle : middle + largest.file_size // 2] = bytes(largest.file_size // 2)
    path.write_bytes(content)


def test_hostile_pickles_run_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    plain, zipped = tmp_path / "plain.pt", tmp_path / "zipped.pt"
    plain.write_bytes(pickle.dumps(Hostile(str(trap))))
    torch.save({"format": "spanlab network", "weights": Hostile(str(trap))}, zipped)
    for path in (plain, zipped):
        with pytest.raises(
            SpanLabError,
            match=(
                r"not a checkpoint that SpanLab can use: it holds code or objects, which are not loaded.*spanlab train"
            ),
        ):
            NetworkAgent(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: path.write_bytes(b""), "not a checkpoint that SpanLab can use"),
        (lambda path: path.write_bytes(b"PK\x03\x04 not really"), "not a checkpoint that SpanLab can use"),
        (lambda path: path.write_text("paradigm: vsr\n"), "not a checkpoint that SpanLab can use"),
        (lambda path: torch.save([1, 2], path), "not a checkpoint that SpanLab can use"),
        (
            lambda path: torch.save({"state": {}}, path),
            "not a checkpoint that SpanLab knows: it has neither SpanLab's mark",
        ),
        (
            lambda path: torch.save({"model_state_dict": {}}, path),
            "looks like a checkpoint of the WorM benchmark, but the published",
        ),
        (lambda path: torch.save(changed(version=99), path), "checkpoint format 99"),
        (lambda path: torch.save(changed(weights={}), path), "damaged"),
        (lambda path: torch.save(changed(weights=7), path), "damaged"),
        (lambda path: torch.save(changed(tasks={"vsr": {"outputs": 9, "head": "vsr"}}), path), "damaged"),
        (lambda path: torch.save(changed(tasks={"vsr": {"outputs": -9, "head": "vsr"}}), path), "damaged"),
        (lambda path: torch.save(changed(settings={"hidden": 10**9}), path), "damaged"),
        (lambda path: torch.save(changed(settings={"colour": 1}), path), "damaged"),
        (
            lambda path: torch.save(
                {**changed(), "weights": {k: v * float("nan") for k, v in changed()["weights"].items()}}, path
            ),
            "not finite",
        ),
        (lambda path: path.write_bytes(locate("laptop").read_bytes()[:-1000]), "not a checkpoint that SpanLab can use"),
        (half_zeros, r"it is damaged \(the checksum of .*/data/\d+ is wrong\)"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path: Path, write: Callable[[Path], Any], said: str) -> None:
    path = tmp_path / "wrong.pt"
    write(path)
    with pytest.raises(SpanLabError, match=said) as caught:
        NetworkAgent(path)
    assert "\n" not in str(caught.value)


def test_a_missing_network_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="there is no network 'labtop'; did you mean 'laptop'"):
        NetworkAgent("labtop")
    with pytest.raises(SpanLabError, match="there is no checkpoint at"):
        NetworkAgent(tmp_path / "none.pt")


def test_names_and_files_lead_to_the_same_network(tmp_path: Path) -> None:
    (copy := tmp_path / "copy.pt").write_bytes(locate("laptop").read_bytes())
    by_name, by_file = NetworkAgent("laptop"), NetworkAgent(f"network:{copy}")
    assert by_name.name == "network:laptop"
    assert by_file.name == f"network:{copy}"
    assert by_name.settings() == by_file.settings()


def test_without_torch_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SpanLabError, match=r"pip install 'spanlab\[networks\]'"):
        NetworkAgent("laptop")


#: Paradigms that the networks called ``laptop`` know, and the one that takes each.
KNOWN = {
    **dict.fromkeys(("vsr", "sfr", "smu"), "laptop"),
    **dict.fromkeys(
        ("sts", "sts_congruency", "nback_verbal", "nback_verbal_noise", "nback_verbal_reasoning"), "wired-nback"
    ),
    **dict.fromkeys(
        ("nback_spatial_noise", "nback_spatial_reasoning", "nback_abstraction", "nback_abstraction_strict"),
        "wired-nback",
    ),
    "nback_spatial": "laptop-nback",
    **dict.fromkeys(("si", "cd", "cd_noise"), "laptop-changes"),
    "sc": "laptop-coordination",
    **dict.fromkeys(("vsrec", "vir"), "laptop-recognition"),
    **dict.fromkeys(("lsr", "lsr_long"), "laptop-lists"),
    "cs": "laptop-span",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_one_name_stands_for_the_network_that_knows_the_task(name: str, tmp_path: Path) -> None:
    session = spanlab.replay(name, "network:laptop", trials=1, data=tmp_path, say=lambda _: None)
    info = read_session(session.folder)
    assert (info["agent"], info["agent_settings"]["checkpoint"]) == (f"network:{KNOWN[name]}", KNOWN[name])
    assert session.responses["outcome"].eq("answered").all()


def small(store: Store, path: Path) -> Checkpoint:
    """A network of few weights, some of them zero and one much larger than the rest, in a file."""
    sizes = {"components": 9, "summary": 7, "filters": 8, "code": 4, "context": 8, "start": "plain"}
    network = build(model_settings(hidden=17, **sizes), {"vsr": Task(9, "vsr")}, 1)
    network.eye.retina.components.copy_(torch.randn(3072, 9, generator=torch.Generator().manual_seed(1)))
    with torch.no_grad():
        network.gate.weight[3:9] = 0  # type: ignore[union-attr, index, operator]
        network.gate.weight[0, 0] = 40  # type: ignore[union-attr, index, operator]
    save(path, network, "small", TrainedOn(paradigms={}, levels={}, steps=1, trials={}, config="x"), store=store)
    return load(path)


def test_weights_in_bytes_are_those_of_the_network_to_half_a_step_of_their_scale(tmp_path: Path) -> None:
    half, rounded = small("half", tmp_path / "half.pt"), small("bytes", tmp_path / "bytes.pt")
    assert (half.store, rounded.store) == ("half", "bytes")
    for name, weights in rounded.network.state_dict().items():
        other = half.network.state_dict()[name]
        if weights.ndim < 2:
            assert torch.equal(weights, other)
            continue
        blocks = torch.nn.functional.pad(other.flatten(), (0, -other.numel() % 32)).view(-1, 32)
        steps = (blocks.abs().amax(1, keepdim=True) / 127).expand_as(blocks).flatten()[: other.numel()].view_as(other)
        # Rounding to a whole number, and of the scale to half precision.
        assert bool(((weights - other).abs() <= 0.502 * steps + 0.002 * other.abs()).all()), name
    gate = rounded.network.state_dict()["gate.weight"]
    assert float(gate[0, 0]) == pytest.approx(40, rel=0.001)
    assert not gate[4:8].any()
    files = [torch.load(tmp_path / f"{name}.pt", weights_only=True) for name in ("half", "bytes")]
    assert [data["version"] for data in files] == [1, 1]
    assert {str(tensor.dtype) for tensor in files[1]["weights"].values()} == {"torch.int8", "torch.float16"}


@pytest.mark.slow
def test_matrices_in_bytes_take_half_the_space() -> None:
    stored, scales = pack({"matrix": torch.randn(300, 200), "bias": torch.randn(300)})
    assert sum(tensor.nbytes for tensor in (*stored.values(), *scales.values())) == 300 * 200 * (1 + 2 / 32) + 600
    once = unpack(stored["matrix"], scales["matrix"])
    again = pack({"matrix": once})
    torch.testing.assert_close(unpack(again[0]["matrix"], again[1]["matrix"]), once, rtol=0.002, atol=0)


@pytest.mark.parametrize(
    ("scales", "said"),
    [
        (lambda own: {}, "the scales of the weights .* do not fit"),
        (
            lambda own: {**own, "gate.weight": own["gate.weight"][:-1]},
            "the scales of the weights gate.weight do not fit",
        ),
        (
            lambda own: {**own, "gate.weight": own["gate.weight"].char()},
            "the scales of the weights gate.weight do not fit",
        ),
        (lambda own: {**own, "gate.bias": own["gate.weight"]}, "the scales of the weights gate.bias do not fit"),
        (lambda own: {**own, "gate.weight": own["gate.weight"] * float("nan")}, "not finite"),
        (lambda own: {**own, "no such": own["gate.weight"]}, "no place for .'no such'"),
        (lambda own: 7, "damaged"),
    ],
)
def test_wrong_scales_are_refused_in_a_sentence(tmp_path: Path, scales: Callable[[Any], Any], said: str) -> None:
    small("bytes", tmp_path / "bytes.pt")
    data = torch.load(tmp_path / "bytes.pt", weights_only=True)
    torch.save({**data, "scales": scales(data["scales"])}, tmp_path / "wrong.pt")
    with pytest.raises(SpanLabError, match=said) as caught:
        NetworkAgent(tmp_path / "wrong.pt")
    assert "\n" not in str(caught.value)


def test_the_networks_that_ship_take_at_most_32_megabytes() -> None:
    assert sum(locate(name).stat().st_size for name in shipped()) <= 32_000_000


@pytest.mark.slow
def test_who_was_wired_says_so_before_a_session(tmp_path: Path) -> None:
    said: list[str] = []
    spanlab.replay("nback_verbal", "network:laptop", trials=1, data=tmp_path, say=said.append)
    assert "network:laptop takes these trials as network:wired-nback" in "".join(said)
    assert "was wired: it solved N-back tasks without noise before its training began" in "".join(said)


def test_cards_say_how_far_a_network_gets_before_training() -> None:
    for name in shipped():
        card = json.loads(locate(name).with_suffix(".json").read_text(encoding="utf-8"))
        text = locate(name).with_suffix(".md").read_text(encoding="utf-8")
        assert card["sha256"] == hashlib.sha256(locate(name).read_bytes()).hexdigest()
        assert card["sha256"] in text
        assert ("**Wired in before training: a queue of" in text) == (card["settings"].get("start") == "delay_line"), (
            name
        )
        if name.startswith(("laptop", "wired")):
            assert all(0 <= row["before"] <= 1 for row in card["test"]), name
            assert "| before training |" in text


def test_n_back_was_learned_and_not_wired_in() -> None:
    """At n = 2 and 3, at least 15 points over the best fitted read-out of the same network before
    training, and over the plain sum of its products."""
    rows, wired = (
        json.loads(locate(name).with_suffix(".json").read_text(encoding="utf-8"))["test"]
        for name in ("laptop-nback", "wired-nback")
    )
    for n in (2, 3):
        mine = [row for row in rows if row["levels"]["n"] == n]
        assert np.mean([row["accuracy"] - max(row["before"], row["unweighted"]) for row in mine]) >= 0.15
        of_wired = [row for row in wired if row["levels"].get("n") == n and not row["paradigm"].endswith("noise")]
        assert np.mean([row["before"] for row in of_wired]) > 0.95, "the comparison: solved before training"


@pytest.mark.parametrize("name", ["nback_verbal_feedback", "nback_spatial_feedback"])
@pytest.mark.slow
def test_what_none_of_them_knows_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        SpanLabError, match=r"network:laptop was not trained on .* \(task .*\), but on vsr, .*cd.*nback_verbal[^_].*;"
    ):
        spanlab.replay(name, "network:laptop", trials=1, data=tmp_path, say=lambda _: None)
    assert not list(tmp_path.glob("*"))
