"""Agents by name: ``chance``, ``ideal``, ``capacity:4``, ``network:laptop``, ``chat:MODEL``, ``simulated:capacity``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..components import nearest
from ..errors import SpanLabError
from .protocol import Agent

if TYPE_CHECKING:
    from .chat.agent import ChatAgent
    from .chat.settings import ChatSettings
    from .chat.totals import Prices

#: what may stand before the colon, with one line of help
KINDS: dict[str, str] = {
    "chance": "guesses",
    "ideal": "oracle: remembers everything",
    "capacity": "oracle: a limited buffer with decay; capacity:PLACES sets its size",
    "network": "a trained network: network:laptop ships, network:FILE is a checkpoint of yours",
    "chat": "a chat model behind an OpenAI-compatible endpoint: chat:MODEL, or chat:MODEL@PROVIDER (see spanlab providers)",
    "simulated": "oracle: presses real keys and clicks in the real window; simulated:OBSERVER",
}


def make_agent(
    spec: str,
    seed: int = 0,
    window: Mapping[str, Any] | None = None,
    chat: Mapping[str, Any] | ChatSettings | None = None,
    care: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
) -> Agent:
    """The agent that a name stands for. Names split at the first colon only (``chat:org/model:free``).

    Parameters
    ----------
    spec : KIND or KIND:DETAIL
    seed : for agents whose reaction times are random
    window : for agents at a window: its size, the distance, the speed ... (arguments of ``SimulatedParticipant``)
    chat : settings of chat agents, by name, or as they are
    care : how the servers of chat agents are treated, by name; a provider's limits where nothing is said
    prices : of a chat model, in place of its provider's

    Raises
    ------
    SpanLabError
        for an unknown name, or when the agent cannot be had (no key, no checkpoint, no display).
    """
    kind, _, detail = spec.partition(":")
    if kind == "published":
        raise SpanLabError(
            f"'{spec}' is known by its published answers only: bring them in with spanlab import nback-results, give them again with --agent recorded:SESSION"
        )
    if kind not in KINDS:
        raise SpanLabError(f"unknown agent '{spec}'{nearest(kind, KINDS) or '; there are ' + ', '.join(KINDS)}")
    if kind in ("chance", "ideal") and detail:
        raise SpanLabError(f"the agent '{kind}' takes nothing after a colon; found '{spec}'")
    if kind == "chance":
        from .simulated import Chance

        return Chance()
    if kind == "ideal":
        from .simulated import IdealAgent

        return IdealAgent()
    if kind == "capacity":
        from .observers import capacity_observer
        from .simulated import CapacityAgent

        return CapacityAgent(capacity_observer(detail), spec)
    if kind == "network":
        from .network.agent import NetworkAgent

        return NetworkAgent(detail or "laptop")
    if kind == "chat":
        return _chat(detail, chat or {}, care or {}, prices)
    from .participant.simulated import SimulatedParticipant

    return SimulatedParticipant(observer=detail or "capacity", seed=seed, name=f"simulated:{detail or 'capacity'}", **(window or {}))


def _chat(detail: str, chat: Mapping[str, Any] | ChatSettings, care: Mapping[str, Any], prices: Prices | None) -> ChatAgent:
    from .chat.account import Account
    from .chat.agent import ChatAgent
    from .chat.care import Care
    from .chat.providers import serving
    from .chat.settings import ChatSettings

    served = serving(detail)
    beside = {} if served.provider is None else {"max_tokens_field": served.provider.max_tokens_field}
    treated = Care(**{**served.care, **care})
    prices = prices or served.prices
    if treated.max_cost is not None and prices is None:
        raise SpanLabError(
            f"--max-cost needs the price of chat:{detail}: give it with --price IN/OUT (a million tokens read, written), or in a file of providers"
        )
    settings = chat if isinstance(chat, ChatSettings) else ChatSettings.read({**beside, **chat})
    return ChatAgent(served.model, settings, served.endpoint, treated, account=Account(treated, prices))
