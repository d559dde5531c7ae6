"""What pages send to the server, checked before anything is done with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..participant.channel import PageEvent
from ..participant.screen import ScreenReport

_Name = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hello(_Message):
    """A page connects: who takes part, which loaded page it is, and what it knows already."""

    type: Literal["hello"]
    participant: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    session: Annotated[str, Field(max_length=2, pattern=r"^[0-9]*$")] = ""
    instance: _Name
    epoch: Annotated[str, Field(max_length=40)]
    last: Annotated[int, Field(ge=0, le=10**9)]
    screen: ScreenReport


class Event(_Message):
    """Something has happened on a page."""

    type: Literal["event"]
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{24}:[0-9]{1,9}$")]
    epoch: Annotated[str, Field(max_length=40)]
    c: Annotated[int, Field(ge=0, le=10**9)]
    kind: Literal["done", "choice", "form", "step", "end", "cut", "leave"]
    place: Annotated[int, Field(ge=-1, le=100_000)]
    body: dict[str, Any]

    def event(self) -> PageEvent:
        """As the session takes it."""
        return PageEvent(self.id, self.epoch, self.c, self.kind, self.place, self.body)


class Resized(_Message):
    """The page has another size now."""

    type: Literal["screen"]
    screen: ScreenReport


Message = Hello | Event | Resized
_READ: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def read_message(text: str) -> Message | None:
    """A message of a page; None for anything else."""
    try:
        return _READ.validate_json(text)
    except ValidationError:
        return None
