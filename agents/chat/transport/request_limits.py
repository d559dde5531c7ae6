"""Treatment of a chat server: time limits, repeats, requests at once, budgets. None of it shapes
the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    concurrency: int = Field(
        default=32, ge=1, le=10_000, description="requests and trials at once; halved when the server is too busy"
    )
    max_wait_s: float = Field(
        default=600,
        gt=0,
        description="longest wait that a server may ask for, in seconds; when it asks for more, the session stops",
    )
    adapt: bool = Field(
        default=False,
        description=(
            "whether instructions go into the user's first message for a model that refuses messages of the system; the"
            " account says so"
        ),
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
    batch: bool = Field(
        default=False,
        description=(
            "requests through inspect_ai go in batches, where it has them for the provider (up to 24 hours, at the"
            " provider's price for batches)"
        ),
    )

    @classmethod
    def read(cls, values: Mapping[str, Any], options: Mapping[str, str] | None = None) -> RequestLimits:
        """Read the treatment of a server from plain values.

        Parameters
        ----------
        options : the parameters of a public function that fields were given by, where ``care`` has
            the others

        Raises
        ------
        SpanLabError
            naming everything that is unknown or out of bounds.
        """
        request_limits, wrong = validated(cls, values)
        if wrong or not isinstance(request_limits, cls):
            called = {field: f"care > {field}" for field in cls.model_fields}
            if options is not None:
                called = {field: f"{{{name}}}" for field, name in options.items()}
            told = "; ".join(f"{called.get(str(*path[:1]), '{care}')}: {message}" for path, message in wrong)
            raise SpanLabError(told, names=["care", *(options or {}).values()])
        return request_limits
