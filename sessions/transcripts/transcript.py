"""Conversations of chat sessions, as the model saw them: put together from the record, with the
pictures drawn again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...agents.base import Response
from ...agents.chat.cost.totals import Totals, account_of, describe_account, totals_of
from ...agents.chat.messages import Reply, png
from ...agents.chat.probe import LETTERS, letter_picture
from ...agents.chat.reading.extraction import READER, read_reply
from ...agents.chat.settings import ChatSettings
from ...agents.payments import in_vain, refused
from ...core.agent_kinds import kind_named
from ...core.atomic_files import json_line, whole_folder
from ...core.errors import SpanLabError
from ...core.json_values import as_object, grouped
from ...core.registry import as_tuple
from ...paradigms import Answer, ResponseKind, Trial, compile_trial
from ...stimuli import Stimulus
from ..plan import UnseenTrials
from ..record.reader import SessionLedger, is_practice, read_events, trial_key
from ..record.table import write_responses
from ..replaying import TakenTrial, taken_trials
from ..session import Session, planned_as_begun, same_trials, write_info
from ..trial_log import judge

#: what became of an answer
Mark = Literal["right", "wrong", "partly", "unread", ""]


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture of a conversation.

    Parameters
    ----------
    file : the PNG file, drawn anew; None when it is not known what was shown
    same : whether it is the very file that was sent
    words : what it shows, in words (for readers; the model was not told)
    size_px : as it was sent
    """

    file: bytes | None
    same: bool
    words: str
    size_px: int


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that was sent: who says it, and texts and pictures in order."""

    role: str
    parts: tuple[str | SentPicture, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages sent since the last reply, and the reply.

    Parameters
    ----------
    ask : the question of the trial that it is about, from 1
    sent : messages that were new in the request, what the model sees of its own last reply left out
    reply : the reply
    seen_again : what the model sees of this reply from now on; None when nothing was sent after it
    extraction, answer : how the answer was read and what was read, as a model writes it; empty
        where the record does not tell or nothing was read
    correct_answer : as a model writes it; never sent
    mark : whether the answer was right; empty where the trial was not finished, or the question was
        put again afterwards
    right, items : scored items that were right, and all that were asked for (an intrusion is none)
    warm_up : whether it does not count
    again : whether the question is put again after this reply, since it could not be read
    """

    ask: int
    sent: tuple[SentMessage, ...]
    reply: Reply
    seen_again: str | None
    extraction: str = ""
    answer: str = ""
    correct_answer: str = ""
    mark: Mark = ""
    right: int = 0
    items: int = 0
    warm_up: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: one trial.

    Parameters
    ----------
    trial : as events name it: ``12``, ``p3``
    levels : of the factors; empty for what is no trial (whether the server sees)
    finished : whether the trial is
    unanswered : requests that left and brought no reply that was kept
    past : so many messages of earlier trials were sent before this one's
    """

    trial: str
    levels: Mapping[str, Any]
    finished: bool
    turns: tuple[Turn, ...]
    unanswered: int
    past: int = 0


class Transcript:
    """The conversations of a chat session, from its record.

    Raises
    ------
    SpanLabError
        when it is not a session of a chat model, or cannot be read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.session: Session = same_trials(folder)
        if not kind_named(self.session.info["agent_kind"]).converses:
            raise SpanLabError(
                f"{folder} is a session of {self.session.info['agent']}, and only chat models have conversations"
            )
        self.ledger = SessionLedger(self.folder)
        self._events, self._lines, self._kept = self.ledger.events, self.ledger.lines, self.ledger.replies
        self._starts = {event["trial"]: event for event in self._events if event["event"] == "trial_start"}
        self._ended = {event["trial"] for event in self._events if event["event"] == "trial_end"}
        # the last record of every step, and the lines of every trial
        self._steps: dict[str, dict[int, Mapping[str, Any]]] = {}
        for event in self._events:
            if event["event"] == "step":
                self._steps.setdefault(event["trial"], {})[event["step"]] = event
        self._lines_of = grouped((line["trial"], line) for line in self._lines)
        self._apart: UnseenTrials | None = None
        self._draws = {trial_key(planned.practice, planned.trial): planned.draws for planned in self.session.plan}

    @property
    def trials(self) -> list[str]:
        """The trials with conversations, in the order of the session; requests that belong to no
        trial come first."""
        begun = [key for key in self._kept if key in self._starts]
        return [key for key in self._kept if key not in self._starts] + sorted(
            begun, key=lambda key: (not is_practice(key), int(key.removeprefix("p")))
        )

    def finished(self, key: str) -> bool:
        """Return whether a trial is finished."""
        return key in self._ended

    def talk(self, key: str) -> Talk:
        """The conversation of a trial.

        Raises
        ------
        SpanLabError
            when nothing was said in it.
        """
        if key not in self._kept:
            trials = self.trials
            hint = f"there are {trials[0]} to {trials[-1]}" if trials else "nothing was said in this session so far"
            raise SpanLabError(f"{self.folder} has no conversation of trial {key}: {hint}")
        start = self._starts.get(key)
        steps = self._steps.get(key, {})
        drawn = (
            _Drawer(*self._compiled(start, steps, key), self._examples(start))
            if start is not None
            else _Drawer([letter_picture(letters) for letters in LETTERS], [])
        )
        # what a judge was asked, and how probable answers are, is not part of a conversation
        lines_of_replies = [line for line in self._kept.get(key, ()) if "judge" not in line and "scores" not in line]
        turns = [
            _turn(line, drawn, bool(place), following)
            for place, (line, following) in enumerate(zip(lines_of_replies, [*lines_of_replies[1:], None], strict=True))
        ]
        lines = self._lines_of.get(key, [])
        return Talk(
            key,
            {} if start is None else start["levels"],
            key in self._ended,
            tuple(turns),
            in_vain(lines).count + refused(lines),
            max((int(line.get("past", 0)) for line in lines_of_replies), default=0),
        )

    def _examples(self, start: Mapping[str, Any]) -> dict[str, list[Stimulus]]:
        """Return the displays of the worked examples before a trial, by name."""
        info = self.session.info
        count = info["agent_settings"].get("examples", 0)
        if not isinstance(count, int):
            raise SpanLabError(f"{self.folder}: 'examples' in agent_settings is a number, not {count!r}")
        if not count:
            return {}
        if self._apart is None:
            self._apart = UnseenTrials(
                self.session.paradigm, info["generator"], self.session.seed, planned_as_begun(self.folder).may_come
            )
        examples = self._apart.examples(start["levels"], count)
        return {example.name: [percept.for_machine.stimulus for percept in example.percepts] for example in examples}

    def _compiled(
        self, start: Mapping[str, Any], steps: Mapping[int, Mapping[str, Any]], key: str
    ) -> tuple[list[Stimulus], list[_AskedQuestion]]:
        trial: Trial = compile_trial(
            self.session.paradigm, start["levels"], start["seed"], self.session.info["generator"], self._draws.get(key)
        )
        shown = [
            step.shown_after(steps.get(step.index + 1, {}).get("feedback", "missed")).for_machine.stimulus
            for step in trial.steps
            if step.percept.model_step
        ]
        questions = [
            _AskedQuestion(step.percept.ask.kind, step.truth.answer, steps.get(step.index + 1, {}))
            for step in trial.steps
            if step.percept.ask is not None and step.percept.model_step
        ]
        return shown, questions

    def totals(self) -> Totals:
        """Count the requests of the session so far, all its parts together: each is a reply, a
        refusal, or came to nothing."""
        return totals_of(self.ledger.lines, self.ledger.replies)

    def account(self) -> dict[str, Any]:
        """The account of the session for its record: all its parts together."""
        return account_of(self.ledger)


