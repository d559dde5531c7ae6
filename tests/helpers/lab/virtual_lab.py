"""A lab without a screen: the real player and stage at a window whose flips advance a virtual
clock."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from unittest.mock import patch

import numpy as np
from typing_extensions import override

from spanlab.agents.base import Response, Shown
from spanlab.agents.human import stage as room_module
from spanlab.agents.human import trial_player as player_module
from spanlab.agents.human.display.frames import FrameGrid, SessionClock
from spanlab.agents.human.display.window import Screen
from spanlab.agents.human.input.answering import CONFIRM_KEYS, DONE, UNKNOWN, AnswerSheet, Press, Writing
from spanlab.agents.human.input.steps import GO_ON_AFTER
from spanlab.agents.human.participant import ParticipantEpisode
from spanlab.agents.human.stage import Stage
from spanlab.agents.human.trial_player import Player
from spanlab.paradigms import Ask, Percept, ResponseKind, Step, Trial, Truth


def trial(*percepts: Percept) -> Trial:
    """These displays, one after another, without an answer that is right."""
    return Trial(
        "test",
        1,
        "corrected",
        {},
        1,
        "test",
        1,
        1,
        tuple(Step(number, percept, Truth()) for number, percept in enumerate(percepts)),
    )


class Nothing:
    """Takes part in everything and does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


class VirtualWindow:
    """Refreshes come at exact times; a flip waits for the next one and takes effect up to
    ``jitter`` s after it. Waiting and working take virtual time.

    Parameters
    ----------
    hz : refreshes per second
    vsync : whether flips wait for the screen (otherwise the clock paces them, as :class:`LabWindow`
        does)
    jitter : seconds by which flips are late at most, drawn anew each time
    late : called with the number of each flip: how many refreshes it misses
    """

    def __init__(
        self,
        hz: float,
        vsync: bool = True,
        jitter: float = 0.0,
        late: Callable[[int], int] = lambda flip: 0,
        seed: int = 0,
    ) -> None:
        self.grid = FrameGrid(hz, paced=not vsync)
        self.time, self.flips = 100.0, 0
        self._random = np.random.RandomState(seed)
        self._jitter, self._late = jitter, late
        self._first = self.time
        self._refresh = 0
        self.stamp_late = 0.0
        self.win, self.size, self.px_per_cm, self.connection = Nothing(), (1280, 1024), 40.0, None

    def pixels(self, degrees: float) -> int:
        return round(40 * degrees)

    def corner(self) -> tuple[int, int]:
        return 0, 0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def on_flip(self, call: Callable[[], object]) -> None:
        call()

    def wait(self, guard: float, poll: Callable[[], object] | None) -> None:
        until = self.grid.due - guard
        while True:
            if poll is not None:
                poll()
            if self.time >= until:
                return
            # nothing happens between now and the next press, so that the clock may go there at once
            self.time = min(until, max(self.time + 0.0002, self.next_press()))

    next_press: Callable[[], float] = staticmethod(lambda: float("inf"))

    def flip(self) -> tuple[float, int]:
        self.flips += 1
        period = self.grid.period
        self._refresh = max(self._refresh, int((self.time - self._first) / period + 1e-6)) + 1 + self._late(self.flips)
        self.time = (
            self._first + self._refresh * period + (self._random.uniform(0, self._jitter) if self._jitter else 0.0)
        )
        at = self.time
        self.time += 0.0001
        return at, self.grid.tick(at)

    def skip(self) -> int:
        return self.flip()[1]


class Surface(Nothing):
    """Where answers are given: what is drawn there does not matter here. A text is written at
    once."""

    def __init__(self, stage: VirtualStage) -> None:
        self._stage = stage

    def write_in(self, sheet: AnswerSheet | None) -> None:
        if sheet is not None and sheet.written and self._stage.answer is not None:
            sheet.writing = Writing(str(self._stage.answer[0] or ""))

    def state(self, sheet: Any, pointer: Any, now: float) -> Hashable:
        return None


class Fingers:
    """Presses that happen at given virtual times, and are seen from ``delay`` s later on."""

    def __init__(self, now: Callable[[], float], delay: float = 0.0003) -> None:
        self._now, self._delay = now, delay
        self.coming: list[Press] = []

    def poll(self) -> list[Press]:
        if not self.coming:
            return []
        now = self._now()
        seen = [press for press in self.coming if press.time + self._delay <= now]
        self.coming = [press for press in self.coming if press.time + self._delay > now]
        return seen

    def next(self) -> float:
        return min((press.time + self._delay for press in self.coming), default=float("inf"))

    def clear(self) -> None:
        self.coming = []


