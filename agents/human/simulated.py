"""The simulated participant: an oracle that sits at the real window and presses real keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from typing_extensions import override

from ...core.agent_kinds import SIMULATED, AgentKind
from ...core.errors import SpanLabError
from ...paradigms import AnswerKeys, Ask, Percept, Truth
from ...paradigms.translation import Words
from ..base import AgentOptions, Response, TrialContext
from ..observers import make_observer
from ..oracles import Observer
from ..window import Option, PageContent
from .input.answering import DONE
from .input.buttons import PULSE, read_pulse, typed_keys
from .input.steps import GO_ON_AFTER, USUAL, Refractory
from .input.xtest import InputEvent, XTestInput
from .pages.between_trials import LEAST
from .participant import Participant, ParticipantEpisode
from .simulation import (
    AFTER_REFRACTORY_MS,
    ANSWER_MS,
    GO_ON_MS,
    NEXT_MARK_MS,
    NEXT_TURN_MS,
    Decisions,
    Move,
    drawn_seconds,
    moves,
    observer_settings,
)
from .stage import Stage
from .trial_player import Player
from .triggers.sender import TriggerSender
from .window_options import USUAL_WINDOW, WindowOptions

#: How questions are answered that keys and the mouse can answer.
Answers = Literal["both", "keys", "mouse"]
#: Width of the screen at which it sits, where nothing is said of it.
SCREEN_CM = 34.0
#: Seconds from one pulse of a rehearsed scanner to the next.
PULSES_S = 1.0
#: An answer to a question with a window comes at least so long before it closes.
BEFORE_CLOSE_MS = 60.0


class SimulatedParticipant(Participant):
    """An observer decides what is answered, given the truth; a hand then answers in the window, at
    a simulated reaction time, by keys and by the mouse in turn. All of it goes through the window
    that people use. A declared oracle.

    Parameters
    ----------
    observer : ``ideal``, ``capacity``, ``capacity:4``, ``chance``, or an observer of one's own
    seed : of reaction times and of the choice between keys and mouse
    speed : how many times faster than the declared reaction times; displays keep their times
    answers : by ``keys``, by ``mouse``, or by ``both`` in turn, where a question can be answered
        either way
    options : of the window; refractory times are divided by ``speed``, as reaction times are
    name, say : as for :class:`Participant`
    """

    kind: ClassVar[AgentKind] = SIMULATED

    def __init__(
        self,
        observer: str | Observer = "capacity",
        options: WindowOptions = USUAL_WINDOW,
        *,
        seed: int = 1,
        speed: float = 1.0,
        answers: Answers = "both",
        name: str = "",
        say: Callable[[str], None] | None = None,
    ) -> None:
        if speed <= 0:
            raise SpanLabError(
                "the speed of a simulated participant must be above 0; 1 is a normal speed, 4 is four times as fast"
            )
        self.observer = make_observer(observer) if isinstance(observer, str) else observer
        if options.width_cm is None:
            size = "largest" if options.size_deg is None and options.display is None else options.size_deg
            options = replace(options, size_deg=size, width_cm=SCREEN_CM)
        super().__init__(options, name=name or f"simulated:{self.observer.name}", say=say)
        if answers not in get_args(Answers):
            raise SpanLabError(f"a simulated participant answers by 'keys', 'mouse' or 'both'; found '{answers}'")
        self._seed = seed
        self._speed = speed
        self._answers: Answers = answers
        self._xtest: XTestInput | None = None
        self._chosen = ""
        self._serial: dict[str, Callable[[], object]] = {}
        self._pulse, self._pulses_due = PULSE, 0
        #: the key that a box types for each of its buttons
        self._typed = {button: key for key, button in typed_keys(self.buttons).items()}
        self._random = np.random.RandomState(seed % 2**32)
        self.plan: Callable[[float], None] | None = None

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> SimulatedParticipant:
        observer = detail or "capacity"
        manner = {name: value for name, value in options.window.items() if name in ("speed", "answers", "say")}
        window = WindowOptions(**{name: value for name, value in options.window.items() if name not in manner})
        return cls(observer, window, seed=options.seed, name=f"simulated:{observer}", **manner)

    @override
    def open(self) -> Stage:
        """Open the window and sit down in front of it."""
        stage = super().open()
        if self._xtest is None:
            self._xtest = XTestInput(stage.window.now, stage.window.size, stage.window.corner)
            self._xtest.buttons = self._serial
            stage.attendant = self.waits
            stage.presses.checks.append(self._xtest.check)
        return stage

    @override
    def ready(self) -> None:
        """As for a person; a serial box is one at whose other end the hand sits."""
        for number, address in enumerate(self._addresses[len(self._boxes) :], start=len(self._boxes)):
            if address.kind == "serial" and sys.platform != "win32":
                far, near = os.openpty()
                self._addresses[number] = replace(address, where=os.ttyname(near))
                self._serial |= {
                    name: partial(os.write, far, bytes([byte])) for byte, name in address.names(address.presses).items()
                }
        super().ready()

    @override
    def _refractory_times(self) -> Refractory:
        return USUAL.divided(self._speed)

    @property
    def xtest(self) -> XTestInput:
        self.open()
        assert self._xtest is not None
        return self._xtest

    @override
    def start(self, context: TrialContext) -> SimulatedEpisode:
        self._random = np.random.RandomState([context.seed % 2**32, self._seed % 2**32])
        return SimulatedEpisode(self, self._player(context), context.seed, context.keys, self._sender, context.words)

    @override
    def close(self) -> None:
        if self._xtest is not None:
            self._xtest.close()
            self._xtest = None
        super().close()

    @override
    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            **observer_settings(self.observer, self._seed, self._speed),
            "answers": self._answers,
        }

    # -- keys and clicks ---------------------------------------------------------------------------

    def waits(self, for_what: str, onset: float) -> None:
        """The window waits: answer, go on or turn the page."""
        self.xtest.cancel()
        if for_what == "answer":
            if self.plan is not None:
                self.plan(onset)
            return
        if for_what == "pulse":
            for number in range(1, self._pulses_due + 1):
                self.xtest.at(onset + number * PULSES_S / self._speed, InputEvent(self._pulse, hold=0.02))
            return
        least = (GO_ON_AFTER if for_what == "go on" else LEAST) + 0.05
        after = max(least, self.seconds(GO_ON_MS))
        if for_what == "choice":
            self.xtest.at(onset + after, InputEvent(self._chosen, hold=0.05))
            return
        self.xtest.at(
            onset + after,
            InputEvent("space", hold=0.05)
            if self._random.randint(2) or for_what == "page"
            else InputEvent(x=0, y=0, hold=0.05),
        )

    @override
    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        self._chosen = next(option.key for option in options if option.name == usual)
        return super().choose(title, text, options, usual=usual, clicks=clicks)

    @override
    def await_pulse(self, pulse: str, at: int, page: PageContent) -> None:
        """As for a person; the hand sends the pulses, too."""
        self._pulse, self._pulses_due = next(iter(read_pulse(pulse).typed), PULSE), at
        super().await_pulse(pulse, at, page)

    def seconds(self, distribution: tuple[float, float, float]) -> float:
        """One ex-Gaussian time, in seconds."""
        return drawn_seconds(self._random, distribution, self._speed)

    def answer_plan(self, ask: Ask, value: Any) -> Callable[[float], None]:
        """Return a function that presses keys and clicks at their times from the onset of a
        question on, so that the answer is ``value``; within the window, where there is one."""
        delay, events = self._first_delay(ask), list[tuple[float, InputEvent]]()
        for number, move in enumerate(moves(ask, value, lambda keys: keys[int(self._random.randint(len(keys)))])):
            delay += self.seconds(NEXT_MARK_MS) if number else 0.0
            for place, event in enumerate(self._events(move)):
                delay += self.seconds(NEXT_TURN_MS) if place else 0.0
                events.append((delay, event))
        if ask.window_ms is not None and delay > (ask.window_ms - BEFORE_CLOSE_MS) / 1000.0:
            squeeze = max(0.0, ask.window_ms - BEFORE_CLOSE_MS) / 1000.0 / delay
            events = [(when * squeeze, event) for when, event in events]

        def carry_out(onset: float) -> None:
            for when, event in events:
                self.xtest.at(onset + when, event)

        return carry_out

    def _first_delay(self, ask: Ask) -> float:
        """Seconds from the onset of a question to the first press."""
        delay = self.seconds(ANSWER_MS)
        if ask.window_ms is None:
            times = self._refractory_times()
            delay = max(delay, (max(times.same_ms, times.other_ms) + AFTER_REFRACTORY_MS) / 1000.0)
        return delay

    def _events(self, move: Move) -> list[InputEvent]:
        """The presses of keys, or the click, by which a move is made here."""
        drawn = bool(self._random.randint(2))  # in any case: reaction times do not depend on the choice
        by_mouse = drawn if self._answers == "both" else self._answers == "mouse"
        hold = 0.05 / max(1.0, self._speed)
        if move.text:
            return [InputEvent(sign, hold=min(hold, 0.02)) for sign in move.text]
        if move.keys and not (by_mouse and (move.button or move.place)):
            return [InputEvent(self._typed.get(key, key), hold=hold) for key in move.keys]
        surface = self.open().surface
        if move.place is not None:
            x, y = surface.to_pixels(*move.place)
        else:
            x, y = surface.done_middle() if move.button == DONE else surface.beside_middle(move.button)
        return [InputEvent(x=x, y=y, hold=hold)]


class SimulatedEpisode(ParticipantEpisode):
    """One trial of the simulated participant. Among its notes, ``injected_ms`` is when keys and
    clicks were made, from the onset of the step."""

    def __init__(
        self,
        agent: SimulatedParticipant,
        player: Player,
        seed: int,
        keys: AnswerKeys | None = None,
        sender: TriggerSender | None = None,
        words: Words | None = None,
    ) -> None:
        super().__init__(player, keys, sender, words)
        self._agent = agent
        self._decisions = Decisions(agent.observer, seed)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take one step at the window; the truth decides what is answered.

        Raises
        ------
        SpanLabError
            when keys can no longer be pressed.
        """
        assert truth is not None, "the runner hands the truth to declared oracles"
        value, agent = self._decisions.value(percept, truth), self._agent
        percept = self.as_asked(percept)
        ask = percept.ask
        agent.plan = agent.answer_plan(ask, value) if ask is not None and value is not None else None
        before = len(agent.xtest.done)
        response = self.player.play(percept)
        agent.xtest.cancel()
        if response is not None and response.value != value:
            self.player.notes["intended"] = value
        onset = self.player.onset
        injected = [round((when - onset) * 1000.0, 3) for _, when in agent.xtest.done_since(before) if when >= onset]
        if injected:
            self.player.notes["injected_ms"] = injected
        return response
