"""Messages of pages to the server, checked before anything is done with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..participant.channel import PageEvent
from ..participant.screen import ScreenReport

_Name = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


_Parameter = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
#: JSON has no larger whole numbers that every reader understands.
_LARGEST = 2**53


def _written(value: Any) -> Any:
    """The value, if JSON can hold all of it.

    Raises
    ------
    ValueError
        for NaN, infinite and far too large numbers.
    """
    if isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            _written(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            _written(inner)
    elif isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
        raise ValueError("a number that cannot be recorded")
    return cast(Any, value)


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hello(_Message):
    """A page connects: who takes part, which loaded page it is, and what it knows already."""

    type: Literal["hello"]
    participant: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    session: Annotated[str, Field(max_length=2, pattern=r"^[0-9]*$")] = ""
    link: Annotated[dict[_Parameter, Annotated[str, Field(max_length=300)]], Field(max_length=20)] = {}
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
    kind: Literal["done", "choice", "form", "step", "end", "cut", "leave", "calibrated", "pulses"]
    place: Annotated[int, Field(ge=-1, le=100_000)]
    body: Annotated[dict[str, Any], AfterValidator(_written)]

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
