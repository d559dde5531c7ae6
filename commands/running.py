"""What commands that run sessions share: who sits down, which trials, and the session from its first trial to its last. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import parse_levels, progress_bar
from ..errors import SpanLabError

if TYPE_CHECKING:
    from ..agents.protocol import Agent
    from ..paradigms import Paradigm, PlannedTrial
    from ..sessions import Request, Session


def person(simulate: str | None, seed: int, speed: float, window: dict[str, Any]) -> Agent:
    """Somebody at the window: a person, or the simulated participant.

    Raises
    ------
    SpanLabError
        when there is no display.
    """
    from ..agents.participant.display import need_display

    need_display()
    if simulate is not None:
        from ..agents.specs import make_agent

        return make_agent(f"simulated:{simulate}", seed, window={"speed": speed, **window})
    from ..agents.participant.participant import Participant

    return Participant(**window)


def machine(spec: str, seed: int, chat: dict[str, Any] | None) -> Agent:
    """An agent by its name; recorded answers, too."""
    if spec.startswith("recorded:"):
        from ..sessions.replaying import recorded_agent

        return recorded_agent(spec)
    from ..agents.specs import make_agent

    return make_agent(spec, seed, chat=chat)


def plan_trials(paradigm: str, seed: int, set_: list[str] | None, trials: int | None, design: str | None) -> tuple[Paradigm, list[PlannedTrial]]:
    """The paradigm, and the trials of a session that was asked for by options."""
    from ..paradigms import load_paradigm, plan_session, session_design

    loaded = load_paradigm(paradigm)
    return loaded, plan_session(loaded, seed, session_design(loaded, design), parse_levels(set_), trials)


def trigger_codes(paradigm: Paradigm, port: str | None, changes: list[str] | None) -> dict[str, Any]:
    """What the record of a session is to say of its trigger codes; empty when none are sent."""
    from ..sessions.triggers import parse_codes, trigger_request

    if not port:
        if changes:
            raise SpanLabError("--trigger-code changes codes that are not sent: add --triggers PORT (or --triggers dry), or leave it out")
        return {}
    return {"triggers": trigger_request(paradigm, port, parse_codes(changes))}


def begin_session(data: Path, paradigm: Paradigm, agent: Agent, planned: list[PlannedTrial], request: Request) -> Session:
    """A new session in the data folder."""
    from ..sessions import begin

    return begin(data, paradigm, agent, planned, request)


def run_session(session: Session, agent: Agent) -> None:
    """Run a session to its end; whatever stops it, the sentence says how to go on."""
    from ..sessions import Runner

    runner = Runner(session, agent)
    try:
        with progress_bar(f"{session.paradigm.name} · {agent.name}") as tell:
            runner.progress = tell
            runner.run()
    except KeyboardInterrupt:
        raise SpanLabError(f"interrupted; the finished trials are safe. Go on with: spanlab resume {session.folder}") from None
    except SpanLabError as error:
        raise SpanLabError(f"{error}\nThe finished trials are safe. Go on with: spanlab resume {session.folder}") from None
    print(session.folder)
