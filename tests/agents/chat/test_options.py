"""Options in another order or with other signs: what is sent and read, and that neither has to do
with what is right."""

from __future__ import annotations

from typing import Any

import pytest
from chat_trials import HERE, hold, turns

from spanlab.agents.chat import ChatAgent, ChatSettings
from spanlab.agents.chat.messages import Reply
from spanlab.agents.chat.options import as_written
from spanlab.agents.chat.reading.extraction import read_reply
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import ResponseKind, compile_trial, list_paradigms, load_paradigm

CD, VERBAL, VSR = load_paradigm("cd"), load_paradigm("nback_verbal"), load_paradigm("vsr")
TRIALS = [
    compile_trial(CD, {"set_size": 2, "retention_steps": 6, "feature": "colour"}, seed=seed, generator="corrected")
    for seed in range(12)
]
BLOCK = compile_trial(VERBAL, {"n": 2, "lures": "none", "block_length": 24}, seed=1, generator="corrected")


def settings(**values: Any) -> ChatSettings:
    return ChatSettings.read(values)


def kind_of(trial: Any) -> ResponseKind:
    return next(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)


@pytest.mark.parametrize(
    ("chosen", "question"),
    [
        ({}, "Answer with one of: same, different."),
        ({"option_order": "reversed"}, "Answer with one of: different, same."),
        ({"option_signs": "letters"}, "Answer with one letter: A (same), B (different)."),
        ({"option_signs": "digits", "option_order": "rotated"}, "Answer with one number: 1 (different), 2 (same)."),
    ],
)
def test_instructions_and_question_name_the_options_as_chosen(chosen: dict[str, Any], question: str) -> None:
    requests, _ = hold(TRIALS[0], CD, settings(**chosen), lambda *_: "hm")
    first = turns(requests[0])
    assert first[0][1].count(question) == 1, "in the instructions"
    assert first[-1][1].endswith(question)
    assert turns(requests[1])[-1][1].endswith(question), "and when it is asked again"


def test_answers_are_recorded_as_the_paradigm_has_them() -> None:
    for reply, value in {
        "A": "different",
        "b": "same",
        "B.": "same",
        "same": "same",
        "A (different)": "different",
        "Answer: B": "same",
    }.items():
        _, (answer,) = hold(
            TRIALS[0], CD, settings(option_signs="letters", option_order="reversed"), lambda *_, reply=reply: reply
        )
        assert answer.value == value, reply
        again = read_reply(
            kind_of(TRIALS[0]),
            Reply(content=reply, latency_ms=1),
            settings(option_signs="letters", option_order="reversed"),
        )
        assert again[1].value == value, "also of the record"
        assert answer.raw == reply


@pytest.mark.parametrize("reply", ["A (same)", "B different", "A or B", "C", "3", ""])
def test_what_is_no_option_or_two_is_no_answer(reply: str) -> None:
    _, (answer,) = hold(
        TRIALS[0], CD, settings(option_signs="letters", option_order="reversed", reask=0), lambda *_: reply
    )
    assert answer.outcome == "invalid"


def test_a_model_sees_its_answers_as_it_wrote_them() -> None:
    requests, answers = hold(BLOCK, VERBAL, settings(option_signs="letters", history="extracted"), lambda *_: "A")
    assert [answer.value for answer in answers] == ["m"] * len(answers)
    assert {content for role, content in turns(requests[-1]) if role == "assistant"} == {"A"}


@pytest.mark.sampled(33)
@pytest.mark.parametrize(
    "chosen",
    [{"option_order": "reversed"}, {"option_signs": "letters"}, {"option_signs": "digits", "option_order": "rotated"}],
)
@pytest.mark.parametrize("name", list_paradigms())
def test_no_order_and_no_sign_depends_on_what_is_right(name: str, chosen: dict[str, Any]) -> None:
    """Of questions with the same options the written ones are the same in all trials; other
    questions stay as they are."""
    paradigm, written = load_paradigm(name), {}
    for seed in range(6):
        trial = compile_trial(paradigm, paradigm.combinations()[0], seed=seed, generator="corrected")
        for step in trial.steps:
            if step.percept.ask is not None:
                kind = step.percept.ask.kind
                now = as_written(kind, settings(**chosen))
                assert written.setdefault(kind.record_key(), now.question()) == now.question()
                assert set(getattr(now, "values", ())) == set(getattr(kind, "values", ()))


def test_defaults_change_nothing() -> None:
    assert as_written(kind_of(TRIALS[0]), settings()) is kind_of(TRIALS[0])
    number = next(
        step.percept.ask.kind
        for step in compile_trial(VSR, {"list_length": 2}, seed=1, generator="corrected").steps
        if step.percept.ask is not None
    )
    assert as_written(number, settings(option_signs="letters", option_order="reversed")) is number


def test_settings_of_options_that_nothing_asks_for_are_refused() -> None:
    number = next(
        step.percept.ask.kind
        for step in compile_trial(VSR, {"list_length": 2}, seed=1, generator="corrected").steps
        if step.percept.ask is not None
    )
    with pytest.raises(SpanLabError, match="these trials ask none"):
        ChatAgent("m", settings(option_signs="letters"), HERE).check_questions([number])
    ChatAgent("m", settings(option_signs="letters"), HERE).check_questions([kind_of(TRIALS[0])])
    for chosen in ({"wording": "bare", "option_signs": "letters"}, {"likelihoods": "top", "option_signs": "digits"}):
        with pytest.raises(SpanLabError, match="option_signs"):
            settings(**chosen)


def test_letters_can_be_read_by_their_first_character() -> None:
    agent = ChatAgent("m", settings(extraction="first_character", option_signs="letters"), HERE)
    agent.check_questions([kind_of(TRIALS[0])])
    _, (answer,) = hold(
        TRIALS[0], CD, settings(extraction="first_character", option_signs="letters"), lambda *_: "Because"
    )
    assert answer.value == "different", "that is how this way of reading is meant"
