"""What a session is going to cost, and what it has cost. That is the agent's to say: it sees the trials before
(:class:`SessionOutlook`) and the record after (:class:`SessionLedger`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..agents.at_once import ConcurrentAgent
from ..agents.base import Agent, Rehearsal
from ..core.atomic_files import only_writer
from ..core.errors import SpanLabError
from ..core.json_values import grouped
from ..paradigms import (
    Paradigm,
    PlannedTrial,
)
from ..paradigms.identity import canonical
from .plan import Request, SessionPlan, apart_for, practises, with_examples
from .record.events import Event
from .record.reader import (
    failed_trials,
    read_events,
    read_session,
    read_transcript,
    replies_by_trial,
)
from .session import (
    brief,
    write_info,
)

#: an estimate looks at so many kinds of trials at most, evenly taken from all
_MOST_KINDS = 60


class SessionOutlook:
    """The trials of a session that is going to begin, as :class:`..agents.base.Outlook` has them.

    Parameters
    ----------
    planned : the trials
    request : for the session
    """

    def __init__(self, agent: Agent, paradigm: Paradigm, planned: Sequence[PlannedTrial], request: Request) -> None:
        self._agent, self._whole, self._planned, self._request = agent, paradigm, planned, request
        self.paradigm = paradigm.name
        self.adaptive = any(trial.varies for trial in planned)
        self._remembers = isinstance(agent, ConcurrentAgent) and agent.remembers
        self._practice = SessionPlan(paradigm, agent, planned, request).practice if practises(agent) else ()
        self.rounds = paradigm.practice.at_most if paradigm.practice is not None and self._practice else 0

    @cached_property
    def _kinds(self) -> Mapping[str, list[PlannedTrial]]:
        return grouped((canonical(planned.levels), planned) for planned in self._planned)

    @cached_property
    def _apart(self) -> Any:
        if not isinstance(self._agent, ConcurrentAgent):
            return None
        return apart_for(self._agent, self._whole, self._request.generator, self._request.seed, self._planned)

    def _rehearsal(self, planned: PlannedTrial, times: float = 1.0) -> Rehearsal:
        trial = planned.compile(self._whole, self._request.generator)
        percepts = [step.shown_after("right") for step in trial.steps if step.percept.model_step]
        context = replace(brief(self._agent, self._whole, self._request.language, trial), practice=planned.practice)
        if self._apart is not None:
            context = with_examples(context, self._agent, self._apart, trial.levels)
        return Rehearsal(context, percepts, times)

    @property
    def questions(self) -> int:
        """The largest number of questions in a trial."""
        trials = [
            alike[0].compile(self._whole, self._request.generator)
            for alike in self._kinds.values()
            if not alike[0].varies
        ]
        return max(
            (sum(step.percept.model_step and step.percept.ask is not None for step in trial.steps) for trial in trials),
            default=0,
        )

    @property
    def trials(self) -> Sequence[Rehearsal]:
        """One trial of each kind, or of some kinds, evenly chosen; of each kind where trials are
        one conversation, since each counts with those before it."""
        return self._trials

    @cached_property
    def _trials(self) -> Sequence[Rehearsal]:
        kinds = list(self._kinds.values())
        sampled = kinds[:: 1 if self._remembers else math.ceil(len(kinds) / _MOST_KINDS)]
        share = len(self._planned) / sum(map(len, sampled))
        return [self._rehearsal(alike[0], len(alike) * share) for alike in sampled]

    @property
    def practice(self) -> Sequence[Rehearsal]:
        """The trials of one round of practice."""
        return [self._rehearsal(planned) for planned in self._practice]

    @property
    def order(self) -> Sequence[tuple[int, int]]:
        """Block and kind of every trial, for agents that remember the trials of a block."""
        number = {key: position for position, key in enumerate(self._kinds)}
        return (
            [(planned.block, number[canonical(planned.levels)]) for planned in self._planned] if self._remembers else []
        )

    def shared(self) -> list[str]:
        """Practice trials and examples that show what a trial of the session shows, since the
        paradigm has too few different trials."""
        if self._apart is None:
            return []
        for planned in self._practice:
            self._apart.practice(planned)
        return self._apart.shared if self.trials else []


class SessionLedger:
    """The record of an agent's requests, as :class:`..agents.base.Ledger` has it; files are read
    when they are asked for.

    Parameters
    ----------
    folder : of the session
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def info(self) -> Mapping[str, Any]:
        """The content of ``session.json``."""
        return dict(read_session(self.folder))

    @cached_property
    def events(self) -> Sequence[Event]:
        """The lines of ``events.jsonl``."""
        return read_events(self.folder)

    @cached_property
    def _lines(self) -> Sequence[Mapping[str, Any]]:
        return read_transcript(self.folder)

    @property
    def lines(self) -> Sequence[Mapping[str, Any]]:
        """The lines of ``transcripts.jsonl``."""
        return self._lines

    @property
    def replies(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The lines that keep a reply, by trial."""
        return replies_by_trial(self.lines)

    @property
    def failed(self) -> Mapping[str, str]:
        """The trials that failed, with the reasons."""
        return failed_trials(self.events)


def estimate_session(agent: Agent, outlook: SessionOutlook, say: Callable[[str], None]) -> dict[str, Any]:
    """Estimate and report what a session will cost, where it costs anything; the estimate for the
    record."""
    cost = agent.estimate(outlook)
    if shared := outlook.shared():
        say(
            f"{agent.name}: the paradigm has too few different trials, so that {', '.join(shared)} shows what a trial"
            " of the session shows, too"
        )
    if cost is None:
        return {}
    say(f"{agent.name}: {cost.sentence}")
    return {"estimate": dict(cost.numbers)}


def write_account(agent: Agent, folder: Path, say: Callable[[str], None]) -> None:
    """Write what a session has cost so far into its record, and report it."""
    try:
        cost = agent.account(SessionLedger(folder))
        if cost is not None:
            with only_writer(folder):
                write_info(folder, {**read_session(folder), "account": dict(cost.numbers)})
            say(f"{agent.name}: {cost.sentence}")
    except SpanLabError as error:  # it must not hide what has stopped the session
        say(f"there is no account of this session: {error}")
