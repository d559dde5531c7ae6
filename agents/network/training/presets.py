"""Named training configs: those that ship, and what can be changed about a config by the command
line."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

from ....core.errors import SpanLabError
from ....core.json_values import in_a_list
from ....core.registry import nearest
from ....paradigms import load_paradigm
from .config import Recipe, TrainingConfig, read_config

_HERE = "spanlab.agents.network"
#: the networks of the WorM benchmark, by the names that its paper gives them
_ZOO = {
    f"{short}-{units}": (architecture, units)
    for short, architecture in (("rnn", "rnn"), ("gru", "gru"), ("lstm", "lstm"), ("trf", "transformer"))
    for units in (96, 256, 1024)
}


def presets() -> dict[str, str]:
    """The named configs, each with a line that says what it is for."""
    zoo = {name: f"{name.upper()} of the WorM benchmark, jointly on its fourteen tasks, as published" for name in _ZOO}
    others = {
        path.stem: read_config(path).about for path in sorted(_folder("configs").glob("*.yaml")) if path.stem != "joint"
    }
    return {**zoo, **others, "laptop": read_config(_folder("checkpoints") / "laptop.yaml").about}


def config_named(name: str | Path) -> TrainingConfig:
    """A config by the name of a preset, or from a file.

    Raises
    ------
    SpanLabError
        when there is none such, or with everything that is wrong with it.
    """
    text = str(name)
    if (isinstance(name, Path) and name.is_file()) or text.endswith((".yaml", ".yml")) or "/" in text or "\\" in text:
        return read_config(name)
    if text in _ZOO:
        architecture, units = _ZOO[text]
        joint = read_config(_folder("configs") / "joint.yaml")
        return changed(
            joint,
            name=text,
            model={"encoder": "worm", "architecture": architecture, "hidden": units},
            about=f"{text.upper()}, trained jointly on the fourteen tasks of the WorM benchmark with its settings.",
        )
    for folder in ("configs", "checkpoints"):
        if text != "joint" and (path := _folder(folder) / f"{text}.yaml").is_file() and re.fullmatch(r"[\w.-]+", text):
            return read_config(path)
    if Path(text).exists():
        return read_config(name)
    known = [
        *_ZOO,
        *(path.stem for path in sorted(_folder("configs").glob("*.yaml")) if path.stem != "joint"),
        "laptop",
    ]
    raise SpanLabError(
        f"there is no training config '{text}'{nearest(text, known)}; give a YAML file, or one of {', '.join(known)}"
    )


def changed(config: TrainingConfig, **values: Any) -> TrainingConfig:
    """A config with other values for some keys."""
    return TrainingConfig.model_validate({**config.model_dump(), **values})


def with_recipe(config: TrainingConfig, recipe: Recipe) -> TrainingConfig:
    """A config with loss, schedule, validation and model selection all as published, or all
    improved."""
    rate = {"peak": 1e-4} if recipe == "published" else {"peak": 5e-4, "warmup": 500, "final": 0.02}
    return changed(config, loss=recipe, schedule=recipe, validation=recipe, selection=recipe, rate=rate)


def toy(config: TrainingConfig) -> TrainingConfig:
    """The same run in seconds: the network whole, one step with one trial of each task, at the
    first level of each factor. To try out that a config works."""
    tasks = []
    for task in config.tasks:
        first = {
            name: in_a_list(task.factors.get(name, factor.levels))[0]
            for name, factor in load_paradigm(task.paradigm).factors.items()
            if factor.mode == "crossed" or name in task.factors
        }
        tasks.append({**task.model_dump(), "batch": 1, "train_trials": 2, "factors": first})
    return changed(
        config,
        tasks=tasks,
        test=[],
        stages=[],
        steps=1,
        minutes=None,
        check={"every": 1, "trials": 1, "test_trials": 1, "share": "paradigm"},
        save_every=1,
        workers=0,
        device="cpu",
        precision="float32",
    )


def _folder(name: str) -> Path:
    return Path(str(resources.files(_HERE) / name))
