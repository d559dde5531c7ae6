"""What an agent is: somebody who is briefed, and then meets a trial step by step, seeing percepts and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypedDict, runtime_checkable

from ..errors import SpanLabError
from ..paradigms import Answer, AnswerKeys, NetworkView, Percept, ResponseKind, Truth

#: Kinds of agents that sit at a window: they get every step, also those that only people get, and are given practice and pages of text.
PEOPLE = frozenset({"participant", "simulated"})

Outcome = Literal["answered", "omitted", "invalid"]


class Stopped(SpanLabError):  # noqa: N818 - it is no fault
    """Something was not begun, since nothing new is to begin: the session is being stopped."""


class Unobtainable(SpanLabError):  # noqa: N818 - it is no fault of the session
    """A trial cannot be had, and asking again does not help; others may.

    Parameters
    ----------
    message : why, in a sentence
    bearable : of the trials of a session, the share that may be missing before it stops
    """

    def __init__(self, message: str, bearable: float) -> None:
        super().__init__(message)
        self.bearable = bearable


class Sentences(TypedDict):
    """What a chat model is told of a kind of question: ``legend`` in the instructions, ``question`` with what is said beside it whenever it is asked, and
    ``form``, how the reply is to be written, where nothing else is said of it."""

    legend: str
    question: str
    form: str


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent is told before a trial.

    Parameters
    ----------
    paradigm : its name
    title : its full title
    language : of the texts, such as ``en``
    instructions : neutral instructions from the paradigm
    asks : the distinct response kinds of the trial, in order of first use; each writes its legend for a kind of reader
    network : what a network sees of this paradigm (task, head, offset), or None
    keys : with which keys a person answers; machines have none
    words : texts of the screen, each with what a person of this language reads in its place
    sentences : what is said of the kinds of questions, by :meth:`.ResponseKind.record_key`, where it is not to be what it would be now
    seed : for an agent's own randomness (guesses, sampling), different for every trial of a session and independent of what the trial holds
    """

    paradigm: str
    title: str
    language: str
    instructions: str
    asks: tuple[ResponseKind, ...]
    network: NetworkView | None = None
    seed: int = 0
    keys: AnswerKeys = field(default_factory=AnswerKeys)
    words: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, Sentences] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """An agent's answer to one question.

    Parameters
    ----------
    value : the answer, or None when the outcome is not ``answered``
    rt_ms : reaction time where one means something, from the onset of the question
    raw : the raw form: key, click positions, text, logits; fit for JSON
    outcome : ``answered``, ``omitted`` (the window passed) or ``invalid`` (an answer outside the allowed ones)
    notes : measured extras for the event log, such as latency_ms, attempts, tokens, late presses; fit for JSON
    """

    value: Answer | None
    rt_ms: float | None = None
    raw: Any = None
    outcome: Outcome = "answered"
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """How one display was really shown. Times in ms from the start of the session's clock. ``onset_bound_ms``: by how much the picture can have come on before
    ``onset_ms`` at most, where the window knows."""

    planned_ms: float | None
    onset_ms: float
    shown_ms: float
    planned_frames: int | None
    shown_frames: int
    dropped_frames: int
    onset_bound_ms: float | None = None


