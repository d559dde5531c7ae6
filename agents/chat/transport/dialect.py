"""What servers call the same things: found out by the first request that one refuses, which nobody
pays for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..messages import Message
from .endpoint import EndpointError

#: how servers say that they do not take the response format, and that they answer with streams alone
SCHEMA = re.compile("json_schema|response_format")
STREAM = re.compile(r"\bstream", re.IGNORECASE)
#: how they say that a model takes no system message
_SYSTEM = r"(system|developer).{0,3}(role|message|prompt|instruction)"
NO_SYSTEM = re.compile(
    rf"{_SYSTEM}s?\b.{{0,40}}\b(not|un)\s?-?(supported|allowed|enabled|accepted)"
    rf"|(not support|unsupported|doesn't support|not allow).{{0,20}}{_SYSTEM}|only user and assistant roles",
    re.IGNORECASE,
)
#: and that it takes turns of the user and its own alone
ALTERNATE = re.compile(r"roles? must alternate|alternat\w+ (user|roles)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server wants to be told the same things.

    Parameters
    ----------
    max_tokens : its name for the longest reply
    schema_as : how it takes a schema of answers: ``json_schema`` as OpenAI, or ``json_object``
    stream : whether it answers with a stream alone
    system : whether it takes a message of the system; else instructions begin the first message of the
        user
    """

    max_tokens: str = "max_tokens"
    schema_as: str = "json_schema"
    stream: bool = False
    system: bool = True

    def after(self, refusal: EndpointError, adapt: bool = False) -> tuple[Dialect, str]:
        """The dialect in which a refused request is put again, and what is said of that; the same
        and nothing where it would not help.

        Parameters
        ----------
        adapt : whether the model may be told the same in another role
        """
        said = str(refusal)
        if self.max_tokens == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, max_tokens="max_completion_tokens"), "wants max_completion_tokens for max_tokens"
        if self.schema_as == "json_schema" and SCHEMA.search(said):
            return replace(self, schema_as="json_object"), "takes schemas of answers as json_object"
        if adapt and self.system and NO_SYSTEM.search(said):
            return replace(self, system=False), "takes no system message: instructions begin the user's first message"
        if not self.stream and STREAM.search(said):
            return replace(self, stream=True), "answers with streams alone"
        return self, ""

    def put(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request in this dialect."""
        put = {self.max_tokens if name == "max_tokens" else name: value for name, value in fields.items()}
        form = put.get("response_format")
        if self.schema_as == "json_object" and form:
            put["response_format"] = {"type": "json_object", "schema": form["json_schema"]["schema"]}
        return {**put, "stream": True, "stream_options": {"include_usage": True}} if self.stream else put

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages of a conversation in this dialect."""
        if self.system or len(messages) < 2 or messages[0].role not in ("system", "developer"):
            return messages
        return [Message("user", messages[0].parts + messages[1].parts), *messages[2:]]
