"""Who answers: the protocol of agents, and every agent that ships.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import re_exports

if TYPE_CHECKING:
    from .base import (
        Agent,
        AgentKind,
        AgentOptions,
        BatchAgent,
        ConcurrentAgent,
        Cost,
        Episode,
        Ledger,
        Outlook,
        Response,
        TrialContext,
        WindowAgent,
        WindowEpisode,
    )
    from .registry import AGENTS, make_agent

__getattr__ = re_exports(
    __name__,
    {
        "base": (
            *("Agent", "AgentKind", "AgentOptions", "BatchAgent", "ConcurrentAgent", "Cost", "Ledger", "Outlook"),
            *("Episode", "Response", "TrialContext", "WindowAgent", "WindowEpisode"),
        ),
        "registry": ("AGENTS", "make_agent"),
    },
)

__all__ = [
    "AGENTS",
    "Agent",
    "AgentKind",
    "AgentOptions",
    "BatchAgent",
    "ConcurrentAgent",
    "Cost",
    "Episode",
    "Ledger",
    "Outlook",
    "Response",
    "TrialContext",
    "WindowAgent",
    "WindowEpisode",
    "make_agent",
]
