"""Hands in a participant's window, for the benches of the lab: a trial is played, keys are pressed
and clicks made at their times."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human import Participant, ParticipantEpisode, WindowOptions
from spanlab.agents.human.input.xtest import InputEvent, XTestInput
from spanlab.paradigms import Ask, Percept, ResponseKind
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.trial import Display
from spanlab.stimuli import Stimulus
from spanlab.stimuli.kinds.arrays import Matrix
from spanlab.stimuli.kinds.plain import Blank, Fixation

#: a trial is played so often at most, until no press was later than this and no display had more
#: frames left out
TRIES, LATE_S, DROPPED = 4, 0.05, 6
#: no trial of a bench takes nearly as long
PATIENCE_S = 120.0
NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
BLANK, CROSS = Blank.model_validate({}), Fixation.model_validate({})


def pattern(number: int) -> Stimulus:
    """One of many matrices."""
    return Matrix.model_validate(
        {
            "grid": 6,
            "filled": tuple(int(cell) for cell in sorted(np.random.RandomState(number).permutation(36)[:18])),
            "colour": "green",
        }
    )


class Bench:
    """A participant's window, and hands to press keys in it."""

    def __init__(self, **options: Any) -> None:
        self.agent = Participant(WindowOptions(width_cm=34.0, **options), say=lambda sentence: None)
        self.stage = self.agent.open()
        self.xtest = XTestInput(self.stage.window.now, self.stage.window.size, self.stage.window.corner)
        self.stage.attendant = lambda for_what, onset: self.waits(for_what, onset)  # which scenes replace
        #: what to do when the window waits: seconds from the onset, and the touch
        self.script: list[list[tuple[float, InputEvent]]] = []
        self.told: list[str] = []
        self._due: list[float] = []

    def waits(self, for_what: str, onset: float) -> None:
        self.told.append(for_what)
        if self.script:
            for when, touch in self.script.pop(0):
                self._due.append(onset + when)
                self.xtest.at(onset + when, touch)

    def episode(self, percepts: Sequence[Percept]) -> ParticipantEpisode:
        kinds: tuple[ResponseKind, ...] = tuple(
            dict.fromkeys(percept.ask.kind for percept in percepts if percept.ask is not None)
        )
        episode = self.agent.start(TrialContext("bench", "Bench", "en", "", kinds))
        episode.prepare([display for percept in percepts for display in percept.displays])
        return episode

    def trial(self, percepts: Sequence[Percept], announce: bool = True, once: bool = False) -> list[dict[str, Any]]:
        """Play a trial and tell what was seen and answered in each step. A busy machine presses
        late and leaves out frames: then it is played again.

        Parameters
        ----------
        once : whether it is played once in any case: where the scene itself makes the program busy,
            or goes on from what came before
        """
        if once:
            return self._in_time(percepts, announce)
        script, told = list(self.script), len(self.told)
        for _ in range(TRIES - 1):
            self._due.clear()
            before = len(self.xtest.done)
            try:
                steps = self._in_time(percepts, announce)
            except (
                TimeoutError
            ):  # a press that came late was taken for the second half of a double one, and there is no other
                steps = None
            pressed = sorted(when for _, when in self.xtest.done_since(before))
            late = max((when - due for when, due in zip(pressed, sorted(self._due), strict=False)), default=0.0)
            if (
                steps is not None
                and late < LATE_S
                and all(one["dropped_frames"] <= DROPPED for step in steps for one in step["shown"])
            ):
                return steps
            self.agent.rest(300)  # what is still to be pressed
            self.script[:0] = script[: len(script) - len(self.script)]
            del self.told[told:]
        return self._in_time(percepts, announce)

    def _in_time(self, percepts: Sequence[Percept], announce: bool) -> list[dict[str, Any]]:
        """Play a trial, or give up: a question that nobody answers any more would be waited for
        without end."""

        def give_up(*_: object) -> None:
            raise TimeoutError(
                f"a trial at the window has not ended after {PATIENCE_S} s: its questions got fewer answers than they"
                " wait for"
            )

        before = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        try:
            return self._play(percepts, announce)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _play(self, percepts: Sequence[Percept], announce: bool) -> list[dict[str, Any]]:
        episode, injected = self.episode(percepts), len(self.xtest.done)
        steps = asyncio.run(_trial(episode, percepts, announce))
        episode.finish()
        touches = self.xtest.done_since(injected)
        told = []
        for number, (onset, response, shown, notes) in enumerate(steps):
            until = steps[number + 1][0] if number + 1 < len(steps) else float("inf")
            told.append(
                {
                    "onset": onset,
                    "response": None if response is None else asdict(response),
                    "shown": [asdict(one) for one in shown],
                    "notes": dict(notes),
                    "injected": [(when - onset) * 1000 for _, when in touches if onset <= when < until],
                }
            )
        return told

    def close(self) -> None:
        self.xtest.close()
        self.agent.close()


async def _trial(
    episode: ParticipantEpisode, percepts: Sequence[Percept], announce: bool
) -> list[tuple[float, Response | None, Any, Any]]:
    steps = []
    for number, percept in enumerate(percepts):
        if announce:
            episode.announce_next(percepts[number + 1] if number + 1 < len(percepts) else None)
        response = await episode.step(percept)
        steps.append((episode.player.onset, response, episode.shown(), episode.notes()))
    return steps


def timed(stimulus: Stimulus, ms: float | None, ask: Ask | None = None) -> Percept:
    return Percept("test", (Display(stimulus, ms),), ask)


def screenshot() -> np.ndarray:
    """The whole screen as the X server has it: uint8 (height, width, 3)."""
    from Xlib import X, display

    server = display.Display()
    root = server.screen().root
    size = root.get_geometry()
    raw: Any = root.get_image(0, 0, size.width, size.height, X.ZPixmap, 0xFFFFFFFF)
    server.close()
    return np.frombuffer(raw.data, np.uint8).reshape(size.height, size.width, 4)[:, :, 2::-1]
