"""Running sessions, for commands and for programs: from the first check of an agent and the first line of the record to
the last."""

from __future__ import annotations

import collections.abc
import itertools
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..agents.at_once import ConcurrentAgent
from ..agents.base import Agent
from ..agents.interruptions import Abandoned
from ..core.agent_kinds import SIMULATED, kind_named
from ..core.atomic_files import first_free_folder, only_writer
from ..core.errors import SpanLabError, UnwritableError
from ..core.event_loop import ending_as_ctrl_c
from ..core.json_values import where_given
from ..core.locale import texts_for_people
from ..core.worker_pool import WorkerPool
from ..paradigms import Paradigm, PlannedTrial, network_tasks, resolve_levels
from ..paradigms.compile import one_of_each
from ..paradigms.design import practice_levels
from ..paradigms.language.own_files import own_hash
from ..paradigms.language.yaml_source import in_library
from ..paradigms.network_view import NetworkView
from ..paradigms.paradigm import paradigm_from_data
from ..paradigms.responses import ResponseKind
from .plan import ChosenTrials, Request, SessionOutlook, SessionPlan, check_plan, practises, try_out
from .record.events import Event
from .record.reader import (
    FORMAT_VERSION,
    SessionLedger,
    finished_trials,
    is_practice,
    read_events,
    read_session,
)
from .runner import Progress, Runner
from .session import (
    FOLDERS,
    PAGES,
    QUESTIONS,
    SENTENCES,
    Session,
    copy_files,
    instructions_for,
    plan_for_record,
    reopen,
    sentences_for_people,
    settings_hash,
    settings_of,
    utc_now,
    write_info,
)
from .strategies.batches import check_states

_PACKAGES = ("numpy", "pillow", "psychopy", "torch", "openai")


def begin(
    data: Path,
    paradigm: Paradigm,
    agent: Agent,
    plan: Sequence[PlannedTrial],
    request: Request,
    now: Callable[[], str] = utc_now,
) -> Session:
    """Make the folder of a new session, never one that exists.

    Parameters
    ----------
    data : folder for sessions

    Raises
    ------
    SpanLabError
        when the folder cannot be written, or the paradigm has no instructions in the language.
    """
    if request.language not in paradigm.instructions:
        raise SpanLabError(
            f"{paradigm.name} has no instructions in '{request.language}'; there are {', '.join(paradigm.instructions)}"
        )
    if not plan:
        raise SpanLabError("no trials to run")
    planned = SessionPlan(paradigm, agent, plan, replace(request, practice=request.practice or practises(agent)))
    kinds = check_plan(planned)
    instructions = instructions_for(
        agent, paradigm, request.language, resolve_levels(paradigm, plan[0].levels, plan[0].seed)
    )
    agent.ready()
    settings = settings_of(agent)
    info = {
        "format_version": FORMAT_VERSION,
        "session": "",
        "participant": request.participant,
        "agent_kind": agent.kind.name,
        "agent": agent.name,
        "oracle": agent.kind.oracle,
        "agent_settings": settings,
        "agent_settings_hash": settings_hash(agent),
        "label": settings.get("label", ""),
        "paradigm": paradigm.name,
        "paradigm_version": paradigm.version,
        "paradigm_hash": paradigm.hash,
        "paradigm_title": paradigm.title,
        "paradigm_source": request.source or paradigm.name,
        **_of_own_file(request.source),
        "human": paradigm.source.human,
        "generator": request.generator,
        "seed": request.seed,
        "design": request.design,
        "language": request.language,
        "instructions": instructions,  # before the first trial; they may change with the levels of factors
        "pilot": request.pilot,
        "practice": planned.request.practice,
        "like": request.like,
        "created": now(),
        "versions": dict(_installed()),
        **request.extra,
        **_levels_entries(planned),
        **_sentences_of(agent, paradigm, planned.asked, request.generator, request.language),
        **where_given(score_fields={n: asdict(score) for kind in kinds for n, score in kind.score_fields.items()}),
        **where_given(adaptive=planned.rule, quiz=agent.kind.at_window and paradigm.quiz and paradigm.quiz.to_record()),
        "plan": plan_for_record(plan),
        "paradigm_data": paradigm.data,
    }

    def fill(folder: Path, name: str) -> None:
        copy_files(folder, paradigm)
        write_info(folder, info | {"session": name})

    stem = session_stem(paradigm.name, request.participant or agent.name, request.seed)
    names = itertools.chain([stem], (f"{stem}-{number}" for number in range(2, 100_000)))
    # what people do is nobody else's; a study has a folder of its own, and may say otherwise
    private = (agent.kind.at_window or agent.kind.role == "replay") and "study" not in request.extra
    try:
        folder = first_free_folder(data, names, fill, 0o700 if private else 0o777)
    except UnwritableError as error:
        raise UnwritableError(f"{error}; choose another folder with --data") from None
    return Session(folder, paradigm, tuple(plan), info | {"session": folder.name})


