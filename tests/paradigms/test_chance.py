"""Chance levels and blind guesses are what they are said to be: against enumeration, and against
what guessers reach on many trials."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conditions import some_conditions
from hypothesis import given
from hypothesis import strategies as st
from paradigm_texts import PROBE, load, text
from scipy import stats

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import (
    SAMPLERS,
    Answer,
    Generator,
    Paradigm,
    ResponseKind,
    Step,
    compile_trial,
    list_paradigms,
    load_paradigm,
)
from spanlab.paradigms.chance import boxes, chance_rows, guess_odds
from spanlab.paradigms.responses import Cells, Choice, Continuous, SerialOrder

PARADIGMS = list_paradigms()
GENERATORS: tuple[Generator, ...] = ("corrected", "published")
#: the whole file may fail by chance once in so many times that it is written anew with other seeds
RARE = 0.001

# response kinds -----------------------------------------------------------------------------------

KINDS: list[tuple[ResponseKind, list[Answer], Answer]] = [
    (Choice.model_validate({"options": 9, "layout": "3x3"}), list(range(9)), 4),
    (Choice.model_validate({"options": ["m", "-"]}), ["m", "-"], "-"),
    *(
        (
            Cells.model_validate({"grid": grid, "take": take}),
            list(itertools.permutations(range(grid**2), take)),
            tuple(range(take)),
        )
        for grid, take in ((2, 1), (2, 3), (2, 4), (3, 2), (3, 4))
    ),
]


@pytest.mark.parametrize(("kind", "answers", "correct"), KINDS, ids=lambda value: getattr(value, "name", None))
def test_what_guessing_gets_right_by_enumeration(kind: ResponseKind, answers: list[Answer], correct: Answer) -> None:
    """All answers that can be given, scored."""
    assert all(kind.allows(answer) for answer in answers)
    right = Counter(sum(bool(score.correct) for score in kind.score(answer, correct)) for answer in answers)
    odds = kind.right_by_guessing()
    assert odds == pytest.approx([right[number] / len(answers) for number in range(len(odds))])
    assert sum(right.values()) == sum(right[number] for number in range(len(odds)))


@given(st.integers(2, 20), st.data())
def test_cells_chance_is_the_expected_share(grid: int, data: st.DataObject) -> None:
    kind = Cells.model_validate({"grid": grid, "take": data.draw(st.integers(1, grid**2))})
    odds = kind.right_by_guessing()
    assert math.isclose(sum(odds), 1)
    assert math.isclose(sum(number * odd for number, odd in enumerate(odds)) / kind.take, kind.chance())


def test_all_cells_of_free_recall_by_counting() -> None:
    """18 of 100: one answer out of all selections."""
    assert Cells.model_validate({"grid": 10, "take": 18}).right_by_guessing()[-1] == pytest.approx(
        1 / math.comb(100, 18)
    )


# spatial updating: markers gather in the middle ---------------------------------------------------


def wandering(updates: int) -> np.ndarray:
    """Where a marker of a 3 x 3 box is after so many moves, by the powers of the matrix of a king's
    moves."""
    place = np.arange(9)
    near = np.maximum(abs(place[:, None] // 3 - place // 3), abs(place[:, None] % 3 - place % 3)) == 1
    return np.full(9, 1 / 9) @ np.linalg.matrix_power(near / near.sum(1, keepdims=True), updates)


@pytest.mark.parametrize("size", range(1, 9))
def test_marker_odds_are_those_of_the_chain(size: int) -> None:
    odds = SAMPLERS.get("marker_odds").model_validate({"boxes": size, "updates": 8}).draw(np.random.RandomState(0))
    moved = Counter(number % size for number in range(8))
    assert odds == pytest.approx([wandering(moved[box]).max() for box in range(size)])
    assert all(wandering(moved[box]).argmax() == 4 for box in range(size)), (
        "the middle is the best guess whichever box is asked for"
    )


def test_marker_odds_of_one_move_and_of_many() -> None:
    def odds(updates: int) -> float:
        return (
            SAMPLERS.get("marker_odds")
            .model_validate({"boxes": 1, "updates": updates})
            .draw(np.random.RandomState(0))[0]
        )

    assert odds(0) == pytest.approx(1 / 9)
    assert odds(1) == pytest.approx((4 / 3 + 4 / 5) / 9), (
        "from a corner one move in three leads to the middle, from an edge one in five"
    )
    assert odds(100) == pytest.approx(8 / 40), "in the long run a cell is as likely as it has neighbours"


# the best blind guess of every paradigm -----------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One question of one trial, with what a blind guesser knows and what it is worth."""

    levels: tuple[tuple[str, Any], ...]
    number: int
    step: Step

    @property
    def kind(self) -> ResponseKind:
        assert self.step.percept.ask is not None
        return self.step.percept.ask.kind

    @property
    def answer(self) -> tuple[int, ...]:
        """Where the answer stands among those that are allowed: the same option may be another word
        in every trial. Of a sequence, each place has numbers of its own."""
        assert self.step.truth.answer is not None
        if isinstance(self.kind, SerialOrder):
            assert isinstance(self.step.truth.answer, tuple)
            return tuple(
                place * self.kind.count + self.kind.values.index(item)
                for place, item in enumerate(self.step.truth.answer)
                if item is not None
            )
        target = self.kind.target(self.step.truth.answer)
        return target if isinstance(target, tuple) else (target,)

    def right(self, guessed: set[int]) -> int:
        """How many of the guesses are right; on a continuous scale the middle of a class, where it
        is near enough."""
        if not isinstance(self.kind, Continuous):
            return len(guessed & set(self.answer))
        truth, classes = self.step.truth.answer, np.eye(self.kind.bins or self.kind.count)
        assert truth is not None
        return sum(self.kind.score(self.kind.from_logits(classes[one]), truth)[0].correct is True for one in guessed)

    @property
    def sort(self) -> Hashable:
        """How many answers are allowed, and how many are taken."""
        return self.kind.name, guess_odds(self.step)


