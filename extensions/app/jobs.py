"""Jobs that the app has started: commands of the command line, each with a folder in the data folder,
and with a process of its own, which outlives the app: ``python -m spanlab.extensions.app.jobs
FOLDER``."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import psutil

from spanlab.core import SpanLabError, make_folder, write_json

#: files of a job: what it is, what it printed, and how it ended
JOB, PRINTED, ENDED = "job.json", "printed.txt", "ended.json"
State = Literal["runs", "done", "failed", "stopped"]
#: how a command ends that was stopped: by a signal, by itself after one, by force
_STOPPED = (-signal.SIGINT, 130, 15)
#: so much of what a job printed is shown (characters)
_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class Job:
    """A command that was started.

    Parameters
    ----------
    name : of its folder
    arguments : of ``spanlab``
    paradigm : it is about; empty for a report
    started : when (UTC, ISO 8601)
    state : whether it runs, or how it ended
    printed : the end of what it printed
    address : of the page that it serves; empty for other commands
    environment : variables that it needs, none of which is secret
    """

    name: str
    arguments: tuple[str, ...]
    paradigm: str
    started: str
    state: State
    printed: str
    address: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def report(self) -> str:
        """The name of the report that it makes; empty for other commands."""
        return Path(self.arguments[-1]).name if self.arguments[:1] == ("compare",) else ""

    def option(self, name: str) -> str:
        """The value of an option of its command; empty where it has none."""
        return self.arguments[self.arguments.index(name) + 1] if name in self.arguments else ""

    @property
    def command(self) -> str:
        """As it would be typed."""
        return command_of(self.arguments, self.environment)


def command_of(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """The line that does the same in a terminal."""
    return " ".join(
        [
            *(f"{name}={shlex.quote(value)}" for name, value in (environment or {}).items()),
            shlex.join(("spanlab", *arguments)),
        ]
    )


def file_inside(folder: Path, path: str) -> Path:
    """An ordinary file in a folder; no link leads out of it.

    Raises
    ------
    OSError
        when there is none.
    """
    file = (folder / path).resolve(strict=True)
    if not (file.is_file() and file.is_relative_to(folder.resolve())):
        raise OSError(f"{path} is no file of {folder}")
    return file


class Jobs:
    """The jobs of a data folder.

    Parameters
    ----------
    data : the folder; jobs are in ``.app/jobs`` below it
    """

    def __init__(self, data: Path) -> None:
        self._folder = data / ".app" / "jobs"

    def start(
        self,
        arguments: Sequence[str],
        paradigm: str,
        address: str = "",
        environment: Mapping[str, str] | None = None,
        secret: Mapping[str, str] | None = None,
    ) -> Job:
        """Start a command, which goes on when the app ends.

        Parameters
        ----------
        environment : variables that it needs and that may be shown
        secret : variables that only its process gets, such as keys: they are written nowhere

        Raises
        ------
        SpanLabError
            when the data folder cannot be written, or no process can be started.
        """
        try:
            return self._start(
                {
                    "arguments": [*arguments],
                    "paradigm": paradigm,
                    "address": address,
                    "environment": dict(environment or {}),
                },
                secret or {},
            )
        except OSError as error:
            raise SpanLabError(f"cannot start this in {self._folder}: {error.strerror or error}") from None

    def _start(self, about: Mapping[str, Any], secret: Mapping[str, str]) -> Job:
        started = datetime.now(UTC)
        while True:
            name = f"{started:%Y%m%d-%H%M%S-%f}"
            folder = self._folder / name
            make_folder(self._folder.parent, mode=0o700)
            self._folder.mkdir(exist_ok=True)
            try:
                folder.mkdir()
                break
            except FileExistsError:  # another app has started something in the same moment
                started += timedelta(microseconds=1)
        about = {**about, "started": started.isoformat(timespec="seconds")}
        write_json(folder / JOB, about)
        process = subprocess.Popen(
            [sys.executable, "-m", "spanlab.extensions.app.jobs", str(folder.resolve())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **about["environment"], **secret},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
        )
        write_json(folder / JOB, {**about, "process": process.pid})
        return self.job(name)

    def all(self) -> list[Job]:
        """All jobs, the newest first, without those that cannot be read (:meth:`unread`)."""
        return self._read()[0]

    def unread(self) -> list[str]:
        """The names of the jobs that cannot be read; an empty one where none can."""
        return self._read()[1]

    def _read(self) -> tuple[list[Job], list[str]]:
        jobs: list[Job] = []
        damaged: list[str] = []
        try:
            names = sorted(os.listdir(self._folder), reverse=True)
        except FileNotFoundError:  # nothing was started
            return [], []
        except OSError:
            return [], [""]
        for name in names:
            try:
                jobs.append(self.job(name))
            except FileNotFoundError:
                continue  # it is just being made, or the app was killed before there was anything to lose
            except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                damaged.append(name)
        return jobs, damaged

    def job(self, name: str) -> Job:
        """The job of a folder."""
        folder = self._folder / name
        about: dict[str, Any] = json.loads(file_inside(self._folder, f"{name}/{JOB}").read_text(encoding="utf-8"))
        printed = ""
        with suppress(OSError):
            printed = file_inside(self._folder, f"{name}/{PRINTED}").read_text("utf-8", errors="replace")[-_SHOWN:]
        return Job(
            name,
            tuple(map(str, about["arguments"])),
            str(about["paradigm"]),
            str(about["started"]),
            self._state(folder, about),
            printed,
            str(about["address"]),
            dict(about.get("environment") or {}),
        )

    def stop(self, name: str) -> None:
        """End a job as Ctrl-C does: what is finished is kept."""
        about: dict[str, Any] = json.loads(file_inside(self._folder, f"{name}/{JOB}").read_text(encoding="utf-8"))
        if "process" not in about:  # the app was killed before it began
            write_json(self._folder / name / ENDED, {"code": -signal.SIGINT}, together=True)
        elif (process := _process(about, self._folder / name)) is not None:
            _interrupt(process)

    def _state(self, folder: Path, about: dict[str, Any]) -> State:
        if (state := _state_at_end(folder)) is None:
            if "process" not in about or _process(about, folder) is not None:
                return "runs"
            state = _state_at_end(folder)  # it may have ended since
        return state or "failed"


def _state_at_end(folder: Path) -> State | None:
    """Return how a job has ended; None where it has not said so."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        code = json.loads(file_inside(folder, ENDED).read_text(encoding="utf-8"))["code"]
        if code == 0:
            return "done"
        return "stopped" if code in _STOPPED else "failed"
    return None


