"""Makes the golden sessions: small sessions of every kind of agent, finished and half-way, as they
lie on the disk in ``tests/golden/sessions``.

    PYTHONPATH=tests/helpers:tests/helpers/data:tests/helpers/lab python tests/helpers/golden_sessions.py FOLDER

makes them in a new folder (Linux with Xvfb; about five minutes).

Tests hold that whatever comes later reads those that are stored, rebuilds their trials, scores their
answers alike and goes on with them; ``made_by.txt`` beside them says which commit made them. Beside
them lie their response tables (``tables``), and those of the half-way ones after the same code had
gone on with copies of them (``resumed``).

Sessions are begun by the command line wherever it can; what stops one half-way is Escape and L for
a person, Ctrl-C or a kill for machines. People's keys and clicks are real ones (XTEST), at the real
window, by random; nothing of them looks at the screen.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nback_files import block_text, identity_block, letter_results, write_block, write_results
from session_tools import SIGNS, command

#: A paradigm of a user's own, with what the language has: nesting, random factors and durations,
#: go/no-go, feedback, codes, several languages.
OWN = (
    """
paradigm: signs
version: 4
title: {en: Go or not, de: Los oder nicht}
factors:
  signs: [2, 3]
  hand: {random: [left, right]}
draw:
  items: {several: {of: [go, stop], count: =signs}}
timeline:
  - phase: fixation
    model_steps: 0
    show: {fixation: {}, ms: {uniform: [50, 150]}}
"""
    + SIGNS
    + """set_size: 1
list_length: =signs
triggers: {trial_start: 1, phases: {fixation: 10, probe: 20, feedback: 30}, responses: 100, trial_end: 2}
instructions: {en: "Press x for go. There are {=signs} signs.", de: "Drücken Sie x bei go. Es kommen {=signs} Zeichen."}
practice: {trials: 1, factors: {signs: 2}, feedback: true}
designs:
  human: {repetitions: 2, interval: 100}
"""
)
STUDY = """
study: golden
title: Two short tasks
languages: [en, de]
paradigms:
  - {paradigm: vsr, set: {list_length: 2}, trials: 2, practice: false}
  - {paradigm: ../own.yaml, set: {signs: 2}, trials: 2, practice: false}
order: latin_square
breaks: {text: {en: Rest., de: Ruhen Sie aus.}, seconds: 1}
consent: {en: Do you agree?, de: Sind Sie einverstanden?}
debrief: {en: It was about memory., de: Es ging um das Gedächtnis.}
fields: [age]
"""
HERE = str(Path(__file__).resolve().parent)
AT_THE_WINDOW = ("--windowed", "--screen-width", "34")


#: how somebody goes on with the study
GOES_ON = (
    "run",
    "studies/study.yaml",
    "--data",
    "studies",
    *AT_THE_WINDOW,
    "--participant",
    "p02",
    "--session",
    "1",
    "--existing",
    "resume",
)


class Maker:
    """Makes sessions below a folder, in which every path of theirs is relative to it."""

    def __init__(self, folder: Path, display: str, chat: str) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "DISPLAY": display,
            "OMP_NUM_THREADS": "1",
            "OPENAI_BASE_URL": chat,
            "PYTHONPATH": os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH")))),
        }
        self.environment.pop("OPENAI_API_KEY", None)

    def spanlab(self, *arguments: str, fails: bool = False) -> str:
        """A command; what it printed."""
        done = subprocess.run(
            command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if bool(done.returncode) != fails:
            raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        print(done.stdout.strip() or done.stderr.strip().splitlines()[-1], flush=True)
        return done.stdout

    def person(self, leave_after: int, *arguments: str) -> None:
        """A command with somebody at the window, who leaves after so many ordinary trials (never
        when 0)."""
        words = [
            sys.executable,
            str(Path(__file__).resolve().parents[1] / "helpers" / "lab" / "golden_person.py"),
            str(leave_after),
            *arguments,
        ]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        if bool(done.returncode) != bool(leave_after):
            raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        print(done.stdout.strip() or done.stderr.strip().splitlines()[-1], flush=True)

    def stopped(self, when: Callable[[], bool], how: signal.Signals, *arguments: str) -> None:
        """A command that is stopped by a signal."""
        with subprocess.Popen(
            command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while not when():
                if process.poll() is not None:
                    raise SystemExit(f"{' '.join(arguments)}: it was over before it could be stopped")
                time.sleep(0.001)
            process.send_signal(how)
            process.wait()
        print(f"stopped: {' '.join(arguments)}", flush=True)

    def counted(self, file: str, what: str) -> int:
        """How many lines of a session's file hold a text."""
        path = self.folder / file
        return path.read_text(encoding="utf-8").count(what) if path.exists() else 0


