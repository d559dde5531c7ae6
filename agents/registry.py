"""Agents by name: ``chance``, ``ideal``, ``capacity:4``, ``network:laptop``, ``chat:MODEL``, ``simulated:capacity``, and those of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ..core.agent_kinds import AGENT_GROUP, CAPACITY, CHANCE, CHAT, IDEAL, KINDS, NETWORK, OBSERVER, SIMULATED, AgentKind
from ..core.errors import SpanLabError
from ..core.registry import Registry, nearest
from .base import Agent, AgentOptions

if TYPE_CHECKING:
    from .chat.cost.totals import Prices
    from .chat.settings import ChatSettings

#: where SpanLab's own agents are, which load when they are asked for
_HOMES: Mapping[AgentKind, tuple[str, str]] = {
    CHANCE: (".oracles", "Chance"),
    IDEAL: (".oracles", "IdealAgent"),
    CAPACITY: (".oracles", "CapacityAgent"),
    OBSERVER: (".gist", "GistObserver"),
    NETWORK: (".network.agent", "NetworkAgent"),
    CHAT: (".chat.agent", "ChatAgent"),
    SIMULATED: (".human.simulated", "SimulatedParticipant"),
}


class AgentRegistry(Registry[Agent]):
    """Classes of agents by what stands before the colon of their names: SpanLab's own, and those of other packages (entry points ``spanlab.agents``)."""

    def __init__(self) -> None:
        super().__init__("agent", AGENT_GROUP)

    @override
    def name_of(self, value: Any) -> str:
        if not (isinstance(value, type) and issubclass(value, Agent)):
            raise ValueError(f"{value!r} is not a subclass of Agent")
        if isabstract(value):
            raise ValueError(f"{value.__name__} does not define {', '.join(sorted(value.__abstractmethods__))}")
        kind = next((vars(base)["kind"] for base in value.__mro__ if "kind" in vars(base)), None)
        if kind is None:
            raise ValueError(f"{value.__name__} declares no kind, such as kind = AgentKind('{value.__name__.lower()}')")
        if kind.name in {known.name for known in KINDS}:
            raise ValueError(f"'{kind.name}' is a kind of SpanLab's own; give {value.__name__} one of its own, such as AgentKind('{value.__name__.lower()}')")
        return str(kind.name)

    def kinds(self) -> list[AgentKind]:
        """The kinds of agents that can be made by name: SpanLab's own, then those of other packages."""
        return [*_HOMES, *(self.get(name).kind for name in self)]

    def class_of(self, name: str) -> type[Agent] | None:
        """The class of agents that are called so, before the colon; None when there is none."""
        for kind, (module, cls) in _HOMES.items():
            if kind.name == name:
                return getattr(import_module(module, __package__), cls)
        return self.get(name) if name in self else None


AGENTS = AgentRegistry()


def make_agent(
    spec: str,
    seed: int = 0,
    window: Mapping[str, Any] | None = None,
    chat: Mapping[str, Any] | ChatSettings | None = None,
    care: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    tasks: frozenset[str] = frozenset(),
) -> Agent:
    """The agent that a name stands for. Names split at the first colon only (``chat:org/model:free``).

    Parameters
    ----------
    spec : KIND or KIND:DETAIL
    seed, window, chat, care, prices, tasks : see :class:`.AgentOptions`

    Raises
    ------
    SpanLabError
        for an unknown name, or when the agent is not available (no key, no checkpoint, no display).
    """
    name, _, detail = spec.partition(":")
    if name == "published":
        raise SpanLabError(
            f"'{spec}' is known only by its published answers: import them with spanlab import nback-results, and replay them with --agent recorded:SESSION"
        )
    cls = AGENTS.class_of(name)
    if cls is None:
        names = [kind.name for kind in AGENTS.kinds()]
        raise SpanLabError(f"unknown agent '{spec}'{nearest(name, names) or '; there are ' + ', '.join(names)}")
    agent = cls.from_name(detail, AgentOptions(seed, window or {}, chat or {}, care or {}, prices, tasks))
    if not isinstance(agent, Agent):
        raise SpanLabError(f"{cls.__name__}.from_name gave {agent!r} for '{spec}'; expected an Agent. This is a fault of the agent")
    return agent
