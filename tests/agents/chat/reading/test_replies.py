"""How well the tolerant rule reads what models write: on the replies that it was made with, and on
others that were looked at once, when it was done."""

from __future__ import annotations

import json

import pytest
from reply_corpus import FOLDER, KINDS, judged, told

from spanlab.agents.chat.messages import Reply
from spanlab.agents.chat.reading.extraction import split_reasoning
from spanlab.paradigms.responses import RESPONSES

#: Sets with many replies without an answer, in forms that look like one; looked at since.
MENDED = ("third", "fourth", "fifth", "sixth", "seventh", "eighth")


@pytest.mark.parametrize("half", MENDED)
def test_what_was_read_as_an_answer_and_was_none_is_no_longer_read(half: str) -> None:
    assert not [reply for reply in judged(half) if reply.false_accept], told(judged(half))


@pytest.mark.parametrize("half", ["worked_on", "held_out", "fresh", "fresh_second", *MENDED, "ninth"])
def test_few_replies_are_read_as_what_they_do_not_say_and_few_answers_are_missed(half: str) -> None:
    found = judged(half)
    assert sum(one.false_accept for one in found) <= 0.02 * len(found), told(found)
    assert sum(one.false_reject for one in found) <= 0.10 * sum(one.answer is not None for one in found), told(found)


def test_the_replies_are_many_and_of_all_sorts() -> None:
    both = [one for half in ("worked_on", "held_out") for one in judged(half)]
    assert len(both) >= 400
    assert {one.kind for one in both} == set(KINDS)
    assert {kind.name for kind in KINDS.values()} == set(RESPONSES) - {"open_text"}  # whose every reply is its answer
    assert {one.reasoning for one in both} == {"none", "before", "after"}
    assert 0.25 < sum(one.answer is None for one in both) / len(both) < 0.5
    for words in ("Antwort", "réponse", "respuesta", "答案", "answer"):
        assert sum(words in one.reply for one in both) >= 4, words


def test_the_halves_share_few_replies_and_none_but_the_barest() -> None:
    halves = [
        {
            (kind, where, text)
            for kind, where, _, text in map(json.loads, (FOLDER / f"{half}.jsonl").read_text("utf-8").splitlines())
        }
        for half in ("worked_on", "held_out")
    ]
    assert all(len(text) < 60 for _, _, text in halves[0] & halves[1])


@pytest.mark.parametrize(
    ("content", "reasoning", "rest"),
    [
        ("[THINK]a[/THINK]m", "a", "m"),
        ("[THINK]a", "a", ""),
        ("<thought>a</thought>m", "a", "m"),
        ("<reasoning>a</reasoning> m", "a", "m"),
        ("◁think▷a◁/think▷m", "a", "m"),
        ("<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>m<|end_of_solution|>", "a", "m"),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>m<|return|>", "a", "m"),
        ("<|channel|>analysis<|message|>a", "a", ""),
        ("<|channel|>final<|message|>m", None, "m"),
        ("analysisa is itassistantfinalm", "a is it", "m"),
        ("<|channel>thought\na<channel|>m", "a", "m"),
        ("the analysis of m", None, "the analysis of m"),
    ],
)
def test_reasoning_is_known_by_the_marks_of_open_models(content: str, reasoning: str | None, rest: str) -> None:
    found, left = split_reasoning(Reply(content=content, latency_ms=0))
    assert ((found or "").strip() or None, left.strip()) == (reasoning, rest)
