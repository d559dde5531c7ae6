"""Somebody at the window: a person, or the simulated participant; for a new session, or as they sat
when it began."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...core.doors import need
from ...core.errors import SpanLabError
from ..base import AgentOptions
from ..window import WindowAgent

#: what ports of triggers and button boxes need, by how their addresses begin
_PORT_PACKAGES = {"serial": "serial", "lsl": "pylsl"}
#: fields of the window options, and answers of the simulated participant, that no option sets, and
#: their names in a record
_BEYOND_OPTIONS = {
    **{name: name for name in ("screen", "paced_hz", "keyboard", "guard_ms", "answers")},
    "size_deg": "canvas_deg",
}


def seat(simulate: str | None, seed: int, window: Mapping[str, Any]) -> WindowAgent:
    """A person, or an observer that presses real keys and clicks. A port for trigger codes is open
    from here on, so that a recorder can take it up.

    Parameters
    ----------
    simulate : the observer and its speed; None for a person
    seed : of the simulated participant
    window : fields of ``WindowOptions``

    Raises
    ------
    SpanLabError
        when a package is not installed, there is no display that can be reached, or the port does
        not take codes.
    """
    from .display.window import need_screen, need_window

    for port in (window.get("triggers"), window.get("buttons"), window.get("scanner")):
        kind = str(port or "").partition(":")[0]
        if kind in _PORT_PACKAGES:
            need("triggers", _PORT_PACKAGES[kind], f"'{port}'")
    if simulate is not None:
        need("lab", "Xlib", "the simulated participant")
    need_window()
    display = window.get("display")
    need_screen(display.screen.number if display is not None else int(window.get("screen") or 0))
    if simulate is not None:
        from .simulated import SimulatedParticipant

        observer, speed = parse_simulate(simulate)
        agent: WindowAgent = SimulatedParticipant.from_name(
            observer, AgentOptions(seed, window={"speed": speed, **window})
        )
    else:
        from .participant import Participant
        from .window_options import WindowOptions

        agent = Participant(WindowOptions(**window))
    agent.ready()
    return agent


def window_again(settings: Mapping[str, Any], screen: int | None = None) -> dict[str, Any]:
    """Return how somebody sat at the window, from the settings in a session's record: fields of
    ``WindowOptions``.

    Parameters
    ----------
    screen : number of the screen, where it is to be another one

    Raises
    ------
    SpanLabError
        when the session cites the measurements of another screen.
    """
    from .display.file import cited_display

    window: dict[str, Any] = {
        "fullscreen": settings["fullscreen"],
        "patch": "{corner}:{cm:g}".format(**settings["patch"]) if "patch" in settings else "",
    } | {name: settings[name] for name in ("palette", "buttons", "scanner", "font", "focus") if name in settings}
    window |= defaults_of_then(settings)
    if screen is not None:
        window["screen"] = screen
    if "display" in settings:
        display = cited_display(settings["display"])
        if screen is not None and screen != display.screen.number:
            raise SpanLabError(
                f"the session cites a display file of screen {display.screen.number}, and its window cannot open on"
                f" screen {screen}: leave out --screen, or begin a new session with a display file of that screen"
            )
        return {**window, "display": display}
    return {**window, "width_cm": settings["screen_width_cm"], "distance_cm": settings["distance_cm"]}


def defaults_of_then(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return how somebody sat at the window beyond what options say, from the settings in a
    session's record."""
    options = {argument: settings[name] for argument, name in _BEYOND_OPTIONS.items() if name in settings}
    return {**options, **({"size_px": tuple(settings["window_px"])} if settings.get("window_px") else {})}


def parse_simulate(simulate: str) -> tuple[str, float]:
    """The observer and the speed that ``OBSERVER[@SPEED]`` stands for; ``capacity:5@8`` has 5 places
    and is 8 times as fast.

    Raises
    ------
    SpanLabError
        when the speed is not a possible one.
    """
    observer, at, factor = simulate.partition("@")
    try:
        speed = float(factor) if at else 1.0
    except ValueError:
        speed = math.nan
    if not 0.1 <= speed <= 100:
        raise SpanLabError(
            f"{simulate}: the speed after the @ is a number from 0.1 to 100, such as {observer}@8", option="simulate"
        )
    return observer, speed
