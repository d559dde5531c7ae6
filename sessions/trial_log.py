"""What is written of each step of a trial: what was shown, what was answered, and how that is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..agents.protocol import Response
from ..errors import SpanLabError
from ..paradigms import Ask, Percept, Step, Truth, Verdict
from .recorder import Recorder


@dataclass(frozen=True, slots=True)
class Judged:
    """A response after the rules of its question were applied to it."""

    response: Response
    verdict: Verdict
    scores: tuple[Mapping[str, Any], ...]


def judge(ask: Ask, truth: Truth, response: Response) -> Judged:
    """Score one response. Silence may mean an answer; an answer that is not allowed is invalid; the verdict is right only when every item is."""
    assert truth.answer is not None
    value, outcome = response.value, response.outcome
    if outcome == "omitted" and ask.no_answer_means is not None:
        value, outcome = ask.no_answer_means, "answered"
    elif outcome == "answered" and not ask.kind.allows(value):
        value, outcome = None, "invalid"
    elif outcome != "answered":
        value = None
    scores = tuple(asdict(score) for score in ask.kind.score(value, truth.answer))
    verdict: Verdict = "missed" if outcome == "omitted" else "right" if all(score["correct"] for score in scores) else "wrong"
    return Judged(Response(value, response.rt_ms, response.raw, outcome, response.notes), verdict, scores)


class TrialLog:
    """Writes one line a step, once the next step has begun: only then is it known how long the last display was really shown."""

    def __init__(self, recorder: Recorder, key: str, attempt: int) -> None:
        self._recorder, self._key, self._attempt = recorder, key, attempt
        self._asked = 0
        self._pending: tuple[dict[str, Any], Sequence[Any] | None, Mapping[str, Any] | None] | None = None

    def flush(self) -> None:
        """Write the last step."""
        if self._pending is not None:
            event, shown, notes = self._pending
            if shown is not None:
                event["shown"] = [asdict(one) for one in shown]
            if notes:
                event["happened"] = dict(notes)
            self._recorder.write(event)
            self._pending = None

    def cut(self, step: Step, percept: Percept, mind: Any, why: str) -> None:
        """Note the step within which the trial was cut off."""
        self.flush()
        of_trial = {"event": "trial_cut", "trial": self._key, "attempt": self._attempt, "why": why}
        self._pending = ({**of_trial, "step": step.index + 1, "phase": percept.phase}, mind.shown(), mind.notes())

    def step(self, step: Step, percept: Percept, response: Response | None, mind: Any = None, feedback: Verdict | None = None) -> Judged | None:
        """Note a step; what the mind's ``shown`` and ``notes`` hold is completed until the next one."""
        self.flush()
        if (response is None) != (percept.ask is None):
            raise SpanLabError(
                f"the agent {'did not answer' if response is None else 'answered unasked'} in step {step.index + 1}; this is a fault of the agent"
            )
        event: dict[str, Any] = {
            "event": "step",
            "trial": self._key,
            "attempt": self._attempt,
            "step": step.index + 1,
            "phase": percept.phase,
            "planned_ms": percept.displays[0].ms,
        }
        if feedback is not None:
            event["feedback"] = feedback
        judged = None
        if percept.ask is not None and response is not None:
            self._asked += 1
            judged = judge(percept.ask, step.truth, response)
            answered = judged.response
            event |= {
                "ask": self._asked,
                "outcome": answered.outcome,
                "value": answered.value,
                "rt_ms": answered.rt_ms,
                "raw": answered.raw,
                "notes": dict(answered.notes),
                "chance": step.truth.chance,
                "blind": step.truth.blind,
                "record": dict(step.truth.record),
                "scores": list(judged.scores),
            }
        self._pending = (event, mind.shown() if hasattr(mind, "shown") else None, mind.notes() if hasattr(mind, "notes") else None)
        return judged
