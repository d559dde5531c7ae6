"""Puts commands under faults, and holds what is left against what must hold: nothing recorded is lost, nothing half is
believed, and the next command works or says what to do.

python tests/helpers/data/faults.py [--times N] [--seed N] [--fault FAULT ...] [CASE ...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from network_runs import TINY
from session_tools import command
from study_files import STUDY, study_in, take

from spanlab.core.errors import SpanLabError
from spanlab.sessions import read_session
from spanlab.sessions.record.reader import finished_trials, read_events, sessions_below
from spanlab.sessions.record.table import read_table
from spanlab.sessions.session import write_info

FAULTS = ("kill", "term", "full", "readonly", "clock", "two")


def machines(folder: Path) -> None:
    """Two sessions of machines."""
    for agent in ("capacity:3", "chance"):
        run(folder, ("replay", "vsr", "--agent", agent, "--trials", "24", "--data", "data"))


def half(folder: Path) -> None:
    """A session that was cut off in its middle."""
    run(folder, ("replay", "vsr", "--agent", "capacity:3", "--trials", "300", "--data", "data"))
    (session,) = sessions_below(folder / "data")
    for table in session.glob("responses.*"):
        table.unlink()
    whole = (session / "events.jsonl").read_bytes()
    (session / "events.jsonl").write_bytes(whole[: len(whole) // 2])


def people(folder: Path) -> None:
    """A study that two people have taken."""
    study = study_in(folder, STUDY)
    for person in ("p01", "p02"):
        take(study, folder / "data", person)


def archived(folder: Path) -> None:
    """An archive of such a study."""
    people(folder)
    run(folder, ("study", "archive", "study.yaml", "-o", "pair.zip", "--data", "data"))


def alone(folder: Path) -> None:
    """Two sessions outside studies, one of them a person's."""
    machines(folder)
    session = min(sessions_below(folder / "data"))
    write_info(session, {**read_session(session), "participant": "p01", "agent_kind": "participant"})


