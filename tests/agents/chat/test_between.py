"""What comes between a list and its question: notes in place of the list, a text to read, sums to
do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chat_sessions import table, take, words
from chat_trials import HERE, context

from spanlab.agents.chat import Before, ChatAgent, ChatSettings
from spanlab.agents.chat.between import load_text
from spanlab.agents.chat.conversation import NOTEPAD_TEXT
from spanlab.agents.chat.cost.estimate import REASONING_TOKENS, by_pieces
from spanlab.agents.chat.episode import ChatEpisode
from spanlab.agents.chat.messages import Reply, Request
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions.plan import SessionOutlook
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.run import estimate_session

VSR, CD = load_paradigm("vsr"), load_paradigm("cd")
FEW = plan_session(VSR, seed=4, levels={"list_length": [3]}, trials=3, design=SessionDesign())
TRIAL = compile_trial(VSR, {"list_length": 3}, seed=5, generator="corrected")
NOTES = "first: two rows; second: a cross"


def say(messages: list[dict[str, Any]]) -> str:
    """Notes, sums, and then always the same place."""
    asked = words(messages[-1])
    if asked.endswith(NOTEPAD_TEXT):
        return NOTES
    last = re.search(r"what is (\d+) \+ (\d+)\?", asked.rsplit("\n\n", maxsplit=1)[-1])
    return str(int(last[1]) + int(last[2])) if last else "4"


def test_with_a_notepad_only_the_notes_are_sent_again(tmp_path: Path) -> None:
    session, asked = take(tmp_path, VSR, FEW, say, {"notepad": True})
    assert len(asked) == 3 * (1 + 3)
    for trial in range(3):
        noting, *questions = asked[4 * trial : 4 * trial + 4]
        grids = [part for part in words(noting[1]).split("\n\n") if part.startswith("A 6 x 6 grid")]
        assert len(grids) == 3
        assert words(noting[1]).endswith(NOTEPAD_TEXT)
        assert questions[0][0] == noting[0], "the instructions are sent again"
        assert words(questions[0][1]).startswith(f"Your notes:\n{NOTES}\n\nNine positions")
        for messages in questions:
            assert len([message for message in messages if message["role"] == "system"]) == 1
            assert not any(part in words(message) for message in messages for part in grids), (
                "a list that is dropped is sent nowhere"
            )
            assert not any(NOTEPAD_TEXT in words(message) for message in messages)
        assert [len(messages) for messages in questions] == [2, 4, 6]
    answers = [event for event in read_events(session.folder) if event["event"] == "step" and "ask" in event]
    assert [event["notes"].get("notepad") for event in answers] == [NOTES, None, None] * 3
    assert all(event["outcome"] == "answered" for event in answers)


def test_a_text_and_sums_come_after_the_list_and_before_the_first_question_alone(tmp_path: Path) -> None:
    _, asked = take(tmp_path, VSR, FEW, say, {"retention_load": 100, "interference": 2})
    assert len(asked) == 3 * (2 + 3)
    first, second, question, *_, last = asked[:5]
    assert re.fullmatch(
        r"(?s)A 6 x 6 grid.*The \w+.*\.\n\nBefore you go on: what is \d+ \+ \d+\? Write the sum only\.", words(first[1])
    )
    assert words(second[-1]).startswith("Before you go on: what is")
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert words(question[-1]).startswith("Nine positions")
    assert sum("Before you go on" in words(message) for message in last) == 2
    assert words(first[1]) != words(asked[5][1])


def test_a_load_has_about_as_many_tokens_as_it_says_and_none_of_our_nouns() -> None:
    from importlib.resources import files

    for tokens in (100, 1000, 5000):
        assert by_pieces(load_text(tokens, 7)) == pytest.approx(tokens, rel=0.12 if tokens == 100 else 0.03)
    assert load_text(300, 7) == load_text(300, 7) != load_text(300, 8)
    nouns = set(files("spanlab.paradigms.samplers").joinpath("nouns.txt").read_text(encoding="utf-8").split())
    assert nouns.isdisjoint(re.findall(r"[a-z]+", load_text(20_000, 7).lower()))


@pytest.mark.parametrize(
    "settings",
    [{"notepad": True, "interference": 1}, {"retention_load": 60, "interference": 2, "conversation": "session"}],
)
def test_after_interruptions_the_conversation_is_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    whole, asked = take(tmp_path / "whole", VSR, FEW, say, settings)
    for stop in (2, 3, 6, len(asked)):
        parts, again = take(tmp_path / f"parts{stop}", VSR, FEW, say, settings, stops=[stop])
        assert sorted(map(json.dumps, again)) == sorted(map(json.dumps, asked)), (
            "no request is others than without interruptions, and none is sent twice"
        )
        pd.testing.assert_frame_equal(table(parts), table(whole))


def test_what_comes_between_is_foreseen(tmp_path: Path) -> None:
    for settings in ({"notepad": True}, {"retention_load": 300, "interference": 3}):
        agent = ChatAgent("m", ChatSettings.read(settings), HERE)
        foreseen = estimate_session(agent, SessionOutlook(agent, VSR, FEW, Wanted(seed=4)), lambda _: None)["estimate"]
        _, asked = take(tmp_path / str(len(settings)), VSR, FEW, say, settings)
        assert foreseen["requests"] == len(asked)
        assert (foreseen["completion_tokens"] > len(FEW) * REASONING_TOKENS) == ("notepad" in settings), (
            "notes are long"
        )


def test_trials_that_ask_while_their_list_goes_on_are_refused(tmp_path: Path) -> None:
    nback = load_paradigm("nback_verbal")
    plan = plan_session(nback, seed=4, levels={"n": [1]}, trials=1, design=SessionDesign())
    for settings in ({"notepad": True}, {"retention_load": 60}, {"interference": 1}):
        agent = ChatAgent("m", ChatSettings.read(settings), HERE)
        with pytest.raises(SpanLabError, match="ask while their list goes on"):
            agent.check_session(SessionOutlook(agent, nback, plan, Wanted(seed=4)))
    plain = ChatAgent("m", ChatSettings.read({}), HERE)
    plain.check_session(SessionOutlook(plain, nback, plan, Wanted(seed=4)))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"notepad": True, "conversation": "session"}, "with notepad a conversation begins anew"),
        ({"notepad": True, "examples": 1}, "with notepad a conversation begins anew"),
        (
            {"interference": 1, "wording": "bare", "turn": "{shown}"},
            "leave out notepad, retention_load and interference",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(SpanLabError, match=why):
        ChatSettings.read(settings)


@pytest.mark.parametrize("settings", [{"notepad": True}, {"retention_load": 60}, {"interference": 1}])
def test_answers_of_somebody_else_have_nothing_between(settings: dict[str, Any]) -> None:
    agent = ChatAgent("m", ChatSettings.read({**settings, "likelihoods": "top"}), HERE)
    with pytest.raises(SpanLabError, match="were no part of the session"):
        agent.follow(context(TRIAL, VSR), Before())


def test_notes_that_were_cut_off_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replied = ChatEpisode._replied

    async def cut(episode: ChatEpisode, request: Request, *more: Any) -> Reply:
        return (await replied(episode, request, *more)).model_copy(update={"finish_reason": "length"})

    monkeypatch.setattr(ChatEpisode, "_replied", cut)
    session, _ = take(tmp_path, VSR, FEW, say, {"notepad": True})
    answers = [event for event in read_events(session.folder) if event["event"] == "step" and "ask" in event]
    assert [event["notes"].get("notepad_cut_off") for event in answers] == [True, None, None] * 3