def _levels_entries(plan: SessionPlan) -> dict[str, Any]:
    """The entries about the levels of practice and examples, for people and where there is
    practice: they are the same when the session goes on."""
    if not plan.agent.kind.at_window and not plan.request.practice:
        return {}
    levels = plan.request.practice and practice_levels(plan.levels)
    return {"chosen_levels": plan.levels.chosen, **where_given(practice_levels=levels)}


def _sentences_of(
    agent: Agent, paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Any, language: str
) -> dict[str, Any]:
    """The sentences that an agent reads besides the paradigm's instructions, for the record: pages
    and legends of people, legends and questions of chat models.

    Returns
    -------
    nothing for agents that do not read
    """
    if agent.kind.at_window:
        return sentences_for_people(language)
    if not agent.kind.reads:
        return {}
    kinds: dict[ResponseKind, None] = {}
    for planned in plan:
        kinds |= dict.fromkeys(
            step.percept.ask.kind for step in planned.compile(paradigm, generator).steps if step.percept.ask is not None
        )
    return {
        SENTENCES: {
            QUESTIONS: dict(agent.sentences(kinds)),
            # a machine that practises is told what people read on the pages around practice
            **({PAGES: texts_for_people(language)} if practises(agent) else {}),
        }
    }


def _of_own_file(source: str) -> dict[str, str]:
    """Return the record of a user's own paradigm file: a hash of the user's text, whatever library
    paradigm it extends."""
    if not source or in_library(source):
        return {}
    try:
        return {"paradigm_own_hash": own_hash(source)}
    except SpanLabError:
        return {}  # the file has gone since it was read


def session_stem(paradigm: str, who: str, seed: int | None) -> str:
    """The beginning of a session's name; without the seed where it is not known."""
    return f"{paradigm}-{_slug(who)}" + ("" if seed is None else f"-s{seed}")


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:60] or "agent"


@cache
def _installed() -> dict[str, str]:
    """The versions of Python, system and packages; reading them takes longer than anything else at
    the beginning of a session."""
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for package in ("spanlab", *_PACKAGES):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


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
    from ..agents.registry import make_agent

    tasks = frozenset[str] if trials is None else partial(network_tasks, trials.paradigm, trials.plan)
    views = partial(network_views, trials) if typed and trials is not None else None
    agent = make_agent(spec, seed, tasks=tasks, views=views, recorded=recorded, **values)
    for line in agent.introduction():
        say(f"spanlab: {line}")
    return agent


def network_views(trials: ChosenTrials | Session) -> list[NetworkView]:
    """What networks see of the trials, once for each combination of levels."""
    views = (trials.paradigm.network_view(planned.levels) for planned in one_of_each(trials.plan))
    return [view for view in views if view is not None]


