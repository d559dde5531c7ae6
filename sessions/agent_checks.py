"""Checks of what an agent returns before it is used (a faulty agent is reported in a sentence), and
of whether an agent is the one that began a session."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from ..agents.at_once import BatchAgent
from ..agents.base import Agent, Episode, Outcome, Response, TrialContext
from ..agents.window import WindowAgent, WindowEpisode
from ..core.errors import SpanLabError
from ..core.json_values import as_object
from ..paradigms import Percept, ResponseKind
from ..paradigms.identity import canonical, digest

_FAULT = "this is a fault of the agent"


def check_episode(agent: Agent, episode: object) -> Episode:
    """Check that an agent has begun a trial correctly.

    Raises
    ------
    SpanLabError
        with what it gave, and what was expected.
    """
    expected = WindowEpisode if isinstance(agent, WindowAgent) else Episode
    if not isinstance(episode, expected):
        raise SpanLabError(
            f"{agent.name} began a trial with {_shown(episode)}; expected {_article(expected.__name__)} from start():"
            f" {_FAULT}"
        )
    if agent.kind.oracle and len(inspect.signature(episode.step).parameters) < 2:
        raise SpanLabError(
            f"{agent.name} is of the kind '{agent.kind.name}', which is an oracle, and {type(episode).__name__}.step"
            f" takes no truth; expected async def step(self, percept, truth=None): {_FAULT}"
        )
    return episode


def check_response(percept: Percept, response: object, number: int, reported: bool = False) -> Response | None:
    """Check that an agent returned an answer where a step has a question, and nothing elsewhere.

    Parameters
    ----------
    number : of the step in its trial, from 1
    reported : whether a reaction time is one of a person, which is recorded as it was reported,
        even if it cannot be true

    Raises
    ------
    SpanLabError
        with what it gave, and what was expected.
    """
    if response is not None and not isinstance(response, Response):
        such = f", such as Response({response!r})," if isinstance(response, str | int | tuple) else ","
        description = _shown(cast("object", response))
        raise SpanLabError(
            f"the agent gave {description} in step {number}; expected a Response{such} or None where nothing is asked:"
            f" {_FAULT}"
        )
    if (response is None) != (percept.ask is None):
        raise SpanLabError(
            f"the agent {'did not answer' if response is None else 'answered unasked'} in step {number}; {_FAULT}"
        )
    if response is None:
        return None
    if response.outcome not in get_args(Outcome):
        raise SpanLabError(
            f"the agent gave the outcome {_shown(response.outcome)} in step {number}; there are"
            f" {', '.join(get_args(Outcome))}: {_FAULT}"
        )
    notes, rt_ms = cast("object", response.notes), cast("object", response.rt_ms)
    if not isinstance(notes, Mapping) or not (rt_ms is None or isinstance(rt_ms, int | float)):
        raise SpanLabError(
            f"the agent gave notes {_shown(response.notes)} and the reaction time {_shown(response.rt_ms)} in step"
            f" {number}; expected a mapping, and a number of ms or None: {_FAULT}"
        )
    if rt_ms is not None and not 0 <= rt_ms < math.inf and not reported:
        raise SpanLabError(
            f"the agent gave the reaction time {_shown(rt_ms)} in step {number}; expected a number of ms from the onset"
            f" of the question on, or None: {_FAULT}"
        )
    if response.outcome == "answered" and percept.ask is not None and not _allowed(percept.ask.kind, response.value):
        raise SpanLabError(
            f"the agent answered {_shown(response.value)} in step {number}; allowed is"
            f" {percept.ask.kind.allowed_values()} (outcome omitted where nothing was answered): {_FAULT}"
        )
    return response


def _allowed(kind: ResponseKind, value: object) -> bool:
    """Return whether a value is of plain Python (no numpy number, which JSON does not have) and an
    answer to such a question."""
    return type(value) in (int, str, tuple) and kind.allows(value)


def answers_of(
    agent: BatchAgent,
    contexts: Sequence[TrialContext],
    trials: Sequence[Sequence[Percept]],
    hidden: dict[int, Any] | None = None,
) -> Sequence[Sequence[Response | None]]:
    """Get the answers of an agent to a batch of trials: one per step of each trial.

    Parameters
    ----------
    hidden : takes the hidden states with which each trial was answered

    Raises
    ------
    SpanLabError
        with what the agent gave, and what was expected.
    """
    if not trials:
        return []
    answers: Any = (
        agent.answer(contexts, trials) if hidden is None else agent.answer(contexts, trials, hidden.__setitem__)
    )
    try:
        fits = [len(of_trial) for of_trial in answers] == [len(trial) for trial in trials]
    except TypeError:
        fits = False
    if not fits:
        raise SpanLabError(
            f"{agent.name} gave {_shown(answers)}; expected from answer() is a list with a list for each of the"
            f" {len(trials)} trials, with an answer or None for each of its steps: {_FAULT}"
        )
    if hidden is not None and len(hidden) != len(trials):
        raise SpanLabError(f"{agent.name} kept the hidden states of {len(hidden)} of {len(trials)} trials: {_FAULT}")
    return answers


def for_record(what: str, agent: Agent, content: object) -> dict[str, Any]:
    """A value from an agent as it goes into ``session.json``.

    Parameters
    ----------
    what : how a message calls it, such as ``settings``

    Raises
    ------
    SpanLabError
        when it is not a mapping that is fit for JSON.
    """
    if not isinstance(content, Mapping):
        raise SpanLabError(f"{what} of {agent.name}: {_shown(content)}; expected a mapping: {_FAULT}")
    try:
        json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpanLabError(f"{what} of {agent.name} cannot be recorded ({error}): {_FAULT}") from None
    return dict(cast("Mapping[str, Any]", content))


def _shown(value: object) -> str:
    """A value and its type, in a message."""
    if value is None:
        return "None"
    text = repr(value)
    return (
        f"{text if len(text) <= 60 else text[:57] + '...'}"
        f" ({type(value).__module__.replace('builtins', '')}.{type(value).__name__})".replace("(.", "(")
    )


def _article(word: str) -> str:
    return f"{'an' if word[:1] in 'AEIOU' else 'a'} {word}"


def settings_of(agent: Agent) -> dict[str, Any]:
    """The settings that shaped an agent's answers."""
    return for_record("the settings", agent, agent.settings())


