"""The demonstration: everybody takes the same trials, and one page shows how it went. Part of the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..agents.base import Agent
from ..core.errors import SpanLabError
from ..core.extras import need
from ..paradigms import PlannedTrial, load_paradigm, plan_session
from ..paradigms.language.schema import SessionDesign
from ..sessions import Request, Runner, Session, begin
from ..sessions.conduct import remove_unused

SEED = 7
#: one list length, long enough for a middle that is harder than its ends, of which there is a published human curve; and as many lists as few minutes hold
LENGTH = 6
REPETITIONS = 12
#: trials of the paradigms that only machines take here, and the levels that they have where these are not all
MACHINE_TRIALS = 96
LEVELS: dict[str, dict[str, list[int]]] = {"sfr": {"list_length": [4, 8, 12]}, "smu": {}}


def run_demo(output: Path, me: bool = False) -> Path:
    """A PsychoPy session of visual serial recall; the same trials for machines; two more paradigms for machines; the report.

    Parameters
    ----------
    output : folder for sessions and report; a fresh one beside it when it is taken
    me : whether somebody sits at the screen

    Returns
    -------
    the report's ``report.html``

    Raises
    ------
    SpanLabError
        when a part that is needed is missing; the message says what to do.
    """
    from ..agents.chat.servers.scripted import ScriptedServer
    from ..agents.human.display.window import need_window
    from ..agents.network.agent import NetworkAgent
    from ..agents.oracles import CapacityAgent, Chance, IdealAgent
    from ..analysis.report.page import compare
    from ..sessions.transcript_page import report_pages

    began = time.monotonic()
    for extra, package in (("lab", "psychopy"), ("lab", "Xlib"), ("networks", "torch"), ("chat", "openai")):
        if package != "Xlib" or not me:
            need(extra, package, "the demonstration")
    if me:
        need_window()
    vsr = load_paradigm("vsr")
    plan = plan_session(vsr, SEED, SessionDesign(repetitions=REPETITIONS, interval=500.0), {"list_length": [LENGTH]})
    with ExitStack() as stack:
        output = stack.enter_context(_fresh(output))
        with _stage("starting a scripted chat server (fakellm) on this machine"):
            server = stack.enter_context(ScriptedServer())
        person, label = _participant(me, stack)
        network = NetworkAgent("laptop")
        data = output / "data"
        with _stage(f"{label}: {len(plan)} trials of visual serial recall in a PsychoPy window, about {_minutes(plan)}"):
            request = Request(SEED, participant="me" if me else "", design="demo", practice=me)
            session = _take(begin(data, vsr, person, plan, request), person)
        for agent in (IdealAgent(), CapacityAgent(), Chance(), network, server.agent()):
            with _stage(f"{agent.name}: the same trials"):
                _take(begin(data, vsr, agent, plan, Request(SEED, design="demo", like=session.name)), agent)
        for name, levels in LEVELS.items():
            paradigm = load_paradigm(name)
            trials = plan_session(paradigm, SEED, SessionDesign(), levels, trials=MACHINE_TRIALS)
            for agent in (IdealAgent(), CapacityAgent(), Chance(), network, server.agent()):
                with _stage(f"{agent.name}: {MACHINE_TRIALS} trials of {name}"):
                    _take(begin(data, paradigm, agent, trials, Request(SEED, design="demo")), agent)
        with _stage("comparing"):
            report = compare([data], output / "report", conversations=report_pages([data], output / "report"))
    print(f"\ndone in {time.monotonic() - began:.0f} s. Open {report.resolve()} in a browser.")
    return report


@contextmanager
def _fresh(output: Path) -> Iterator[Path]:
    """A folder that holds nothing yet: what was recorded is never overwritten. Where nothing comes to be in it, it goes again."""
    taken, n = output, 1
    try:
        while taken.exists() and (not taken.is_dir() or any(taken.iterdir())):
            n += 1
            taken = output.with_name(f"{output.name}-{n}")
        made = [folder for folder in (taken, *taken.parents) if not folder.exists()]
        taken.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpanLabError(f"cannot write to {output}: {error.strerror or error}; choose another folder with -o") from None
    try:
        yield taken
    finally:
        for folder in (taken / "data", *made):
            with suppress(OSError):  # it holds something, or is not there
                folder.rmdir()


def _participant(me: bool, stack: ExitStack) -> tuple[Agent, str]:
    if me:
        from ..agents.human.participant import Participant

        return Participant(), "you"
    from ..agents.human.display.screen import virtual_screen
    from ..agents.human.simulated import SimulatedParticipant

    # Even where there is a screen, the simulated participant has one of its own: its clicks must not land in somebody's work.
    stack.enter_context(virtual_screen())
    return SimulatedParticipant("capacity", seed=SEED, speed=3.0, say=lambda sentence: None), "a simulated participant (real keys and clicks, invisible screen)"


def _take(session: Session, agent: Agent) -> Session:
    try:
        Runner(session, agent).run()
    except SpanLabError:
        remove_unused(session.folder)
        raise
    return session


def _minutes(plan: Sequence[PlannedTrial]) -> str:
    seconds = sum(1 + planned.levels["list_length"] * (1.55 + 0.6) for planned in plan)
    return f"{seconds / 60:.0f} min"


@contextmanager
def _stage(what: str) -> Iterator[None]:
    print(f"· {what} ...", end="", flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        print()
        raise
    print(f" {time.monotonic() - began:.1f} s", flush=True)
