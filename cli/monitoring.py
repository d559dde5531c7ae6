"""The table of ``spanlab monitor``, once or drawn again and again. Part of the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .commands.listing import print_table

if TYPE_CHECKING:
    from ..sessions.studies.monitoring import Watched

#: All columns; those without a value in any row are left out.
_HEADER = (
    *("participant", "group", "session", "paradigm", "state", "trials", "right", "latest"),
    *("displays off", "worst", "dropped", "triggers", "left", "last sign", "note"),
)
_DAY_S = 24 * 3600.0


def show_once(name: str, folder: Path, look: Callable[[float], list[Watched]], everything: bool) -> None:
    """Print the table as it is now."""
    now = time.time()
    rows, left_out = table_of(look(now), now, everything)
    if not rows:
        print(f"no session of {name} {'is' if everything else 'had a sign in the last 24 hours'} in {folder}{_older(left_out)}")
        return
    print_table(*_kept(rows))
    if left_out:
        print(f"\n{_older(left_out).removeprefix('; ')}")


def show_live(name: str, folder: Path, look: Callable[[float], list[Watched]], every: float, everything: bool) -> None:
    """Draw the table again and again, until Ctrl-C."""
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    with Live(refresh_per_second=4, screen=False) as live:
        try:
            while True:
                now = time.time()
                rows, left_out = table_of(look(now), now, everything)
                header, lines = _kept(rows) if rows else (("waiting for a session",), [])
                table = Table(*header, box=None, pad_edge=False)
                for line in lines:
                    table.add_row(*(Text(cell) for cell in line), style=_style(line[header.index("state")]))
                clock = time.strftime("%H:%M:%S", time.localtime(now))
                live.update(Group(Text(f"{name} in {folder}, {clock}{_older(left_out)} (Ctrl-C ends this; nothing is written)\n", style="dim"), table))
                time.sleep(every)
        except KeyboardInterrupt:
            return


def _style(state: str) -> str:
    return {"running": "bold", "silent": "yellow", "interrupted": "yellow", "unreadable": "red", "finished": "dim"}.get(state, "")


def _older(many: int) -> str:
    return f"; {many} older {'row' if many == 1 else 'rows'} with --all" if many else ""


def table_of(seen: list[Watched], now: float, everything: bool) -> tuple[list[tuple[str, ...]], int]:
    """The rows of the table, and how many older ones are left out."""
    recent = [one for one in seen if everything or now - one.sign < _DAY_S]
    return [_row(one, now) for one in recent], len(seen) - len(recent)


def _row(one: Watched, now: float) -> tuple[str, ...]:
    trials = f"{one.done}/{one.planned}" if one.planned else ""
    if one.practice and not one.done and one.state != "finished":
        trials += f" (practice: {one.practice})"
    return (
        one.participant,
        one.group,
        one.session,
        one.paradigm,
        one.state,
        trials,
        f"{one.right / one.items:.0%}" if one.items else "",
        f"{one.latest:.0%}" if one.latest is not None else "",
        f"{one.off} of {one.displays}" if one.displays else "",
        f"{one.worst_ms:+.1f} ms" if one.displays else "",
        str(one.dropped) if one.displays else "",
        f"{one.sent} sent" + (f", {one.unsent} NOT sent" if one.unsent else "") if one.sent or one.unsent else "",
        f"about {_time(one.left_s)}" if one.left_s is not None else "",
        f"{_time(max(0.0, now - one.sign))} ago",
        one.note,
    )


def _time(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _kept(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table without columns that are empty in every row."""
    kept = [at for at in range(len(_HEADER)) if any(row[at] for row in rows)]
    return tuple(_HEADER[at] for at in kept), [tuple(row[at] for at in kept) for row in rows]