class TrialCut(Exception):  # noqa: N818 - named as what happened
    """A trial cannot count any more, because of what happened in the step under way: it is cut off, and replaced.

    Parameters
    ----------
    why : what happened, in a word for the record
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


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


@dataclass(frozen=True, slots=True)
class SettingRules:
    """Which of an agent's settings need not be as they were for a session to go on.

    Parameters
    ----------
    later : settings that came after the first records, with what they are when nobody chooses: records of before have none of them, and the hash of the
        settings leaves them out where they are that
    constants : settings that nobody chooses, since they are constants of the program
    """

    later: Mapping[str, Any] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()


@runtime_checkable
class Mind(Protocol):
    """One fresh mind per trial."""

    def step(self, percept: Percept) -> Awaitable[Response | None]:
        """Take one step; a Response exactly when ``percept.ask`` is set."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Somebody who can take trials.

    Class attributes: ``kind`` (participant, simulated, chat, network, chance, ideal, capacity, recorded, published); ``oracle``: whether its minds are
    handed the truth.
    Optional abilities, looked up by the runner:

    * ``mind.prepare(displays)``: every display that may come, before the first step (a window uploads them);
    * ``mind.coming(percept, last)``: before a step, the one after it, where that does not depend on the answer, and whether there is none;
    * ``mind.shown()``: a list of :class:`Shown`, one per display of the last step, and ``mind.notes()``: what else happened;
      both are completed in place until the next step;
    * ``mind.finish()``: the trial is over;
    * ``mind.cut()``: the trial is over without an end; only minds whose ``step`` raises :class:`TrialCut` are told;
    * ``mind.attach(journal)``: a journal to which paid replies are written before they are used, and from which they are replayed after a kill; a window notes
      in it what is pressed after the trial;
    * ``mind.mark(codes, write)``: which trigger codes to send in this trial, and what takes the record of each;
    * ``mind.judged(verdict)``: what became of the last answer, for trigger codes alone; only people's minds are told;
    * ``agent.ready()``: raises when something that a session needs is missing (a trigger port); asked before a session begins, and before every trial;
    * ``agent.takes(briefing, steps)``: before a session, raises when it cannot take a trial that is introduced so and has so many steps for machines; asked for
      each kind of trial;
    * ``agent.answer(briefings, trials)``: many trials in one batch, proven equal to stepping;
    * ``agent.batch_size``: how many trials one batch should have;
    * ``agent.places()``: an async context manager in which one trial is under way; it waits until there is a place (minds take turns in one event loop);
    * ``agent.wind_down(why)``: nothing new is asked from now on; what is under way ends, and a mind that wants more gets a :class:`Stopped`;
    * ``agent.prepared(journal)``: awaited before the first trial: finds out whether the agent can do what it is going to be asked, and raises when not;
    * ``agent.suits(kinds)``: before a session, raises when questions of these kinds cannot be answered under its settings;
    * ``agent.wording(paradigm)``: instructions in place of the paradigm's own, with gaps for the levels of factors as theirs, or None;
    * ``agent.sentences(kinds)``: what it is told of questions of these kinds, by their keys, for the record and for briefings of sessions that go on;
    * ``agent.settings()``: everything that shaped the answers, fit for JSON, without secrets;
    * ``agent.setting_rules()``: the :class:`SettingRules` of these; without it, every setting must be as it was;
    * ``agent.introduction()``: a line or two for whoever starts a session, before it begins: what was found in somebody else's checkpoint;
    * ``agent.apparatus()``: what was measured or found (display, versions), fit for JSON; asked once the first trial is over;
    * ``agent.speak(language)``: in which language a person is spoken to, before the first page;
    * ``agent.page(title, body)``: a page of text for a person, until they go on (instructions, practice feedback, breaks, thanks);
    * ``agent.choose(title, body, options, usual, clicks)``: a page that ends with one of some :class:`Option`, whose name comes back, and with nothing else;
      ``usual`` is what a rehearsal takes, and without ``clicks`` the keys alone choose (for the assistant);
    * ``agent.still_ready()``: as ``ready``, by what is known already: asked between the questions of a trial in which nothing has to be finished first;
    * ``agent.over()``: the last trial is over: what is still to be noted of it, and what the assistant has to be told;
    * ``agent.rest(ms, meanwhile)``: an empty screen between trials, in which something is done meanwhile (the next trial is made ready);
    * ``agent.concerns(percepts)``: before a session (or its continuation), what is going to be shown: tells the assistant what the apparatus cannot do well;
    * ``agent.aclose()``: awaited in the event loop of a session at its end (connections belong to it);
    * ``agent.close()``: afterwards.
    """

    kind: ClassVar[str]
    oracle: ClassVar[bool]

    @property
    def name(self) -> str: ...

    def start(self, briefing: Briefing) -> Mind | OracleMind: ...


class OracleMind(Protocol):
    """The mind of a declared oracle: it is handed the truth through a separate argument."""

    def step(self, percept: Percept, truth: Truth) -> Awaitable[Response | None]: ...


class BatchAgent(Protocol):
    """An agent that is fast in batches."""

    def answer(self, briefings: Sequence[Briefing], trials: Sequence[Sequence[Percept]]) -> list[list[Response | None]]: ...


@runtime_checkable
class ReadingAgent(Protocol):
    """An agent that reads how questions are put."""

    def sentences(self, kinds: Iterable[ResponseKind]) -> dict[str, Sentences]: ...


class Journal(Protocol):
    """Where a mind keeps what was paid for, per trial; on disk before it is used."""

    def replies(self) -> Sequence[Mapping[str, Any]]:
        """What earlier attempts at the trial have kept, in order."""
        ...

    def begun(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request leaves."""
        ...

    def gone(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that all of a request has left."""
        ...

    def refused(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that the server refused a request that had left: nobody pays for it."""
        ...

    def lost(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request that had left came to nothing, although a reply may have been under way, which has to be paid for."""
        ...

    def unsent(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request could not leave."""
        ...

    async def keep(self, line: Mapping[str, Any]) -> None:
        """Keep a reply; it is on the disk when this returns."""
        ...

    def note(self, event: Mapping[str, Any]) -> None:
        """Note something that happened."""
        ...
