"""What a network sees of a paradigm: which task it is, how wide its head is, and which of its classes answer which question."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class NetworkView(BaseModel):
    """The ``network`` part of a paradigm."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    task: str = Field(description="row of the task embedding, by name")
    head: int = Field(ge=1, description="number of outputs of the task's head")
    offset: int = Field(0, ge=0, description="first class that belongs to the paradigm's questions")
    filler: int = Field(0, description="label of steps beyond the end of the trial")
    silent: int | None = Field(None, description="label of steps without a question; not trained when not given")
    readout: Literal["allowed", "all_classes"] = Field("allowed", description="whether answers are read out among the allowed classes or over the whole head")