def half(
    folder: Path, spec: str, paradigm: str, seed: int, trials: int, after: int, levels: Sequence[str] = (), **more: Any
) -> None:
    """A machine's session that Ctrl-C stops after some trials.

    Parameters
    ----------
    more : ``design``, ``generator``, ``batch`` (how many trials are answered at once), ``like``
    """
    from spanlab.api.options import parse_levels
    from spanlab.paradigms import load_paradigm, plan_session
    from spanlab.paradigms.design import session_design
    from spanlab.sessions import Request, Runner, begin, same_trials
    from spanlab.sessions.run import make_machine as machine

    os.chdir(folder)
    agent: Any = machine(spec, seed)
    design, generator = more.get("design"), more.get("generator", "corrected")
    loaded = load_paradigm(paradigm)
    plan, like = plan_session(loaded, seed, session_design(loaded, design), parse_levels(list(levels)), trials), ""
    if "like" in more:
        other = same_trials(more["like"])
        plan, like = list(other.plan), other.name
    if "batch" in more:
        agent.batch_size = more["batch"]
    request = Request(seed=seed, generator=generator, design=design or "human", source=paradigm, like=like)
    session = begin(Path("half"), loaded, agent, plan, request)

    def stop(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    try:
        Runner(session, agent, stop).run()
    except KeyboardInterrupt:
        print(session.folder, flush=True)
    else:
        raise SystemExit(f"{session.folder} came to its end")


def people(maker: Maker) -> None:
    """People and simulated participants."""
    run = ("run", "--data", "finished", *AT_THE_WINDOW)
    begin = ("run", "--data", "half", *AT_THE_WINDOW)
    maker.person(0, *run, "vsr", "--participant", "p01", "--set", "list_length=2", "--trials", "3", "--seed", "3")
    maker.person(
        0,
        *run,
        "own.yaml",
        "--participant",
        "p02",
        "--trials",
        "2",
        "--seed",
        "4",
        "--language",
        "de",
        "--triggers",
        "dry",
        "--patch",
        "upper-left:2",
    )
    cd = (
        "cd",
        "--set",
        "feature=colour",
        "--set",
        "set_size=4",
        "--trials",
        "5",
        "--language",
        "de",
        "--keys",
        "swapped",
    )
    maker.person(2, *begin, *cd, "--participant", "p03", "--seed", "5")
    maker.person(
        1, *begin, "smu", "--participant", "p04", "--set", "set_size=2", "--trials", "2", "--seed", "6", "--no-practice"
    )
    sfr = ("sfr", "--set", "list_length=3", "--trials", "3", "--no-practice", "--simulate", "capacity:2@4")
    maker.spanlab(*run, *sfr, "--seed", "7")
    two_ended = lambda: maker.counted("half/sfr-simulated-capacity-2-s8/events.jsonl", '"trial_end"') >= 2  # noqa: E731
    maker.stopped(two_ended, signal.SIGINT, *begin, *sfr, "--seed", "8")


def studies(maker: Maker) -> None:
    """A study: somebody who has finished it, and somebody who has left in its second task."""
    run = ("run", "studies/study.yaml", "--data", "studies", *AT_THE_WINDOW)
    maker.person(0, *run, "--participant", "p01", "--field", "age=31")
    maker.person(3, *run, "--participant", "p02", "--field", "age=27", "--language", "de")


def machines(maker: Maker) -> None:
    """Observers, networks, recorded and published answers."""
    replay, folder = ("replay", "--data", "finished"), maker.folder
    maker.spanlab(*replay, "vsr", "--agent", "ideal", "--set", "list_length=2,3", "--trials", "4", "--seed", "11")
    maker.spanlab(
        *replay,
        "cd",
        "--agent",
        "capacity:2",
        "--agent",
        "chance",
        "--set",
        "set_size=4",
        "--trials",
        "10",
        "--seed",
        "12",
    )
    maker.spanlab(
        *replay,
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
    )
    maker.spanlab(*replay, "own.yaml", "--agent", "capacity", "--trials", "4", "--seed", "14")
    maker.spanlab(
        *replay, "sfr", "--agent", "network:laptop", "--set", "list_length=3,4", "--trials", "4", "--seed", "15"
    )
    maker.spanlab(*replay, "vsr", "--agent", "capacity:3", "--design", "span", "--trials", "8", "--seed", "16")
    maker.spanlab(
        *replay, "--like", "finished/vsr-p01-s3", "--agent", "recorded:finished/vsr-p01-s3", "--agent", "network:laptop"
    )
    maker.spanlab("import", "nback", "blocks", "-o", "trials", "--as", "nback_verbal")
    given = next((folder / "trials").iterdir()).name
    maker.spanlab(*replay, "--trials-from", f"trials/{given}", "--agent", "ideal", "--seed", "17", "--trials", "1")
    maker.spanlab("import", "nback-results", "all_trials_verbal.json", "-o", "published")
    for session in (folder / "published").iterdir():
        session.rename(folder / "finished" / session.name)
    states = ("--set", "list_length=2", "--trials", "6", "--seed", "27", "--states")
    maker.spanlab(*replay, "vsr", "--agent", "network:laptop", *states)
    half(folder, "ideal", "vsr", 21, 4, 2, ["list_length=2,3"])
    half(folder, "capacity:2", "cs", 22, 3, 1, ["load=1"])
    half(folder, "chance", "own.yaml", 23, 4, 2)
    half(folder, "network:laptop", "vsr", 24, 4, 2, ["list_length=2,3"], batch=2)
    half(folder, "capacity:3", "vsr", 25, 8, 4, design="span")
    half(folder, "recorded:finished/vsr-p01-s3", "vsr", 3, 3, 2, like="finished/vsr-p01-s3")
    half(folder, "network:laptop", "smu", 26, 6, 4, ["set_size=2,3"], batch=2, generator="published")
    os.chdir(folder)


def chats(maker: Maker) -> None:
    """The scripted chat server: in words, with pictures, with the words of a preset, and a
    conversation that a kill has cut."""
    scripted = ("--agent", "chat:scripted", "--chat", "label=scripted server, not a model")
    maker.spanlab(
        "replay", "vsr", "--data", "finished", *scripted, "--set", "list_length=2,3", "--trials", "4", "--seed", "31"
    )
    pictures = ("--chat", "view=both", "--chat", "probe=off", "--chat", "image_px=96")
    maker.spanlab(
        "replay",
        "sfr",
        "--data",
        "finished",
        *scripted,
        *pictures,
        "--set",
        "list_length=2",
        "--trials",
        "2",
        "--seed",
        "32",
    )
    preset = (
        "--chat",
        "preset=published-base",
        "--chat",
        "reask=0",
        "--set",
        "n=1",
        "--trials",
        "1",
        "--seed",
        "33",
        "--generator",
        "published",
    )
    maker.spanlab("replay", "nback_verbal", "--data", "finished", *scripted, *preset)
    vsr = (
        "replay",
        "vsr",
        "--data",
        "half",
        *scripted,
        "--concurrency",
        "1",
        "--set",
        "list_length=4",
        "--trials",
        "4",
    )
    ten_kept = lambda: maker.counted("half/vsr-chat-scripted-s34/transcripts.jsonl", '"reply"') >= 10  # noqa: E731
    maker.stopped(ten_kept, signal.SIGKILL, *vsr, "--seed", "34")
    bare = (*vsr, "--chat", "delivery=acknowledged", "--chat", "reasoning=after", "--chat", "instructions_as=user")
    six_kept = lambda: maker.counted("half/vsr-chat-scripted-s35/transcripts.jsonl", '"reply"') >= 6  # noqa: E731
    maker.stopped(six_kept, signal.SIGKILL, *bare, "--seed", "35")


def tables(folder: Path, chat: str, display: str) -> None:
    """The response tables of all sessions; and of the half-way ones when they have gone on to their
    end, in a copy."""
    from spanlab.sessions import find_sessions
    from spanlab.sessions.session import complete

    written = {path: table_of(path) for path in find_sessions([folder])}
    halves = [path.relative_to(folder) for path in written if not complete(path)]
    for path, text in written.items():
        put(folder / "tables" / f"{path.relative_to(folder).as_posix().replace('/', '+')}.csv", text)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(folder, copy)
        maker = Maker(copy, display, chat)
        for half in halves:
            if half.parts[0] == "studies":
                maker.person(0, *GOES_ON)
            elif 'agent_kind": "participant' in (copy / half / "session.json").read_text(encoding="utf-8"):
                maker.person(0, "resume", str(half))
            else:
                maker.spanlab("resume", str(half))
        for path in find_sessions([copy]):
            if path.relative_to(copy) in halves or path.relative_to(copy).parts[0] == "studies":
                put(folder / "resumed" / f"{path.relative_to(copy).as_posix().replace('/', '+')}.csv", table_of(path))


def table_of(session: Path) -> str:
    """The response table of a session, without what was measured."""
    from spanlab.sessions import read_responses
    from spanlab.sessions.record.table import COLUMNS

    table = read_responses(session)
    measured = [
        column.name for column in COLUMNS if column.measured and column.name in table.columns
    ]  # younger ones are not in older tables
    return table.drop(columns=measured).to_csv(index=False, lineterminator="\n")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def material(folder: Path) -> None:
    """The files that sessions are made of."""
    (folder / "studies").mkdir(parents=True)
    (folder / "own.yaml").write_text(OWN, encoding="utf-8")
    (folder / "studies" / "study.yaml").write_text(STUDY, encoding="utf-8")
    for number in (1, 2):
        write_block(folder, f"blocks/1back/{number}.txt", block_text(*identity_block(1, number)))
    write_results(folder / "all_trials_verbal.json", letter_results(1, (1, 2)))


def main(folder: Path, only: Sequence[str]) -> None:
    from spanlab.agents.human.display.window import virtual_screen
    from spanlab.extensions.demonstration.scripted import ScriptedServer

    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # what a shell starts in the background is deaf to it, and so is what that starts
    folder.mkdir(parents=True)
    folder = folder.resolve()
    material(folder)
    with virtual_screen(), ScriptedServer() as server:
        maker = Maker(folder, os.environ["DISPLAY"], server.endpoint.url)
        for make in (people, studies, machines, chats):
            if not only or make.__name__ in only:
                make(maker)
        tables(folder, server.endpoint.url, os.environ["DISPLAY"])
    finish(folder)


def finish(folder: Path) -> None:
    """What is not part of a record goes; what all files hold is noted."""
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%H"],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (folder / "made_by.txt").write_text(f"commit {commit}", encoding="utf-8")
    for lock in folder.rglob(".lock"):
        lock.unlink()
    for file in folder.rglob("session.json"):  # the release of the kernel says which machine it was
        file.write_text(file.read_text(encoding="utf-8").replace(f" {platform.release()}", ""), encoding="utf-8")
    shutil.rmtree(folder / "blocks", ignore_errors=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files
    ]
    put(folder / "sha256.txt", "".join(sums))
    print(
        json.dumps(
            {
                "files": sum(path.is_file() for path in folder.rglob("*")),
                "bytes": sum(path.stat().st_size for path in folder.rglob("*")),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
