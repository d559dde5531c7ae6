"""The protocol of agents. An agent is introduced to a trial (:meth:`Agent.start`), and then meets it step
by step (:meth:`Episode.step`), seeing percepts and nothing else."""

# pyright: strict, reportImplicitOverride=true
# ruff: noqa: B027 (methods of base classes that do nothing are the point)
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypedDict

from ..core.agent_kinds import AgentKind
from ..core.errors import SpanLabError
from ..paradigms import STANDARD_KEYS, Answer, AnswerKeys, Percept, Prompt, ResponseKind, Truth, WorkedExample
from ..paradigms.network_view import NetworkView
from ..stimuli import Stimulus
from .payments import Cost, Journal, Ledger

Outcome = Literal["answered", "omitted", "invalid"]


class Sentences(TypedDict):
    """Sentences about a kind of question for a chat model: ``legend`` in the instructions, ``question``
    whenever it is asked, and ``form``, how the reply is to be written, in the instructions of a trial
    that sends stimuli alone."""

    legend: str
    question: str
    form: str


@dataclass(frozen=True, slots=True)
class TrialContext:
    """Introduction of an agent to a trial.

    Parameters
    ----------
    paradigm : its name
    title : its full title
    language : of the texts, such as ``en``
    instructions : neutral instructions from the paradigm
    kinds : the distinct response kinds of the trial, in order of first use; each writes its legend
        for a kind of reader
    network : what a network sees of this paradigm (task, head, filler), or None
    keys, words : for people: the keys for answers, and translations of texts on the screen
    prompts : what the questions of the trial ask in words, each once
    sentences : in a session that goes on, the recorded sentences about its kinds of questions, by
        :meth:`.ResponseKind.record_key`
    seed : for an agent's own randomness (guesses, sampling), different for every trial of a session
        and independent of what the trial holds
    block, practice : the block of the session, or the round of practice; and whether it is practice
    examples : worked examples with the levels of the trial, for agents that want some
    questionnaire : whether it tests no memory, so that pauses do no harm
    """

    paradigm: str
    title: str
    language: str
    instructions: str
    kinds: tuple[ResponseKind, ...]
    network: NetworkView | None = None
    seed: int = 0
    keys: AnswerKeys = STANDARD_KEYS
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    sentences: Mapping[str, Sentences] = field(default_factory=dict[str, Sentences])
    block: int = 1
    practice: bool = False
    examples: tuple[WorkedExample, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    questionnaire: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """An agent's answer to one question.

    Parameters
    ----------
    value : the answer, or None when the outcome is not ``answered``
    rt_ms : reaction time from the onset of the question; None for agents that have none
    raw : the raw form: key, click positions, text, logits; fit for JSON
    outcome : ``answered``, ``omitted`` (the window passed) or ``invalid`` (an answer outside the
        allowed ones)
    notes : measured extras for the event log, such as latency_ms, attempts, tokens, late presses;
        fit for JSON
    """

    value: Answer | None
    rt_ms: float | None = None
    raw: Any = None
    outcome: Outcome = "answered"
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Shown:
    """Record of one display as it was really shown. Times in ms from the start of the session's
    clock. ``onset_bound_ms``: the picture came on at most this long before ``onset_ms``, where the
    window knows."""

    planned_ms: float | None
    onset_ms: float
    shown_ms: float
    planned_frames: int | None
    shown_frames: int
    dropped_frames: int
    onset_bound_ms: float | None = None


class Episode(ABC):
    """An agent in one trial: made fresh for it, and gone after it.

    Only :meth:`step` has to be written. Mark overrides with ``@override``: a type checker then finds
    those that override nothing.
    """

    @abstractmethod
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take one step; a :class:`Response` exactly when ``percept.ask`` is set.

        Parameters
        ----------
        percept : all that is seen and asked
        truth : for scoring; handed to episodes of declared oracles alone
        """

    def attach(self, journal: Journal) -> None:
        """Take the journal of the trial, before the first step.

        Paid replies are written to it before they are used, and replayed from it after a kill. It
        also takes events of the agent.
        """

    def shown(self) -> Sequence[Shown] | None:
        """Return how each display of the last step was really shown; None where nothing is shown. Its
        end may be filled in until the next step begins."""
        return None

    def notes(self) -> Mapping[str, Any]:
        """Return what else happened in the last step, fit for JSON; more may be added until the next
        step begins."""
        return {}

    def finish(self) -> None:
        """The trial is over."""

    def cut(self) -> None:
        """The trial ends too early: a step has raised :class:`TrialCut`, or the session cannot go on."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Options for making an agent, beside its name; an agent takes those that it knows.

    Parameters
    ----------
    seed : for agents whose reaction times are random
    window : for agents at a window: its size, the distance, the speed ... (fields of
        ``WindowOptions``, ``speed`` and ``answers``)
    tasks : the tasks of the trials for networks; of several networks of one name, one that knows these
        is taken
    values : values of the options that the kind declares (:meth:`Agent.options`), by their names
    """

    seed: int = 0
    window: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tasks: frozenset[str] = frozenset()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One kind of trial of a session that is going to begin.

    Parameters
    ----------
    context, percepts : what the agent is told before such a trial, and shown in it if it answers
        correctly
    times : how many trials of this kind there are
    """

    context: TrialContext
    percepts: Sequence[Percept]
    times: float = 1.0


class Outlook(Protocol):
    """The trials of a session that is going to begin or to go on; compiled when they are first
    asked for."""

    @property
    def paradigm(self) -> str:
        """The name of the paradigm."""
        ...

    @property
    def adaptive(self) -> bool:
        """True if answers decide which trial comes next."""
        ...

    @property
    def questions(self) -> int:
        """The largest number of questions in a trial."""
        ...

    @property
    def trials(self) -> Sequence[Rehearsal]:
        """One trial of each kind; of some kinds only, evenly chosen, where there are very many."""
        ...

    @property
    def order(self) -> Sequence[tuple[int, int]]:
        """Block and number in ``trials`` of every trial, for agents that remember the trials of a
        block; empty for others."""
        ...

    @property
    def practice(self) -> Sequence[Rehearsal]:
        """The trials of one round of practice; empty when there is none."""
        ...

    @property
    def rounds(self) -> int:
        """The largest number of rounds of practice."""
        ...


class Agent(ABC):
    """Somebody who can take trials. Only ``kind`` and :meth:`start` have to be given; every other
    method does nothing until it is overridden.

    Mark overrides with ``@override``: a type checker then finds those that override nothing.
    """

    #: what it is: for records, lists and figures
    kind: ClassVar[AgentKind]
    #: as records and figures name it; its kind's name where nothing else is said
    name: str = ""
    #: whether it is a :class:`.window.WindowAgent`, which turns pages
    turns_pages: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        declared: Any = vars(cls).get("kind")
        if declared is None:
            return
        if not isinstance(declared, AgentKind):
            raise TypeError(
                f"the kind of {cls.__name__} is {declared!r}; expected an AgentKind, such as"
                f" AgentKind('{cls.__name__.lower()}')"
            )
        if declared.at_window != cls.turns_pages:
            raise TypeError(
                f"{cls.__name__} is of the kind '{declared.name}' ({declared.role}): agents at a window, and no others,"
                " are subclasses of WindowAgent"
            )
        if not cls.name:
            cls.name = declared.name

    @classmethod
    def from_name(cls, detail: str, options: AgentOptions) -> Agent:
        """The agent that a name stands for, such as ``capacity:4``.

        Parameters
        ----------
        detail : what stands after the colon; empty when nothing does
        options : beside the name

        Raises
        ------
        SpanLabError
            when the agent is not available (no key, no checkpoint, no display).
        """
        if detail:
            raise SpanLabError(
                f"the agent '{cls.kind.name}' takes nothing after a colon; found '{cls.kind.name}:{detail}'"
            )
        return cls()

    @classmethod
    def from_record(cls, detail: str, options: AgentOptions, info: Mapping[str, Any]) -> Agent:
        """The agent of a recorded session that goes on.

        Parameters
        ----------
        detail, options : as :meth:`from_name` takes them; options that are not given are those of
            the record
        info : the content of ``session.json``
        """
        return cls.from_name(detail, options)

    @classmethod
    def options(cls) -> frozenset[str]:
        """The names of the options that may be given to this kind of agent: any of ``chat``,
        ``care`` (fields of ``RequestLimits``) and ``price``."""
        return frozenset()

    @abstractmethod
    def start(self, context: TrialContext) -> Episode:
        """A fresh episode for one trial."""

    # -- for the record ----------------------------------------------------------------------------

    def settings(self) -> Mapping[str, Any]:
        """Everything that shaped the answers, fit for JSON, without secrets."""
        return {}

    def may_change(self) -> frozenset[str]:
        """Return the names of settings that may be others when a session goes on."""
        return frozenset()

    def apparatus(self) -> Mapping[str, Any]:
        """Return what was measured or found (display, versions), fit for JSON; asked once the first
        trial is over, and at the end."""
        return {}

    def sentences(self, kinds: Iterable[ResponseKind]) -> Mapping[str, Sentences]:
        """Return the sentences about questions of these kinds, by their keys; for kinds of agents
        that read."""
        return {}

    def recorded_options(self) -> Mapping[str, Any]:
        """Options for the record, under their keys in ``session.json``: those that shape no answer
        (limits, prices) and may change when a session goes on."""
        return {}

    def introduction(self) -> Sequence[str]:
        """Return a line or two about the agent, printed before a session begins, such as what was found in
        somebody else's checkpoint."""
        return []

    # -- before a session --------------------------------------------------------------------------

    def instructions_for(self, paradigm: str) -> str | None:
        """Instructions in place of the paradigm's own, with gaps for the levels of factors as
        theirs, or None."""
        return None

    def check_trial(self, context: TrialContext, steps: int) -> None:
        """Raise when it cannot take a trial with this introduction, and that many steps for machines;
        asked for each kind of trial."""

    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        """Raise when one of these displays cannot be seen or heard under its settings; asked for each
        kind of trial, with all displays that the agent gets."""

    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        """Raise when questions of these kinds cannot be answered under its settings."""

    def ready(self) -> None:
        """Raise when something is missing that a session needs (a trigger port); asked before a
        session begins, and before every trial."""

    async def setup(self, journal: Journal) -> None:
        """Try out, before the first trial, whether the agent can do what it is going to be asked; raise
        when not."""

    def check_session(self, outlook: Outlook) -> None:
        """Raise when it cannot take such a session under its settings; asked before a session
        begins, and before it goes on."""

    # -- what a session costs ----------------------------------------------------------------------

    def estimate(self, outlook: Outlook) -> Cost | None:
        """Return what a session is going to cost, before it begins; None for agents that cost
        nothing."""
        return None

    def carry(self, ledger: Ledger) -> None:
        """Take over what earlier parts of the session have cost: limits hold for the session as a whole."""

    def account(self, ledger: Ledger) -> Cost | None:
        """Return what a session has cost so far, in all its parts; None for agents that cost
        nothing."""
        return None

    # -- at its end --------------------------------------------------------------------------------

    def failure(self) -> str:
        """Return why it has stopped, in a sentence that says more than the error that was raised; empty
        when there is none."""
        return ""

    async def teardown(self) -> None:
        """Let go of what belongs to the event loop of the session (connections), at its end."""

    def close(self) -> None:
        """Let go of everything else, afterwards."""