class Mouse:
    """A mouse that lies still."""

    at = (0.0, 0.0)

    def poll(self, done: Any) -> list[Press]:
        return []

    def clear(self) -> None: ...


class Attentive:
    """A desktop on which no other window comes up."""

    def away(self, since: float, until: float) -> list[tuple[float, float]]:
        return []

    def lacked(self, at: float) -> bool:
        return False


class SteadyClock(SessionClock):
    """Virtual time, which has nothing to do with the system's."""

    @override
    def jump(self) -> float:
        return 0.0


class VirtualStage(Stage):
    """The real stage, with everything in it that needs a screen replaced."""

    def __init__(self, window: VirtualWindow) -> None:
        self.fingers = Fingers(window.now)
        window.next_press = self.fingers.next
        #: what to answer, and how long after the onset (s); None: nobody answers
        self.answer: tuple[Any, float] | None = None
        self.ask: Ask | None = None
        stand_ins = {
            "LabWindow": lambda *given, **named: window,
            "Keyboard": lambda *given, **named: self.fingers,
            "Mouse": lambda *given, **named: Mouse(),
            "Focus": lambda *given, **named: Attentive(),
            "SessionClock": SteadyClock,
            "SurfaceView": lambda *given, **named: Surface(self),
            **{
                name: lambda *given, **named: Nothing()
                for name in ("Pictures", "WindowRenderer", "Watchdog")
                if hasattr(room_module, name)
            },
        }
        with patch.multiple(room_module, gc=Nothing(), **stand_ins):
            super().__init__(Screen(), 10.0, "ptb", print)
        self.attendant = self.waits

    def pointer(self, visible: bool) -> None: ...

    def waits(self, for_what: str, onset: float) -> None:
        self.fingers.coming = [press for press in self.fingers.coming if press.time < onset]
        if for_what == "go on":
            self.fingers.coming.append(Press("key", onset + GO_ON_AFTER + 0.3, key="space"))
        elif self.answer is not None and self.ask is not None:
            value, after = self.answer
            self.fingers.coming += presses(self.ask.kind, value, onset + after)


def presses(kind: ResponseKind, value: Any, when: float) -> list[Press]:
    """An answer by keys where there are keys, else by clicks; the last press comes at ``when``."""
    surface = kind.surface()
    if surface.dial is not None:
        x, y = surface.dial.place_of(value)
        return [Press("click", when, x=x, y=y)]
    if surface.ordered is not None and surface.ordered.written:
        known = kind.values_of(value) != (None,)
        return [Press("click", when, x=-1.0, y=-1.0, button=DONE if known else UNKNOWN)]
    found: list[Press] = []
    for part in kind.values_of(value):
        key = next((key for key, stands_for in surface.keys if stands_for == part), None)
        region = next((region for region in surface.regions if region.value == part), None)
        if key is not None:
            found.append(Press("key", 0.0, key=key))
        elif region is not None:
            found.append(Press("click", 0.0, x=(region.x0 + region.x1) / 2, y=(region.y0 + region.y1) / 2))
    if surface.several:
        found.append(Press("key", 0.0, key=CONFIRM_KEYS[0]))
    assert found, (
        f"nothing can be pressed for the answer {value!r} to a question of the kind {kind.name}"
    )  # it would be waited for without end
    first = when - 0.01 * (len(found) - 1)
    return [
        Press(press.device, first + 0.01 * number, press.key, press.x, press.y) for number, press in enumerate(found)
    ]


#: what a person does with a question: the answer and its reaction time in s, or None
Person = Callable[[Ask], tuple[Any, float] | None]


@patch.object(player_module, "gc", Nothing())
def play(
    stage: VirtualStage, trial: Trial, person: Person
) -> list[tuple[Percept, Response | None, list[Shown], dict[str, Any]]]:
    """A trial at the virtual window, as the runner plays it (but for the garbage, which takes real
    time to collect)."""
    percepts = [step.percept for step in trial.steps]
    kinds = tuple(dict.fromkeys(percept.ask.kind for percept in percepts if percept.ask is not None))
    episode = ParticipantEpisode(Player(stage, "en", kinds, 3.0))
    told = []
    for step, following in zip(trial.steps, [*trial.steps[1:], None], strict=True):
        episode.announce_next(
            following.percept if following is not None and following.feedback is None else None, following is None
        )
        stage.ask = step.percept.ask
        stage.answer = person(step.percept.ask) if step.percept.ask is not None else None
        told.append((step.percept, _now(episode.step(step.percept)), episode.shown(), episode.notes()))
    episode.finish()
    return told


def _now(awaited: Any) -> Any:
    """The result of something that never waits."""
    try:
        awaited.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a step at the window waits for nothing but the window")
