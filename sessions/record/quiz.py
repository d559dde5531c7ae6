"""The attempts at a quiz, from finished trials: whether its criterion was reached, and whether it
is over. A session that goes on counts the same attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .events import Event
from .session_info import QuizRule

#: what an assistant may decide about somebody who has not passed
AGAIN, GO_ON = "again", "go_on"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished attempt: ``right`` of ``items`` answers were right."""

    right: int
    items: int


@dataclass(frozen=True, slots=True)
class QuizState:
    """The progress of a quiz.

    Parameters
    ----------
    rule : from the record of the session
    trials : in one attempt
    attempts : those that are finished
    finished : trials of the attempt under way
    decided : what the assistant has decided, in order
    """

    rule: QuizRule
    trials: int
    attempts: tuple[Attempt, ...]
    finished: int
    decided: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True if the last attempt reached the criterion."""
        return bool(self.attempts) and self.reached(self.attempts[-1])

    def reached(self, attempt: Attempt) -> bool:
        """Return whether an attempt reached the criterion."""
        return bool(attempt.items) and attempt.right >= self.rule["pass"] * attempt.items - 1e-9

    @property
    def used_up(self) -> bool:
        """True if there is no further attempt."""
        return len(self.attempts) >= self.rule["attempts"] + self.decided.count(AGAIN)

    @property
    def undecided(self) -> bool:
        """True if an assistant has to decide how to continue."""
        return not self.over and self.used_up

    @property
    def over(self) -> bool:
        """True if it is over: passed, or not to be taken again."""
        return self.passed or (self.used_up and (self.rule["otherwise"] != "stop" or self.decided[-1:] == (GO_ON,)))

    @property
    def left(self) -> bool:
        """True if the participant leaves because of it."""
        return self.over and not self.passed and self.rule["otherwise"] == "leave"

    @property
    def trials_left(self) -> int:
        """Trials of this attempt that are left; where an assistant has to decide, as many as
        another attempt has."""
        return 0 if self.over else self.trials - self.finished

    def describe(self) -> str:
        """The state in words; empty before the first attempt is finished."""
        if not self.attempts:
            return ""
        last, number = self.attempts[-1], len(self.attempts)
        how = f"{last.right} of {last.items} right"
        if number > 1 or self.rule["attempts"] > 1:
            how += f" in attempt {number}"
        if self.passed:
            return f"quiz passed ({how})"
        if self.left:
            return f"quiz not passed, left ({how})"
        if self.over:
            return f"quiz not passed, went on ({how})"
        return f"quiz not passed{', waits for the assistant' if self.undecided else ''} ({how})"


def quiz_of(
    session: Mapping[str, Any], scores: Mapping[str, Sequence[Mapping[str, Any]]], events: Iterable[Mapping[str, Any]]
) -> QuizState:
    """The state of a quiz.

    Parameters
    ----------
    session : content of ``session.json``
    scores : of every finished trial, by its key
    events : of ``events.jsonl``
    """
    of_attempts: dict[int, list[Sequence[Mapping[str, Any]]]] = {}
    trials = len(session["plan"])
    for key, of_trial in scores.items():
        if not key.startswith("p"):
            of_attempts.setdefault((int(key) - 1) // trials, []).append(of_trial)
    attempts: list[Attempt] = []
    while len(some := of_attempts.get(len(attempts), [])) == trials:
        items = [
            bool(score["correct"]) for of_trial in some for score in of_trial if score["correct_answer"] is not None
        ]
        attempts.append(Attempt(sum(items), len(items)))
    decided = tuple(event["decided"] for event in events if event["event"] == "quiz_decision")
    return QuizState(session["quiz"], trials, tuple(attempts), len(of_attempts.get(len(attempts), [])), decided)


def attention_checks(session: Mapping[str, Any], events: Iterable[Event]) -> tuple[int, int]:
    """Count the attention checks in finished trials: those answered correctly, and all."""
    phases = session["paradigm_data"].get("attention_checks") or ()
    events = list(events) if phases else []
    done = {(event["trial"], event["attempt"]) for event in events if event["event"] == "trial_end"}
    correct = [
        bool(score["correct"])
        for event in events
        if event["event"] == "step"
        and "ask" in event
        and event["phase"] in phases
        and (event["trial"], event["attempt"]) in done
        for score in event["scores"]
        if score["correct_answer"] is not None
    ]
    return sum(correct), len(correct)
