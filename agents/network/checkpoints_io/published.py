"""Checkpoints that the WorM benchmark's own training wrote: recognised, understood from the shapes
of their weights, and told of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....paradigms.network_view import WORM_TASKS
from ..settings import FRAME, Task, WormSettings, model_settings
from .state_dicts import plain_names, state_dict_in

#: heads in the order in which the published code makes them, with their sizes
HEADS: dict[str, int] = {
    "sc": 1,
    "sfr": 100,
    "si": 1,
    "smu": 9,
    "sts": 3,
    "vir": 1,
    "vsr": 9,
    "vsrec": 1,
    "cd": 1,
    "cs": 21,
}
#: older names of heads, from before the code was published
_ALIASES = {"stsc": "sts", "virec_2c": "vir", "virec": "vir", "vir_2c": "vir", "complex_wm": "cs", "complex_span": "cs"}
_MEMORIES = {1: "rnn", 3: "gru", 4: "lstm"}
_NAMES = {"rnn": "rnn", "gru": "gru", "lstm": "lstm", "trf": "transformer", "transformer": "transformer"}


class NotPublishedError(Exception):
    """A checkpoint that does not fit; the message is the middle of a sentence."""


@dataclass(frozen=True, slots=True)
class PublishedCheckpoint:
    """A published checkpoint, understood.

    Parameters
    ----------
    settings : of the network
    tasks : that it knows
    weights : by the names that SpanLab's network has for them
    facts : epoch, accuracy and so on, as the file says them; fit for JSON
    notes : what was not as it is published, and what was made of it; sentences without a full stop
    """

    settings: WormSettings
    tasks: dict[str, Task]
    weights: dict[str, Any]
    facts: dict[str, Any]
    notes: tuple[str, ...]

    def lines(self, name: str, parameters: int) -> list[str]:
        """A line with the facts, and another one with deviations from the published ones."""
        layers = self.settings.options.get("layers", 1)
        size = f"{self.settings.architecture} with {self.settings.hidden} units" + (
            f" in {layers} layers" if layers > 1 else ""
        )
        made = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.facts.items() if key != "run")
        found = (
            f"{name}: a checkpoint of the WorM benchmark, {size}, {parameters:,} parameters, {len(self.tasks)} tasks"
            + (made and f"; {made}")
        )
        return [*filter(None, (found, "; ".join(self.notes)))]


def worm_tasks() -> dict[str, Task]:
    """The fourteen tasks in the order of the published task embedding; the five of change detection
    share a head."""
    heads = {name: "cd" if name.startswith("cd_") else name for name in WORM_TASKS}
    return {name: Task(HEADS[head], head) for name, head in heads.items()}


def is_published(data: Mapping[str, Any]) -> bool:
    """Return whether this is, or means to be, a checkpoint of the benchmark: with its keys, or only
    its weights."""
    return isinstance(data.get("model_state_dict"), Mapping) or any(
        isinstance(key, str) and "CNN_Encoder." in key for key in state_dict_in(data)
    )


def understand(data: Mapping[str, Any]) -> PublishedCheckpoint:
    """Settings, tasks and weights of a checkpoint.

    Shapes decide; where the configuration in the file says something else, that is noted.

    Raises
    ------
    NotPublishedError
        when the weights are not those of a published network.
    """
    import torch

    weights: dict[str, Any] = {}
    for key, tensor in state_dict_in(data).items():
        if (
            not isinstance(key, str)
            or not isinstance(tensor, torch.Tensor)
            or tensor.layout != torch.strided
            or not tensor.is_floating_point()
        ):
            raise NotPublishedError("its state holds something that is not a weight")
        weights[key] = tensor
    plain = plain_names(weights)
    # What a wrapper, such as Lightning's, puts before all names.
    before = next((name.partition("CNN_Encoder.")[0] for name in plain.values() if "CNN_Encoder." in name), "")
    weights = {plain[key].removeprefix(before): tensor for key, tensor in weights.items()}
    if "ProjectionHead.weight" not in weights or "CNN_Encoder.0.weight" not in weights:
        raise NotPublishedError("the published convolutional encoder with its linear projection is missing")
    config = data.get("config") if isinstance(data.get("config"), Mapping) else {}
    notes: list[str] = []
    heads = _heads(weights, notes)
    settings = _settings(weights)
    _compare(config or {}, settings, notes)
    tasks = {name: task for name, task in worm_tasks().items() if task.head in heads.values()}
    if missing := [name for name in WORM_TASKS if name not in tasks]:
        notes.append(f"it has no head for {', '.join(missing)}")
    named = {_our_name(key, heads): tensor for key, tensor in weights.items()}
    named["task_embedding.weight"] = _rows(named.get("task_embedding.weight"), tasks)
    return PublishedCheckpoint(settings, tasks, named, _facts(data, config or {}), tuple(notes))


def _heads(weights: Mapping[str, Any], notes: list[str]) -> dict[str, str]:
    """Our names of heads by those in the file: the same, or (with a note) older ones."""
    sizes: dict[str, int] = {
        key.removesuffix(".weight"): tensor.shape[0]
        for key, tensor in weights.items()
        if key.endswith(("_head.weight", "_classifier.weight"))
        and not key.startswith("ProjectionHead")
        and tensor.ndim == 2
    }
    known = {name: _known_head(name) for name in sizes}
    found = {name: head for name, head in known.items() if head is not None}
    if len(found) < len(sizes) or len(set(found.values())) < len(found):
        raise NotPublishedError("the names of its heads are unknown")
    if older := [name for name, head in found.items() if name != f"{head}_task_head"]:
        notes.append(f"heads under older names: {', '.join(_plain(name) for name in older)}")
    for name, head in found.items():
        if sizes[name] != HEADS[head]:
            raise NotPublishedError(f"its head {head} has {sizes[name]} outputs instead of {HEADS[head]}")
    if not found:
        raise NotPublishedError("it has no heads")
    return found


def _known_head(name: str) -> str | None:
    stem = name.lower().removesuffix("_head").removesuffix("_task")
    stem = _ALIASES.get(stem, stem)
    return stem if stem in HEADS else None


def _settings(weights: Mapping[str, Any]) -> WormSettings:
    """Architecture and sizes, from the shapes of the weights."""
    embedding = weights.get("task_embedding.weight")
    if embedding is None or embedding.ndim != 2 or embedding.shape[0] != len(WORM_TASKS):
        raise NotPublishedError(f"its task embedding does not have the {len(WORM_TASKS)} published rows")
    named = embedding.shape[1]
    inputs = weights["ProjectionHead.weight"].shape[0] + named
    options: dict[str, Any] = {}
    if "MEM.weight_ih_l0" in weights:
        rows, hidden = _shape(weights, "MEM.weight_hh_l0")
        architecture = _MEMORIES.get(rows // hidden if hidden and not rows % hidden else 0)
        layers = sum(key.startswith("MEM.weight_ih_l") for key in weights)
        if layers > 1:
            options["layers"] = layers
    else:
        _, hidden = _shape(weights, "positional_encoding.weight")
        architecture = "transformer"
        layers = sum(key.startswith("MEM.layers.") and key.endswith(".norm1.weight") for key in weights)
        forward, _ = _shape(weights, "MEM.layers.0.linear1.weight")
        options |= {
            "layers": layers,
            "feedforward": forward,
            "positions": _shape(weights, "positional_encoding.weight")[0],
        }
    if architecture is None:
        raise NotPublishedError("its memory is not an RNN, GRU, LSTM or transformer")
    settings = model_settings(
        encoder="worm", architecture=architecture, hidden=hidden, options=options, inputs=inputs, embedding=named
    )
    assert isinstance(settings, WormSettings)
    return settings


def _shape(weights: Mapping[str, Any], key: str) -> tuple[int, int]:
    """The two sides of a matrix.

    Raises
    ------
    NotPublishedError
        when it is missing or no matrix.
    """
    tensor = weights.get(key)
    if tensor is None or tensor.ndim != 2:
        raise NotPublishedError(f"its weights have no matrix {key}")
    return tensor.shape[0], tensor.shape[1]


def _compare(config: Mapping[str, Any], settings: WormSettings, notes: list[str]) -> None:
    """Note where the configuration says something else than the weights.

    Raises
    ------
    NotPublishedError
        when it was trained on something that SpanLab does not show.
    """
    if not config:
        notes.append("the file has no configuration")
    found: dict[str, Any] = {
        "mem_architecture": settings.architecture,
        "mem_hidden_size": settings.hidden,
        "mem_input_size": settings.inputs,
        "mem_num_layers": settings.options.get("layers", 1),
    }
    for key, value in found.items():
        configured = config.get(key, value)
        configured = _NAMES.get(configured.lower(), configured) if isinstance(configured, str) else configured
        if configured != value:
            notes.append(f"its configuration says {key} {_plain(configured)}, its weights {value}, which counts")
    for key, wanted in (
        ("rs_img_size", FRAME),
        ("num_input_channels", 3),
        ("task_embedding_given", "All_TS"),
        ("use_cnn", 1),
    ):
        if config.get(key, wanted) != wanted:
            raise NotPublishedError(
                f"its configuration says {key} {_plain(config[key])}, and SpanLab gives networks what goes with"
                f" {wanted}"
            )


def _our_name(key: str, heads: Mapping[str, str]) -> str:
    """The name of a weight in SpanLab's network."""
    place, _, last = key.rpartition(".")
    if place in heads:
        return f"heads.{heads[place]}.{last}"
    for theirs, ours in (
        ("CNN_Encoder.", "eye.layers."),
        ("ProjectionHead.", "eye.projection."),
        ("positional_encoding.", "memory.positions."),
    ):
        if key.startswith(theirs):
            return ours + key.removeprefix(theirs)
    if key.startswith("MEM."):
        rest = key.removeprefix("MEM.")
        return f"memory.{rest}" if rest.startswith("layers.") else f"memory.cell.{rest}"
    return key


