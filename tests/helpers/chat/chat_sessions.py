"""Sessions of a chat model whose replies are made by the test, with the conversation of every
request that was answered."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_trials import HERE

from spanlab.agents.chat import ChatAgent, ChatSettings, EndpointError, RequestLimits
from spanlab.agents.chat.messages import Reply, Request
from spanlab.agents.chat.transport.departure import Departures
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, PlannedTrial
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, Session, begin, read_responses, reopen
from spanlab.sessions.record.table import COLUMNS

LASTING = [column.name for column in COLUMNS if not column.measured and column.name != "session"]
Say = Callable[[list[dict[str, Any]]], str]


def words(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return (
        content if isinstance(content, str) else "\n\n".join(part["text"] for part in content if part["type"] == "text")
    )


def steady(*answers: str) -> Say:
    """One of some answers, by how long the conversation is: the same request has the same reply."""
    return lambda messages: answers[len(messages) // 2 % len(answers)]


def take(
    folder: Path,
    paradigm: Paradigm,
    plan: Sequence[PlannedTrial],
    say: Say,
    settings: Mapping[str, Any],
    seed: int = 4,
    stops: Sequence[int] = (),
) -> tuple[Session, list[list[dict[str, Any]]]]:
    """A session, and the conversation of each request that was answered. ``stops``: before the
    requests of these numbers the server refuses once."""
    asked: list[list[dict[str, Any]]] = []
    numbers, refused = itertools.count(1), set(stops)

    async def ask(request: Request, departures: Departures | None = None, fresh: bool = False) -> Reply:
        if departures is not None:
            departures.leaves()
            departures.gone()
        if next(numbers) in refused:
            raise EndpointError("pay first")
        messages = [message.sent() for message in request.messages]
        asked.append(messages)
        return Reply(content=say(messages), latency_ms=1.0)

    def agent() -> ChatAgent:
        made = ChatAgent("m", ChatSettings.read(settings), HERE, RequestLimits(concurrency=1, max_retries=0))
        made._client.ask = ask  # type: ignore[method-assign]
        return made

    taker = agent()
    session = begin(folder, paradigm, taker, plan, Wanted(seed=seed))
    for _ in stops:
        with pytest.raises(SpanLabError, match="pay first"):
            Runner(session, taker).run()
        session, taker = reopen(session.folder), agent()
    Runner(session, taker).run()
    return session, asked


def table(session: Session) -> pd.DataFrame:
    read = read_responses(session.folder)
    return (
        read[[name for name in read.columns if name in LASTING]]
        .sort_values(["practice", "trial"], kind="stable")
        .reset_index(drop=True)
    )
