"""How a trial is put to a chat model: roles, deliveries, histories, reasons, in every combination;
no prompt holds more than percepts and own replies."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from chat_trials import HERE, context, hold, sent, turns
from hypothesis import given
from hypothesis import settings as settings_of_tests
from hypothesis import strategies as st

from spanlab.agents.chat import ChatAgent, ChatSettings
from spanlab.agents.chat.messages import Request, Text
from spanlab.agents.chat.settings import presets
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, Truth, compile_trial, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions.plan import Request as SessionRequest
from spanlab.sessions.plan import try_out

PARADIGMS = list_paradigms()
VSR, VERBAL = load_paradigm("vsr"), load_paradigm("nback_verbal")
TRIAL = compile_trial(VSR, {"list_length": 3}, seed=5, generator="corrected")
BLOCK = compile_trial(VERBAL, {"n": 2, "lures": "none", "block_length": 24}, seed=1, generator="corrected")
LETTERS = [step.percept.for_machine.stimulus.words() for step in BLOCK.steps if step.percept.ask is not None]
QUESTION = "Answer with one number from 1 to 9."


def settings(**values: Any) -> ChatSettings:
    return ChatSettings.read(values)


def wordings(request: Request) -> str:
    """All words of a request."""
    return "\n".join(part.text for message in request.messages for part in message.parts if isinstance(part, Text))


# Roles and deliveries


def test_merged_delivery_makes_one_message_of_everything_since_the_last_answer() -> None:
    requests, answers = hold(TRIAL, VSR, settings(), lambda *_: "3")
    assert [answer.value for answer in answers] == [2, 2, 2]
    assert [role for role, _ in turns(requests[-1])] == ["system", "user", "assistant", "user", "assistant", "user"]
    first = turns(requests[0])[1][1]
    assert first.count("row by row") >= 3, "three patterns and the array of the first question"
    assert first.endswith(QUESTION)


def test_separate_delivery_makes_a_message_of_every_step() -> None:
    requests, _ = hold(TRIAL, VSR, settings(delivery="separate"), lambda *_: "3")
    assert [role for role, _ in turns(requests[0])] == ["system", "user", "user", "user", "user"], (
        "three patterns, and the array with its question"
    )
    assert [QUESTION in content for _, content in turns(requests[0])] == [
        True,
        False,
        False,
        False,
        True,
    ], "the legend and the question"


def test_acknowledged_delivery_lets_roles_alternate() -> None:
    requests, _ = hold(TRIAL, VSR, settings(delivery="acknowledged"), lambda *_: "3")
    assert turns(requests[0])[0][0] == "system"
    rest = turns(requests[-1])[1:]
    assert all(one[0] != other[0] for one, other in pairwise(rest))
    assert [content for role, content in rest if role == "assistant"] == [
        "ok",
        "ok",
        "ok",
        "3",
        "3",
    ], "not after a reply"


@pytest.mark.parametrize("role", ["system", "developer", "user"])
@pytest.mark.parametrize("delivery", ["merged", "separate", "acknowledged"])
def test_instructions_have_the_role_that_was_chosen(role: str, delivery: str) -> None:
    requests, _ = hold(BLOCK, VERBAL, settings(instructions_as=role, delivery=delivery, preamble=""), lambda *_: "m")
    first, told = turns(requests[0]), context(BLOCK, VERBAL).instructions.strip()
    assert first[0][0] == role
    assert first[0][1].startswith(told)
    expected = (
        {"merged": ["user"], "separate": ["user", "user"], "acknowledged": ["user", "assistant", "user"]}[delivery]
        if role == "user"
        else [role, "user"]
    )
    assert [one for one, _ in first] == expected


def test_bare_wording_sends_nothing_but_instructions_and_stimuli() -> None:
    requests, answers = hold(BLOCK, VERBAL, settings(wording="bare", preamble=""), lambda *_: "m")
    assert len(answers) == 24
    assert turns(requests[-1])[0] == ("system", context(BLOCK, VERBAL).instructions.strip())
    assert [content for role, content in turns(requests[-1]) if role == "user"] == LETTERS
    again, _ = hold(BLOCK, VERBAL, settings(wording="bare", reask=1), lambda _, number: "hm" if number == 1 else "m")
    assert turns(again[1])[-2:] == [
        ("assistant", "hm"),
        ("user", "That could not be read as an answer. Answer with one of: m, -."),
    ], "a question put again is put"


# History and reasons


def reply(request: Request, number: int) -> str:
    return "3\nBecause the third one fits.\nSo it is 3."


@pytest.mark.parametrize(
    ("chosen", "remembered"),
    [
        ({}, "3\nBecause the third one fits.\nSo it is 3."),
        ({"history": "extracted"}, "3"),
        ({"reasoning": "after"}, "3\nBecause the third one fits.\nSo it is 3."),
        ({"reasoning": "after", "history": "without_reasons"}, "3"),
        ({"reasoning": "before", "history": "without_reasons"}, "So it is 3."),
        ({"reasoning": "before", "history": "extracted"}, "3"),
    ],
)
def test_what_the_model_sees_again_of_its_reply(chosen: dict[str, Any], remembered: str) -> None:
    requests, answers = hold(TRIAL, VSR, settings(**chosen), reply)
    assert [answer.value for answer in answers] == [2, 2, 2]
    assert [content for role, content in turns(requests[-1]) if role == "assistant"] == [remembered] * 2
    assert answers[0].raw == reply(requests[0], 1), "the record has all of it"


def test_a_reply_that_cannot_be_read_stays_in_the_history_as_it_was() -> None:
    requests, answers = hold(
        TRIAL,
        VSR,
        settings(history="extracted", reask=2),
        lambda _, number: f"Perhaps 1, perhaps 2 ({number})." if number < 3 else "It is 4.",
    )
    assert (answers[0].value, answers[0].notes["attempts"]) == (3, 3)
    assert [content for role, content in turns(requests[-1]) if role == "assistant"][:3] == [
        "Perhaps 1, perhaps 2 (1).",
        "Perhaps 1, perhaps 2 (2).",
        "4",
    ]


def test_thoughts_are_neither_read_nor_remembered() -> None:
    def think(request: Request, number: int) -> str:
        return "<think>1 or 2 or 5?</think>\n\n7"

    requests, answers = hold(TRIAL, VSR, settings(), think)
    assert [answer.value for answer in answers] == [6, 6, 6]
    assert [content for role, content in turns(requests[-1]) if role == "assistant"] == ["7", "7"]


@pytest.mark.parametrize("reasoning", ["none", "after", "before"])
@pytest.mark.parametrize("wording", ["full", "bare"])
def test_reasons_are_asked_for_with_every_question_or_in_the_instructions(reasoning: str, wording: str) -> None:
    chosen = settings(reasoning=reasoning, wording=wording)
    requests, _ = hold(TRIAL, VSR, chosen, reply)
    times = wordings(requests[-1]).count(chosen.reasoning_text) if chosen.reasoning_text else 0
    assert times == {("none", "full"): 0, ("none", "bare"): 0}.get((reasoning, wording), 3 if wording == "full" else 1)
    assert (reasoning == "none") == (chosen.reasoning_text == "")


def test_an_empty_reply_is_asked_again_and_something_stands_for_it() -> None:
    requests, answers = hold(TRIAL, VSR, settings(), lambda _, number: "" if number == 1 else "5")
    assert answers[0].value == 4
    assert turns(requests[1])[-2] == ("assistant", "(empty reply)")


# What is sent beside the messages, and what is told of an answer


def test_constrained_answers_and_probabilities_are_asked_for_when_they_are_wanted() -> None:
    requests, _ = hold(TRIAL, VSR, settings(), lambda *_: "1")
    assert requests[0].options == {}
    requests, answers = hold(
        TRIAL, VSR, settings(constrained="json", extra_body={"seed": 3}, temperature=0), lambda *_: '{"answer": "4"}'
    )
    assert {"seed", "temperature", "response_format"} == set(requests[0].options)
    assert requests[0].options["response_format"]["type"] == "json_schema"
    assert [(answer.value, answer.notes["extraction"]) for answer in answers] == [(3, "constrained")] * 3
    assert "JSON" in turns(requests[0])[-1][1], "the model is told"


def test_every_setting_that_shapes_a_reply_is_part_of_what_identifies_a_request() -> None:
    def identity(model: str = "m", say: str = "3", **values: Any) -> str:
        return hold(TRIAL, VSR, settings(**values), lambda *_: say, model=model)[0][1].identity

    one = identity()
    assert one == identity(), "the same words, the same identity, whatever the conversation is called"
    others = [
        identity("other"),
        identity(say="4"),
        *(
            identity(**{name: value})
            for name, value in [
                ("temperature", 0),
                ("extra_body", {"seed": 1}),
                ("view", "image"),
                ("preamble", "Hello."),
                ("instructions_as", "user"),
            ]
        ),
        identity(view="image", image_px=96),
        identity(delivery="separate"),
        identity(constrained="json"),
    ]
    assert len({one, *others}) == len(others) + 1


def test_a_conversation_only_grows() -> None:
    requests, _ = hold(
        BLOCK, VERBAL, settings(view="both", image_px=96, reask=1), lambda _, number: "" if number % 3 == 0 else "m"
    )
    for one, other in pairwise(requests):
        assert other.messages[: len(one.messages)] == one.messages
        assert len(other.messages) > len(one.messages)
    assert len({request.identity for request in requests}) == len(requests)


@settings_of_tests(max_examples=60, deadline=None)
@given(
    replies=st.lists(st.text(max_size=30), min_size=9, max_size=9),
    delivery=st.sampled_from(["merged", "separate", "acknowledged"]),
    role=st.sampled_from(["system", "developer", "user"]),
    history=st.sampled_from(["full", "without_reasons", "extracted"]),
    reasoning=st.sampled_from(["none", "after", "before"]),
    wording=st.sampled_from(["full", "bare"]),
)
@pytest.mark.slow
def test_whatever_a_model_says_the_conversation_can_be_sent(replies: list[str], role: str, **chosen: str) -> None:
    requests, answers = hold(
        TRIAL, VSR, settings(instructions_as=role, reask=2, **chosen), lambda _, number: replies[number - 1]
    )
    assert len(answers) == 3
    assert all((answer.value is None) == (answer.outcome == "invalid") for answer in answers)
    for one, other in pairwise(requests):
        assert other.messages[: len(one.messages)] == one.messages
    last = turns(requests[-1])
    assert last[-1][0] == "user"
    assert all(content.strip() for _, content in last), "servers refuse empty messages"
    if chosen["delivery"] != "separate":
        assert all(one[0] != other[0] for one, other in pairwise(last)), "roles alternate"
    shown = [part for _, content in last for part in content.split("\n\n")]
    assert [word for word in shown if word.startswith("A 6 x 6 grid")] == [
        step.percept.for_machine.stimulus.words().strip("\n") for step in TRIAL.steps[:3]
    ]


def test_settings_that_cannot_go_together_are_told() -> None:
    with pytest.raises(SpanLabError, match="set extraction to tolerant, or reasoning to after"):
        settings(reasoning="before", extraction="first_character")
    agent = ChatAgent("m", settings(extraction="first_character"), HERE)
    agent.check_questions([step.percept.ask.kind for step in BLOCK.steps if step.percept.ask is not None])
    cells = compile_trial(load_paradigm("sfr"), {"list_length": 2}, seed=1, generator="corrected").steps[-1].percept.ask
    assert cells is not None
    with pytest.raises(SpanLabError, match="first_character needs answers of one character"):
        agent.check_questions([cells.kind])


def test_a_questionnaire_is_not_given_without_its_questions(tmp_path: Path) -> None:
    (path := tmp_path / "after.yaml").write_text(
        "paradigm: after\nversion: 1\ntitle: Afterwards\nquestionnaire: true\ninstructions: {en: Please"
        " answer.}\ntimeline:\n  - {phase: effort, show: {blank: {}}, ask: {rating: {from: 1, to: 7}, prompt: {en: Did"
        " you try hard?}}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(str(path))
    plan = plan_session(paradigm, 1, SessionDesign(), trials=1)
    with pytest.raises(SpanLabError, match=r"would not be told its questions.*give --chat prompts=true"):
        try_out(paradigm, ChatAgent("m", settings(), HERE), plan, SessionRequest(seed=1))
    try_out(paradigm, ChatAgent("m", settings(prompts=True), HERE), plan, SessionRequest(seed=1))


# The wall


def every_protocol() -> list[dict[str, Any]]:
    """Every combination of what decides about the messages."""
    fields = ("view", "delivery", "history", "reasoning", "wording", "instructions_as")
    levels = [get_args(ChatSettings.model_fields[name].annotation) for name in fields]
    return [dict(zip(fields, chosen, strict=True)) for chosen in itertools.product(*levels)]


def bytes_of(requests: Sequence[Request]) -> bytes:
    """All that goes out, and by which it is known again."""
    return json.dumps(
        [[sent(request), dict(request.options), request.identity] for request in requests], sort_keys=True
    ).encode()


def protocols(paradigm: Paradigm, full: bool) -> list[ChatSettings]:
    chosen = every_protocol()
    if not full:
        start = PARADIGMS.index(paradigm.name)
        chosen = chosen[start :: len(PARADIGMS)] + [
            one
            for one in chosen
            if one["view"] == "both" and one["wording"] == "full" and one["instructions_as"] == "user"
        ]
    made = [settings(**one, image_px=96, reask=1) for one in chosen]
    made += [
        settings(option_order=order, option_signs=signs, reask=1)
        for order, signs in (("reversed", "words"), ("rotated", "letters"), ("declared", "digits"))
    ]
    named = [settings(preset=name, image_px=96, reask=1, view=view) for name in presets() for view in ("words", "both")]
    return made + [one for one in named if not one.instructions or paradigm.name in one.instructions]


def check_wall(name: str, full: bool) -> None:
    paradigm = load_paradigm(name)
    trial = compile_trial(paradigm, paradigm.combinations()[-1], seed=3, generator="corrected")
    steps = [replace(step, truth=Truth()) for step in trial.steps]
    other = replace(trial, steps=tuple(steps), seed=99, trial_id="other", set_size=None, list_length=None)
    most = 3  # questions: the further ones are no different
    asked = [step.index for step in trial.steps if step.percept.ask is not None]
    end = asked[min(most, len(asked)) - 1] + 1

    def say(request: Request, number: int) -> str:
        return "no idea" if number == 2 else "1"

    for protocol in protocols(paradigm, full):
        first, _ = hold(trial, paradigm, protocol, say, [step.shown_after("right") for step in trial.steps[:end]])
        second, _ = hold(other, paradigm, protocol, say, [step.shown_after("right") for step in other.steps[:end]])
        assert first
        assert bytes_of(first) == bytes_of(second), protocol


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PARADIGMS)
def test_equal_percepts_give_equal_bytes_whatever_the_truth(name: str) -> None:
    check_wall(name, full=False)


@pytest.mark.slow
@pytest.mark.soaked(12)
@pytest.mark.parametrize("name", PARADIGMS)
def test_equal_percepts_give_equal_bytes_in_every_protocol(name: str) -> None:
    check_wall(name, full=True)
