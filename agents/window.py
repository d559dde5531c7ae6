"""Agents at a window: people, and whoever else turns pages, rests and presses keys there."""

# pyright: strict, reportImplicitOverride=true

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from ..core.errors import SpanLabError
from ..paradigms import AnswerKeys, Ask, Percept, Verdict
from ..paradigms.translation import Words, translated_percept
from ..paradigms.trial import Display
from ..paradigms.triggers import Triggers
from .base import Agent, Episode, TrialContext

if TYPE_CHECKING:
    from ..paradigms.preview.example import ExampleDisplay


@dataclass(frozen=True, slots=True)
class Option:
    """One of several ways on from a page, as a button.

    Parameters
    ----------
    name : what comes back when it is chosen
    label : on the button
    key : the key that chooses it, as PsychoPy names it
    """

    name: str
    label: str
    key: str


class WindowEpisode(Episode):
    """Somebody at a window in one trial. Only a window is told of displays ahead of time, and of
    what became of an answer.

    Parameters
    ----------
    keys : those with which questions are answered
    words : what is read in place of the texts of the trial
    """

    def __init__(self, keys: AnswerKeys | None = None, words: Words | None = None) -> None:
        self.keys, self.words = keys or AnswerKeys(), words or {}

    def as_asked(self, percept: Percept) -> Percept:
        """The percept with the keys and in the language of this participant, which only the window
        and its legend know of."""
        percept = translated_percept(percept, self.words)
        ask = percept.ask
        return percept if ask is None else replace(percept, ask=replace(ask, kind=ask.kind.with_keys(self.keys)))

    def prepare(self, displays: Sequence[Display]) -> None:
        """Make every display ready that may come, before the first step (a window uploads them)."""

    def expect(self, steps: Sequence[Sequence[Percept]]) -> None:
        """Know the whole trial before its first step (a page plays it by itself): of each step one
        percept, or one for each verdict on the answer before."""

    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        """Before a step: the one after it, where that does not depend on the answer, and whether
        there is none."""

    def mark(self, codes: Triggers, write: Callable[[Mapping[str, Any]], None]) -> None:
        """Send these trigger codes in this trial; ``write`` takes the record of each."""

    def judged(self, verdict: Verdict) -> None:
        """Take note of the verdict on the last answer, for trigger codes alone."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """One page of text.

    Parameters
    ----------
    text : paragraphs, separated by empty lines; a line that begins with ``# `` is a heading
    title : above the text
    footer : how to go on; the usual sentence when empty
    example : displays of a trial, pictured below the text
    after : paragraphs below the example; those before its first heading are about the example
    progress : how much of the session is done (0 to 1), as a bar below the text
    least : seconds for which the page stays at least
    options : the only ways on, as buttons in the place of the footer
    """

    text: str
    title: str = ""
    footer: str = ""
    example: tuple[ExampleDisplay, ...] = ()
    after: str = ""
    progress: float | None = None
    least: float = 0.0
    options: tuple[Option, ...] = ()


class WindowAgent(Agent):
    """Somebody at a window: pages of text, rest between trials, and word of what is coming."""

    turns_pages: ClassVar[bool] = True

    #: the button box as it was named; empty when there is none
    buttons: str = ""
    #: whether every trial is compiled before anybody sits down, so that a fault in the file does
    #: not show up later
    compiles_ahead: bool = True
    #: whether a browser sets the texts of its pages, in any script
    in_browser: bool = False

    @override
    @abstractmethod
    def start(self, context: TrialContext) -> WindowEpisode: ...

    def open(self) -> object:
        """Open the window, when it is not open yet."""
        return None

    def leave_screen(self) -> None:
        """Leave the screen to a dialog; the next page or trial takes it again."""

    def speak(self, language: str) -> None:
        """In which language a person is spoken to, before the first page."""

    def how_to_answer(self, ask: Ask, language: str) -> tuple[str, str]:
        """How a question is answered here, and whether an answer can be changed, for the
        instructions."""
        return ask.kind.legend("participant", language), ask.kind.finality(ask.counts, language)

    def concerns(self, percepts: Sequence[Percept]) -> None:
        """Look at what is going to be shown, before a session or its continuation, and tell the
        assistant what the apparatus cannot do well."""

    def page(self, page: PageContent) -> None:
        """Show a page until the participant goes on (instructions, practice feedback, breaks,
        thanks)."""

    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        """Show a page that ends with one of some options, by its key or with a click on its button,
        and with nothing else.

        Parameters
        ----------
        usual : the name of the option that a simulated participant chooses
        clicks : whether buttons can be clicked; keys alone choose where the assistant decides

        Returns
        -------
        the name of the option; empty where there are no pages with options
        """
        self.page(PageContent(text, title))
        return ""

    def rest(self, ms: float, meanwhile: Callable[[], object] | None = None) -> None:
        """Show an empty screen between trials, in which something is done meanwhile (the next trial
        is made ready)."""
        if meanwhile is not None:
            meanwhile()

    def recorded(self) -> None:
        """All of the trial that has ended is on the disk."""

    def await_pulse(self, pulse: str, at: int, page: PageContent) -> None:
        """Show a page until a scanner has sent so many pulses since the last call of :meth:`pulses`.

        Parameters
        ----------
        pulse : what sends them, as the study file has it
        """
        raise SpanLabError(f"{self.name} cannot wait for the pulses of a scanner (start: in the study file)")

    def pulses(self) -> list[float]:
        """The pulses of a scanner since the last call, in ms on the session's clock. With the first
        call, its key is no key any more."""
        return []

    def still_ready(self) -> None:
        """As :meth:`ready`, by what is known already: asked between the questions of a trial in
        which nothing has to be finished first."""

    def over(self) -> None:
        """The last trial is over: note what is still to be noted of it, and tell the assistant what
        there is to tell."""
