"""The one runner: every agent, person or machine, goes through this loop."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..agents.at_once import BatchAgent, ConcurrentAgent
from ..agents.base import Agent
from ..agents.window import WindowAgent
from ..core.atomic_files import only_writer
from ..core.errors import SpanLabError
from ..core.event_loop import run_to_end
from ..paradigms import PlannedTrial
from .plan import apart_for
from .record.events import Event, Resumed, SessionStart
from .record.reader import NO_TRIAL, SessionState, read_events, read_transcript, staircase_of, trials_left
from .record.staircase import Staircase
from .record.table import write_responses
from .record.writer import Recorder, TrialJournal
from .session import Session, changed_settings, questions_of, utc_now
from .strategies.batches import in_batches
from .strategies.concurrently import concurrently, interruptible, practise_and_recall
from .strategies.one_by_one import After, SessionLog, TrialSource, TrialTaker, at_levels, note_apparatus, one_by_one

#: called after every finished trial with (trials done, trials in all)
Progress = Callable[[int, int], None]


class Runner:
    """Takes an agent through a session.

    Parameters
    ----------
    session : from :func:`..run.begin` or :func:`..session.reopen`
    agent : who takes the trials
    progress : called after every finished trial
    now : the wall clock, for the measured column ``started_at``
    say : told what happens when the session is being stopped
    retry_failed : whether trials that failed are asked for again
    stays : whether the agent is left open when the session is over: whoever has made it closes it
    """

    def __init__(
        self,
        session: Session,
        agent: Agent,
        progress: Progress | None = None,
        now: Callable[[], str] = utc_now,
        say: Callable[[str], None] | None = None,
        retry_failed: bool = False,
        stays: bool = False,
    ) -> None:
        self.session, self.agent, self.now = session, agent, now
        self._retry_failed, self._stays = retry_failed, stays
        self.say: Callable[[str], None] = say or (lambda sentence: None)
        self.progress: Progress = progress or (lambda done, total: None)
        self._changed = changed_settings(agent, session.info, session.folder)
        #: the result of an adaptive session (:meth:`.staircase.Staircase.summary`) after it has
        #: run; None for others
        self.span: Mapping[str, Any] | None = None

    def run(self) -> None:
        """Run (or go on with) the session until every planned trial has finished or failed, and
        write the response table.

        Raises
        ------
        SpanLabError
            what an agent or the disk reports, and when another process is running the session;
            everything up to the last finished trial is safe then.
        KeyboardInterrupt
            when Ctrl-C has stopped it. Pressed once, it lets an agent that is asked over a network
            finish what is under way, and keeps that.
        """
        session, agent, info = self.session, self.agent, self.session.info
        agent.ready()
        if isinstance(agent, ConcurrentAgent):
            agent.recorded_in(session.folder, self.say)
        with only_writer(session.folder):
            events, lines = read_events(session.folder), read_transcript(session.folder)
            if self._is_over(events):
                self._close()
                return
            state = SessionState.of(events, lines, isinstance(agent, ConcurrentAgent) and agent.remembers)
            beginning = self._resumed(lines) if events else SessionStart(event="session_start", at=self.now())
            # practice and examples that share no list with the session's trials
            apart = (
                apart_for(agent, session.paradigm, info["generator"], session.seed, session.may_come)
                if isinstance(agent, ConcurrentAgent)
                else None
            )
            recorder = Recorder(session.folder)
            log = SessionLog(recorder.write, self.now, state, self._retry_failed)
            taker = TrialTaker(TrialSource(session, agent, questions_of(info), apart), recorder, log, state)
            self._record(recorder, beginning, partial(self._take_all, taker, staircase_of(info, events)))
            write_responses(session.folder)

    def _is_over(self, events: Sequence[Event]) -> bool:
        """Return whether another process has finished the session while this one waited for it."""
        ended = bool(events) and events[-1]["event"] == "session_end" and not self._retry_failed
        return ended and not trials_left(self.session.info, events)

    def _close(self) -> None:
        if not self._stays:
            self.agent.close()

    def _resumed(self, lines: Sequence[Mapping[str, Any]]) -> Resumed:
        """The event with which the session goes on; settings that have changed are in it, and reported."""
        session, event = self.session, Resumed(event="resumed")
        if lines:
            from ..agents.payments import in_vain

            event["paid_twice_at_most"] = in_vain(lines).count
        if self._changed:
            event["settings"] = self._changed
            changes = (f"{name} was {then} and is {now}" for name, (then, now) in self._changed.items())
            self.say(f"{session.name} goes on with other settings than it began with: {'; '.join(changes)}")
        event["at"] = self.now()
        return event

    def _record(
        self, recorder: Recorder, beginning: SessionStart | Resumed, trials: Callable[[], Awaitable[None]]
    ) -> None:
        """Record the session from its first event to its last, whatever ends it."""
        try:
            recorder.write(beginning)
            recorder.commit()
            work = self._until_teardown(trials)
            if isinstance(self.agent, ConcurrentAgent):
                work = interruptible(self.agent, work, self.say)
            run_to_end(work)
            recorder.write({"event": "session_end", "at": self.now()})
            recorder.commit()
        except (Exception, KeyboardInterrupt) as error:
            # An agent may know a better reason: without a display, say, many things fail in turn.
            failure = self.agent.failure()
            fault = SpanLabError(failure) if failure else error
            self._record_fault(recorder, fault)
            raise fault from error.__cause__
        finally:
            recorder.finish()
            self._close()

    def _record_fault(self, recorder: Recorder, error: BaseException) -> None:
        try:
            message = str(error) if isinstance(error, SpanLabError) else type(error).__name__
            recorder.write({"event": "interrupted", "at": self.now(), "why": message})
            recorder.commit()
        except SpanLabError:
            pass  # the disk itself is the trouble, and the first error says so

    async def _until_teardown(self, trials: Callable[[], Awaitable[None]]) -> None:
        """Take the trials; whatever ends them, note the apparatus, and close the agent's connections."""
        try:
            try:
                await trials()
            finally:
                note_apparatus(self.session, self.agent)
        finally:
            await self.agent.teardown()

    async def _take_all(self, taker: TrialTaker, staircase: Staircase | None) -> None:
        after: list[After] = (
            [] if staircase is None else [lambda planned, scores: staircase.take(staircase.rule.correct(scores))]
        )
        if isinstance(self.agent, WindowAgent):
            await self._with_participant(self.agent, taker, staircase, after)
        else:
            await self._with_machine(taker, staircase, after)

    async def _with_participant(
        self, agent: WindowAgent, taker: TrialTaker, staircase: Staircase | None, after: Sequence[After]
    ) -> None:
        from .participant_flow import ParticipantFlow, take_quiz

        session, state = self.session, taker.state
        flow = ParticipantFlow(session, agent, taker.recorder.write)
        await self._set_up(taker)
        agent.concerns(taker.source.percepts_to_come())
        flow.welcome(flow.first())
        if session.info["practice"]:
            noted = max((event.get("rounds", 0) for event in state.events if event["event"] == "practice"), default=0)
            await flow.practise(taker.take_unseen, state.scores, state.decisions, noted)
        pending = [taker.unseen(planned) for planned in taker.log.pending(session.plan)]
        flow.begin_main(len(session.plan) - len(pending), next(at_levels(staircase, pending), flow.first()))
        tell, turned_away = self._teller(pending), False
        if "quiz" in session.info:
            turned_away = (await take_quiz(taker, flow, tell)).left
        else:
            await one_by_one(taker, at_levels(staircase, pending), tell, flow.between, [*after, flow.after])
        self._note_span(taker, staircase)
        agent.over()
        flow.thanks(turned_away)

    async def _with_machine(self, taker: TrialTaker, staircase: Staircase | None, after: Sequence[After]) -> None:
        agent = self.agent
        await self._set_up(taker)
        if isinstance(agent, ConcurrentAgent):
            await practise_and_recall(agent, taker)
        pending = taker.log.pending(self.session.plan)
        tell = self._teller(pending)
        if staircase is None and isinstance(agent, BatchAgent):
            await in_batches(agent, taker, pending, tell)
        elif staircase is None and isinstance(agent, ConcurrentAgent):
            await concurrently(agent, taker, pending, tell)
        else:
            await one_by_one(taker, at_levels(staircase, pending), tell, after=after)
        self._note_span(taker, staircase)

    async def _set_up(self, taker: TrialTaker) -> None:
        state = taker.state
        await self.agent.setup(
            TrialJournal(taker.recorder, NO_TRIAL, state.preparations + 1, state.replies.get(NO_TRIAL, []))
        )

    def _teller(self, pending: Sequence[PlannedTrial]) -> Callable[[], None]:
        """A function that reports one more trial."""
        total = len(self.session.plan)
        done = itertools.count(total - len(pending) + 1)
        return lambda: self.progress(next(done), total)

    def _note_span(self, taker: TrialTaker, staircase: Staircase | None) -> None:
        if staircase is not None:
            self.span = staircase.summary()
            taker.recorder.write({"event": "span", **self.span})
