"""From what a page asks for to the command that does it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, cast

import spanlab
from spanlab.agents.chat import Endpoint
from spanlab.agents.chat.providers import serving
from spanlab.core import SpanLabError, make_folder, write_json
from spanlab.paradigms import load_paradigm
from spanlab.sessions import Request, choose_trials, make_machine, prepare, same_trials
from spanlab.sessions.record import in_browser, read_session

from .index import SessionLine
from .web import RefusedError

#: trials that are taken where nothing else is asked for
_FEW = 5
_MOST = 2000
_SETTING = re.compile(r"[A-Za-z_][\w.]*=\S.*")
#: the environment variables that hold address and key of a server without a name
_ADDRESS, _KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
#: what begins the names of chat models that are not asked over a server of ours: they run here
_HERE = ("hf/",)
#: a process has one environment
_environment = Lock()


def source_of(name: str, data: Path, look: Callable[[], Sequence[SessionLine]]) -> str:
    """What commands call a paradigm: its name in the library; of one's own the file with which its newest
    session here was begun. Where that file is gone, is another paradigm now, or is not beside the data (a
    record may name any file), what the record holds is written into a file below the app's folder. Empty
    where no session can be read.

    Parameters
    ----------
    look : gives the sessions
    """
    if name in spanlab.list_paradigms():
        return name
    for line in look():
        if line.paradigm == name and line.seed is not None:
            try:
                session, beside = same_trials(data / line.path), data.resolve().parent
            except SpanLabError:  # its page of trials says why; there may be others
                continue
            file = Path(os.path.normpath(beside / session.info["paradigm_source"]))
            with suppress(SpanLabError):
                if file.is_relative_to(beside) and load_paradigm(file).name == name:
                    return str(file)
            copy = data / ".app" / "paradigms" / f"{session.paradigm.hash}.yaml"
            make_folder(copy.parent)
            write_json(copy, session.info["paradigm_data"], together=True)
            return str(copy)
    return ""


def serve_arguments(
    asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine], language: str, port: int
) -> tuple[list[str], str]:
    """To take trials in the page: the arguments of ``spanlab serve``, and the address to open."""
    participant = _free_name(_name(asked), lines)
    arguments = ["serve", asked["paradigm"], "--port", str(port), "--most", "2", *_as_chosen(asked, data, language)]
    return arguments, f"http://127.0.0.1:{port}/?participant={participant}"


def window_arguments(asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine], language: str) -> list[str]:
    """To take trials at PsychoPy's window on this computer: the arguments of ``spanlab run``."""
    return [
        "run",
        asked["paradigm"],
        "--participant",
        _free_name(_name(asked), lines),
        *_as_chosen(asked, data, language),
    ]


def _as_chosen(asked: Mapping[str, Any], data: Path, language: str) -> list[str]:
    """The options for trials that somebody takes, as the page has them."""
    practice = [] if asked.get("practice") else ["--no-practice"]
    return ["--data", str(data), *_trials(asked), *_levels(asked), *practice, *_spoken(language)]


def _spoken(language: str) -> list[str]:
    return [] if language == "en" else ["--language", language]


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
        arguments += [asked["paradigm"], *_trials(asked), *_levels(asked)]
    for agent in agents:
        arguments += ["--agent", agent]
    if any(agent.startswith("chat:") for agent in agents):
        for setting in _settings(asked):
            arguments += ["--chat", setting]
        for option in ("max-tokens", "max-cost", "price"):
            if value := str(asked.get(option.replace("-", "_"), "")).strip():
                if option == "max-tokens" and not value.isdecimal():
                    raise RefusedError("tokens", found=value)
                arguments += [f"--{option}", value]
        if not ({"--max-tokens", "--max-cost"} & {*arguments} or asked.get("only_command") or _costs_nothing(asked)):
            raise RefusedError("limit")
    return [*arguments, "--data", str(data)]


def resume_arguments(
    asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine], port: int
) -> tuple[list[str], str]:
    """To go on with a session: the arguments of ``spanlab resume``; for one in a browser, those of
    ``spanlab serve``, and the address to open."""
    path = _session({"like": asked.get("session", "")}, lines)
    if not path:
        raise RefusedError("go_on")
    info = read_session(data / path)
    if not in_browser(info):
        _check_server(info, asked)
        return ["resume", str(data / path)], ""
    source, place = source_of(info["paradigm"], data, lambda: lines), str((data / path).parent)
    arguments = ["serve", source, "--port", str(port), "--data", place, "--most", "2", *_spoken(info["language"])]
    return arguments, f"http://127.0.0.1:{port}/?participant={info['participant']}"


