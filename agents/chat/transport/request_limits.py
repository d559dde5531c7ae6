"""Treatment of a chat server: time limits, repeats, requests at once, budgets. None of it shapes
the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ....core.errors import SpanLabError
from ....paradigms.language.diagnostics import validated


class RequestLimits(BaseModel):
    """Treatment of the server. None of it shapes the answers.

    A limit that is None does not hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float = Field(
        default=120, gt=0, description="longest time for one reply in seconds, from the request to the last byte"
    )
    max_retries: int = Field(
        default=12,
        ge=0,
        le=100,
        description="how often a request is repeated after a temporary error (429, 5xx, lost connection)",
    )
    max_retries_begun: int = Field(
        default=4,
        ge=0,
        le=100,
        description=(
            "how often, if a reply that has to be paid for may have been under way: it came too late, was cut off or"
            " cannot be read"
        ),
    )
    concurrency: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="requests and trials at once; if not given, as many as the server accepts",
    )
    max_concurrency: int = Field(
        default=64, ge=1, le=10_000, description="most requests at once if their number adapts to the server"
    )
    requests_per_minute: int | None = Field(default=None, ge=1, description="most requests per minute")
    tokens_per_minute: int | None = Field(
        default=None, ge=1, description="most tokens per minute, in requests and replies together"
    )
    cache: Path | None = Field(default=None, description="folder of replies that other sessions paid for")
    max_cost: float | None = Field(
        default=None,
        gt=0,
        description="the session stops before it costs more than this, in the currency of the prices",
    )
    fail_on_error: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description=(
            "the session stops if more than this share of its trials fail, and whatever the share if the first three"
            " or more fail and none is finished; until then it continues without them"
        ),
    )
    max_tokens_in_all: int | None = Field(
        default=None, ge=1, description="the session stops before it takes more tokens than this"
    )
    batch: Literal["wait", "leave"] | None = Field(
        default=None,
        description=(
            "requests are submitted together to the server's batch API: wait for the replies, or leave and fetch them"
            " later"
        ),
    )
    batch_requests: int | None = Field(
        default=None, ge=1, le=50_000, description="with batch: most requests in one batch; if not given, 50,000"
    )
    batch_poll_s: float | None = Field(
        default=None,
        gt=0,
        description="with batch: longest time between two looks at its state, in seconds; if not given, 60",
    )

    @classmethod
    def read(cls, values: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RequestLimits:
        """Read the treatment of a server from plain values.

        Parameters
        ----------
        names : how fields (and all of it, by the empty name) are called in a message, where they
            are options of the command line

        Raises
        ------
        SpanLabError
            naming everything that is unknown or out of bounds.
        """
        request_limits, wrong = validated(cls, values)
        if wrong or not isinstance(request_limits, cls):
            named = {"": "care", **{field: f"care > {field}" for field in cls.model_fields}, **(names or {})}
            raise SpanLabError(
                "; ".join(f"{named.get(str(path[0]) if path else '', 'care')}: {message}" for path, message in wrong)
            )
        return request_limits
