"""Small agents and short ways for the tests of sessions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from spanlab.agents.base import Agent, Episode, Response, Shown, TrialContext
from spanlab.agents.registry import make_agent
from spanlab.agents.window import PageContent, WindowAgent, WindowEpisode
from spanlab.core.agent_kinds import NETWORK, PARTICIPANT, SIMULATED, AgentKind
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import (
    Paradigm,
    Percept,
    PlannedTrial,
    Truth,
    compile_trial,
    load_paradigm,
    percept_bytes,
    plan_session,
)
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.paradigm import paradigm_from_data
from spanlab.paradigms.trial import fingerprint
from spanlab.sessions import Request, Runner, Session, begin, read_responses
from spanlab.sessions.record.events import TrialStart
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.record.table import COLUMNS
from spanlab.sessions.replaying import recorded_agent

MEASURED = [column.name for column in COLUMNS if column.measured]
#: columns that say who answered, and in which session
WHO = ["session", "participant", "agent_kind", "agent", "agent_settings_hash", "oracle"]

#: Signs one after another, as a part of a timeline: silence means no, a press after 600 ms is late,
#: and each is answered by feedback.
SIGNS = """\
  - for: item in items
    do:
      - phase: probe
        show: [{text: =item, ms: 100}, {blank: {}, ms: 500}]
        ask: {choice: {options: [x, "-"]}, answer: "='x' if item == 'go' else '-'", ends: on_time, no_answer_means: "-", late: record}
        record: {serial_position: =number, sign: =item}
      - phase: feedback
        feedback:
          right: {text: right, ms: 50}
          wrong: {text: wrong, ms: 50}
          missed: {text: missed, ms: 50}
"""  # noqa: E501

#: Go/no-go with feedback: three signs a trial, silence means no, a press after 600 ms is late.
GO_NOGO = (
    """
paradigm: gonogo
version: 3
title: Go or not
factors:
  signs: [3]
  hand: [left, right]
draw:
  items: {several: {of: [go, stop], count: =signs}}
timeline:
  - phase: fixation
    model_steps: 0
    show: {fixation: {}, ms: 100}
"""
    + SIGNS
    + """set_size: 1
list_length: =signs
instructions: {en: Press x for go.}
practice: {trials: 2, factors: {hand: left}, feedback: true, pass: 0.6, at_most: 3}
designs:
  human: {repetitions: 3}
"""
)


class Saying(Agent):
    """An agent made of a function: percept and the number of the question give the response.

    ``seen`` keeps everything that its episodes were handed.
    """

    kind: ClassVar[AgentKind] = NETWORK

    def __init__(
        self,
        answer: Callable[[Percept, int], Response],
        name: str = "saying",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.say = answer
        self._settings = dict(settings or {})
        self.seen: list[tuple[TrialContext, list[Percept]]] = []

    def start(self, context: TrialContext) -> SayingEpisode:
        self.seen.append((context, []))
        return SayingEpisode(self, self.seen[-1][1])

    def settings(self) -> dict[str, Any]:
        return self._settings


class SayingEpisode(Episode):
    def __init__(self, agent: Saying, seen: list[Percept]) -> None:
        self._agent, self._seen, self._asked = agent, seen, 0

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        self._seen.append(percept)
        if percept.ask is None:
            return None
        self._asked += 1
        return self._agent.say(percept, self._asked)


class AtTheWindow(Saying, WindowAgent):
    """A person without a window: gets every step, practice and pages, and tells how displays were
    shown."""

    kind: ClassVar[AgentKind] = PARTICIPANT

    def __init__(self, answer: Callable[[Percept, int], Response]) -> None:
        super().__init__(answer, "participant")
        self.pages: list[str] = []

    def start(self, context: TrialContext) -> SayingAtWindow:
        self.seen.append((context, []))
        return SayingAtWindow(self, self.seen[-1][1])

    def page(self, page: PageContent) -> None:
        self.pages.append(f"{page.title}: " + "\n\n".join(filter(None, (page.text, page.after))))

    def apparatus(self) -> dict[str, Any]:
        return {"refresh_hz": 60.0, "trials_so_far": len(self.seen)}


class Rehearsing(AtTheWindow):
    """A simulated participant without a window."""

    kind: ClassVar[AgentKind] = SIMULATED


class SayingAtWindow(SayingEpisode, WindowEpisode):
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        self._shown = [Shown(display.ms, 1000.0, 16.7 * 6, 6, 6, 1) for display in percept.displays]
        return await super().step(percept)

    def shown(self) -> list[Shown]:
        return self._shown

    def notes(self) -> dict[str, Any]:
        return {"late": [{"key": "x", "rt_ms": 700.0}]}


def start(
    data: Path,
    paradigm: Paradigm,
    agent: Agent,
    trials: int | Sequence[PlannedTrial],
    seed: int = 1,
    levels: Mapping[str, Any] | None = None,
    **request: Any,
) -> Session:
    """A new session of so many trials (or of these)."""
    plan = (
        plan_session(paradigm, seed, SessionDesign(), levels=levels, trials=trials)
        if isinstance(trials, int)
        else trials
    )
    return begin(data, paradigm, agent, plan, Request(seed=seed, **request))


def take(
    data: Path,
    paradigm: Paradigm,
    agent: Agent,
    trials: int | Sequence[PlannedTrial],
    seed: int = 1,
    levels: Mapping[str, Any] | None = None,
    **request: Any,
) -> Session:
    """A whole session."""
    session = start(data, paradigm, agent, trials, seed, levels, **request)
    Runner(session, agent).run()
    return session


def lasting(folder: Path, *, without: Sequence[str] = ()) -> pd.DataFrame:
    """The response table without the measured columns."""
    return read_responses(folder).drop(columns=[*MEASURED, *without])


def spanlab(*arguments: str | Path, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line, in a process of its own."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, cwd=cwd, **{"timeout": 600, **options})


def ended_well(done: subprocess.CompletedProcess[Any]) -> Any:
    """What a process has printed, after checking that nothing went wrong."""
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def command(*arguments: str | Path) -> list[str]:
    """The command line's arguments for a process."""
    return [sys.executable, "-m", "spanlab", *map(str, arguments)]