def _check_server(info: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Check that a chat model is asked where its session says. The record may come from elsewhere: its
    address is shown, and nothing is sent there before somebody has typed or confirmed it.

    Raises
    ------
    RefusedError
        with the ``server`` of the record, where what is asked for leads to another.
    """
    settings, place = info["agent_settings"], str(info.get("apparatus", {}).get("endpoint", ""))
    if settings.get("provider") or not place.startswith(("http://", "https://")):
        return
    if Endpoint(served(asked)[0].get(_ADDRESS)).identity != settings.get("endpoint"):
        raise RefusedError("address", server=place)


def served(asked: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The environment in which a chat model is asked: what may be shown of it, and the key, which is
    never written down.

    Raises
    ------
    SpanLabError
        when the server is neither a known provider nor an address.
    """
    server, key = (str(asked.get(name, "")).strip() for name in ("server", "key"))
    known = _provider(server)
    if server and not known and not server.startswith(("http://", "https://")):
        raise RefusedError("server", found=server)
    shown = {_ADDRESS: server} if server and not known else {}
    variable = known.get("key", "").partition(" ")[0] if known else _KEY
    return shown, ({variable: key} if key and variable.isupper() else {})


def estimate(asked: Mapping[str, Any], data: Path, lines: Sequence[SessionLine]) -> list[str]:
    """Say what a session of each machine is going to take; none for machines that cost nothing.
    Nothing is sent, so no key is needed, and no limit."""
    like = _session(asked, lines)
    chosen = (
        choose_trials(None, like=data / like)
        if like
        else choose_trials(asked["paradigm"], levels=_chosen_levels(asked) or None, trials=_number(asked))
    )
    said: list[str] = []
    with _in_environment(asked):
        for agent in _agents(asked):
            values: dict[str, Any] = {}
            if agent.startswith("chat:") and (settings := _settings(asked)):
                values["chat"] = dict(setting.split("=", 1) for setting in settings)
            prepare(make_machine(agent, 0, said.append, chosen, **values), chosen, Request(), said.append)
    return said


@contextmanager
def _in_environment(asked: Mapping[str, Any]) -> Generator[None]:
    """The environment of a server, with something in place of a key that is missing."""
    shown, secret = served(asked)
    variable = _provider(str(asked.get("server", ""))).get("key", _KEY).partition(" ")[0]
    wanted = {**({} if os.environ.get(variable) or not variable.isupper() else {variable: "none"}), **shown, **secret}
    with _environment:
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def providers() -> list[dict[str, str]]:
    """The named servers of chat models, with their addresses and keys."""
    return spanlab.catalogue(providers=True).to_dict()["providers"]


def _provider(name: str) -> dict[str, str]:
    """A named server; empty where there is none of the name."""
    return next((one for one in providers() if one["name"] == name), {})


def _costs_nothing(asked: Mapping[str, Any]) -> bool:
    """Return whether all chat models run on this computer."""
    models = [agent.removeprefix("chat:") for agent in _agents(asked) if agent.startswith("chat:")]
    over_servers = [serving(model) for model in models if not model.startswith(_HERE)]
    unnamed = Endpoint(served(asked)[0].get(_ADDRESS))
    return all(one.hook is None and (one.endpoint if one.provider else unnamed).is_local for one in over_servers)


def listed_in(asked: Mapping[str, Any], key: str) -> list[Any]:
    """A list that a page has sent; an empty one where it has sent nothing.

    Raises
    ------
    SpanLabError
        when it is no list.
    """
    named = asked.get(key) or []
    if not isinstance(named, list):
        raise RefusedError("list", what=key, found=named)
    return cast("list[Any]", named)


def _agents(asked: Mapping[str, Any]) -> list[str]:
    agents = [name for agent in listed_in(asked, "agents") if (name := str(agent).strip())]
    server = str(asked.get("server", "")).strip()
    models = str(asked.get("chat", "")).replace(",", " ").split()
    at = f"@{server}" if _provider(server) else ""
    agents += [model if model.startswith("chat:") else f"chat:{model}{at}" for model in models]
    if not agents:
        raise RefusedError("nobody")
    for agent in agents:
        if agent.startswith("-") or any(sign.isspace() for sign in agent):
            raise RefusedError("agent", found=agent)
    return agents


def _settings(asked: Mapping[str, Any]) -> list[str]:
    settings = [line.strip() for line in str(asked.get("settings", "")).splitlines() if line.strip()]
    for setting in settings:
        if not _SETTING.fullmatch(setting):
            raise RefusedError("setting", found=setting)
    return settings


def _session(asked: Mapping[str, Any], lines: Sequence[SessionLine]) -> str:
    """The session whose trials are to be taken; empty for new trials."""
    path = str(asked.get("like", ""))
    if path and path not in {line.path for line in lines}:
        raise RefusedError("session")
    return path


def _name(asked: Mapping[str, Any]) -> str:
    name = str(asked.get("participant", "")).strip() or "me"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}", name):
        raise RefusedError("code", found=name)
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
    if not str(wanted).isdecimal() or not 1 <= int(wanted) <= _MOST:
        raise RefusedError("trials", most=_MOST, found=wanted)
    return int(wanted)


def _trials(asked: Mapping[str, Any]) -> list[str]:
    number = _number(asked)
    return [] if number is None else ["--trials", str(number)]


def _chosen_levels(asked: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The levels of the trials where only some are taken: of each factor that is a number, that of
    the trial on the page, so that a few trials say something; a whole session has them all."""
    chosen = asked.get("levels")
    if _number(asked) is None or not isinstance(chosen, dict):
        return {}
    factors = load_paradigm(asked["paradigm"]).factors
    return {
        name: [level]
        for name, level in chosen.items()
        if name in factors and type(level) in (int, float) and level in factors[name].levels
    }


def _levels(asked: Mapping[str, Any]) -> list[str]:
    return [word for name, (level,) in _chosen_levels(asked).items() for word in ("--set", f"{name}={level}")]