def _mark(event: Mapping[str, Any]) -> Mark:
    """Return the outcome of an answer from its record; empty for a rating, which is neither right
    nor wrong."""
    scores: Sequence[Mapping[str, Any]] = event["scores"]
    if event["value"] is None:
        return "unread"
    if all(score["correct"] is None for score in scores):
        return ""
    right = [bool(score["correct"]) for score in scores]
    if all(right):
        return "right"
    return "partly" if any(right) else "wrong"


@dataclass(frozen=True, slots=True)
class _AskedQuestion:
    """A question, its answer, and the record of what was answered."""

    kind: ResponseKind
    correct: Answer | None
    event: Mapping[str, Any]

    def judged(self, turn: Turn) -> Turn:
        """The turn, and what became of the answer."""
        event, notes = self.event, as_object(self.event.get("notes"))
        correct = "" if self.correct is None else self.kind.write(self.correct)
        if "ask" not in event:
            return replace(turn, correct_answer=correct)
        value = as_tuple(event["value"])
        scores: Sequence[Mapping[str, Any]] = event["scores"]
        return replace(
            turn,
            extraction=str(notes.get("extraction", "")),
            answer="" if value is None else self.kind.write(value),
            correct_answer=correct,
            mark=_mark(event),
            right=sum(bool(score["correct"]) for score in scores),
            items=sum(score["correct_answer"] is not None for score in scores),
            warm_up=bool(notes.get("warm_up")),
        )


