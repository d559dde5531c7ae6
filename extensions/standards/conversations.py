"""Sessions as conversations in words (displays and questions as user, answers as assistant), and
the two formats that are made from them.

Whoever took the trials, the words are those that chat models get: the instructions, every display
that machines see, the questions, feedback where there was some. They hold a correct answer only
where the participant was told it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from typing_extensions import override

from spanlab.agents import TrialContext
from spanlab.agents.chat import NO_ANSWER, Before, ChatSettings, Conversation, Message, Past, Text
from spanlab.core import SpanLabError, as_tuple, in_number, whole_folder
from spanlab.core.atomic_files import whole_file
from spanlab.exchange import Format, Place, Report, Side, counted
from spanlab.sessions import TakenTrial, said_after, same_trials, taken_trials
from spanlab.sessions.record import finished_trials, is_practice, read_events

from .sharing import OTHER, SESSIONS, SharedData, SharedSession, Sharing, gather

if TYPE_CHECKING:
    from spanlab.sessions import Session

#: role (system, user or assistant) and text
Turn = tuple[str, str]
_FIRST, _LAST = "<<", ">>"


class TextSharing(Sharing):
    """Options for sessions in words."""

    machines: Annotated[bool, Field(description="also write the sessions of machines, not only those of people")] = (
        False
    )
    practice: Annotated[bool, Field(description="also write practice trials, with what was said after them")] = True


class ChatSharing(TextSharing):
    """Options for conversations."""

    per: Annotated[
        Literal["session", "trial"], Field(description="one conversation for each session, or for each trial")
    ] = "session"


def conversations(
    shared: SharedSession, data: SharedData, *, practice: bool = True, per_trial: bool = False
) -> Iterator[list[Turn]]:
    """A session in words: what was shown, asked and answered.

    Parameters
    ----------
    shared : the session; one that was recorded trial by trial
    data : what it belongs to, with what is to be shared
    practice : whether practice trials are told
    per_trial : whether each trial is a conversation of its own, with the instructions; practice is
        left out then

    Yields
    ------
    The turns of each conversation: one for the session, or one for each trial.

    Raises
    ------
    SpanLabError
        when a display cannot be said in words.
    """
    session = same_trials(shared.folder)
    taken = list(taken_trials(session, read_events(shared.folder), practice=practice and not per_trial))
    if per_trial:
        yield from (_merged(_turns_of(_told(session, one, Before(), shared, data))) for one in taken)
        return
    turns: list[Turn] = []
    before = Before()
    for place, one in enumerate(taken):
        past = _told(session, one, before, shared, data)
        before = Before(trials=(past,))
        turns += _turns_of(past)
        following = next(iter(taken[place + 1 :]), None)
        turns += [("user", sentence) for sentence in said_after(session.paradigm, one, following, _language(session))]
    if turns:
        yield _merged(turns)


def _language(session: Session) -> str:
    return "en" if "en" in session.paradigm.instructions else str(session.info["language"])


def _told(session: Session, one: TakenTrial, before: Before, shared: SharedSession, data: SharedData) -> Past:
    """A trial with the answers that were given in it, and its questions as they were asked: a chat
    model may not have had the paradigm's wording."""
    paradigm, language = session.paradigm, _language(session)
    settings = ChatSettings.read(
        {"instructions_as": "system", "prompts": shared.info["agent_settings"].get("prompts", True)}
    )
    kinds = dict.fromkeys(step.percept.ask.kind for step in one.trial.steps if step.percept.ask is not None)
    instructions = paradigm.instructions_in(language, one.trial.levels, False)
    context = TrialContext(
        paradigm.name, paradigm.title, language, instructions, tuple(kinds), practice=is_practice(one.key)
    )
    conversation = Conversation(context, settings, before=before)
    for percept, line in one.steps:
        conversation.show(percept)
        if percept.ask is None or "ask" not in line:
            continue
        conversation.ask(percept.ask.kind, conversation.prompt_of(percept.ask))
        value = as_tuple(line["value"])
        right = all(  # ratings are numbers, which say nothing of anybody
            score["correct"] or (score["correct"] is None and not isinstance(score["answer"], str))
            for score in line["scores"]
        )
        hidden = not right and shared.hides_text(data.options, percept.phase)
        said = NO_ANSWER if value is None else percept.ask.kind.write(value)
        conversation.hear(OTHER if hidden and value is not None else said)
    return conversation.ended()


def _turns_of(past: Past) -> list[Turn]:
    messages = [*past.messages, *(Message("user", parts) for parts in past.left)]
    return [
        (message.role, "\n\n".join(part.text for part in message.parts if isinstance(part, Text)))
        for message in messages
    ]


