"""The sentences of a session beside those of its paradigm: kept in its record, so that it goes on
with the words with which it began."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from ..agents.base import Agent, ConcurrentAgent, Sentences
from ..core.agent_kinds import kind_named
from ..core.locale import kept, texts_for_people
from ..paradigms import Paradigm, PlannedTrial, ResponseKind
from .record.reader import trial_key
from .record.transcript_file import is_reply

SENTENCES = "sentences"
_PAGES, _QUESTIONS = "pages", "questions"


def sentences_of(
    agent: Agent, paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Any, language: str
) -> dict[str, Any]:
    """The sentences that an agent reads besides the paradigm's instructions, for the record: pages
    and legends of people, legends and questions of chat models.

    Returns
    -------
    nothing for agents that do not read
    """
    if agent.kind.at_window:
        return sentences_for_people(language)
    if not agent.kind.reads:
        return {}
    kinds: dict[ResponseKind, None] = {}
    for planned in plan:
        kinds |= dict.fromkeys(
            step.percept.ask.kind for step in planned.compile(paradigm, generator).steps if step.percept.ask is not None
        )
    # a machine that practises is told what people read on the pages around practice
    practises = isinstance(agent, ConcurrentAgent) and agent.practises
    return {
        SENTENCES: {
            _QUESTIONS: dict(agent.sentences(kinds)),
            **({_PAGES: texts_for_people(language)} if practises else {}),
        }
    }


def sentences_for_people(language: str) -> dict[str, Any]:
    """The sentences that a participant reads besides the texts of a paradigm or a study, for the
    record."""
    return {SENTENCES: {_PAGES: texts_for_people(language)}}


@contextmanager
def speak_as_recorded(info: Mapping[str, Any]) -> Generator[None]:
    """Use the sentences with which the session (or the session of a study) began."""
    pages = info.get(SENTENCES, {}).get(_PAGES)
    with kept(info["language"], pages) if pages else nullcontext():
        yield


def questions_of(info: Mapping[str, Any]) -> Mapping[str, Sentences]:
    """The sentences about each kind of question for a chat model, from the record."""
    return info.get(SENTENCES, {}).get(_QUESTIONS, {})


def without_sentences(info: Mapping[str, Any]) -> bool:
    """Return whether a record is too old to hold the sentences that its agent reads."""
    return SENTENCES not in info and kind_named(info["agent_kind"]).reads


def recovered(
    info: Mapping[str, Any],
    paradigm: Paradigm,
    plan: Sequence[PlannedTrial],
    agent: Agent,
    events: Iterable[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
) -> dict[str, Sentences]:
    """Recover the sentences about a chat model's questions from the transcripts of a record that
    does not keep them; what they do not show is left out.

    Parameters
    ----------
    info, paradigm, plan : of the session
    events : of ``events.jsonl``
    lines : of ``transcripts.jsonl``
    """
    settings = info["agent_settings"]
    questions: dict[str, Sentences] = {}
    if settings.get("wording") != "full" or not agent.kind.reads:
        return questions
    kinds = _asked(paradigm, plan, info["generator"], events, {line["trial"] for line in lines})
    seen_trials: set[str] = set()
    for line in lines:
        questions_of_trial = kinds.get(line["trial"])
        if questions_of_trial is None or not is_reply(line) or not line.get("sent"):
            continue
        if line["ask"] == 1 and line["trial"] not in seen_trials:
            seen_trials.add(line["trial"])
            now = agent.sentences(questions_of_trial)
            legends = list(dict.fromkeys(words["legend"] for words in now.values()))
            before = bool(str(settings.get("preamble", "")).strip()) + 1  # the paradigm's instructions
            then = _texts(line["sent"][0])[before : before + len(legends)]
            if len(then) == len(legends):
                by_legend = dict(zip(legends, then, strict=True))
                for key, words in now.items():
                    questions.setdefault(
                        key,
                        {"legend": by_legend[words["legend"]], "question": words["question"], "form": words["form"]},
                    )
        last, key = _texts(line["sent"][-1])[-1:], questions_of_trial[line["ask"] - 1].record_key()
        again = str(settings.get("reask_text", ""))
        if last and key in questions and not (again and last[0].startswith(again)):
            questions[key] = {"legend": questions[key]["legend"], "question": last[0], "form": questions[key]["form"]}
    return questions


def _texts(message: Mapping[str, Any]) -> list[str]:
    return [part["text"] for part in message["parts"] if "text" in part]


def _asked(
    paradigm: Paradigm,
    plan: Sequence[PlannedTrial],
    generator: Any,
    events: Iterable[Mapping[str, Any]],
    trials: set[str],
) -> dict[str, list[ResponseKind]]:
    """The kinds of the questions of some trials, in order, by the trials' names in the record."""
    levels = {event["trial"]: event["levels"] for event in events if event["event"] == "trial_start"}
    kinds: dict[str, list[ResponseKind]] = {}
    for planned in plan:
        if (key := trial_key(planned.practice, planned.trial)) in trials:
            trial = replace(planned, levels=levels.get(key, planned.levels), varies="").compile(paradigm, generator)
            kinds[key] = [step.percept.ask.kind for step in trial.steps if step.percept.ask is not None]
    return kinds
