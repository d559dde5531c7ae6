"""Chat servers on this machine: programs in environments of their own (never among our
dependencies), which live as long as the program that started them.

The environments are made at first use, under the user's cache folder.
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
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from spanlab.agents.chat import Endpoint
from spanlab.core.errors import SpanLabError

#: Serves until its standard input closes, so that it never outlives the program that started it,
#: however that ends.
_UNTIL_CLOSED = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
"""
_RUNNING = re.compile(r"Uvicorn running on (http://127\.0\.0\.1:\d+)")
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|PYTHON")


def python_of(home: Path) -> Path:
    """The Python of the environment in ``home``."""
    return home / (Path("Scripts", "python.exe") if sys.platform == "win32" else Path("bin", "python"))


def environment(home: Path, packages: Sequence[str], pins: Sequence[str], what: str, bare: Sequence[str] = ()) -> Path:
    """The Python of an environment, which is created if it does not exist yet (needs the network).

    Parameters
    ----------
    home : its folder
    packages, pins : what pip installs, and the exact versions of all that comes with it
    what : what it is for, as messages call it
    bare : packages that are installed besides, without what they ask for

    Raises
    ------
    SpanLabError
        when it cannot be made.
    """
    python = python_of(home)
    if python.exists():
        return python
    # made aside and renamed when complete: an interrupted installation leaves nothing half done,
    # and several may run at once
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=home.name + ".", dir=home.parent))
    except OSError as error:
        raise SpanLabError(
            f"cannot write to {home.parent} ({error.strerror}); set XDG_CACHE_HOME to a folder that can be written"
        ) from None
    try:
        lent = find_spec("pip") is not None  # to put another pip into it would take most of the time
        venv.EnvBuilder(with_pip=not lent, symlinks=sys.platform != "win32").create(aside)
        (constraints := aside / "constraints.txt").write_text("".join(f"{pin}\n" for pin in pins), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python"] if lent else []
        pip += [
            str(python_of(aside)),
            *([] if lent else ["-m", "pip"]),
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        done = subprocess.run(
            [*pip, "--constraint", str(constraints), *packages], capture_output=True, text=True, check=False
        )
        if bare and not done.returncode:
            done = subprocess.run([*pip, "--no-deps", *bare], capture_output=True, text=True, check=False)
        failed = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        if not done.returncode:
            try:
                aside.rename(home)
            except OSError:
                if not python.exists():  # else another process was first
                    raise
    except (OSError, subprocess.CalledProcessError) as error:
        failed = [str(error)]
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    if failed or not python.exists():
        why = failed[0] if failed else "pip failed"
        raise SpanLabError(
            f"{what} could not be installed into {home.parent} ({why}); connect to the network and try again"
        )
    return python


class LocalServer:
    """A server in an environment of its own, as a context manager.

    Subclasses say what it is by overriding :meth:`program`.

    Parameters
    ----------
    what : what messages call it
    remedy : what may help when it does not start
    timeout_s : how long it may take to start
    """

    def __init__(self, what: str, remedy: str, timeout_s: float = 60) -> None:
        self._what = what
        self._remedy = remedy
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        #: its address, such as ``http://127.0.0.1:40001``
        self.root = ""

    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """The program to run: Python, code, arguments and variables of the environment. ``folder``
        is there for its files; the server must log its address."""
        raise NotImplementedError

    @property
    def base_url(self) -> str:
        """Its address for OpenAI clients."""
        return f"{self.root}/v1"

    @property
    def endpoint(self) -> Endpoint:
        """The server as an endpoint; no key is ever sent to it."""
        return Endpoint(self.base_url, key_variable=None)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="spanlab-server-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        try:
            python, code, arguments, variables = self.program(folder)
            # no secrets of ours in its environment
            inherited = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
            with (folder / "log.txt").open("wb") as log:
                self._process = subprocess.Popen(
                    [str(python), "-c", _UNTIL_CLOSED + code, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**inherited, **variables},
                    cwd=folder,
                )
            self.root = self._wait(folder / "log.txt")
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
                raise SpanLabError(f"{self._what} did not start: {last[0]}; {self._remedy}")
            time.sleep(0.02)
        raise SpanLabError(
            f"{self._what} did not start within {self._timeout_s:g} s; try again when the machine is less busy"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
