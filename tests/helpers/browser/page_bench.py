"""Simulated participants at pages in a real browser, and the same ones at the virtual window: what they answer is decided by the truth, and typed by hand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
import uvicorn
from chromium import Tab
from session_tools import MEASURED, WHO
from virtual_lab import Nothing, VirtualStage, VirtualWindow

from spanlab.agents.base import Option, Response, TrialContext, WindowAgent
from spanlab.agents.human import trial_player as player_module
from spanlab.agents.human.browser.agent import BrowserEpisode, BrowserParticipant
from spanlab.agents.human.input.answering import CONFIRM_KEYS
from spanlab.agents.human.participant import ParticipantEpisode
from spanlab.agents.human.trial_player import Player
from spanlab.agents.oracles import make_observer
from spanlab.core.agent_kinds import SIMULATED, AgentKind
from spanlab.paradigms import Ask, Display, Percept, Truth
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.online.board import MonitorBoard
from spanlab.sessions.online.offers import Looks, Offer
from spanlab.sessions.online.server import make_app
from spanlab.sessions.online.visits import VisitDesk
from spanlab.sessions.session import planned_as_begun

#: reaction time at the virtual window (s)
VIRTUAL_RT = 0.4


class Decided:
    """What an observer answers in a trial: the same at every window."""

    def __init__(self, observer: str, seed: int) -> None:
        self._memory = make_observer(observer).fresh(seed)
        self._guess = np.random.RandomState([seed % 2**32, 1])

    def value(self, percept: Percept, truth: Truth) -> Any:
        value = self._memory.choose(percept, truth)
        if percept.ask is not None and value is None and percept.ask.window_ms is None:
            value = percept.ask.kind.guess(self._guess)
        return value


class AtPage(BrowserParticipant):
    """An oracle at a page: what is to be typed at each step is told to whoever drives the browser."""

    kind: ClassVar[AgentKind] = SIMULATED
    observer = "capacity:3"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.name = f"simulated:{self.observer}"
        #: by number of the command and of the step: the question as it is asked, and the answer
        self.plans: dict[tuple[int, int], tuple[Ask, Any]] = {}

    def start(self, context: TrialContext) -> AtPageEpisode:
        self.language = context.language
        return AtPageEpisode(self, context)


class AtPageEpisode(BrowserEpisode):
    def __init__(self, agent: AtPage, context: TrialContext) -> None:
        super().__init__(agent, context.keys, context.words)
        self._oracle, self._decided = agent, Decided(agent.observer, context.seed)

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert truth is not None
        value, asked = self._decided.value(percept, truth), self._as_asked(percept)
        if asked.ask is not None:
            self._oracle.plans[self._command, self._place + 1] = (asked.ask, value)
        return await super().step(percept)


class AtVirtualWindow(WindowAgent):
    """The same oracle at the real player and stage, at a window that is not there."""

    kind: ClassVar[AgentKind] = SIMULATED

    def __init__(self, observer: str = AtPage.observer) -> None:
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
        kinds = tuple(kind.with_keys(context.keys) for kind in context.asks)
        super().__init__(Player(agent.stage, context.language, kinds, 3.0, context.prompts), context.keys, None, context.words)
        self._stage, self._decided = agent.stage, Decided(agent.observer, context.seed)

    def prepare(self, displays: Sequence[Display]) -> None:
        pass

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert truth is not None
        value, asked = self._decided.value(percept, truth), self.as_asked(percept)
        self._stage.ask = asked.ask
        self._stage.answer = None if asked.ask is None or value is None else (value, VIRTUAL_RT)
        with patch.object(player_module, "gc", Nothing()):
            return await super().step(percept)


# -- the server --------------------------------------------------------------------------------------------------------------------------------------


class Served:
    """A server in a thread of this process, and the simulated participants at its pages."""

    def __init__(self, offer: Offer, observer: str, board: bool = False) -> None:
        self.said: list[str] = []
        self.agents: list[AtPage] = []
        kind = type("Observed", (AtPage,), {"observer": observer, "kind": SIMULATED})

        def seat(channel: Any, frames: Any, screen: Any, looks: Looks) -> AtPage:
            self.agents.append(made := kind(channel, frames, screen, looks.theme, looks.palette, looks.refractory))
            return made

        self.desk = VisitDesk(offer, self.said.append, seat)
        #: what the assistant's page shows, where there is one
        self.board = MonitorBoard(self.desk) if board else None
        self.server = uvicorn.Server(uvicorn.Config(make_app(self.desk, self.board), host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self.server.run, daemon=True)
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive()
            time.sleep(0.02)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def address(self, participant: str) -> str:
        return f"http://127.0.0.1:{self.port}/?participant={participant}"

    def cut_lines(self) -> None:
        """Cut every connection, as a network does that fails."""
        for connection in list(self.server.server_state.connections):
            self.server.servers[0].get_loop().call_soon_threadsafe(connection.transport.abort)

    def close(self) -> None:
        self.desk.close()
        self.server.should_exit = True
        self._thread.join(20)


@contextmanager
def served(offer: Offer, observer: str = AtPage.observer) -> Generator[Served]:
    """A server that ends with the test."""
    made = Served(offer, observer)
    try:
        yield made
    finally:
        made.close()


# -- hands ---------------------------------------------------------------------------------------------------------------------------------------------

_LOOK = """JSON.stringify({
  stage: !document.getElementById("stage").hidden,
  waits: document.getElementById("stage").dataset.waits ?? "",
  notice: !document.getElementById("notice").hidden,
  names: [...document.querySelectorAll("#sheet button:enabled, #sheet a.button")].map(b => b.dataset.name ?? "redirect"),
  code: document.querySelector("code")?.textContent ?? null,
  heading: ["Thank you", "Vielen Dank", "has stopped", "Until later"].some(one => document.querySelector("h1")?.textContent.includes(one)),
  buttons: document.querySelectorAll("#sheet button").length, form: document.querySelector("form") !== null,
  text: document.getElementById("sheet").innerText,
})"""


class Hands:
    """Somebody who takes a visit in a tab: turns pages, and answers what is asked, by keys or with the mouse.

    Parameters
    ----------
    plan : gives the question and the answer of a step of a command, once they are known
    by : ``keys``, ``mouse`` or ``touch``; keys where there is nothing to click, and the other way round
    """

    def __init__(self, tab: Tab, plan: Callable[[int, int], tuple[Ask, Any] | None], by: str = "keys", fields: Mapping[str, str] | None = None) -> None:
        self.tab, self._plan, self._by, self._fields = tab, plan, by, fields or {}
        self._done: set[str] = set()
        #: called before each look; true ends the visit here, and None has another look before anything is done
        self.meanwhile: Callable[[Mapping[str, Any]], bool | None] = lambda look: False

    def go(self, seconds: float = 400.0) -> str:
        """Until the last page; returns its text."""
        last, look = time.monotonic() + seconds, dict[str, Any]()
        while time.monotonic() < last:
            look = json.loads(self.tab.evaluate(_LOOK))
            if end := self.meanwhile(look):
                return str(look["text"])
            if end is None:
                continue
            if look["notice"]:
                self.tab.evaluate("document.querySelector('#notice [data-key=\" \"]').click()")
            elif look["stage"]:
                self._trial(look["waits"])
            elif look["form"]:
                for name, value in self._fields.items():
                    self.tab.evaluate(f"document.querySelector('[name={name}]') && (document.querySelector('[name={name}]').value = {json.dumps(value)})")
                self.tab.evaluate("document.querySelector('form [data-name=send]').click()")
            elif "agree" in look["names"]:
                self.tab.evaluate("document.querySelector('[data-name=agree]').click()")
            elif "on" in look["names"]:
                place = self.tab.middle("#sheet [data-name=on]")
                if place is not None:
                    self.tab.evaluate("document.querySelector('#sheet [data-name=on]').scrollIntoView()")
                    self.tab.evaluate("document.querySelector('#sheet [data-name=on]').click()")
            elif (look["heading"] and not look["buttons"]) or "redirect" in look["names"]:
                return str(look["text"])
            time.sleep(0.02)
        raise AssertionError(f"the visit does not end: {look}; {self.tab.complaints}")

    def _trial(self, waits: str) -> None:
        what, _, where = waits.partition(" ")
        if not where or waits in self._done:
            return
        if what == "on":
            self._done.add(waits)
            self._rest(waits)
            self.tab.press("space")
            self.tab.release(waits)
        elif what == "answer":
            command, _, step = where.partition(":")
            if (plan := self._plan(int(command), int(step))) is not None:
                self._done.add(waits)
                ask, value = plan
                if value is not None:
                    if ask.window_ms is None or self.tab.warped:
                        self._rest(waits)
                    self.answer(ask, value)
                self.tab.release(waits)

    def _rest(self, waits: str) -> None:
        """Let the time pass in which a step that has just begun takes no press."""
        if self.tab.warped:
            self.tab.until(f"globalThis.held === {json.dumps(waits)}")
        else:
            time.sleep(0.25)

    def answer(self, ask: Ask, value: Any) -> None:
        """Press or click what stands for an answer."""
        surface = ask.kind.surface()
        by_keys = self._by == "keys"
        if surface.dial is not None and not by_keys:
            self._point(*surface.dial.place_of(value))
            return
        if surface.dial is not None:
            from spanlab.agents.human.simulated import turning_keys

            for key in turning_keys(surface.dial, value):
                self.tab.press(key)
            self.tab.press(CONFIRM_KEYS[0])
            return
        for part in ask.kind.values_of(value):
            key = next((key for key, stands_for in surface.keys if stands_for == part and not key.startswith("num_")), None)
            region = next((region for region in surface.regions if region.value == part), None)
            if part is None:
                self._button("unknown") if not by_keys else self.tab.press("minus")
            elif region is not None and (key is None or not by_keys):
                self._point((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
            elif key is not None and self._by == "touch":
                self._button(key)
            else:
                assert key is not None
                self.tab.press(key)
        if surface.several:
            self.tab.press(CONFIRM_KEYS[0]) if by_keys else self._button("done")

    def _button(self, name: str) -> None:
        place = self.tab.middle(f"#buttons [data-name='{name}']")
        assert place is not None, f"there is no button '{name}'"
        self._at(*place)

    def _point(self, x: float, y: float) -> None:
        left, top, side = self.tab.evaluate(
            "(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left, b.top, b.width]; })()"
        )
        self._at(left + x / 96 * side, top + y / 96 * side)

    def _at(self, x: float, y: float) -> None:
        (self.tab.touch if self._by == "touch" else self.tab.click)(x, y)


def hands_of(tab: Tab, made: Served, by: str = "keys", fields: Mapping[str, str] | None = None) -> Hands:
    """Hands that do what the simulated participant of the last visit has decided."""

    def plan(command: int, step: int) -> tuple[Ask, Any] | None:
        return made.agents[-1].plans.get((command, step)) if made.agents else None

    return Hands(tab, plan, by, fields)


def data_folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "data").mkdir(parents=True)
    return folder


# -- tables --------------------------------------------------------------------------------------------------------------------------------------------


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
        session.seed, info["generator"], "P01", info["design"], info["language"], practice=info["practice"], source=info["paradigm_source"], extra=extra
    )
    again = begin(data, session.paradigm, agent, session.plan, request)
    Runner(again, agent).run()
    return again.folder
