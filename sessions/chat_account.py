"""What the record of a chat model's session says beside its answers: how its server is treated, what the session was going to take, what it took."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..agents.base import Agent
from ..core.agent_kinds import CHAT
from ..core.atomic_files import only_writer
from ..core.errors import SpanLabError
from ..paradigms import Paradigm, PlannedTrial
from ..paradigms.identity import canonical
from .before_trials import apart_for, with_examples
from .record.reader import read_session
from .session import Request, Session, brief, practice_of, write_info

if TYPE_CHECKING:
    from ..agents.chat.agent import ChatAgent

#: takes a sentence for whoever has started a session
Say = Callable[[str], None]

#: an estimate looks at so many kinds of trials at most, evenly taken from all
_MOST_KINDS = 60


def treatment_of(agent: Agent) -> dict[str, Any]:
    """What the record of a session says of an agent besides its settings: how its server is treated, and prices."""
    chat = _chat(agent)
    if chat is None:
        return {}
    prices = chat.account.prices
    known = {"prices": prices, "judge_prices": None if chat.judge is None else chat.judge.account.prices}
    described = {name: found.model_dump(exclude_none=True) for name, found in known.items() if found is not None}
    return {"care": chat.request_limits.model_dump(mode="json", exclude_none=True), **described}


def estimate_session(agent: Agent, paradigm: Paradigm, planned: Sequence[PlannedTrial], request: Request, say: Say) -> dict[str, Any]:
    """Say what a session is going to take, for a chat agent; the estimate for the record."""
    chat = _chat(agent)
    if chat is None:
        return {}
    from ..agents.chat.cost.estimate import Rehearsed, estimate

    apart = apart_for(chat, paradigm, request.generator, request.seed, planned)
    kinds: dict[str, list[PlannedTrial]] = {}
    for planned_trial in planned:
        kinds.setdefault(canonical(planned_trial.levels), []).append(planned_trial)
    # where trials are one conversation, each counts with those before it
    some = list(kinds.values())[:: 1 if chat.remembers else math.ceil(len(kinds) / _MOST_KINDS)]
    share = len(planned) / sum(map(len, some))

    def rehearsed(one: PlannedTrial, times: float = 1.0) -> Rehearsed:
        trial = one.compile(paradigm, request.generator)
        percepts = [step.shown_after("right") for step in trial.steps if step.percept.model_step]
        told = replace(brief(chat, paradigm, request.language, trial), practice=one.practice)
        return Rehearsed(with_examples(told, chat, apart, trial.levels), percepts, times)

    number = {key: place for place, key in enumerate(kinds)}
    order = [(one.block, number[canonical(one.levels)]) for one in planned] if chat.remembers else []
    practice = practice_of(paradigm, chat, planned, request)
    rounds = paradigm.practice.at_most if paradigm.practice is not None and practice else 0
    told = f"with one round of practice, of at most {rounds}" if rounds > 1 else "with practice" if rounds else ""
    found = estimate(chat, [rehearsed(alike[0], len(alike) * share) for alike in some], [rehearsed(one) for one in practice], order, told)
    if apart is not None:
        for one in practice:
            apart.practice(one)
        if apart.shared:
            say(f"{agent.name}: the paradigm has too few different trials, so that {', '.join(apart.shared)} shows what a trial of the session shows, too")
    _foresee(chat, found.to_record())
    say(f"{agent.name}: {found}")
    return {"estimate": found.to_record()}


def continue_account(agent: Agent, session: Session, say: Say) -> None:
    """Let a chat agent's account go on from what earlier parts of its session took."""
    chat = _chat(agent)
    if chat is None:
        return
    from .transcripts import Transcript

    read = Transcript(session.folder)
    chat.account.carry(read.totals())
    if chat.judge is not None:
        chat.judge.account.carry(read.totals(judge=True))
    chat.account.warn = say
    if foreseen := session.info.get("estimate"):
        _foresee(chat, foreseen)


def write_account(agent: Agent, session: Session, say: Say) -> None:
    """Put what a chat session took so far, all its parts together, into its record, and say it."""
    if _chat(agent) is None:
        return
    from ..agents.chat.cost.totals import describe_account
    from .transcripts import Transcript

    try:
        account = Transcript(session.folder).account()
        with only_writer(session.folder):
            write_info(session.folder, {**read_session(session.folder), "account": account})
    except SpanLabError as error:  # it must not hide what has stopped the session
        say(f"there is no account of this session: {error}")
    else:
        say(f"{agent.name}: {describe_account(account)}")


def chat_settings_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a chat agent in a session's record, without what its name says."""
    return {name: value for name, value in info["agent_settings"].items() if name not in ("model", "endpoint", "provider")}


def _foresee(chat: ChatAgent, estimate: Mapping[str, Any]) -> None:
    """Tell the accounts of a chat agent, and of its judge, what an estimate has foreseen, as the record keeps it."""
    chat.account.foresee(estimate["requests"], estimate["prompt_tokens"], estimate["completion_tokens"])
    if chat.judge is not None and (judge := estimate.get("judge")):
        chat.judge.account.foresee(judge["requests_at_most"], judge["prompt_tokens_at_most"], judge["completion_tokens_at_most"])


def _chat(agent: Agent) -> ChatAgent | None:
    if agent.kind is not CHAT:
        return None
    from ..agents.chat.agent import ChatAgent

    return agent if isinstance(agent, ChatAgent) else None
