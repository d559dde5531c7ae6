"""Sessions of every kind of agent, written with the same arguments as those in
``tests/golden/record``: what is written must not change by a byte.

    PYTHONPATH=tests/helpers:tests/helpers/data:tests/helpers/lab python tests/helpers/written_anew.py FOLDER

writes them in a new folder (Linux with Xvfb).

Those that are stored were written by the commit in ``made_by.txt``. What is measured is passed over,
as the models mark it.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from golden_sessions import HERE, material

STORED = Path(__file__).resolve().parents[1] / "golden" / "record"
#: what a session consists of; the Parquet table holds what the CSV does, and its bytes depend on
#: the library that writes it
FILES = ("session.json", "events.jsonl", "transcripts.jsonl", "responses.csv")
_OTHERS = Path(__file__).resolve().parents[1] / "golden" / "sessions" / "finished"
_REPLAY = ("replay", "--data", ".")
_CHAT = ("--agent", "chat:scripted", "--chat", "label=scripted server, not a model")

#: name of the session and the arguments that write it, without a window
MACHINES: Mapping[str, tuple[str, ...]] = {
    "vsr-ideal-s11": (*_REPLAY, "vsr", "--agent", "ideal", "--set", "list_length=2,3", "--trials", "3", "--seed", "11"),
    "cd-capacity-2-s12": (
        *_REPLAY,
        "cd",
        "--agent",
        "capacity:2",
        "--set",
        "set_size=4",
        "--trials",
        "3",
        "--seed",
        "12",
        "--pilot",
    ),
    "nback_verbal-chance-s13": (
        *_REPLAY,
        "nback_verbal",
        "--agent",
        "chance",
        "--set",
        "n=2",
        "--trials",
        "1",
        "--seed",
        "13",
        "--generator",
        "published",
    ),
    "signs-capacity-s14": (*_REPLAY, "own.yaml", "--agent", "capacity", "--trials", "3", "--seed", "14"),
    "sfr-network-laptop-s15": (
        *_REPLAY,
        "sfr",
        "--agent",
        "network:laptop",
        "--set",
        "list_length=3",
        "--trials",
        "2",
        "--seed",
        "15",
    ),
    "vsr-capacity-3-s16": (
        *_REPLAY,
        "vsr",
        "--agent",
        "capacity:3",
        "--design",
        "span",
        "--trials",
        "6",
        "--seed",
        "16",
    ),
    "vsr-recorded-p01-s3": (*_REPLAY, "--like", "p01", "--agent", "recorded:p01"),
    "vsr-network-laptop-s27": (
        *(
            *_REPLAY,
            "vsr",
            "--agent",
            "network:laptop",
            "--set",
            "list_length=2",
            "--trials",
            "2",
            "--seed",
            "27",
            "--states",
        ),
    ),
    "nback_verbal-published-gpt-3-5-turbo-s1": ("import", "nback-results", "all_trials_verbal.json", "-o", "published"),
}
#: with chat models
CHATS: Mapping[str, tuple[str, ...]] = {
    "vsr-chat-scripted-s31": (
        *_REPLAY,
        "vsr",
        *_CHAT,
        "--set",
        "list_length=2",
        "--trials",
        "2",
        "--seed",
        "31",
        "--concurrency",
        "1",
    ),
}
_RUN = ("run", "--data", ".", "--windowed", "--screen-width", "34")
#: at a window, by a simulated participant
SIMULATED: Mapping[str, tuple[str, ...]] = {
    "sfr-simulated-capacity-2-s7": (
        *_RUN,
        "sfr",
        "--set",
        "list_length=3",
        "--trials",
        "2",
        "--simulate",
        "capacity:2@4",
        "--seed",
        "7",
    ),
}
#: at a window, by somebody with keys
PEOPLE: Mapping[str, tuple[str, ...]] = {
    "vsr-p01-s3": (
        *_RUN,
        "vsr",
        "--participant",
        "p01",
        "--set",
        "list_length=2",
        "--trials",
        "2",
        "--seed",
        "3",
        "--keys",
        "swapped",
        "--language",
        "de",
    ),
}
ALL = {**MACHINES, **CHATS, **SIMULATED, **PEOPLE}


def prepare(folder: Path) -> None:
    """What the arguments name: files, and a session whose trials and answers are given again."""
    material(folder)
    shutil.copytree(_OTHERS / "vsr-p01-s3", folder / "p01")


def main(folder: Path) -> None:
    from session_tools import command

    from spanlab.agents.human.display.window import virtual_screen
    from spanlab.extensions.demonstration.scripted import ScriptedServer

    folder.mkdir(parents=True)
    work, stored = folder / "work", folder / "stored"
    work.mkdir()
    prepare(work)
    with virtual_screen(), ScriptedServer() as server:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENAI_BASE_URL": server.endpoint.url,
            "PYTHONPATH": os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH")))),
        }
        for name, arguments in ALL.items():
            words = (
                [
                    sys.executable,
                    str(Path(__file__).resolve().parents[1] / "helpers" / "lab" / "golden_person.py"),
                    "0",
                    *arguments,
                ]
                if name in PEOPLE
                else command(*arguments)
            )
            done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
            print(done.stdout.strip() or done.stderr, flush=True)
            keep(next(work.rglob(name)), stored / name)
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%H"],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (stored / "made_by.txt").write_text(f"commit {commit}", encoding="utf-8")


def keep(session: Path, place: Path) -> None:
    """Put the files of a session by."""
    place.mkdir(parents=True)
    for name in FILES:
        if (session / name).exists():
            text = (session / name).read_text(encoding="utf-8")
            (place / name).write_text(
                text.replace(f" {platform.release()}", ""), encoding="utf-8"
            )  # it says which machine it was


if __name__ == "__main__":
    main(Path(sys.argv[1]))
