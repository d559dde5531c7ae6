"""Replies with what a careful reader takes as their one answer: a half on which the reading of
answers is worked on, and a half by which it is judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.messages import Reply
from spanlab.agents.chat.reading.extraction import read, split_reasoning
from spanlab.paradigms import ResponseKind
from spanlab.paradigms.responses import Cells, Choice, Continuous, Rating, SerialOrder, TypedText

FOLDER = Path(__file__).resolve().parents[2] / "replies"
KINDS: Mapping[str, ResponseKind] = {
    "match": Choice.model_validate({"options": ["m", "-"]}),
    "sides": Choice.model_validate({"options": ["left", "right"]}),
    "same": Choice.model_validate({"options": ["same", "different"]}),
    "nine": Choice.model_validate({"options": 9, "layout": "3x3"}),
    "symm": Choice.model_validate({"options": ["asymmetric", "symmetric"]}),
    "colour": Choice.model_validate({"options": ["red", "blue"]}),
    "words": Choice.model_validate({"options": ["statue", "clock", "iceberg", "tulip", "towel"]}),
    "axes": Choice.model_validate({"options": ["top/left", "bottom/right"]}),
    "cells3": Cells.model_validate({"grid": 10, "take": 3}),
    "cells1": Cells.model_validate({"grid": 10, "take": 1}),
    "angle": Continuous.model_validate({"feature": "orientation", "tolerance": 20}),
    "digits": TypedText.model_validate({"characters": "digits", "most": 6}),
    "sure": Rating.model_validate({"from": 1, "to": 6, "labels": {"1": "I was guessing", "6": "absolutely sure"}}),
    "yesno": Choice.model_validate({"options": ["yes", "no"]}),
    "truth": Choice.model_validate({"options": ["true", "false"]}),
    "wheel": Continuous.model_validate({"feature": "colour", "tolerance": 20}),
    "span5": SerialOrder.model_validate({"options": ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "take": 5}),
    "letters5": SerialOrder.model_validate({"options": [*"FHJKLNPQRSTY"], "take": 5, "repeats": True}),
    "blocks4": SerialOrder.model_validate({"options": 9, "layout": "3x3", "take": 4, "repeats": False}),
    "order": SerialOrder.model_validate({"options": 9, "layout": "3x3", "take": 3}),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One reply: the question, where reasons were asked for, the answer in it (None: there is
    none), and what was read."""

    kind: str
    reasoning: str
    answer: str | None
    reply: str
    read: str | None

    @property
    def false_accept(self) -> bool:
        """Whether something was read that is not the answer."""
        return self.read is not None and self._in_any_order(self.read) != self._in_any_order(self.answer)

    def _in_any_order(self, answer: str | None) -> object:
        """Cells are answered in any order."""
        return sorted(answer.split("; ")) if answer is not None and self.kind.startswith("cells") else answer

    @property
    def false_reject(self) -> bool:
        """Whether there is an answer and none was read."""
        return self.read is None and self.answer is not None


def judged(half: str) -> list[Judged]:
    """What the tolerant rule reads in a part of the replies: ``worked_on``, ``held_out`` and
    ``unseen``, ``fresh``, ``fresh_second``, ``third`` to ``eighth`` (all of them looked at
    since), or ``ninth``, after which nothing was mended."""
    found = []
    for line in (FOLDER / f"{half}.jsonl").read_text("utf-8").splitlines():
        kind, reasoning, answer, text = json.loads(line)
        settings = ChatSettings(reasoning=reasoning)
        _, rest = split_reasoning(Reply(content=text, latency_ms=0))
        value = read(KINDS[kind], rest, settings).value
        found.append(Judged(kind, reasoning, answer, text, None if value is None else KINDS[kind].write(value)))
    return found


def told(found: list[Judged]) -> str:
    """The mistakes, and how many there are."""
    lines = [
        f"{'accept' if one.false_accept else 'reject'} {one.kind} {one.reasoning}: {one.reply!r} -> {one.read}"
        for one in found
        if one.false_accept or one.false_reject
    ]
    return "\n".join(
        [
            *lines,
            (
                f"{len(found)} replies: {sum(one.false_accept for one in found)} false accepts,"
                f" {sum(one.false_reject for one in found)} false rejects"
            ),
        ]
    )
