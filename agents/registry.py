"""Agents by name: ``chance``, ``ideal``, ``capacity:4``, ``network:laptop``, ``chat:MODEL``,
``simulated:capacity``, and those of other packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import isabstract
from typing import Any

from typing_extensions import override

from ..core.agent_kinds import (
    AGENT_GROUP,
    CAPACITY,
    CHANCE,
    CHAT,
    IDEAL,
    KINDS,
    NETWORK,
    PRECISION,
    SIMULATED,
    AgentKind,
)
from ..core.errors import SpanLabError
from ..core.registry import Registry, nearest
from ..paradigms.network_view import NetworkView
from .base import Agent, AgentOptions

#: names of chat models that are known everywhere
_MODEL = re.compile(
    r"[\w.-]+/[\w.:-]+$|(gpt|o\d|chatgpt|claude|gemini|gemma|llama|qwen|mistral|mixtral|deepseek|phi|grok|command)[-\d.:]",
    re.IGNORECASE,
)
#: where SpanLab's own agents are, which load when they are asked for
_HOMES: Mapping[AgentKind, tuple[str, str]] = {
    CHANCE: (".oracles", "Chance"),
    IDEAL: (".oracles", "IdealAgent"),
    CAPACITY: (".oracles", "CapacityAgent"),
    PRECISION: (".observers", "PrecisionAgent"),
    NETWORK: (".network.agent", "NetworkAgent"),
    CHAT: (".chat.agent", "ChatAgent"),
    SIMULATED: (".human.simulated", "SimulatedParticipant"),
}


class AgentRegistry(Registry[Agent]):
    """Classes of agents by what stands before the colon of their names: SpanLab's own, and those of
    other packages (entry points ``spanlab.agents``)."""

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
            raise ValueError(
                f"'{kind.name}' is a kind of SpanLab's own; give {value.__name__} one of its own, such as"
                f" AgentKind('{value.__name__.lower()}')"
            )
        return str(kind.name)

    def kinds(self) -> list[AgentKind]:
        """The kinds of agents that can be made by name: SpanLab's own, then those of other
        packages."""
        return [*_HOMES, *(self.get(name).kind for name in self)]

    def class_of(self, name: str) -> type[Agent] | None:
        """The class of agents that are called so, before the colon; None when there is none."""
        for kind, (module, cls) in _HOMES.items():
            if kind.name == name:
                return getattr(import_module(module, __package__), cls)
        return self.get(name) if name in self else None


AGENTS = AgentRegistry()


def options_of(spec: str) -> frozenset[str]:
    """The names of the options that an agent takes; none for an unknown name."""
    cls = AGENTS.class_of(spec.partition(":")[0])
    return frozenset() if cls is None else cls.options()


def kinds_with(option: str) -> str:
    """The kinds of SpanLab's own agents that take an option, in words."""
    return " and ".join(kind.name for kind in _HOMES if option in options_of(kind.name))


def check_options(spec: str, values: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> None:
    """Refuse options that an agent does not take.

    Parameters
    ----------
    values : of the options, by name; None or empty where an option was not given
    more : values of other parameters that go with the option ``care``

    Raises
    ------
    SpanLabError
        naming all of them.
    """
    declared = options_of(spec)
    names = [
        *(name for name, value in values.items() if value and name not in declared),
        *(name for name, value in (more or {}).items() if value and "care" not in declared),
    ]
    if names:
        verb, pronoun = ("is", "it") if len(names) == 1 else ("are", "them")
        kinds = kinds_with(names[0] if names[0] in values else "care")
        raise SpanLabError(
            f"{' and '.join(names)} {verb} for {kinds} agents, and {spec} is not one; leave {pronoun} out"
        )


def make_agent(
    spec: str,
    seed: int = 0,
    window: Mapping[str, Any] | None = None,
    tasks: Callable[[], frozenset[str]] = frozenset,
    views: Callable[[], Sequence[NetworkView]] | None = None,
    recorded: Mapping[str, Any] | None = None,
    **values: Any,
) -> Agent:
    """The agent that a name stands for. Names split at the first colon only
    (``chat:org/model:free``).

    Parameters
    ----------
    spec : KIND or KIND:DETAIL
    seed, window : see :class:`.AgentOptions`
    tasks : gives what the trials ask of a network
    views : gives what a network sees of the trials, where the user has named the agent, on the command line or in
        Python: only then is code of theirs run (``torch:FILE.py:build``)
    recorded : content of ``session.json``, when the agent goes on with that session
    values : of the options that the kind takes (:meth:`.Agent.options`)

    Raises
    ------
    SpanLabError
        for an unknown name, an option of other agents, or when the agent is not available (no key,
        no checkpoint, no display).
    """
    name, _, detail = spec.partition(":")
    if name == "published":
        raise SpanLabError(
            f"'{spec}' is known only by its published answers: import them with spanlab import nback-results, and"
            " replay them with --agent recorded:SESSION"
        )
    if name == "torch" and views is not None:
        from .network.modules import torch_agent

        check_options(spec, values)
        return torch_agent(spec, views())
    if name == "torch":
        raise SpanLabError(
            f"{spec} runs code of yours, so it is taken only where you name it yourself: spanlab replay PARADIGM"
            f" --agent {spec}, spanlab resume SESSION --agent {spec}, or in Python"
        )
    cls = AGENTS.class_of(name)
    if cls is None:
        names = [kind.name for kind in AGENTS.kinds()]
        hint = nearest(name, names) or "; there are " + ", ".join(names)
        if _MODEL.match(spec):
            hint = f"; for a chat model give --agent chat:{spec}"
        raise SpanLabError(f"unknown agent '{spec}'{hint}")
    check_options(spec, values)
    trained = tasks() if name == NETWORK.name else frozenset[str]()
    options = AgentOptions(seed, window or {}, trained, {name: value for name, value in values.items() if value})
    agent = cls.from_name(detail, options) if recorded is None else cls.from_record(detail, options, recorded)
    if not isinstance(agent, Agent):
        raise SpanLabError(
            f"{cls.__name__}.from_name gave {agent!r} for '{spec}'; expected an Agent. This is a fault of the agent"
        )
    return agent
