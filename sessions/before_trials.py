"""The preparation of a machine's trials: practice, worked examples, and the trials that it
remembers.

No trial of practice and no example has a seed of the session's trials, and none has a list or an
array of theirs either, as far as there are others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..agents.base import Agent, ConcurrentAgent, TrialContext
from ..core.errors import SpanLabError
from ..core.locale import sentence
from ..paradigms import Generator, Paradigm, PlannedTrial, Step, Trial, WorkedExample, compile_trial
from ..paradigms.compile import DEFAULT_INTERVAL_MS
from ..paradigms.identity import canonical, trial_seed
from ..stimuli import Stimulus
from .agent_checks import check_episode
from .record.events import Event
from .record.reader import trial_key
from .run_trial import Cues, run_trial
from .session import Session
from .trial_log import Judged, TrialLog

#: of one answer: its items
Scores = Sequence[Mapping[str, Any]]
#: takes one trial, after an interval of so many ms, and gives what was answered
Take = Callable[[PlannedTrial, float], Awaitable[list[Any]]]
#: So many answers of a practice trial are told one by one.
_FEW = 12
#: so many trials are tried when one has a list of the session's own
_TRIES = 64
#: practice trials that take the place of others are numbered from here on
_INSTEAD = 2**29


def list_of(trial: Trial) -> tuple[str, ...]:
    """The items of a trial that have to be remembered, in any order: all that is shown before the
    last questions, or everything if each display asks."""
    shown = [step for step in trial.steps if step.percept.model_step and step.feedback is None]
    last = max((number for number, step in enumerate(shown) if step.percept.ask is None), default=len(shown) - 1)
    return tuple(sorted(_item(step.percept.for_machine.stimulus) for step in shown[: last + 1]))


def _item(stimulus: Stimulus) -> str:
    """Return the identity of a display: its words, or all its parameters if the words do not say
    everything."""
    return stimulus.words() if stimulus.said_in_words else canonical([stimulus.name, stimulus.model_dump(mode="json")])


class UnseenTrials:
    """Trials whose lists do not occur in the session.

    Parameters
    ----------
    plan : the session's trials; of an adaptive one, at every level that may come
    """

    def __init__(self, paradigm: Paradigm, generator: Generator, seed: int, plan: Iterable[PlannedTrial]) -> None:
        self._paradigm, self._seed = paradigm, seed
        self._generator: Generator = generator
        self._lists = {list_of(planned.compile(paradigm, generator)) for planned in plan}
        self._examples: dict[str, tuple[WorkedExample, ...]] = {}
        #: trials of practice, and examples, for which there was no other list
        self.shared: list[str] = []

    def practice(self, planned: PlannedTrial) -> PlannedTrial:
        """A practice trial, or its replacement."""
        for tries in range(_TRIES):
            number = _INSTEAD + (planned.trial - 1) * _TRIES + tries
            candidate = replace(planned, seed=trial_seed("practice", self._seed, number)) if tries else planned
            if list_of(candidate.compile(self._paradigm, self._generator)) not in self._lists:
                return candidate
        self.shared.append(f"practice trial {planned.trial}")
        return planned

    def examples(self, levels: Mapping[str, Any], count: int) -> tuple[WorkedExample, ...]:
        """Worked examples with these levels, all with different lists."""
        key = canonical([dict(levels), count])
        if key not in self._examples:
            self._examples[key] = tuple(self._made(levels, count))
        return self._examples[key]

    def _made(self, levels: Mapping[str, Any], count: int) -> Iterable[WorkedExample]:
        new_lists: set[tuple[str, ...]] = set()
        for number in range(count):
            trial = self._example(levels, number * _TRIES)
            for tries in range(1, _TRIES):
                if list_of(trial) not in self._lists | new_lists:
                    break
                trial = self._example(levels, number * _TRIES + tries)
            new_lists.add(new_list := list_of(trial))
            if new_list in self._lists:
                self.shared.append(
                    f"example {number + 1} of {', '.join(f'{name} {level}' for name, level in levels.items())}"
                )
            yield _worked(trial)

    def _example(self, levels: Mapping[str, Any], number: int) -> Trial:
        return compile_trial(self._paradigm, levels, trial_seed("example", self._seed, number), self._generator)


def _worked(trial: Trial) -> WorkedExample:
    # what has no right answer has no worked one either
    steps = [
        step
        for step in trial.steps
        if step.percept.model_step and (step.percept.ask is None or step.percept.ask.kind.scored)
    ]
    answers = tuple(
        step.truth.answer for step in steps if step.percept.ask is not None and step.truth.answer is not None
    )
    return WorkedExample(trial.trial_id, tuple(step.shown_after("right") for step in steps), answers)


class NotPassedError(SpanLabError):
    """The practice criterion was not reached, the paradigm stops the session in this case, and the
    assistant did not decide otherwise."""


def result_of(judged: Sequence[Scores], language: str) -> str:
    """The sentence after a practice trial: how many answers were right (and which, if they are
    few), and how far off answers on a continuous scale were.

    It never says what the answers should have been.
    """
    items = items_of([score for scores in judged for score in scores])
    total = (
        sentence("session.right", language)
        if all(items)
        else sentence("session.some", language, right=sum(items), all=len(items))
    )
    errors = [error for scores in judged for score in scores if (error := score.get("error")) is not None]
    if errors:
        off = ", ".join(f"{abs(error):g}°" for error in errors)
        return f"{total}\n\n{sentence('session.off', language, off=off)}"
    judged = [scores for scores in judged if scores[0]["correct"] is not None]
    single = [scores[0]["correct"] for scores in judged if len(scores) == 1]
    if all(items) or len(single) != len(judged) or not 2 <= len(judged) <= _FEW:
        return total
    each = [
        sentence(f"session.answer_{'right' if right else 'wrong'}", language, n=number)
        for number, right in enumerate(single, start=1)
    ]
    return f"{total}\n\n{' · '.join(each)}"


def items_of(scores: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return the presented items that were right; intrusions are not items."""
    return [score["correct"] for score in scores if score["correct_answer"] is not None]