def settings_hash(agent: Agent) -> str:
    """The hash of everything that shaped an agent's answers."""
    return digest([agent.kind.name, agent.name, settings_of(agent)])


def changed_settings(agent: Agent, info: Mapping[str, Any], where: object) -> dict[str, list[Any]]:
    """Return the changes since a session began in settings that may change, with old and new
    values.

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
    if settings_hash(agent) == info["agent_settings_hash"]:
        return {}
    may_change, then = agent.may_change(), as_object(info.get("agent_settings"))
    if (agent.kind.name, agent.name) != (info["agent_kind"], info["agent"]):
        raise SpanLabError(
            f"{where} was begun by {info['agent']} with other settings, so it cannot be resumed with {agent.name}:"
            " begin a new one"
        )
    changed: dict[str, list[Any]] = {}
    other: list[str] = []
    for name in {**then, **settings}:
        if name in then and name in settings and _same(then[name], settings[name]):
            continue
        if name in may_change:
            changed[name] = [then.get(name), settings.get(name)]
        else:
            other.append(f"{name} was {_short(then.get(name))} and is {_short(settings.get(name))}")
    if other:
        raise SpanLabError(
            f"{where} was begun with other settings, so it cannot be resumed with these ({'; '.join(other)}): give the"
            " settings it began with, or begin a new session"
        )
    return changed


def _same(one: Any, other: Any) -> bool:
    """Return whether two settings are equal, also when one of them was in a record."""
    return canonical(one) == canonical(other)


def _short(value: Any) -> str:
    """A setting in a message."""
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
