"""``spanlab replay --set-file``: many sessions from one file. Part of the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SpanLabError
from .data import table_lines
from .declared import Result
from .options import watcher

if TYPE_CHECKING:
    from ..sessions.evaluations.evaluation_set import SetProgress

#: a longer reason stands below the table
_WIDEST = 60


def run_set(file: Path, data: Path, status: bool, report: Path | None) -> Result:
    """Run a set or show its progress; then write its report, if one is wanted.

    Raises
    ------
    SpanLabError
        when something is wrong with the file, and when sessions are left.
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
            requests = (
                f": about {check['requests']:,.0f} requests and {short(round(check['tokens']))} tokens{cost}"
                if check["requests"]
                else ""
            )
            watching.say(
                f"{file.name}: {check['sessions']:,.0f} of {len(evaluation_set.entries):,} sessions to begin{requests}"
            )
        progress = evaluation_set.run(watching)
    found = Result(tables={"sessions": _rows(progress)}, lines=list(_lines(progress)))
    if removed := evaluation_set.removed():
        names = ", ".join(session.folder.name for session in removed if session.folder is not None)
        sessions = "session" if len(removed) == 1 else "sessions"
        found.lines.append(
            f"no longer in the file, but part of the budget: {len(removed):,} {sessions} ({names}){_taken(removed)}"
        )
    folders = [session.folder for session in progress if session.folder is not None]
    if report is not None and folders:
        from ..analysis.report.page import Options, compare
        from ..sessions.transcripts.pages import report_pages

        with_answers = [
            session.folder for session in progress if session.folder is not None and session.state == "done"
        ]
        if not with_answers:
            raise SpanLabError("no session of the set is done, so there is nothing to report")
        if len(with_answers) < len(progress):
            done, left = len(with_answers), len(progress) - len(with_answers)
            sessions = "session that is" if done == 1 else "sessions that are"
            watching.say(
                f"The report has the {done:,} {sessions} done; {left:,} of the set {'is' if left == 1 else 'are'} not"
                " in it."
            )
        found.files = [compare(with_answers, report, Options(), report_pages(with_answers, report))]
        found.lines.append(str(found.files[0]))
    unfinished = sum(session.state != "done" for session in progress)
    if unfinished and not status:
        found.wrong = [
            f"{unfinished:,} of {len(progress):,} sessions are not done; what is finished is saved; run the same"
            " command to continue"
        ]
    return found


def _rows(progress: Sequence[SetProgress]) -> list[dict[str, Any]]:
    """The sessions of a set, for programs."""
    return [
        {
            **{name: getattr(session.entry, name) for name in ("agent", "paradigm", "settings", "wording", "repeat")},
            **{
                name: getattr(session, name)
                for name in ("state", "trials", "planned", "failed", "tokens", "cost", "why")
            },
            "session": session.folder,
        }
        for session in progress
    ]


def _lines(progress: Sequence[SetProgress]) -> Iterator[str]:
    from ..agents.chat.cost.totals import money, short

    rows = [
        (
            session.entry.agent,
            session.entry.paradigm,
            session.entry.settings,
            session.entry.wording,
            str(session.entry.repeat),
            session.state,
            f"{session.trials:,} of {session.planned:,}" if session.planned else "",
            f"{session.failed:,}" if session.failed else "",
            short(session.tokens) if session.tokens else "",
            "" if session.cost is None else money(session.cost),
            session.why if len(session.why) <= _WIDEST else session.why[: _WIDEST - 1] + "…",
        )
        for session in progress
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
    shown = [
        place
        for place in range(len(header))
        if place < 2 or header[place] == "state" or any(row[place] not in ("", "1") for row in rows)
    ]
    yield from table_lines(
        tuple(header[place] for place in shown), [tuple(row[place] for place in shown) for row in rows]
    )
    for why, count in Counter(session.why for session in progress if len(session.why) > _WIDEST).items():
        yield (f"{count:,} {'session' if count == 1 else 'sessions'}: {why}")
    states = {
        state: sum(session.state == state for session in progress) for state in ("done", "stopped", "begun", "waiting")
    }
    counts = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
    yield counts + _taken(progress)


def _taken(progress: Sequence[SetProgress]) -> str:
    """Describe the total cost of some sessions."""
    from ..agents.chat.cost.totals import money, short

    tokens, cost = sum(session.tokens for session in progress), sum(session.cost or 0.0 for session in progress)
    return (f"; {short(tokens)} tokens" if tokens else "") + (f"; cost {money(cost)}" if cost else "")
