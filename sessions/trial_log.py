"""The log of a trial: for each step what was shown, what was answered, once that is checked, and its score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast, get_args

from ..agents.base import Episode, Outcome, Response
from ..agents.recorded import RecordedEpisode
from ..agents.window import WindowEpisode
from ..core.errors import SpanLabError
from ..paradigms import Ask, ItemScore, Percept, Step, Truth, Verdict
from ..paradigms.score_check import checked_scores
from .record.events import AskedStep, Event, Feedback, Notes, Score, ShownDisplay, ShownStep, TrialCutOff
from .record.marking import fields_of
from .session import FAULT, found

#: what only some kinds of responses have
_NOT_OF_ALL_KINDS = frozenset(field.name for field in fields_of(Score) if not field.required)


#: takes an event of the record
WriteEvent = Callable[[Event], None]


def check_response(percept: Percept, response: object, number: int, reported: bool = False) -> Response | None:
    """Check what an agent returned: an allowed response where a step asks, else nothing.

    Parameters
    ----------
    number : of the step in its trial, from 1
    reported : whether the reaction time is a person's, which is recorded as reported, even if it
        cannot be true

    Raises
    ------
    SpanLabError
        with what it gave, and what was expected.
    """
    if response is not None and not isinstance(response, Response):
        such = f", such as Response({response!r})," if isinstance(response, str | int | tuple) else ","
        description = found(cast("object", response))
        raise SpanLabError(
            f"the agent gave {description} in step {number}; expected a Response{such} or None where nothing is asked:"
            f" {FAULT}"
        )
    if (response is None) != (percept.ask is None):
        raise SpanLabError(
            f"the agent {'did not answer' if response is None else 'answered unasked'} in step {number}; {FAULT}"
        )
    if response is None:
        return None
    if response.outcome not in get_args(Outcome):
        raise SpanLabError(
            f"the agent gave the outcome {found(response.outcome)} in step {number}; there are"
            f" {', '.join(get_args(Outcome))}: {FAULT}"
        )
    notes, rt_ms = cast("object", response.notes), cast("object", response.rt_ms)
    if not isinstance(notes, Mapping) or not (rt_ms is None or isinstance(rt_ms, int | float)):
        raise SpanLabError(
            f"the agent gave notes {found(response.notes)} and the reaction time {found(response.rt_ms)} in step"
            f" {number}; expected a mapping, and a number of ms or None: {FAULT}"
        )
    if rt_ms is not None and not 0 <= rt_ms < math.inf and not reported:
        raise SpanLabError(
            f"the agent gave the reaction time {found(rt_ms)} in step {number}; expected a number of ms from the onset"
            f" of the question on, or None: {FAULT}"
        )
    value, kind = response.value, percept.ask and percept.ask.kind
    # of plain Python: JSON has no numbers of numpy
    plain = type(value) in (int, str, tuple)
    if response.outcome == "answered" and kind is not None and not (plain and kind.allows(value)):
        raise SpanLabError(
            f"the agent answered {found(value)} in step {number}; allowed is"
            f" {kind.allowed_values()} (outcome omitted where nothing was answered): {FAULT}"
        )
    return response


@dataclass(frozen=True, slots=True)
class Judged:
    """A response with its verdict and its scores; no verdict where there is no right answer."""

    response: Response
    verdict: Verdict | None
    scores: tuple[Score, ...]


def judge(ask: Ask, truth: Truth, response: Response) -> Judged:
    """Score one response. Silence may stand for an answer; one that is not allowed, as a transcript may have,
    is invalid; the verdict is right only when every item is."""
    value, outcome = response.value, response.outcome
    if outcome == "omitted" and ask.no_answer_means is not None:
        value, outcome = ask.no_answer_means, "answered"
    elif outcome == "answered" and not ask.kind.allows(value):
        value, outcome = None, "invalid"
    elif outcome != "answered":
        value = None
    right = truth.answer if ask.scored else None
    given = [ask.kind.unscored(value)] if right is None else ask.kind.score(value, right)
    if ask.kind.is_foreign():
        checked_scores(ask.kind, given, right is not None or (ask.kind.scored and ask.scored))
    scores = tuple(map(_score, given))
    verdict: Verdict | None = None
    if right is not None and outcome == "omitted":
        verdict = "missed"
    elif right is not None:
        verdict = "right" if all(score["correct"] for score in scores) else "wrong"
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
    """Writes one line per step, once the next step is noted: only then is it known how long the last
    display was shown."""

    def __init__(self, write: WriteEvent, key: str, attempt: int) -> None:
        self._write, self.key, self.attempt = write, key, attempt
        self._asked = 0
        self._pending: (
            tuple[ShownStep | AskedStep | TrialCutOff, Sequence[Any] | None, Mapping[str, Any] | None] | None
        ) = None  # an event that waits for its end, with what the episode shows and notes until then

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
        """Note a step, and judge its answer.

        Parameters
        ----------
        episode : None in batches, in which nothing is shown
        feedback : the verdict that a feedback step showed
        """
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