def prepare(
    agent: Agent,
    chosen: ChosenTrials,
    request: Request,
    say: Callable[[str], None],
    states: bool = False,
) -> Request:
    """Check that an agent can take the trials, and collect what its record says besides the
    answers.

    Parameters
    ----------
    states : whether hidden states are kept

    Raises
    ------
    SpanLabError
        when the agent cannot take the trials, or has no hidden states to keep.
    """
    try_out(chosen.paradigm, agent, chosen.plan, request)
    if states:
        check_states(agent, chosen.paradigm, chosen.plan, request.generator)
    outlook = SessionOutlook(agent, chosen.paradigm, chosen.plan, request)
    agent.check_session(outlook)
    estimate = estimate_session(agent, outlook, say)
    extra = {**request.extra, **agent.recorded_options(), **estimate, **where_given(states=states)}
    return replace(request, extra=extra)


def carry_out(
    session: Session,
    agent: Agent,
    watcher: Watcher,
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
        else f"with: spanlab resume {shlex.quote(str(session.folder))}"
    )
    try:
        runner = Runner(session, agent, say=watcher.say, retry_failed=retry_failed)
        finishes = isinstance(agent, ConcurrentAgent)  # what is under way, when it is told to end
        with (
            nullcontext() if finishes else ending_as_ctrl_c(),
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
            told = f"{error.args[0]}\nNo session was begun, and nothing was saved."
            raise SpanLabError(told, error.option, error.names) from None
        safe = "The finished trials are safe." if has_finished(session.folder) else "No trial is finished yet."
        raise SpanLabError(f"{error.args[0]}\n{safe} Continue {again}", error.option, error.names) from None
    finally:
        if session.folder.exists():
            write_account(agent, session.folder, watcher.say)
    return runner.span


#: a session that is going to begin: its trials, who takes them, and the request
Prepared = tuple[ChosenTrials, Agent, Request]


def replay_sessions(
    data: Path, sessions: Sequence[Prepared], watcher: Watcher, given: bool = False
) -> Iterator[tuple[Session, Mapping[str, Any] | None]]:
    """Run sessions one after the other.

    Parameters
    ----------
    sessions : prepared (:func:`prepare`), all of them before the first begins, so that a slip in the
        last shows at once
    given : whether the agents were made in Python, so that no command can make them again

    Returns
    -------
    each session when it is over, and what it has come to if it is adaptive

    Raises
    ------
    SpanLabError
        when something has stopped a session.
    """
    for chosen, agent, request in sessions:
        session = begin(data, chosen.paradigm, agent, chosen.plan, request)
        yield session, carry_out(session, agent, watcher, given=given)


def spread_sessions(
    data: Path, sessions: Sequence[Prepared], pool: WorkerPool
) -> Iterator[tuple[Session, Mapping[str, Any] | None]]:
    """Run sessions of networks and simulated observers in the processes of a pool, as
    :func:`replay_sessions` does in this one.

    Parameters
    ----------
    data : folder for sessions, which every worker reaches under the same path

    Raises
    ------
    SpanLabError
        for agents that ask a server, and when something has stopped a session.
    """
    if asking := next((agent.name for _, agent, _ in sessions if isinstance(agent, ConcurrentAgent)), ""):
        raise SpanLabError(
            f"{asking} has many requests under way at once in one process: leave out --workers and --scheduler"
        )
    # A paradigm cannot be sent; its content can.
    jobs = [
        (chosen.paradigm.data, chosen.paradigm.name, chosen.plan, agent, request) for chosen, agent, request in sessions
    ]
    for _, (folder, span) in sorted(pool.each(_taken, partial(Path, data.resolve()), jobs), key=itemgetter(0)):
        yield reopen(folder), span


def _taken(data: Path, job: tuple[Any, ...]) -> tuple[Path, Mapping[str, Any] | None]:
    """One session, by a worker."""
    content, name, plan, agent, request = job
    session = begin(data, paradigm_from_data(content, name), agent, plan, request)
    return session.folder, carry_out(session, agent, Watcher(lambda sentence: None))


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
        observer = f"{info['agent'].partition(':')[2]}@{settings['speed']}" if kind is SIMULATED else None
        window = {**window_again(settings, screen), "triggers": port}
        return session, seat(observer, settings.get("seed", session.seed), window)
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
