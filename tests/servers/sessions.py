"""Sessions with the servers, through the public doors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import session_tools
from chat_servers import Tap
from session_tools import MEASURED, command, take

from servers.running import LONG_S
from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.paradigms import Paradigm, PlannedTrial, compile_trial
from spanlab.sessions import Session, find_sessions, read_responses
from spanlab.sessions.record.reader import is_reply, read_transcript


def spanlab(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which waits as long as a busy machine takes."""
    patient = ["--care", f"timeout_s={LONG_S}"] if arguments[0] in ("replay", "score-choices") else []
    return session_tools.spanlab(*arguments, *patient, timeout=LONG_S, **options)


def agent(model: str, base_url: str, care: Mapping[str, Any] | None = None, **settings: Any) -> ChatAgent:
    """A chat agent that gives up at the first fault."""
    request_limits = RequestLimits(**{"max_retries": 0, "timeout_s": LONG_S, **(care or {})})
    return ChatAgent(model, ChatSettings.read(settings), Endpoint(base_url, key_variable=None), request_limits)


def shortest(paradigm: Paradigm) -> Mapping[str, Any]:
    """The levels of the trial with the fewest steps."""
    return min(
        paradigm.combinations(),
        key=lambda levels: len(compile_trial(paradigm, levels, seed=1, generator="corrected").steps),
    )


def session(
    data: Path,
    paradigm: Paradigm,
    taker: ChatAgent,
    trials: int | Sequence[PlannedTrial] = 1,
    seed: int = 1,
    **levels: Any,
) -> Session:
    """A whole session; of the shortest trials when no levels are given."""
    chosen = {name: [level] for name, level in (levels or shortest(paradigm)).items()}
    return take(data, paradigm, taker, trials, seed, chosen if isinstance(trials, int) else None)


def replies(folder: Path) -> list[dict[str, Any]]:
    """The lines of the transcript that keep replies to trials."""
    return [line for line in read_transcript(folder) if is_reply(line) and line["trial"]]


def lasting(folder: Path) -> pd.DataFrame:
    """The table without what is measured, without the session's name, trial by trial."""
    return read_responses(folder).sort_values(["trial", "step"], ignore_index=True).drop(columns=[*MEASURED, "session"])


def served_at(base_url: str) -> dict[str, str]:
    """The environment of a program whose chat server is this one."""
    hidden = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return {**hidden, "OPENAI_BASE_URL": base_url}


def killed_and_resumed(data: Path, tap: Tap, arguments: Sequence[str], every: int) -> tuple[Path, int]:
    """A session that is killed whenever ``every`` more replies are on the disk, and resumed until
    it is done; its folder, and how often it was killed."""
    kills = 0
    todo = [*arguments, "--care", f"timeout_s={LONG_S}", "--data", str(data)]
    while True:
        with (data.parent / f"said-{kills}.txt").open("w+", encoding="utf-8") as said:
            program = subprocess.Popen(
                command(*todo), env=served_at(tap.base_url), stdout=said, stderr=subprocess.STDOUT
            )
            done = _wait(program, data, every * (kills + 1))
            said.seek(0)
            text = said.read()
        (folder,) = find_sessions([data])
        if done:
            assert program.returncode == 0, text
            assert not re.search("Traceback", text)
            return folder, kills
        kills += 1
        todo = ["resume", str(folder)]


def _wait(program: subprocess.Popen[bytes], data: Path, until: int, timeout_s: float = LONG_S) -> bool:
    """Whether the program came to its end before so many replies were there; else it is killed."""
    end = time.monotonic() + timeout_s
    while program.poll() is None:
        files = list(data.glob("*/transcripts.jsonl"))
        if files and files[0].read_bytes().count(b'"reply":') >= until:
            program.send_signal(signal.SIGKILL)
            program.wait()
            return False
        assert time.monotonic() < end, "the session does not come to its end"
        time.sleep(0.02)
    return True
