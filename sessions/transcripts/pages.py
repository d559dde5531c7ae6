"""Conversations with a chat model as a page that opens offline: messages and pictures as the model
saw them, and in the margin what is known of each reply."""

from __future__ import annotations

import base64
import functools
import itertools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...agents.chat.cost.totals import describe_account
from ...core.agent_kinds import kind_named
from ...core.atomic_files import written_in
from ...core.errors import SpanLabError
from ..record.reader import find_sessions, read_session
from .transcript import Mark, SentMessage, SentPicture, Talk, Transcript, Turn

#: shorter lines than this, several of them, are a display in words and need letters of one width
_DISPLAY_LINE = 60
_MARKS = {
    "right": ("✓", "right"),
    "wrong": ("✗", "wrong"),
    "partly": ("◐", "partly right"),
    "unread": ("?", "not an answer"),
}


def write_page(read: Transcript, keys: Sequence[str], output: Path, back: str = "") -> Path:
    """Write conversations as an HTML page.

    Parameters
    ----------
    read : the session
    keys : whose conversations, by trial
    output : the file
    back : a page to link back to

    Raises
    ------
    SpanLabError
        when the file cannot be written.
    """
    text = _page(read, [_conversation(read, read.talk(key)) for key in keys], back)
    with written_in(output.parent, str(output), "choose another file with -o"):
        output.write_text(text, encoding="utf-8")
    return output


def _kinds(mark: Mark, again: bool) -> list[str]:
    """The kinds of a reply: one in which no answer was found is unread; where nothing came of
    asking again, the answer is invalid."""
    wrong, invalid = mark in ("wrong", "partly"), mark == "unread"
    return [kind for kind, such in (("wrong", wrong), ("invalid", invalid), ("unread", again or invalid)) if such]


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


def _page(read: Transcript, conversations: Sequence[Mapping[str, Any]], back: str) -> str:
    from ...core.version import __version__

    here, style = files("spanlab.sessions.transcripts"), files("spanlab.core")
    info = read.session.info
    turns = [turn for talk in conversations for turn in talk["turns"]]
    counts = Counter(kind for turn in turns for kind in ("all", *turn["kinds"]))
    settings = {name: value for name, value in info["agent_settings"].items() if value not in (None, "", {}, [])}
    return _template().render(
        css=style.joinpath("page.css").read_text("utf-8") + here.joinpath("transcript.css").read_text("utf-8"),
        agent=info["agent"],
        label=info.get("label", ""),
        title=info.get("paradigm_title") or info["paradigm"],
        session=info["session"],
        account=describe_account(read.account()),
        conversations=conversations,
        trials=len(read.trials),
        unit="trial" if info["agent_settings"].get("conversation") == "session" else "conversation",
        settings={name: _short(value) for name, value in settings.items()},
        pictures=any(part["picture"] for turn in turns for message in turn["sent"] for part in message["parts"]),
        back=back,
        filters=[(name, label, counts[name]) for name, label in _FILTERS if counts[name] or name == "all"],
        version=__version__,
    )


