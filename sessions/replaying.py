"""The trials of a recorded session, as they were taken, and the agent that gives their answers again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from ..agents.base import Agent, Response, TrialContext
from ..agents.payments import Journal
from ..agents.recorded import Recorded
from ..core.errors import SpanLabError
from ..core.registry import as_tuple
from ..paradigms import Percept, Step, Trial, compile_trial
from .record.events import AskedStep, Event, ShownStep, TrialStart
from .record.reader import finished_trials, is_practice, read_events, trial_key
from .run_trial import Cues, check_episode, run_trial
from .session import Session, same_trials
from .trial_log import Judged, TrialLog

#: ``recorded:SESSION`` names a recorded session as an agent
PREFIX = "recorded:"


def recorded_agent(name: str) -> Recorded:
    """An agent that gives the answers of a recorded session again, practice excepted.

    Parameters
    ----------
    name : ``recorded:`` and the session's folder

    Raises
    ------
    SpanLabError
        when that is not a session, or no trial of it is finished.
    """
    folder = Path(name.removeprefix(PREFIX))
    if not name.removeprefix(PREFIX):
        raise SpanLabError("which session? Name its folder after the colon, such as recorded:data/vsr-capacity-s1")
    session = same_trials(folder)
    trials = list(_trials(session, read_events(folder)))
    if not trials:
        raise SpanLabError(f"{folder} holds no finished trial, so there are no answers to replay")
    info = session.info
    settings = {
        key: info[key] for key in ("session", "agent_kind", "agent", "agent_settings_hash", "participant", "created")
    }
    return Recorded(name, trials, {f"recorded_{key}": value for key, value in settings.items()})


def _trials(session: Session, events: Sequence[Event]) -> Iterator[tuple[list[Percept], list[Response]]]:
    """Return the percepts of each finished trial for machines, and the answers."""
    for trial in taken_trials(session, events):
        yield (
            [percept for percept, _ in trial.steps],
            [
                Response(as_tuple(line["value"]), line["rt_ms"], line["raw"], line["outcome"], line["notes"])
                for line in trial.questions
            ],
        )


@dataclass(frozen=True, slots=True)
class TakenTrial:
    """A trial as it was presented and answered.

    Parameters
    ----------
    key : as events name it
    start : the event with which it began
    trial : compiled anew
    steps : what machines see of it, in order, each with what was recorded; feedback as it was shown
    """

    key: str
    start: TrialStart
    trial: Trial
    steps: Sequence[tuple[Percept, ShownStep | AskedStep]]

    @property
    def questions(self) -> list[AskedStep]:
        """The recorded steps with questions."""
        return [line for _, line in self.steps if "ask" in line]


def taken_trials(session: Session, events: Sequence[Event], practice: bool = False) -> Iterator[TakenTrial]:
    """The finished trials of a session in the order in which they were taken.

    Parameters
    ----------
    practice : whether those of practice are among them

    Raises
    ------
    SpanLabError
        when a trial has no seed.
    """
    done = finished_trials(events)
    records: dict[str, tuple[TrialStart, dict[int, ShownStep | AskedStep]]] = {}
    for event in events:
        if event["event"] == "trial_start" or event["event"] == "step":
            key = event["trial"]
            if done.get(key) != event["attempt"] or (is_practice(key) and not practice):
                continue
            if event["event"] == "trial_start":
                records[key] = event, {}
            elif key in records:
                records[key][1][event["step"]] = event
    draws = {trial_key(False, planned.trial): planned.draws for planned in session.plan}
    for key, (start, shown) in records.items():
        if start["seed"] is None:
            raise SpanLabError(f"trial {key} of {session.info['session']} has no seed, so it cannot be made again")
        trial = compile_trial(
            session.paradigm, start["levels"], start["seed"], session.info["generator"], draws.get(key)
        )
        yield TakenTrial(
            key,
            start,
            trial,
            [
                (step.shown_after(line.get("feedback", "missed")), line)
                for step in trial.steps
                if step.percept.model_step and (line := shown.get(step.index + 1))
            ],
        )


class Recalled(Journal):
    """The journal of a trial that an earlier part of the session finished: its replies are
    replayed, and nothing is requested."""

    def __init__(self, key: str, replies: Sequence[Mapping[str, Any]]) -> None:
        self._key, self._replies = key, replies

    @override
    def replies(self) -> Sequence[Mapping[str, Any]]:
        """The recorded replies of the trial."""
        return self._replies

    @override
    def begun(self, line: Mapping[str, Any]) -> None:
        """Refuse: no request is sent."""
        raise SpanLabError(
            f"the conversation cannot continue: the record lacks replies of trial {self._key}, which is finished; "
            "restore transcripts.jsonl, or start a new session"
        )


async def walk(
    agent: Agent, context: TrialContext, steps: Sequence[Step], replies: Recalled | None = None
) -> list[Judged]:
    """Take an agent through a trial without recording it. A finished trial gets its recorded
    replies again, so that the agent remembers it as it was."""
    episode = check_episode(agent, agent.start(context))
    if replies is not None:
        episode.attach(replies)
    return await run_trial(steps, episode, TrialLog(lambda event: None, "", 1), Cues())
