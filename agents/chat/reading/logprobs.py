"""The probabilities of the allowed answers, from those of the first token of a reply."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ....paradigms import ResponseKind
from ....paradigms.responses.wording import alike

#: How some servers write a space and a new line in front of a token.
_SPACES = "Ġ▁Ċ"


def answer_logprobs(kind: ResponseKind, first_logprobs: Mapping[str, float] | None) -> dict[str, float] | None:
    """The natural logarithm of the probability that a reply begins with each of the allowed
    answers.

    A token belongs to an answer when it is the answer, or the beginning of it, whatever the case,
    the space around it and the sort of dash, and no other answer begins like it; the probabilities
    of all tokens of an answer are added. (Where case alone tells two answers apart, it counts.) An
    answer that has no token in the list is left out: all that is known of it is that it is less
    probable than what is in the list. The reply may go on in any way: this is about its first
    token.

    Parameters
    ----------
    kind : what was asked
    first_logprobs : the logarithms of the probabilities of the first token, by token, as far as the
        server gives them

    Returns
    -------
    By answer as it is written. None when the server gave no probabilities, when the answers cannot
    be listed, or when a token could begin several of them.
    """
    answers = kind.written_answers()
    if first_logprobs is None or not answers:
        return None
    shares: dict[str, list[float]] = {}
    for token, logprob in ((token, one) for token, one in first_logprobs.items() if math.isfinite(one)):
        begun = _begun(token, answers)
        if len(begun) > 1:
            return None
        if begun:
            shares.setdefault(begun[0], []).append(logprob)
    return {answer: _sum(shares[answer]) for answer in answers if answer in shares}


def answer_probabilities(kind: ResponseKind, logprobs: Mapping[str, float] | None) -> dict[str, float] | None:
    """The probability of each allowed answer, given that the reply begins with one of them: they
    add up to 1.

    None unless :func:`answer_logprobs` knows all of them: among some of the answers, each would
    seem more probable than it is.
    """
    answers = kind.written_answers()
    if not logprobs or set(logprobs) != set(answers):
        return None
    most = max(logprobs.values())
    odds = {answer: math.exp(logprobs[answer] - most) for answer in answers}
    return {answer: odd / sum(odds.values()) for answer, odd in odds.items()}


def _begun(token: str, answers: tuple[str, ...]) -> list[str]:
    """The answers that a reply may give which begins with this token."""
    bare = token.strip().strip(_SPACES).strip()
    if not bare:
        return []
    begun = [answer for answer in answers if alike(answer).startswith(alike(bare))]
    as_written = [answer for answer in begun if answer.startswith(bare)]
    if len(as_written) == 1 and all(alike(answer) == alike(as_written[0]) for answer in begun):
        return as_written  # "A" is the answer A, where there is also an answer a
    return begun


def _sum(logprobs: list[float]) -> float:
    """The logarithm of the sum of probabilities; not more than 0, whatever servers round to."""
    most = max(logprobs)
    return min(0.0, most + math.log(sum(math.exp(logprob - most) for logprob in logprobs)))
