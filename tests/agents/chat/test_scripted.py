"""The scripted server of the demonstration: its curves can be foretold, it sees words only, and it
goes when its owner goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from chat_trials import context

from spanlab.agents.base import Response
from spanlab.agents.chat.scripted import LABEL, ScriptedServer
from spanlab.paradigms import Paradigm, Trial, compile_trial, load_paradigm


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def _answers(server: ScriptedServer, paradigm: Paradigm, trials: list[Trial]) -> list[list[Response]]:
    agent = server.agent()

    async def one(trial: Trial) -> list[Response]:
        episode = agent.start(context(trial, paradigm))
        return [response for step in trial.steps if (response := await episode.step(step.percept)) is not None]

    async def everyone() -> list[list[Response]]:
        try:
            return await asyncio.gather(*map(one, trials))
        finally:
            await agent.teardown()

    return asyncio.run(everyone())


@pytest.mark.parametrize("name", ["vsr", "sfr", "smu"])
def test_it_gives_a_valid_answer_to_every_question_of_every_level(server: ScriptedServer, name: str) -> None:
    paradigm = load_paradigm(name)
    trials = [
        compile_trial(paradigm, levels, seed=seed, generator="corrected")
        for levels in paradigm.combinations()
        for seed in range(2)
    ]
    for trial, answers in zip(trials, _answers(server, paradigm, trials), strict=True):
        assert [answer.outcome for answer in answers] == ["answered"] * trial.asks
        correct = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
        values = [answer.value for answer in answers]
        if name == "vsr":
            assert values == sorted(correct), "the occupied positions in reading order"  # type: ignore[type-var]
        elif name == "sfr":
            assert isinstance(values[0], tuple)
            assert isinstance(correct[0], tuple)
            assert values[0][0] == correct[0][-1], "the last red square"
        else:
            assert values == [4] * trial.asks, "the middle cell"


def test_its_agent_is_labelled_as_what_it_is(server: ScriptedServer) -> None:
    agent = server.agent()
    assert agent.name == "chat:scripted"
    assert agent.settings()["label"] == LABEL == "scripted server, not a model"