#: What a constant answer may depend on besides the question's own words: from much to little, as it
#: must be learnt from some hundred trials.
KNOWING: dict[str, Callable[[Question], Hashable]] = {
    "condition and question": lambda one: (one.levels, one.number),
    "condition": lambda one: one.levels,
    "question": lambda one: one.number,
    "worth": lambda one: (one.step.percept.phase, one.step.truth.blind),
    "paradigm": lambda one: None,
}


def questions(paradigm: Paradigm, generator: Generator, trials: int) -> tuple[list[Question], list[Question]]:
    """The questions of about so many trials, half of each condition's apart. No two trials have the
    same seed: they would have draws in common."""
    secret = {name for name, factor in paradigm.factors.items() if factor.weights}
    conditions = paradigm.combinations() if secret else some_conditions(paradigm)
    conditions = [one for one, n in zip(conditions, paradigm.weights(conditions), strict=True) for _ in range(n)]
    halves: tuple[list[Question], list[Question]] = ([], [])
    for turn in range(2 * math.ceil(trials / len(conditions) / 2)):
        for number, levels in enumerate(conditions):
            trial = compile_trial(paradigm, levels, turn * len(conditions) + number, generator)
            asked = [step for step in trial.steps if step.percept.ask is not None and step.percept.ask.scored]
            # levels of unequal proportions decide what is right, so that nobody knows them who has not looked
            known = [name for name in trial.levels if name not in secret]
            halves[turn % 2].extend(
                Question(tuple((name, trial.levels[name]) for name in known), place, step)
                for place, step in enumerate(asked)
            )
    return halves


def guesser(learnt: list[Question], knows: Callable[[Question], Hashable]) -> Callable[[Question], set[int]]:
    """The most frequent answers to questions that are the same to somebody who knows only so much;
    for what was never met, any."""
    seen: defaultdict[Hashable, Counter[int]] = defaultdict(Counter)
    for one in learnt:
        seen[one.sort, knows(one)].update(one.answer)

    def guess(one: Question) -> set[int]:
        met = seen[one.sort, knows(one)]
        if isinstance(one.kind, SerialOrder):  # one item for each place
            many = one.kind.count
            return {max(range(place * many, (place + 1) * many), key=met.__getitem__) for place in range(one.kind.take)}
        return {answer for answer, _ in met.most_common(len(one.answer))}

    return guess


