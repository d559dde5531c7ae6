"""The table of ``spanlab monitor``, once or drawn again and again. Part of the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .commands.listing import print_table

if TYPE_CHECKING:
    from ..sessions.studies.monitoring import MonitoredSession


def show_once(name: str, folder: Path, look: Callable[[float], list[MonitoredSession]], everything: bool) -> None:
    """Print the table as it is now."""
    from ..sessions.studies.monitoring import describe_standings, standings, table_of

    now = time.time()
    seen = look(now)
    table = table_of(seen, now, everything)
    if not table.rows:
        print(f"no session of {name} {'is' if everything else 'had a sign in the last 24 hours'} in {folder}{_older(table.left_out)}")
        return
    print_table(table.header, list(table.rows))
    print(f"\n{name}: {describe_standings(standings(seen))}{_older(table.left_out)}")


def show_live(name: str, folder: Path, look: Callable[[float], list[MonitoredSession]], every: float, everything: bool) -> None:
    """Draw the table again and again, until Ctrl-C."""
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from ..sessions.studies.monitoring import describe_standings, standings, table_of

    with Live(refresh_per_second=4, screen=False) as live:
        try:
            while True:
                now = time.time()
                seen = look(now)
                rows = table_of(seen, now, everything)
                table = Table(*(rows.header or ("waiting for a session",)), box=None, pad_edge=False)
                for line, state in zip(rows.rows, rows.states, strict=True):
                    table.add_row(*(Text(cell) for cell in line), style=_style(state))
                clock = time.strftime("%H:%M:%S", time.localtime(now))
                counts = f": {describe_standings(standings(seen))}" if seen else ""
                live.update(
                    Group(Text(f"{name} in {folder}, {clock}{counts}{_older(rows.left_out)} (Ctrl-C ends this; nothing is written)\n", style="dim"), table)
                )
                time.sleep(every)
        except KeyboardInterrupt:
            return


def _style(state: str) -> str:
    alarming = {"silent": "yellow", "interrupted": "yellow", "dropped out": "yellow", "unreadable": "red"}
    return {"running": "bold", "finished": "dim", **alarming}.get(state, "")


def _older(many: int) -> str:
    return f"; {many} older {'row' if many == 1 else 'rows'} with --all" if many else ""
