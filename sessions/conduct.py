"""Sessions from the first check of an agent to the last line of the record, for commands and for
programs.

What a session costs is the agent's to say: it sees the trials before (:class:`SessionOutlook`) and
the record after (:class:`SessionLedger`).
"""

from __future__ import annotations

import collections.abc
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..agents.base import Agent, BatchAgent, ConcurrentAgent, Rehearsal, WindowAgent
from ..agents.interruptions import Abandoned
from ..core.agent_kinds import NETWORK, SIMULATED, kind_named
from ..core.atomic_files import only_writer
from ..core.errors import SpanLabError
from ..core.event_loop import ending_as_ctrl_c
from ..core.json_values import grouped
from ..core.worker_pool import WorkerPool
from ..paradigms import NetworkView, Paradigm, PlannedTrial, network_tasks
from ..paradigms.compile import one_of_each
from ..paradigms.identity import canonical
from .before_trials import apart_for, with_examples
from .beginning import Request, SessionPlan, begin, practises, try_out
from .chosen_trials import ChosenTrials
from .large_run import parts_for
from .record.events import Event
from .record.reader import failed_trials, finished_trials, is_practice, read_events, read_session
from .record.session_files import PARTS, read_transcript, replies_by_trial
from .runner import Progress, Runner
from .session import FOLDERS, Session, brief, write_info

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
        return replies_by_trial(self.events, self.lines)

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
    if under_way := agent.under_way():
        say(under_way)


def say_on_stderr(sentence: str) -> None:
    """Print a message to stderr, apart from the output of a command."""
    print(sentence, file=sys.stderr)


#: what is recorded although nobody has seen, been asked or paid for anything
_OF_THE_START = frozenset({"session_start", "interrupted"})
_FILES = frozenset({"session.json", "events.jsonl", ".lock", *FOLDERS})

#: opens a progress bar of a session: its title, and what gives a line on the agent's state (None
#: where it has none)
Bar = Callable[[str, Callable[[], str] | None], AbstractContextManager[Progress]]


@contextmanager
def no_bar(title: str, status_line: Callable[[], str] | None) -> collections.abc.Generator[Progress]:
    """Progress without a bar."""
    yield lambda done, total: None


@dataclass(frozen=True, slots=True)
class Watcher:
    """The audience of a running session: where messages go, and how progress is shown.

    Parameters
    ----------
    say : takes sentences
    bar : opens a progress bar
    """

    say: Callable[[str], None] = say_on_stderr
    bar: Bar = no_bar


def make_machine(
    spec: str,
    seed: int,
    say: Callable[[str], None] = say_on_stderr,
    trials: ChosenTrials | Session | None = None,
    recorded: Mapping[str, Any] | None = None,
    typed: bool = False,
    **values: Any,
) -> Agent:
    """Make an agent by its name, or one that gives recorded answers again.

    Parameters
    ----------
    trials : that it is going to take; where a name stands for several networks, one that knows
        their tasks is taken
    recorded : content of ``session.json``, when the agent goes on with that session
    typed : whether the user has named it, on the command line or in Python: only then is code of
        theirs run (``torch:FILE.py:build``)
    values : of the options that its kind takes, such as ``chat``, ``care`` and ``price``

    Raises
    ------
    SpanLabError
        when there is none of this name, or it cannot be had.
    """
    if spec.startswith("recorded:"):
        from .replaying import recorded_agent

        return recorded_agent(spec)
    from ..agents.registry import check_options, make_agent

    kind = spec.partition(":")[0]
    if kind == "torch" and typed and trials is not None:
        from ..agents.network.modules import torch_agent

        check_options(spec, values)
        return torch_agent(spec, network_views(trials))
    tasks = frozenset[str]() if trials is None or kind != NETWORK.name else network_tasks(trials.paradigm, trials.plan)
    agent = make_agent(spec, seed, tasks=tasks, recorded=recorded, **values)
    for line in agent.introduction():
        say(f"spanlab: {line}")
    return agent


