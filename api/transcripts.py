"""The conversations with a chat model, as the model saw them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import SpanLabError
from .options import PathLike, Result, public

if TYPE_CHECKING:
    from ..sessions.transcripts.transcript import SentMessage, Talk, Transcript, Turn

_WIDTH = 100
_WHO = {"system": "SYSTEM", "developer": "DEVELOPER", "user": "USER", "assistant": "ASSISTANT"}


@public
def transcript(
    session: Annotated[PathLike, typer.Argument(help="folder of a session with a chat model", metavar="SESSION")],
    *,
    trial: Annotated[
        str | None, typer.Option("--trial", help="show only the conversation of this trial", metavar="N")
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="write an HTML page with the pictures instead", metavar="FILE"),
    ] = None,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread",
            help="read the stored replies again, and say what changes; with -o, write a copy of the session",
        ),
    ] = False,
) -> Result:
    """Show the conversations of a session with a chat model, as the model saw them, with redrawn
    pictures.

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
        return _reread(Path(session), None if output is None else Path(output))
    read = Transcript(Path(session))
    keys = read.trials if trial is None else [trial]
    if not keys:
        raise SpanLabError(f"{session} has no conversation yet")
    if output is None:
        return Result("\n\n".join(as_text(read, read.talk(key)) for key in keys).split("\n"))
    from ..sessions.transcripts.pages import write_page

    file = write_page(read, keys, Path(output))
    return Result([str(file)], files=[file])


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
    from ..sessions.transcripts.pages import describe_reply, heading

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
    return "\n".join(by + _printable(line) for line in text.splitlines())


def _printable(line: str) -> str:
    """Nothing that steers a terminal: replies come from elsewhere."""
    return "".join(
        sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode("ascii") for sign in line
    )
