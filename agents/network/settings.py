"""Settings of networks: their tasks and the declared sizes, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    model_validator,
)

from ...core.errors import SpanLabError
from ...core.registry import StrictModel
from ...paradigms.network_view import NetworkView

#: Side of the frames that networks see, in pixels.
FRAME = 32

Width = Annotated[int, Field(ge=1, le=4096)]


@dataclass(frozen=True, slots=True)
class Task:
    """One task, as a network knows it.

    Parameters
    ----------
    outputs : size of its head
    head : name of its head, which several tasks may share
    reads : vectors of words that are read in it at a step, instead of a frame seen; 0 where none is
    """

    outputs: int
    head: str
    reads: int = 0

    @property
    def told(self) -> str:
        """In words: what it takes and where it is answered."""
        takes = f"vectors ({self.reads} a step)" if self.reads else "frames"
        return f"{takes} and {self.outputs} outputs of the head '{self.head}'"


def task_seen_in(view: NetworkView) -> Task:
    """The task of a paradigm's network section."""
    return Task(view.head, view.shared_head, view.words if view.input == "vectors" else 0)


def heads_of(tasks: Mapping[str, Task]) -> dict[str, int]:
    """The size of each head, in the order in which tasks first name it.

    Raises
    ------
    SpanLabError
        when tasks that share a head do not agree about its size.
    """
    heads: dict[str, int] = {}
    for name, task in tasks.items():
        if heads.setdefault(task.head, task.outputs) != task.outputs:
            raise SpanLabError(
                f"the task '{name}' wants {task.outputs} outputs of the head '{task.head}', another task"
                f" {heads[task.head]}; make them agree"
            )
    return heads


class DelayLine(StrictModel):
    """Start of some of the recurrent units as a shift register of ``slots`` groups of ``width``
    units.

    Each group hands its content to the next at every step.
    """

    slots: Annotated[int, Field(ge=2, le=100)] = Field(
        10,
        description=(
            "groups of units, which is the number of steps for which an item can be held at the start of training"
        ),
    )
    width: Width = Field(32, description="units in a group")
    gain: Annotated[float, Field(gt=0, le=3)] = Field(
        1.2, description="strength of the connection from a unit to its successor"
    )


class ModelSettings(StrictModel):
    """Settings that all networks have. Unknown keys are refused."""

    architecture: str = Field("lstm", description="the memory, by its registered name")
    hidden: Width = Field(480, description="units of the memory")
    options: dict[str, Any] = Field(
        default_factory=dict, description="settings that the architecture declares itself, such as layers"
    )


class CompactSettings(ModelSettings):
    """The sizes of the compact network, which an ordinary laptop can train."""

    encoder: Literal["compact", "worm"] = Field(
        "compact", description="compact, or worm for the networks of the published benchmark"
    )
    filters: Width = Field(96, description="filters of the encoder, each as large as a window")
    code: Width = Field(32, description="size of the code of one window")
    windows: Annotated[int, Field(ge=1, le=8)] = Field(
        3, description="windows of the encoder per row and column of the frame"
    )
    window_px: Annotated[int, Field(ge=3, le=32)] = Field(
        11, description="side in pixels to which each window, and the whole frame for the overview, is resized"
    )
    components: Width = Field(640, description="number of decorrelated components of the pixels")
    summary: Width = Field(256, description="size of the summary of the components for the memory")
    context: Width = Field(128, description="size of the code of the kind of frame, for the gate of the read-out")
    embedding: Width = Field(16, description="size of the task embedding")
    match: bool = Field(
        True,
        description=(
            "whether the state is compared with the encoder's output (a template for each window) before the heads"
        ),
    )
    products: Annotated[int, Field(ge=0, le=4096)] = Field(
        0,
        description=(
            "number of products of the state with the present frame that the heads read; they tell same from different"
        ),
    )
    aligned: bool = Field(
        False,
        description="whether an answer that is a place on the screen starts out as what matches there; only with match",
    )
    compared: bool = Field(
        False,
        description=(
            "whether products begin as comparisons of what the delay line holds with what is seen now; needs as many"
            " products as the line has units"
        ),
    )
    start: Literal["delay_line", "orthogonal", "plain"] = Field(
        "delay_line", description="initial weights of the memory; plain: PyTorch's default"
    )
    delay_line: DelayLine = Field(DelayLine.model_validate({}), description="for start: delay_line")

    @model_validator(mode="after")
    def _fits(self) -> CompactSettings:
        if self.start == "delay_line" and self.delay_line.slots * self.delay_line.width > self.hidden:
            raise ValueError(
                f"a delay line of {self.delay_line.slots} x {self.delay_line.width} units does not fit into"
                f" {self.hidden} recurrent units"
            )
        if self.compared and (
            self.start != "delay_line" or self.products < self.delay_line.slots * self.delay_line.width
        ):
            raise ValueError(
                "compared needs start: delay_line, and at least as many products as the delay line has units (slots x"
                " width)"
            )
        return self


class WormSettings(ModelSettings):
    """The sizes of the networks of the WorM benchmark (Sikarwar & Zhang, 2023): a convolutional
    eye, one memory, linear heads."""

    encoder: Literal["worm"]
    hidden: Width = Field(256, description="units of the memory")
    inputs: Width | None = Field(
        None,
        description=(
            "inputs of the memory at each step, task embedding included; if not given, as published: 512, or the number"
            " of units"
        ),
    )
    embedding: Width = Field(14, description="size of the task embedding")


def _family(data: Any) -> str:
    """Return which class of settings some data are for; data that are none are told of by the class
    of most networks."""
    encoder = data.get("encoder") if isinstance(data, Mapping) else getattr(data, "encoder", None)
    return "worm" if encoder == "worm" else "compact"


#: Settings of any network, told apart by ``encoder``.
Settings = Annotated[
    Annotated[CompactSettings, Tag("compact")] | Annotated[WormSettings, Tag("worm")], Discriminator(_family)
]

_SETTINGS: TypeAdapter[CompactSettings | WormSettings] = TypeAdapter(Settings)


def model_settings(**values: Any) -> CompactSettings | WormSettings:
    """Settings from their keys: ``model_settings(encoder="worm", architecture="gru", hidden=96)``."""
    return _SETTINGS.validate_python(values)


def reading(tasks: Mapping[str, Task]) -> list[str]:
    """The tasks in which vectors of words are read."""
    return [name for name, task in tasks.items() if task.reads]


def most_words(tasks: Mapping[str, Task]) -> int:
    """How many words a network reads at a step, at most."""
    return max(1, *(task.reads for task in tasks.values()))


def need_torch() -> None:
    """Check that torch can be imported.

    Raises
    ------
    SpanLabError
        when it cannot, with what to install.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise SpanLabError(
            f"networks need PyTorch, which cannot be imported here ({error}); install it with: pip install"
            " 'spanlab[networks]'"
        ) from None