class _Drawer:
    """Draws the pictures of a trial anew."""

    def __init__(
        self,
        shown: Sequence[Stimulus],
        questions: Sequence[_AskedQuestion],
        examples: Mapping[str, Sequence[Stimulus]] | None = None,
    ) -> None:
        self._shown = {"": shown, **(examples or {})}
        self.questions = questions

    def picture(self, stored: Mapping[str, Any]) -> SentPicture:
        """A picture by what was kept of it."""
        step, size = int(stored["step"]), int(stored["size_px"])
        shown = self._shown.get(str(stored.get("example", "")), ())
        if not 1 <= step <= len(shown):
            return SentPicture(None, False, "", size)
        stimulus = shown[step - 1]
        file = png(stimulus, size)  # type: ignore[arg-type]
        return SentPicture(file, hashlib.sha256(file).hexdigest() == stored["sha256"], stimulus.words(), size)


def _sent_message(message: Mapping[str, Any], drawn: _Drawer) -> SentMessage:
    parts: Iterable[Mapping[str, Any]] = message["parts"]
    return SentMessage(
        message["role"],
        tuple(drawn.picture(part["picture"]) if "picture" in part else _text_of(part) for part in parts),
    )


def _text_of(part: Mapping[str, Any]) -> str:
    """A part of a message that is no picture, in words: sounds are named by their hash, which tells
    them apart."""
    if "sound" in part:
        return f"[a sound of {part['sound']['ms'] / 1000:.3g} s, SHA-256 {part['sound']['sha256'][:16]}...]"
    return str(part.get("text", ""))


def _turn(line: Mapping[str, Any], drawn: _Drawer, earlier: bool, following: Mapping[str, Any] | None) -> Turn:
    """A reply with what was sent before it, and what the model sees of it in what was sent after
    it.

    Parameters
    ----------
    earlier : whether there was a reply before it
    following : the next reply, if any
    """
    ask = int(line.get("ask", 0))
    added = tuple(_sent_message(message, drawn) for message in line["sent"])
    # without what the model sees of its reply before this one
    sent = added[1:] if earlier and added and added[0].role == "assistant" else added
    after = following["sent"][0] if following is not None and following["sent"] else None
    visible = (
        "\n\n".join(part.get("text", "") for part in after["parts"])
        if after is not None and after["role"] == "assistant"
        else None
    )
    again = following is not None and bool(ask) and following.get("ask") == ask
    turn = Turn(ask, sent, Reply.model_validate(line["reply"]), visible, again=again)
    return turn if turn.again or not 1 <= ask <= len(drawn.questions) else drawn.questions[ask - 1].judged(turn)


def accounts(folders: Sequence[Path]) -> list[dict[str, str]]:
    """What sessions of chat models have taken: ``session``, ``agent``, and ``account``, a sentence."""
    told: list[dict[str, str]] = []
    for folder in folders:
        with suppress(SpanLabError):  # what cannot be read is told by the report itself
            read = Transcript(folder)
            account = describe_account(read.account())
            told.append({"session": read.session.name, "agent": str(read.session.info["agent"]), "account": account})
    return told


# -- stored replies, read again: paid replies are never bought twice ----------------------------------

#: so many characters of a reply are shown
_WIDTH = 60


