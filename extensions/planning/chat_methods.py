"""Paragraphs of a Methods section on chat models: every setting that is not the default, practice,
dates, served models, and the prompts, all from the record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanlab.agents.chat import ChatSettings
from spanlab.analysis.data import listed, plural
from spanlab.core import SpanLabError, as_object, grouped
from spanlab.sessions.transcripts import Transcript

#: A sentence for each setting; of settings with named values one for each value. {} is the value,
#: and texts are given with it or in the appendix.
SENTENCES: Mapping[str, str | Mapping[str, str]] = {
    "preset": "The settings start from the preset {}.",
    "temperature": "The sampling temperature was {}.",
    "max_tokens": "Replies had at most {} tokens.",
    "extra_body": "Each request had these further fields: {}.",
    "extra_headers": (
        "Each request had these further headers (names of environment variables stand for their values): {}."
    ),
    "likelihoods": {
        "prompt": (
            "The probability of each allowed answer was asked for with each question, from the probabilities of the"
            " prompt's tokens."
        ),
        "echo": (
            "The probability of each allowed answer was asked for with each question, from a completion endpoint that"
            " repeats what it was sent."
        ),
        "top": (
            "The probability of each allowed answer was asked for with each question, from the most probable first"
            " tokens of a reply."
        ),
    },
    "instructions_as": "The instructions had the role {}.",
    "instructions": "The paradigm's instructions were replaced by others (appendix).",
    "prompts": {"True": "Each question began with the paradigm's own wording, as for people."},
    "preamble": "The instructions were preceded by {}.",
    "view": {
        "image": "Displays were sent as pictures.",
        "both": "Displays were described in words, and sent as pictures.",
    },
    "image_px": "Pictures, where any were sent, had a width and height of {} pixels.",
    "probe": {
        "tokens": "Before a session with pictures, the only check was that they made the request longer.",
        "off": "It was not checked whether the model sees pictures.",
    },
    "sounds": {"audio": "Sounds were sent as sounds."},
    "wording": {"bare": "Only instructions and displays were sent, and no questions."},
    "turn": "A question's message had this form: {}.",
    "option_order": {
        "reversed": "A question between words named its options from the last to the first.",
        "rotated": "A question between words named its first option last.",
    },
    "option_signs": {
        "letters": "A question between words was answered by a letter for each option.",
        "digits": "A question between words was answered by a digit for each option.",
    },
    "first_turn": "The first question of a trial had this form: {}.",
    "delivery": {
        "separate": "Each step was a message of its own.",
        "acknowledged": (
            "Each step was a message of its own, with a scripted reply between them that the model did not write."
        ),
    },
    "history": {
        "without_reasons": "The model did not see its earlier reasons again.",
        "extracted": "Of its earlier replies, the model saw only the answers that had been read from them.",
    },
    "reasoning": {
        "after": "With each question the model was asked for its reasons, after the answer.",
        "before": "With each question the model was asked to reason in writing before it answered.",
    },
    "reasoning_text": "Reasons were asked for in these words: {}.",
    "extraction": {
        "strict": "A reply counted only if it was the answer and nothing else.",
        "first_character": "The first character of a reply was its answer.",
    },
    "judge": "A reply in which SpanLab's reader found no answer was read by another model, {}.",
    "constrained": {"json": "The server restricted answers to a JSON schema of the allowed ones."},
    "reask": "After a reply that could not be read the question was repeated at most {} times (the default is 1).",
    "reask_text": "A question was repeated in this form: {}.",
    "warm_up": "The first {} questions of each conversation were marked as warm-up and left out of the analysis.",
    "practice": {
        "feedback": "The paradigm's practice with its feedback came first, and every conversation began with it."
    },
    "conversation": {"session": "All trials of a block were one conversation."},
    "conversation_window": "Of the earlier trials, the last {} were sent again.",
    "examples": "Before a trial {} worked examples were shown, with their right answers.",
    "notepad": {
        "True": (
            "Before the first question of a trial the model wrote notes; the list was then dropped, and only the notes"
            " were sent again."
        )
    },
    "retention_load": (
        "Between the list and the first question stood a text of about {} tokens that was irrelevant to the task."
    ),
    "interference": (
        "Between the list and the first question, the model did {} sums, one per turn, which were not scored."
    ),
    "repeat": "This is repetition {} of the same trials.",
    "label": "Remark on this agent: {}.",
}
#: Settings of sampling that a server decides itself if they are not sent.
_SERVERS = {"temperature": "temperature", "max_tokens": "length of replies"}
_GAP = "[not recorded: {}]"
#: Distinct instructions of a session that the appendix prints; one that has more names their
#: number.
_MOST_PROMPTS = 12


@dataclass(frozen=True)
class ChatSession:
    """Record of one session of a chat model, as far as a Methods section needs it.

    Parameters
    ----------
    info : the content of ``session.json``
    events : the lines of its events that are not steps
    replies : lines of its transcript with replies, in the order in which they came
    unreadable : why its conversations cannot be read; empty where they can
    """

    info: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]] = ()
    replies: Sequence[Mapping[str, Any]] = ()
    unreadable: str = ""

    @classmethod
    def of(cls, folder: Path, info: Mapping[str, Any]) -> ChatSession:
        """Read a session; of one whose conversations cannot be read, the settings remain."""
        try:
            ledger = Transcript(folder).ledger
        except SpanLabError as error:
            return cls(info, unreadable=str(error))
        lines = [line for line in ledger.lines if "reply" in line] or [
            line for some in ledger.replies.values() for line in some
        ]
        asked = [line for line in lines if "judge" not in line and "scores" not in line]
        return cls(info, [event for event in ledger.events if event["event"] != "step"], asked)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its settings, as they were recorded."""
        return as_object(self.info.get("agent_settings"))


