"""The one runner: every agent, person or machine, goes through this loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..agents.base import Agent, BatchAgent, ConcurrentAgent, Episode, Sentences, TrialContext, WindowAgent, WindowEpisode
from ..agents.departures import paid_twice_at_most
from ..agents.interruptions import TrialCut, Unobtainable
from ..core.atomic_files import only_writer
from ..core.errors import SpanLabError
from ..core.event_loop import run_to_end
from ..core.worker_pool import SerialPool, WorkerPool
from ..paradigms import Percept, PlannedTrial, Step, Trial
from ..paradigms.design import replacement
from ..paradigms.identity import digest
from .agent_checks import answers_of, changed_constants, check_episode, for_record, note_changes
from .before_trials import MachinePractice, Recalled, apart_for, in_conversations, walk, with_examples
from .concurrency import interruptible, several
from .large_run import ShardWorker, take_parts
from .participant_flow import ParticipantFlow, take_quiz
from .record.events import Event, Paired, Resumed, SessionStart
from .record.reader import read_events, staircase_of, trial_key, write_responses
from .record.session_files import PARTS
from .record.staircase import Staircase
from .record.state import NO_TRIAL, SessionState
from .record.transcript_file import read_transcript
from .record.writer import Recorder, TrialJournal
from .sent import questions_of, recovered, speak_as_recorded, without_sentences
from .session import Session, brief, stored_paradigm, utc_now, write_info
from .trial_log import Judged as Judged
from .trial_log import TrialLog, each_asks, last_verdict
from .trial_log import judge as judge

#: so many trials that cannot be had, before any that can, say that none can; or as many as were under way at once, since a refusal comes before an answer
_NONE_AT_ALL = 3

#: called after every finished trial with (trials done, trials in all)
Progress = Callable[[int, int], None]
#: takes the percepts of a trial, and the hidden states with which it was answered
AddStates = Callable[[Sequence[Percept], Any], None]


class Runner:
    """Takes an agent through a session.

    Parameters
    ----------
    session : from :func:`..session.begin` or :func:`..session.reopen`
    agent : who takes the trials
    progress : called after every finished trial
    now : the wall clock, for the measured column ``started_at``
    say : told what happens when the session is being stopped
    pool : who takes the parts of a large session; this process when not given
    retry_failed : whether trials that failed are asked for again
    stays : whether the agent stays when the session is over: whoever has made it closes it
    """

    def __init__(
        self,
        session: Session,
        agent: Agent,
        progress: Progress | None = None,
        now: Callable[[], str] = utc_now,
        say: Callable[[str], None] | None = None,
        pool: WorkerPool | None = None,
        retry_failed: bool = False,
        stays: bool = False,
    ) -> None:
        self.session, self.agent, self.now = session, agent, now
        self._retry_failed, self._stays = retry_failed, stays
        self.pool: WorkerPool = pool or SerialPool()
        self.say: Callable[[str], None] = say or (lambda sentence: None)
        self.progress: Progress = progress or (lambda done, total: None)
        self._window = agent if isinstance(agent, WindowAgent) else None
        self._batches = agent if isinstance(agent, BatchAgent) else None
        self._concurrent = agent if isinstance(agent, ConcurrentAgent) else None
        self._under_way = self._together = 0
        self._apparatus_noted = False
        self._codes = session.trigger_codes
        self._staircase: Staircase | None = None
        self._state = SessionState.of((), ())
        self._done: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._count = 0
        self._sentences: Mapping[str, Sentences] = questions_of(session.info)
        self._apart = apart_for(agent, session.paradigm, session.info["generator"], session.seed, session.may_come) if self._concurrent is not None else None
        self._changed = changed_constants(agent, session.info, session.folder)

    @property
    def span(self) -> Mapping[str, Any] | None:
        """The result of an adaptive session (:meth:`.staircase.Staircase.summary`) after it has run; None for others."""
        return None if self._staircase is None else self._staircase.summary()

    def run(self) -> None:
        """Run (or go on with) the session until every planned trial has finished or failed, and write the response table.

        Raises
        ------
        SpanLabError
            what an agent or the disk reports, and when another process is running the session; everything up to the last finished trial is safe then.
        KeyboardInterrupt
            when Ctrl-C has stopped it: pressed once, after an agent that is asked over a network has finished and kept what was under way.
        """
        self._ready()
        if self._concurrent is not None:
            self._concurrent.recorded_in(self.session.folder, self.say)
        with only_writer(self.session.folder), speak_as_recorded(self.session.info):
            events, lines = read_events(self.session.folder), read_transcript(self.session.folder)
            self._state = state = SessionState.of(events, lines, self._concurrent is not None and self._concurrent.remembers)
            self._done, self._failed, self._attempts = {**state.finished}, {} if self._retry_failed else {**state.failed}, {**state.attempts}
            self._staircase = staircase_of(self.session.info, events)
            self.recorder = Recorder(self.session.folder)
            self._record_all(self._resumed(events, lines) if events else {"event": "session_start", "at": self.now()})
            if PARTS not in self.session.info:
                write_responses(self.session.folder)

    def _resumed(self, events: Sequence[Event], lines: Sequence[Mapping[str, Any]]) -> Resumed:
        """The event with which the session is resumed; differences from its beginning are reported."""
        event: Resumed = {"event": "resumed"}
        if lines:
            event["paid_twice_at_most"] = paid_twice_at_most(lines)
        note_changes(self.agent, self._changed, event, lambda what: self.say(f"{self.session.name} goes on with {what}"))
        if without_sentences(self.session.info):
            self._sentences = recovered(self.session.info, self.session.paradigm, self.session.plan, self.agent, events, lines)
            whose = "questions are those of its transcripts" if self._sentences else "the instructions are the recorded ones"
            self.say(f"the record of {self.session.name} does not keep what is said beside the instructions: {whose}, and all else is as it is said now")
            event["sentences"] = "of the transcripts" if self._sentences else "of now"
        event["at"] = self.now()
        return event

    def _ready(self) -> None:
        self.agent.ready()

    def _record_all(self, beginning: SessionStart | Resumed) -> None:
        try:
            self.recorder.write(beginning)
            self.recorder.commit()
            run_to_end(interruptible(self.agent, self._run(), self.say))
            self.recorder.write({"event": "session_end", "at": self.now()})
            self.recorder.commit()
        except (Exception, KeyboardInterrupt) as error:
            # Without a display or a keyboard all sorts of things fail; what has happened is what counts.
            failure = self.agent.failure()
            self._note_end(fault := SpanLabError(failure) if failure else error)
            raise fault from error.__cause__
        finally:
            self.recorder.close()
            if not self._stays:
                self.agent.close()

    def _note_end(self, error: BaseException) -> None:
        try:
            message = str(error) if isinstance(error, SpanLabError) else type(error).__name__
            self.recorder.write({"event": "interrupted", "at": self.now(), "why": message})
            self.recorder.commit()
        except SpanLabError:
            pass  # the disk itself is the trouble, and the first error says so

    async def _run(self) -> None:
        try:
            try:
                await self._take_all()
            finally:
                self._note_apparatus()
        finally:
            await self.agent.teardown()

    async def _take_all(self) -> None:
        if PARTS in self.session.info:
            await self._take_parts()
            return
        flow = None if self._window is None else ParticipantFlow(self.session, self._window, self.recorder.write)
        await self.agent.setup(TrialJournal(self.recorder, NO_TRIAL, self._state.preparations + 1, self._state.replies.get(NO_TRIAL, [])))
        if self._window is not None:
            self._window.concerns(self._to_come())
        if flow is not None:
            flow.welcome(flow.first())
            if self.session.info["practice"]:
                await flow.practise(self._take_unseen, self._state.scores, self._state.decisions)
            flow.begin_main()
        await self._before_trials()
        pending = [self._unseen(planned) for planned in self.session.plan if trial_key(False, planned.trial) not in {**self._done, **self._failed}]
        self._count = len(self.session.plan) - len(pending)
        left = False
        if self._window is not None and flow is not None and "quiz" in self.session.info:
            left = (await take_quiz(self.session, flow, self._take_unseen, self._state.scores, self._state.events, self._tell)).left
        elif self._staircase is None and self._batches is not None:
            await self._in_batches(self._batches, pending)
        elif self._staircase is None and self._concurrent is not None:
            await several(self._concurrent, in_conversations(self._concurrent, pending, self._state.failed), self._take_conversation)
        else:
            await self._one_by_one(pending, flow)
        if self._staircase is not None:
            self.recorder.write({"event": "span", **self._staircase.summary()})
        if self._window is not None:
            self._window.over()
        if flow is not None:
            flow.thanks(left)

    async def _before_trials(self) -> None:
        """Practice of a machine, and what it remembers of an earlier part of the session."""
        agent = self._concurrent
        if agent is None:
            return
        if agent.practises and self._apart is not None:
            await MachinePractice(self.session, agent, self._state.practised, self.recorder.write).lead(self.session, self._practise, self._apart)
        if agent.remembers:
            planned = {trial_key(False, one.trial): one for one in self.session.plan}
            for key in self._done:
                if key in planned:
                    await self._recall(planned[key])

    async def _practise(self, planned: PlannedTrial) -> list[Judged]:
        """Take a practice trial, or go through it again."""
        return await self._recall(planned) if trial_key(True, planned.trial) in self._done else await self.take(planned)

    async def _recall(self, planned: PlannedTrial) -> list[Judged]:
        """Go through a trial again that an earlier part of the session has finished."""
        start = self._state.starts[key := trial_key(planned.practice, planned.trial)]
        trial = self.compile(planned := replace(planned, levels=start["levels"], seed=start["seed"], varies=""))
        return await walk(self.agent, self.context(planned, trial), self._steps(trial), Recalled(key, self._state.replies.get(key, [])))

    def _to_come(self) -> list[Percept]:
        """What every kind of trial of the session shows."""
        kinds: list[PlannedTrial] = []
        for planned in self.session.plan:
            if planned.draws is not None or all(planned.levels != other.levels for other in kinds):
                kinds.append(planned)
        return [percept for planned in kinds for step in self._steps(self.compile(planned)) for percept in step.percepts]

    async def _one_by_one(self, pending: Sequence[PlannedTrial], flow: ParticipantFlow | None) -> None:
        before: PlannedTrial | None = None
        for planned in pending:
            staircase = self._staircase
            if staircase is not None:
                if staircase.over:
                    break
                planned = replace(planned, levels={**planned.levels, planned.varies: staircase.level})
            self._ready()
            if flow is not None:
                flow.between(planned, before, self._count, len(self.session.plan))
            judged = await self._taken(planned, planned.interval_ms)
            if judged is None:
                self._tell()
                continue
            scores = [score for verdict in judged for score in verdict.scores]
            if staircase is not None:
                staircase.take(staircase.rule.correct(scores))
            if flow is not None:
                flow.after(scores)
            before = planned
            self._tell()

    def _tell(self) -> None:
        self._count += 1
        self.progress(self._count, len(self.session.plan))

    def _note_apparatus(self) -> None:
        if values := for_record("the apparatus", self.agent, self.agent.apparatus()):
            write_info(self.session.folder, {**self.session.info, "apparatus": values})

    async def _take_conversation(self, trials: Sequence[PlannedTrial]) -> None:
        for planned in trials:
            await self._taken(planned)
            self._tell()

    async def _taken(self, planned: PlannedTrial, interval_ms: float | None = None) -> list[Judged] | None:
        """Take one trial; None when it failed, which is then on record."""
        self._under_way += 1
        self._together = max(self._together, self._under_way)
        try:
            return await self.take(planned, interval_ms)
        except Unobtainable as reason:
            await self._fail(planned, reason)
            return None
        finally:
            self._under_way -= 1

    async def _fail(self, planned: PlannedTrial, reason: Unobtainable) -> None:
        """Record that a trial failed.

        Raises
        ------
        SpanLabError
            when too many cannot.
        """
        key = trial_key(planned.practice, planned.trial)
        self.recorder.write({"event": "trial_failed", "trial": key, "attempt": self._attempts[key], "why": str(reason)})
        await self.recorder.committed()
        self._failed[key] = str(reason)
        failed, count = len(self._failed), len(self.session.plan)
        if failed > reason.bearable * count or (failed >= max(_NONE_AT_ALL, self._together) and not self._done):
            raise SpanLabError(
                f"{failed} of {count} trials failed, the last one because {reason}. That is too many to go on (--fail-on-error {reason.bearable:g}); "
                "a higher share goes on without them, --retry-failed asks for them again"
            )

    async def _in_batches(self, agent: BatchAgent, pending: Sequence[PlannedTrial]) -> None:
        for start in range(0, len(pending), agent.batch_size):
            batch = pending[start : start + agent.batch_size]
            remaining_trials = self._take_together(agent, batch)
            self.recorder.commit()
            self._first_is_over()
            for planned in batch:
                if any(planned is remaining for remaining in remaining_trials):
                    await self.take(planned)
                self._tell()
            await asyncio.sleep(0)

    def _take_together(self, agent: BatchAgent, planned: Sequence[PlannedTrial], add_states: AddStates | None = None) -> list[PlannedTrial]:
        """Take trials with an agent that answers many at once. Feedback depends on the answers, so trials with feedback must be stepped through: they are left
        out, and come back."""
        compiled = [(trial_planned, self.compile(trial_planned)) for trial_planned in planned]
        together = [(trial_planned, trial) for trial_planned, trial in compiled if all(step.feedback is None for step in trial.steps)]
        contexts = [self.context(trial_planned, trial) for trial_planned, trial in together]
        percepts = [[step.percept for step in self._steps(trial)] for _, trial in together]
        for (trial_planned, trial), responses in zip(together, answers_of(agent, contexts, percepts, add_states), strict=True):
            key, attempt = self._start(trial_planned, trial)
            log = TrialLog(self.recorder, key, attempt)
            for step, response in zip(self._steps(trial), responses, strict=True):
                log.step(step, step.percept, response)
            log.flush()
            self._finish(key, attempt, len(responses))
        return [trial_planned for trial_planned, trial in compiled if any(step.feedback is not None for step in trial.steps)]

    async def _take_parts(self) -> None:
        session = self.session
        info = {name: value for name, value in session.info.items() if name != "plan"}
        worker = partial(ShardWorker, info, self.agent, self.now, _apart)
        await take_parts(session.folder, session.info, session.plan, self.pool, worker, self.recorder.write, self.now, self.progress)

    def take_apart(self, planned: Sequence[PlannedTrial], recorder: Recorder, add_states: AddStates | None = None) -> list[PlannedTrial]:
        """Take trials apart from the session's folder, with an agent that answers many at once; trials with feedback are left out, and come back."""
        assert self._batches is not None
        self.recorder = recorder
        return self._take_together(self._batches, planned, add_states)

    def _unseen(self, planned: PlannedTrial) -> PlannedTrial:
        """The trial; for people its replacement, where an earlier attempt at it was cut short: who has seen half of it is not to see it again."""
        attempts = self._attempts.get(trial_key(planned.practice, planned.trial), 0)
        if self._window is None or not attempts:
            return planned
        return replacement(self.session.paradigm, planned, self.session.seed, attempts + 1, self.session.design, self.session.info["generator"])

    async def _take_unseen(self, planned: PlannedTrial, interval_ms: float) -> list[Judged]:
        """Take a trial, or its replacement."""
        return await self.take(self._unseen(planned), interval_ms)

    def compile(self, planned: PlannedTrial) -> Trial:
        """Compile a planned trial."""
        return planned.compile(self.session.paradigm, self.session.info["generator"])

    def context(self, planned: PlannedTrial, trial: Trial) -> TrialContext:
        """The context that the agent gets before this trial."""
        seed = int(digest(["agent", self.session.seed, planned.practice, planned.trial], length=12), 16)
        context = brief(self.agent, self.session.paradigm, self.session.info["language"], trial, seed, self.session.answer_keys, self._sentences)
        context = replace(context, block=planned.block, practice=planned.practice)
        return with_examples(context, self.agent, self._apart, trial.levels)

    def _steps(self, trial: Trial) -> list[Step]:
        return [step for step in trial.steps if self._window is not None or step.percept.model_step]

    def _start(self, planned: PlannedTrial, trial: Trial) -> tuple[str, int]:
        key = trial_key(planned.practice, planned.trial)
        attempt = self._attempts.get(key, 0) + 1
        self._attempts[key] = attempt
        paired: Paired = {"paired": planned.paired} if planned.paired else {}
        self.recorder.write(
            {
                "event": "trial_start",
                "trial": key,
                "attempt": attempt,
                "block": planned.block,
                "practice": planned.practice,
                "levels": dict(trial.levels),
                "seed": trial.seed,
                "trial_id": trial.trial_id,
                **paired,
                "set_size": trial.set_size,
                "list_length": trial.list_length,
                "started_at": self.now(),
            }
        )
        if self._window is not None:
            self.recorder.sync()  # what was seen is known after any end, so that it is not shown again
        return key, attempt

    def _finish(self, key: str, attempt: int, steps: int) -> None:
        self.recorder.write({"event": "trial_end", "trial": key, "attempt": attempt, "steps": steps})
        self._done[key] = attempt

    def _first_is_over(self) -> None:
        """After the first trial it is known what the agent really works with; a kill must not lose that."""
        if not self._apparatus_noted:
            self._apparatus_noted = True
            self._note_apparatus()

    def _made_ready(self, planned: PlannedTrial) -> tuple[Trial, list[Step], Episode]:
        """A trial, its steps and an episode for it, with all done that takes time."""
        trial = self.compile(planned)
        steps = self._steps(trial)
        episode = check_episode(self.agent, self.agent.start(self.context(planned, trial)))
        if (at_window := self._at_window(episode)) is not None:
            at_window.prepare([display for step in steps for percept in step.percepts for display in percept.displays])
            at_window.expect([step.percepts for step in steps])
        return trial, steps, episode

    def _at_window(self, episode: Episode) -> WindowEpisode | None:
        """The episode, where its agent sits at a window; machines are told nothing of what comes, nor what became of an answer."""
        return episode if self._window is not None and isinstance(episode, WindowEpisode) else None

    async def take(self, planned: PlannedTrial, interval_ms: float | None = None) -> list[Judged]:
        """Take one trial, step by step, and record it; what was answered comes back. One that is cut off is replaced, until one is whole."""
        while (judged := await self._attempt(planned, interval_ms)) is None:
            planned = self._unseen(planned)
        return judged

    async def _attempt(self, planned: PlannedTrial, interval_ms: float | None) -> list[Judged] | None:
        """One attempt at a trial; None when it was cut off. It is made ready within the interval before it, where the agent rests between trials."""
        ready: list[tuple[Trial, list[Step], Episode]] = []
        if interval_ms is not None and self._window is not None:
            self._window.rest(interval_ms, lambda: ready.append(self._made_ready(planned)))
        else:
            ready.append(self._made_ready(planned))
        ((trial, steps, episode),) = ready
        at_window = self._at_window(episode)
        if self._state.replies.get(key := trial_key(planned.practice, planned.trial)) and self._state.trial_ids.get(key, trial.trial_id) != trial.trial_id:
            raise SpanLabError(f"the saved replies of trial {key} belong to another trial: {self._state.trial_ids[key]} then, {trial.trial_id} now")
        key, attempt = self._start(planned, trial)
        journal = TrialJournal(self.recorder, key, attempt, self._state.replies.get(key, []))
        episode.attach(journal)
        if at_window is not None and self._codes is not None and (self._codes.practice or not planned.practice):
            at_window.mark(self._codes, journal.trigger)
        log, block = TrialLog(self.recorder, key, attempt), each_asks(steps)
        judged: list[Judged] = []
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if at_window is not None:
                # What does not depend on the answer may be put on the very frame on which it is due.
                at_window.announce_next(following.percept if following is not None and following.feedback is None else None, following is None)
            percept = step.shown_after(last_verdict(judged) or "missed")
            try:
                response = await (episode.step(percept, step.truth) if self.agent.kind.oracle else episode.step(percept))
            except TrialCut as cut:
                log.cut(step, percept, episode, cut.why)
                episode.cut()
                log.flush()
                await self.recorder.committed()
                return None
            verdict = last_verdict(judged) if step.feedback is not None else None
            judgement = log.step(step, percept, response, episode, verdict)
            if judgement is not None:
                judged.append(judgement)
                if at_window is not None and judgement.verdict is not None:
                    at_window.judged(judgement.verdict)
            if block and following is not None and self._window is not None:
                try:
                    self._window.still_ready()
                except SpanLabError:
                    episode.cut()
                    log.flush()
                    raise
        episode.finish()
        log.flush()
        self._finish(key, attempt, len(steps))
        await self.recorder.committed()
        self._first_is_over()
        await asyncio.sleep(0)  # Ctrl-C is noticed here, also when an agent never waits for anything
        return judged


def _apart(info: Mapping[str, Any], agent: Agent, now: Callable[[], str]) -> Runner:
    """A runner for trials that are taken apart from the session's folder."""
    return Runner(Session(Path(), stored_paradigm(info), (), info), agent, now=now)
