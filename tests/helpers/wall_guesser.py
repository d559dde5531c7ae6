"""A reader of everything but the displays, who tries to guess the answers: for the test that
nothing but the displays tells them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from spanlab.agents.base import TrialContext
from spanlab.paradigms import Percept, Trial
from spanlab.stimuli import Stimulus

#: bits of the context's seed that are looked at
_BITS = 48
#: a value must be seen so often to be learned from
_OFTEN = 8

Features = dict[str, str]


@dataclass(frozen=True)
class Example:
    """One scalar answer: what is legitimately known (``condition``: factor levels and which
    question it is; ``question`` alone), everything outside the displays (``features``), and what is
    right."""

    condition: str
    question: str
    features: Features
    answer: str


def examples(trial: Trial, context: TrialContext) -> list[Example]:
    """Every question of a trial; of an answer with several values each value is one example."""
    found: list[Example] = []
    common = _of_context(context) | {"steps": str(len(trial.steps))}
    timings, past, asked = [_timing(step.percept) for step in trial.steps], _Past(), 0
    for number, step in enumerate(trial.steps):
        percept = step.percept
        if percept.ask is not None:
            asked += 1
            before = {
                f"timing {ago} steps ago": timing for ago, timing in enumerate(reversed(timings[:number]), start=1)
            }
            features = (
                common
                | _of_question(percept)
                | {"timing now": timings[number], "step": str(step.index)}
                | past.features()
                | before
            )
            answers = step.truth.answer if isinstance(step.truth.answer, tuple) else (step.truth.answer,)
            for n, answer in enumerate(answers):
                question = f"{asked} {n}"
                same = (
                    timings[asked + n - 1] if asked + n <= number else timings[number]
                )  # the step with the number of the question
                found.append(
                    Example(
                        f"{dict(trial.levels)} {question}",
                        question,
                        features | {"timing of the same number": same},
                        str(answer),
                    )
                )
        past.add(percept)
    return found


def _of_context(context: TrialContext) -> Features:
    features = {f"seed bit {n}": str(context.seed >> n & 1) for n in range(_BITS)}
    texts = [context.title, context.language, context.instructions, *(kind.legend("words") for kind in context.kinds)]
    return features | {
        "context": json.dumps(texts),
        "seed mod 9": str(context.seed % 9),
        "seed mod 10": str(context.seed % 10),
    }


def _of_question(percept: Percept) -> Features:
    assert percept.ask is not None
    ask = percept.ask
    question = ask.kind.question()
    # Whether a field is red or blue is on the display itself; only one of these words is longer.
    words = [re.sub(r"\b(?:red|blue)\b", "hue", display.stimulus.words()) for display in percept.displays]
    return {
        "question": question,
        "question's length": str(len(question)),
        "prompt": "" if ask.prompt is None else ask.prompt.text_in("en") + ask.prompt.text_in("de"),
        "legend": ask.kind.legend("words") + ask.kind.legend("participant"),
        "kind of question": json.dumps([type(ask.kind).name, ask.kind.model_dump(mode="json")]),
        "rules of the question": json.dumps([ask.ends, ask.window_ms, ask.no_answer_means, ask.counts, ask.late]),
        "words' lengths": json.dumps([[len(text), text.count("\n")] for text in words]),
        "keys": ",".join(_names(display.stimulus) for display in percept.displays),
    }


class _Past:
    """Names in the steps before; the words of their displays are what is to be remembered, so their
    lengths may go with it."""

    def __init__(self) -> None:
        self._phases, self._asked, self._kinds, self._names = "", "", "", ""

    def add(self, percept: Percept) -> None:
        self._phases += f"{percept.phase!r},"
        self._asked += f"{percept.ask is not None},"
        self._kinds += f"{[type(display.stimulus).name for display in percept.displays]},"
        self._names += "".join(f"{_names(display.stimulus)}," for display in percept.displays)

    def features(self) -> Features:
        return {
            "phases before": self._phases,
            "questions before": self._asked,
            "kinds of displays before": self._kinds,
            "keys before": self._names,
        }


def _timing(percept: Percept) -> str:
    marked = [display.for_machines for display in percept.displays]
    return json.dumps([percept.phase, percept.model_step, [display.ms for display in percept.displays], marked])


#: of stimuli, by what they are
_NAMES: dict[Any, str] = {}


def _names(stimulus: Stimulus) -> str:
    if stimulus not in _NAMES:
        _NAMES[stimulus] = json.dumps(_keys(stimulus.model_dump(mode="json")))
    return _NAMES[stimulus]


def _keys(value: Any) -> Any:
    """The names in a percept, in the order in which they stand there; how many cells are filled is
    a matter of the display."""
    return [[key, _keys(inner)] for key, inner in value.items()] if isinstance(value, Mapping) else None


# -- guessing --------------------------------------------------------------------------------------


def advantage(found: Sequence[Example], seed: int = 0) -> dict[str, float]:
    """How surely guessing from the features beats the best blind guess, on trials that were not
    learned from.

    Two ways of guessing learn from three quarters of the examples: the one feature that tells most
    (as a table, for all questions together or apart), and a logistic regression on all features.
    Only examples on which they and the blind guess disagree in being right say anything; were there
    nothing to be known, each would be equally likely to win (a sign test).

    Returns
    -------
    the p of each way of guessing
    """
    order = np.random.RandomState(seed).permutation(len(found))
    quarter = len(found) // 4
    test, tune, train = (
        [found[n] for n in part] for part in (order[:quarter], order[quarter : 2 * quarter], order[2 * quarter :])
    )
    blind = _Table([], _blind(train, tune))
    guessers = {"one feature": _best_table(train, tune), "all features": _Regression([*train, *tune])}
    right_blind = blind.right(test)
    return {way: _sign_test(guesser.right(test), right_blind) for way, guesser in guessers.items()}


def _sign_test(ours: np.ndarray, blind: np.ndarray) -> float:
    won, lost = int((ours & ~blind).sum()), int((blind & ~ours).sum())
    return float(stats.binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0


def _everywhere(example: Example) -> str:
    return ""


def _by_question(example: Example) -> str:
    return example.question


def _by_condition(example: Example) -> str:
    return example.condition


class _Table:
    """The commonest answer, given the value of one feature; where that was never seen, and without
    a feature, the commonest in the condition (the best blind guess)."""

    def __init__(
        self,
        learned: Sequence[Example],
        blind: _Blind,
        feature: str = "",
        scope: Callable[[Example], str] = _everywhere,
    ) -> None:
        self._feature, self._scope, self._blind = feature, scope, blind
        self._informed = _commonest((self._known(example), example.answer) for example in learned) if feature else {}

    def _known(self, example: Example) -> tuple[str, str]:
        return self._scope(example), example.features.get(self._feature, "")

    def right(self, examples: Sequence[Example]) -> np.ndarray:
        return np.array(
            [self._informed.get(self._known(example), self._blind(example)) == example.answer for example in examples]
        )


def _commonest(pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    best: dict[Any, tuple[int, str]] = {}
    for (key, answer), count in Counter(pairs).items():
        if key not in best or count > best[key][0]:
            best[key] = (count, answer)
    return {key: answer for key, (_, answer) in best.items()}


#: the best guess at a question by somebody who knows what is legitimately known
_Blind = Callable[[Example], str | None]


def _blind(train: Sequence[Example], tune: Sequence[Example]) -> _Blind:
    """The commonest answer: in the condition, to the question in all conditions, or altogether,
    whichever does best (where conditions are many, each is seen too rarely to learn from)."""

    def guess(learned: Sequence[Example], scope: Callable[[Example], str]) -> _Blind:
        table, usual = (
            _commonest((scope(example), example.answer) for example in learned),
            _commonest(("", example.answer) for example in learned),
        )
        return lambda example: table.get(scope(example), usual.get(""))

    scopes = (_everywhere, _by_question, _by_condition)
    guesses = [guess(train, scope) for scope in scopes]
    right = [sum(guessed(example) == example.answer for example in tune) for guessed in guesses]
    return guess([*train, *tune], scopes[int(np.argmax(right))])


def _best_table(train: Sequence[Example], tune: Sequence[Example]) -> _Table:
    names = sorted({name for example in train for name in example.features})
    varying = [name for name in names if len({example.features.get(name, "") for example in train}) > 1]
    blind = _blind(train, tune)
    scopes = (_everywhere, _by_question, _by_condition)
    if not varying:
        return _Table([], blind)
    both = [*train, *tune]
    answers, fallback = (
        _numbered(example.answer for example in both),
        [blind(example) == example.answer for example in tune],
    )
    within = {scope: _numbered(scope(example) for example in both) for scope in scopes}
    told = {name: _numbered(example.features.get(name, "") for example in both) for name in varying}
    choices = [(name, scope) for name in varying for scope in scopes]
    scores = [_tuned(within[scope] * len(both) + told[name], answers, np.array(fallback)) for name, scope in choices]
    return _Table(both, blind, *choices[int(np.argmax(scores))])


def _numbered(values: Iterable[str]) -> np.ndarray:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


def _tuned(known: np.ndarray, answers: np.ndarray, fallback: np.ndarray) -> int:
    """How many of the last examples a :class:`_Table` of those before gets right; ``fallback`` says
    which of them the blind guess does."""
    learned = len(known) - len(fallback)
    pairs, first, count = np.unique(
        known[:learned] * (answers.max() + 1) + answers[:learned], return_index=True, return_counts=True
    )
    best = np.lexsort((first, -count))  # as in _commonest: of equally frequent ones, what came first
    keys, place = np.unique(pairs[best] // (answers.max() + 1), return_index=True)
    commonest = (pairs[best] % (answers.max() + 1))[place]
    found = np.minimum(np.searchsorted(keys, known[learned:]), len(keys) - 1)
    return int(np.where(keys[found] == known[learned:], commonest[found] == answers[learned:], fallback).sum())


class _Regression:
    """Multinomial logistic regression on every value of every feature, and on the condition."""

    def __init__(self, learned: Sequence[Example], rounds: int = 40, decay: float = 1e-3) -> None:
        counts = Counter(pair for example in learned for pair in self._pairs(example))
        self._columns = {
            pair: n
            for n, pair in enumerate(sorted(pair for pair, count in counts.items() if _OFTEN <= count < len(learned)))
        }
        self._answers = sorted({example.answer for example in learned})
        inputs = self._inputs(learned)
        wanted = np.eye(len(self._answers), dtype=np.float32)[
            [self._answers.index(example.answer) for example in learned]
        ]
        self._weights = np.zeros((inputs.shape[1], len(self._answers)), np.float32)
        momentum = np.zeros_like(self._weights)
        step = 4.0 / max(1.0, float((inputs**2).sum(1).mean()))
        for _ in range(rounds):
            slope = inputs.T @ (self._softmax(inputs @ self._weights) - wanted) / len(learned) + decay * self._weights
            momentum = 0.9 * momentum - step * slope
            self._weights += momentum

    @staticmethod
    def _pairs(example: Example) -> list[tuple[str, str]]:
        return [("condition", example.condition), *example.features.items()]

    @staticmethod
    def _softmax(scores: np.ndarray) -> np.ndarray:
        raised = np.exp(scores - scores.max(1, keepdims=True))
        return raised / raised.sum(1, keepdims=True)

    def _inputs(self, examples: Sequence[Example]) -> np.ndarray:
        inputs = np.zeros((len(examples), len(self._columns) + 1), np.float32)
        inputs[:, -1] = 1
        for row, example in enumerate(examples):
            for pair in self._pairs(example):
                if pair in self._columns:
                    inputs[row, self._columns[pair]] = 1
        return inputs

    def right(self, examples: Sequence[Example]) -> np.ndarray:
        guessed = (self._inputs(examples) @ self._weights).argmax(1)
        return np.array(
            [self._answers[guess] == example.answer for guess, example in zip(guessed, examples, strict=True)]
        )
