"""What earlier parts of a session have left: read once from the record when a session begins or goes on, and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .events import Event, TrialStart
from .reader import failed_trials, finished_scores, finished_trials, trials_taken
from .transcript_file import replies_by_trial

#: the key under which is kept what an agent asks before the first trial
NO_TRIAL = "0"


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of a session by its record. Mappings are by the keys of trials.

    Parameters
    ----------
    events : all that happened
    finished : attempts at which trials were finished
    failed : reasons of trials that could not be had
    attempts : the last attempt at each trial that was begun
    replies : replies that were paid for, in order
    preparations : how often the agent was asked something before the first trial
    trial_ids : identities of the trials that were begun
    starts : the events with which trials began that were taken
    scores : scores of finished trials
    practised : whether practice is over
    decisions : what the assistant decided about practice, in order
    """

    events: Sequence[Event]
    finished: Mapping[str, int]
    failed: Mapping[str, str]
    attempts: Mapping[str, int]
    replies: Mapping[str, Sequence[Mapping[str, Any]]]
    preparations: int
    trial_ids: Mapping[str, str]
    starts: Mapping[str, TrialStart]
    scores: Mapping[str, Sequence[Mapping[str, Any]]]
    practised: bool
    decisions: Sequence[str]

    @classmethod
    def of(cls, events: Sequence[Event], lines: Sequence[Mapping[str, Any]], moved: bool = False) -> SessionState:
        """Read the state from the lines of a record.

        Parameters
        ----------
        events : of ``events.jsonl``
        lines : of ``transcripts.jsonl``
        moved : whether a trial that failed is asked for again at another place of its conversation, so that its replies do not count
        """
        attempts: dict[str, int] = {}
        for event in events:
            key, attempt = event.get("trial", ""), event.get("attempt")
            if attempt is not None:
                attempts[key] = max(attempt, attempts.get(key, 0))
        replies = replies_by_trial(events, lines)
        if moved:
            ends = {event["trial"]: event["attempt"] for event in events if event["event"] == "trial_failed"}
            replies = {key: [line for line in of_trial if line.get("attempt", 1) > ends.get(key, 0)] for key, of_trial in replies.items()}
        return cls(
            events,
            finished_trials(events),
            failed_trials(events),
            attempts,
            replies,
            max((line["attempt"] for line in lines if line["trial"] == NO_TRIAL), default=0),
            {event["trial"]: event["trial_id"] for event in events if event["event"] == "trial_start"},
            trials_taken(events),
            finished_scores(events),
            any(event["event"] == "practice" for event in events),
            [event["decided"] for event in events if event["event"] == "practice_decision"],
        )
