"""Practice, memory and examples of chat models: as people have them, declared, rebuilt after an
interruption, and never with an answer of the session's own."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_sessions import steady, table, take, words
from forged_truth import forge_sessions
from paradigm_texts import ANSWERS

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import begin, read_responses, read_session
from spanlab.sessions.plan import UnseenTrials, list_of
from spanlab.sessions.record.reader import read_events, read_transcript
from spanlab.sessions.transcripts.transcript import Transcript

CD, NBACK, VSR = load_paradigm("cd"), load_paradigm("nback_verbal_feedback"), load_paradigm("vsr")
FEW = plan_session(CD, seed=4, levels={"set_size": [2], "retention_steps": [6]}, trials=6, design=SessionDesign())


def test_practice_is_that_of_people_and_every_conversation_begins_with_it(tmp_path: Path) -> None:
    session, asked = take(tmp_path, CD, FEW, steady("same"), {"practice": "feedback"})
    info, practice = read_session(session.folder), CD.practice
    assert practice is not None
    assert info["practice"]
    assert info["agent_settings"]["practice"] == "feedback"
    rows = read_responses(session.folder)
    (over,) = [event for event in read_events(session.folder) if event["event"] == "practice"]
    assert rows["practice"].sum() == practice.trials * over["rounds"] == practice.trials * practice.at_most, (
        "always the same answer does not pass"
    )
    assert not over["passed"]
    assert set(rows.loc[rows["practice"], "seed"]).isdisjoint(rows.loc[~rows["practice"], "seed"])
    # what was said after each trial is how many of the answers were right, and nothing else
    last = [words(message) for message in asked[-1]]
    said = [bool(right) for right in rows.loc[rows["practice"]].sort_values("trial")["correct"]]
    assert ["All correct." in text for text in last[3::2]][: len(said)] == said
    assert ["0 of 1 correct." in text for text in last[3::2]][: len(said)] == [not one for one in said]
    assert last[1].startswith("We begin with some practice. You will be told how you did.")
    assert sum("Let us practise once more." in text for text in last) == practice.at_most - 1
    begun = [
        messages for messages in asked if any("Now the real trials begin." in words(message) for message in messages)
    ]
    assert len(begun) == len(FEW)
    opening = begun[0][: 2 * len(said) + 1]
    assert all(messages[: len(opening)] == opening for messages in begun), (
        "each with the same practice, and with no trial of another"
    )
    assert {len(messages) for messages in begun} == {len(opening) + 1}


def test_a_criterion_that_is_reached_ends_practice(tmp_path: Path) -> None:
    from words_solver import solve

    session, _ = take(tmp_path, CD, FEW, lambda messages: solve(messages[-1:]), {"practice": "feedback"})
    (over,) = [event for event in read_events(session.folder) if event["event"] == "practice"]
    assert (over["rounds"], over["passed"]) == (1, True)


def test_one_conversation_goes_on_over_the_trials_of_a_block(tmp_path: Path) -> None:
    plan = plan_session(VSR, seed=4, levels={"list_length": [3]}, trials=6, design=SessionDesign())
    plan = [replace(planned, block=1 + planned.trial // 4) for planned in plan]
    session, asked = take(tmp_path, VSR, plan, steady("1", "2", "3"), {"conversation": "session"})
    first, second = asked[: 3 * 3], asked[3 * 3 :]
    for block in (first, second):
        assert [len(messages) for messages in block] == [2 * number for number in range(1, len(block) + 1)]
        for one, other in itertools.pairwise(block):
            assert other[: len(one)] == one
        assert sum("A new trial begins." in words(message) for message in block[-1]) == 2
        assert sum(message["role"] == "system" for message in block[-1]) == 1
    lines = [line for line in read_transcript(session.folder) if "reply" in line]
    assert [line.get("past") for line in lines[::3]] == [None, 7, 13, None, 7, 13], (
        "what was kept before is not kept again"
    )
    assert all(len(line["sent"]) <= 2 for line in lines)
    assert [Transcript(session.folder).talk(key).past for key in ("1", "2", "4")] == [0, 7, 0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("delivery", ["merged", "separate", "acknowledged"])
@pytest.mark.parametrize("role", ["system", "user"])
def test_a_window_leaves_out_the_first_trials_and_nothing_that_has_to_be_known(
    tmp_path: Path, delivery: str, role: str
) -> None:
    plan = plan_session(
        NBACK, seed=4, levels={"n": [1, 2], "lures": ["none"], "block_length": [24]}, trials=4, design=SessionDesign()
    )
    plan = [
        replace(planned, block=1, levels={**planned.levels, "n": n})
        for planned, n in zip(plan, [1, 2, 2, 2], strict=True)
    ]
    settings = {"conversation": "session", "conversation_window": 1, "delivery": delivery, "instructions_as": role}
    _, asked = take(tmp_path, NBACK, plan, steady("m", "-"), settings)
    whole = ["\n".join(words(message) for message in messages) for messages in asked[23::24]]
    for number, text in enumerate(whole):
        assert text.count("A new trial begins.") == (number > 0) + (number > 1), "the one before brings its own"
        replies = [
            message for message in asked[23 + 24 * number] if message["role"] == "assistant" and words(message) != "ok"
        ]
        assert len(replies) == 23 + 24 * (number > 0)
    last = asked[-1]
    assert NBACK.instructions_in("en", plan[-1].levels).strip() in words(last[0]), (
        "the instructions go out with those of the trials that stay"
    )
    assert "\n".join(map(words, last)).count(NBACK.instructions_in("en", plan[-1].levels).strip()) == 1
    if delivery != "separate":
        assert all(one["role"] != other["role"] for one, other in itertools.pairwise(last))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"practice": "feedback"},
        {"conversation": "session"},
        {"practice": "feedback", "conversation": "session", "conversation_window": 2, "examples": 2},
        {
            "practice": "feedback",
            "conversation": "session",
            "delivery": "acknowledged",
            "instructions_as": "user",
            "view": "both",
            "image_px": 96,
        }
        | {"probe": "off"},
    ],
    ids=["practice", "session", "all", "pictures"],
)
def test_after_interruptions_the_conversation_is_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    say = steady("same", "different", "perhaps")
    whole, asked = take(tmp_path / "whole", CD, FEW, say, settings)
    for stops in ([2], [3, 4, len(asked)]):
        parts, again = take(tmp_path / f"parts{len(stops)}", CD, FEW, say, settings, stops=stops)
        assert again == asked, "no request is others than without interruptions, and none is sent twice"
        pd.testing.assert_frame_equal(table(parts), table(whole))
        assert sum(event["event"] == "practice" for event in read_events(parts.folder)) == ("practice" in settings)


def test_examples_are_trials_of_their_own_with_the_right_answers(tmp_path: Path) -> None:
    plan = plan_session(VSR, seed=4, levels={"list_length": [2, 3]}, trials=4, design=SessionDesign())
    session, asked = take(
        tmp_path, VSR, plan, steady("1"), {"examples": 2, "view": "both", "image_px": 96, "probe": "off"}
    )
    for planned in plan:
        length = planned.levels["list_length"]
        found = [
            messages
            for messages in asked
            if len(messages) == 2 + 2 * 2 * length and words(messages[1]).count("row by row") > length
        ]
        assert found
    first = asked[0]
    assert words(first[1]).startswith("Some examples with the right answers come first.")
    assert first[-1]["content"][0]["text"] == "A new trial begins."
    talk = Transcript(session.folder).talk("1")
    drawn = [part for said in talk.turns[0].sent for part in said.parts if not isinstance(part, str)]
    assert drawn
    assert all(one.same for one in drawn), "pictures of examples are drawn anew, too"


PROTOCOLS: list[dict[str, Any]] = [
    {"practice": "feedback"},
    {"conversation": "session"},
    {"practice": "feedback", "conversation": "session", "conversation_window": 2, "examples": 1},
    {
        "practice": "feedback",
        "conversation": "session",
        "examples": 2,
        "view": "both",
        "image_px": 96,
        "probe": "off",
        "history": "extracted",
    },
    {"notepad": True, "retention_load": 60, "interference": 2},
    {"practice": "feedback", "conversation": "session", "retention_load": 60, "interference": 1},
]


SPANS = [
    "digit_span",
    "corsi",
    "operation_span",
    "symmetry_span",
    "running_span",
    "sternberg",
    "delayed_match",
    "continuous_colour",
]
MANY = [
    *itertools.product(["cd", "vsr", "sts", "cs", "nback_verbal", "sfr"], PROTOCOLS[:4]),
    *itertools.product([*SPANS, "answers"], PROTOCOLS[1:3]),
]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cd", PROTOCOLS[2]),
        ("vsr", PROTOCOLS[3]),
        ("answers", PROTOCOLS[2]),
        ("vsr", PROTOCOLS[4]),
        ("cd", PROTOCOLS[5]),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in MANY),
    ],
)
def test_no_request_depends_on_what_is_right_in_a_trial_that_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, Any]
) -> None:
    (tmp_path / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    paradigm = load_paradigm(tmp_path / "answers.yaml" if name == "answers" else name)
    say = steady("1", "2", "same", "left", "1 2", "2 3", "30")
    levels = {name: [factor.levels[0]] for name, factor in paradigm.factors.items() if factor.mode == "crossed"}
    plan = plan_session(paradigm, seed=4, levels=levels, trials=4, design=SessionDesign())
    _, asked = take(tmp_path / "true", paradigm, plan, say, settings)
    forge_sessions(monkeypatch)
    _, forged = take(tmp_path / "forged", paradigm, plan, say, settings)
    assert json.dumps(forged) == json.dumps(asked)


def test_of_practice_nothing_is_told_but_the_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"practice": "feedback", "conversation": "session", "examples": 1}
    _, asked = take(tmp_path / "true", CD, FEW, steady("same"), settings)
    forge_sessions(monkeypatch, lambda planned: planned.practice)
    _, forged = take(tmp_path / "forged", CD, FEW, steady("same"), settings)

    def bare(conversations: list[list[dict[str, Any]]]) -> str:
        return json.dumps(conversations).replace("0 of 1 correct.", "VERDICT").replace("All correct.", "VERDICT")

    assert json.dumps(asked) != json.dumps(forged)
    assert bare(asked) == bare(forged)


def test_examples_are_the_same_before_all_trials_with_the_same_instructions() -> None:
    """Else a model would answer as in the examples: in both paradigms a level says what is right, but of n."""
    for name, different in (("two_lists", 1), ("axcpt", 1), ("nback_verbal", 3)):
        paradigm = load_paradigm(name)
        plan = plan_session(paradigm, seed=4, trials=24, design=SessionDesign())
        apart = UnseenTrials(paradigm, "corrected", 4, plan)
        assert len({apart.examples(planned.levels, 2)[0].name for planned in plan}) == different, name


def test_no_practice_trial_and_no_example_has_a_list_of_the_sessions_own() -> None:
    plan = plan_session(CD, seed=4, trials=60, design=SessionDesign())
    own = {list_of(planned.compile(CD, "corrected")) for planned in plan}
    apart, shown = UnseenTrials(CD, "corrected", 4, plan), plan[0]
    assert apart.practice(replace(shown, practice=True)).seed != shown.seed, (
        "a trial with a list of the session's own gives way to another"
    )
    examples = apart.examples(plan[0].levels, 5)
    assert len({example.name for example in examples}) == 5
    words_of = [
        tuple(sorted(percept.for_machine.stimulus.words() for percept in example.percepts if percept.ask is None))
        for example in examples
    ]
    assert own.isdisjoint(words_of)
    assert not apart.shared
    few = plan_session(VSR, seed=4, levels={"list_length": [2]}, trials=80, design=SessionDesign())
    scarce = UnseenTrials(VSR, "corrected", 4, few)
    _ = scarce.examples(few[0].levels, 3)
    assert all("example" in one for one in scarce.shared), "where there are too few it is said"


def test_settings_that_do_not_go_together_and_paradigms_without_practice_are_told(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="conversation_window needs conversation=session"):
        ChatSettings.read({"conversation_window": 3})
    bare = replace(VSR, practice=None)
    agent = ChatAgent(
        "m", ChatSettings.read({"practice": "feedback"}), Endpoint("http://127.0.0.1:9/v1", key_variable=None)
    )
    with pytest.raises(SpanLabError, match="has no practice"):
        begin(tmp_path, bare, agent, plan_session(VSR, seed=4, trials=2, design=SessionDesign()), Wanted(seed=4))
