"""Presets of chat agents: what they send is what they say that they send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_trials import HERE, brief, context, hold, turns

from spanlab.agents.chat import ChatAgent, ChatSettings
from spanlab.agents.chat.reading.extraction import check_extraction
from spanlab.agents.chat.settings import presets
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Trial, compile_trial, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import begin

#: as its authors print it, with {N} and {WHAT} for what changes
PRINTED = (
    "Instruction: as a language model, you are asked to perform a {N}-back task. A letter will be presented on every"
    " trial. Your task is to respond with 'm' whenever the letter presented is the same as {WHAT}, and '-' whenever the"
    " letter presented is different from {WHAT}. A strict rule is that you must not output anything other than 'm' or"
    " '-'. Now begins the task."
)
WHAT = ("the previous letter", "the letter two trials ago", "the letter three trials ago")
OTHER, BASE, REASONING = "published-other-models", "published-base", "published-reasoning"
VERBAL = load_paradigm("nback_verbal")


def block(paradigm: str = "nback_verbal", n: int = 2, length: int = 30) -> Trial:
    loaded = load_paradigm(paradigm)
    return compile_trial(
        loaded, {**loaded.combinations({"n": n})[-1], "block_length": length}, seed=1, generator="published"
    )


def stimuli(trial: Trial) -> list[str]:
    return [step.percept.for_machine.stimulus.words() for step in trial.steps if step.percept.ask is not None]


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_settings_and_can_be_changed(name: str) -> None:
    settings = ChatSettings.read({"preset": name})
    assert settings.preset == name
    assert {key: getattr(settings, key) for key in presets()[name].settings} == dict(presets()[name].settings)
    assert presets()[name].about.strip()
    assert ChatSettings.read({"preset": name, "temperature": 0.5, "reask": 7}) == settings.model_copy(
        update={"temperature": 0.5, "reask": 7}
    )
    assert ChatSettings.read(settings.model_dump()) == settings, "what is recorded says it all"


def test_an_unknown_preset_is_told() -> None:
    with pytest.raises(SpanLabError, match=r"there is no preset 'publisht-base'; did you mean 'published-base'\?"):
        ChatSettings.read({"preset": "publisht-base"})


def test_the_default_preset_is_what_holds_without_one() -> None:
    assert ChatSettings.read({"preset": "default"}).model_copy(update={"preset": ""}) == ChatSettings()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_instruction_for_other_models_is_the_printed_one_as_a_user_message_of_its_own(n: int) -> None:
    trial = block(n=n)
    requests, answers = hold(trial, VERBAL, ChatSettings.read({"preset": OTHER}), lambda *_: "-")
    printed = PRINTED.replace("{N}", str(n)).replace("{WHAT}", WHAT[n - 1])
    letters = stimuli(trial)
    assert turns(requests[0]) == [
        ("user", printed),
        ("user", letters[0]),
    ], "no system message, and the first letter is a second message of the user"
    expected: list[tuple[str, Any]] = [("user", printed)]
    for letter in letters:
        expected += [("user", letter), ("assistant", "-")]
    assert turns(requests[-1]) == expected[:-1]
    assert requests[0].options == {}, "nothing but the model and the messages"
    assert len(requests) == 30, "the first six questions are asked, too"
    assert [bool(answer.notes.get("warm_up")) for answer in answers] == [True] * 6 + [False] * 24


def test_other_models_are_asked_once_more_and_then_the_answer_is_invalid() -> None:
    trial, replies = block(), iter(["m is right", "M", "no", *["-"] * 29])
    requests, answers = hold(trial, VERBAL, ChatSettings.read({"preset": OTHER}), lambda *_: next(replies))
    assert [(answer.value, answer.notes["extraction"], answer.outcome) for answer in answers[:2]] == [
        ("m", "first_character", "answered"),
        (None, "unread", "invalid"),
    ]
    assert [text for role, text in turns(requests[-1]) if role == "assistant"][:3] == [
        "m",
        "M",
        "no",
    ], "only the extracted symbol stays of what could be read"
    assert turns(requests[2])[-1][0] == "user"
    assert "try again" in turns(requests[2])[-1][1]


@pytest.mark.parametrize("preset", [OTHER, BASE, REASONING])
@pytest.mark.slow
def test_their_instructions_are_for_every_level_and_their_grids_are_those_that_are_sent(preset: str) -> None:
    settings = ChatSettings.read({"preset": preset})
    for name in settings.instructions:
        paradigm, told = load_paradigm(name), set()
        for levels in paradigm.combinations():
            trial = compile_trial(paradigm, {**levels, "block_length": 24}, seed=1, generator="published")
            text = brief(trial, paradigm, settings).instructions
            told.add(text)
            assert "{=" not in text
            assert (preset == OTHER) == (
                text == PRINTED.replace("{N}", str(levels["n"])).replace("{WHAT}", WHAT[levels["n"] - 1])
            ), "that text is nowhere else"
            grids = [line for line in text.splitlines() if line.startswith("```")]
            assert {len(grid) for grid in grids} <= {len(stimuli(trial)[0])}
            for step in trial.steps:
                if step.percept.ask is not None:
                    check_extraction(step.percept.ask.kind, settings)
        assert len(told) == len({(levels["n"], levels.get("grid")) for levels in paradigm.combinations()})


@pytest.mark.parametrize("preset", [OTHER, BASE, REASONING])
def test_other_paradigms_are_refused_in_a_sentence_before_there_is_a_session(preset: str, tmp_path: Path) -> None:
    vsr = load_paradigm("vsr")
    agent = ChatAgent("m", ChatSettings.read({"preset": preset}), HERE)
    with pytest.raises(
        SpanLabError,
        match=rf"the preset '{preset}' has instructions for nback.* only, not for vsr; choose another preset",
    ) as caught:
        begin(tmp_path, vsr, agent, plan_session(vsr, seed=1, trials=1, design=SessionDesign()), Wanted(seed=1))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_n_back_paradigm_has_a_published_protocol() -> None:
    covered = {name for one in presets().values() for name in one.settings.get("instructions", {})}
    assert covered == {name for name in list_paradigms() if load_paradigm(name).family == "N-back"}


def test_instructions_of_ones_own_with_a_wrong_gap_are_told(tmp_path: Path) -> None:
    def start(text: str) -> None:
        agent = ChatAgent("m", ChatSettings.read({"instructions": {"nback_verbal": text}}), HERE)
        begin(tmp_path, VERBAL, agent, plan_session(VERBAL, seed=1, trials=1, design=SessionDesign()), Wanted(seed=1))

    start("{=n} back")
    with pytest.raises(SpanLabError, match=r"chat:m: the instructions for nback_verbal.*'m'"):
        start("{=m} back")
    with pytest.raises(
        SpanLabError, match="the chat settings have instructions for nback_verbal only, not for nback_spatial"
    ):
        ChatSettings.read({"instructions": {"nback_verbal": "x"}}).wording_for("nback_spatial")
    assert ChatSettings().wording_for("nback_spatial") is None
    assert context(block(), VERBAL).instructions.startswith("This is a 2-back task.")