def network_views(trials: ChosenTrials | Session) -> list[NetworkView]:
    """What networks see of the trials, once for each combination of levels."""
    views = (trials.paradigm.network_view(planned.levels) for planned in one_of_each(trials.plan))
    return [view for view in views if view is not None]


def check_shared_out(session: Session, shared_out: bool) -> None:
    """Check that the work of a resumed session can be distributed, if that was requested.

    Raises
    ------
    SpanLabError
        when it is not a large one.
    """
    if shared_out and PARTS not in session.info:
        raise SpanLabError(
            f"{session.folder} is not a large session, so it cannot be distributed: leave out --workers and --scheduler"
        )


def prepare(
    agent: Agent,
    chosen: ChosenTrials,
    request: Request,
    say: Callable[[str], None],
    shared_out: str = "",
    states: bool = False,
) -> Request:
    """Check that an agent can take the trials, and collect what its record says besides the
    answers.

    Parameters
    ----------
    shared_out : the option by which the work is to be shared out, if it is
    states : whether hidden states are kept

    Raises
    ------
    SpanLabError
        when the agent cannot take the trials, or the work cannot be shared out.
    """
    try_out(chosen.paradigm, agent, chosen.plan, request)
    may_be_large = isinstance(agent, BatchAgent) or bool(shared_out) or states
    large = (
        parts_for(agent, chosen.paradigm, chosen.plan, request.generator, shared_out, states) if may_be_large else {}
    )
    outlook = SessionOutlook(agent, chosen.paradigm, chosen.plan, request)
    agent.check_session(outlook)
    estimate = estimate_session(agent, outlook, say)
    return replace(request, extra={**request.extra, **agent.recorded_options(), **estimate, **large})


def carry_out(
    session: Session,
    agent: Agent,
    watcher: Watcher,
    pool: WorkerPool | None = None,
    fresh: bool = True,
    retry_failed: bool = False,
    given: bool = False,
) -> Mapping[str, Any] | None:
    """Run a session to its end; whatever stops it, the sentence says how to go on.

    Parameters
    ----------
    fresh : whether it has just begun; then its folder is removed again when it cannot start
    retry_failed : whether trials that failed are asked for again
    given : whether the agent was made in Python, so that no command can make it again

    Returns
    -------
    what an adaptive session has come to; None for others

    Raises
    ------
    SpanLabError
        when something has stopped it; the finished trials are safe.
    """
    tally = agent.status_line if isinstance(agent, ConcurrentAgent) else None
    again = (
        f"in Python, with the same agent: spanlab.resume({str(session.folder)!r}, agent=agent)"
        if given
        else f"with: spanlab resume {session.folder}"
    )
    try:
        runner = Runner(session, agent, say=watcher.say, pool=pool, retry_failed=retry_failed)
        at_window = isinstance(agent, WindowAgent)
        with (
            ending_as_ctrl_c() if at_window else nullcontext(),
            watcher.bar(f"{session.paradigm.name} · {agent.name}", tally) as tell,
        ):
            if tally is not None:
                tell(0, len(session.plan))  # trials take turns, so that none may be over for long
            runner.progress = tell
            runner.run()
    except KeyboardInterrupt:
        safe = "; the finished trials are safe" if has_finished(session.folder) else " before any trial was finished"
        raise SpanLabError(f"interrupted{safe}. Continue {again}") from None
    except SpanLabError as error:
        if fresh and not isinstance(error, Abandoned) and remove_unused(session.folder):
            raise SpanLabError(f"{error}\nNo session was begun, and nothing was saved.") from None
        safe = "The finished trials are safe." if has_finished(session.folder) else "No trial is finished yet."
        raise SpanLabError(f"{error}\n{safe} Continue {again}") from None
    finally:
        if session.folder.exists():
            write_account(agent, session.folder, watcher.say)
    return runner.span


