"""The conversations with a chat model, as the model saw them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import SpanLabError
from .options import PathLike, Result, as_path, public

if TYPE_CHECKING:
    from ..sessions.transcripts.transcript import SentMessage, Talk, Transcript, Turn

_WIDTH = 100
#: where a session says which kind of agent took it
_KIND = re.compile(r'"agent_kind"\s*:\s*"([^"]*)"')
_WHO = {"system": "SYSTEM", "developer": "DEVELOPER", "user": "USER", "assistant": "ASSISTANT"}


@public
def transcript(
    session: Annotated[
        PathLike,
        typer.Argument(help="session with a chat model, or a folder full of sessions", metavar="SESSION"),
    ],
    *,
    trial: Annotated[
        str | None, typer.Option("--trial", help="show only the conversation of this trial", metavar="N")
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="with --reread: the folder of the copy", metavar="DIR"),
    ] = None,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread",
            help="read the stored replies again, and say what changes; with -o, write a copy of the session",
        ),
    ] = False,
) -> Result:
    """Show the conversations with a chat model, as the model saw them, at the terminal; spanlab view
    shows them as a page, with the pictures.

    Examples
    --------
    Only chat models have conversations:

    >>> result = spanlab.replay("vsr", "ideal", trials=2, seed=1, levels={"list_length": 2})
    >>> spanlab.transcript(result.folder)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: data/vsr-ideal-s1 is a session of ideal, and only chat models have conversations
    """
    from ..sessions.transcripts.transcript import Transcript

    if reread:
        return _reread(Path(session), as_path(output))
    if output is not None:
        told = "is for {reread}; for a page with the pictures use spanlab view"
        raise SpanLabError(told, option="output", names=["reread"])
    folders = [Path(session)] if (Path(session) / "session.json").exists() else chat_sessions([Path(session)])
    talks = [
        as_text(read, read.talk(key))
        for read in map(Transcript, folders or [Path(session)])
        for key in (read.trials if trial is None else [trial])
    ]
    if not talks:
        raise SpanLabError(f"{session} has no conversation yet")
    return Result("\n\n".join(talks).split("\n"))


def chat_sessions(data: Sequence[Path]) -> list[Path]:
    """The sessions of chat models among some data, each once."""
    from ..core.agent_kinds import kind_named
    from ..sessions.record.reader import find_sessions, read_session

    found: dict[Path, None] = {}
    for path in data:
        with suppress(SpanLabError):
            for folder in find_sessions([path]):
                with suppress(SpanLabError, OSError):
                    # of thousands of sessions few need to be read
                    text = (folder / "session.json").read_text(encoding="utf-8", errors="replace")
                    talks = any(kind_named(kind).converses for kind in _KIND.findall(text))
                    if talks and kind_named(read_session(folder)["agent_kind"]).converses:
                        found[folder.resolve()] = None
    return list(found)


def _reread(session: Path, output: Path | None) -> Result:
    """What changes where the stored replies are read again."""
    from ..sessions.transcripts.transcript import described, reread, write_reread

    found, replies = reread(session)
    lines = described(replies).splitlines()
    if output is None:
        return Result(lines)
    write_reread(found, replies, output)
    return Result([*lines, str(output)], files=[output])


def as_text(read: Transcript, talk: Talk) -> str:
    """A conversation for the terminal. Text in brackets was not sent; it is for the reader only."""
    lines = [heading(read, talk), "=" * min(_WIDTH, len(heading(read, talk)))]
    if talk.past:
        lines += [
            "",
            (
                f"[{talk.past:,} message{'s' * (talk.past != 1)} of earlier trials came before these in the same"
                " conversation]"
            ),
        ]
    for turn in talk.turns:
        lines += [
            *(line for message in turn.sent for line in _message(message)),
            "",
            f"ASSISTANT  [{describe_reply(turn)}]",
            _indented(turn.reply.content or "(an empty reply)"),
        ]
        if turn.seen_again is not None and turn.seen_again.strip() != turn.reply.content.strip():
            lines += ["  [the model sees it again as:]", _indented(turn.seen_again, "  | ")]
        if turn.reply.reasoning:
            lines += ["  [reasoning, delivered separately:]", _indented(turn.reply.reasoning, "  | ")]
        lines += [f"  [{note}]" for note in marked(turn)]
    if talk.unanswered:
        lines += [
            "",
            (
                f"[{talk.unanswered} more request{'s' * (talk.unanswered != 1)} left, and no reply to"
                f" {'it' if talk.unanswered == 1 else 'them'} was kept]"
            ),
        ]
    return "\n".join(lines)


def marked(turn: Turn) -> list[str]:
    """The result of an answer, which the model was not told."""
    if turn.again:
        return ["could not be read as an answer; the question is repeated"]
    if not turn.mark:
        return []
    how = f" ({turn.extraction.replace('_', ' ')})" if turn.extraction and turn.extraction != "unread" else ""
    read = f"read as: {turn.answer}{how}" if turn.mark != "unread" else "could not be read as an answer"
    scored = {
        "right": "right",
        "wrong": f"wrong, correct: {turn.correct_answer}",
        "unread": f"correct: {turn.correct_answer}",
    }
    notes = [
        f"{read}; {scored.get(turn.mark, f'{turn.right} of {turn.items} items right, correct: {turn.correct_answer}')}"
    ]
    if turn.warm_up:
        notes.append("warm-up: does not count")
    return notes


def _message(message: SentMessage) -> list[str]:
    from ..sessions.transcripts.transcript import SentPicture

    lines = ["", _WHO.get(message.role, message.role.upper())]
    for number, part in enumerate(message.parts):
        lines += [""] * bool(number)
        if isinstance(part, SentPicture):
            lost = "; it cannot be redrawn as it was" if part.file else "; what it showed is not known"
            lines.append(
                f"  [a picture of {part.size_px} x {part.size_px} pixels{'' if part.same else lost}; in words:"
                f" {' / '.join(part.words.splitlines())}]"
            )
        else:
            lines.append(_indented(part))
    return lines


def _indented(text: str, by: str = "  ") -> str:
    # nothing that steers a terminal: replies come from elsewhere
    lines = (
        "".join(
            one if one.isprintable() or one == "\t" else one.encode("unicode_escape").decode("ascii") for one in line
        )
        for line in text.splitlines()
    )
    return "\n".join(by + line for line in lines)


def heading(read: Transcript, talk: Talk) -> str:
    """Describe a conversation by its agent, paradigm and trial."""
    info = read.session.info
    if not talk.levels and talk.trial == "0":
        what = "before the first trial: does the server see pictures?"
    else:
        levels = ", ".join(f"{name} {value}" for name, value in talk.levels.items())
        number = talk.trial.removeprefix("p")
        what = (
            f"{'practice ' * talk.trial.startswith('p')}trial"
            f" {number}{f' ({levels})' if levels else ''}{'' if talk.finished else ', unfinished'}"
        )
    return f"{info['agent']} · {info['paradigm']} · {what}"


def describe_reply(turn: Turn) -> str:
    """Describe a reply: tokens, latency, faults."""
    reply = turn.reply
    took = "from a batch" if reply.latency_ms is None else f"{reply.latency_ms:,.0f} ms"
    parts = ["from the cache" if reply.cached else took]
    if reply.prompt_tokens is not None:
        parts.append(f"{reply.prompt_tokens:,} + {reply.completion_tokens or 0:,} tokens")
    if reply.finish_reason not in (None, "stop"):
        parts.append(f"ended by {reply.finish_reason}")
    if reply.refusal:
        parts.append("refused")
    if reply.faults:
        parts.append(f"after {', '.join(fault.replace('_', ' ') for fault in reply.faults)}")
    return ", ".join(parts)
