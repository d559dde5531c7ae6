"""The protocol of a chat session as declared settings: whatever shapes the answers, and nothing secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...components import nearest
from ...errors import SpanLabError


class Patience(BaseModel):
    """How the server is treated. None of it shapes the answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float = Field(default=120, gt=0, description="seconds to wait for one reply")
    max_retries: int = Field(default=4, ge=0, le=100, description="how often one request is repeated after a transient fault (429, 5xx, lost connection)")
    concurrency: int = Field(default=8, ge=1, le=1000, description="how many trials may be under way at once")


class ChatSettings(BaseModel):
    """How a trial is put to a chat model and how its replies are read.

    Sampling settings that are None are not sent, so that the server's own default holds (some models refuse any other).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, description="sampling temperature; not sent when not given")
    top_p: float | None = Field(default=None, gt=0, le=1, description="nucleus sampling; not sent when not given")
    max_tokens: int | None = Field(default=None, ge=1, description="longest reply in tokens; not sent when not given")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(default="max_tokens", description="name under which the server takes max_tokens")
    seed: int | None = Field(default=None, description="sampling seed, for servers that honour one; not sent when not given")
    instructions_as: Literal["system", "developer", "user"] = Field(
        default="system", description="role of the instructions; as user they open the first user message"
    )
    preamble: str = Field(default="Each display is described in words.", description="sentence put before the paradigm's instructions; may be empty")
    view: Literal["words"] = Field(default="words", description="how displays reach the model")
    delivery: Literal["merged"] = Field(default="merged", description="everything since the last question goes into one user message")
    history: Literal["full"] = Field(default="full", description="which part of a reply the model sees again: all of it")
    reask: int = Field(default=1, ge=0, le=100, description="how often the question is put again after a reply that cannot be read as an answer")
    reask_text: str = Field(default="That could not be read as an answer.", min_length=1, description="what is said before the question is put again")
    conversation_header: str | None = Field(default=None, description="name of a request header that tells a server with a memory which conversation it is in")
    label: str = Field(default="", description="what figures and tables must say of this agent, such as 'scripted server, not a model'")

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> ChatSettings:
        """Settings from plain values, such as those of a command line.

        Raises
        ------
        SpanLabError
            naming every setting that is unknown or out of bounds.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            found = error.errors(include_url=False)
        said = []
        for problem in found:
            key = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":  # its value is not repeated: it may be a key that does not belong here
                said.append(f"there is no setting '{key}'{nearest(key, cls.model_fields)}")
            else:
                said.append(f"'{key}': {problem['msg']} (found {problem['input']!r})")
        raise SpanLabError(f"chat settings: {'; '.join(said)}")

    def sampling(self) -> dict[str, Any]:
        """The sampling arguments of a request: those that are set."""
        chosen = {"temperature": self.temperature, "top_p": self.top_p, self.max_tokens_field: self.max_tokens, "seed": self.seed}
        return {key: value for key, value in chosen.items() if value is not None}
