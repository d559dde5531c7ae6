"""Training configs: a YAML file that says what a network is trained on, and how. Every key is
declared here, once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from ....core.errors import ParadigmError, SpanLabError
from ....core.registry import StrictModel, nearest
from ....paradigms.identity import MAX_MASTER_SEED, canonical
from ....paradigms.language import yaml_source
from ....paradigms.language.diagnostics import validated
from ..settings import DelayLine, Settings, model_settings, need_torch

Count = Annotated[int, Field(ge=1, le=100_000_000)]
Positive = Annotated[float, Field(gt=0)]
#: How something is done: as in the WorM benchmark, or better.
Recipe = Literal["published", "improved"]


class TaskConfig(StrictModel):
    """One paradigm to train on."""

    paradigm: str = Field(description="name in the library, or the path of a YAML file")
    factors: dict[str, Any] = Field(
        default_factory=dict, description="factor levels to use: one level or a list; all published ones when not given"
    )
    batch: Count = Field(32, description="trials in each step of training")
    train_trials: Count = Field(
        10_000, description="number of different trials to train on; they are repeated, in a new order each time"
    )
    weight: Positive = Field(1.0, description="weight of this paradigm's loss in the sum")
    loss_over: Literal["steps", "phases"] = Field(
        "steps",
        description=(
            "steps: the mean loss of all steps; phases: the mean over phases of their mean losses (steps without a"
            " question are one phase), so that few questions count as much as many"
        ),
    )


class TestConfig(StrictModel):
    """One paradigm to test on, whatever was trained."""

    paradigm: str = Field(description="name in the library, or the path of a YAML file")
    factors: dict[str, Any] = Field(
        default_factory=dict, description="factor levels to use: one level or a list; all published ones when not given"
    )


class RateConfig(StrictModel):
    """The learning rate: a linear rise, then half a cosine down."""

    peak: Positive = Field(2e-3, description="highest learning rate; with the published schedule the first one")
    warmup: Annotated[int, Field(ge=0)] = Field(100, description="steps of the rise")
    final: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02, description="learning rate at the end, as a proportion of the highest"
    )


class CheckConfig(StrictModel):
    """Validation while training, and the test at the end."""

    every: Count = Field(500, description="steps between validations")
    trials: Count = Field(20, description="validation trials for each combination of factor levels")
    test_trials: Count = Field(100, description="held-out test trials for each combination of factor levels")
    share: Literal["combination", "paradigm"] = Field(
        "combination", description="whether these are for each combination of levels, or for all together"
    )


class TrainingConfig(StrictModel):
    """A training run.

    Trials for training, validation and test come from three streams of trial seeds that cannot
    overlap: the purpose is packed into the seed.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)] = Field(
        description="name of the network and its files"
    )
    about: str = Field("", description="what it is for, in a sentence or two; goes into the model card")
    generator: Literal["corrected", "published"] = Field("corrected", description="trial generator")
    seed: Annotated[int, Field(ge=0, le=MAX_MASTER_SEED)] = Field(
        0, description="seed of everything: initial weights, trials, order"
    )
    model: Settings = Field(
        model_settings(), description="sizes of the network; encoder: worm for those of the published benchmark"
    )
    start_from: str | None = Field(
        None,
        description=(
            "a checkpoint whose weights training begins with: easy trials first, or a trained network taught more; what"
            " it lacks begins anew"
        ),
    )
    tasks: Annotated[list[TaskConfig], Field(min_length=1)] = Field(
        description="paradigms to train on, all in every step"
    )
    test: list[TestConfig] = Field(
        default_factory=list, description="paradigms to test on at the end; those of the tasks when not given"
    )
    order: Literal["conditions", "shuffled"] = Field(
        "conditions",
        description=(
            "conditions: trials of a step share one combination of levels, and combinations take turns; shuffled: all"
            " in random order, as published"
        ),
    )
    loss: Recipe = Field(
        "published",
        description=(
            "published: the sum of the tasks' mean losses; improved: each divided by the loss of the best blind guess"
        ),
    )
    schedule: Recipe = Field(
        "improved",
        description="published: Adam, the rate falls on a plateau; improved: a rise, half a cosine, and clipping",
    )
    validation: Recipe = Field(
        "improved",
        description="published: accuracy of trained steps; improved: accuracy of items, as scored for all agents",
    )
    selection: Recipe = Field(
        "published",
        description=(
            "weights to keep. published: highest mean accuracy; improved: highest mean share of the possible gain over"
            " the best blind guess"
        ),
    )
    vectors: str | Annotated[int, Field(ge=0, le=MAX_MASTER_SEED)] = Field(
        0,
        description=(
            "for paradigms of words: a file with their vectors (word2vec or GloVe, 300 numbers each), or the seed of"
            " random ones"
        ),
    )
    steps: Count = Field(description="steps of training")
    stages: list[dict[str, Any]] = Field(
        default_factory=list,
        description=(
            "parts of the training, one after another: each says what is otherwise than in the rest of the config, and"
            " begins with the weights that the one before has kept"
        ),
    )
    minutes: Positive | None = Field(
        None, description="wall-clock limit in minutes; training stops there and keeps what has been learned"
    )
    rate: RateConfig = Field(RateConfig.model_validate({}), description="learning rate")
    check: CheckConfig = Field(CheckConfig.model_validate({}), description="validation and test")
    save_every: Count = Field(500, description="steps between saved states, from which --resume continues")
    store: Literal["half", "bytes"] = Field(
        "half",
        description=(
            "how the checkpoint keeps weights: in half precision, or its matrices as bytes with one scale for every 32,"
            " which takes half the space and changes answers that are nearly ties; --resume of a finished run writes"
            " and tests its network in another way"
        ),
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "cpu", description="where to compute; auto takes a GPU when there is one"
    )
    threads: Annotated[int, Field(ge=0, le=256)] = Field(
        0, description="processor threads; 0 leaves the choice to torch"
    )
    precision: Literal["float32", "tf32"] = Field("float32", description="precision of products; tf32 is for GPUs")
    compile: Literal["ahead", "meanwhile"] = Field(
        "ahead",
        description=(
            "when training trials are compiled: all before the first step, or those of each step while others are"
            " trained on"
        ),
    )
    workers: Annotated[int, Field(ge=0, le=256)] = Field(
        0, description="number of processes that compile trials meanwhile; 0: a thread of this one"
    )

    @property
    def hash(self) -> str:
        """Identifies the config; a resumed run must have the same. What changes nothing that is
        learned is not part of it."""
        told = self.model_dump(mode="json", exclude={"workers", "store"})
        return hashlib.sha256(canonical(told).encode("ascii")).hexdigest()[:16]

    def parts(self) -> list[TrainingConfig]:
        """The config of each stage, in order; itself where it has none.

        A stage keeps ``NAME-1.pt``, ``NAME-2.pt`` and so on; the last one has the name of the whole.
        """
        whole, found = self.model_dump(exclude={"stages"}), list[TrainingConfig]()
        for number, stage in enumerate(self.stages, 1):
            values = {**whole, "name": self.name if number == len(self.stages) else f"{self.name}-{number}"}
            if found:
                values["start_from"] = f"{found[-1].name}.pt"
            for key, value in stage.items():
                # Of a part with keys of its own, such as the rate, those that are not named stay.
                values[key] = {**whole[key], **value} if isinstance(value, dict) else value
            found.append(TrainingConfig.model_validate(values))
        return found or [self]

    @model_validator(mode="after")
    def _stages_fit(self) -> TrainingConfig:
        for number, stage in enumerate(self.stages, 1):
            if wrong := [key for key in stage if key not in type(self).model_fields or key in _OF_ALL_STAGES]:
                raise ValueError(f"stage {number} cannot have a '{wrong[0]}' of its own")
        try:
            self.parts()
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"a stage does not fit ({place}: {first['msg']})") from None
        return self


