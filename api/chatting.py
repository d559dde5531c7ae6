"""Options for chat models: limits for requests to their servers, and prices. Part of the command
line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import SpanLabError
from .options import parse_pairs

ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        help="chat agents: fixed number of parallel requests; by default as many as the server allows",
        min=1,
    ),
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", help="chat agents: stop each session before it costs more (needs a price)")
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        help="chat agents: stop each session before it uses more tokens in total, read and written",
        min=1,
    ),
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        help="chat agents: price of a million tokens, read and written; for one of several agents AGENT=IN/OUT",
        metavar="IN/OUT",
    ),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="chat agents: folder in which replies are kept for reuse by other sessions", metavar="DIR"
    ),
]
FailOnErrorOption = Annotated[
    float | None,
    typer.Option(
        "--fail-on-error",
        help="chat agents: stop when more than this share of trials fail (0.1)",
        metavar="SHARE",
        min=0,
        max=1,
    ),
]
CareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--care",
        help="limits for requests to a chat server, such as timeout_s=60 or requests_per_minute=500; may be repeated",
        metavar="NAME=VALUE",
    ),
]
BatchOption = Annotated[
    bool | None,
    typer.Option(
        "--batch/--no-batch",
        help="chat agents: submit requests together to the batch API of the provider (half price, up to 24 h)",
        show_default=False,
    ),
]
NoWaitOption = Annotated[
    bool,
    typer.Option(
        "--no-wait", help="with --batch: submit or fetch, and do not wait; spanlab resume fetches the replies later"
    ),
]


def batch_given(batch: bool | None, no_wait: bool, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Turn the options for batches into fields of ``RequestLimits``.

    Parameters
    ----------
    before : what held before, in a session that goes on: it waits, unless it is told not to

    Raises
    ------
    SpanLabError
        when nothing goes in batches, and that is not to be waited for.
    """
    now = bool((before or {}).get("batch")) if batch is None else batch
    if no_wait and not now:
        raise SpanLabError("--no-wait is for requests that go in a batch: add --batch, or leave it out")
    if now:
        return {"batch": "leave" if no_wait else "wait"}
    return {} if batch is None else {"batch": None}


def care_given(
    concurrency: int | None,
    max_cost: float | None,
    max_tokens: int | None,
    cache: Path | None,
    fail_on_error: float | None,
    more: list[str] | None,
    before: Mapping[str, Any] | None = None,
    batch: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The limits for requests to chat servers from the options, as fields of ``RequestLimits``.

    Parameters
    ----------
    before : what held before, in a session that goes on
    batch : how requests go in batches

    Raises
    ------
    SpanLabError
        naming everything that is unknown, out of bounds or said twice.
    """
    options = {
        "concurrency": concurrency,
        "max_cost": max_cost,
        "max_tokens_in_all": max_tokens,
        "cache": cache,
        "fail_on_error": fail_on_error,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    pairs = parse_pairs(more, "--care")
    chosen |= batch or {}
    twice = [name for name in pairs if name in chosen]
    if twice:
        raise SpanLabError(f"--care repeats {' and '.join(twice)}: give each once")
    values = {**chosen, **pairs}
    if not values:
        return dict(before or {})
    from ..agents.chat.transport.request_limits import RequestLimits

    names_of_options = {
        "max_tokens_in_all": "--max-tokens",
        **{name: "--" + name.replace("_", "-") for name in ("max_cost", "concurrency", "cache", "fail_on_error")},
    }
    RequestLimits.read(values, {**dict.fromkeys(["", *RequestLimits.model_fields], "--care"), **names_of_options})
    return {**(before or {}), **values}
