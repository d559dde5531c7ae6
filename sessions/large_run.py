"""Large runs: very many trials, answered in batches, go straight into the parts of the response
table.

Every trial is taken as in an ordinary session, and its rows are those that the ordinary way would
give; only the lines of ``events.jsonl`` are left out. A part is computed by itself and written
whole, so that a kill loses the parts under way and nothing else, and it does not matter who
computes which.

The table of trials that nobody has taken (:func:`rehearsed`) is collected in the same way. It tells
what data of a paradigm will hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agents.base import Agent, BatchAgent, Response
from ..core.atomic_files import write_whole
from ..core.errors import SpanLabError
from ..core.worker_pool import WorkerPool
from ..paradigms import Generator, Paradigm, PlannedTrial, Trial
from ..paradigms.compile import one_of_each
from .record.events import Event
from .record.reader import ResponseTable, packed, response_rows, response_table
from .record.session_files import PARTS, part_path, parts_missing
from .session import Session, questions_of, stored_paradigm
from .strategies.batches import run_batch
from .strategies.one_by_one import TrialSource
from .trial_log import SessionLog

#: trials in a part
PART = 1000
#: from so many trials on, a run is a large one without being asked
LARGE = 10_000


def parts_for(
    agent: Agent,
    paradigm: Paradigm,
    plan: Sequence[PlannedTrial],
    generator: Generator,
    reason: str = "",
    states: bool = False,
    part: int = PART,
) -> dict[str, Any]:
    """The additional entries in the record of a large run; empty for an ordinary session.

    Parameters
    ----------
    reason : the option that makes it a large run whatever its size, as a message names it
    states : whether the hidden states are kept
    part : trials in a part

    Raises
    ------
    SpanLabError
        when it was asked for, and this agent or these trials do not allow it.
    """
    if not reason and not states and len(plan) < LARGE:
        return {}
    reason = reason or ("--states" if states else "")
    why = ""
    if not isinstance(agent, BatchAgent):
        why = f"{agent.name} takes trials one by one"
    elif any(planned.varies for planned in plan):
        why = "the design is adaptive: each trial waits for the answers before"
    elif list(plan) != sorted(plan, key=lambda planned: (planned.block, planned.trial)) or any(
        planned.practice for planned in plan
    ):
        why = "the trials are not in the order of their blocks"
    elif any(
        step.feedback is not None
        for planned in one_of_each(plan)
        for step in planned.compile(paradigm, generator).steps
    ):
        why = f"{paradigm.name} gives feedback, so each trial has to be run step by step"
    elif states and not agent.hidden_units:
        why = f"{agent.name} has no hidden states"
    if why and reason:
        raise SpanLabError(f"{reason} is for large runs of networks, and this run is not one: {why}. Leave it out")
    return {} if why else {PARTS: {"trials": part, "states": states}}


@dataclass(frozen=True, slots=True)
class RunPart:
    """One part, ready to be written: Parquet files as bytes; no ``states`` where they are not kept."""

    table: bytes
    states: bytes
    rows: int


class ShardWorker:
    """A worker that computes parts: an agent and a session, without a folder.

    Parameters
    ----------
    info : content of ``session.json``, the plan apart
    agent : who answers
    now : the wall clock
    """

    def __init__(self, info: Mapping[str, Any], agent: BatchAgent, now: Callable[[], str]) -> None:
        from ..agents.network.hidden_states import StatesLog

        self.info, self._agent, self._now = info, agent, now
        self._source = TrialSource(Session(Path(), stored_paradigm(info), (), info), agent, questions_of(info))
        self._states = StatesLog(agent.hidden_units) if info[PARTS]["states"] else None

    def part(self, planned: Sequence[PlannedTrial]) -> RunPart:
        """Take the trials of one part.

        Raises
        ------
        SpanLabError
            what the agent reports.
        """
        events: list[Event] = []
        log = SessionLog(events.append, self._now)
        remaining = run_batch(
            self._agent, self._source, log, planned, None if self._states is None else self._states.add
        )
        if remaining:
            raise SpanLabError(
                f"trial {remaining[0].trial} gives feedback, but no trial before it did; run it as an ordinary session:"
                f" fewer than {LARGE} trials"
            )
        table = response_table(response_rows(self.info, events))
        states = b"" if self._states is None else self._states.take(_steps(planned, events), self.info["session"])
        return RunPart(packed(table, self.info["session"]), states, table.num_rows)


def _steps(planned: Sequence[PlannedTrial], events: Sequence[Event]) -> dict[int, list[int]]:
    """The numbers of the steps of each trial."""
    steps: dict[int, list[int]] = {trial.trial: [] for trial in planned}
    for event in events:
        if event["event"] == "step":
            steps[int(event["trial"])].append(event["step"])
    return steps


def _part(worker: ShardWorker, planned: Sequence[PlannedTrial]) -> RunPart:
    return worker.part(planned)


async def take_parts(
    folder: Path,
    info: Mapping[str, Any],
    plan: Sequence[PlannedTrial],
    pool: WorkerPool,
    worker: Callable[[], ShardWorker],
    note: Callable[[Event], None],
    now: Callable[[], str],
    progress: Callable[[int, int], None],
) -> None:
    """Compute all missing parts of a session.

    Parameters
    ----------
    folder, info, plan : of the session
    pool : who computes parts
    worker : makes what each of them computes with
    note : takes what the record is to say of the parts
    now : the wall clock
    progress : is told how many trials are done, of how many

    Raises
    ------
    SpanLabError
        what the agent, the pool or the disk report; finished parts are safe then.
    """
    size = info[PARTS]["trials"]
    missing = parts_missing(folder, info)
    jobs = [plan[number * size : (number + 1) * size] for number in missing]
    done = len(plan) - sum(map(len, jobs))
    note({"event": "note", "what": "parts", "missing": len(missing), "by": pool.described()})
    results = pool.each(_part, worker, jobs)
    try:
        for number, part in results:
            if part.states:
                _put(
                    states_path(folder, missing[number]), part.states
                )  # before the part itself: where that is, they are
            _put(part_path(folder, missing[number]), part.table)
            note({"event": "note", "what": "part", "part": missing[number], "rows": part.rows, "at": now()})
            done += len(jobs[number])
            progress(done, len(plan))
            await asyncio.sleep(0)  # Ctrl-C is noticed here
    finally:
        results.close()


def states_path(folder: str | Path, number: int) -> Path:
    """The file with the hidden states of one part."""
    return Path(folder) / "states" / part_path(folder, number).name


def _put(path: Path, content: bytes) -> None:
    """Write a file of a part. Its own folder is made for the first; that of the session is there,
    or something is wrong."""
    write_whole(path, content, "free some space, or check the disk", folders="own")


_RT_MS = 500.0


def rehearsed(trials: Iterable[Trial]) -> ResponseTable:
    """The response table that these trials would give.

    Parameters
    ----------
    trials : of one paradigm, steps for people and machines alike
    """
    events: list[Event] = []
    log, paradigm = SessionLog(events.append, lambda: ""), ""
    for number, trial in enumerate(trials, start=1):
        paradigm = trial.paradigm
        trial_log = log.start(PlannedTrial(1, number, trial.levels, trial.seed), trial)
        for step in trial.steps:
            ask = step.percept.ask
            value = None
            if ask is not None:
                value = step.truth.answer if ask.kind.scored else ask.kind.unscored_answer(number % 2 == 0)
            trial_log.step(step, step.percept, None if ask is None else Response(value, _RT_MS, {}, "answered", {}))
        log.finish(trial_log, len(trial.steps))
    session = {"session": "rehearsed", "participant": "", "agent_kind": "ideal", "agent": "ideal", "paradigm": paradigm}
    return response_table(response_rows(session, events))
