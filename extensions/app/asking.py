"""From what a page asks for to the command that does it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanlab.core import SpanLabError
from spanlab.sessions import Request, choose_trials, make_machine, prepare

from .index import SessionLine

#: trials that are taken where nothing else is asked for
_FEW = 5
_MOST = 2000
_SETTING = re.compile(r"[A-Za-z_][\w.]*=\S.*")


def serve_arguments(
    asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine], language: str, port: int
) -> tuple[list[str], str]:
    """To take trials in the page: the arguments of ``spanlab serve``, and the address to open."""
    participant = _free_name(_name(asked), lines)
    arguments = [
        "serve",
        asked["paradigm"],
        "--port",
        str(port),
        "--data",
        str(data),
        "--most",
        "2",
        *_trials(asked),
        *_practice(asked),
    ]
    if language != "en":
        arguments += ["--language", language]
    return arguments, f"http://127.0.0.1:{port}/?participant={participant}"


def window_arguments(asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine], language: str) -> list[str]:
    """To take trials at PsychoPy's window on this computer: the arguments of ``spanlab run``."""
    participant = _free_name(_name(asked), lines)
    arguments = [
        "run",
        asked["paradigm"],
        "--participant",
        participant,
        "--data",
        str(data),
        *_trials(asked),
        *_practice(asked),
    ]
    return arguments if language == "en" else [*arguments, "--language", language]


def replay_arguments(asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine]) -> list[str]:
    """To let machines take trials, those of a session if one is named: the arguments of ``spanlab
    replay``.

    Raises
    ------
    SpanLabError
        when nobody is named, or a name, setting or limit is none.
    """
    agents = _agents(asked)
    arguments = ["replay"]
    if like := _session(asked, lines):
        arguments += ["--like", str(data / like)]
    else:
        arguments += [asked["paradigm"], *_trials(asked)]
    for agent in agents:
        arguments += ["--agent", agent]
    if any(agent.startswith("chat:") for agent in agents):
        for setting in _settings(asked):
            arguments += ["--chat", setting]
        for option in ("max-tokens", "max-cost", "price"):
            if value := str(asked.get(option.replace("-", "_"), "")).strip():
                if option == "max-tokens" and not value.isdigit():
                    raise SpanLabError(f"the limit is a number of tokens; found '{value}'")
                arguments += [f"--{option}", value]
        if not any(option in arguments for option in ("--max-tokens", "--max-cost")):
            raise SpanLabError("set a limit for the chat model: tokens, or money and a price")
    return [*arguments, "--data", str(data)]


def estimate(asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine]) -> list[str]:
    """Say what a session of each machine is going to take; none for machines that cost
    nothing."""
    like = _session(asked, lines)
    trials = None if like else _number(asked)
    chosen = choose_trials(None if like else asked["paradigm"], trials=trials, like=data / like if like else None)
    said: list[str] = []
    for agent in _agents(asked):
        chats = agent.startswith("chat:")
        settings = {name: value for name, _, value in (setting.partition("=") for setting in _settings(asked) if chats)}
        machine = (
            make_machine(agent, 0, said.append, chosen, chat=settings)
            if settings
            else make_machine(agent, 0, said.append, chosen)
        )
        prepare(machine, chosen, Request(), said.append)
    return said


def _agents(asked: Mapping[str, Any]) -> list[str]:
    agents = [str(agent).strip() for agent in asked.get("agents", ()) if str(agent).strip()]
    if not agents:
        raise SpanLabError("choose who takes the trials")
    for agent in agents:
        if agent.startswith("-") or any(sign.isspace() for sign in agent):
            raise SpanLabError(f"'{agent}' is not the name of an agent")
    return agents


def _settings(asked: Mapping[str, Any]) -> list[str]:
    settings = [line.strip() for line in str(asked.get("settings", "")).splitlines() if line.strip()]
    for setting in settings:
        if not _SETTING.fullmatch(setting):
            raise SpanLabError(f"a setting is NAME=VALUE, one on each line; found '{setting}'")
    return settings


def _session(asked: Mapping[str, Any], lines: Sequence[SessionLine]) -> str:
    """The session whose trials are to be taken; empty for new trials."""
    path = str(asked.get("like", ""))
    if path and path not in {line.path for line in lines}:
        raise SpanLabError("that session no longer exists")
    return path


def _name(asked: Mapping[str, Any]) -> str:
    name = str(asked.get("participant", "")).strip() or "me"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}", name):
        raise SpanLabError(
            f"a code of a participant has letters, digits, - and _, and begins with a letter or digit; found '{name}'"
        )
    return name


def _free_name(name: str, lines: Sequence[SessionLine]) -> str:
    """The code, with a number where somebody has it: each time is a session of its own."""
    taken = {line.participant for line in lines}
    number = 1
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def _number(asked: Mapping[str, Any]) -> int | None:
    """Return the number of trials; None for a whole session.

    Raises
    ------
    SpanLabError
        when it is no such number.
    """
    wanted = asked.get("trials", _FEW)
    if wanted in ("", "all", None):
        return None
    if not str(wanted).isdigit() or not 1 <= int(wanted) <= _MOST:
        raise SpanLabError(f"the number of trials is 1 to {_MOST}; found '{wanted}'")
    return int(wanted)


def _trials(asked: Mapping[str, Any]) -> list[str]:
    number = _number(asked)
    return [] if number is None else ["--trials", str(number)]


def _practice(asked: Mapping[str, Any]) -> list[str]:
    return [] if asked.get("practice") else ["--no-practice"]