#: keys that are those of the whole training
_OF_ALL_STAGES = ("name", "about", "model", "start_from", "vectors", "store", "stages")


def read_config(path: str | Path) -> TrainingConfig:
    """Read a training config.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or with everything that is wrong with it: file, line, key, and
        the nearest valid name.
    """
    path = Path(path)
    if not path.is_file():
        raise SpanLabError(
            f"there is no training config at {path}; write one (keys with values, beginning with 'name: NAME'), or"
            " start from the one that ships: agents/network/checkpoints/laptop.yaml"
        )
    return config_in(yaml_source.read(path))


def config_in(document: yaml_source.Document) -> TrainingConfig:
    """The training config that a document holds.

    Raises
    ------
    ParadigmError
        with everything that is wrong with it.
    """
    if not isinstance(document.data, dict):
        raise ParadigmError(
            [document.problem((), "expected a training config (keys with values, beginning with 'name: NAME')")]
        )
    config, found = validated(TrainingConfig, document.data)
    if found or not isinstance(config, TrainingConfig):
        raise ParadigmError([document.problem(place, _with_hint(place, message)) for place, message in found])
    need_torch()
    from ..models import check_architecture

    try:
        check_architecture(config.model)
    except SpanLabError as error:
        raise ParadigmError([document.problem(("model",), str(error))]) from None
    return config


#: the declared keys of each part of a config, by the way to it
_PARTS: dict[tuple[str, ...], type[BaseModel]] = {
    ("tasks",): TaskConfig,
    ("test",): TestConfig,
    ("rate",): RateConfig,
    ("check",): CheckConfig,
    ("model", "delay_line"): DelayLine,
}


def _with_hint(place: yaml_source.YamlPath, message: str) -> str:
    """The message about an unknown key inside a part, with the nearest of that part's keys."""
    part = _PARTS.get(tuple(key for key in place[:-1] if isinstance(key, str)))
    if part is not None and message.startswith("unknown key"):
        return f"unknown key '{place[-1]}'{nearest(place[-1], part.model_fields)}"
    return message
