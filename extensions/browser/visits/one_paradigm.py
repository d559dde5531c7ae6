"""One paradigm for everybody who comes: the offer, the seeds of its sessions, and the page that they
show first, which a visitor reads while nothing has been begun yet."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from spanlab.agents import PageContent, WindowAgent
from spanlab.core import SpanLabError
from spanlab.core.locale import sentence
from spanlab.paradigms import Paradigm, PlannedTrial, Trial, load_paradigm, plan_session, resolve_levels
from spanlab.paradigms.compile import one_of_each
from spanlab.sessions import Request, Runner, Session, begin, plan_trials, reopen
from spanlab.sessions.key_mapping import KeySetting, key_request
from spanlab.sessions.people import SessionSeed, seed_for, session_names
from spanlab.sessions.plan import ChosenTrials
from spanlab.sessions.record import in_browser, read_session
from spanlab.sessions.run import session_stem
from spanlab.sessions.session import complete
from spanlab.sessions.studies.monitoring import Judge, ParadigmMonitor
from spanlab.stimuli.render import PaletteName

from ..participant.agent import BrowserParticipant
from ..participant.channel import Channel
from ..participant.frames import FrameStore
from ..participant.screen import PageScreen
from .offers import IDENTIFIERS, End, Host, check_page

#: Sessions that others have begun are known after so many seconds.
_FRESH_S = 10.0
#: a screen on which nobody looks
_SCREEN = PageScreen(96, 700, 800, 18, False, {})
#: so many different pages are kept
_MOST_PAGES = 1000


class SessionNames:
    """The names of all sessions in a folder.

    Parameters
    ----------
    clock : in seconds
    """

    def __init__(self, data: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._data, self._clock = data, clock
        self._names: dict[str, None] = {}
        self._until = -1.0
        self._seeds: set[int] = set()
        self._lock = threading.RLock()

    def now(self) -> list[str]:
        """All names."""
        with self._lock:
            if self._clock() >= self._until:
                self._names |= dict.fromkeys(session_names(self._data))
                self._until = self._clock() + _FRESH_S
            return list(self._names)

    def add(self, name: str) -> None:
        """Take note of a session that has begun."""
        with self._lock:
            self._names[name] = None

    def seed(self, paradigm: str, participant: str) -> SessionSeed:
        """Draw a seed that no other session has, nor gets one while this server runs."""
        with self._lock:
            while (drawn := seed_for(self._data, paradigm, participant, self.now())).seed in self._seeds:
                pass
            self._seeds.add(drawn.seed)
            return drawn


class _ReachedError(SpanLabError):
    """The first page is known."""


class _Reader(BrowserParticipant):
    """Takes note of the first page of a session, and leaves it there."""

    text: PageContent | None = None

    @override
    def page(self, page: PageContent) -> None:
        self.text = page
        raise _ReachedError(page.title)


class FirstPages:
    """The pages that sessions show first, each read once from a session that nobody takes."""

    def __init__(self) -> None:
        self._pages: dict[Hashable, PageContent | None] = {}
        self._questions: dict[str, tuple[Hashable, ...]] = {}
        self._lock = threading.Lock()

    def get(
        self, conditions: Hashable, touched: bool, begin: Callable[[Path, BrowserParticipant], Session]
    ) -> PageContent | None:
        """The page that a session shows first; None where it does something else before.

        Parameters
        ----------
        conditions : what the page depends on
        touched : whether people answer with their fingers
        begin : begins such a session in a folder, with somebody at a page
        """
        pages, conditions = self._pages, (conditions, touched)
        if conditions in pages:  # others may be read meanwhile
            return pages[conditions]
        with self._lock:
            if conditions not in self._pages:
                if len(self._pages) >= _MOST_PAGES:
                    self._pages = {}
                self._pages[conditions] = _first_page(touched, begin)
            return self._pages[conditions]

    def questions(self, planned: PlannedTrial, compile_: Callable[[], Trial]) -> tuple[Hashable, ...]:
        """Return what is asked in trials with the levels of this one.

        Parameters
        ----------
        compile_ : compiles the trial
        """
        levels = repr(planned.levels)
        known = self._questions.get(levels)
        if known is None:
            asks = [step.percept.ask for step in compile_().steps]
            known = tuple(dict.fromkeys((ask.kind, ask.prompt) for ask in asks if ask is not None))
            if len(self._questions) < _MOST_PAGES:
                self._questions[levels] = known
        return known


def _first_page(touched: bool, begin: Callable[[Path, BrowserParticipant], Session]) -> PageContent | None:
    screen = replace(_SCREEN, facts={"touch": touched})
    with tempfile.TemporaryDirectory(prefix="spanlab-page-", ignore_cleanup_errors=True) as folder:
        reader = _Reader(Channel("", lambda event: None), FrameStore(), lambda: screen)
        try:
            Runner(begin(Path(folder), reader), reader).run()
        except _ReachedError:
            return reader.text
        return None


@dataclass(frozen=True, slots=True)
class ParadigmOffer:
    """One session of one paradigm for everybody who comes.

    Parameters
    ----------
    source : of the paradigm: its name in the library, or a file
    data : folder for sessions
    given : the trials of everybody who comes; None for trials of everybody's own
    pages : the pages that sessions show first
    """

    source: str
    data: Path
    paradigm: Paradigm
    language: str = "en"
    trials: int | None = None
    levels: Mapping[str, Sequence[Any]] | None = None
    design: str | None = None
    practice: bool = True
    pilot: bool = False
    keys: KeySetting = field(default_factory=KeySetting)
    palette: PaletteName = "published"
    phones: bool = True
    drop_out_s: float | None = None
    given: ChosenTrials | None = None
    pages: FirstPages = field(default_factory=FirstPages, repr=False, compare=False)
    names: SessionNames = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", SessionNames(self.data))

    @property
    def title(self) -> str:
        """The title that participants read above the first page."""
        return self.paradigm.titled(self.language)

    @property
    def exchange(self) -> tuple[Path, int]:
        """The folder in which several workers tell one another of their visits, and the permissions of what they make
        there."""
        return self.data, 0o700

    @classmethod
    def checked(cls, source: str, data: Path, **more: object) -> ParadigmOffer:
        """The offer, if a page can do all of it.

        Raises
        ------
        SpanLabError
            with what it cannot.
        """
        offer = cls(source, data, load_paradigm(source), **more)  # type: ignore[arg-type]
        if offer.language not in offer.paradigm.instructions:
            raise SpanLabError(
                f"{offer.paradigm.name} has no instructions in '{offer.language}'; there are"
                f" {', '.join(offer.paradigm.instructions)}"
            )
        chosen = offer.given or plan_trials(source, 1, offer.levels, offer.trials, offer.design)
        check_page(offer.paradigm, chosen.plan, chosen.generator, offer.keys)
        offer._first_page(*offer._drawn("nobody"))  # that of most visitors
        return offer

    def places(self) -> tuple[int, int] | None:
        """Nobody counts them."""
        return None

    @property
    def font(self) -> Path | None:
        """The shipped typeface."""
        return None

    @property
    def wanted(self) -> Mapping[str, Any]:
        """The usual names of identifiers, and nothing else."""
        return {"identifiers": list(IDENTIFIERS), "needed": False, "keep": []}

    @property
    def forms_to(self) -> Sequence[str]:
        """None."""
        return ()

    def admits(self, participant: str, link: Mapping[str, str]) -> bool:
        """Everybody may come."""
        return True

    def timed_out(self, participant: str, link: Mapping[str, str], language: str) -> End | None:
        """It has no page of its own for that."""
        return None

    def watch(self, judge: Judge | None = None) -> ParadigmMonitor:
        """The function that reads all sessions of people with the paradigm."""
        return ParadigmMonitor(self.paradigm.name, self.data, judge)

    def take(self, participant: str, session: str, host: Host) -> End:
        """Take a participant through the session, or through the rest of it; who has finished sees
        the last page again."""
        end = End(sentence("session.thanks", self.language), (sentence("session.thanks_body", self.language),))
        before = self._begun(participant)
        if before is not None:
            host.recorded_in(before)
        if before is not None and complete(before):
            return end
        agent = host.seat(self.palette, self.language)
        begun = self._begin(participant, agent) if before is None else reopen(before)
        host.recorded_in(begun.folder)
        Runner(begun, agent).run()
        return end

    def _begun(self, participant: str) -> Path | None:
        """The session of a participant that was begun here, or None."""
        beginning = session_stem(self.paradigm.name, participant, 0)[:-1]
        for name in self.names.now():
            if (
                name.startswith(beginning)
                and re.fullmatch(r"\d+(-\d+)?", name[len(beginning) :])
                and (self.data / name / "session.json").exists()
            ):
                info = read_session(self.data / name)
                if info["participant"] == participant and in_browser(info):
                    return self.data / name
        return None

    def _begin(self, participant: str, agent: WindowAgent) -> Session:
        """Begin a session, when its first page was read: who does nothing there leaves nothing
        behind."""
        chosen, request = self._drawn(participant)
        if isinstance(agent, BrowserParticipant) and (page := self._first_page(chosen, request, agent.touched)):
            agent.show_first(page, self.language)
        session = begin(self.data, chosen.paradigm, agent, chosen.plan, request)
        self.names.add(session.name)
        return session

    def _drawn(self, participant: str) -> tuple[ChosenTrials, Request]:
        """The trials of somebody who begins."""
        if self.given is not None:
            seed, chosen = SessionSeed(self.given.seed), self.given
        else:
            seed = self.names.seed(self.paradigm.name, participant)
            plan = plan_session(self.paradigm, seed.seed, self.design, self.levels, self.trials)
            chosen = ChosenTrials(self.paradigm, plan, seed.seed, "corrected", self.design or "human", self.source)
        extra = {"seed_from": seed.as_json(), "keys": key_request(self.keys, participant), **chosen.extra}
        return chosen, Request(
            chosen.seed,
            chosen.generator,
            participant,
            chosen.design,
            self.language,
            self.pilot,
            self.practice,
            self.levels,
            source=self.source,
            extra=extra,
        )

    def _first_page(self, chosen: ChosenTrials, request: Request, touched: bool = False) -> PageContent | None:
        """The first page of a session. It is the same for all with these instructions, questions
        and keys."""
        paradigm, first, questions = chosen.paradigm, "", dict[Hashable, None]()
        for planned in one_of_each(chosen.plan):
            instructions = paradigm.instructions_in(
                self.language, resolve_levels(paradigm, planned.levels, planned.seed), for_people=True
            )
            first = first or instructions
            if instructions == first:
                questions |= dict.fromkeys(
                    self.pages.questions(planned, lambda planned=planned: planned.compile(paradigm, chosen.generator))
                )
        key = first, tuple(questions), repr(request.extra["keys"])
        return self.pages.get(key, touched, lambda data, reader: begin(data, paradigm, reader, chosen.plan, request))