def _rows(embedding: Any, tasks: Mapping[str, Task]) -> Any:
    """The rows of the task embedding for the tasks that there are."""
    return embedding if len(tasks) == len(WORM_TASKS) else embedding[[WORM_TASKS.index(name) for name in tasks]]


def _facts(data: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file says of its own making; anything but short texts and finite numbers is
    left out."""
    facts: dict[str, Any] = {}
    for name, value in (
        ("run", config.get("run_name")),
        ("epoch", data.get("epoch")),
        ("best_epoch", data.get("best_epoch")),
        ("saved_because", data.get("save_condition")),
        ("validation_accuracy", data.get("val_multitask_acc")),
    ):
        if hasattr(value, "item") and getattr(value, "size", None) == 1:  # one of numpy's numbers
            value = value.item()  # type: ignore[union-attr]
        if isinstance(value, str) and value:
            facts[name] = _plain(value)
        elif isinstance(value, (int, float)) and math.isfinite(value):
            facts[name] = round(value, 4) if isinstance(value, float) else value
    return facts


def _plain(value: Any) -> str:
    """A text from a file, short and on one line."""
    if not isinstance(value, (str, int, float)):
        return "something else"
    text = "".join(character if character.isprintable() else " " for character in str(value)[:80])
    return text[:60] + ("..." if len(text) > 60 else "")