def one_thread() -> dict[str, str]:
    """The environment, for processes that are not to take all cores."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


class Guessing:
    """Guesses until so many questions were answered, then is gone."""

    def __init__(self, answers: float = float("inf")) -> None:
        self.left, self.random = answers, np.random.RandomState(1)

    def __call__(self, percept: Percept, number: int) -> Response:
        if self.left < 1:
            raise SpanLabError("gone")
        self.left -= 1
        assert percept.ask is not None
        return Response(percept.ask.kind.guess(self.random), 500.0)


def starts(folder: Path) -> list[TrialStart]:
    return [event for event in read_events(folder) if event["event"] == "trial_start"]


def known_by_contents(file: Path, write: Callable[..., Path], text: str, change: Callable[[], object]) -> None:
    """Trials with files of one's own are known by what the files hold, and not by their names.

    Parameters
    ----------
    write : writes the paradigm and its files into a folder, with ``text`` as its definition
    change : puts something else into one of the files
    """
    own = file.parent / file.stem

    def prints(paradigm: Paradigm) -> list[str]:
        return [fingerprint(compile_trial(paradigm, {"list_length": 3}, seed)) for seed in range(8)]

    first = load_paradigm(file)
    known, rebuilt = prints(first), paradigm_from_data(first.data, first.name)
    shutil.rmtree(own)  # the record is enough to compile them
    assert (rebuilt.hash, prints(rebuilt)) == (first.hash, known)

    renamed = write(file.parent / "other", text.replace(f"{own.name}/{{", f"{own.name}/secret_target_{{"))
    for path in sorted((renamed.parent / own.name).iterdir()):
        path.rename(path.with_name(f"secret_target_{path.name}"))
    again = load_paradigm(renamed)
    assert again.hash != first.hash
    assert prints(again) == known, "the name of a file is nothing that anybody sees or hears"
    for step in (step for seed in range(8) for step in compile_trial(again, {"list_length": 3}, seed).steps):
        assert "secret" not in repr(step.percept) + repr(percept_bytes(step.percept))

    write(file.parent)
    change()
    assert load_paradigm(file).hash != first.hash
    assert prints(load_paradigm(file)) != known


def taken_by_machines(data: Path, paradigm: Paradigm) -> None:
    """Machines that need no model take a paradigm: the ideal one is always right, and a recorded session answers as
    it did."""
    ideal, _, guesses = (
        take(data, paradigm, make_agent(name), 6, seed=2) for name in ("ideal", "capacity:2", "chance")
    )
    assert read_responses(ideal.folder)["correct"].all()
    again = take(data, paradigm, recorded_agent(f"recorded:{guesses.folder}"), guesses.plan, 2, like="x")
    columns = ["trial_id", "answer", "correct", "serial_position", "set_size"]
    pd.testing.assert_frame_equal(lasting(again.folder)[columns], lasting(guesses.folder)[columns])
