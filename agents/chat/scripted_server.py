"""A real OpenAI-compatible server on this machine that answers by fixed rules: for the demonstration and for tests, without a key and without a model.

It is ``fakellm``, installed at first use into an environment of its own (never among our dependencies) under the user's cache folder. It sees what any chat
server is sent, and nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ...errors import SpanLabError
from .agent import ChatAgent
from .care import Care
from .endpoint import Endpoint
from .settings import ChatSettings

#: What figures and tables must say of answers from such a server.
LABEL = "scripted server, not a model"
MODEL = "scripted"
FAKELLM = "0.3.5"
#: Tested together with it; what it does not need is not installed.
_PINS = """
annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 fastapi==0.165.0 h11==0.16.0 httptools==0.9.0 idna==3.20 opentelemetry-api==1.45.2
pydantic==2.14.3 pydantic_core==2.50.4 python-dotenv==1.2.4 PyYAML==6.0.3 starlette==1.10.0 typing-inspection==0.4.5 typing_extensions==4.16.0 uvicorn==0.54.0
uvloop==0.23.0 watchfiles==1.3.0 websockets==17.4
"""
#: Serves until its standard input closes, so that it never outlives the program that started it, however that ends.
_SERVE = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from fakellm.cli import main
main()
"""
_RUNNING = re.compile(r"Uvicorn running on (http://127\.0\.0\.1:\d+)")

Rule = Mapping[str, Any]


def default_cache() -> Path:
    """Where programs of this user keep what can be fetched again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanlab"


def install(cache: Path | None = None) -> Path:
    """The Python of the server's own environment, which is made when it is not there yet (a few seconds, needs the network).

    Raises
    ------
    SpanLabError
        when it cannot be made.
    """
    home = (cache or default_cache()) / f"fakellm-{FAKELLM}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = Path("Scripts", "python.exe") if sys.platform == "win32" else Path("bin", "python")
    if (home / python).exists():
        return home / python
    # made aside and renamed when complete: an interrupted installation leaves nothing half done, and several may run at once
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=home.name + ".", dir=home.parent))
    except OSError as error:
        raise SpanLabError(f"cannot write to {home.parent} ({error.strerror}); set XDG_CACHE_HOME to a folder that can be written") from None
    try:
        venv.EnvBuilder(with_pip=True, symlinks=sys.platform != "win32").create(aside)
        pins = aside / "constraints.txt"
        pins.write_text("\n".join(_PINS.split()) + "\n", encoding="utf-8")
        command = [str(aside / python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(pins), f"fakellm=={FAKELLM}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        failed = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        if not done.returncode:
            try:
                aside.rename(home)
            except OSError:
                if not (home / python).exists():  # else another process was first
                    raise
    except (OSError, subprocess.CalledProcessError) as error:
        failed = [str(error)]
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    if failed or not (home / python).exists():
        why = failed[0] if failed else "pip failed"
        raise SpanLabError(
            f"the scripted chat server (fakellm {FAKELLM}) could not be installed into {home.parent} ({why}); connect to the network and try again"
        )
    return home / python


class ScriptedServer:
    """The server as a context manager.

    Parameters
    ----------
    rules : what it answers, as fakellm takes them (the first that matches counts); those of the demonstration when not given
    cache : where its environment is kept; the user's cache folder when not given
    timeout_s : how long it may take to start
    """

    def __init__(self, rules: Sequence[Rule] | None = None, cache: Path | None = None, timeout_s: float = 60) -> None:
        self._rules = rules
        self._cache = cache
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._root = ""

    @property
    def root(self) -> str:
        """Its address, such as ``http://127.0.0.1:40001``."""
        return self._root

    @property
    def base_url(self) -> str:
        """Its address for OpenAI clients."""
        return f"{self._root}/v1"

    @property
    def endpoint(self) -> Endpoint:
        """The server as an endpoint; no key is ever sent to it."""
        return Endpoint(self.base_url, key_variable=None)

    def agent(self, settings: ChatSettings | None = None, model: str = MODEL, care: Care | None = None) -> ChatAgent:
        """A chat agent that talks to this server, labelled as what it is."""
        labelled = (settings or ChatSettings()).model_copy(update={"label": LABEL})
        return ChatAgent(model, labelled, self.endpoint, care)

    def __enter__(self) -> ScriptedServer:
        import yaml

        from .scripted_rules import demonstration_rules

        python = install(self._cache)
        rules = demonstration_rules() if self._rules is None else self._rules
        self._folder = tempfile.TemporaryDirectory(prefix="spanlab-scripted-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        (folder / "rules.yaml").write_text(yaml.safe_dump({"version": 1, "rules": [dict(rule) for rule in rules]}, sort_keys=False), encoding="utf-8")
        # no secrets of ours in its environment, and a free port of its own choice
        environment = {name: value for name, value in os.environ.items() if not re.search("KEY|TOKEN|SECRET|PASSWORD|PYTHON", name)}
        with (folder / "log.txt").open("wb") as log:
            self._process = subprocess.Popen(
                [str(python), "-c", _SERVE, "serve", "--host", "127.0.0.1", "--port", "0", "--config", str(folder / "rules.yaml")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
            )
        try:
            self._root = self._wait(folder / "log.txt")
        except BaseException:
            self._stop()
            raise
        return self

    def _wait(self, log: Path) -> str:
        """The address, as soon as the server says that it is there."""
        assert self._process is not None
        until = time.monotonic() + self._timeout_s
        while time.monotonic() < until:
            over = self._process.poll() is not None
            text = log.read_text(encoding="utf-8", errors="replace")
            if found := _RUNNING.search(text):
                return found[1]
            if over:
                last = text.strip().splitlines()[-1:] or ["no message"]
                raise SpanLabError(f"the scripted chat server did not start: {last[0]}; delete {self._cache or default_cache()} and try again")
            time.sleep(0.02)
        raise SpanLabError(f"the scripted chat server did not start within {self._timeout_s:g} s; try again when the machine is less busy")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
