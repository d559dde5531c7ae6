"""The durations that a display can show, and those that it has shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import SpanLabError
from .data import table_lines
from .declared import PathLike, Paths, Result, Words, paths, public, words

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
    check: Annotated[
        Words,
        typer.Option(
            "--check",
            help="show the durations of this paradigm in whole refreshes; may be repeated",
            metavar="PARADIGM",
            show_default=False,
        ),
    ] = (),
    file: Annotated[
        PathLike | None,
        typer.Option("--file", help="for --check: use this display file, without measuring", metavar="FILE"),
    ] = None,
    hz: Annotated[
        float | None,
        typer.Option("--hz", help="for --check: use this refresh rate, without measuring", min=10, max=1000),
    ] = None,
) -> Result:
    """Measure the display on which sessions run, and save a file that they cite: spanlab run
    PARADIGM --display FILE."""
    from ..agents.human.display.file import DEFAULT_FILE, read_display, write_display

    if (file is not None or hz is not None) and not check:
        raise SpanLabError("--file and --hz go with --check PARADIGM, which then measures nothing")
    if hz is not None and file is not None:
        raise SpanLabError("--hz and --file both give a refresh rate: leave one out")
    if file is not None or hz is not None:
        return Result(list(rounded(words(check), hz or _rate(read_display(Path(file or DEFAULT_FILE))))))
    path = Path(output or DEFAULT_FILE)
    if path.exists() and not replace:
        raise SpanLabError(
            f"{path} exists already; give --replace to overwrite it with a new measurement, or name another file"
            " with -o"
        )
    from ..agents.human.display.measuring import measure_display
    from ..agents.human.display.window import need_window

    need_window()
    wide, far = (
        _asked(width_cm, "--screen-width", "Visible width of the screen in cm"),
        _asked(distance_cm, "--distance", "Distance from the eyes in cm"),
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
    found = Result([*summary(measured), *messages, str(path)], files=[path])
    if check:
        found.lines += rounded(words(check), _rate(measured))
    return found


def _asked(value: float | None, option: str, question: str) -> float:
    """Return the given value, or ask for it on the terminal."""
    if value is None:
        if not sys.stdin.isatty():
            raise SpanLabError(
                f"how wide is the screen, and how far away? Measure it, and give {option} CM (there is no terminal to"
                " ask at)"
            )
        value = float(typer.prompt(question, type=float))
    if not 1 <= value <= 1000:
        raise SpanLabError(f"{option} is a number of cm from 1 to 1000; found {value:g}")
    return value


def _rate(measured: DisplayFile) -> float:
    """The rate by which durations become refreshes: the screen's, or that by which flips are paced
    where it is not known."""
    return measured.refresh.hz or measured.refresh.paced_hz or 60.0


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


def rounded(paradigms: Sequence[str], hz: float) -> Iterator[str]:
    """The durations of paradigms as a display shows them: planned, in refreshes, shown, and how far
    off."""
    from ..agents.human.display.frames import FrameGrid, roundings
    from ..paradigms import load_paradigm
    from ..paradigms.preview.timetable import durations

    rows = []
    for name in paradigms:
        paradigm = load_paradigm(name)
        timed = [
            (phase, ms)
            for phase, listed in durations(paradigm).items()
            for each in listed
            for ms in each
            if ms is not None
        ]
        for rounding in roundings(timed, FrameGrid(hz)):
            numbers = (
                f"{rounding.planned_ms:g}",
                str(rounding.frames),
                f"{rounding.shown_ms:.2f}",
                f"{rounding.error_ms:+.2f}",
                f"{rounding.share:+.1%}",
            )
            rows.append((paradigm.name, rounding.phase, *numbers, rounding.complaint))
    yield f"at {hz:.3f} Hz"
    yield from table_lines(("paradigm", "phase", "planned ms", "refreshes", "shown ms", "error ms", "share", ""), rows)


@public
def timing(
    sessions: Annotated[
        Paths, typer.Argument(help="sessions, or folders full of them (a study)", metavar="SESSION...")
    ],
) -> Result:
    """Compare planned with actual timing: durations, onsets, the clock of reaction times, late
    frames; with a verdict for each session."""
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
