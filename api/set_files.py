"""``spanlab replay --set-file``: many sessions from one file. Part of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .data import table_lines
from .declared import Result
from .options import watcher

if TYPE_CHECKING:
    from ..sessions.evaluations.evaluation_set import SetProgress


def run_set(file: Path, data: Path, status: bool) -> Result:
    """Run a set, or show its progress.

    Raises
    ------
    SpanLabError
        when something is wrong with the file.
    """
    from ..agents.chat.cost.totals import money, short
    from ..sessions.evaluations.evaluation_set import EvaluationSet

    evaluation_set = EvaluationSet(file, data)
    watching = watcher()
    if status:
        progress: Sequence[SetProgress] = evaluation_set.progress()
    else:
        check = evaluation_set.check(watching)
        if check["sessions"]:
            cost = f"; cost about {money(check['cost'])}" if check["cost"] else ""
            requests = f": about {check['requests']:,.0f} requests and {short(round(check['tokens']))} tokens{cost}"
            watching.say(
                f"{file.name}: {check['sessions']:,.0f} of {len(evaluation_set.entries):,} sessions to begin"
                f"{requests if check['requests'] else ''}"
            )
        progress = evaluation_set.run(watching)
    rows = [_row(session) for session in progress]
    shown = [
        {
            **row,
            "trials": f"{row['trials']:,} of {row['planned']:,}" if row["planned"] else "",
            "tokens": short(row["tokens"]) if row["tokens"] else "",
            "cost": "" if row["cost"] is None else money(row["cost"]),
            "failed": row["failed"] or "",
            "repeat": "" if row["repeat"] == 1 else row["repeat"],
        }
        for row in rows
    ]
    header = (
        "agent",
        "paradigm",
        "settings",
        "wording",
        "repeat",
        "state",
        "trials",
        "failed",
        "tokens",
        "cost",
        "why",
    )
    lines = list(table_lines(header, [[str(row[name]) for name in header] for row in shown], width=140))
    states = [session.state for session in progress]
    counts = {state: states.count(state) for state in ("done", "stopped", "begun", "waiting")}
    lines.append(", ".join(f"{count:,} {state}" for state, count in counts.items() if count) + _taken(progress))
    if removed := evaluation_set.removed():
        names = ", ".join(session.folder.name for session in removed if session.folder is not None)
        lines.append(f"no longer in the file, but part of the budget: {names}{_taken(removed)}")
    found = Result(lines, {"sessions": rows})
    left = len(states) - counts["done"]
    if left and not status:
        found.wrong = [
            f"{left:,} of {len(states):,} sessions are not done; what is finished is saved; run the same command to"
            " continue"
        ]
    return found


def _row(session: SetProgress) -> dict[str, Any]:
    """A session of a set, for programs."""
    entry = ("agent", "paradigm", "settings", "wording", "repeat")
    progress = ("state", "trials", "planned", "failed", "tokens", "cost", "why")
    return {
        **{name: getattr(session.entry, name) for name in entry},
        **{name: getattr(session, name) for name in progress},
        "session": session.folder,
    }


def _taken(progress: Sequence[SetProgress]) -> str:
    """Describe the total cost of some sessions."""
    from ..agents.chat.cost.totals import money, short

    tokens, cost = sum(session.tokens for session in progress), sum(session.cost or 0.0 for session in progress)
    return (f"; {short(tokens)} tokens" if tokens else "") + (f"; cost {money(cost)}" if cost else "")
