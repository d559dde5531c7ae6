"""What commands say and ask about chat models: how their servers are treated, what a session is going to cost, what it did cost. Part of the command line."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..arguments import parse_pairs
from ..core.agent_kinds import CHAT
from ..errors import SpanLabError

if TYPE_CHECKING:
    from ..agents.chat.agent import ChatAgent
    from ..agents.protocol import Agent
    from ..paradigms import Paradigm, PlannedTrial
    from ..sessions import Request, Session

ConcurrencyOption = Annotated[
    int | None, typer.Option("--concurrency", help="chat agents: so many requests at once, always; as many as the server likes when not given", min=1)
]
MaxCostOption = Annotated[float | None, typer.Option("--max-cost", help="chat agents: stop each session before it costs more (needs a price)")]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", help="chat agents: stop each session before it takes more tokens in all, read and written", min=1)
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option("--price", help="of a chat model: what a million tokens cost, read and written; for one of several agents AGENT=IN/OUT", metavar="IN/OUT"),
]
CacheOption = Annotated[Path | None, typer.Option("--cache", help="chat agents: folder in which replies are kept for other sessions", metavar="DIR")]
FailOnErrorOption = Annotated[
    float | None,
    typer.Option("--fail-on-error", help="chat agents: stop when more than this share of trials cannot be had (0.1)", metavar="SHARE", min=0, max=1),
]
CareOption = Annotated[
    list[str] | None,
    typer.Option("--care", help="how a chat server is treated, such as timeout_s=60 or requests_per_minute=500; may be repeated", metavar="NAME=VALUE"),
]

#: an estimate looks at so many kinds of trials at most, evenly taken from all
_MOST_KINDS = 60


def care_given(
    concurrency: int | None,
    max_cost: float | None,
    max_tokens: int | None,
    cache: Path | None,
    fail_on_error: float | None,
    more: list[str] | None,
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """How the servers of chat agents are to be treated, as options say it; fields of ``Care``.

    Parameters
    ----------
    before : what held before, in a session that goes on

    Raises
    ------
    SpanLabError
        naming everything that is unknown, out of bounds or said twice.
    """
    options = {"concurrency": concurrency, "max_cost": max_cost, "max_tokens_in_all": max_tokens, "cache": cache, "fail_on_error": fail_on_error}
    chosen = {name: value for name, value in options.items() if value is not None}
    pairs = parse_pairs(more, "--care")
    twice = [name for name in pairs if name in chosen]
    if twice:
        raise SpanLabError(f"--care says {' and '.join(twice)} again: once is enough")
    values = {**chosen, **pairs}
    if not values:
        return dict(before or {})
    from ..agents.chat.care import Care
    from ..paradigms.problems import validated

    _, wrong = validated(Care, values)
    if wrong:
        spelt = {"max_tokens_in_all": "--max-tokens", **{name: "--" + name.replace("_", "-") for name in ("max_cost", "concurrency", "cache", "fail_on_error")}}
        raise SpanLabError("; ".join(f"{spelt.get(str(path[0]), '--care')}: {message}" if path else message for path, message in wrong))
    return {**(before or {}), **values}


def noted(agent: Agent) -> dict[str, Any]:
    """What the record of a session says of an agent besides its settings: how the server is treated, and prices."""
    chat = _chat(agent)
    if chat is None:
        return {}
    prices = chat.account.prices
    known = {"prices": prices, "judge_prices": None if chat.judge is None else chat.judge.account.prices}
    noted = {name: found.model_dump(exclude_none=True) for name, found in known.items() if found is not None}
    return {"care": chat.care.model_dump(mode="json", exclude_none=True), **noted}


def estimated(agent: Agent, paradigm: Paradigm, planned: Sequence[PlannedTrial], request: Request) -> dict[str, Any]:
    """Say what a session is going to take, for a chat agent; the estimate for the record."""
    chat = _chat(agent)
    if chat is None:
        return {}
    from ..agents.chat.estimate import estimate
    from ..paradigms.identity import canonical
    from ..sessions.session import brief

    kinds: dict[str, list[PlannedTrial]] = {}
    for one in planned:
        kinds.setdefault(canonical(one.levels), []).append(one)
    some = list(kinds.values())[:: math.ceil(len(kinds) / _MOST_KINDS)]
    share = len(planned) / sum(map(len, some))
    trials = []
    for alike in some:
        trial = alike[0].compile(paradigm, request.generator)
        percepts = [step.shown_after("right") for step in trial.steps if step.percept.model_step]
        trials.append((brief(agent, paradigm, request.language, trial), percepts, len(alike) * share))
    found = estimate(chat, trials)
    foresee(chat, found.noted())
    say(f"{agent.name}: {found}")
    return {"estimate": found.noted()}


def foresee(chat: ChatAgent, estimate: Mapping[str, Any]) -> None:
    """Tell the accounts of a chat agent, and of its judge, what an estimate has foreseen, as the record keeps it."""
    chat.account.foresee(estimate["requests"], estimate["prompt_tokens"], estimate["completion_tokens"])
    if chat.judge is not None and (judge := estimate.get("judge")):
        chat.judge.account.foresee(judge["requests_at_most"], judge["prompt_tokens_at_most"], judge["completion_tokens_at_most"])


def take_up(agent: Agent, session: Session) -> None:
    """Let a chat agent's account go on from what earlier parts of its session took."""
    chat = _chat(agent)
    if chat is not None:
        from ..sessions.transcripts import Transcript

        read = Transcript(session.folder)
        chat.account.carry(read.totals())
        if chat.judge is not None:
            chat.judge.account.carry(read.totals(judge=True))
        chat.account.warn = say
        if foreseen := session.info.get("estimate"):
            foresee(chat, foreseen)


def account_for(agent: Agent, session: Session) -> None:
    """Put what a chat session took so far, all its parts together, into its record, and say it."""
    if _chat(agent) is None:
        return
    from ..agents.chat.totals import told
    from ..sessions.disk import only_writer
    from ..sessions.record import read_session
    from ..sessions.session import write_info
    from ..sessions.transcripts import Transcript

    try:
        account = Transcript(session.folder).account()
        with only_writer(session.folder):
            write_info(session.folder, {**read_session(session.folder), "account": account})
    except SpanLabError as error:  # it must not hide what has stopped the session
        say(f"there is no account of this session: {error}")
    else:
        say(f"{agent.name}: {told(account)}")


def say(sentence: str) -> None:
    """Something for the person at the terminal, apart from what a command prints."""
    print(sentence, file=sys.stderr)


def _chat(agent: Agent) -> ChatAgent | None:
    if agent.kind is not CHAT:
        return None
    from ..agents.chat.agent import ChatAgent

    return agent if isinstance(agent, ChatAgent) else None