def config(folder: Path) -> None:
    """A network to train."""
    (folder / "tiny.yaml").write_text(json.dumps(TINY), encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """A command, run in a folder of its own.

    Parameters
    ----------
    begins : makes what it needs
    outputs : what it leaves, each as a whole or not at all
    resumes : whether what it began is gone on with, instead of the command once more
    """

    command: tuple[str, ...]
    begins: Callable[[Path], None] = lambda folder: None
    outputs: tuple[str, ...] = ()
    resumes: tuple[str, ...] = ()

    def again(self, folder: Path) -> tuple[str, ...]:
        """The command that goes on."""
        begun = [session for session in sessions_below(folder / "data") if (session / "session.json").exists()]
        if self.resumes == ("resume",):
            return ("resume", str(begun[0].relative_to(folder))) if begun else self.command
        started = self.resumes and any((folder / "runs").glob("tiny.state*"))
        if not started and (folder / "runs" / "tiny.pt").exists():  # moved away, as the message says
            shutil.rmtree(folder / "runs")
        return (*self.command, *self.resumes) if started else self.command


REPLAY = ("replay", "vsr", "--data", "data", "--seed", "3")
CASES: Mapping[str, Case] = {
    "replay": Case((*REPLAY, "--agent", "capacity:3", "--trials", "400"), resumes=("resume",)),
    "network": Case((*REPLAY, "--agent", "network:laptop", "--trials", "300"), resumes=("resume",)),
    "run": Case(
        (
            *("run", "vsr", "--simulate", "capacity:3@20", "--set", "list_length=2", "--trials", "3"),
            *("--data", "data", "--no-practice"),
        ),
        resumes=("resume",),
    ),
    "resume": Case(("resume", "data"), half),
    "train": Case(("train", "tiny.yaml", "-o", "runs"), config, resumes=("--resume",)),
    "compare": Case(("compare", "data", "-o", "report"), machines, ("report",)),
    "bids": Case(("export", "bids", "data", "-o", "out"), people, ("out",)),
    "csv": Case(("export", "csv", "data", "-o", "out"), people, ("out",)),
    "conversations": Case(("export", "psych101", "data", "-o", "out.jsonl"), people, ("out.jsonl",)),
    "withdraw": Case(("study", "withdraw", "study.yaml", "p01", "--data", "data", "--yes"), people),
    "withdraw alone": Case(("study", "withdraw", "vsr", "p01", "--data", "data", "--yes"), alone),
    "archive": Case(("study", "archive", "study.yaml", "-o", "out.zip", "--data", "data"), people, ("out.zip",)),
    "restore": Case(
        ("study", "restore", "pair.zip", "--data", "restored", "-o", "files"), archived, ("restored", "files")
    ),
    "serve": Case(("serve", "study.yaml", "--data", "data", "--port", "PORT"), people),
}


def run(folder: Path, arguments: Sequence[str], prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
    """A command that nothing disturbs."""
    return subprocess.run(
        [*prefix, *command(*arguments)], cwd=folder, capture_output=True, env=environment(), timeout=300
    )


def environment() -> dict[str, str]:
    """One thread, and a clock of intervals that runs on when that on the wall is set."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "DONT_FAKE_MONOTONIC": "1"}


def begin(
    folder: Path, arguments: Sequence[str], prefix: Sequence[str] = (), most: int | None = None
) -> subprocess.Popen[bytes]:
    """A command that is going to be disturbed; ``most`` is how many bytes a file may have."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    with (folder / "told").open("wb") as told:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        return subprocess.Popen(
            [*prefix, *command(*(port if one == "PORT" else one for one in arguments))],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env=environment(),
            preexec_fn=limit,
        )


def tree(folder: Path) -> dict[str, int]:
    """The files below a folder that are not hidden, with their sizes; a file is one by itself."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    sizes = {path.relative_to(folder.parent).as_posix(): path.stat().st_size for path in files if path.is_file()}
    return {name: size for name, size in sizes.items() if not name.startswith(".") and "/." not in name}


def recorded(folder: Path) -> dict[str, set[str]]:
    """The finished trials of every session."""
    found: dict[str, set[str]] = {}
    for session in sessions_below(folder / "data") if (folder / "data").is_dir() else ():
        found[session.name] = set(finished_trials(read_events(session)))
        read_table(session)
    return found


class AmissError(AssertionError):
    """Something that must hold does not."""


class Driver:
    """Disturbs one case.

    Parameters
    ----------
    folder : in which a copy is made for each disturbance
    """

    def __init__(self, name: str, folder: Path, chance: random.Random) -> None:
        self.case, self._folder, self._random = CASES[name], folder, chance
        self._origin = folder / "origin"
        self._origin.mkdir()
        self.case.begins(self._origin)
        whole, began = self._copy("whole"), time.monotonic()
        if self.case.command[0] == "serve":
            self.seconds, self.outputs, self.largest = 6.0, {}, 4096
            return
        done = run(whole, self.case.command)
        if done.returncode:
            raise AmissError(f"without any fault: {done.stderr.decode()[-800:]}")
        self.seconds = time.monotonic() - began
        self.outputs = {output: tree(whole / output) for output in self.case.outputs}
        self.largest = max((path.stat().st_size for path in whole.rglob("*") if path.is_file()), default=0)
        self.final = {name: len(trials) for name, trials in recorded(whole).items()}

    def _copy(self, name: str) -> Path:
        shutil.rmtree(self._folder / name, ignore_errors=True)
        return Path(shutil.copytree(self._origin, self._folder / name))

    def disturb(self, fault: str) -> str:
        """Disturb the command once, go on, and say what the disturbance came to.

        Raises
        ------
        AmissError
            when something that must hold does not.
        """
        folder, prefix = self._copy("disturbed"), list[str]()
        before = recorded(folder)
        moment = self._random.uniform(0, self.seconds)
        if fault == "readonly":
            prefix = [
                "unshare",
                "-m",
                "sh",
                "-c",
                'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" && exec "$@"',
                "-",
            ]
        most = self._random.randrange(self.largest + 1) if fault == "full" else None
        processes = [begin(folder, self.case.command, prefix, most)]
        if fault == "two":  # a window waits for the focus that another one on the same screen has
            elsewhere = ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24"] if self.case.command[0] == "run" else prefix
            processes.append(begin(folder, self.case.command, elsewhere, most))
        if fault in ("kill", "term", "clock"):
            time.sleep(moment)
            for process in processes:
                process.send_signal(signal.SIGTERM if fault == "term" else signal.SIGKILL)
        codes = [self._ended(process, fault) for process in processes]
        told = (folder / "told").read_text("utf-8", "replace")
        if "Traceback" in told:
            raise AmissError(f"a traceback: {told[-1500:]}")
        if any(code > 0 for code in codes) and not told.strip():
            raise AmissError(f"ended with {codes} without a word")
        if fault == "two" and 0 not in codes and self.case.command[0] != "serve":
            raise AmissError(f"neither of two came through: {told[-800:]}")
        self._sound(folder, before)
        self._goes_on(folder, ["faketime", "-f", "-1h"] if fault == "clock" else [])
        return f"{fault} {codes}"

    def _ended(self, process: subprocess.Popen[bytes], fault: str) -> int:
        serves = self.case.command[0] == "serve" and fault not in ("kill", "term", "clock")
        try:
            return process.wait(self.seconds if serves else 300)
        except subprocess.TimeoutExpired:
            process.terminate()
            return process.wait(60)

    def _sound(self, folder: Path, before: Mapping[str, set[str]]) -> None:
        """What was recorded is there, and what is there is whole."""
        try:
            now = recorded(folder)
        except SpanLabError as error:
            raise AmissError(f"what is left cannot be read: {error}") from error
        gone = {name for name in before if name not in now}
        if gone and self.case.command[:2] != ("study", "withdraw"):
            raise AmissError(f"sessions are gone: {gone}")
        if lost := {name: before[name] - now[name] for name in before.keys() & now if before[name] - now[name]}:
            raise AmissError(f"trials are gone: {lost}")
        for output, whole in self.outputs.items():
            left = tree(folder / output)
            believed = output != "report" or "report/report.html" in left  # a report without its page is none
            if left and believed and left.keys() != whole.keys():
                raise AmissError(f"half of {output}: {sorted(whole.keys() ^ left.keys())}")

    def _goes_on(self, folder: Path, prefix: Sequence[str]) -> None:
        """The next command works, or is not needed."""
        if self.case.command[0] == "serve":
            process = begin(folder, self.case.command, prefix)
            time.sleep(self.seconds)
            if process.poll() is not None:
                raise AmissError(f"the server does not start again: {(folder / 'told').read_text()[-800:]}")
            # faketime stays above what it starts; a server has children of its own, which draw
            for one in psutil.Process(process.pid).children() if prefix else [process]:
                one.terminate()
            process.wait(60)
            return
        done = run(folder, self.case.again(folder), prefix)
        told = done.stderr.decode("utf-8", "replace")
        over = {output: tree(folder / output) for output in self.outputs} == self.outputs and bool(self.outputs)
        if done.returncode and not (
            over or any(said in told for said in ("exists", "nothing is left", "has no session"))
        ):
            raise AmissError(f"it does not go on ({done.returncode}): {told[-1500:]}")
        trials = {len(finished) for finished in recorded(folder).values()}
        if not trials <= {*self.final.values()} and self.case.command[0] != "run":
            raise AmissError(f"not all is recorded: {recorded(folder).keys()}")
        if left := [path.name for ending in ("*.part", ".withdrawn-*") for path in folder.rglob(ending)]:
            raise AmissError(f"left over: {left}")


def disturbed(name: str, faults: Sequence[str], times: int, seed: int = 1) -> list[str]:
    """Disturb a case so many times by each fault, and say what was amiss."""
    chance, amiss = random.Random(f"{seed} {name}"), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(name, Path(folder), chance)
        for fault in faults:
            for number in range(times):
                try:
                    driver.disturb(fault)
                except AmissError as error:
                    amiss.append(f"{name}, {fault} {number}: {error}")
    return amiss


def main() -> int:
    """Disturb commands, and print what was amiss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", default=list(CASES))
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = 0
    for name in asked.case:
        began = time.monotonic()
        amiss = disturbed(name, asked.fault or FAULTS, asked.times, asked.seed)
        print(f"{name}: {len(amiss)} amiss, {time.monotonic() - began:.0f} s", *amiss, sep="\n  ", flush=True)
        found += len(amiss)
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
