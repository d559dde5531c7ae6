"""The sentences of sessions whose record is too old to hold them, recovered from transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..agents.base import Agent, Sentences
from ..core.agent_kinds import kind_named
from ..paradigms import Paradigm, PlannedTrial, ResponseKind
from .record.reader import trial_key
from .record.session_files import is_reply
from .session import SENTENCES


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