def setting_sentences(settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each recorded setting that is not the default, and one for what was
    left to the server."""
    defaults = _defaults(settings)
    sentences = [
        _sentence(name, settings[name])
        for name in SENTENCES
        if name in settings and not _same(settings[name], defaults.get(name))
    ]
    if not settings.get("notepad"):
        sentences.append(
            "When the model was asked, everything that it had been shown in the trial was still in its context."
        )
    left = [words for name, words in _SERVERS.items() if name in settings and settings[name] is None]
    return [*sentences, *([f"Left to the server, whose defaults are unknown: {listed(left)}."] if left else [])]


def _defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they would be if only those were chosen on which the sentences of others
    depend."""
    chosen = {name: settings[name] for name in ("view", "reasoning") if name in settings}
    return ChatSettings.read(chosen).model_dump() | ChatSettings().model_dump(exclude={"preamble", "reasoning_text"})


def _same(value: Any, default: Any) -> bool:
    return (list(value) if isinstance(value, tuple) else value) == (
        list(default) if isinstance(default, tuple) else default
    )


def _sentence(name: str, value: Any) -> str:
    words = SENTENCES[name]
    if isinstance(words, str):
        return words.format(_quoted(value)) if "{}" in words else words
    return words.get(str(value), f"{name.replace('_', ' ').capitalize()} was {value}.")


def _quoted(value: Any) -> str:
    if isinstance(value, str):
        return f"“{value}”" if value else "nothing"
    if isinstance(value, list | tuple):
        return listed([json.dumps(part, ensure_ascii=False) for part in value]) or "nothing"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _session_sentences(sessions: Sequence[ChatSession]) -> list[str]:
    """Say what sessions tell beside their settings: dates, practice, served models, the reader of
    replies."""
    sentences = [_dates(sessions), _practice(sessions), _served(sessions), _fingerprints(sessions)]
    readers = {as_object(session.info.get("apparatus")).get("reader") for session in sessions}
    known = sorted(str(reader) for reader in readers if reader is not None)
    sentences.append(
        f"Replies were read by version {listed(known)} of SpanLab's reader."
        if known
        else _GAP.format("version of the reader of replies") + "."
    )
    batches = sum(bool(as_object(session.info.get("care")).get("batch")) for session in sessions)
    sentences.append(f"Requests of {plural(batches, 'session')} were submitted in batches." if batches else "")
    sentences += [
        f"[A session's conversations cannot be read, so nothing is known about them here: {session.unreadable}]"
        for session in sessions
        if session.unreadable
    ]
    return [sentence for sentence in sentences if sentence]


def _dates(sessions: Sequence[ChatSession]) -> str:
    times = sorted(str(event["at"]) for session in sessions for event in session.events if event.get("at"))
    times = times or sorted(str(session.info["created"]) for session in sessions if session.info.get("created"))
    if not times:
        return _GAP.format("dates") + "."
    first, last = times[0][:16].replace("T", " "), times[-1][:16].replace("T", " ")
    return f"Recorded from {first} to {last} (UTC)." if first != last else f"Recorded on {first} (UTC)."


def _practice(sessions: Sequence[ChatSession]) -> str:
    """The criterion of practice, and what became of it."""
    texts: dict[str, None] = {}
    for session in (one for one in sessions if one.settings.get("practice") == "feedback"):
        rules = as_object(as_object(session.info.get("paradigm_data")).get("practice"))
        if not rules:
            continue
        text = f"A round of practice had {plural(int(rules.get('trials', 0)), 'trial')}"
        passing, most = rules.get("pass"), rules.get("at_most")
        text += (
            f"; {passing:.0%} of its answers had to be right, in up to {plural(int(most or 1), 'round')}"
            if isinstance(passing, int | float)
            else ""
        )
        over = [event for event in session.events if event["event"] == "practice"]
        text += "".join(
            f"; {plural(int(event['rounds']), 'round')}, {_PASSED[bool(event['passed'])]}"
            for event in over
            if event.get("rounds")
        )
        texts[f"{text}."] = None
    return " ".join(texts)


_PASSED = {True: "passed", False: "not passed"}


def _served(sessions: Sequence[ChatSession]) -> str:
    runs = {
        text for session in sessions if (text := _runs(line["reply"].get("served_model") for line in session.replies))
    }
    if not runs:
        return _GAP.format("which model the server says it used") + "."
    return f"The server called the model {' or '.join(sorted(runs))}."


def _fingerprints(sessions: Sequence[ChatSession]) -> str:
    orders = [[line["reply"].get("fingerprint") for line in session.replies] for session in sessions]
    runs = {text for order in orders if any(order) and (text := _runs(order))}
    if not runs:
        return "It gave no fingerprint of its system." if any(orders) else ""
    changed = sum(len(set(filter(None, order))) > 1 for order in orders)
    text = f"The fingerprint of its system was {' or '.join(sorted(runs))}"
    return (
        f"{text}; it changed during {plural(changed, 'session')}."
        if changed
        else f"{text}, and it changed during no session."
    )


def _runs(values: Iterable[str | None]) -> str:
    """Values in the order in which they came, with the numbers of the replies that had each."""
    runs: list[tuple[str | None, int, int]] = []
    for number, value in enumerate(values, start=1):
        if runs and runs[-1][0] == value:
            runs[-1] = (value, runs[-1][1], number)
        else:
            runs.append((value, number, number))
    if not any(value for value, _, _ in runs):
        return ""
    if len(runs) == 1:
        return f"`{runs[0][0]}`"
    named = [(f"`{value}`" if value else "nothing") + f" (replies {first} to {last})" for value, first, last in runs]
    return " then ".join(named)


def prompt_texts(session: ChatSession) -> list[tuple[str, str]]:
    """Return the prompts of a session with a title for each: instructions as they were sent, the
    first request, and texts of the settings."""
    texts: list[tuple[str, str]] = []
    trials = [line for line in session.replies if str(line.get("trial")) != "0" and line.get("sent")]
    opening = [_text(line["sent"][0]) for line in trials if line["sent"][0]["role"] in ("system", "developer")]
    distinct = list(dict.fromkeys(opening))
    texts += [
        ("Instructions" if len(distinct) == 1 else f"Instructions, {number}", text)
        for number, text in enumerate(distinct[:_MOST_PROMPTS], start=1)
    ]
    if len(distinct) > _MOST_PROMPTS:
        texts.append(
            ("Further instructions", f"{len(distinct) - _MOST_PROMPTS} more are in the record (spanlab transcript).")
        )
    if trials:
        said = [
            f"{message['role']}:\n{_text(message)}"
            for message in trials[0]["sent"]
            if message["role"] not in ("system", "developer")
        ]
        texts.append((f"First request, of trial {trials[0]['trial']}", "\n\n".join(said)))
    replaced = as_object(session.settings.get("instructions"))
    taken = [name for name in replaced if name == session.info.get("paradigm")] or list(replaced)
    texts += [(f"Instructions for {name} in the settings", str(replaced[name])) for name in taken]
    return texts


def _text(message: Mapping[str, Any]) -> str:
    return "\n\n".join(
        str(part.get("text", "[picture]" if "picture" in part else "[sound]")) for part in message["parts"]
    )


def chat_sentences(sessions: Sequence[ChatSession]) -> list[str]:
    """Return the sentences on sessions of a chat model that have the same settings."""
    return [*setting_sentences(sessions[0].settings), *_session_sentences(sessions)]


def prompts_appendix(sessions: Sequence[ChatSession]) -> list[str]:
    """Return the lines of the appendix of prompts; a text that several sessions have is printed
    once."""
    titles = grouped(
        (
            _block(text),
            f"{title}: {session.info.get('paradigm')}, `{session.info.get('agent')}` (settings"
            f" {session.info.get('agent_settings_hash')})",
        )
        for session in sessions
        for title, text in prompt_texts(session)
    )
    lines = [line for block, names in titles.items() for line in ("", listed(list(dict.fromkeys(names))), "", block)]
    return ["", "## Appendix: prompts", *lines] if lines else []


def _block(text: str) -> str:
    """A text as a block of Markdown that shows it letter by letter."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"
