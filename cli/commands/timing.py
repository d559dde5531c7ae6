"""``spanlab timing``: the timing of sessions, planned and actual. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def timing(
    sessions: Annotated[list[Path], typer.Argument(help="sessions, or folders full of them (a study)", metavar="SESSION...")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="draw a figure to this file (.png, .svg or .pdf)", metavar="FILE")] = None,
) -> None:
    """Compare planned with actual timing: durations, onsets, the clock of reaction times, late frames; with a verdict for each session."""
    from ...analysis.data.timing import read_timings, verdict
    from ...analysis.figures.charts import save_as
    from ...analysis.figures.timing_chart import timing_chart

    timings, others = read_timings(sessions)
    verdicts = [verdict(session) for session in timings]
    for session, result in zip(timings, verdicts, strict=True):
        print(result.line)
        if idle := session.idle_presses():
            print(f"  presses that did not count: {idle}")
    if len(verdicts) > 1:
        print(f"{sum(result.holds for result in verdicts)} of {len(verdicts)} sessions pass")
    if others:
        print(f"without timed displays: {', '.join(others)}")
    if output is not None:
        print(save_as(timing_chart(timings, verdicts), output))
