"""Trials one by one: each is compiled, introduced, run, recorded, and replaced where it was cut off, before the
next begins. The other strategies take some of their trials in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...agents.base import Agent, Episode, Sentences, TrialContext
from ...agents.interruptions import TrialCut, Unobtainable
from ...agents.window import WindowAgent, WindowEpisode
from ...core.errors import SpanLabError
from ...paradigms import Percept, PlannedTrial, Step, Trial
from ...paradigms.design import replacement
from ...paradigms.identity import digest
from ..plan import UnseenTrials, with_examples
from ..record.reader import SessionState, trial_key
from ..record.staircase import Staircase
from ..record.writer import Recorder, TrialJournal
from ..replaying import Recalled, walk
from ..run_trial import Cues, WindowCues, check_episode, run_trial
from ..session import Session, brief, for_record, write_info
from ..trial_log import Judged, TrialLog, WriteEvent

#: after so many failed trials, and none that succeeded, no more are tried
_NONE_AT_ALL = 3
#: takes a finished trial and the scores of its items
After = Callable[[PlannedTrial, Sequence[Mapping[str, Any]]], None]


async def one_by_one(
    taker: TrialTaker,
    trials: Iterable[PlannedTrial],
    tell: Callable[[], None],
    before: Callable[[PlannedTrial], None] = lambda planned: None,
    after: Sequence[After] = (),
) -> None:
    """Take trials in their order.

    Parameters
    ----------
    tell : called after each trial, failed ones too
    before : called before each trial
    after : called after each trial that did not fail
    """
    for planned in trials:
        taker.agent.ready()
        before(planned)
        judged = await taker.take_or_fail(planned, planned.interval_ms)
        if judged is not None:
            scores = [score for verdict in judged for score in verdict.scores]
            for follow in after:
                follow(planned, scores)
        tell()


def at_levels(staircase: Staircase | None, trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
    """The trials of a session; those of an adaptive one have the level that the answers before ask
    for, and end with the staircase."""
    for planned in trials:
        if staircase is None:
            yield planned
        elif staircase.over:
            return
        else:
            yield replace(planned, levels={**planned.levels, planned.varies: staircase.level})


@dataclass(frozen=True, slots=True)
class TrialSource:
    """Makes the trials of a session, and what an agent is told before each.

    Parameters
    ----------
    sentences : about each kind of question, where they are those of the record
    apart : worked examples and practice that share no list with the session's trials; None where
        there are none
    """

    session: Session
    agent: Agent
    sentences: Mapping[str, Sentences]
    apart: UnseenTrials | None = None

    def compile(self, planned: PlannedTrial) -> Trial:
        """Compile a planned trial."""
        return planned.compile(self.session.paradigm, self.session.info["generator"])

    def context(self, planned: PlannedTrial, trial: Trial) -> TrialContext:
        """The context that the agent gets before this trial."""
        session = self.session
        seed = int(digest(["agent", session.seed, planned.practice, planned.trial], length=12), 16)
        context = brief(
            self.agent, session.paradigm, session.info["language"], trial, seed, session.answer_keys, self.sentences
        )
        context = replace(context, block=planned.block, practice=planned.practice)
        return context if self.apart is None else with_examples(context, self.agent, self.apart, trial.levels)

    def steps(self, trial: Trial) -> list[Step]:
        """The steps of a trial that the agent sees: people see all."""
        return [step for step in trial.steps if isinstance(self.agent, WindowAgent) or step.percept.model_step]

    def percepts_to_come(self) -> list[Percept]:
        """The percepts of one trial of each kind in the session."""
        kinds: list[PlannedTrial] = []
        for planned in self.session.plan:
            if planned.draws is not None or all(planned.levels != other.levels for other in kinds):
                kinds.append(planned)
        return [percept for planned in kinds for step in self.steps(self.compile(planned)) for percept in step.percepts]


def note_apparatus(session: Session, agent: Agent) -> None:
    """Write what the agent really works with into the record of a session."""
    if values := for_record("the apparatus", agent, agent.apparatus()):
        write_info(session.folder, {**session.info, "apparatus": values})


class TrialTaker:
    """Takes planned trials of a session and records them.

    Parameters
    ----------
    source : makes the trials
    recorder, log : of the session
    state : of the session when it began or went on
    """

    def __init__(self, source: TrialSource, recorder: Recorder, log: SessionLog, state: SessionState) -> None:
        self.source, self.recorder, self.log, self.state = source, recorder, log, state
        self.session, self.agent = source.session, source.agent
        self._window = source.agent if isinstance(source.agent, WindowAgent) else None
        self._codes = source.session.trigger_codes
        self._under_way: set[str] = set()
        #: those under way when the first trial failed, without what has failed since: a refusal comes
        #: before an answer
        self._awaited: set[str] | None = None
        self._apparatus_noted = False

    def unseen(self, planned: PlannedTrial) -> PlannedTrial:
        """The trial; for people its replacement, where an earlier attempt at it was cut short: who
        has seen half of it is not to see it again."""
        attempts = self.log.attempts(planned)
        if self._window is None or not attempts:
            return planned
        return replacement(
            self.session.paradigm,
            planned,
            self.session.seed,
            attempts + 1,
            self.session.design,
            self.session.info["generator"],
        )

    async def take(self, planned: PlannedTrial, interval_ms: float | None = None) -> list[Judged]:
        """Take a trial; one that is cut off is replaced, until one is whole.

        Parameters
        ----------
        interval_ms : blank time before the trial, for people
        """
        while (judged := await self._attempt(planned, interval_ms)) is None:
            planned = self.unseen(planned)
        return judged

    async def take_unseen(self, planned: PlannedTrial, interval_ms: float) -> list[Judged]:
        """Take a trial, or its replacement."""
        return await self.take(self.unseen(planned), interval_ms)

    async def take_or_fail(self, planned: PlannedTrial, interval_ms: float | None = None) -> list[Judged] | None:
        """Take a trial; None where it failed, which is then on record.

        Raises
        ------
        SpanLabError
            when too many trials failed, or all.
        """
        key = trial_key(planned.practice, planned.trial)
        self._under_way.add(key)
        try:
            return await self.take(planned, interval_ms)
        except Unobtainable as reason:
            if self._awaited is None:
                self._awaited = {*self._under_way}
            self._awaited.discard(key)
            self.log.fail(planned, str(reason))
            await self.recorder.committed()
            self._check_failed(reason)
            return None
        finally:
            self._under_way.discard(key)

    def _check_failed(self, reason: Unobtainable) -> None:
        """Check that the session can go on without the trials that failed.

        Raises
        ------
        SpanLabError
            when they are too many, or none was finished. Trials under way may still fail, so that
            there are more of them in the end.
        """
        failed, count = len(self.log.failed), len(self.session.plan)
        if failed > reason.bearable * count:
            raise SpanLabError(
                f"stopped after {failed} of {count} trials had failed, the last one because {reason}. That is too many"
                f" to go on ({{fail_on_error}} {reason.bearable:g}); with a higher share the session goes on without"
                " them, and {retry_failed} asks for them again",
                names=["fail_on_error", "retry_failed"],
            )
        if failed >= _NONE_AT_ALL and not self.log.done and not self._awaited:
            raise SpanLabError(
                f"stopped after {failed} of {count} trials had failed and none was finished, the last one because"
                f" {reason}. A higher {{fail_on_error}} does not change that; {{retry_failed}} asks for them again",
                names=["fail_on_error", "retry_failed"],
            )

    async def recall(self, planned: PlannedTrial) -> list[Judged]:
        """Go through a trial again that an earlier part of the session finished."""
        start = self.state.starts[key := trial_key(planned.practice, planned.trial)]
        trial = self.source.compile(planned := replace(planned, levels=start["levels"], seed=start["seed"], varies=""))
        return await walk(
            self.agent,
            self.source.context(planned, trial),
            self.source.steps(trial),
            Recalled(key, self.state.replies.get(key, [])),
        )

    def first_is_over(self) -> None:
        """Note the apparatus after the first trial, when the agent knows it: a kill must not lose
        that."""
        if not self._apparatus_noted:
            self._apparatus_noted = True
            note_apparatus(self.session, self.agent)

    async def _attempt(self, planned: PlannedTrial, interval_ms: float | None) -> list[Judged] | None:
        """Make one attempt at a trial; None when it was cut off. It is made ready within the
        interval before it, where the agent rests between trials."""
        ready: list[tuple[Trial, list[Step], Episode]] = []
        if interval_ms is not None and self._window is not None:
            self._window.rest(interval_ms, lambda: ready.append(self._made_ready(planned)))
        else:
            ready.append(self._made_ready(planned))
        ((trial, steps, episode),) = ready
        key, trial_ids = trial_key(planned.practice, planned.trial), self.state.trial_ids
        if (replies := self.state.replies.get(key, [])) and trial_ids.get(key, trial.trial_id) != trial.trial_id:
            raise SpanLabError(
                f"the saved replies of trial {key} belong to another trial: {trial_ids[key]} then, {trial.trial_id} now"
            )
        log = self.log.start(planned, trial)
        if self._window is not None:
            self.recorder.sync()  # what was seen is known after any end, so that it is not shown again
        journal = TrialJournal(self.recorder, log.key, log.attempt, replies)
        episode.attach(journal)
        try:
            judged = await run_trial(
                steps, episode, log, self._cues(planned, steps, episode, journal), self.agent.kind.oracle
            )
        except TrialCut:
            await self.recorder.committed()
            return None
        self.log.finish(log, len(steps))
        await self.recorder.committed()
        if self._window is not None:
            self._window.recorded()
        self.first_is_over()
        await asyncio.sleep(0)  # Ctrl-C is noticed here, also when an agent never waits for anything
        return judged

    def _made_ready(self, planned: PlannedTrial) -> tuple[Trial, list[Step], Episode]:
        """A trial, its steps and an episode for it, with all done that takes time."""
        trial = self.source.compile(planned)
        steps = self.source.steps(trial)
        episode = check_episode(self.agent, self.agent.start(self.source.context(planned, trial)))
        if self._window is not None and isinstance(episode, WindowEpisode):
            episode.prepare([display for step in steps for percept in step.percepts for display in percept.displays])
            episode.expect([step.percepts for step in steps])
        return trial, steps, episode

    def _cues(self, planned: PlannedTrial, steps: Sequence[Step], episode: Episode, journal: TrialJournal) -> Cues:
        """Return the hooks of a trial besides its percepts. Machines learn nothing in advance, nor
        what became of an answer."""
        if self._window is None or not isinstance(episode, WindowEpisode):
            return Cues()
        if self._codes is not None and (self._codes.practice or not planned.practice):
            episode.mark(self._codes, journal.trigger)
        return WindowCues(self._window, episode, steps)


class SessionLog:
    """Writes the events with which trials begin, end and fail, and knows what became of each.

    Parameters
    ----------
    now : the wall clock, for the measured column ``started_at``
    state : of the session when it began or went on
    retry_failed : whether trials that failed before are tried again
    """

    def __init__(
        self, write: WriteEvent, now: Callable[[], str], state: SessionState | None = None, retry_failed: bool = False
    ) -> None:
        self._write, self._now = write, now
        state = state or SessionState.of((), ())
        self.done: dict[str, int] = {**state.finished}
        self.failed: dict[str, str] = {} if retry_failed else {**state.failed}
        self._attempts: dict[str, int] = {**state.attempts}

    def attempts(self, planned: PlannedTrial) -> int:
        """The number of attempts at a trial so far."""
        return self._attempts.get(trial_key(planned.practice, planned.trial), 0)

    def pending(self, plan: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The trials that are neither finished nor failed."""
        return [planned for planned in plan if trial_key(False, planned.trial) not in {**self.done, **self.failed}]

    def start(self, planned: PlannedTrial, trial: Trial) -> TrialLog:
        """Begin the next attempt at a trial."""
        key = trial_key(planned.practice, planned.trial)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self._write(
            {
                "event": "trial_start",
                "trial": key,
                "attempt": attempt,
                "block": planned.block,
                "practice": planned.practice,
                "levels": dict(trial.levels),
                "seed": trial.seed,
                "trial_id": trial.trial_id,
                "set_size": trial.set_size,
                "list_length": trial.list_length,
                "started_at": self._now(),
            }
        )
        return TrialLog(self._write, key, attempt)

    def finish(self, log: TrialLog, steps: int) -> None:
        """Write the last step of a trial, and that it is finished."""
        log.flush()
        self._write({"event": "trial_end", "trial": log.key, "attempt": log.attempt, "steps": steps})
        self.done[log.key] = log.attempt

    def fail(self, planned: PlannedTrial, reason: str) -> None:
        """Write that a trial failed."""
        key = trial_key(planned.practice, planned.trial)
        self._write({"event": "trial_failed", "trial": key, "attempt": self._attempts[key], "why": reason})
        self.failed[key] = reason
