"""The durations that a display can show, and those that it has shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import SpanLabError
from .options import PathLike, Paths, Result, paths, public

if TYPE_CHECKING:
    from ..agents.human.display.file import DisplayFile


@public
def display(
    *,
    output: Annotated[
        PathLike | None,
        typer.Option(
            "-o", "--output", help="display file to write; display.yaml in this folder when not given", metavar="FILE"
        ),
    ] = None,
    screen: Annotated[int, typer.Option("--screen", help="number of the screen, from 0", min=0, max=99)] = 0,
    width_cm: Annotated[
        float | None,
        typer.Option(
            "--screen-width",
            "--width-cm",
            help="visible width of the screen in cm, measured with a ruler",
            min=1,
            max=1000,
        ),
    ] = None,
    distance_cm: Annotated[
        float | None,
        typer.Option("--distance", "--distance-cm", help="distance from the eyes to the screen in cm", min=1, max=1000),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", help="how long to measure (s)", min=1, max=600)] = 5.0,
    replace: Annotated[bool, typer.Option("--replace", help="overwrite an existing file")] = False,
    windowed: Annotated[bool, typer.Option("--windowed", help="use a window instead of the full screen")] = False,
    language: Annotated[str, typer.Option("--language", help="language of the notice on the screen")] = "en",
) -> Result:
    """Measure the display on which sessions run, and save a file that they cite: spanlab run
    PARADIGM --display FILE.

    Examples
    --------
    >>> found = spanlab.display(width_cm=53, distance_cm=60, seconds=1, output="display.yaml")
    >>> found.file.name
    'display.yaml'
    """
    from ..agents.human.display.file import DEFAULT_FILE, write_display

    path = Path(output or DEFAULT_FILE)
    if path.exists() and not replace:
        raise SpanLabError(
            f"{path} exists already; give {{replace}} to overwrite it with a new measurement, or name another file"
            " with {output}",
            names=["replace", "output"],
        )
    from ..agents.human.display.file import measure_display
    from ..agents.human.display.window import need_window

    need_window()
    wide, far = (
        _asked(width_cm, "width_cm", "Visible width of the screen in cm"),
        _asked(distance_cm, "distance_cm", "Distance from the eyes in cm"),
    )
    messages: list[str] = []
    measured = measure_display(
        width_cm=wide,
        distance_cm=far,
        screen=screen,
        seconds=seconds,
        fullscreen=not windowed,
        language=language,
        say=messages.append,
    )
    write_display(measured, path, replace)
    return Result([*summary(measured), *messages, str(path)], files=[path])


def _asked(value: float | None, option: str, question: str) -> float:
    """Return the given value, or ask for it on the terminal."""
    if value is None:
        if not sys.stdin.isatty():
            raise SpanLabError(
                f"how wide is the screen, and how far away? Measure it, and give {{{option}}} CM (there is no"
                " terminal to ask at)",
                names=[option],
            )
        value = float(typer.prompt(question, type=float))
    if not 1 <= value <= 1000:
        raise SpanLabError(f"is a number of cm from 1 to 1000; found {value:g}", option=option)
    return value


def summary(measured: DisplayFile) -> list[str]:
    """The measurements in a few lines."""
    screen, refresh, keyboard = measured.screen, measured.refresh, measured.keyboard
    rate = (
        f"{refresh.hz:.3f} Hz"
        if refresh.hz is not None
        else f"the refresh rate cannot be known: flips do not wait for the screen ({refresh.trouble})"
    )
    polled = f"looked at every {keyboard.polled_ms:.2f} ms (99% of the time within {keyboard.polled_p99_ms:.1f} ms)"
    return [
        (
            f"screen {screen.number}: {screen.resolution_px[0]} x {screen.resolution_px[1]} pixels, {screen.width_cm:g}"
            f" cm wide, {screen.distance_cm:g} cm away"
        ),
        f"refresh: {rate}",
        (
            f"flips: {refresh.flips} in {refresh.seconds:g} s, {refresh.interval_ms:.3f} ms apart, sd"
            f" {refresh.sd_ms:.3f} ms, 99% within {refresh.p99_ms:.2f} ms, longest {refresh.longest_ms:.2f} ms,"
            f" {refresh.missed} refreshes missed"
        ),
        f"keyboard: {keyboard.backend}, {keyboard.devices} devices, {polled}",
        f"graphics: {measured.opengl.renderer} ({measured.opengl.vendor}), OpenGL {measured.opengl.version}",
    ]


@public
def timing(
    sessions: Annotated[
        Paths, typer.Argument(help="sessions, or folders full of them (a study)", metavar="SESSION...")
    ],
) -> Result:
    """Compare planned with actual timing: durations, onsets, the clock of reaction times, late
    frames; with a verdict for each session.

    Examples
    --------
    Only sessions at a window have timing:

    >>> result = spanlab.replay("vsr", "ideal", trials=2, seed=1, levels={"list_length": 2})
    >>> spanlab.timing(result.folder)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: no display was shown for a given time in vsr-ideal-s1: ...
    """
    from ..analysis.data.timing import IN_BROWSERS, read_timings, verdict

    timings, others = read_timings(paths(sessions))
    verdicts = [verdict(session) for session in timings]
    found = Result(
        tables={"sessions": [{"holds": one.holds, "line": one.line} for one in verdicts]},
    )
    for session, result in zip(timings, verdicts, strict=True):
        found.lines.append(result.line)
        if idle := session.idle_presses():
            found.lines.append(f"  presses that did not count: {idle}")
    if len(verdicts) > 1:
        found.lines.append(f"{sum(result.holds for result in verdicts)} of {len(verdicts)} sessions pass")
    if pages := sum(session.at_page for session in timings):
        found.lines.append(f"in a browser ({pages} of {len(timings)}): {IN_BROWSERS}")
    if others:
        found.lines.append(f"without timed displays: {', '.join(others)}")
    return found
