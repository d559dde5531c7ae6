"""``spanlab contamination``: known trials against fresh ones. Part of the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlab.core import SpanLabError

if TYPE_CHECKING:
    from .comparing import Contamination


def contamination(
    data: Annotated[
        list[Path],
        typer.Argument(
            help="sessions with known trials and with fresh ones, or folders of sessions", metavar="DATA..."
        ),
    ],
    margin: Annotated[list[str] | None, typer.Option("--margin", help="a difference up to this counts as none")] = None,
    accept_unread: Annotated[
        bool, typer.Option("--accept-unread", help="test also where many replies could not be read")
    ] = False,
) -> None:
    """Test whether a model is better on known trials, such as published ones, than on fresh ones
    with the same levels (spanlab replay --fresh)."""
    from spanlab.analysis.stats import read_margins

    from .comparing import compared

    margins = read_margins(margin or ())
    if any(declared.unit != "points" for declared in margins):
        raise SpanLabError("--margin is in points here, such as 5points: shares of right answers are compared")
    rows, problems = compared(data, margins[0] if margins else None, accept_unread)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    tests = sum(row.difference is not None for row in rows)
    for row in rows:
        print(_in_words(row, tests))


def _in_words(row: Contamination, tests: int) -> str:
    unread = f"; unread {row.unread[0]:.0%} and {row.unread[1]:.0%}" if max(row.unread) > 0 else ""
    shares = (
        f"{row.paradigm}, {row.agent}: {row.known:.1%} right in {row.trials[0]} known trials, {row.fresh:.1%} in"
        f" {row.trials[1]} fresh ones{unread}"
    )
    if row.difference is None:
        return f"{shares}; not tested ({row.note})"
    p = f"p = {row.p:.3f}" if row.p >= 0.001 else "p < .001"
    p += f" (Holm, {tests} tests)" if tests > 1 else ""
    low, high = row.difference.interval(0.95)
    interval = (
        f"{100 * row.difference.value:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}],"
        f" t({row.difference.df:.1f}), {p}"
    )
    return f"{shares}; {interval}: {row.verdict}"