def replay_sessions(
    data: Path,
    chosen: ChosenTrials,
    agents: Sequence[Agent],
    requests: Sequence[Request],
    watcher: Watcher,
    pool: WorkerPool | None,
    given: bool = False,
) -> Iterator[tuple[Session, Mapping[str, Any] | None]]:
    """Run a session with each agent in turn, with the same trials.

    Parameters
    ----------
    requests : of the agents, from :func:`prepare`: all of them before the first session begins, so
        that a slip in the last shows at once
    given : whether the agents were made in Python, so that no command can make them again

    Returns
    -------
    each session when it is over, and what it has come to if it is adaptive

    Raises
    ------
    SpanLabError
        when something has stopped a session.
    """
    for agent, request in zip(agents, requests, strict=True):
        session = begin(data, chosen.paradigm, agent, chosen.plan, request)
        yield session, carry_out(session, agent, watcher, pool, given=given)


def agent_again(
    session: Session,
    values: Mapping[str, Any],
    say: Callable[[str], None],
    triggers: str = "",
    screen: int | None = None,
    given: Agent | None = None,
) -> tuple[Session, Agent]:
    """The agent of a resumed session, with its recorded settings; request limits and prices may
    differ, and the record then says so.

    Parameters
    ----------
    values : of options (``care``, ``price``), from now on; as before where they are not given
    triggers : port of trigger codes, in place of the one before
    screen : number of the screen on which the window opens, in place of the one before
    given : the agent, where it was made in Python

    Raises
    ------
    SpanLabError
        when the agent is not available, or has no window.
    """
    kind, info = kind_named(session.info["agent_kind"]), session.info
    if screen is not None and not kind.at_window:
        raise SpanLabError(f"{info['agent']} takes {session.folder} without a window: leave out --screen")
    if kind.at_window and given is None:
        from ..agents.human.seating import seat, window_again
        from .record.session_info import in_browser

        if in_browser(info):
            raise SpanLabError(
                f"{session.folder} is a session in a browser: it goes on when the participant opens the same link again"
                " (spanlab serve)"
            )
        settings, port = info["agent_settings"], triggers or info.get("triggers", {}).get("port", "")
        observer = info["agent"].partition(":")[2] if kind is SIMULATED else None
        window = {**window_again(settings, screen), "triggers": port}
        return session, seat(observer, settings.get("seed", session.seed), settings.get("speed", 1.0), window)
    agent = given or make_machine(info["agent"], session.seed, say, session, info, **values)
    agent.check_session(
        SessionOutlook(
            agent,
            session.paradigm,
            one_of_each(session.plan),
            Request(session.seed, info["generator"], language=info["language"]),
        )
    )
    now = {**info, **agent.recorded_options()}
    if now != info:
        with only_writer(session.folder):
            write_info(session.folder, now)
        session = replace(session, info=now)
    agent.carry(SessionLedger(session.folder))
    return session, agent


def remove_unused(folder: Path) -> bool:
    """Remove the folder of a session in which nothing has happened: nobody saw a trial, and no
    machine has answered or been paid.

    Returns
    -------
    whether it was removed; false where there is anything to keep
    """
    try:
        person = kind_named(read_session(folder)["agent_kind"]).at_window
        if not all(_is_nothing(event, person) for event in read_events(folder)) or any(
            path.name not in _FILES for path in folder.iterdir()
        ):
            return False
        shutil.rmtree(folder)
    except (SpanLabError, OSError):
        return False  # what cannot be read is not ours to remove
    return True


def _is_nothing(event: Event, person: bool) -> bool:
    """Return whether an event says of nothing that anybody has seen, been asked or paid for; what a
    machine was shown before it was asked is nothing."""
    return event["event"] in _OF_THE_START or (
        not person and (event["event"] == "trial_start" or (event["event"] == "step" and "ask" not in event))
    )


def has_finished(folder: Path) -> bool:
    """Return whether a trial of a session is finished, practice apart; not where nothing can be
    read."""
    try:
        return any(not is_practice(key) for key in finished_trials(read_events(folder)))
    except (SpanLabError, OSError):
        return False
