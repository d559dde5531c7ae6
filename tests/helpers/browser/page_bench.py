"""Simulated participants at pages in a real browser, and the same ones at the virtual window: what
they answer is decided by the truth, and typed by hand."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pandas as pd
from at_page import SimulatedAtPage
from chromium import Tab
from hands import By, Clock, Decision, Hands
from session_tools import MEASURED, WHO
from virtual_lab import Nothing, VirtualStage, VirtualWindow

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human import trial_player as player_module
from spanlab.agents.human.participant import ParticipantEpisode
from spanlab.agents.human.simulation import Decisions
from spanlab.agents.human.trial_player import Player
from spanlab.agents.observers import make_observer
from spanlab.agents.oracles import Observer
from spanlab.agents.window import Option, WindowAgent
from spanlab.core.agent_kinds import SIMULATED, AgentKind
from spanlab.extensions.browser.visits.board import MonitorBoard
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import Offer, VisitDesk
from spanlab.paradigms import Percept, Truth
from spanlab.paradigms.trial import Display
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.session import planned_as_begun

#: reaction time at the virtual window (s)
VIRTUAL_RT = 0.4
#: who decides, where nothing is said
OBSERVER = "capacity:3"


#: hands at a page are so many times as fast as people
SPEED = 1000.0


class AtVirtualWindow(WindowAgent):
    """The same oracle at the real player and stage, at a window that is not there."""

    kind: ClassVar[AgentKind] = SIMULATED

    def __init__(self, observer: str = OBSERVER) -> None:
        self.name = f"simulated:{observer}"
        self.observer = observer
        self.stage = VirtualStage(VirtualWindow(60.0))
        self.stage.renderer.tones = "ring"

    def start(self, context: TrialContext) -> AtVirtualWindowEpisode:
        return AtVirtualWindowEpisode(self, context)

    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        return usual


class AtVirtualWindowEpisode(ParticipantEpisode):
    def __init__(self, agent: AtVirtualWindow, context: TrialContext) -> None:
        kinds = tuple(kind.with_keys(context.keys) for kind in context.kinds)
        super().__init__(
            Player(agent.stage, context.language, kinds, 3.0, context.prompts), context.keys, None, context.words
        )
        self._stage, self._decisions = agent.stage, Decisions(make_observer(agent.observer), context.seed)

    def prepare(self, displays: Sequence[Display]) -> None:
        pass

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert truth is not None
        value, asked = self._decisions.value(percept, truth), self.as_asked(percept)
        self._stage.ask = asked.ask
        self._stage.answer = None if asked.ask is None or value is None else (value, VIRTUAL_RT)
        with patch.object(player_module, "gc", Nothing()):
            return await super().step(percept)


# -- the server ------------------------------------------------------------------------------------


class Served:
    """A server in a thread of this process, and the simulated participants at its pages."""

    def __init__(self, offer: Offer, observer: str | Observer = OBSERVER, board: bool = False, **desk: Any) -> None:
        self.said: list[str] = []
        self.agents: list[SimulatedAtPage] = []

        def seat(channel: Any, frames: Any, screen: Any, palette: Any) -> SimulatedAtPage:
            decides = make_observer(observer) if isinstance(observer, str) else observer
            self.agents.append(made := SimulatedAtPage(channel, frames, screen, decides, palette, speed=SPEED))
            return made

        self.desk = VisitDesk(offer, self.said.append, seat, **desk)
        #: what the assistant's page shows, where there is one
        self.board = MonitorBoard(self.desk) if board else None
        self.server = make_server(self.desk, self.board)
        self._running = ExitStack()
        self.port = self._running.enter_context(running(self.server, self.desk))

    def address(self, participant: str) -> str:
        return f"http://127.0.0.1:{self.port}/?participant={participant}"

    def cut_lines(self) -> None:
        """Cut every connection, as a network does that fails."""
        for connection in list(self.server.server_state.connections):
            self.server.servers[0].get_loop().call_soon_threadsafe(connection.transport.abort)

    def close(self) -> None:
        self._running.close()


@contextmanager
def served(offer: Offer, observer: str | Observer = OBSERVER, **desk: Any) -> Generator[Served]:
    """A server that ends with the test."""
    made = Served(offer, observer, **desk)
    try:
        yield made
    finally:
        made.close()


# -- hands -----------------------------------------------------------------------------------------


def hands_of(
    tab: Tab, made: Served, by: By = "keys", fields: Mapping[str, str] | None = None, clock: Clock | None = None
) -> Hands:
    """Hands that do what the simulated participant of the last visit has decided."""

    def decided(command: int, step: int) -> Decision | None:
        return made.agents[-1].decisions.get((command, step)) if made.agents else None

    return Hands(tab, decided, by, fields, clock)


def data_folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "data").mkdir(parents=True)
    return folder


# -- tables ----------------------------------------------------------------------------------------


def unmeasured(folder: Path) -> pd.DataFrame:
    """The columns of a response table that are not measured."""
    responses = read_responses(folder)
    return responses.drop(columns=[name for name in (*MEASURED, *WHO) if name in responses])


def at_window(folder: Path, data: Path, observer: str) -> Path:
    """The session again, at the virtual window, by the same observer."""
    session = planned_as_begun(folder)
    info: dict[str, Any] = dict(session.info)
    agent, extra = AtVirtualWindow(observer), {name: info[name] for name in ("keys", "seed_from")}
    request = Request(
        session.seed,
        info["generator"],
        "P01",
        info["design"],
        info["language"],
        practice=info["practice"],
        source=info["paradigm_source"],
        extra=extra,
    )
    again = begin(data, session.paradigm, agent, session.plan, request)
    Runner(again, agent).run()
    return again.folder
