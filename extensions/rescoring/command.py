"""``spanlab rescore``: stored replies of chat models, read again. Part of the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlab.core import SpanLabError

if TYPE_CHECKING:
    from .rereading import RereadReply, RereadSession

#: Replies that are shown, and how much of each.
_SHOWN, _WIDTH = 10, 60


def rescore(
    sessions: Annotated[
        list[Path], typer.Argument(help="sessions of chat models, or folders of sessions", metavar="SESSION...")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="write copies with the new answers into this folder", metavar="DIR"),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help=f"show every reply that is read differently, not only the first {_SHOWN}")
    ] = False,
) -> None:
    """Read the stored replies of chat models again with today's reader, and say what changes."""
    from spanlab.sessions import find_sessions, read_session

    from .rereading import reread, write_reread

    folders = [folder for folder in find_sessions(sessions) if read_session(folder)["agent_kind"] == "chat"]
    if not folders:
        raise SpanLabError(f"no session of a chat model in {', '.join(map(str, sessions))}")
    for folder in folders:
        session = reread(folder)
        _say(session, len(session.changes) if every else _SHOWN)
        if output is not None:
            print(f"  {write_reread(session, output)}")


def _say(session: RereadSession, most: int) -> None:
    """Print what changes in a session."""
    from spanlab.agents.chat import READER

    changes = session.changes
    by = "a reader that the record does not name" if session.reader is None else f"reader {session.reader}"
    if not changes:
        print(
            f"{session.folder}: every reply is read as it was, by {by} then and reader {READER} now"
            f" ({len(session.replies)} replies)"
        )
        return
    (before, items), (now, _) = session.right(now=False), session.right(now=True)
    print(
        f"{session.folder}: {len(changes)} of {len(session.replies)} replies are read otherwise, by {by} then and"
        f" reader {READER} now"
    )
    print(
        f"  right {before / items:.1%} -> {now / items:.1%} of {items} items; unread {session.unread(now=False)} ->"
        f" {session.unread(now=True)} replies"
    )
    for reply in changes[:most]:
        print(
            f"  trial {reply.trial}, question {reply.question}: {_answer(reply.before)} -> {_answer(reply.now)}  "
            f" {_quoted(reply)}"
        )
    if len(changes) > most:
        print(f"  and {len(changes) - most} more (--all)")
    _warn(session)


def _answer(written: str | None) -> str:
    return "unread" if written is None else written


def _quoted(reply: RereadReply) -> str:
    text = " ".join(reply.reply.split())
    return f"“{text}”" if len(text) <= _WIDTH else f"“{text[: _WIDTH // 2]} … {text[-_WIDTH // 2 :]}”"


def _warn(session: RereadSession) -> None:
    """Say on stderr in what the session would have been another one."""
    if session.feedback:
        print(
            f"NOTE {session.folder}: the model was told whether its answers were right, by the old reading; what"
            " followed cannot be changed",
            file=sys.stderr,
        )
    if again := sum(reply.asked_again for reply in session.replies):
        print(
            f"NOTE {session.folder}: {again} question{' was' if again == 1 else 's were'} put again after a reply in"
            " which there is an answer now; the last reply counts, as it did",
            file=sys.stderr,
        )
