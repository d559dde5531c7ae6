"""Checks of the scores of response kinds, which may come from other packages: what a record can
keep, and that the right answer is scored as right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from ..core.errors import SpanLabError, shortened
from .responses import Answer, ItemScore, ResponseKind, ScoreField
from .trial import Trial

_PLAIN: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("answer", "correct_answer"), (int, str, float)),
    **dict.fromkeys(("serial_position", "output_position", "edit_distance", "scale_from", "scale_to"), (int,)),
    **dict.fromkeys(("error", "period", "tolerance"), (int, float)),
}
_SHARED = frozenset(each.name for each in fields(ItemScore))


def checked_scores(kind: ResponseKind, scores: Any, scored: bool) -> tuple[ItemScore, ...]:
    """The scores that a kind gave, when a record can keep them.

    Types are those of plain Python: a number or a truth value of numpy's is none of JSON's, and 1
    is not True.

    Raises
    ------
    SpanLabError
        naming the kind, what it gave, and what was expected.
    """
    if isinstance(scores, str) or not isinstance(scores, Sequence) or not scores:
        raise _fault(kind, f"score() gave {_shown(scores)}; expected a list with an ItemScore for each item")
    for score in cast("Sequence[object]", scores):
        if type(score) is not ItemScore:
            hint = (
                ": values of its own go into 'more', and are declared in score_fields"
                if isinstance(score, ItemScore)
                else ""
            )
            raise _fault(kind, f"score() gave {_shown(score)}; expected an ItemScore{hint}")
        _check(kind, score, scored)
    return tuple(cast("Sequence[ItemScore]", scores))


def _check(kind: ResponseKind, score: ItemScore, scored: bool) -> None:
    if not (type(score.correct) is bool if scored else score.correct is None):
        expected = "True or False" if scored else "None, since there is no right answer"
        raise _fault(kind, f"a score has correct = {_shown(score.correct)}; expected {expected}")
    for name, types in _TYPES.items():
        _check_value(kind, name, getattr(score, name), types)
    if not isinstance(score.more, Mapping):
        raise _fault(kind, f"a score has more = {_shown(score.more)}; expected a mapping of names to values")
    for name, value in score.more.items():
        if name not in kind.score_fields:
            raise _fault(
                kind,
                f"a score has '{name}', which score_fields does not declare (it declares"
                f" {', '.join(kind.score_fields) or 'nothing'})",
            )
        _check_value(kind, name, value, _PLAIN[kind.score_fields[name].type])


def _check_value(kind: ResponseKind, name: str, value: object, types: tuple[type, ...]) -> None:
    finite = not isinstance(value, float) or math.isfinite(value)
    if value is not None and (type(value) not in types or not finite):
        expected = " or ".join(
            (
                "a finite number"
                if each is float
                else {int: "a whole number", str: "a string", bool: "True or False"}[each]
            )
            for each in types
        )
        raise _fault(kind, f"a score has {name} = {_shown(value)}; expected {expected}, or None")


def check_fields(kind: type[ResponseKind]) -> None:
    """Check what a kind declares of its scores.

    Raises
    ------
    SpanLabError
        for a name that every score has or that is no name, and for a field that is no
        :class:`ScoreField` with a meaning.
    """
    declared: object = kind.score_fields
    if not isinstance(declared, Mapping):
        raise _fault(kind, f"score_fields is {_shown(declared)}; expected a mapping of names to ScoreField")
    for name, each in cast("Mapping[object, object]", declared).items():
        if not isinstance(name, str) or not name.isidentifier() or not name.islower() or name in _SHARED:
            raise _fault(
                kind, f"score_fields declares {_shown(name)}; expected a name in lower case that no score has already"
            )
        if not isinstance(each, ScoreField) or each.type not in _PLAIN or not str(each.meaning).strip():
            raise _fault(
                kind,
                f"score_fields declares '{name}' as {_shown(each)}; expected ScoreField(type, meaning) with a type of"
                f" {', '.join(_PLAIN)}",
            )


def probe_scores(kind: ResponseKind, correct: Answer | None) -> None:
    """Score no answer and the right answer to a question before anybody is asked it; where there is
    no right answer, make the rows of both.

    Raises
    ------
    SpanLabError
        when a record could not keep these scores, the right answer is not allowed or is scored as
        wrong, or no answer as right.
    """
    check_fields(type(kind))
    if correct is None:
        for answer in (_called(kind, "unscored_answer", None), None):
            checked_scores(kind, [_called(kind, "unscored", answer)], False)
        return
    if not _called(kind, "allows", correct):
        raise _fault(kind, f"it does not allow the right answer {_shown(correct)}")
    if not all(score.correct for score in checked_scores(kind, _called(kind, "score", correct, correct), True)):
        raise _fault(kind, f"it scores the right answer {_shown(correct)} as wrong")
    if all(score.correct for score in checked_scores(kind, _called(kind, "score", None, correct), True)):
        raise _fault(kind, f"it scores no answer as right where {_shown(correct)} is")


def probe_trial(trial: Trial) -> None:
    """Score no answer and the right one to each sort of question of a trial; see
    :func:`probe_scores`."""
    asked = {step.percept.ask.kind: step.truth.answer for step in trial.steps if step.percept.ask is not None}
    for kind, correct in asked.items():
        probe_scores(kind, correct)


def _called(kind: ResponseKind, method: str, *arguments: Any) -> Any:
    try:
        return getattr(kind, method)(*arguments)
    except SpanLabError:
        raise
    except Exception as error:
        raise _fault(
            kind, f"{method}({', '.join(map(repr, arguments))}) ended with {type(error).__name__}: {error}"
        ) from error


def _fault(kind: ResponseKind | type[ResponseKind], what: str) -> SpanLabError:
    return SpanLabError(f"the response kind '{kind.name}': {what}; this is a fault of that kind")


def _shown(value: object) -> str:
    kind = f"({type(value).__module__}.{type(value).__name__})"
    return f"{shortened(repr(value), 80)} {kind}".replace("(builtins.", "(")
