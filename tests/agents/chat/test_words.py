"""The words suffice, nothing but words goes out, and equal percepts make equal messages."""

from __future__ import annotations

import pytest
from chat_trials import context, converse
from conditions import some_conditions
from words_solver import solve

from spanlab.agents.chat import ChatSettings
from spanlab.paradigms import Generator, compile_trial, list_paradigms, load_paradigm

PARADIGMS = list_paradigms()
#: of each paradigm, over its conditions: of long trials few in the quick tests
TRIALS = 40


def _read(name: str, generator: Generator, trials: int) -> list[tuple[bool, str]]:
    """For each question of some trials, whether a reader of the words was right, and which it was."""
    paradigm = load_paradigm(name)
    conditions, right = some_conditions(paradigm, trials), []
    for seed in range(trials):
        levels = conditions[seed % len(conditions)]
        trial = compile_trial(paradigm, levels, seed=seed, generator=generator)
        for step, _, value in converse(trial, paradigm, solve):
            assert step.percept.ask is not None
            assert value is not None
            assert step.truth.answer is not None
            scores = step.percept.ask.kind.score(value, step.truth.answer)
            right.append((all(score.correct for score in scores), f"{levels} seed {seed} step {step.index + 1}"))
    return right


@pytest.mark.slow
@pytest.mark.soaked(14)
@pytest.mark.parametrize("name", PARADIGMS)
def test_a_reader_of_the_words_scores_100_percent_in_every_condition(name: str) -> None:
    wrong = [
        which
        for right, which in _read(name, "corrected", max(100, len(load_paradigm(name).combinations())))
        if not right
    ]
    assert not wrong


# Unlabelled matches of published N-back blocks are counted where these are tested.
@pytest.mark.slow
@pytest.mark.parametrize("trials", [TRIALS, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name in PARADIGMS if load_paradigm(name).family != "N-back"])
def test_a_reader_of_the_words_scores_100_percent_in_published_trials(name: str, trials: int) -> None:
    assert not [which for right, which in _read(name, "published", trials) if not right]


@pytest.mark.parametrize("name", PARADIGMS)
def test_nothing_but_instructions_legend_words_and_questions_is_sent(name: str) -> None:
    paradigm = load_paradigm(name)
    trial = compile_trial(paradigm, paradigm.combinations()[-1], seed=7, generator="corrected")
    brief = context(trial, paradigm)
    last, kinds = list(converse(trial, paradigm, solve))[-1][1], list(brief.kinds)
    words = [step.percept.for_machine.stimulus.words() for step in trial.steps if step.percept.model_step]
    questions = [step.percept.ask.kind.question() for step in trial.steps if step.percept.ask is not None]
    allowed = {
        ChatSettings().preamble,
        brief.instructions.strip(),
        *(kind.legend("words") for kind in kinds),
        *words,
        *questions,
    }
    for message in last:
        assert set(message) == {"role", "content"}
        if message["role"] == "assistant":
            continue
        left = "\n" + message["content"]
        for part in sorted(allowed, key=len, reverse=True):
            left = left.replace(part, "")
        assert left.strip() == "", left
    sent = "\n\n".join(message["content"] for message in last if message["role"] == "user").split("\n\n")
    assert sum(part == questions[0] for part in sent) == sum(question == questions[0] for question in questions), (
        "asked exactly when the timeline asks"
    )
    assert [message["role"] for message in last[1::2]] == ["user"] * len(last[1::2]), "roles alternate"


def test_the_tone_that_only_people_get_is_not_sent() -> None:
    paradigm = load_paradigm("sfr")
    trial = compile_trial(paradigm, {"list_length": 3}, seed=1, generator="corrected")
    assert any(not step.percept.model_step for step in trial.steps)
    messages = next(messages for _, messages, _ in converse(trial, paradigm, solve))
    assert "tone" not in " ".join(message["content"] for message in messages[1:])
