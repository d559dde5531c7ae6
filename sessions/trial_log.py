"""The log of a session's trials: for each step what was shown, what was answered, and its score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from ..agents.base import Episode, Response
from ..agents.recorded import RecordedEpisode
from ..agents.window import WindowEpisode
from ..paradigms import Ask, ItemScore, Percept, PlannedTrial, Step, Trial, Truth, Verdict
from ..paradigms.score_check import checked_scores
from .agent_checks import check_response
from .record.events import AskedStep, Event, Feedback, Notes, Score, ShownDisplay, ShownStep, TrialCutOff
from .record.marking import fields_of
from .record.reader import ResponseTable, SessionState, response_rows, response_table, trial_key

#: takes an event of the record
WriteEvent = Callable[[Event], None]
#: what only some kinds of responses have
_NOT_OF_ALL_KINDS = frozenset(field.name for field in fields_of(Score) if not field.required)


@dataclass(frozen=True, slots=True)
class Judged:
    """A response with its verdict and scores by the rules of its question; there is no verdict
    where there is no right answer."""

    response: Response
    verdict: Verdict | None
    scores: tuple[Score, ...]


def each_asks(steps: Sequence[Step]) -> bool:
    """Return whether a trial is a block of questions, one with each item, as in N-back: then there
    is nothing that would have to be finished first."""
    asks = [step.percept.ask is not None for step in steps if step.percept.model_step and step.feedback is None]
    return len(asks) > 1 and all(asks)


def judge(ask: Ask, truth: Truth, response: Response) -> Judged:
    """Score one response. No response may mean an answer; an answer that is not allowed is invalid;
    the verdict is right only when every item is."""
    value, outcome = response.value, response.outcome
    if outcome == "omitted" and ask.no_answer_means is not None:
        value, outcome = ask.no_answer_means, "answered"
    elif outcome == "answered" and not ask.kind.allows(value):
        value, outcome = None, "invalid"
    elif outcome != "answered":
        value = None
    if scored := truth.answer is not None and ask.scored:
        given = ask.kind.score(value, truth.answer)
    else:
        given = [ask.kind.unscored(value)]
    if ask.kind.is_foreign():
        checked_scores(ask.kind, given, scored or (ask.kind.scored and ask.scored))
    scores = tuple(map(_score, given))
    verdict: Verdict | None = None
    if scored:
        verdict = "right" if all(score["correct"] for score in scores) else "wrong"
    if scored and outcome == "omitted":
        verdict = "missed"
    return Judged(Response(value, response.rt_ms, response.raw, outcome, response.notes), verdict, scores)


def _score(score: ItemScore) -> Score:
    """A score for the record; what its kind of response does not have is left out."""
    values = {**asdict(score), "more": dict(score.more) or None}
    return cast(
        Score, {name: value for name, value in values.items() if value is not None or name not in _NOT_OF_ALL_KINDS}
    )


def last_verdict(judged: Sequence[Judged]) -> Verdict | None:
    """The verdict on the last answer that could be right or wrong; None where there was none."""
    return next((answer.verdict for answer in reversed(judged) if answer.verdict is not None), None)


class TrialLog:
    """Writes one line per step once the next step has begun, because only then it is known how long
    the last display was shown."""

    def __init__(self, write: WriteEvent, key: str, attempt: int) -> None:
        self._write, self.key, self.attempt = write, key, attempt
        self._asked = 0
        self._pending: (
            tuple[ShownStep | AskedStep | TrialCutOff, Sequence[Any] | None, Mapping[str, Any] | None] | None
        ) = None

    def flush(self) -> None:
        """Write the last step."""
        if self._pending is not None:
            event, shown, notes = self._pending
            if shown is not None:
                event["shown"] = [cast(ShownDisplay, asdict(display)) for display in shown]
            if notes:
                event["happened"] = dict(notes)
            self._write(event)
            self._pending = None

    def cut(self, step: Step, percept: Percept, episode: Episode, why: str) -> None:
        """Note the step within which the trial was cut off."""
        self.flush()
        cut: TrialCutOff = {
            "event": "trial_cut",
            "trial": self.key,
            "attempt": self.attempt,
            "why": why,
            "step": step.index + 1,
            "phase": percept.phase,
        }
        self._pending = (cut, episode.shown(), episode.notes())

    def step(
        self,
        step: Step,
        percept: Percept,
        response: Response | None,
        episode: Episode | None = None,
        feedback: Verdict | None = None,
    ) -> Judged | None:
        """Note a step; what the episode's ``shown`` and ``notes`` hold is completed until the next
        one."""
        self.flush()
        reported = isinstance(episode, WindowEpisode | RecordedEpisode)
        response = check_response(percept, response, step.index + 1, reported)
        fed: Feedback = {} if feedback is None else {"feedback": feedback}
        plain: ShownStep = {
            "event": "step",
            "trial": self.key,
            "attempt": self.attempt,
            "step": step.index + 1,
            "phase": percept.phase,
            "planned_ms": percept.displays[0].ms,
            **fed,
        }
        event: ShownStep | AskedStep = plain
        judged = None
        if percept.ask is not None and response is not None:
            self._asked += 1
            judged = judge(percept.ask, step.truth, response)
            answered = judged.response
            event = {
                **plain,
                "ask": self._asked,
                "outcome": answered.outcome,
                "value": answered.value,
                "rt_ms": answered.rt_ms,
                "raw": answered.raw,
                "notes": cast(Notes, dict(answered.notes)),
                "chance": step.truth.chance,
                "blind": step.truth.blind,
                "record": dict(step.truth.record),
                "scores": list(judged.scores),
            }
        self._pending = (event, None, None) if episode is None else (event, episode.shown(), episode.notes())
        return judged


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


#: the reaction time of every rehearsed answer
_RT_MS = 500.0


def rehearsed(trials: Iterable[Trial]) -> ResponseTable:
    """The response table that these trials would give.

    Parameters
    ----------
    trials : of one paradigm, steps for people and machines alike
    """
    events: list[Event] = []
    log, paradigm = SessionLog(events.append, lambda: ""), ""
    for number, trial in enumerate(trials, start=1):
        paradigm = trial.paradigm
        trial_log = log.start(PlannedTrial(1, number, trial.levels, trial.seed), trial)
        for step in trial.steps:
            ask = step.percept.ask
            value = None
            if ask is not None:
                value = step.truth.answer if ask.kind.scored else ask.kind.unscored_answer(number % 2 == 0)
            trial_log.step(step, step.percept, None if ask is None else Response(value, _RT_MS, {}, "answered", {}))
        log.finish(trial_log, len(trial.steps))
    session = {"session": "rehearsed", "participant": "", "agent_kind": "ideal", "agent": "ideal", "paradigm": paradigm}
    return response_table(response_rows(session, events))
