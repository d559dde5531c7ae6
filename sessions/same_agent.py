"""Whether an agent is the one that began a session: by its settings, as the record has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents.base import Agent
from ..core.errors import SpanLabError
from ..paradigms.identity import canonical, digest
from .agent_checks import for_record


def settings_of(agent: Agent) -> dict[str, Any]:
    """What shaped an agent's answers."""
    return for_record("the settings", agent, agent.settings())


def settings_hash(agent: Agent) -> str:
    """The hash of everything that shaped an agent's answers. A setting that came after the first records is no part of it while it is as it is when nobody
    chooses: the hash of the same agent stays what it was."""
    later = agent.setting_rules().later
    kept = {name: value for name, value in settings_of(agent).items() if name not in later or not _same(value, later[name])}
    return digest([agent.kind.name, agent.name, kept])


def changed_constants(agent: Agent, info: Mapping[str, Any], where: object) -> dict[str, list[Any]]:
    """What the program does otherwise now than when a session began, with what it was and is; nobody has chosen it, so the session goes on.

    Parameters
    ----------
    info : content of ``session.json``
    where : the session's folder, for a message

    Raises
    ------
    SpanLabError
        when the agent is another one, or has settings that somebody chose otherwise.
    """
    settings = settings_of(agent)
    if digest([agent.kind.name, agent.name, settings]) == info["agent_settings_hash"]:
        return {}
    rules, then = agent.setting_rules(), info.get("agent_settings") or {}
    if (agent.kind.name, agent.name) != (info["agent_kind"], info["agent"]):
        raise SpanLabError(f"{where} was begun by {info['agent']} with other settings, so it cannot go on with {agent.name}: begin a new one")
    changed: dict[str, list[Any]] = {}
    other: list[str] = []
    for name in {**then, **settings}:
        if name in then and name in settings and _same(then[name], settings[name]):
            continue
        if name not in then and name in rules.later and _same(settings[name], rules.later[name]):
            continue  # there was no such setting, and nobody has chosen it now
        if name in rules.constants:
            changed[name] = [then.get(name), settings.get(name)]
        else:
            other.append(f"{name} was {_short(then.get(name))} and is {_short(settings.get(name))}")
    if other:
        raise SpanLabError(
            f"{where} was begun by {info['agent']} with other settings, so it cannot go on with {agent.name} "
            f"({'; '.join(other)}): give the settings of then, or begin a new one"
        )
    return changed


def _same(one: Any, other: Any) -> bool:
    """Whether two settings are equal, also when one of them was in a record."""
    return canonical(one) == canonical(other)


def _short(value: Any) -> str:
    """A setting in a message."""
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
