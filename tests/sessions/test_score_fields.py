"""Scores of response kinds of other packages: refused before the first trial, or recorded with
their columns; never an unreadable session."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from command_line import Run, output_of
from paradigm_texts import text

from spanlab.core.errors import SpanLabError
from spanlab.extensions.standards.sharing import OTHER
from spanlab.paradigms.responses import RESPONSES, Answer, ItemScore, ResponseKind, ScoreField, Surface
from spanlab.paradigms.score_check import probe_scores
from spanlab.sessions import find_sessions, read_responses, read_session

ASKED = """
  - phase: probe
    show: {fixation: {}, ms: 100}
    ask: {guessed: {}, answer: =n}
"""


class Guessed(ResponseKind):
    """A number from 1 to 3, as a laboratory would write such a kind."""

    name: ClassVar[str] = "guessed"

    def allows(self, value: Any) -> bool:
        return value in (1, 2, 3)

    def question(self) -> str:
        return "Answer with one number from 1 to 3."

    def legend(self, reader: str, language: str = "en") -> str:
        return self.question()

    def surface(self) -> Surface:
        return Surface(keys=tuple((str(number), number) for number in (1, 2, 3)))

    def parse(self, text: str) -> Answer | None:
        return int(text) if text in ("1", "2", "3") else None

    def write(self, answer: Answer) -> str:
        return str(answer)

    def guess(self, random: np.random.RandomState) -> Answer:
        return 1 + int(random.randint(3))

    def chance(self) -> float:
        return 1 / 3

    def score(self, answer: Answer | None, correct: Answer) -> Any:
        return [ItemScore(answer, correct, answer == correct)]  # type: ignore[arg-type]


FIELDS = {
    "distance": ScoreField("integer", "how far the answer is from the right one", "steps"),
    "share": ScoreField("number", "the distance as a share of the largest one"),
    "close": ScoreField("boolean", "whether it is next to the right one"),
    "word": ScoreField("string", "what a judge would say"),
}


def scored(answer: Any, correct: Any, /, **changes: Any) -> ItemScore:
    """A score with values of its own, some of them changed."""
    distance = None if answer is None else abs(answer - correct)
    more: dict[str, Any] = {
        "distance": distance,
        "share": None if distance is None else distance / 2,
        "close": distance is not None and distance <= 1,
        "word": "silence" if distance is None else "fine",
    }
    own = {name: value for name, value in changes.items() if name not in ItemScore.__dataclass_fields__}
    shared: dict[str, Any] = {
        "answer": answer,
        "correct_answer": correct,
        "correct": answer == correct,
        "more": more | own,
    }
    return ItemScore(**shared | {name: value for name, value in changes.items() if name not in own})


class Wider(ItemScore):
    """A subclass, which a record knows nothing of."""


def kind_of(score: Callable[[Answer | None, Answer], Any], fields: Any = FIELDS) -> type[ResponseKind]:
    return type(
        "Mutant",
        (Guessed,),
        {"score": lambda self, answer, correct: score(answer, correct), "score_fields": fields, "__module__": __name__},
    )


REFUSED: dict[str, tuple[Any, Any]] = {
    # what is not True or False
    **{
        f"correct {name}": (
            lambda answer, correct, value=value: [scored(answer, correct, correct=value(answer == correct))],
            FIELDS,
        )
        for name, value in {
            "int": int,
            "numpy": np.bool_,
            "float": float,
            "string": str,
            "none": lambda right: None,
            "always": lambda right: True,
            "never": lambda right: False,
            "array": lambda right: np.array([right]),
        }.items()
    },
    # what is no list of scores
    "a score": (scored, FIELDS),
    "none at all": (lambda answer, correct: [], FIELDS),
    "nothing": (lambda answer, correct: None, FIELDS),
    "a bool": (lambda answer, correct: answer == correct, FIELDS),
    "bools": (lambda answer, correct: [answer == correct], FIELDS),
    "dictionaries": (lambda answer, correct: [{"answer": answer, "correct": answer == correct}], FIELDS),
    "a generator": (lambda answer, correct: (scored(answer, correct) for _ in range(1)), FIELDS),
    "a set": (lambda answer, correct: {1}, FIELDS),
    "a string": (lambda answer, correct: "right", FIELDS),
    "a subclass": (lambda answer, correct: [Wider(answer, correct, answer == correct)], FIELDS),
    "one None among them": (lambda answer, correct: [scored(answer, correct), None], FIELDS),
    # shared values of a wrong type
    **{
        f"{name} {value!r}": (
            lambda answer, correct, name=name, value=value: [scored(answer, correct, **{name: value})],
            FIELDS,
        )
        for name, value in (
            ("serial_position", 1.5),
            ("serial_position", np.int64(1)),
            ("output_position", "1"),
            ("edit_distance", True),
            ("error", "3"),
            ("error", math.nan),
            ("error", np.float64(1.0)),
            ("tolerance", math.inf),
            ("scale_from", 1.0),
            ("answer", (1, 2)),
            ("answer", np.int64(1)),
            ("correct_answer", [1]),
            ("more", None),
            ("more", [("distance", 1)]),
        )
    },
    # values of its own
    **{
        f"own {name} {value!r}": (
            lambda answer, correct, name=name, value=value: [scored(answer, correct, **{name: value})],
            FIELDS,
        )
        for name, value in (
            ("distance", 1.0),
            ("distance", True),
            ("distance", np.int64(1)),
            ("share", "half"),
            ("share", math.nan),
            ("share", math.inf),
            ("close", 1),
            ("close", np.True_),
            ("word", 3),
            ("word", ["fine"]),
            ("undeclared", 1),
        )
    },
    # declarations
    **{
        f"declared {fields!r}": (lambda answer, correct: [ItemScore(answer, correct, answer == correct)], fields)
        for fields in (
            {"answer": ScoreField("integer", "taken already")},
            {"Two words": ScoreField("integer", "no name")},
            {"x": ScoreField("complex", "no such type")},  # type: ignore[arg-type]
            {"x": ScoreField("integer", " ")},
            {"x": "integer"},
            ["x"],
        )
    },
    # faults
    "it fails": (lambda answer, correct: 1 / 0, FIELDS),
    "it fails for silence": (lambda answer, correct: [scored(int(answer), correct)], FIELDS),
    "silence is right": (lambda answer, correct: [scored(answer, correct, correct=answer in (None, correct))], FIELDS),
}
KEPT: dict[str, Any] = {
    "a list": lambda answer, correct: [scored(answer, correct)],
    "a tuple": lambda answer, correct: (scored(answer, correct),),
    "nothing of its own": lambda answer, correct: [ItemScore(answer, correct, answer == correct)],
    "some of its own": lambda answer, correct: [ItemScore(answer, correct, answer == correct, more={"word": "fine"})],
    "two items": lambda answer, correct: [scored(answer, correct, output_position=place) for place in (1, 2)],
    "a whole number for a number": lambda answer, correct: [scored(answer, correct, share=1)],
}


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[type[ResponseKind]], Path]]:
    """Makes a kind known, and gives a paradigm that asks such a question."""

    def known(kind: type[ResponseKind]) -> Path:
        monkeypatch.setattr(RESPONSES, "_known", {**RESPONSES.known(), "guessed": kind})
        (file := tmp_path / "guesses.yaml").write_text(text(ASKED, factors="n: [1, 2, 3]"), encoding="utf-8")
        return file

    return known  # type: ignore[return-value]


def test_there_are_enough_mutants() -> None:
    assert len(REFUSED) + len(KEPT) >= 50


@pytest.mark.parametrize("mutant", REFUSED)
def test_a_score_that_no_record_can_keep_is_refused_before_the_first_trial(
    mutant: str, use: Callable[[type[ResponseKind]], Path], run: Run
) -> None:
    file = use(kind_of(*REFUSED[mutant]))
    for command in (("check", file), ("replay", file, "--agent", "chance", "--trials", "3")):
        status, _, complaint = run(*command)
        assert status == 1
        assert "the response kind 'guessed': " in complaint
        assert "this is a fault of that kind" in complaint
        assert "Traceback" not in complaint
    assert not list(Path().glob("data/*/session.json"))


@pytest.mark.parametrize("mutant", KEPT)
def test_other_scores_are_recorded_with_their_columns(
    mutant: str, use: Callable[[type[ResponseKind]], Path], run: Run
) -> None:
    file = use(kind_of(KEPT[mutant]))
    assert run("check", file)[0] == 0
    assert run("replay", file, "--agent", "chance", "--trials", "6")[0] == 0
    (session,) = find_sessions(["data"])
    assert read_session(session)["score_fields"]["distance"] == {
        "type": "integer",
        "meaning": FIELDS["distance"].meaning,
        "unit": "steps",
    }
    table = read_responses(session)
    assert len(table) == 6 * (2 if mutant == "two items" else 1)
    if mutant == "a list":
        answers = [
            [json.loads(str(cell)) for cell in row]
            for row in table[["answer", "correct_answer", "score_distance"]].to_numpy()
        ]
        assert all(abs(answer - correct) == distance for answer, correct, distance in answers)
        assert set(table["score_word"]) == {'"fine"'}
    elif mutant == "nothing of its own":
        assert not [name for name in table.columns if name.startswith("score_")]


def test_a_value_of_its_own_is_a_condition_and_stands_in_the_codebook(
    use: Callable[[type[ResponseKind]], Path], run: Run, tmp_path: Path
) -> None:
    assert run("replay", use(kind_of(KEPT["a list"])), "--agent", "chance", "--trials", "12")[0] == 0
    output_of(*run("export", "psychds", "data", tmp_path / "shared"))
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "shared").rglob("*") if path.is_file())
    assert FIELDS["distance"].meaning in written
    assert "fine" not in {cell for line in written.splitlines() for cell in line.split(",")}, (
        "words are given away like typed answers: only when asked to"
    )
    assert OTHER in written


def test_a_kind_is_probed_without_a_session() -> None:
    with pytest.raises(SpanLabError, match=r"scores the right answer 1 \(int\) as wrong"):
        probe_scores(kind_of(lambda answer, correct: [ItemScore(answer, correct, False)])(), 1)  # type: ignore[arg-type]
    probe_scores(Guessed(), 1)
