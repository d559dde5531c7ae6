"""Feedback after a practice trial: what they remembered and how they decided, apart, and
each item of a list in the order in which they gave it.

People alone see this, and of practice trials alone, whose seeds are those of no other trial.
Machines are told what :func:`.result_of` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..core.locale import sentence
from ..paradigms import AnswerKeys, ResponseKind, Step
from ..paradigms.preview.example import ExampleDisplay, OwnMark, WorkedQuestion
from ..stimuli import Stimulus
from ..stimuli.kinds.plain import Blank
from .before_trials import Scores, items_of, result_of

#: a question, and the scores of what was answered
Answered = tuple[Step, Scores]


def feedback_on(
    steps: Sequence[Step], judged: Sequence[Scores], language: str, keys: AnswerKeys
) -> tuple[str, list[ExampleDisplay]]:
    """Return the sentences on a finished practice trial, and pictures of what was marked.

    Parameters
    ----------
    steps : of the trial
    judged : the scores of each of its answers
    keys : those of the session
    """
    answered = list(zip([step for step in steps if step.percept.ask is not None], judged, strict=False))
    decisions = [one for one in answered if _decides(one[0])]
    stored = (
        [one for one in answered if not _decides(one[0])] if decisions and len(decisions) < len(answered) else answered
    )
    total = result_of([scores for _, scores in stored], language)
    if stored is not answered:
        right = items_of([score for _, scores in stored for score in scores])
        apart = items_of([score for _, scores in decisions for score in scores])
        total = "\n\n".join(
            (
                sentence("session.remembered", language, right=sum(right), all=len(right)),
                sentence("session.decided", language, right=sum(apart), all=len(apart)),
            )
        )
    dials = [
        one for one in stored if one[0].percept.ask is not None and one[0].percept.ask.kind.surface().dial is not None
    ]
    told: list[str] = [_distances([scores for _, scores in dials], language) if len(dials) == len(stored) else total]
    pictures: list[ExampleDisplay] = []
    for step, scores in stored:
        assert step.percept.ask is not None
        kind = step.percept.ask.kind.with_keys(keys)
        ordered = kind.surface().ordered
        if ordered is not None and not ordered.joined:
            words, displays = _in_order(step, kind, scores, language)
            told.append(words)
            pictures += displays
        else:
            pictures += _marked(step, kind, scores)
    return "\n\n".join(filter(None, told)), pictures


def _decides(step: Step) -> bool:
    """Return whether a question needs no memory, as those between the items of complex spans."""
    return step.truth.record.get("set_size") == 0


def _in_order(step: Step, kind: ResponseKind, scores: Scores, language: str) -> tuple[str, list[ExampleDisplay]]:
    """Each item as it was given; places are drawn on their board, beside the right order."""
    ordered = kind.surface().ordered
    assert ordered is not None
    if all(score["correct"] for score in scores):
        return "", []
    if ordered.labels:
        return sentence(
            "session.own_order", language, items=" · ".join(_item(kind, score, language) for score in scores)
        ), []
    right = {
        score["correct_answer"]: number
        for number, score in enumerate(scores, start=1)
        if score["correct_answer"] is not None
    }
    marks: list[OwnMark] = []
    lines: list[str] = []
    for number, score in enumerate(scores, start=1):
        given = score["answer"]
        if given is None:
            continue
        verdict: Literal["right", "wrong", "elsewhere"] = (
            "right" if score["correct"] else "elsewhere" if given in right else "wrong"
        )
        marks.append(OwnMark(given, verdict, number))
        lines.append(sentence(f"session.place_{verdict}", language, n=number, right=right.get(given, "")))
    board = _board(step)
    displays = [ExampleDisplay(board, kind, marks=tuple(marks))] if marks else []
    if step.truth.answer is not None:
        displays.append(ExampleDisplay(board, kind, questions=(WorkedQuestion(kind, step.truth.answer),)))
    return " · ".join(lines), displays


def _item(kind: ResponseKind, score: Mapping[str, Any], language: str) -> str:
    given, right = score["answer"], score["correct_answer"]
    shown = sentence("session.nothing", language) if given is None else kind.label(given)
    if score["correct"]:
        return sentence("session.item_right", language, item=shown)
    if right is None:
        return sentence("session.item_extra", language, item=shown)
    return sentence("session.item_wrong", language, item=shown, right=kind.label(right))


def _marked(step: Step, kind: ResponseKind, scores: Scores) -> list[ExampleDisplay]:
    """Marks without an order: which of several were right, and what was missed; or the one on a
    dial, beside the right one."""
    surface, answer = kind.surface(), step.truth.answer
    if surface.dial is not None and answer is not None:
        marks = tuple(
            OwnMark(score["answer"], "right" if score["correct"] else "wrong")
            for score in scores
            if score["answer"] is not None
        )
        right = ExampleDisplay(_board(step), kind, questions=(WorkedQuestion(kind, answer),))
        return [*([ExampleDisplay(_board(step), kind, marks=marks)] if marks else []), right]
    if not surface.several or surface.ordered is not None:
        return []
    marks = tuple(_own(score) for score in scores)
    return [ExampleDisplay(_board(step), kind, marks=marks)] if marks else []


def _own(score: Mapping[str, Any]) -> OwnMark:
    """Return a mark without an order, or the place that should have been marked."""
    if score["answer"] is None:
        return OwnMark(score["correct_answer"], "missed")
    return OwnMark(score["answer"], "right" if score["correct"] else "wrong")


def _distances(judged: Sequence[Scores], language: str) -> str:
    """Say how far each answer on a dial was from the right one: nothing is called right that may be
    off by as much as the paradigm tolerates."""
    if len(judged) == 1:
        return _distance(judged[0], language)
    return " · ".join(_distance(scores, language, number) for number, scores in enumerate(judged, start=1))


def _distance(scores: Scores, language: str, number: int | None = None) -> str:
    error, of_several = scores[0]["error"], "" if number is None else "_number"
    if error is None:
        return (
            sentence("session.answer_wrong", language, n=number)
            if number is not None
            else result_of([scores], language)
        )
    n = "" if number is None else number
    if error == 0:
        return sentence(f"session.own_exact{of_several}", language, n=n)
    return sentence(f"session.own_off{of_several}", language, off=f"{abs(error):g}°", n=n)


def _board(step: Step) -> Stimulus:
    """Return what lay under the answer: the last display of the question."""
    return step.percept.displays[-1].stimulus if step.percept.displays else Blank.model_validate({})