@dataclass(frozen=True)
class Reread:
    """A step of a session, as it was recorded and as it is read now."""

    recorded: Mapping[str, Any]
    event: Mapping[str, Any]
    before: str | None
    now: str | None

    @property
    def changed(self) -> bool:
        """True if it is read otherwise than it was."""
        return (self.recorded["outcome"], self.recorded["value"]) != (self.event["outcome"], self.event["value"])


def reread(folder: Path) -> tuple[Session, list[Reread]]:
    """Read the replies of a session of a chat model again, practice excepted. What another model
    has read stays as that has read it, and of a question that was put again the last reply counts.

    Raises
    ------
    SpanLabError
        when it is not one, or its replies are not in its events.
    """
    session = same_trials(folder)
    if not kind_named(session.info["agent_kind"]).converses or "published" in session.info:
        raise SpanLabError(f"{folder} has no replies of a chat model that SpanLab has read")
    settings = ChatSettings.of_session(session.info)
    return session, [one for trial in taken_trials(session, read_events(folder)) for one in _steps(trial, settings)]


def _steps(trial: TakenTrial, settings: ChatSettings) -> list[Reread]:
    truths = {step.index + 1: step.truth for step in trial.trial.steps}
    steps: list[Reread] = []
    for percept, line in trial.steps:
        ask = percept.ask
        if ask is None or "ask" not in line or line["outcome"] not in ("answered", "invalid"):
            continue
        notes, raw = line["notes"], line["raw"] or ""
        reply = Reply(content=raw, finish_reason=notes.get("finish_reason"), latency_ms=None)
        _, reading = read_reply(ask.kind, reply, settings)
        if reading.value is None and notes.get("judge"):
            continue
        outcome = "invalid" if reading.value is None else "answered"
        judged = judge(ask, truths[line["step"]], Response(reading.value, line["rt_ms"], line["raw"], outcome, notes))
        changed = {
            **line,
            "outcome": judged.response.outcome,
            "value": judged.response.value,
            "notes": {**notes, "extraction": reading.how},
            "scores": [*judged.scores],
        }
        event = json.loads(json_line(changed))
        before, now = (
            None if step["outcome"] == "invalid" else ask.kind.write(as_tuple(step["value"])) for step in (line, event)
        )
        steps.append(Reread(line, event, before, now))
    return steps


def write_reread(session: Session, replies: Sequence[Reread], place: Path) -> None:
    """Write a copy of the session in which the answers are those that are read now.

    Raises
    ------
    SpanLabError
        when the copy exists already, or cannot be written.
    """
    changes = [one for one in replies if one.changed]
    new = {_step_of(one.recorded): one.event for one in changes}
    told = [
        {"trial": one.event["trial"], "question": one.event["ask"], "before": one.before, "now": one.now}
        for one in changes
    ]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(place) as copy:
            shutil.copytree(session.folder, copy, dirs_exist_ok=True)
            events = [new.get(_step_of(event), event) for event in map(dict, read_events(copy))]
            (copy / "events.jsonl").write_bytes(b"".join(map(json_line, events)))
            by = session.info.get("apparatus", {}).get("reader")
            write_info(copy, {**session.info, "reread": {"reader": READER, "read_by": by, "changed": told}})
            write_responses(copy)
    except OSError as error:
        raise SpanLabError(f"{place} cannot be written: {error.strerror or error}") from None


def _step_of(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return which step of which trial an event is about."""
    return event.get("trial"), event.get("attempt"), event.get("step")


def described(replies: Sequence[Reread]) -> str:
    """What is read otherwise than it was, in lines."""
    changes = [one for one in replies if one.changed]
    if not changes:
        return f"every reply is read as it was ({len(replies)} replies)"
    lines = [f"{len(changes)} of {len(replies)} replies are read differently"]
    for one in changes:
        text = " ".join((one.recorded["raw"] or "").split())
        said = text if len(text) <= _WIDTH else f"{text[: _WIDTH // 2]} … {text[-_WIDTH // 2 :]}"
        before, now = ("unread" if answer is None else answer for answer in (one.before, one.now))
        lines.append(f"  trial {one.event['trial']}, question {one.event['ask']}: {before} -> {now}   “{said}”")
    return "\n".join(lines)