@functools.cache
def _template() -> Any:
    """The template of pages, compiled once."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(
        files("spanlab.sessions.transcripts").joinpath("transcript.html.jinja").read_text("utf-8")
    )


#: kinds of replies that can be shown alone
_FILTERS = (("all", "all replies"), ("wrong", "wrong"), ("invalid", "invalid"), ("unread", "unread"))


def _short(value: Any) -> str:
    text = ("no", "yes")[value] if isinstance(value, bool) else str(value)
    return text if len(text) <= 300 else text[:299] + "…"


def _conversation(read: Transcript, talk: Talk) -> dict[str, Any]:
    what = heading(read, talk).split(" · ", 2)[2]
    scored = [turn for turn in talk.turns if turn.mark and not turn.warm_up]
    right, items = sum(turn.right for turn in scored), sum(turn.items for turn in scored)
    return {
        "key": talk.trial,
        "what": what[0].upper() + what[1:],
        "score": f"{right} of {items} items right" if items else "",
        "turns": [_turn(turn) for turn in talk.turns],
        "unanswered": talk.unanswered,
        "past": f"{talk.past:,} message{'s' * (talk.past > 1)} of earlier trials" if talk.past else "",
    }


def _turn(turn: Turn) -> dict[str, Any]:
    sign, word = _MARKS.get(turn.mark, ("", ""))
    content = turn.reply.content
    again = turn.seen_again
    return {
        "ask": turn.ask,
        "sent": [_message(message) for message in turn.sent],
        "content": content,
        "displayed": _is_display(content),
        "reasoning": turn.reply.reasoning or "",
        "seen_again": again if again is not None and again.strip() != content.strip() else "",
        "facts": describe_reply(turn),
        "model": turn.reply.served_model or "",
        "mark": turn.mark,
        "sign": sign,
        "word": word if turn.mark != "partly" else f"{turn.right} of {turn.items} right",
        "answer": turn.answer,
        "extraction": turn.extraction.replace("_", " "),
        "correct": turn.correct_answer if turn.mark in ("wrong", "partly", "unread") else "",
        "warm_up": turn.warm_up,
        "again": turn.again,
        "kinds": _kinds(turn.mark, turn.again),
    }


def _message(message: SentMessage) -> dict[str, Any]:
    pictures = [part for part in message.parts if isinstance(part, SentPicture)]
    alike = Counter(picture.size_px for picture in pictures)
    return {
        "role": message.role,
        "parts": [_part(part) for part in message.parts],
        "pictures": [
            f"{count:,} picture{'s' * (count != 1)} of {size} × {size} pixels" for size, count in alike.items()
        ],
        "other": sum(not picture.same for picture in pictures if picture.file is not None),
    }


def _part(part: str | SentPicture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"picture": False, "text": part, "display": _is_display(part)}
    source = "" if part.file is None else f"data:image/png;base64,{base64.b64encode(part.file).decode('ascii')}"
    return {"picture": True, "source": source, "same": part.same, "words": part.words}


def _is_display(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) > 2 and sorted(map(len, lines))[len(lines) // 2] < _DISPLAY_LINE


def report_pages(data: Sequence[Path], report: Path) -> list[dict[str, str]]:
    """One conversation of each chat session as a page beside a report; what the report says of
    them.

    Parameters
    ----------
    data : sessions, or folders full of sessions; those of others than chat models are passed by
    report : folder of the report

    Returns
    -------
    for each chat session ``session``, ``agent``, ``href`` (from the report), ``trial``,
    ``account``; ``problem`` in place of a page that could not be made
    """
    pages: list[dict[str, str]] = []
    names: set[str] = set()
    for folder in _sessions(data):
        try:
            if not kind_named(read_session(folder)["agent_kind"]).converses:
                continue
            read = Transcript(folder)
        except SpanLabError:
            continue  # what cannot be read is told by the report itself
        entry = {
            "session": read.session.name,
            "agent": str(read.session.info["agent"]),
            "href": "",
            "trial": "",
            "account": "",
            "problem": "",
        }
        try:
            entry["account"] = describe_account(read.account())
            key = next((key for key in read.trials if read.finished(key)), None)
            if key is not None:
                name = folder.resolve().name
                name = next(
                    free
                    for number in itertools.count(1)
                    if (free := f"{name}.{number}" if number > 1 else name) not in names
                )
                names.add(name)
                path = report / "conversations" / f"{name}.html"
                write_page(read, [key], path, os.path.relpath(report / "report.html", path.parent))
                entry |= {"href": f"conversations/{path.name}", "trial": key}
        except SpanLabError as error:
            entry["problem"] = str(error)
        pages.append(entry)
    return pages


def _sessions(data: Sequence[Path]) -> list[Path]:
    folders: dict[Path, Path] = {}
    for path in data:
        with suppress(SpanLabError):
            for folder in find_sessions([path]):
                folders.setdefault(folder.resolve(), folder)
    return list(folders.values())