def _merged(turns: Sequence[Turn]) -> list[Turn]:
    """Neighbouring turns of one role as one: some trainers of models take nothing else."""
    merged: list[Turn] = []
    for role, text in turns:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    return merged


def _in_words(
    sources: Sequence[str], options: TextSharing, report: Report, output: Path
) -> tuple[SharedData, list[SharedSession]]:
    """The sessions that are written; tells which are not."""
    data = gather(sources, options, report, output)
    wanted = [one for one in data.sessions if one.person or options.machines]
    if left := len(data.sessions) - len(wanted):
        report.note(
            f"NOTE {counted(left, 'session')} of machines {in_number(left, 'is', 'are')} left out; --machines writes"
            " them, too"
        )
    if not wanted:
        raise SpanLabError(
            "nothing is left to write: no session is that of a person (--machines writes those of machines)"
        )
    return data, wanted


class Psych101(Format[Any, TextSharing]):
    """Sessions as text with marked choices, as in the Psych-101 data set (Binz et al., 2025), on
    which models of cognition are trained."""

    name = "psych101"
    writes = Side(
        "sessions",
        "Sessions as text with marked choices, for models of cognition: one line of JSON for each session.",
        TextSharing,
        SESSIONS,
        Place("new file", "FILE"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: TextSharing, report: Report) -> None:
        if output.exists():
            raise SpanLabError(f"{output} exists; name a new file, so that nothing is overwritten")
        data, sessions = _in_words(sources, options, report, output)
        choices = 0
        with whole_file(output) as file:
            for one in sessions:
                for turns in conversations(one, data, practice=options.practice):  # none where all is practice
                    text, marked = _with_marks(turns, one)
                    choices += marked
                    line = {"text": text, "experiment": one.info["paradigm"], "participant": one.label}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
        report.done(f"{output}: {counted(len(sessions), 'session')}, {counted(choices, 'marked choice')}")


def _with_marks(turns: Sequence[Turn], session: SharedSession) -> tuple[str, int]:
    """One text in which every answer that was given stands in ``<<`` and ``>>``; and how many there
    are."""
    lines: list[str] = []
    marked = 0
    for role, text in turns:
        if _FIRST in text or _LAST in text:
            raise SpanLabError(
                f"{session.folder}: what is shown or answered has {_FIRST} or {_LAST} in it, which marks answers in"
                " this format"
            )
        given = role == "assistant" and text not in (NO_ANSWER, OTHER)
        lines.append(f"{_FIRST}{text}{_LAST}" if given else text)
        marked += given
    return "\n\n".join(lines), marked


class ChatJsonl(Format[Any, ChatSharing]):
    """Sessions as conversations in JSON lines, as chat models are trained on; and a table of whose
    they are."""

    name = "chat-jsonl"
    writes = Side(
        "sessions",
        "Sessions as conversations, for training chat models: one line of JSON for each conversation.",
        ChatSharing,
        SESSIONS,
        Place("new folder", "DIR"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: ChatSharing, report: Report) -> None:
        data, sessions = _in_words(sources, options, report, output)
        per_trial = options.per == "trial"
        if (
            per_trial
            and options.practice
            and any(is_practice(key) for one in sessions for key in finished_trials(read_events(one.folder)))
        ):
            report.note("NOTE practice trials are left out: each trial is a conversation of its own")
        line = 0
        with (
            whole_folder(output) as folder,
            (folder / "conversations.jsonl").open("w", encoding="utf-8", newline="\n") as file,
            (folder / "sessions.csv").open("w", encoding="utf-8", newline="") as table,
        ):
            writer = csv.writer(table, lineterminator="\n")
            writer.writerow(
                [
                    "line",
                    "participant_id",
                    "participant_type",
                    "agent",
                    "caution",
                    "session",
                    "study_session",
                    "paradigm",
                    "paradigm_hash",
                ]
            )
            for one in sessions:
                who = data.participant(one)
                for turns in conversations(one, data, practice=options.practice, per_trial=per_trial):
                    line += 1
                    file.write(
                        json.dumps(
                            {"messages": [{"role": role, "content": text} for role, text in turns]}, ensure_ascii=False
                        )
                        + "\n"
                    )
                    kind = "person" if one.person else "machine"
                    which = [one.number, one.visit or "", one.info["paradigm"], one.info["paradigm_hash"]]
                    writer.writerow([line, f"sub-{one.label}", kind, who.agent, who.caution, *which])
        report.done(f"{output}: {counted(line, 'conversation')} of {counted(len(sessions), 'session')}")
