"""``spanlab migrate``: records of sessions in the newest format. Part of the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import SpanLabError


def migrate(
    sessions: Annotated[list[Path], typer.Argument(help="finished sessions, or folders of sessions", metavar="SESSION...")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="migrate a copy in this new folder; the original stays as it is", metavar="DIR")] = None,
) -> None:
    """Write records of older formats in the newest one; older ones stay readable without this."""
    from ...exchange.migration import migrate as in_place
    from ...exchange.migration import migrate_beside

    if output is not None and len(sessions) > 1:
        raise SpanLabError("with -o, name one session, or one folder of sessions")
    migrated = in_place(sessions) if output is None else migrate_beside(sessions[0], output)
    for one in migrated:
        if one.became == "refused":
            print(f"{one.folder} stays as it is: {one.why}", file=sys.stderr)
        else:
            print(f"{one.folder}: {one.why}")
    if refused := sum(one.became == "refused" for one in migrated):
        raise SpanLabError(f"{refused} of {len(migrated)} sessions {'stays as it is' if refused == 1 else 'stay as they are'}")
