"""The participant of the demonstration in a browser: `spanlab serve`, a Chromium without a screen,
and hands that take the visit there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from spanlab.agents import Observer, Response, TrialContext
from spanlab.agents.human import (
    AFTER_REFRACTORY_MS,
    ANSWER_MS,
    NEXT_MARK_MS,
    Decisions,
    drawn_seconds,
    observer_settings,
)
from spanlab.agents.human.input import USUAL, Refractory
from spanlab.core import AgentKind, SpanLabError, kind_named
from spanlab.paradigms import Ask, Percept, Truth
from spanlab.sessions.plan import ChosenTrials
from spanlab.sessions.run import remove_unused
from spanlab.stimuli.render import PaletteName

from .participant.agent import BrowserEpisode, BrowserParticipant
from .participant.channel import Channel
from .participant.chromium import chromium, find_chromium
from .participant.frames import FrameStore
from .participant.hands import Decision, Hands
from .participant.screen import PageScreen
from .visits.offers import Looks
from .visits.one_paradigm import ParadigmOffer
from .visits.visits import VisitDesk

#: A question with a window is answered within this share of it: hands notice it later than its
#: onset.
_SHARE_OF_WINDOW = 0.4


class SimulatedAtPage(BrowserParticipant):
    """An observer decides what is answered, given the truth; whoever drives the browser presses it
    there. A declared oracle.

    Parameters
    ----------
    observer : decides
    seed : of reaction times
    speed : how many times faster than the declared reaction times; displays keep their times
    others : as for :class:`BrowserParticipant`
    """

    kind: ClassVar[AgentKind] = kind_named("simulated")

    def __init__(
        self,
        channel: Channel,
        frames: FrameStore,
        screen: Callable[[], PageScreen],
        observer: Observer,
        palette: PaletteName = "published",
        refractory: Refractory = USUAL,
        seed: int = 1,
        speed: float = 1.0,
    ) -> None:
        super().__init__(channel, frames, screen, palette, refractory)
        self.observer = observer
        self.name = f"simulated:{observer.name}"
        self._seed, self._speed = seed, speed
        self._random = np.random.RandomState(seed % 2**32)
        #: what was decided, by the number of the command and that of the step
        self.decisions: dict[tuple[int, int], Decision] = {}

    @override
    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            **observer_settings(self.observer, self._seed, self._speed),
            "answers_from": "the moment at which the question is noticed on the page",
        }

    @override
    def start(self, context: TrialContext) -> SimulatedAtPageEpisode:
        self.prepare_trial(context)
        self._random = np.random.RandomState([context.seed % 2**32, self._seed % 2**32])
        return SimulatedAtPageEpisode(self, context)

    def decide(self, ask: Ask, value: Any) -> Decision:
        """Decide when to answer a question, and with what."""
        after = drawn_seconds(self._random, ANSWER_MS, self._speed)
        if ask.window_ms is None:
            after = max(after, (max(self.refractory.same_ms, self.refractory.other_ms) + AFTER_REFRACTORY_MS) / 1000.0)
        else:
            after = min(after, _SHARE_OF_WINDOW * ask.window_ms / 1000.0)
        return Decision(ask, value, after, drawn_seconds(self._random, NEXT_MARK_MS, self._speed))


class SimulatedAtPageEpisode(BrowserEpisode):
    """One trial of the simulated participant."""

    def __init__(self, agent: SimulatedAtPage, context: TrialContext) -> None:
        super().__init__(agent, context.keys, context.words, cuts=not context.questionnaire)
        self._simulated, self._decisions = agent, Decisions(agent.observer, context.seed)
        self._decision: Decision | None = None

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take one step at the page; the truth decides what is answered."""
        assert truth is not None, "the runner hands the truth to declared oracles"
        value, ask = self._decisions.value(percept, truth), self._as_asked(percept).ask
        self._decision = None if ask is None else self._simulated.decide(ask, value)
        return await super().step(percept)

    @override
    def about_to_play(self) -> None:
        if self._decision is not None:
            self._simulated.decisions[self.at] = self._decision


#: who takes part, as the link says
PARTICIPANT = "simulated"
_SCREEN_PX = (1280, 800)
#: the visit is over within so many seconds
_LONGEST_S = 1200


def check() -> None:
    """See to it that there is what a participant in a browser needs.

    Raises
    ------
    SpanLabError
        when there is not; the message says how to install it.
    """
    find_chromium()


def take_in_browser(data: Path, chosen: ChosenTrials, observer: Observer, speed: float) -> str:
    """Have a simulated participant take trials in Chromium.

    Parameters
    ----------
    data : folder for the session, and for no other
    speed : of the participant's reaction times

    Returns
    -------
    the name of the session

    Raises
    ------
    SpanLabError
        when the visit does not come to its end; a session in which nothing has happened is removed.
    """
    from .visits.serving import make_server, running  # loads what :func:`check` looks for

    said: list[str] = []
    seated: list[SimulatedAtPage] = []
    offer = ParadigmOffer(chosen.source, data, chosen.paradigm, practice=False, given=chosen)

    def seat(channel: Channel, frames: FrameStore, screen: Callable[[], PageScreen], looks: Looks) -> SimulatedAtPage:
        seated.append(
            SimulatedAtPage(channel, frames, screen, observer, looks.palette, looks.refractory, chosen.seed, speed)
        )
        return seated[-1]

    def decided(command: int, step: int) -> Decision | None:
        return seated[-1].decisions.get((command, step)) if seated else None

    try:
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(Path(profile)) as browser:
            desk = VisitDesk(offer, said.append, seat)
            with running(make_server(desk), desk) as port, browser.window() as tab:
                tab.screen(*_SCREEN_PX)
                tab.open(f"http://127.0.0.1:{port}/?participant={PARTICIPANT}")
                tab.until("document.querySelector('#sheet button') !== null")
                Hands(tab, decided, "both", seed=chosen.seed).go(_LONGEST_S)
        if said:
            raise SpanLabError(f"the visit in the browser was not finished: {'; '.join(said)}")
    except SpanLabError:
        for folder in data.iterdir() if data.is_dir() else ():
            remove_unused(folder)
        raise
    (folder,) = data.iterdir()
    return folder.name
