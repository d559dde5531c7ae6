"""Functions shared by commands that run sessions: window options, trials, and the end of a session. Part of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SpanLabError
from .options import parse_generator, parse_levels, progress_bar

if TYPE_CHECKING:
    from ..paradigms import Paradigm, Trial
    from ..sessions import Session
    from ..sessions.conduct import Watcher


def window_options(
    windowed: bool,
    width_cm: float | None,
    distance_cm: float | None,
    display: Path | None,
    patch: str | None,
    canvas: float | None = None,
    screen: int | None = None,
) -> dict[str, Any]:
    """The settings of the window from the options.

    Raises
    ------
    SpanLabError
        when the display file cannot be read, or the same is said twice.
    """
    options: dict[str, Any] = {"fullscreen": not windowed, "patch": patch or "", **({} if canvas is None else {"size_deg": canvas})}
    options |= {} if screen is None else {"screen": screen}
    if display is not None:
        if width_cm is not None or distance_cm is not None:
            raise SpanLabError(
                f"{display} has the width and distance of the screen: leave out --screen-width and --distance, or measure again: spanlab display"
            )
        return with_display(options, display)
    return {**options, "width_cm": width_cm, **({} if distance_cm is None else {"distance_cm": distance_cm})}


def with_display(window: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The settings of the window with a display file.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or is of another screen than the one on which the window is to open.
    """
    from ..agents.human.display.file import read_display

    display, screen = read_display(file), window.get("screen")
    if screen is not None and screen != display.screen.number:
        raise SpanLabError(
            f"{file} was measured on screen {display.screen.number}, and the window is to open on screen {screen}: leave out --screen, "
            f"or measure that screen: spanlab display --screen {screen} -o FILE"
        )
    return {**window, "display": display}


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


def terminal() -> Watcher:
    """A watcher that reports to the terminal."""
    from ..sessions.conduct import Watcher

    return Watcher(bar=progress_bar)


def print_session(session: Session, span: Mapping[str, Any] | None) -> None:
    """Print where the record of a session is, and the result of an adaptive one."""
    from ..sessions.record.staircase import describe_span

    if span is not None:
        print(describe_span(span))
    print(session.folder)