class PracticeHost(Protocol):
    """The host who leads a participant or a machine through practice."""

    def announce(self, round_: int, feedback: bool) -> None:
        """Say that a round begins."""
        ...

    def welcome(self, planned: PlannedTrial) -> None:
        """Give the instructions of a trial where they have changed."""
        ...

    def result(self, planned: PlannedTrial, judged: Sequence[Scores]) -> None:
        """Say how a trial went, by the scores of each of its answers."""
        ...

    def decide(self, right: int, asked: int, rounds: int) -> str:
        """Decide what follows for somebody who has not passed: ``again`` or ``go_on``."""
        ...

    def note(self, event: Event) -> None:
        """Write an event to the record."""
        ...


async def practise(
    session: Session,
    host: PracticeHost,
    take: Take,
    earlier: Mapping[str, Sequence[Mapping[str, Any]]],
    decided: Sequence[str] = (),
    planned_as: Callable[[PlannedTrial], PlannedTrial] = lambda planned: planned,
) -> None:
    """Run rounds of practice until the criterion is reached or the rounds are used up.

    Trials that an earlier part of the session finished (``earlier``: their scores) are not taken
    again, and count towards the criterion; what was ``decided`` in it holds: every ``again`` is a
    further round, and after ``go_on`` nobody asks.

    Parameters
    ----------
    planned_as : the trial that takes the place of a planned one
    """
    practice = session.paradigm.practice
    if practice is None:
        return
    most, rounds, passed, result = practice.at_most + decided.count("again"), 0, False, (0, 0, 0)
    while not (passed and rounds):
        if rounds == most:
            if practice.otherwise == "go_on" or "go_on" in decided:
                return
            if host.decide(*result) == "go_on":
                return
            most += 1
        rounds += 1
        right = asked = 0
        taken = False
        for trial in map(planned_as, session.practice_round(rounds)):
            scored = earlier.get(trial_key(True, trial.trial))
            if scored is None:
                if not taken:
                    host.announce(rounds, practice.feedback)
                taken = True
                host.welcome(trial)
                judged = [answer.scores for answer in await take(trial, DEFAULT_INTERVAL_MS)]
                scored = [score for scores in judged for score in scores]
                if practice.feedback:
                    host.result(trial, judged)
            right, asked = right + sum(items_of(scored)), asked + len(items_of(scored))
        passed = practice.pass_ is None or (asked > 0 and right / asked >= practice.pass_)
        result = (right, asked, rounds)
        if taken and (passed or rounds >= most):
            host.note({"event": "practice", "rounds": rounds, "right": right, "items": asked, "passed": passed})


