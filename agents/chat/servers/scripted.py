"""A real OpenAI-compatible server on this machine that answers by fixed rules: for the demonstration and for tests, without a key and without a model.

It is ``fakellm``, installed at first use into an environment of its own. It sees what any chat server is sent, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from ....core.atomic_files import user_cache
from ..agent import ChatAgent
from ..settings import ChatSettings
from ..transport.request_limits import RequestLimits
from .local import LocalServer, environment

#: What figures and tables must say of answers from such a server.
LABEL = "scripted server, not a model"
MODEL = "scripted"
FAKELLM = "0.3.5"
_WHAT = "the scripted chat server"
#: Tested together with it; what it does not need is not installed.
_PINS = """
annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 fastapi==0.165.0 h11==0.16.0 httptools==0.9.0 idna==3.20 opentelemetry-api==1.45.2
pydantic==2.14.3 pydantic_core==2.50.4 python-dotenv==1.2.4 PyYAML==6.0.3 starlette==1.10.0 typing-inspection==0.4.5 typing_extensions==4.16.0 uvicorn==0.54.0
uvloop==0.23.0 watchfiles==1.3.0 websockets==17.4
"""
_PROGRAM = "from fakellm.cli import main\nmain()\n"

Rule = Mapping[str, Any]


def install(cache: Path | None = None) -> Path:
    """The Python of the server's own environment, which is made when it is not there yet (a few seconds, needs the network).

    Raises
    ------
    SpanLabError
        when it cannot be made.
    """
    home = (cache or user_cache()) / f"fakellm-{FAKELLM}-py{sys.version_info.major}.{sys.version_info.minor}"
    return environment(home, [f"fakellm=={FAKELLM}"], _PINS.split(), f"{_WHAT} (fakellm {FAKELLM})")


class ScriptedServer(LocalServer):
    """The server as a context manager.

    Parameters
    ----------
    rules : what it answers, as fakellm takes them (the first that matches counts); those of the demonstration when not given
    cache : where its environment is kept; the user's cache folder when not given
    timeout_s : how long it may take to start
    """

    def __init__(self, rules: Sequence[Rule] | None = None, cache: Path | None = None, timeout_s: float = 60) -> None:
        super().__init__(_WHAT, f"delete {cache or user_cache()} and try again", timeout_s)
        self._rules = rules
        self._cache = cache

    def agent(self, settings: ChatSettings | None = None, model: str = MODEL, request_limits: RequestLimits | None = None) -> ChatAgent:
        """A chat agent that talks to this server, labelled as what it is."""
        labelled = (settings or ChatSettings()).model_copy(update={"label": LABEL})
        return ChatAgent(model, labelled, self.endpoint, request_limits)

    @override
    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """The server with its rules, at a free port of its own choice."""
        import yaml

        from .scripted_rules import demonstration_rules

        python = install(self._cache)
        rules = demonstration_rules() if self._rules is None else self._rules
        (folder / "rules.yaml").write_text(yaml.safe_dump({"version": 1, "rules": [dict(rule) for rule in rules]}, sort_keys=False), encoding="utf-8")
        return python, _PROGRAM, ["serve", "--host", "127.0.0.1", "--port", "0", "--config", str(folder / "rules.yaml")], {}
