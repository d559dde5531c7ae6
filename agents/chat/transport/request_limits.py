"""How a chat server is treated: time limits, repeats, requests at once, budgets. None of it shapes the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ....core.errors import SpanLabError
from ....paradigms.language.diagnostics import validated


class RequestLimits(BaseModel):
    """How the server is treated. None of it shapes the answers.

    A limit that is None does not hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float = Field(default=120, gt=0, description="seconds that one reply may take in all, from the request to its last byte")
    max_retries: int = Field(default=12, ge=0, le=100, description="how often one request is repeated after a transient fault (429, 5xx, lost connection)")
    max_retries_begun: int = Field(
        default=4,
        ge=0,
        le=100,
        description="of these, how often where a reply that has to be paid for may have been under way: it came too late, was cut off or cannot be read",
    )
    concurrency: int | None = Field(default=None, ge=1, le=10_000, description="requests and trials under way at once; not given: as many as the server likes")
    max_concurrency: int = Field(default=64, ge=1, le=10_000, description="most requests at once when their number follows the server")
    requests_per_minute: int | None = Field(default=None, ge=1, description="requests a minute at most")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="tokens a minute at most, of requests and replies together")
    cache: Path | None = Field(default=None, description="folder of replies that were paid for in other sessions")
    max_cost: float | None = Field(default=None, gt=0, description="the session stops before it costs more, in the currency of the prices")
    fail_on_error: float = Field(
        default=0.1, ge=0, le=1, description="the session stops when more than this share of its trials cannot be had; up to then it goes on without them"
    )
    max_tokens_in_all: int | None = Field(default=None, ge=1, description="the session stops before it takes more tokens")

    @classmethod
    def read(cls, values: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RequestLimits:
        """How a server is treated, from plain values.

        Parameters
        ----------
        names : how fields (and all of it, by the empty name) are called in a message, where they are options of the command line

        Raises
        ------
        SpanLabError
            naming everything that is unknown or out of bounds.
        """
        request_limits, wrong = validated(cls, values)
        if wrong or not isinstance(request_limits, cls):
            named = {"": "care", **{field: f"care > {field}" for field in cls.model_fields}, **(names or {})}
            raise SpanLabError("; ".join(f"{named.get(str(path[0]) if path else '', 'care')}: {message}" for path, message in wrong))
        return request_limits
