"""One trial, step by step: percepts go in, answers come out, each is judged, and all of it is logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from typing_extensions import override

from ..agents.base import Episode, Response, WindowAgent, WindowEpisode
from ..agents.interruptions import TrialCut
from ..core.errors import SpanLabError
from ..paradigms import Ask, ItemScore, Percept, Step, Truth, Verdict
from ..paradigms.score_check import checked_scores
from .agent_checks import check_response
from .record.events import AskedStep, Event, Feedback, Notes, Score, ShownDisplay, ShownStep, TrialCutOff
from .record.marking import fields_of

#: takes an event of the record
WriteEvent = Callable[[Event], None]
#: what only some kinds of responses have
_NOT_OF_ALL_KINDS = frozenset(field.name for field in fields_of(Score) if not field.required)


async def run_trial(
    steps: Sequence[Step], episode: Episode, log: TrialLog, cues: Cues, oracle: bool = False
) -> list[Judged]:
    """Take one trial and log every step.

    Parameters
    ----------
    steps : of the trial, those that the agent sees
    oracle : whether the agent also gets the truth

    Raises
    ------
    TrialCut
        when a step was cut off; it is logged.
    """
    judged: list[Judged] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        cues.before(following)
        percept = step.shown_after(last_verdict(judged) or "missed")
        try:
            response = await (episode.step(percept, step.truth) if oracle else episode.step(percept))
        except TrialCut as cut:
            log.cut(step, percept, episode, cut.why)
            episode.cut()
            log.flush()
            raise
        answer = log.step(step, percept, response, episode, last_verdict(judged) if step.feedback is not None else None)
        judged += [] if answer is None else [answer]
        try:
            cues.after(answer, following)
        except SpanLabError:
            episode.cut()
            log.flush()
            raise
    episode.finish()
    log.flush()
    return judged


class Cues:
    """Hooks of a trial besides its percepts; for machines they do nothing."""

    def before(self, following: Step | None) -> None:
        """Tell it, before a step, which one follows."""

    def after(self, answer: Judged | None, following: Step | None) -> None:
        """Tell it, after a step, what became of its answer."""


class WindowCues(Cues):
    """Hooks of a trial at a window: displays ahead of time, and verdicts for trigger codes.

    Parameters
    ----------
    steps : of the trial; in a block of questions the agent may stop between any two
    """

    def __init__(self, agent: WindowAgent, episode: WindowEpisode, steps: Sequence[Step]) -> None:
        self._agent, self._episode = agent, episode
        self._stops_between = each_asks(steps)

    @override
    def before(self, following: Step | None) -> None:
        # What does not depend on the answer may be put on the very frame on which it is due.
        self._episode.announce_next(
            following.percept if following is not None and following.feedback is None else None, following is None
        )

    @override
    def after(self, answer: Judged | None, following: Step | None) -> None:
        if answer is not None and answer.verdict is not None:
            self._episode.judged(answer.verdict)
        if self._stops_between and following is not None:
            self._agent.still_ready()


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
    if truth.answer is None:
        assert not ask.kind.scored, "only questions without a right answer have none"
        (unscored,) = checked_scores(ask.kind, [ask.kind.unscored(value)])
        return Judged(Response(value, response.rt_ms, response.raw, outcome, response.notes), None, (_score(unscored),))
    scores = tuple(_score(score) for score in checked_scores(ask.kind, ask.kind.score(value, truth.answer)))
    verdict: Verdict = "right" if all(score["correct"] for score in scores) else "wrong"
    if outcome == "omitted":
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
        response = check_response(percept, response, step.index + 1)
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
