"""What commands that run sessions share: who sits down, which trials, and the session from its first trial to its last. Part of the command line."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import parse_generator, parse_levels, progress_bar
from ..errors import SpanLabError
from ..extras import need
from .chatting import account_for, say

if TYPE_CHECKING:
    from ..agents.chat.settings import ChatSettings
    from ..agents.chat.totals import Prices
    from ..agents.protocol import Agent, WindowAgent
    from ..cluster import Crew
    from ..paradigms import Paradigm, PlannedTrial, Trial
    from ..sessions import Request, Session


def window_options(windowed: bool, width_cm: float | None, distance_cm: float | None, display: Path | None, patch: str | None) -> dict[str, Any]:
    """How somebody sits at the window, as options say it.

    Raises
    ------
    SpanLabError
        when the display file cannot be read, or the same is said twice.
    """
    from ..agents.participant.display_file import read_display

    options: dict[str, Any] = {"fullscreen": not windowed, "patch": patch or ""}
    if display is not None:
        if width_cm is not None or distance_cm is not None:
            raise SpanLabError(f"{display} says how wide and how far the screen is: leave out --screen-width and --distance, or measure again: spanlab display")
        return {**options, "display": read_display(display)}
    return {**options, "width_cm": width_cm, **({} if distance_cm is None else {"distance_cm": distance_cm})}


def window_again(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How somebody sat at the window, from the settings in a session's record."""
    from ..agents.participant.display_file import cited_display
    from ..agents.participant.refractory import refractory_from

    options: dict[str, Any] = {"fullscreen": settings["fullscreen"], "patch": settings.get("patch", {}).get("text", "")}
    options |= {name: settings[name] for name in ("theme", "palette", "buttons", "font") if name in settings}
    if "refractory" in settings:
        options["refractory"] = refractory_from(settings["refractory"])
    options |= defaults_of_then(settings)
    if "display" in settings:
        return {**options, "display": cited_display(settings["display"])}
    return {**options, "width_cm": settings["screen_width_cm"], "distance_cm": settings["distance_cm"]}