def worth(question: Question) -> tuple[float, ...]:
    """The probability of 0, 1, 2 ... right items for the declared best blind guess."""
    blind, odds = question.step.truth.blind, guess_odds(question.step)
    assert blind is not None
    if math.isclose(blind, sum(number * odd for number, odd in enumerate(odds)) / (len(odds) - 1)):
        return odds
    items = len(odds) - 1
    return tuple(math.comb(items, right) * blind**right * (1 - blind) ** (items - right) for right in range(items + 1))


def bounds(tested: list[Question], rare: float) -> tuple[int, int]:
    """How many right items the declared guess gets at least and at most."""
    distribution = np.ones(1)
    for odds, many in Counter(worth(one) for one in tested).items():
        alike = (
            stats.binom.pmf(range(many + 1), many, odds[1])
            if len(odds) == 2
            else functools.reduce(np.convolve, [np.array(odds)] * many)
        )
        distribution = np.convolve(distribution, alike)
    below = np.cumsum(distribution)
    return int(np.searchsorted(below, rare / 2)), int(np.searchsorted(below, 1 - rare / 2))


def check_blind(name: str, generator: Generator, trials: int) -> None:
    learnt, tested = questions(load_paradigm(name), generator, trials)
    low, high = bounds(tested, RARE / (len(PARADIGMS) * len(GENERATORS) * len(KNOWING)))
    right = {
        what: sum(one.right(guess(one)) for one in tested)
        for what, knows in KNOWING.items()
        for guess in [guesser(learnt, knows)]
    }
    assert max(right.values()) <= high, "somebody who has not looked does better than the file says"
    assert low <= right["worth"], "the best blind guess is not as good as the file says"


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", PARADIGMS)
def test_the_best_blind_guess_is_as_good_as_the_file_says(name: str, generator: Generator) -> None:
    asks = compile_trial(load_paradigm(name), some_conditions(load_paradigm(name))[0], 0).asks
    check_blind(name, generator, min(90, max(36, 350 // asks)))


@pytest.mark.slow
@pytest.mark.soaked(20)
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", PARADIGMS)
def test_the_best_blind_guess_on_many_trials(name: str, generator: Generator) -> None:
    asks = compile_trial(load_paradigm(name), some_conditions(load_paradigm(name))[0], 0).asks
    check_blind(name, generator, min(2000, 10_000 // asks))


@pytest.mark.parametrize(("declared", "complaint"), [("0.5", "does better than"), ("0.9", "not as good as")])
@pytest.mark.slow
def test_a_wrong_declaration_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, complaint: str
) -> None:
    """Answers are right three times out of four when one always says the same."""
    timeline = (
        "- {phase: probe, show: {blank: {}}, ask: {choice: {options: [a, b]}, answer: =side, blind: " + declared + "}}"
    )
    paradigm = load(tmp_path, text(timeline, draw="side: {one_of: [a, a, b, a]}", factors="n: [1, 2]"))
    monkeypatch.setitem(globals(), "load_paradigm", lambda name: paradigm)
    with pytest.raises(AssertionError, match=complaint):
        check_blind("small", "corrected", 2000)


# the table ----------------------------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=36))
def test_boxes_are_the_points_each_once(points: set[tuple[int, int, int]]) -> None:
    again = [point for box in boxes(sorted(points)) for point in itertools.product(*box)]
    assert sorted(again) == sorted(points)


def test_a_full_grid_is_one_box() -> None:
    full = list(itertools.product(range(4), range(3)))
    assert list(boxes(full)) == [((0, 1, 2, 3), (0, 1, 2))]
    assert list(boxes([point for point in full if point != (2, 1)])) == [((0, 1, 3), (0, 1, 2)), ((2,), (0, 2))]
    assert list(boxes([()])) == [()]
    assert list(boxes([])) == []


def rows(name: str) -> Iterator[tuple[str, dict[str, tuple[Any, ...]], tuple[str, ...], tuple[int, int], float, float]]:
    for row in chance_rows(load_paradigm(name)):
        yield row.phase, dict(row.levels), row.generators, row.items, row.chance, row.blind


def test_rows_of_serial_recall_free_recall_and_updating() -> None:
    (row,) = chance_rows(load_paradigm("vsr"))
    assert (row.phase, row.levels, row.generators, row.items) == (
        "probe",
        {"list_length": tuple(range(2, 10))},
        GENERATORS,
        (2, 9),
    )
    assert (row.chance, row.blind) == pytest.approx((1 / 9, 1 / 9))
    assert row.all_right == pytest.approx((9**-9, 9**-2))
    assert not row.varies
    recalled = {levels["list_length"]: (items, chance, blind) for _, levels, _, items, chance, blind in rows("sfr")}
    assert recalled == {
        (length,): ((length, length), length / 100, length / 100) for length in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18)
    }
    assert [row.all_right[0] for row in chance_rows(load_paradigm("sfr"))] == pytest.approx(
        [1 / math.comb(100, n[0]) for n in recalled]
    )
    for row in chance_rows(load_paradigm("smu")):
        (size,) = row.levels["set_size"]
        assert row.blind == pytest.approx(np.mean([wandering(8 // size + (box < 8 % size))[4] for box in range(size)]))


QUICK = ["cs", "si", "sts", "vsrec", "nback_abstraction"]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PARADIGMS]
)
@pytest.mark.slow
def test_no_guess_is_worse_than_chance_and_every_condition_has_its_row(name: str) -> None:
    paradigm = load_paradigm(name)
    wanted = paradigm.combinations({name: factor.levels for name, factor in paradigm.factors.items()})
    found = chance_rows(paradigm)
    assert all(0 < row.chance <= row.blind + 1e-9 <= 1 + 1e-9 for row in found)
    asked = Counter(
        (row.phase, generator, levels)
        for row in found
        for generator in row.generators
        for levels in itertools.product(*row.levels.values())
    )
    assert max(asked.values()) == 1
    assert {(generator, levels) for _, generator, levels in asked} == {
        (generator, tuple(levels.values())) for generator in GENERATORS for levels in wanted
    }


def test_generators_and_conditions_that_differ_have_rows_of_their_own(tmp_path: Path) -> None:
    timeline = """
    - {phase: decide, show: {blank: {}}, ask: {choice: {options: 2}, answer: 0}}
    - phase: probe
      show: {blank: {}}
      ask: {choice: {options: "=4 if n < 3 else 5"}, answer: 0, blind: "=0.6 if generator == 'published' and n == 2 else 0.25 if n < 3 else 0.2"}
    """  # noqa: E501
    paradigm = load(tmp_path, text(timeline, factors="n: [1, 2, 3]\nm: {random: [1, 2]}"))
    both = (1, 2)
    assert [(row.phase, row.levels, row.generators, row.chance, row.blind) for row in chance_rows(paradigm)] == [
        ("decide", {"n": (1, 2, 3), "m": both}, GENERATORS, 0.5, 0.5),
        ("probe", {"n": (1, 2), "m": both}, ("corrected",), 0.25, 0.25),
        ("probe", {"n": (1,), "m": both}, ("published",), 0.25, 0.25),
        ("probe", {"n": (3,), "m": both}, GENERATORS, 0.2, 0.2),
        ("probe", {"n": (2,), "m": both}, ("published",), 0.25, 0.6),
    ]


def test_questions_without_a_score_have_no_chance_level(tmp_path: Path) -> None:
    """A press that is always the same, and a rating after the answer."""
    assert [row.phase for row in chance_rows(load_paradigm("axcpt"))] == ["probe"]
    rated = text(f"{PROBE}\n- {{phase: sure, show: {{blank: {{}}}}, ask: {{rating: {{to: 5}}}}}}")
    assert [row.phase for row in chance_rows(load(tmp_path, rated))] == ["probe"]


def test_too_many_conditions_are_refused(tmp_path: Path) -> None:
    many = "[" + ", ".join(map(str, range(400))) + "]"
    with pytest.raises(SpanLabError, match="more than 100000 conditions"):
        chance_rows(load(tmp_path, text(factors=f"a: {{random: {many}}}\nb: {{random: {many}}}")))
