"""Which attempts at trials count, read from the events of a session."""

from __future__ import annotations

from collections.abc import Iterable

from .events import Event, Score, TrialStart


def trial_key(practice: bool, trial: int) -> str:
    """How events name a trial of the session: ``12``, or ``p3`` for practice."""
    return f"p{trial}" if practice else str(trial)


def is_practice(key: str) -> bool:
    """Whether events that name their trial so belong to practice."""
    return key.startswith("p")


def finished_trials(events: Iterable[Event]) -> dict[str, int]:
    """For every finished trial the attempt that counts: the first one of which every step is there."""
    steps: dict[tuple[str, int], int] = {}
    done: dict[str, int] = {}
    for event in events:
        if event["event"] == "trial_start":
            steps[event["trial"], event["attempt"]] = 0
        elif event["event"] == "step" and (attempt := (event["trial"], event["attempt"])) in steps:
            steps[attempt] += 1
        elif event["event"] == "trial_end" and steps.get(attempt := (event["trial"], event["attempt"])) == event["steps"]:
            done.setdefault(*attempt)
    return done


def trials_taken(events: Iterable[Event]) -> dict[str, TrialStart]:
    """How every finished trial began, in the attempt that counts: its levels, seed, number of the attempt."""
    events = list(events)
    done = finished_trials(events)
    return {event["trial"]: event for event in events if event["event"] == "trial_start" and done.get(event["trial"]) == event["attempt"]}


def finished_scores(events: Iterable[Event]) -> dict[str, list[Score]]:
    """The scores of all answers in every finished trial."""
    events = list(events)
    done = finished_trials(events)
    scores: dict[str, list[Score]] = {key: [] for key in done}
    for event in events:
        if event["event"] == "step" and done.get(event["trial"]) == event["attempt"]:
            scores[event["trial"]] += event["scores"] if "ask" in event else []
    return scores


def failed_trials(events: Iterable[Event]) -> dict[str, str]:
    """For every trial that could not be had, and was not finished later, why: a sentence."""
    events = list(events)
    done = finished_trials(events)
    return {event["trial"]: event["why"] for event in events if event["event"] == "trial_failed" and event["trial"] not in done}