def defaults_of_then(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How somebody sat at the window beyond what options say, from the settings in a session's record: the defaults of then."""
    options = {argument: settings[name] for argument, name in _BEYOND_OPTIONS.items() if name in settings}
    return {**options, **({"size_px": tuple(settings["window_px"])} if settings.get("window_px") else {})}


#: arguments of a participant that no option sets, and their names in a record
_BEYOND_OPTIONS = {**{name: name for name in ("screen", "paced_hz", "keyboard", "guard_ms", "answers")}, "size_deg": "canvas_deg"}


def tell_unspoken(language: str) -> None:
    """Say on stderr when a session is in a language that the window and legends do not speak."""
    from ..core.locale import languages

    if language not in languages():
        print(f"spanlab: the window and legends speak {', '.join(languages())}; what they say themselves is in English, not in '{language}'", file=sys.stderr)


def check_patch(patch: str | None, paradigm: Paradigm, planned: list[PlannedTrial]) -> None:
    """Whether the phases that a corner patch is to mark come in this session.

    Raises
    ------
    SpanLabError
        with the one that does not come.
    """
    if patch:
        from ..agents.participant.patch import read_patch

        trials = [one.compile(paradigm, "corrected") for one in planned] if read_patch(patch).phases else []
        read_patch(patch).check({step.percept.phase for trial in trials for step in trial.steps})


#: what ports of triggers and button boxes need, by how their addresses begin
_PORT_PACKAGES = {"serial": "serial", "lsl": "pylsl"}


def person(simulate: str | None, seed: int, speed: float, window: dict[str, Any]) -> WindowAgent:
    """Somebody at the window: a person, or the simulated participant. A port for trigger codes is open from here on, so that a recorder can take it up.

    Raises
    ------
    SpanLabError
        when a package is not installed, there is no display that can be reached, or the port does not take codes.
    """
    from ..agents.participant.display import need_window

    for port in (window.get("triggers"), window.get("buttons")):
        kind = str(port or "").partition(":")[0]
        if kind in _PORT_PACKAGES:
            need("triggers", _PORT_PACKAGES[kind], f"'{port}'")
    if simulate is not None:
        need("lab", "Xlib", "the simulated participant")
    need_window()
    if simulate is not None:
        from ..agents.participant.simulated import SimulatedParticipant
        from ..agents.protocol import AgentOptions

        observer, speed = parse_simulate(simulate, speed)
        agent: WindowAgent = SimulatedParticipant.from_name(observer, AgentOptions(seed, window={"speed": speed, **window}))
    else:
        from ..agents.participant.participant import Participant

        agent = Participant(**window)
    agent.ready()
    return agent


def parse_simulate(simulate: str, speed: float) -> tuple[str, float]:
    """The observer and the speed that ``--simulate OBSERVER[@SPEED]`` and ``--speed`` stand for; ``capacity:5@8`` has 5 places and is 8 times as fast.

    Raises
    ------
    SpanLabError
        when the speed is none, or said twice.
    """
    observer, at, given = simulate.partition("@")
    kind, colon, detail = observer.partition(":")
    if kind in ("ideal", "chance") and colon:
        raise SpanLabError(f"--simulate {simulate}: after a colon comes the size of the buffer of 'capacity'; a speed is written {kind}@{detail or 8}")
    if not at:
        return observer, speed
    if speed != 1.0:
        raise SpanLabError(f"--simulate {simulate} says the speed already: leave out --speed")
    try:
        speed = float(given)
    except ValueError:
        speed = math.nan
    if not 0.1 <= speed <= 100:
        raise SpanLabError(f"--simulate {simulate}: the speed after the @ is a number from 0.1 to 100, such as {observer}@8")
    return observer, speed


def machine(
    spec: str, seed: int, chat: Mapping[str, Any] | ChatSettings | None = None, care: Mapping[str, Any] | None = None, prices: Prices | None = None
) -> Agent:
    """An agent by its name; recorded answers, too."""
    if spec.startswith("recorded:"):
        from ..sessions.replaying import recorded_agent

        return recorded_agent(spec)
    from ..agents.specs import make_agent

    agent = make_agent(spec, seed, chat=chat, care=care, prices=prices)
    for line in agent.introduction():
        print(f"spanlab: {line}", file=sys.stderr)
    return agent


def plan_trials(
    paradigm: Paradigm, seed: int, set_: list[str] | None, trials: int | None, design: str | None, generator: str = "corrected"
) -> list[PlannedTrial]:
    """The trials of a session that was asked for by options."""
    from ..paradigms import plan_session, session_design

    return plan_session(paradigm, seed, session_design(paradigm, design), parse_levels(set_), trials, parse_generator(generator))


def one_trial(paradigm: str, set_: list[str] | None, seed: int, generator: str) -> tuple[Paradigm, Trial]:
    """One trial to look at: the middle level of every factor that was not set.

    Raises
    ------
    SpanLabError
        when several levels of a factor are given.
    """
    from ..paradigms import compile_trial, load_paradigm

    loaded = load_paradigm(paradigm)
    levels = parse_levels(set_)
    for name, values in levels.items():
        if len(values) > 1:
            raise SpanLabError(f"one trial has one level of '{name}'; found {len(values)}")
    chosen = {name: factor.levels[len(factor.levels) // 2] for name, factor in loaded.factors.items() if factor.mode == "crossed"}
    chosen |= {name: values[0] for name, values in levels.items()}
    return loaded, compile_trial(loaded, chosen, seed, parse_generator(generator))


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


def run_session(session: Session, agent: Agent, crew: Crew | None = None, fresh: bool = True, retry_failed: bool = False) -> None:
    """Run a session to its end; whatever stops it, the sentence says how to go on.

    Parameters
    ----------
    fresh : whether this command has begun it; then its folder is removed again when it cannot start
    retry_failed : whether trials that could not be had are asked for again
    """
    from ..agents.participant.errors import Abandoned
    from ..agents.protocol import ConcurrentAgent
    from ..sessions import Runner
    from ..sessions.unused import has_finished, remove_unused

    tally = agent.status_line if isinstance(agent, ConcurrentAgent) else None
    try:
        runner = Runner(session, agent, say=say, crew=crew, retry_failed=retry_failed)
        with progress_bar(f"{session.paradigm.name} · {agent.name}", tally) as tell:
            if tally is not None:
                tell(0, len(session.plan))  # trials take turns, so that none may be over for long
            runner.progress = tell
            runner.run()
    except KeyboardInterrupt:
        safe = "; the finished trials are safe" if has_finished(session.folder) else " before any trial was finished"
        raise SpanLabError(f"interrupted{safe}. Go on with: spanlab resume {session.folder}") from None
    except SpanLabError as error:
        if fresh and not isinstance(error, Abandoned) and remove_unused(session.folder):
            raise SpanLabError(f"{error}\nNothing was begun, and no session is left behind.") from None
        safe = "The finished trials are safe." if has_finished(session.folder) else "No trial is finished yet."
        raise SpanLabError(f"{error}\n{safe} Go on with: spanlab resume {session.folder}") from None
    finally:
        if session.folder.exists():
            account_for(agent, session)
    if runner.span is not None:
        print(_told(runner.span))
    print(session.folder)


def _told(span: Mapping[str, Any]) -> str:
    """The end of an adaptive session in a sentence."""
    factor, trials, turns = span["factor"].replace("_", " "), span["trials"], len(span["reversals"])
    if span["span"] is None:
        return f"no span can be estimated: {trials} trials had {turns} reversals"
    return f"span: {factor} {span['span']:g} ({turns} reversals in {trials} trials; {span['formula']})"
