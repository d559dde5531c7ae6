"""Participants at the real player with a virtual clock, who keep a log of their own: what the table
of a battery must say of them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from virtual_lab import Nothing, VirtualStage, VirtualWindow

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human import trial_player as player_module
from spanlab.agents.human.participant import ParticipantEpisode
from spanlab.agents.human.trial_player import Player
from spanlab.agents.window import Option, PageContent, WindowAgent, WindowEpisode
from spanlab.core.agent_kinds import PARTICIPANT, AgentKind
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Answer, Percept, Truth
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import VisitRequest, sit_down

#: seconds after which somebody who mashes keys presses again
INSISTS = 0.35
#: called with the paradigm and the number of its trial since the participant sat down; may end
#: everything
Incident = Callable[[str, int], None]


class Person(WindowAgent):
    """Somebody who is right with a probability, and presses after a time that is known.

    Parameters
    ----------
    log : file with a line for each finished trial: everything that was asked, given and right
    skill : probability of a right answer, for each item by itself
    mashes : presses at once, whatever is asked, and again where that changes nothing
    """

    #: a participant who is handed the truth, to err as often as was planned; nobody else has this
    #: kind
    kind: ClassVar[AgentKind] = replace(PARTICIPANT, oracle=True)

    def __init__(
        self, log: Path, seed: int, skill: float, mashes: bool = False, incident: Incident = lambda task, trial: None
    ) -> None:
        self.name = "participant"
        self.log, self.skill, self.mashes, self.incident = log, skill, mashes, incident
        self.random = np.random.RandomState(seed)
        self.clock = VirtualWindow(60.0)
        self.stage = InsistentStage(self.clock) if mashes else VirtualStage(self.clock)
        self.language = "en"
        self.trials: dict[str, int] = {}

    def settings(self) -> dict[str, Any]:
        return {}

    def apparatus(self) -> dict[str, Any]:
        return {"hz": 60.0, "vsync": True}

    def speak(self, language: str) -> None:
        self.language = language

    def page(self, page: PageContent) -> None:
        self.clock.time += 20.0

    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        self.clock.time += 20.0
        return usual

    def rest(self, ms: float, meanwhile: Callable[[], object] | None = None) -> None:
        self.clock.time += ms / 1000
        if meanwhile is not None:
            meanwhile()

    def start(self, context: TrialContext) -> WindowEpisode:
        self.trials[context.paradigm] = self.trials.get(context.paradigm, 0) + 1
        self.incident(context.paradigm, self.trials[context.paradigm])
        return Attempt(self, context)

    def decide(self, percept: Percept, truth: Truth) -> tuple[Answer, float]:
        """What is answered, and after how long (s); the time falls on a millisecond, as a keyboard
        reports it."""
        ask = percept.ask
        assert ask is not None
        kind = ask.kind
        after = 0.15 if self.mashes else round(float(self.random.uniform(0.4, 1.4)), 3)
        if not kind.scored:
            rating = 1 if self.mashes else int(self.random.randint(1, 6))
            return (kind.unscored_answer(None) if kind.name == "open_text" else rating), after
        right = truth.answer
        assert right is not None
        if self.mashes or kind.surface().dial is not None:
            spread = 180 if self.mashes else 25
            if (dial := kind.surface().dial) is not None:
                off = int(self.random.normal(0, spread))
                return (int(right) + off) % len(dial.values), after  # type: ignore[arg-type]
            return kind.guess(self.random), after
        if not isinstance(right, tuple):
            return right if self.random.rand() < self.skill else kind.guess(self.random), after
        return (right if self.random.rand() < self.skill**2 else kind.guess(self.random)), after


class InsistentStage(VirtualStage):
    """The window before somebody who presses again: the same key twice within a fifth of a second
    counts once, as the bouncing of one press."""

    def waits(self, for_what: str, onset: float) -> None:
        super().waits(for_what, onset)
        if for_what == "answer":
            self.fingers.coming += [
                replace(press, time=press.time + INSISTS) for press in self.fingers.coming if press.time >= onset
            ]


class Attempt(WindowEpisode):
    """A trial of a person: the real player takes the presses, and the log is written when the trial
    is over."""

    def __init__(self, person: Person, context: TrialContext) -> None:
        self._person, self._context = person, context
        self._inner: ParticipantEpisode | None = None
        self._asked: list[dict[str, Any]] = []

    def expect(self, steps: Sequence[Sequence[Percept]]) -> None:
        kinds = tuple(
            dict.fromkeys(percept.ask.kind for percepts in steps for percept in percepts if percept.ask is not None)
        )
        self._inner = ParticipantEpisode(Player(self._person.stage, self._person.language, kinds, 3.0))

    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        assert self._inner is not None
        self._inner.announce_next(percept, last)

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert self._inner is not None
        person = self._person
        person.stage.ask = percept.ask
        person.stage.answer = None
        if percept.ask is not None:
            assert truth is not None
            given, after = person.decide(percept, truth)
            person.stage.answer = given, after
            record = {**truth.record}
            self._asked.append(
                {
                    "phase": percept.phase,
                    "given": given,
                    "right": truth.answer,
                    "rt_ms": after * 1000,
                    "set_size": record.get("set_size"),
                    **record,
                }
            )
        return await self._inner.step(percept)

    def shown(self) -> list[Any]:
        assert self._inner is not None
        return self._inner.shown()

    def notes(self) -> dict[str, Any]:
        assert self._inner is not None
        return self._inner.notes()

    def finish(self) -> None:
        assert self._inner is not None
        self._inner.finish()
        line = {"task": self._context.paradigm, "practice": self._context.practice, "asked": self._asked}
        with self._person.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def take(study: Study, data: Path, person: Person, name: str, existing: str = "", language: str = "en") -> float:
    """Sit down, and take the session until its end or the incident; returns the minutes on the
    virtual clock."""
    began = person.clock.time
    visit, _ = sit_down(study, data, VisitRequest(name, "1", existing=existing, language=language))
    with patch.multiple(
        player_module, gc=Nothing(), tidy=lambda: None
    ):  # the garbage of a process of tests takes real time to collect
        Battery(visit, person).run()
    return (person.clock.time - began) / 60


def killed_in(study: Study, data: Path, person: Person, name: str, language: str = "en") -> None:
    """The same in a process of its own, which is killed by the incident."""
    child = os.fork()
    if child == 0:
        try:
            take(study, data, person, name, language=language)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def dies(task: str, trial: int) -> Incident:
    """An incident: the process is killed before a trial of a task."""
    return lambda now, number: os.kill(os.getpid(), signal.SIGKILL) if (now, number) == (task, trial) else None


def is_told_to_end(task: str, trial: int) -> Incident:
    """An incident: SIGTERM, as a shutdown sends it."""
    return lambda now, number: os.kill(os.getpid(), signal.SIGTERM) if (now, number) == (task, trial) else None


def loses_the_keyboard(task: str, trial: int) -> Incident:
    """An incident: the keyboard is unplugged."""

    def incident(now: str, number: int) -> None:
        if (now, number) == (task, trial):
            raise SpanLabError("the keyboard has gone; plug it in again")

    return incident