class MachinePractice:
    """Leads a machine through practice.

    Parameters
    ----------
    over : whether an earlier part of the session has noted that practice is over
    note : writes an event to the record
    """

    def __init__(self, session: Session, agent: ConcurrentAgent, over: bool, note: Callable[[Event], None]) -> None:
        self._agent, self._over, self._write = agent, over, note
        self._paradigm, self._language = session.paradigm, str(session.info["language"])

    async def lead(
        self, session: Session, take: Callable[[PlannedTrial], Awaitable[Sequence[Judged]]], apart: UnseenTrials
    ) -> None:
        """Practice from its first trial to the sentence that the trials begin."""

        async def taken(planned: PlannedTrial, interval_ms: float) -> list[Any]:
            return list(await take(planned))

        await practise(session, self, taken, {}, planned_as=apart.practice)
        self._agent.tell(sentence("session.main_body", self._language))

    def announce(self, round_: int, feedback: bool) -> None:
        """Say that a round begins."""
        first = "session.practice_body" if feedback else "session.practice_silent"
        self._agent.tell(sentence("session.again_body" if round_ > 1 else first, self._language))

    def welcome(self, planned: PlannedTrial) -> None:
        """Do nothing: machines get the instructions within the trial."""

    def result(self, planned: PlannedTrial, judged: Sequence[Scores]) -> None:
        """Say how a trial went."""
        self._agent.tell(result_of(judged, self._language))

    def decide(self, right: int, asked: int, rounds: int) -> str:
        """Stop: nobody is there to let a machine go on after failed practice.

        Raises
        ------
        NotPassedError
            always.
        """
        raise NotPassedError(
            f"practice was not passed: {right} of {asked} correct in round {rounds}, the last one;"
            f" {self._paradigm.name} stops the session then (practice: otherwise: stop), and for a machine there is no"
            " assistant who lets it go on: take it without practice, or with a paradigm of your own that says"
            " otherwise: go_on"
        )

    def note(self, event: Event) -> None:
        """Record once that practice is over."""
        if not self._over:
            self._write(event)
            self._over = True


class Recalled:
    """The journal of a trial that an earlier part of the session finished: its replies are
    replayed, and nothing is requested."""

    def __init__(self, key: str, replies: Sequence[Mapping[str, Any]]) -> None:
        self._key, self._replies = key, replies

    def replies(self) -> Sequence[Mapping[str, Any]]:
        """The recorded replies of the trial."""
        return self._replies

    def _more(self) -> None:
        raise SpanLabError(
            f"the conversation cannot continue: the record lacks replies of trial {self._key}, which is finished; "
            "restore transcripts.jsonl, or start a new session"
        )

    def begun(self, line: Mapping[str, Any]) -> None:
        """Do nothing: no request is sent."""
        self._more()

    async def keep(self, line: Mapping[str, Any]) -> None:
        """Do nothing: the reply is recorded already."""
        self._more()

    def gone(self, line: Mapping[str, Any]) -> None:
        """Do nothing: no request is sent."""

    def refused(self, line: Mapping[str, Any]) -> None:
        """Do nothing: no request is sent."""

    def lost(self, line: Mapping[str, Any]) -> None:
        """Do nothing: no request is sent."""

    def unsent(self, line: Mapping[str, Any]) -> None:
        """Do nothing: no request is sent."""

    def note(self, event: Mapping[str, Any]) -> None:
        """Do nothing: the event is recorded already."""


async def walk(
    agent: Agent, context: TrialContext, steps: Sequence[Step], replies: Recalled | None = None
) -> list[Judged]:
    """Take an agent through a trial without recording it. A finished trial gets its recorded
    replies again, so that the agent remembers it as it was."""
    episode = check_episode(agent, agent.start(context))
    if replies is not None:
        episode.attach(replies)
    return await run_trial(steps, episode, TrialLog(lambda event: None, "", 1), Cues())


def with_examples(context: TrialContext, agent: Agent, apart: UnseenTrials, levels: Mapping[str, Any]) -> TrialContext:
    """Add worked examples to the context of a trial, where the agent's settings ask for them;
    practice trials have none."""
    if context.practice or not isinstance(agent, ConcurrentAgent) or not agent.examples:
        return context
    return replace(context, examples=apart.examples(levels, agent.examples))


def apart_for(
    agent: ConcurrentAgent, paradigm: Paradigm, generator: Any, seed: int, plan: Iterable[PlannedTrial]
) -> UnseenTrials | None:
    """The object that keeps an agent's practice and examples apart from its trials; None where it
    has neither."""
    return UnseenTrials(paradigm, generator, seed, plan) if agent.practises or agent.examples > 0 else None
