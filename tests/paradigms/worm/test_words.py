"""Linguistic serial recall (lsr, lsr_long): the list of nouns, what is drawn, shown, asked and
told, and that nothing tells the order."""

from __future__ import annotations

from itertools import combinations

import pytest
from sampling import fits, loaded, many, sampler, unrelated

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import RESPONSES, Trial, compile_trial, percept_bytes
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.network_view import labels_of
from spanlab.paradigms.samplers.lists import nouns
from spanlab.stimuli.kinds.lettering import Word, WordArray

#: paradigm, places of its array, longest list
BOTH = [("lsr", 9, 9), ("lsr_long", 16, 16)]


def distance(one: str, other: str) -> int:
    """The smallest number of letters to put in, leave out or change."""
    row = list(range(len(other) + 1))
    for n, letter in enumerate(one, start=1):
        before, row = row, [n]
        for m, another in enumerate(other, start=1):
            row.append(min(before[m] + 1, row[-1] + 1, before[m - 1] + (letter != another)))
    return row[-1]


def words_and_array(trial: Trial) -> tuple[list[str], tuple[str | None, ...]]:
    """The words in the order in which they come, and by place."""
    shown = [step.percept.for_machine.stimulus for step in trial.steps]
    arrays = {stimulus.places for stimulus in shown if isinstance(stimulus, WordArray)}
    assert len(arrays) == 1
    return [stimulus.word for stimulus in shown if isinstance(stimulus, Word)], arrays.pop()


# -- the list --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_list_holds_two_hundred_words_that_cannot_be_taken_for_each_other() -> None:
    words = nouns()
    assert len(words) == len(set(words)) == 200
    assert list(words) == sorted(words)
    assert all(word.isascii() and word.isalpha() and word.islower() and 3 <= len(word) <= 7 for word in words)
    for one, other in combinations(words, 2):
        assert distance(one, other) >= 2, (one, other)
        assert one not in other
        assert other not in one


def test_heads_are_as_wide_as_the_list() -> None:
    assert all(loaded(name).network.head == len(nouns()) for name, _, _ in BOTH)  # type: ignore[union-attr]
    assert sampler("nouns", take=1).vocabulary() == nouns()


# -- what is drawn ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "places", "longest"), BOTH)
@pytest.mark.slow
def test_words_and_places_are_uniform_and_have_nothing_to_do_with_each_other(
    name: str, places: int, longest: int
) -> None:
    words = many(name, "words", "corrected", list_length=longest)
    at = many(name, "places", "corrected", list_length=longest, side=int(places**0.5))
    assert all(len(set(own)) == len(own) == longest for own in (*words, *at))
    for rank in (0, longest // 2, longest - 1):
        assert fits([sum(own[rank] == word for own in words) for word in nouns()])
        assert fits([sum(own[rank] == place for own in at) for place in range(places)])
    assert (
        unrelated((own[0][0], own[1][0]) for own in zip(([word[0] for word in own] for own in words), at, strict=True))
        > 0.001
    )
    assert unrelated((nouns().index(own[0]) % 10, nouns().index(own[1]) % 10) for own in words) > 0.001


def test_generators_draw_the_same() -> None:
    """The benchmark published none for words."""
    assert drawn_values(loaded("lsr"), {"list_length": 5}, 3, "corrected") == drawn_values(
        loaded("lsr"), {"list_length": 5}, 3, "published"
    )


def test_given_words_are_looked_at() -> None:
    draws = drawn_values(loaded("lsr"), {"list_length": 3}, 1)
    assert set(draws) == {"words", "places"}
    assert (
        compile_trial(loaded("lsr"), {"list_length": 3}, 1, draws=draws).steps
        == compile_trial(loaded("lsr"), {"list_length": 3}, 1).steps
    )
    for words, said in (
        (["lion", "apple"], "expected a list of 3; found one of 2"),
        (["lion", "appel", "zebra"], "'appel' is none of the 200 nouns; did you mean 'apple'"),
        (["lion", "zebra", "lion"], "'lion' occurs twice"),
        (["lion", "zebra", 4], "expected a word"),
    ):
        with pytest.raises(SpanLabError, match=said):
            compile_trial(loaded("lsr"), {"list_length": 3}, 1, draws={**draws, "words": words})


# -- what is shown and asked -----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "places", "longest"), BOTH)
def test_lists_and_questions(name: str, places: int, longest: int) -> None:
    """L words for a second each, then L questions over one and the same array; the answers are the
    words in their order."""
    assert [levels["list_length"] for levels in loaded(name).combinations()] == list(range(2, longest + 1))
    for levels in loaded(name).combinations():
        length = levels["list_length"]
        trial = compile_trial(loaded(name), levels, 11)
        words, array = words_and_array(trial)
        assert len(trial.steps) == 2 * length <= 32
        assert trial.set_size == trial.list_length == len(words) == length
        assert len(array) == places
        assert sorted(word for word in array if word) == sorted(words)
        for step in trial.steps[:length]:
            assert [display.ms for display in step.percept.displays] == [1000]
            assert step.percept.ask is None
        for number, step in enumerate(trial.steps[length:], start=1):
            assert [display.ms for display in step.percept.displays] == [None]
            assert step.percept.ask is not None
            assert step.truth.answer == words[number - 1]
            assert step.truth.record == {"serial_position": number}
            assert step.truth.chance == step.truth.blind == pytest.approx(1 / length)
            assert step.percept.ask.kind.model_dump()["options"] == array


@pytest.mark.parametrize(("name", "places", "longest"), BOTH)
def test_classes_are_the_numbers_of_the_words_in_the_list(name: str, places: int, longest: int) -> None:
    trial = compile_trial(loaded(name), {"list_length": longest}, 2)
    view = loaded(name).network_view(trial.levels)
    assert view is not None
    assert (view.task, view.head, view.input) == ("lsr", 200, "vectors")
    words, _ = words_and_array(trial)
    labels = labels_of(trial, view)
    assert labels.targets == (0,) * longest + tuple(nouns().index(word) for word in words)
    assert labels.trained == (False,) * longest + (True,) * longest


@pytest.mark.parametrize(("name", "places", "longest"), BOTH)
def test_lists_in_another_order_are_probed_with_the_same_percepts(name: str, places: int, longest: int) -> None:
    drawn = drawn_values(loaded(name), {"list_length": 5}, 8)
    orders = ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3])
    made = [
        compile_trial(
            loaded(name), {"list_length": 5}, 8, draws={key: [value[n] for n in order] for key, value in drawn.items()}
        )
        for order in orders
    ]
    assert len({percept_bytes(step.percept) for trial in made for step in trial.steps[5:]}) == 1
    assert len({tuple(step.truth.answer for step in trial.steps[5:]) for trial in made}) == 3


# -- words and replies -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"options": ["lion", None]}, "at least two different words"),
        ({"options": ["lion", "lion", None, None], "layout": "2x2"}, "at least two different words"),
        ({"options": ["lion", "apple", None]}, "null only where there is a layout"),
        ({"options": ["lion", "apple", None, None, None], "layout": "2x2"}, "room for 5 options"),
        ({"options": ["lion", "apple"], "layout": "2x1", "keys": ["f", "j"]}, "digits are the numbers of the places"),
    ],
)
def test_words_at_places_that_make_no_sense_are_refused(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RESPONSES.get("choice").model_validate(parameters)
