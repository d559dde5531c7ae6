"""The first page of a paradigm's sessions, known before anybody comes: a visitor reads it while
nothing has been begun yet."""

# pyright: strict, reportImplicitOverride=true
from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Hashable
from pathlib import Path

from typing_extensions import override

from spanlab.agents import PageContent
from spanlab.core import SpanLabError
from spanlab.paradigms import PlannedTrial, Trial
from spanlab.sessions import Runner, Session

from ..participant.agent import BrowserParticipant
from ..participant.channel import Channel
from ..participant.frames import FrameStore
from ..participant.screen import PageScreen

#: a screen on which nobody looks
_SCREEN = PageScreen(96, 700, 800, 18, False, {})
#: so many different pages are kept
_MOST_PAGES = 1000


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

    def get(self, conditions: Hashable, begin: Callable[[Path, BrowserParticipant], Session]) -> PageContent | None:
        """The page that a session shows first; None where it does something else before.

        Parameters
        ----------
        conditions : what the page depends on
        begin : begins such a session in a folder, with somebody at a page
        """
        pages = self._pages
        if conditions in pages:  # others may be read meanwhile
            return pages[conditions]
        with self._lock:
            if conditions not in self._pages:
                if len(self._pages) >= _MOST_PAGES:
                    self._pages = {}
                self._pages[conditions] = _first_page(begin)
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


def _first_page(begin: Callable[[Path, BrowserParticipant], Session]) -> PageContent | None:
    with tempfile.TemporaryDirectory(prefix="spanlab-page-", ignore_cleanup_errors=True) as folder:
        reader = _Reader(Channel("", lambda event: None), FrameStore(), lambda: _SCREEN)
        try:
            Runner(begin(Path(folder), reader), reader).run()
        except _ReachedError:
            return reader.text
        return None
