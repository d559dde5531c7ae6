"""What a network is made of: the declared sizes, without torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...errors import SpanLabError

#: Side of the frames that networks see, in pixels.
FRAME = 32

Width = Annotated[int, Field(ge=1, le=4096)]


class DelayLine(BaseModel):
    """How part of the recurrent units start: as a shift register of ``slots`` groups of ``width`` units.

    Each group hands its content to the next at every step.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    slots: Annotated[int, Field(ge=2, le=100)] = Field(10, description="groups of units; an item can be held for so many steps at the start of training")
    width: Width = Field(32, description="units in a group")
    gain: Annotated[float, Field(gt=0, le=3)] = Field(1.2, description="strength of the connection from a unit to its successor")


class ModelSettings(BaseModel):
    """The sizes of a network. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    architecture: str = Field("lstm", description="the recurrent part, by its registered name")
    hidden: Width = Field(480, description="recurrent units")
    filters: Width = Field(96, description="filters of the eye, each as large as a window")
    code: Width = Field(32, description="numbers by which the eye describes one window")
    windows: Annotated[int, Field(ge=1, le=8)] = Field(3, description="windows of the eye per row and column of the frame")
    window_px: Annotated[int, Field(ge=3, le=32)] = Field(11, description="side to which a window, and the whole frame for the overview, is brought")
    components: Width = Field(640, description="decorrelated components of the pixels")
    summary: Width = Field(256, description="numbers that summarise the components for the recurrent part")
    context: Width = Field(128, description="numbers that say what kind of frame it is, for the gate of the read-out")
    embedding: Width = Field(16, description="numbers by which a task is named")
    match: bool = Field(True, description="whether the state is compared with what the eye sees (a template for each window) before the heads")
    start: Literal["delay_line", "orthogonal"] = Field("delay_line", description="how the recurrent weights start")
    delay_line: DelayLine = Field(DelayLine.model_validate({}), description="for start: delay_line")

    @model_validator(mode="after")
    def _fits(self) -> ModelSettings:
        if self.start == "delay_line" and self.delay_line.slots * self.delay_line.width > self.hidden:
            raise ValueError(f"a delay line of {self.delay_line.slots} x {self.delay_line.width} units does not fit into {self.hidden} recurrent units")
        return self


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
        raise SpanLabError(f"networks need PyTorch, which cannot be imported here ({error}); install it with: pip install 'spanlab[networks]'") from None