def _process(about: dict[str, Any], folder: Path) -> psutil.Process | None:
    """The process of a job, where it runs; whatever else has its number is another one."""
    try:
        process = psutil.Process(int(about["process"]))
        command = process.cmdline()  # empty until it has begun, and after its end
        if str(folder.resolve()) in command or (not command and process.status() != psutil.STATUS_ZOMBIE):
            return process
        process.wait(0)  # a process of this program that has ended, and nobody has asked how
    except (psutil.Error, psutil.TimeoutExpired, ValueError, TypeError, OverflowError):
        pass
    return None


def _interrupt(process: psutil.Process) -> None:
    """End the command of a job as Ctrl-C does; where there is no such signal, by force: what is
    finished is on the disk."""
    for child in process.children(recursive=True):
        with suppress(psutil.Error):
            if sys.platform == "win32":
                child.terminate()
            else:
                child.send_signal(signal.SIGINT)


def run(folder: Path) -> int:
    """Run the command of a job, and write how it ended; Ctrl-C is left to the command."""
    signal.signal(signal.SIGINT, lambda *_: None)
    job: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
    with (folder / PRINTED).open("ab") as printed:
        code = subprocess.call(
            [sys.executable, "-m", "spanlab", *job["arguments"]],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "120"},
        )
    write_json(folder / ENDED, {"code": code})
    return code


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1])))
